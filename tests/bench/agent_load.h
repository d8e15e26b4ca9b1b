/* SPDX-License-Identifier: MIT */
/* agent_load.h - what bench-agent and bench-peers have allocators do. */
#ifndef TESTS_BENCH_AGENT_LOAD_H
#define TESTS_BENCH_AGENT_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct allocator {
	void *(*get)(size_t size);
	void (*put)(void *block);
};

enum load_stacks {
	LOAD_ONE_STACK,
	LOAD_FOUR_STACKS,  /* call chains of one to three frames in turn: the stack is never the one of the call before */
	LOAD_MANY_STACKS,  /* one of 256 at random: eight frames, each of one of two functions */
};

struct load {
	const struct allocator *allocator;
	void **blocks;
	uint32_t num_live, num_pairs, state; /* state: of the random numbers */
	double ns;                           /* of this thread's processor time, a pair */
	enum load_stacks stacks;
};

/* num_live blocks, of which seven of eight have 16 to 135 bytes, the others up to 1,000. */
void load_fill(struct load *load);
void load_empty(struct load *load);
/* Free one at random and allocate another, num_pairs times, below eight frames of the program; for pthread_create(). */
void *load_run(void *load);

/* Sorts them. */
double median(double *values, size_t num);

#endif
