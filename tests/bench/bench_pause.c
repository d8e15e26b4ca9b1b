/* SPDX-License-Identifier: MIT */
/*
 * bench_pause.c - bench-pause [MIB [ROUNDS]]: how long a process is held still, by us and by gcore.
 *
 * The process has so much memory in small blocks, writes to it at random, and has a thread that
 * measures the longest gap between two looks at the clock: what the process itself notices.
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
		done += size + 16;
	}
}

static void be_target(size_t mib)
{
	pthread_t thread;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fill(mib << 20);
	pthread_create(&thread, NULL, measure_gaps, NULL);
	shared->ready = true;
	for (void **at = blocks;; at = *at ? *at : blocks) {
		((char *)at)[9]++;
		nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
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

int main(int argc, char **argv)
{
	size_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 1024;
	size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 7;
	if (rounds < 1 || rounds > MAX_ROUNDS)
		return 2;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();
	if (!pid)
		be_target(mib);
	while (!shared->ready)
		usleep(10000);

	struct hsnap_proc proc;
	struct hsnap_error err = { 0 };
	double own[MAX_ROUNDS], seen[MAX_ROUNDS], idle[MAX_ROUNDS], others[MAX_ROUNDS];
	uint64_t copied = 0;
	size_t gcores = 0;
	int status = hsnap_proc_init(&proc, "/", &err);
	for (size_t i = 0; i < rounds && !status; i++) {
		struct hsnap_frozen frozen;
		take_gap();
		idle[i] = take_gap();
		status = hsnap_freeze_copy(&(struct hsnap_freeze_options){ .proc = &proc, .pid = pid, .scratch = -1 }, &frozen, &err);
		if (status)
			break;
		own[i] = (double)frozen.pause_ns / 1e6;
		seen[i] = take_gap();
		copied = frozen.copied;
		hsnap_frozen_deinit(&frozen);
		if (i < 3 && (take_gap(), run_gcore(pid)))
			others[gcores++] = take_gap();
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (status) {
		fprintf(stderr, "bench-pause: %s\n", err.message);
		return 1;
	}
	double ms = median(own, rounds), gib = (double)copied / (1 << 30);
	printf("copied                        %8.2f GiB\n", gib);
	printf("copy: own stop, median of %-3zu %8.1f ms   %.0f ms per GiB\n", rounds, ms, ms / gib);
	printf("copy: gap that the target saw %8.1f ms   (idle: %.1f ms)\n", median(seen, rounds), median(idle, rounds));
	if (gcores)
		printf("gcore: gap that it saw        %8.1f ms\n", median(others, gcores));
	else
		puts("gcore: not there");
	return 0;
}
