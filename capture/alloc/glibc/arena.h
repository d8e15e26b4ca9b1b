/* SPDX-License-Identifier: MIT */
/* arena.h - glibc's arenas, found by their structure: malloc exports no symbol for them. */
#ifndef HSNAP_CAPTURE_ALLOC_GLIBC_ARENA_H
#define HSNAP_CAPTURE_ALLOC_GLIBC_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/target/target.h"
#include "snapshot/base/vec.h"

#define HSNAP_GLIBC_BINS 127u
/* sizeof(struct _heap_info): 0x20, since 2.35 0x30; in between nothing begins on a page. */
#define HSNAP_GLIBC_MIN_HEAP_HEAD 0x20u
#define HSNAP_GLIBC_MAX_HEAP_HEAD 0x80u

/* One struct malloc_state. */
struct hsnap_glibc_arena {
	uint64_t start, end;   /* of the structure */
	uint64_t bins;         /* address of its array of HSNAP_GLIBC_BINS pairs of links */
	uint64_t fastbins;     /* address of the ten heads, 0: this glibc has none */
	uint64_t top;          /* the chunk at the end of its newest heap */
	uint64_t system;       /* bytes that it has from the system */
	uint64_t heads;        /* of these, what is no chunk: heads of heaps and the like; filled by the walk */
	uint64_t brk_start;    /* of a main one: where its chunks began, 0: unknown; filled by the walk */
	uint32_t ring;         /* arenas of one libc have one number */
	bool main;             /* in a module's data, its chunks on brk; else in a heap of its own */
	bool contiguous;       /* a main arena of which all came from brk, as far as it knows */
	bool pieces;           /* a main arena that lies in more than one piece; filled by the walk */
	bool locked;           /* a thread was at work in it */
};

/* A process has a main arena for each of its libcs, which dlmopen() allows sixteen of, and of the others no more
 * than it had threads at a time: what is beyond is counted and left out. */
#define HSNAP_GLIBC_MAX_MAIN 64u
#define HSNAP_GLIBC_MAX_ARENAS 65536u

struct hsnap_glibc_arenas {
	struct hsnap_glibc_arena *items;
	size_t num, capacity;
	uint64_t left_out;
};

/**
 * Find the arenas of every libc in the process: the main one first, then those that follow it.
 *
 * A main arena stands in a module's data (the executable's, where that is static).  It shows by
 * its lists of free chunks, of which the empty ones point to themselves, and by the ring of all
 * arenas that leads back to it; how far its lists stand behind its start is what makes the ring
 * close.  The ring leads to the others.
 *
 * @param[out] arenas  appended to
 * @return false: out of memory
 * Cost: one pass over the written data of the modules; where nothing is there, over all of it.
 */
bool hsnap_glibc_arenas_find(const struct hsnap_target *target, struct hsnap_glibc_arenas *arenas);

/* Has a block of so many usable bytes the size of a thread's cache? */
bool hsnap_glibc_may_be_cache(uint64_t usable);

#endif
