/* SPDX-License-Identifier: MIT */
/*
 * heaps.c - heaps of every shape that glibc's malloc makes, with a ledger of what is live: see ledger.h.
 *
 * heaps WAY: make it, print the process's PID in a line, sleep until it is killed (or, some ways, go on at work).
 * Nothing of stdio, no symbol that is newer than glibc 2.31, so that one build runs on many of them.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "capture/wire.h"
#include "ledger.h"

#pragma GCC diagnostic ignored "-Wunused-result"
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

extern struct mallinfo2 mallinfo2(void) __attribute__((weak)); /* since 2.33 */
extern void *dlmopen(Lmid_t space, const char *name, int flags) __attribute__((weak)); /* in libc since 2.34 */
extern void *dlsym(void *handle, const char *name) __attribute__((weak));
static struct ledger *ledger;

static void die(const char *why)
{
	write(2, why, strlen(why));
	write(2, "\n", 1);
	_exit(1);
}

/* ---- the ledger ---- */

static void open_ledger(void)
{
	ledger = mmap((void *)LEDGER_ADDRESS, sizeof(*ledger), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (ledger != (void *)LEDGER_ADDRESS)
		die("heaps: no room for the ledger");
	ledger->magic = LEDGER_MAGIC;
}

/* Lines of one's own, for a thread. */
static struct ledger_line *lines(uint64_t num)
{
	uint64_t first = __atomic_fetch_add(&ledger->lines, num, __ATOMIC_RELAXED);
	if (first + num > LEDGER_LINES)
		die("heaps: the ledger is full");
	return &ledger->line[first];
}

static void note(struct ledger_line *line, void *block)
{
	if (!block)
		die("heaps: out of memory");
	line->usable = malloc_usable_size(block);
	__atomic_store_n(&line->address, (uint64_t)(uintptr_t)block, __ATOMIC_RELEASE);
}

static void take(struct ledger_line *line, size_t size)
{
	unsigned char *block = malloc(size);
	note(line, block);
	memset(block, 0x5a, size < 64 ? size : 64);
}

static void drop(struct ledger_line *line)
{
	void *block = (void *)(uintptr_t)line->address;
	__atomic_store_n(&line->address, 0, __ATOMIC_RELEASE);
	free(block);
}

static void again(struct ledger_line *line, size_t size)
{
	void *block = (void *)(uintptr_t)line->address;
	__atomic_store_n(&line->address, 0, __ATOMIC_RELEASE);
	note(line, realloc(block, size));
}

/* What glibc says of all arenas together. */
static void ask_glibc(void)
{
	if (mallinfo2) {
		struct mallinfo2 info = mallinfo2();
		ledger->in_use = info.uordblks;
		ledger->free = info.fordblks;
		ledger->in_fastbins = info.fsmblks;
		ledger->mapped = info.hblkhd;
		ledger->num_mapped = info.hblks;
		ledger->system = info.arena;
		ledger->has_info = 1;
	}
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Mostly small, some medium, a few large. */
static size_t any_size(uint64_t *state)
{
	uint64_t r = next_random(state);
	if (r % 100 < 80)
		return 1 + (r >> 8) % 300;
	if (r % 100 < 98)
		return 300 + (r >> 8) % 4000;
	return 4000 + (r >> 8) % 60000;
}

/* ---- ways ---- */

/* All kinds of free chunks between live ones: what 200,000 random steps leave behind. */
static void mixed(void)
{
	enum { BLOCKS = 30000, STEPS = 200000 };
	struct ledger_line *line = lines(BLOCKS);
	uint64_t state = 88172645463325252u;
	for (int i = 0; i < STEPS; i++) {
		struct ledger_line *one = &line[next_random(&state) % BLOCKS];
		if (!one->address)
			take(one, any_size(&state));
		else if (next_random(&state) % 3)
			drop(one);
		else
			again(one, any_size(&state));
	}
}

/* Every second of a row of blocks is freed; the next row's requests sort them into the bins. */
static void bins(void)
{
	enum { EACH = 24 };
	for (size_t size = 24; size < 200000; size += size < 2048 ? 16 : size / 8) {
		struct ledger_line *line = lines(2 * EACH);
		for (int i = 0; i < 2 * EACH; i++)
			take(&line[i], size);
		for (int i = 0; i < 2 * EACH; i += 2)
			drop(&line[i]);
	}
	take(lines(1), 100000); /* what is unsorted goes into its bins */
	struct ledger_line *line = lines(6);
	for (int i = 0; i < 6; i++)
		take(&line[i], 3000 + 100 * (size_t)i);
	for (int i = 0; i < 6; i += 2)
		drop(&line[i]); /* and some stay unsorted */
}

static void caches(void)
{
	for (size_t size = 24; size <= 1032; size += 16) {
		struct ledger_line *line = lines(20);
		for (int i = 0; i < 20; i++)
			take(&line[i], size);
		for (int i = 0; i < 17; i++) /* 7 into the cache, the small ones' rest into a fastbin */
			drop(&line[i]);
	}
}

static void many(unsigned num, uint64_t state)
{
	struct ledger_line *line = lines(num);
	for (unsigned i = 0; i < num; i++)
		take(&line[i], 24 + next_random(&state) % 600);
	for (unsigned i = 0; i < num; i += 11)
		drop(&line[i]);
}

/* Somebody's mapping stands right above the break: the main arena goes on in mappings. */
static void pieces(void)
{
	take(lines(1), 100);
	char *end = (char *)(((uintptr_t)sbrk(0) + 4095) & ~(uintptr_t)4095);
	if (mmap(end, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != end)
		die("heaps: the place above the break is taken");
	many(137500, 99); /* 125,000 stay */
}

/* The program moves the break itself, between one growth and the next. */
static void foreign_break(void)
{
	for (int i = 0; i < 20; i++) {
		many(2000, 7 + (uint64_t)i);
		if (sbrk(4096 + 48 * i) == (void *)-1)
			die("heaps: the break cannot be moved");
	}
}

static pthread_barrier_t made;

static void *sleep_on(void *make)
{
	((void (*)(void))(uintptr_t)make)();
	pthread_barrier_wait(&made);
	for (;;)
		pause();
	return NULL;
}

static void with_threads(unsigned num, void (*make)(void))
{
	pthread_barrier_init(&made, NULL, num + 1);
	for (unsigned i = 0; i < num; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, sleep_on, (void *)(uintptr_t)make))
			die("heaps: no thread");
	}
	pthread_barrier_wait(&made);
}

static void some(void)
{
	many(3000, 5 + (uint64_t)(uintptr_t)pthread_self());
}

static void arenas(void)
{
	with_threads(24, some);
	some();
}

/* More than one heap for an arena: 64 MiB each. */
static void much(void)
{
	enum { NUM = 1700 };
	struct ledger_line *line = lines(NUM);
	for (int i = 0; i < NUM; i++)
		take(&line[i], 100000);
	for (int i = 0; i < NUM; i += 3)
		drop(&line[i]);
	caches();
}

static void heaps(void)
{
	with_threads(3, much);
}

/* Heaps in the middle and at the end are given back whole. */
static void more_then_less(void)
{
	enum { NUM = 2200 };
	struct ledger_line *line = lines(NUM);
	for (int i = 0; i < NUM; i++)
		take(&line[i], 100000);
	for (int i = NUM - 1; i > 300; i--)
		drop(&line[i]);
	many(2000, 3);
}

static void shrunk_heaps(void)
{
	with_threads(3, more_then_less);
	more_then_less();
}

static void one_arena(void)
{
	mallopt(M_ARENA_MAX, 1);
	with_threads(8, some);
}

static void small_mappings(void)
{
	mallopt(M_MMAP_THRESHOLD, 4096);
	struct ledger_line *line = lines(3000);
	uint64_t state = 4711;
	for (int i = 0; i < 3000; i++)
		take(&line[i], 1000 + next_random(&state) % 20000);
	for (int i = 0; i < 3000; i += 4)
		drop(&line[i]);
}

static void few_large(void)
{
	struct ledger_line *line = lines(12);
	for (int i = 0; i < 12; i++)
		take(&line[i], (size_t)20000000 + 4096 * (size_t)i);
	drop(&line[5]);
	some();
}

static void large_in_heaps(void)
{
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	few_large();
	with_threads(2, few_large);
}

static void aligned(void)
{
	for (size_t alignment = 16; alignment <= 2 << 20; alignment *= 2) {
		struct ledger_line *line = lines(24);
		for (size_t i = 0; i < 24; i++) {
			void *block = NULL;
			size_t size = (i + 1) * 37 * (i % 4 ? 1 : 300);
			if (i % 2)
				block = memalign(alignment, size);
			else if (posix_memalign(&block, alignment, size))
				die("heaps: posix_memalign");
			note(&line[i], block);
		}
		for (int i = 0; i < 24; i += 3)
			drop(&line[i]);
	}
	for (size_t i = 0; i < 8; i++) /* mappings of their own with a head cut off */
		note(lines(1), memalign((size_t)65536 << i, 300000));
}

/* Of each a piece is cut off and freed by glibc itself, with what stood in it before: at its end a word
 * that is no record of the agent's, but has the bit of a live one. */
static void cut_from_dirt(void)
{
	unsigned char *dirt[100];
	for (int i = 0; i < 100; i++)
		memset(dirt[i] = malloc(100000), 0x51, 100000);
	take(lines(1), 64); /* keeps the top from being given back */
	for (int i = 0; i < 100; i++)
		free(dirt[i]);
	for (int i = 0; i < 30000; i++)
		note(lines(1), memalign(128, 40));
}

/* The same with dirt whose words are all records by their check, which chance makes one of a million: of a stack that was
 * never noted, or a freed mark with something in it. */
static void forged_records(void)
{
	const struct hsnap_wire_directory *dir = dlsym ? dlsym(RTLD_DEFAULT, HSNAP_WIRE_SYMBOL) : NULL;
	uint64_t *dirt[100];
	for (int i = 0; i < 100; i++) {
		dirt[i] = malloc(100000);
		for (size_t k = 0; dir && k < 100000 / sizeof(uint64_t); k++) {
			uint64_t rest = HSNAP_TRAILER_REST(i % 2 ? 0x515151u : 1, 7, 3, i % 2 ? HSNAP_WIRE_LIVE : HSNAP_WIRE_FREED);
			dirt[i][k] = rest | HSNAP_TRAILER_CHECK(dir->key, (uintptr_t)&dirt[i][k], rest);
		}
	}
	take(lines(1), 64);
	for (int i = 0; i < 100; i++)
		free(dirt[i]);
	for (int i = 0; i < 30000; i++)
		note(lines(1), memalign(128, 40));
}

static void resized(void)
{
	struct ledger_line *line = lines(4000);
	uint64_t state = 17;
	for (int i = 0; i < 4000; i++)
		take(&line[i], 200 + next_random(&state) % 5000);
	for (int i = 0; i < 4000; i++) /* cut where they stand, grown into a neighbour, moved */
		again(&line[i], i % 3 ? 24 + next_random(&state) % 200 : 6000 + next_random(&state) % 3000);
	struct ledger_line *large = lines(20);
	for (size_t i = 0; i < 20; i++)
		take(&large[i], 200000);
	for (size_t i = 0; i < 20; i++) /* by mremap, both ways, and back into the heap */
		again(&large[i], i % 3 == 0 ? 1000 : i % 3 == 1 ? 4000000 : 150000);
}

static void trimmed(void)
{
	many(20000, 12);
	struct ledger_line *line = lines(2000);
	for (int i = 0; i < 2000; i++)
		take(&line[i], 5000);
	for (int i = 0; i < 2000; i++)
		drop(&line[i]);
	malloc_trim(0);
	many(300, 13);
}

static void nearly_nothing(void)
{
	take(lines(1), 10);
}

/* Threads that came, filled their caches, and went: their arenas wait for others. */
static void *come_and_go(void *unused)
{
	caches();
	some();
	return unused;
}

static void gone_threads(void)
{
	for (int round = 0; round < 4; round++) {
		pthread_t threads[12];
		for (size_t i = 0; i < COUNT(threads); i++)
			if (pthread_create(&threads[i], NULL, come_and_go, NULL))
				die("heaps: no thread");
		for (size_t i = 0; i < COUNT(threads); i++)
			pthread_join(threads[i], NULL);
	}
}

/* The child has the arenas and full caches of threads that it never had. */
static void forked(void)
{
	with_threads(6, caches);
	caches();
	pid_t child = fork();
	if (child < 0)
		die("heaps: cannot fork");
	if (child)
		for (;;)
			pause();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	many(2000, 44);
}

#ifndef HEAPS_STATIC
/* A second libc in a namespace of its own, with a main arena of its own: the break is not its own, so it lives in
 * mappings.  Both heaps are on the ledger. */
static void second_libc(void)
{
	void *libc = dlmopen ? dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW) : NULL;
	if (!libc)
		die("heaps: no second libc");
	take(lines(1), 40);
	ledger->loader_end = ledger->line[1].address;
	void *(*take_there)(size_t) = (void *(*)(size_t))dlsym(libc, "malloc");
	void (*free_there)(void *) = (void (*)(void *))dlsym(libc, "free");
	size_t (*usable_there)(void *) = (size_t(*)(void *))dlsym(libc, "malloc_usable_size");
	enum { NUM = 20000 };
	struct ledger_line *line = lines(NUM);
	uint64_t state = 31;
	for (int i = 0; i < NUM; i++) {
		size_t size = any_size(&state);
		void *block = take_there(size);
		if (!block)
			die("heaps: out of memory");
		memset(block, 0x5b, size < 64 ? size : 64);
		line[i] = (struct ledger_line){ (uint64_t)(uintptr_t)block, usable_there(block) };
	}
	for (int i = 0; i < NUM; i += 3) {
		free_there((void *)(uintptr_t)line[i].address);
		line[i].address = 0;
	}
	mixed();
}
#endif

