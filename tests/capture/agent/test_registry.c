/* SPDX-License-Identifier: MIT */
/* test_registry.c - the registry of blocks without a trailer, under threads, signals, forks and growth. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/agent/registry.h"

struct hsnap_wire_directory hsnap_agent_directory;

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* What a reader makes of it: entries by state. */
static void count(size_t *ret_by_state, size_t *ret_segments)
{
	const uint64_t *exists = (const uint64_t *)(uintptr_t)hsnap_agent_directory.registry_exists;
	*ret_segments = 0;
	for (uint32_t s = 0; exists && s < 1u << HSNAP_REGISTRY_BITS; s++) {
		if (s % 64 == 0 && s && !exists[s / 64])
			s += 63;
		if (s && !(exists[s / 64] >> s % 64 & 1))
			continue;
		++*ret_segments;
		unsigned bits = s ? 32u - (unsigned)__builtin_clz(s) : 0;
		const uint64_t *entry = (const uint64_t *)(uintptr_t)(hsnap_agent_directory.registry_bases[bits] +
								      (uint64_t)s * HSNAP_REGISTRY_SEGMENT);
		for (unsigned e = 0; e < HSNAP_REGISTRY_ENTRIES; e++, entry += 2)
			if (*entry > HSNAP_REGISTRY_BUSY)
				ret_by_state[HSNAP_ENTRY_STATE(*entry)]++;
	}
}

static size_t live(void)
{
	size_t by_state[4] = { 0 }, segments;
	count(by_state, &segments);
	cr_expect_eq(by_state[HSNAP_ENTRY_PENDING] + by_state[HSNAP_ENTRY_HELD] + by_state[3], 0);
	return by_state[HSNAP_ENTRY_LIVE];
}

static bool add(uintptr_t address, uint64_t requested)
{
	return hsnap_agent_registry_add(address, requested, (uint32_t)(requested * 7) & HSNAP_MAX_SITE, 77);
}

static bool take(uintptr_t address, uint64_t want)
{
	uint64_t requested = 0;
	uint32_t site = 0;
	return hsnap_agent_registry_take(address, &requested, &site) && requested == want &&
	       site == ((uint32_t)(want * 7) & HSNAP_MAX_SITE);
}

Test(registry, entries)
{
	static const uint64_t sizes[] = { 0, 1, 0xffffff, 1ull << 32, (1ull << 40) - 1, 1ull << 40, HSNAP_REGISTRY_MAX_SIZE };
	static const uintptr_t addresses[] = { 2, 8, 4097, 0x7ffffffffff1, 0x7fffffffffff };
	uint64_t requested;
	uint32_t site;
	cr_expect_not(hsnap_agent_registry_take(8, &requested, &site), "from an empty one");
	for (size_t a = 0; a < sizeof(addresses) / sizeof(*addresses); a++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			cr_assert(add(addresses[a], sizes[i]));
			struct hsnap_agent_entry entry;
			cr_assert(hsnap_agent_registry_find(addresses[a], &entry));
			cr_expect_eq(HSNAP_ENTRY_EPOCH(entry.word), 77);
			cr_expect(take(addresses[a], sizes[i]));
			cr_expect_not(hsnap_agent_registry_find(addresses[a], &entry));
		}
	cr_expect_not(hsnap_agent_registry_find(0, &(struct hsnap_agent_entry){ 0 }));
	cr_expect_not(add(16, HSNAP_REGISTRY_MAX_SIZE + 1));
	cr_expect_not(add((uintptr_t)1 << 47, 1));
	cr_expect_eq(hsnap_agent_directory.registry_lost, 2);
	cr_expect_eq(live(), 0);
}

Test(registry, held)
{
	struct hsnap_agent_entry held, other;
	cr_assert(add(4096, 10));
	cr_assert(hsnap_agent_registry_hold(4096, &held));
	cr_expect_not(hsnap_agent_registry_find(4096, &other), "what is held is found by nobody");
	cr_expect_not(hsnap_agent_registry_hold(4096, &other));
	/* The old place has become another's block, before the new one is on record. */
	cr_assert(add(4096, 20));
	/* … and all that stood around it is moved. */
	for (uintptr_t a = 1; a < 20000; a++)
		cr_assert(add(a << 16, a));
	hsnap_agent_registry_drop(&held);
	cr_expect(take(4096, 20));
	cr_assert(add(4096, 30));
	cr_assert(hsnap_agent_registry_hold(4096, &held));
	hsnap_agent_registry_let_go(&held);
	cr_expect(take(4096, 30));
	cr_expect_eq(live(), 19999);
}

