/* SPDX-License-Identifier: MIT */
/*
 * annotator.c CASE - a program with pools, arenas, tags and roots that knows which of its objects are in use.
 *
 * Says "truth PID ADDRESS NUM COUNT LOST ASTRAY": who it is (a child, in one case), where its table is, how many places it has,
 * how many are in use, how many annotations may be lost or go astray; then stops itself.  See struct place.
 */
#include "capture/agent/heapsnap.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "annotator.h"

#define THREADS 8u
#define PLACES (1u << 14) /* of a thread */
#define STRIDE 64u

static struct place places[THREADS * PLACES + 4096];
static unsigned long num_lost, num_astray;
static char *memory; /* STRIDE bytes a place */
static heapsnap_pool pool, other_pool, arena;

static void fail(const char *why)
{
	fprintf(stderr, "annotator: %s\n", why);
	_exit(8);
}

static unsigned next(unsigned *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	return *state ^= *state << 5;
}

static void *address_of(const struct place *place)
{
	return memory + (size_t)(place - places) * STRIDE;
}

static void give(struct place *place, heapsnap_pool from, unsigned size)
{
	void *object = address_of(place);
	if (heapsnap_pool_alloc(from, object, size) != object)
		fail("the object has moved");
	*place = (struct place){ (uintptr_t)object, size, 0 };
}

static void mark(struct place *place, unsigned type)
{
	static const char *const names[ANNOTATOR_TYPES] = ANNOTATOR_NAMES;
	heapsnap_tag(address_of(place), names[type]);
	place->type = type;
}

static void take_back(struct place *place, heapsnap_pool from)
{
	heapsnap_pool_free(from, address_of(place));
	*place = (struct place){ 0 };
}

/* A place is always of one of the two pools. */
static heapsnap_pool pool_of(const struct place *place)
{
	return (place - places) % 3 ? pool : other_pool;
}

static void churn(struct place *from, unsigned num, unsigned steps, unsigned seed)
{
	while (steps--) {
		struct place *place = from + next(&seed) % num;
		unsigned what = next(&seed) % 8;
		if (!place->address)
			give(place, pool_of(place), 1 + next(&seed) % STRIDE);
		else if (what < 3)
			mark(place, 1 + next(&seed) % (ANNOTATOR_TYPES - 1));
		else if (what < 4)
			give(place, pool_of(place), 1 + next(&seed) % STRIDE); /* it has another size now */
		else
			take_back(place, pool_of(place));
	}
}

static void *work(void *number)
{
	unsigned t = (unsigned)(uintptr_t)number;
	churn(places + t * PLACES, PLACES, 60000, 77 + t);
	return NULL;
}

static void start(void)
{
	memory = mmap(NULL, sizeof(places) / sizeof(*places) * STRIDE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		fail("no memory");
	pool = heapsnap_pool_create("pool");
	other_pool = heapsnap_pool_create("other pool");
	arena = heapsnap_arena_create("arena");
	heapsnap_pool_slab(pool, memory, sizeof(places) / sizeof(*places) * STRIDE);
}

static void threads(void)
{
	pthread_t threads[THREADS];
	for (unsigned t = 0; t < THREADS; t++)
		if (pthread_create(&threads[t], NULL, work, (void *)(uintptr_t)t))
			fail("no thread");
	for (unsigned t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
}

/* ---- an arena that several threads fill, emptied again and again; and one pool that ends amid others' work ---- */

static void *fill(void *number)
{
	unsigned t = (unsigned)(uintptr_t)number;
	for (unsigned i = 0; i < 3000; i++) {
		struct place *place = &places[t * PLACES + i];
		void *object = address_of(place);
		heapsnap_pool_alloc_as(arena, object, 1 + i % STRIDE, i % 2 ? "struct one" : NULL);
		*place = (struct place){ (uintptr_t)object, 1 + i % STRIDE, i % 2 };
	}
	return NULL;
}

static void arenas(void)
{
	pthread_t threads[THREADS];
	for (unsigned round = 0; round < 20; round++) {
		heapsnap_pool_reset(arena);
		memset(places, 0, sizeof(places));
		for (unsigned t = 0; t < THREADS; t++)
			if (pthread_create(&threads[t], NULL, fill, (void *)(uintptr_t)t))
				fail("no thread");
		for (unsigned t = 0; t < THREADS; t++)
			pthread_join(threads[t], NULL);
	}
	for (unsigned i = 0; i < 100; i++) /* single ones */
		take_back(&places[17 * i], arena);
	for (unsigned i = 0; i < 5000; i++) { /* many, and handles that are used again */
		heapsnap_pool short_lived = heapsnap_arena_create("short-lived");
		for (unsigned j = 0; j < i % 40; j++)
			heapsnap_pool_alloc(short_lived, memory + (7 * PLACES + 5000 + j) * STRIDE, 8);
		heapsnap_pool_destroy(short_lived);
	}
}

static void *end_pools(void *unused)
{
	for (unsigned i = 0; i < 60; i++) {
		heapsnap_pool brief = heapsnap_pool_create("brief");
		for (unsigned j = 0; j < 300; j++)
			heapsnap_pool_alloc(brief, memory + (THREADS * PLACES + j) * STRIDE, STRIDE);
		if (i % 2)
			heapsnap_pool_reset(brief);
		heapsnap_pool_destroy(brief);
	}
	return unused;
}

static void destroyed(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, end_pools, NULL))
		fail("no thread");
	threads();
	pthread_join(thread, NULL);
}

