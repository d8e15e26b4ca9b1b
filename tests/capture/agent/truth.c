/* SPDX-License-Identifier: MIT */
/* truth.c - see truth.h. */
#include "truth.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct truth truth[MAX_TRUTH];
size_t num_truth;

void check(int holds, const char *what)
{
	if (holds)
		return;
	dprintf(STDERR_FILENO, "victim: does not hold: %s\n", what);
	_exit(8);
}

/* An earlier entry of an address is found by a small hash. */
static uint32_t last_of[1 << 20];

void note(void *block, size_t size, char what)
{
	uint32_t hash = (uint32_t)((uintptr_t)block >> 4) * 2654435761u >> 12;
	while (last_of[hash] && truth[last_of[hash] - 1].block != block)
		hash = (hash + 1) & ((1 << 20) - 1);
	if (!last_of[hash]) {
		CHECK(num_truth < MAX_TRUTH);
		truth[num_truth].block = block;
		last_of[hash] = (uint32_t)++num_truth;
	}
	truth[last_of[hash] - 1].size = size;
	truth[last_of[hash] - 1].what = what;
}

void *keep(void *block, size_t size)
{
	CHECK(block);
	memset(block, 0xa5, size);
	note(block, size, 'l');
	return block;
}

void drop(void *block)
{
	note(block, 0, 'd');
	free(block);
}

void *get(size_t size)
{
	return keep(malloc(size), size);
}

void *resize(void *block, size_t size)
{
	if (block)
		note(block, 0, 'd');
	return keep(realloc(block, size), size);
}

static unsigned random_state = 1;

unsigned rnd(unsigned below)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (random_state >> 8) % below;
}

/* It is longer than a pipe: the test reads it through a descriptor. */
void tell_and_stop(void)
{
	static const struct {
		char what;
		const char *text;
	} words[] = { { 'l', "live" }, { 'o', "over" }, { 'b', "bare" }, { 'd', "dead" } };
	char line[64];
	int fd = memfd_create("truth", 0);
	CHECK(fd >= 0);
	for (size_t i = 0; i < num_truth; i++) {
		size_t word = 0;
		while (words[word].what != truth[i].what)
			word++;
		int n = snprintf(line, sizeof(line), "%s %lx %zu\n", words[word].text, (unsigned long)truth[i].block,
				 truth[i].size);
		CHECK(write(fd, line, (size_t)n) == n);
	}
	int n = snprintf(line, sizeof(line), "/proc/%d/fd/%d %zu\n", (int)getpid(), fd, num_truth);
	CHECK(write(STDOUT_FILENO, line, (size_t)n) == n);
	raise(SIGSTOP);
}