/* ---- those that never rest ---- */

enum { CHURNERS = 200, OWN_LINES = 64 };

static void *churn(void *own)
{
	struct ledger_line *line = own;
	uint64_t state = 0x9e3779b97f4a7c15u ^ (uint64_t)(uintptr_t)own;
	for (;;) {
		struct ledger_line *one = &line[next_random(&state) % OWN_LINES];
		if (!one->address)
			take(one, next_random(&state) % 500 ? any_size(&state) : 200000);
		else if (next_random(&state) % 4)
			drop(one);
		else
			again(one, any_size(&state));
	}
	return NULL;
}

static void churner(void)
{
	ledger->threads = CHURNERS;
	for (int i = 0; i < CHURNERS; i++) {
		pthread_t thread;
		pthread_attr_t attr;
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, 65536);
		if (pthread_create(&thread, &attr, churn, lines(OWN_LINES)))
			die("heaps: no thread");
	}
	usleep(300000);
}

/* ---- */

static const struct {
	const char *name;
	void (*make)(void);
} ways[] = {
	{ "mixed", mixed },		{ "bins", bins },
	{ "caches", caches },		{ "pieces", pieces },
	{ "foreign-break", foreign_break }, { "arenas", arenas },
	{ "heaps", heaps },		{ "shrunk-heaps", shrunk_heaps },
	{ "one-arena", one_arena },	{ "small-mappings", small_mappings },
	{ "large-in-heaps", large_in_heaps }, { "aligned", aligned },
	{ "cut-from-dirt", cut_from_dirt }, { "forged-records", forged_records },
	{ "resized", resized },		{ "trimmed", trimmed },
	{ "nearly-nothing", nearly_nothing }, { "gone-threads", gone_threads },
	{ "forked", forked },		{ "churner", churner },
#ifndef HEAPS_STATIC
	{ "second-libc", second_libc },
#endif
};

static void tell_pid(void)
{
	char text[24], *at = text + sizeof(text);
	*--at = '\n';
	for (unsigned pid = (unsigned)getpid(); pid; pid /= 10)
		*--at = (char)('0' + pid % 10);
	write(1, at, (size_t)(text + sizeof(text) - at));
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < COUNT(ways); i++) {
		if (strcmp(argv[1], ways[i].name))
			continue;
		open_ledger();
		take(lines(1), 1992); /* what the loader took comes before this one, which is too large for anything that it has freed */
		ledger->loader_end = ledger->line[0].address;
		ways[i].make();
		if (!ledger->threads)
			ask_glibc();
		tell_pid();
		for (;;)
			pause();
	}
	die("usage: heaps WAY");
}