/* ---- signals, forks ---- */

static volatile sig_atomic_t in_main;

static void handle(int signal)
{
	static unsigned seed = 5;
	(void)signal;
	churn(places + PLACES, 512, 4, next(&seed) | 1);
}

static void signals(void)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (unsigned i = 0; i < 40; i++)
		churn(places, PLACES, 10000, i + 1);
	setitimer(ITIMER_REAL, &never, NULL);
}

static void *work_on(void *number)
{
	unsigned t = (unsigned)(uintptr_t)number;
	for (unsigned i = 0; __atomic_load_n(&in_main, __ATOMIC_RELAXED); i++)
		churn(places + t * PLACES, PLACES, 1000, i + 1);
	return NULL;
}

/* In a child the other threads are gone, in the midst of what they did: at most one place each is in doubt, and is given again. */
static void forked(void)
{
	pthread_t threads[3];
	in_main = 1;
	for (unsigned t = 0; t < 3; t++)
		if (pthread_create(&threads[t], NULL, work_on, (void *)(uintptr_t)(t + 1)))
			fail("no thread");
	for (unsigned i = 0; i < 60; i++) {
		pid_t child = fork();
		if (!child) {
			churn(places, PLACES, 3000, i + 9);
			if (i < 59)
				_exit(0);
			heapsnap_pool_reset(pool);
			heapsnap_pool_reset(other_pool);
			memset(places, 0, sizeof(places));
			churn(places, PLACES, 20000, 12345);
			num_astray = ANNOTATOR_ANY; /* what was half freed */
			return;
		}
		int status;
		if (waitpid(child, &status, WUNTRACED) != child || (i < 59 ? status : !WIFSTOPPED(status)))
			fail("a child failed");
	}
	signal(SIGCHLD, SIG_IGN); /* nobody is left behind when it is killed */
	raise(SIGSTOP);           /* it has said all */
}

/* ---- what is no object, no pool, no root ---- */

