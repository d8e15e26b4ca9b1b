/* SPDX-License-Identifier: MIT */
/* witness.h - glibc's own bookkeeping as the second witness of what the agent's records say. */
#ifndef HSNAP_TESTS_CAPTURE_AGENT_WITNESS_H
#define HSNAP_TESTS_CAPTURE_AGENT_WITNESS_H

#include "capture/alloc/heap.h"
#include "capture/target/target.h"

/**
 * Walk glibc's heap of the same frozen copy, and hold it against the agent's: the same blocks of the same sizes, but for the
 * caches that libc keeps for threads, and so many that may be in the hands of a thread.
 *
 * A failed expectation of the test for what differs; name says of what.
 */
void witness_agrees(const struct hsnap_target *target, const struct hsnap_heap *agent, const char *name, unsigned in_flight);

#endif
