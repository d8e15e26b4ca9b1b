/* SPDX-License-Identifier: MIT */
/*
 * bench_walk.c - bench-walk [MILLIONS [ROUNDS]]: how fast glibc's heap is read from outside.
 *
 * The process has so many blocks of 24 to 144 bytes and has freed each ninth of them, mostly into bins;
 * with a third argument, "fast", the freed ones are of fastbins alone.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/alloc/alloc.h"
#include "capture/freeze/freeze.h"

#define MAX_ROUNDS 100

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* it has one thread: so others on the machine count less */
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void be_target(size_t num, bool fast, int ready)
{
	uint64_t state = 88172645463325252u;
	void **blocks = malloc(num * sizeof(*blocks));
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < num; i++) {
		state ^= state << 13, state ^= state >> 7, state ^= state << 17;
		size_t size = 24 + state % 121;
		if (fast && i % 9 == 0)
			size = 24;
		blocks[i] = malloc(size);
		if (!blocks[i])
			abort();
		memset(blocks[i], 1, size);
	}
	for (size_t i = 0; i < num; i += 9)
		free(blocks[i]);
	if (write(ready, "", 1) == 1)
		for (;;)
			pause();
	_exit(1);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	size_t num = (argc > 1 ? strtoul(argv[1], NULL, 10) : 5) * 1000000;
	size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 7;
	bool fast = argc > 3 && !strcmp(argv[3], "fast");
	int ends[2];
	char byte;
	if (rounds < 1 || rounds > MAX_ROUNDS || pipe(ends))
		return 2;
	pid_t pid = fork();
	if (!pid)
		be_target(num, fast, ends[1]);
	if (read(ends[0], &byte, 1) != 1)
		return 1;
	struct hsnap_proc proc;
	struct hsnap_frozen frozen;
	struct hsnap_error err = { 0 };
	double seconds[MAX_ROUNDS];
	int status = hsnap_proc_init(&proc, "/", &err);
	if (!status)
		status = hsnap_freeze_copy(&(struct hsnap_freeze_options){ .proc = &proc, .pid = pid, .scratch = -1 }, &frozen, &err);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (status) {
		fprintf(stderr, "bench-walk: %s\n", err.message);
		return 1;
	}
	size_t blocks = 0, free = 0;
	for (size_t i = 0; i < rounds; i++) {
		struct hsnap_heap heap;
		double began = now();
		if (hsnap_glibc_heap_read(frozen.target, &heap, &err)) {
			fprintf(stderr, "bench-walk: %s\n", err.message);
			return 1;
		}
		seconds[i] = now() - began;
		blocks = heap.blocks.num;
		free = heap.free.num;
		hsnap_heap_deinit(&heap);
	}
	qsort(seconds, rounds, sizeof(*seconds), by_value);
	double middle = seconds[rounds / 2];
	printf("%zu blocks and %zu free chunks of %" PRIu64 " MiB read in %.3f s of processor time (best %.3f s): %.1f million chunks a second\n", blocks,
	       free, frozen.copied >> 20, middle, seconds[0], (double)(blocks + free) / middle / 1e6);
	hsnap_frozen_deinit(&frozen);
	hsnap_proc_deinit(&proc);
	return 0;
}