static void nonsense(void)
{
	static const uint64_t addresses[] = { 0, 1, 7, 4096, 0x7fffffffffff, 0x800000000000, UINT64_MAX, UINT64_MAX - 63 };
	unsigned seed = 99;
	churn(places, PLACES, 20000, 3);
	heapsnap_pool gone = heapsnap_pool_create("gone");
	heapsnap_pool_destroy(gone);
	for (unsigned i = 0; i < 20000; i++) {
		const heapsnap_pool handles[] = { gone, UINT64_MAX, pool + 3, pool + ((uint64_t)1 << 32), next(&seed), UINT32_MAX };
		heapsnap_pool handle = handles[next(&seed) % 6];
		void *address = (void *)(uintptr_t)(i % 3 ? addresses[next(&seed) % 8] : ((uint64_t)next(&seed) << 16 | 1));
		switch (next(&seed) % 10) {
		case 0: heapsnap_pool_alloc(handle, address, next(&seed)); break;
		case 1: heapsnap_pool_free(handle, address); break;
		case 2: heapsnap_pool_free(pool, address); break;
		case 3: heapsnap_pool_slab(handle, address, SIZE_MAX); break;
		case 4: heapsnap_pool_slab_gone(pool, address); break;
		case 5: heapsnap_pool_destroy(handle); break;
		case 6: heapsnap_pool_reset(handle); break;
		case 7: heapsnap_tag(address, "nonsense"); break;
		case 8: heapsnap_root_gone(address); break;
		default: heapsnap_root(address, SIZE_MAX - next(&seed), "nowhere"); break;
		}
	}
	/* On record, and nowhere: beyond all memory, in the code, overlapping, larger than all. */
	heapsnap_pool_alloc(pool, (void *)0x10000, 64);
	heapsnap_pool_alloc(pool, (void *)0x7ffffffff000, 64);
	heapsnap_pool_alloc(pool, (void *)(uintptr_t)nonsense, 64);
	heapsnap_pool_alloc(pool, memory + THREADS * PLACES * STRIDE + 8, SIZE_MAX / 2);
	heapsnap_pool_slab(pool, (void *)(uintptr_t)nonsense, 1 << 20);
	heapsnap_pool_alloc(NULL ? pool : 0, memory, 64);
	heapsnap_pool_create(NULL);
	num_lost = num_astray = ANNOTATOR_ANY;
}

/* No memory for the agent's tables: what finds no place is counted, what has one stays. */
static void starved(void)
{
	struct rlimit limit;
	churn(places, 100, 400, 3);
	getrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur = 1 << 20; /* less than there is */
	setrlimit(RLIMIT_AS, &limit);
	for (unsigned t = 1; t < THREADS; t++)
		for (unsigned i = 0; i < PLACES; i++)
			heapsnap_pool_alloc(pool, memory + (t * PLACES + i) * STRIDE, 32);
	for (unsigned i = 0; i < 100000; i++) {
		char name[64];
		snprintf(name, sizeof(name), "a name of its own, number %u", i);
		heapsnap_pool_create(name);
	}
	for (unsigned i = 0; i < 200000; i++)
		heapsnap_pool_alloc(arena, memory + (size_t)THREADS * PLACES * STRIDE + i % 4096 * STRIDE, 32);
	heapsnap_pool_reset(arena);
	for (unsigned t = 1; t < THREADS; t++)
		for (unsigned i = 0; i < PLACES; i++)
			heapsnap_pool_free(pool, memory + (t * PLACES + i) * STRIDE);
	num_lost = num_astray = ANNOTATOR_ANY;
}

/* Names as long as can be, and longer; one after the other at one address. */
static void names(void)
{
	static char name[3000];
	for (unsigned i = 0; i < 2000; i++) {
		memset(name, 'a' + (int)(i % 26), i + 1);
		name[i + 1] = '\0';
		give(&places[i], pool, 16);
		heapsnap_tag(address_of(&places[i]), name);
		places[i].type = ANNOTATOR_LONG + i % 26 + (i >= 1023 ? 26 : 0);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "threads", threads }, { "arenas", arenas }, { "destroyed", destroyed }, { "signals", signals },
	{ "forked", forked },   { "nonsense", nonsense }, { "starved", starved }, { "names", names },
};

int main(int argc, char **argv)
{
	char line[128];
	unsigned long count = 0;
	start();
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(argv[1], cases[i].name))
			cases[i].run();
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		count += places[i].address != 0;
	int len = snprintf(line, sizeof(line), "truth %d %lu %lu %lu %lu %lu\n", (int)getpid(), (unsigned long)(uintptr_t)places,
			   (unsigned long)(sizeof(places) / sizeof(*places)), count, num_lost, num_astray);
	if (write(1, line, (size_t)len) != len)
		return 1;
	raise(SIGSTOP);
	return 0;
}
