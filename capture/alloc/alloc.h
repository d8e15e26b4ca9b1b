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

/* The same by the first back-end that finds its allocator; HSNAP_NOT_FOUND: none does. */
HSNAP_CHECKED enum hsnap_code hsnap_heap_read(const struct hsnap_target *target,
					      struct hsnap_heap *ret, struct hsnap_error *err);

#endif
