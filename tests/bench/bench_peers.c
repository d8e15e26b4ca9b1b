/* SPDX-License-Identifier: MIT */
/*
 * bench_peers.c [ROUNDS [others]] - what the agent costs next to bare glibc, heaptrack and jemalloc's profiler; or what it
 * costs on other allocators, next to each by itself.
 *
 * Each round runs a process of each in turn, preloaded with it; figures are medians of the rounds, with the least and
 * the greatest.  Pairs of malloc and free are those of bench-agent, in ns of processor time; with threads it is pairs
 * per second of the clock, all threads together, next to one.  Memory is what resident blocks of a size take each.
 * HEAPSNAP_AGENT is the agent; who is not installed is said to be missing.  heaptrack writes to /dev/null here: what
 * reads its output takes processor time of its own.
 */
#include "tests/bench/agent_load.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIBRARIES "/usr/lib/x86_64-linux-gnu/"
#define JEMALLOC LIBRARIES "libjemalloc.so.2"
#define TCMALLOC LIBRARIES "libtcmalloc_minimal.so.4"
#define MIMALLOC LIBRARIES "libmimalloc.so.2"

enum { MOST_ROUNDS = 51, MOST_LIVE = 200000, MOST_THREADS = 8, MEMORY = 64 << 20 };

struct peer {
	const char *name, *preload; /* NULL: nothing */
	const char *settings[2];
	bool agent; /* in front of that */
	bool shown; /* … what its blocks take in memory */
	int beside; /* the one that it is held against */
};

static const struct peer on_glibc[] = {
	{ "glibc", NULL, { 0 }, .shown = true },
	{ "agent, caller", NULL, { "HEAPSNAP_STACKS=caller" }, .agent = true, .shown = true },
	{ "agent, fp", NULL, { "HEAPSNAP_STACKS=fp" }, .agent = true },
	{ "agent, unwind", NULL, { "HEAPSNAP_STACKS=unwind" }, .agent = true },
	{ "heaptrack", "/usr/lib/heaptrack/libheaptrack_preload.so", { "DUMP_HEAPTRACK_OUTPUT=/dev/null" }, .shown = true },
	{ "jemalloc", JEMALLOC, { 0 }, .shown = true },
	{ "jemalloc, one in 512 KiB", JEMALLOC, { "MALLOC_CONF=prof:true,lg_prof_sample:19" } },
	{ "jemalloc, each block", JEMALLOC, { "MALLOC_CONF=prof:true,lg_prof_sample:0" }, .shown = true },
};

static const struct peer on_others[] = {
	{ "jemalloc", JEMALLOC, { 0 }, .shown = true },
	{ "agent on jemalloc", JEMALLOC, { "HEAPSNAP_STACKS=caller" }, .agent = true, .shown = true },
	{ "tcmalloc", TCMALLOC, { 0 }, .shown = true, .beside = 2 },
	{ "agent on tcmalloc", TCMALLOC, { "HEAPSNAP_STACKS=caller" }, .agent = true, .shown = true, .beside = 2 },
	{ "mimalloc", MIMALLOC, { 0 }, .shown = true, .beside = 4 },
	{ "agent on mimalloc", MIMALLOC, { "HEAPSNAP_STACKS=caller" }, .agent = true, .shown = true, .beside = 4 },
};

enum { MOST_PEERS = sizeof(on_glibc) / sizeof(*on_glibc) };
static const struct peer *peers = on_glibc;
static int num_peers = MOST_PEERS;

static const char *const works[] = { "hot", "varying", "many", "missing", "threads" };
enum { NUM_WORKS = sizeof(works) / sizeof(*works) };

static const size_t sizes[] = { 16, 24, 32, 40, 48, 56, 64, 100, 128, 256, 512, 1000, 4096, 65536 };
enum { NUM_SIZES = sizeof(sizes) / sizeof(*sizes) };

/* ---- in the process that is measured ---- */

static struct allocator own;

static double clock_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Each thread with blocks of its own; ns a pair of a thread's processor time, and pairs a second of the clock. */
static double run_threads(int num, uint32_t num_live, uint32_t num_pairs, enum load_stacks stacks, double *ret_rate)
{
	static void *blocks[MOST_THREADS][MOST_LIVE];
	struct load load[MOST_THREADS];
	pthread_t threads[MOST_THREADS];
	double ns = 0;
	for (int t = 0; t < num; t++) {
		load[t] = (struct load){ &own, blocks[t], num_live, num_pairs, (uint32_t)(t * 77 + 1), 0, stacks };
		load_fill(&load[t]);
	}
	double start = clock_now();
	for (int t = 0; t < num; t++)
		pthread_create(&threads[t], NULL, load_run, &load[t]);
	for (int t = 0; t < num; t++)
		pthread_join(threads[t], NULL);
	*ret_rate = (double)num * num_pairs / (clock_now() - start);
	for (int t = 0; t < num; t++)
		ns += load[t].ns / num;
	return ns;
}

static long resident(void)
{
	char text[64] = "";
	FILE *in = fopen("/proc/self/statm", "r");
	long pages = in && fgets(text, sizeof(text), in) ? atol(strchr(text, ' ') ? strchr(text, ' ') : "0") : 0;
	if (in)
		fclose(in);
	return pages * sysconf(_SC_PAGESIZE);
}