/* Blocks as allocators lay them: `step` bytes each, `run` in a row and then a gap. */
static const struct {
	const char *name;
	uint64_t step, run, gap;
} layouts[] = {
	{ "8 bytes", 8, 512, 0 },
	{ "16 bytes", 16, 256, 0 },
	{ "48 bytes", 48, 4096, 4096 },
	{ "208 bytes", 208, 300, 1 << 20 },
	{ "4 KiB", 4096, 1 << 20, 0 },
	{ "16 KiB and 16", 16 << 10, 64, 16 },
	{ "2 MiB", 2 << 20, 1 << 20, 0 },
	{ "one in 64 KiB", 1 << 16, 1 << 20, 0 },
};

/* At every size on the way up: at most 48 bytes a block, and none is lost on the way down. */
Test(registry, memory)
{
	for (size_t l = 0; l < sizeof(layouts) / sizeof(*layouts); l++) {
		pid_t pid = fork(); /* each begins with an empty one */
		cr_assert_geq(pid, 0);
		if (pid) {
			int status;
			waitpid(pid, &status, 0);
			cr_expect_eq(status, 0, "%s: %x", layouts[l].name, status);
			continue;
		}
		uint64_t at = 0x200000000000, num = 250000, worst = 0, next = 3000;
		for (uint64_t i = 0; i < num; i++) {
			at += layouts[l].step + (i % layouts[l].run ? 0 : layouts[l].gap);
			if (!add(at & 0x7fffffffffff, i))
				_exit(1);
			if (i == next) {
				next += next / 8;
				size_t by_state[4] = { 0 }, segments;
				count(by_state, &segments);
				uint64_t each = segments * HSNAP_REGISTRY_SEGMENT / (i + 1);
				worst = each > worst ? each : worst;
				if (by_state[0] != i + 1)
					_exit(2);
			}
		}
		printf("%-16s at most %llu bytes a block\n", layouts[l].name, (unsigned long long)worst);
		fflush(stdout);
		if (worst > 48)
			_exit(3);
		at = 0x200000000000;
		for (uint64_t i = 0; i < num; i++) {
			at += layouts[l].step + (i % layouts[l].run ? 0 : layouts[l].gap);
			if (!take(at & 0x7fffffffffff, i))
				_exit(4);
		}
		size_t by_state[4] = { 0 }, segments;
		count(by_state, &segments);
		_exit(by_state[0] ? 5 : 0);
	}
}

/* ---- an allocator of addresses: what one thread gives back the next one gets at once ---- */

#define NUM_ADDRESSES 200000u
static uint8_t taken[NUM_ADDRESSES];
static uint64_t wrong;
static volatile bool stop_all;
static uint32_t range = NUM_ADDRESSES, most = 8000; /* addresses in use; how many of them one holder has */

static uintptr_t address_of(uint32_t index)
{
	return 0x7f1200000000 + (uintptr_t)index * 32;
}

