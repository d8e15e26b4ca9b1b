/* SPDX-License-Identifier: MIT */
/*
 * alloc.h - reading the heap of a captured process, whoever keeps it.
 *
 * To add an allocator: a folder here with a function of this type, named in registry.c, and a
 * test that compares its walk with what a program says of itself.
 */
#ifndef HSNAP_CAPTURE_ALLOC_ALLOC_H
#define HSNAP_CAPTURE_ALLOC_ALLOC_H

#include "capture/alloc/heap.h"
#include "capture/target/target.h"

/**
 * Read the heap of a process that runs with the agent.
 *
 * All memory of the target is hostile: whatever stands in it, this ends, and what it yields
 * is in order and in bounds.  What could not be walked is said in ret->partial.
 *
 * @param      target  frozen; borrowed for the call
 * @param[out] ret     written on success only; release with hsnap_heap_deinit()
 * @return HSNAP_OK, HSNAP_NOT_FOUND (no agent in it), HSNAP_REFUSED (the agent stood aside: the
 *         message says why), HSNAP_UNSUPPORTED (an agent of another version), HSNAP_FORMAT
 *         (what it left makes no sense), HSNAP_NO_MEMORY
 *
 * Cost: one pass over the chunk heads, O(blocks log stacks).
 */
HSNAP_CHECKED enum hsnap_code hsnap_agent_heap_read(const struct hsnap_target *target,
						    struct hsnap_heap *ret, struct hsnap_error *err);

/**
 * Read the heap of a process that nobody prepared: every live block of glibc's malloc.
 *
 * No symbol of libc is needed: arenas are found by their structure and their ring.  Free chunks
 * are left out wherever they are kept (caches of threads, fastbins, bins, tops).  The sizes are
 * usable sizes.  What could not be walked is said in ret->partial.
 *
 * @return HSNAP_OK, HSNAP_NOT_FOUND (no arena in it), HSNAP_NO_MEMORY
 * Cost: one pass over the writable memory for the arenas, one over the chunk heads.
 */
HSNAP_CHECKED enum hsnap_code hsnap_glibc_heap_read(const struct hsnap_target *target,
						    struct hsnap_heap *ret, struct hsnap_error *err);

/* Where a process's blocks are read from. */
enum hsnap_heap_from { HSNAP_HEAP_AUTO, HSNAP_HEAP_AGENT, HSNAP_HEAP_GLIBC };

/* By the back-end asked for, or the first that finds its allocator; HSNAP_NOT_FOUND: none does. */
HSNAP_CHECKED enum hsnap_code hsnap_heap_read(const struct hsnap_target *target, enum hsnap_heap_from from,
					      struct hsnap_heap *ret, struct hsnap_error *err);

#endif