static double run_memory(size_t size)
{
	static void *blocks[MEMORY / 16];
	size_t num = MEMORY / size;
	memset(blocks, 1, num * sizeof(*blocks));
	void *warm = own.get(size);
	long before = resident();
	for (size_t i = 0; i < num; i++) {
		blocks[i] = own.get(size);
		memset(blocks[i], 2, size);
	}
	double each = (double)(resident() - before) / (double)num;
	own.put(warm);
	return each;
}

static int child(const char *work)
{
	own = (struct allocator){ malloc, free };
	double rate = 0, one, value;
	if (!strncmp(work, "memory ", 7)) {
		value = run_memory(strtoul(work + 7, NULL, 10));
	} else if (!strcmp(work, "threads")) {
		run_threads(1, 2000, 400000, LOAD_ONE_STACK, &one);
		run_threads(MOST_THREADS, 2000, 400000, LOAD_ONE_STACK, &rate);
		value = rate / one;
	} else if (!strcmp(work, "missing")) {
		value = run_threads(2, MOST_LIVE, 100000, LOAD_ONE_STACK, &rate);
	} else {
		enum load_stacks stacks = !strcmp(work, "many")      ? LOAD_MANY_STACKS
					  : !strcmp(work, "varying") ? LOAD_FOUR_STACKS
								     : LOAD_ONE_STACK;
		value = run_threads(1, 2000, 300000, stacks, &rate);
	}
	printf("%.3f\n", value);
	return 0;
}

/* ---- in the one that measures ---- */

static void become(const struct peer *peer, const char *work, int out)
{
	dup2(out, 1);
	char preload[4096];
	snprintf(preload, sizeof(preload), "%s %s", peer->agent ? getenv("HEAPSNAP_AGENT") : "", peer->preload ? peer->preload : "");
	setenv("LD_PRELOAD", preload, 1);
	for (int i = 0; i < 2; i++)
		if (peer->settings[i])
			putenv((char *)(uintptr_t)peer->settings[i]);
	execl("/proc/self/exe", "bench-peers", "--child", work, (char *)NULL);
	_exit(127);
}

/* What the process says; below 0: it failed. */
static double ask(const struct peer *peer, const char *work)
{
	int ends[2], status = 0;
	if (pipe(ends))
		return -1;
	pid_t pid = fork();
	if (!pid)
		become(peer, work, ends[1]);
	close(ends[1]);
	FILE *in = fdopen(ends[0], "r");
	double value = -1;
	if (!in || fscanf(in, "%lf", &value) != 1)
		value = -1;
	if (in)
		fclose(in);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status ? -1 : value;
}

static bool is_here(const struct peer *peer)
{
	struct stat st;
	return !peer->preload || !stat(peer->preload, &st);
}

static void measure(const char *work, int rounds)
{
	static double results[MOST_PEERS][MOST_ROUNDS];
	for (int round = 0; round < rounds; round++)
		for (int p = 0; p < num_peers; p++)
			results[p][round] = is_here(&peers[p]) ? ask(&peers[p], work) : -1;
	for (int p = 0; p < num_peers; p++) {
		double value = median(results[p], (size_t)rounds), least = results[p][0], most = results[p][rounds - 1];
		double bare = results[peers[p].beside][rounds / 2]; /* in order since its own turn */
		const char *beside = peers[peers[p].beside].name;
		if (least < 0)
			printf("%-9s %-25s %s\n", work, peers[p].name, is_here(&peers[p]) ? "failed" : "missing here");
		else if (!strcmp(work, "threads"))
			printf("%-9s %-25s %8.2f times one thread (%.2f to %.2f), of %s's %.2f\n", work, peers[p].name, value,
			       least, most, beside, value / bare);
		else
			printf("%-9s %-25s %8.1f ns (%.1f to %.1f)  %+8.1f  %6.2f x %s\n", work, peers[p].name, value, least,
			       most, value - bare, value / bare, beside);
	}
}

/* A line a size: what a block takes, of each. */
static void measure_memory(void)
{
	printf("bytes     ");
	for (int p = 0; p < num_peers; p++)
		if (peers[p].shown)
			printf(" %20s", peers[p].name);
	printf("\n");
	for (int i = 0; i < NUM_SIZES; i++) {
		char work[32];
		snprintf(work, sizeof(work), "memory %zu", sizes[i]);
		printf("%-10zu", sizes[i]);
		for (int p = 0; p < num_peers; p++)
			if (peers[p].shown)
				printf(" %20.1f", is_here(&peers[p]) ? ask(&peers[p], work) : -1);
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--child"))
		return child(argv[2]);
	int rounds = argc > 1 ? atoi(argv[1]) : 7;
	if (rounds < 1 || rounds > MOST_ROUNDS || !getenv("HEAPSNAP_AGENT")) {
		fprintf(stderr, "usage: HEAPSNAP_AGENT=FILE bench-peers [ROUNDS [others]]\n");
		return 2;
	}
	if (argc > 2 && !strcmp(argv[2], "others")) {
		peers = on_others;
		num_peers = sizeof(on_others) / sizeof(*on_others);
	}
	for (int w = 0; w < NUM_WORKS; w++)
		measure(works[w], rounds);
	measure_memory();
	return 0;
}