static uint32_t get(uint64_t *state)
{
	for (;;) {
		uint32_t index = (uint32_t)(random_next(state) % range);
		uint8_t zero = 0;
		if (__atomic_compare_exchange_n(&taken[index], &zero, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return index;
	}
}

static void put(uint32_t index)
{
	__atomic_store_n(&taken[index], 0, __ATOMIC_RELEASE);
}

struct holder {
	uint64_t state;
	uint32_t num, index[8000];
	uint64_t size[8000];
};

static void step(struct holder *holder)
{
	uint64_t r = random_next(&holder->state);
	if (holder->num < most && (r % 5 > 1 || !holder->num)) {
		uint32_t index = get(&holder->state);
		holder->index[holder->num] = index;
		holder->size[holder->num] = r >> 40;
		if (!add(address_of(index), r >> 40))
			__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
		holder->num++;
		return;
	}
	uint32_t at = (uint32_t)((r >> 8) % holder->num);
	if (!take(address_of(holder->index[at]), holder->size[at]))
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
	put(holder->index[at]);
	holder->num--;
	holder->index[at] = holder->index[holder->num];
	holder->size[at] = holder->size[holder->num];
}

static void *churn(void *context)
{
	struct holder *holder = context;
	for (unsigned i = 0; i < 400000 && !stop_all; i++)
		step(holder);
	return NULL;
}

static struct holder *holders(unsigned num)
{
	struct holder *all = calloc(num, sizeof(*all));
	cr_assert(all);
	for (unsigned i = 0; i < num; i++)
		all[i].state = 88172645463325252ull + i * 7919;
	return all;
}

Test(registry, threads)
{
	pthread_t threads[8];
	struct holder *all = holders(8);
	for (unsigned i = 0; i < 8; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, churn, &all[i]), 0);
	size_t kept = 0;
	for (unsigned i = 0; i < 8; i++) {
		pthread_join(threads[i], NULL);
		kept += all[i].num;
	}
	cr_expect_eq(wrong, 0);
	cr_expect_eq(live(), kept);
	for (unsigned i = 0; i < 8; i++)
		while (all[i].num--)
			cr_expect(take(address_of(all[i].index[all[i].num]), all[i].size[all[i].num]));
	cr_expect_eq(live(), 0);
	free(all);
}

/* The same address goes round among threads as fast as can be. */
Test(registry, reuse)
{
	pthread_t threads[4];
	struct holder *all = holders(4);
	range = 100;
	most = 20;
	for (unsigned i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, churn, &all[i]), 0);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	cr_expect_eq(wrong, 0);
	cr_expect_eq(live(), all[0].num + all[1].num + all[2].num + all[3].num);
	free(all);
}

/* A handler that allocates and frees, in the midst of whatever its thread was at: moving, too. */
static struct holder in_handler;
static volatile unsigned handled;
static void handler(int signal)
{
	(void)signal;
	for (unsigned i = 0; i < 20; i++)
		step(&in_handler);
	handled++;
}

Test(registry, signals)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	sigaction(SIGPROF, &action, NULL);
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };
	struct itimerspec often = { { 0, 20000 }, { 0, 20000 } };
	timer_t timer;
	in_handler.state = 4711;
	cr_assert_eq(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	cr_assert_eq(timer_settime(timer, 0, &often, NULL), 0);
	/* Growing all the time, so that it is mostly movers that are interrupted. */
	for (uint32_t i = 0; i < 400000; i++)
		cr_assert(add(0x7f5500000000 + (uint64_t)i * 4096, i));
	for (uint32_t i = 0; i < 400000; i++)
		cr_assert(take(0x7f5500000000 + (uint64_t)i * 4096, i), "%u", i);
	timer_delete(timer);
	cr_expect_gt(handled, 100);
	cr_expect_eq(wrong, 0);
	cr_expect_eq(live(), in_handler.num);
}

/* A child has one thread of many; the others may have been anywhere in the registry. */
Test(registry, forks)
{
	pthread_t threads[3];
	struct holder *all = holders(4);
	for (unsigned i = 0; i < 3; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, churn, &all[i]), 0);
	for (unsigned n = 0; n < 40; n++) {
		for (unsigned i = 0; i < 200; i++)
			step(&all[3]);
		pid_t pid = fork();
		cr_assert_geq(pid, 0);
		if (!pid) {
			alarm(20);
			wrong = 0;
			for (uint32_t k = all[3].num; k--;)
				if (!take(address_of(all[3].index[k]), all[3].size[k]))
					_exit(1);
			for (uint32_t i = 0; i < 50000; i++)
				if (!add(0x7f5500000000 + (uint64_t)i * 64, i))
					_exit(2);
			for (uint32_t i = 0; i < 50000; i++)
				if (!take(0x7f5500000000 + (uint64_t)i * 64, i))
					_exit(3);
			_exit(0);
		}
		int status;
		waitpid(pid, &status, 0);
		cr_expect_eq(status, 0, "fork %u: %x", n, status);
	}
	stop_all = true;
	for (unsigned i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	cr_expect_eq(wrong, 0);
	free(all);
}
