/* SPDX-License-Identifier: MIT */
/* agent_load.c - blocks that come and go at random. */
#include "tests/bench/agent_load.h"

#include <stdlib.h>
#include <time.h>

#define NOT_INLINED __attribute__((noinline))

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* others on this machine do not count */
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Seven of eight blocks have 16 to 135 bytes, the others up to 1,000. */
static size_t size_of(uint32_t random)
{
	return random >> 29 ? 16 + (random >> 12) % 120 : 16 + (random >> 12) % 985;
}

#define WAY(name, next) \
	static NOT_INLINED void *name(void *(*get)(size_t), size_t size) \
	{ \
		void *block = next; \
		__asm__ volatile("" ::: "memory"); \
		return block; \
	}
WAY(way_1, get(size))
WAY(way_2, get(size))
WAY(way_3, way_1(get, size))
WAY(way_4, way_3(get, size))

static void *(*const ways[4])(void *(*)(size_t), size_t) = { way_1, way_2, way_3, way_4 };

typedef void *path_function(void *(*get)(size_t), size_t size, uint32_t path, int depth);
static path_function path_left, path_right;
static path_function *const volatile path_ways[2] = { path_left, path_right };

#define PATH(name) \
	static NOT_INLINED void *name(void *(*get)(size_t), size_t size, uint32_t path, int depth) \
	{ \
		void *block = depth ? path_ways[path & 1](get, size, path >> 1, depth - 1) : get(size); \
		__asm__ volatile("" ::: "memory"); \
		return block; \
	}
PATH(path_left)
PATH(path_right)

/* Inline, with `stacks` known: the loop asks for nothing that it need not. */
static inline __attribute__((always_inline)) void churn(struct load *load, enum load_stacks stacks)
{
	void *(*get)(size_t) = load->allocator->get;
	void (*put)(void *) = load->allocator->put;
	uint32_t x = load->state;
	double start = now();
	for (uint32_t i = 0; i < load->num_pairs; i++) {
		x = x * 1664525u + 1013904223u;
		uint32_t at = (uint32_t)((uint64_t)x * load->num_live >> 32);
		put(load->blocks[at]);
		if (stacks == LOAD_ONE_STACK)
			load->blocks[at] = get(size_of(x));
		else if (stacks == LOAD_FOUR_STACKS)
			load->blocks[at] = ways[i % 4](get, size_of(x));
		else
			load->blocks[at] = path_left(get, size_of(x), x >> 20, 8);
	}
	load->ns = (now() - start) / load->num_pairs;
	load->state = x;
}

static NOT_INLINED void churn_by_stacks(struct load *load)
{
	if (load->stacks == LOAD_ONE_STACK)
		churn(load, LOAD_ONE_STACK);
	else if (load->stacks == LOAD_FOUR_STACKS)
		churn(load, LOAD_FOUR_STACKS);
	else
		churn(load, LOAD_MANY_STACKS);
	__asm__ volatile("" ::: "memory");
}

static NOT_INLINED void deep(int depth, struct load *load)
{
	if (depth)
		deep(depth - 1, load);
	else
		churn_by_stacks(load);
	__asm__ volatile("" ::: "memory");
}

void *load_run(void *load)
{
	deep(6, load);
	return NULL;
}

void load_fill(struct load *load)
{
	for (uint32_t i = 0; i < load->num_live; i++) {
		load->state = load->state * 1664525u + 1013904223u;
		load->blocks[i] = load->allocator->get(size_of(load->state));
	}
}

void load_empty(struct load *load)
{
	for (uint32_t i = 0; i < load->num_live; i++)
		load->allocator->put(load->blocks[i]);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

double median(double *values, size_t num)
{
	qsort(values, num, sizeof(*values), by_value);
	return values[num / 2];
}
