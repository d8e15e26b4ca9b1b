/* SPDX-License-Identifier: MIT */
/*
 * truth.h - what a program under test knows of its own heap.
 *
 * Lines: "live ADDRESS SIZE" a block that this program holds; "over ADDRESS SIZE" one that it has
 * written past its end; "bare ADDRESS SIZE" one of which the agent can know nothing; "dead ADDRESS" one that
 * it has freed and that was not handed out again.  Bookkeeping is in static arrays and output by write(2):
 * nothing here allocates.  Not for two threads at once.
 */
#ifndef HSNAP_TESTS_CAPTURE_AGENT_TRUTH_H
#define HSNAP_TESTS_CAPTURE_AGENT_TRUTH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The program ends with status 8 and says why on stderr. */
void check(int holds, const char *what);
#define CHECK(condition) check(!!(condition), #condition)

enum { MAX_TRUTH = 400000 };
struct truth {
	void *block;
	size_t size;
	char what; /* l live, o overrun, b bare, d dead */
};
extern struct truth truth[MAX_TRUTH];
extern size_t num_truth;

/* An earlier entry of the same address is void. */
void note(void *block, size_t size, char what);

void *keep(void *block, size_t size); /* not NULL, and filled; returns it */
void drop(void *block);
void *get(size_t size);
void *resize(void *block, size_t size);

unsigned rnd(unsigned below); /* the same row of numbers in each run */

/* Print the truth's whereabouts to stdout, and stop the process. */
void tell_and_stop(void);

#ifdef __cplusplus
}
#endif

#endif
