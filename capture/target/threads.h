/* SPDX-License-Identifier: MIT */
/*
 * threads.h - which threads are at work in a stretch of memory.
 *
 * There can be tens of thousands of both: who goes through the mappings looks here for the threads
 * of each, and not through all of them.
 */
#ifndef HSNAP_CAPTURE_TARGET_THREADS_H
#define HSNAP_CAPTURE_TARGET_THREADS_H

#include "capture/target/target.h"

/* Where a thread is at work. */
struct hsnap_thread_place {
	uint64_t at;
	uint32_t thread; /* index into target->threads */
};

struct hsnap_thread_places hsnap_vec_body(struct hsnap_thread_place);

/* All threads in order of their stack pointers, or of their thread pointers, and then of their index; release
 * with hsnap_vec_deinit().  false: out of memory.  O(n log n). */
bool hsnap_threads_by_stack(const struct hsnap_target *target, struct hsnap_thread_places *ret);
bool hsnap_threads_by_pointer(const struct hsnap_target *target, struct hsnap_thread_places *ret);

/* Index of the first place at the address or after it.  O(log n). */
size_t hsnap_threads_from(const struct hsnap_thread_places *places, uint64_t address);

#endif
