/* SPDX-License-Identifier: MIT */
/* arena.h - glibc's main arenas, found by their structure: malloc exports no symbol for them. */
#ifndef HSNAP_CAPTURE_ALLOC_GLIBC_ARENA_H
#define HSNAP_CAPTURE_ALLOC_GLIBC_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/target/target.h"

/**
 * Where the state of a main arena (struct malloc_state) stands in a module's data: the first
 * one at or after `from`.  A process has more than one where it has loaded a second libc.
 *
 * Its lists of free chunks, its top and its last remainder point into the heap, at what was
 * once free: no root.  Decided by the lists, of which the empty ones point to themselves, and
 * by the ring of all arenas that has to lead back to it.
 *
 * @return false where none was found: another libc, or no empty list in a very busy heap
 * Cost: one pass over the writable data of the modules from there on.
 */
bool hsnap_glibc_main_arena(const struct hsnap_target *target, uint64_t from, uint64_t *start, uint64_t *end);

#endif
