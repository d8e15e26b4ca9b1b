/* SPDX-License-Identifier: MIT */
/*
 * apart.h - a thread of its own for whoever holds a target.
 *
 * When that thread ends, for whatever reason, the kernel lets go of all that it traced.
 */
#ifndef HSNAP_CAPTURE_FREEZE_APART_H
#define HSNAP_CAPTURE_FREEZE_APART_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Run it and wait for its end.  It takes no signal, and this process cannot be stopped from the
 * terminal meanwhile.  false: there is no thread to be had (errno), and nothing was run. */
bool hsnap_apart(void *(*run)(void *), void *argument);

/* Before others, where that is permitted: each thread that is let go would else take our place on
 * the processor.  Of the calling thread. */
void hsnap_apart_hurry(void);

/* With the others again: what takes long must not keep a processor from the target. */
void hsnap_apart_rest(void);

/* After others, and for good (to come back needs a right): the calling thread gets a tenth of a processor that
 * a thread of the target wants, and all of one that nobody does. */
void hsnap_apart_give_way(void);

/* Wait until one of those that the calling thread holds may have stopped, at most for so long: it
 * takes a SIGCHLD.  Sleeping for a few microseconds over and over instead would leave a thread that
 * is on the same processor no time to get to its stop. */
void hsnap_apart_nap(long ns);

/* Nanoseconds. */
static inline uint64_t hsnap_now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
