/* SPDX-License-Identifier: MIT */
/*
 * bench_pause.c - bench-pause [MIB [ROUNDS [sleepers=N] [MODE...]]]: how long a process is held still, by
 * each of our ways (copy, precopy, clone; all of them by default) and by gcore.
 *
 * The process has so much memory in small blocks, writes to 20,000 random pages a second, and has a
 * thread that measures the longest gap between two looks at the clock: what the process itself
 * notices.  Besides it may have so many threads that sleep.
 * "own" is what heapsnap says of itself: first interrupt to last release.
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/freeze/freeze.h"

#define MAX_ROUNDS 100
#define WRITES 20000u /* a second */

static struct shared {
	atomic_bool ready;
	atomic_ullong longest; /* ns; the reader sets it back */
} *shared;

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *measure_gaps(void *unused)
{
	for (uint64_t last = now();;) {
		uint64_t next = now();
		if (next - last > shared->longest)
			shared->longest = next - last;
		last = next;
	}
	return unused;
}

static void *blocks;
static uint8_t *lowest, *highest;

/* A chain of blocks of 48 to 200 bytes. */
static void fill(size_t bytes)
{
	uint64_t state = 88172645463325252u;
	for (size_t done = 0; done < bytes;) {
		state ^= state << 13, state ^= state >> 7, state ^= state << 17;
		size_t size = 48 + state % 153;
		void **block = malloc(size);
		if (!block)
			abort();
		memset(block, 1, size);
		*block = blocks;
		blocks = block;
		if (!lowest || (uint8_t *)block < lowest)
			lowest = (uint8_t *)block;
		if ((uint8_t *)block + size > highest)
			highest = (uint8_t *)block + size;
		done += size + 16;
	}
}

static void *sleep_on(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void start_sleepers(size_t num)
{
	pthread_t thread;
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	while (num--)
		if (pthread_create(&thread, &attributes, sleep_on, NULL))
			abort();
}

static void be_target(size_t mib, size_t sleepers)
{
	pthread_t thread;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fill(mib << 20);
	start_sleepers(sleepers);
	pthread_create(&thread, NULL, measure_gaps, NULL);
	shared->ready = true;
	/* A byte of a page is written as it was: that may as well be one of a chunk's header. */
	uint64_t state = 0x2545f4914f6cdd1du, began = now();
	for (uint64_t written = 0;; nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL))
		for (uint64_t due = (now() - began) / (1000000000u / WRITES); written < due; written++) {
			state ^= state << 13, state ^= state >> 7, state ^= state << 17;
			volatile uint8_t *byte = lowest + state % (uint64_t)(highest - lowest);
			*byte = *byte;
		}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static double median(double *values, size_t num)
{
	qsort(values, num, sizeof(*values), by_value);
	return num ? values[num / 2] : 0;
}

/* The gap that the target saw since the last call, in ms. */
static double take_gap(void)
{
	usleep(100000);
	return (double)atomic_exchange(&shared->longest, 0) / 1e6;
}

static bool run_gcore(pid_t pid)
{
	char command[256];
	snprintf(command, sizeof(command), "cd \"${TMPDIR:-/tmp}\" && gcore -o bench-pause %d >/dev/null 2>&1 && rm -f bench-pause.%d",
		 pid, pid);
	return !system(command);
}

static const struct mode {
	const char *name;
	enum hsnap_freeze_mode mode;
	enum hsnap_code (*freeze)(const struct hsnap_freeze_options *options, struct hsnap_frozen *ret,
				  struct hsnap_error *err);
} modes[] = {
	{ "copy", HSNAP_FREEZE_COPY, hsnap_freeze_copy }, { "precopy", HSNAP_FREEZE_PRECOPY, hsnap_freeze_precopy },
	{ "clone", HSNAP_FREEZE_CLONE, hsnap_freeze_clone },
};

static void run_mode(const struct mode *mode, const struct hsnap_proc *proc, pid_t pid, size_t rounds)
{
	double own[MAX_ROUNDS], seen[MAX_ROUNDS], idle[MAX_ROUNDS], all[MAX_ROUNDS];
	uint64_t copied = 0;
	for (size_t i = 0; i < rounds; i++) {
		struct hsnap_frozen frozen;
		struct hsnap_error err = { 0 };
		take_gap();
		idle[i] = take_gap();
		uint64_t began = now();
		struct hsnap_freeze_options options = { .proc = proc, .pid = pid, .mode = mode->mode, .scratch = -1 };
		if (mode->freeze(&options, &frozen, &err)) {
			printf("%-8s %s\n", mode->name, err.message);
			return;
		}
		all[i] = (double)(now() - began) / 1e6;
		own[i] = (double)frozen.pause_ns / 1e6;
		seen[i] = take_gap();
		copied = frozen.copied;
		hsnap_frozen_deinit(&frozen);
	}
	double ms = median(own, rounds), gib = (double)copied / (1 << 30);
	printf("%-8s %8.2f %9.2f %9.2f %9.2f %9.2f %9.2f %9.0f\n", mode->name, gib, ms, own[rounds - 1], ms / gib,
	       median(seen, rounds), median(idle, rounds), median(all, rounds));
	fflush(stdout);
}

static void run_others(pid_t pid)
{
	double gaps[3];
	size_t num = 0;
	while (num < 3 && (take_gap(), run_gcore(pid)))
		gaps[num++] = take_gap();
	if (num)
		printf("%-8s %8s %9s %9s %9s %9.2f\n", "gcore", "", "", "", "", median(gaps, num));
	else
		puts("gcore: not there");
}

static bool is_asked_for(const char *name, int argc, char **argv, int first)
{
	for (int i = first; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc <= first;
}

int main(int argc, char **argv)
{
	size_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 1024;
	size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 20;
	size_t sleepers = 0;
	int first = argc > 3 && sscanf(argv[3], "sleepers=%zu", &sleepers) == 1 ? 4 : 3;
	struct hsnap_proc proc;
	if (rounds < 1 || rounds > MAX_ROUNDS || hsnap_proc_init(&proc, "/", NULL))
		return 2;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();
	if (!pid)
		be_target(mib, sleepers);
	while (!shared->ready)
		usleep(10000);
	printf("medians of %zu, in ms\n%-8s %8s %9s %9s %9s %9s %9s %9s\n", rounds, "way", "GiB", "own stop", "worst",
	       "per GiB", "seen", "idle", "in all");
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (is_asked_for(modes[i].name, argc, argv, first))
			run_mode(&modes[i], &proc, pid, rounds);
	if (is_asked_for("gcore", argc, argv, first))
		run_others(pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	hsnap_proc_deinit(&proc);
	return 0;
}
