/* SPDX-License-Identifier: MIT */
/* walk.h - the parts of the reader of glibc's heap. */
#ifndef HSNAP_CAPTURE_ALLOC_GLIBC_WALK_H
#define HSNAP_CAPTURE_ALLOC_GLIBC_WALK_H

#include "capture/alloc/alloc.h"
#include "capture/alloc/glibc/arena.h"
#include "capture/alloc/window.h"

#define PAGE ((uint64_t)4096)
#define MIN_CHUNK 32u
#define FENCE 16u /* size of a fence post */
#define IN_USE 1u /* flags in a chunk's head: the chunk before it is in use */
#define MAPPED 2u
#define OTHER_ARENA 4u
#define SIZE(head) ((head) & ~7ull)

enum run_kind { RUN_NONE, RUN_MAIN, RUN_HEAP, RUN_MAPPED };

/* A part of the heap that is walked in one go. */
struct run {
	uint64_t start, end;
	uint64_t top;         /* in it, or 0; of RUN_MAPPED: where its chunk begins */
	uint32_t arena;       /* index into heap->arenas */
	enum run_kind kind;
	size_t first_block;   /* filled by the walk: its blocks, up to the next run's */
	uint64_t first_bit;   /* of marks; one bit for each 16 bytes */
	uint64_t last_block;  /* where the last block's chunk begins: marks end with it */
};

/* What malloc keeps for all arenas of a libc. */
struct params {
	uint64_t brk_start;    /* where the main arena's chunks began */
	uint64_t mapped_bytes; /* of blocks with mappings of their own */
};

/* How far memory goes on from a mapping without a gap: its end, or that of one of the next mappings. */
struct extent {
	uint64_t readable; /* 0: the mapping cannot be read */
	uint64_t private;  /* what follows is private from its start on */
};

/* A place that may be what malloc keeps for all arenas of a libc, by where brk would begin. */
struct params_place {
	uint64_t base, mapped_bytes;
	uint32_t order; /* in its module */
};
struct params_places hsnap_vec_body(struct params_place);

struct walk {
	const struct hsnap_target *target;
	struct hsnap_heap *heap;
	struct extent *extents;               /* one a mapping */
	struct params_places params;          /* of the module or mapping that was last looked at, by base */
	struct params first_params;           /* of these the first that was found */
	const struct hsnap_mapping *params_of; /* NULL: none was looked at */
	struct hsnap_window window, links;    /* along the chunks; wherever their links lead */
	struct hsnap_glibc_arenas arenas;     /* [i] is heap->arenas.items[i + 1] */
	struct hsnap_vec(struct run) runs;    /* in order of address, disjoint */
	struct hsnap_vec(size_t) caches;      /* blocks as large as a thread's cache */
	struct hsnap_vec(uint64_t) members;   /* scratch of caches.c, */
	struct hsnap_vec(uint32_t) proven;    /* … its list of what surely are caches */
	uint64_t *marks;                      /* chunks on the lists of caches */
	uint64_t num_marks;
	uint64_t foot_steps;                  /* left to look for what goes on behind a chunk that is not whole */
	bool params_missing;                  /* heap->arenas.items[0].system does not say all */
	uint32_t heaps;                       /* of arenas that are not main ones */
};

/* Fill walk->extents; false: out of memory. */
bool hsnap_glibc_extents(struct walk *walk);

/* Where in a mapping memory begins that an allocator may have got from the system; its end: nowhere. */
uint64_t hsnap_glibc_private_from(const struct hsnap_target *target, const struct hsnap_mapping *mapping);
bool hsnap_glibc_is_private(const struct walk *walk, uint64_t start, uint64_t end);

/* From `start` as far as readable mappings follow each other without a gap, at most to `limit`. */
uint64_t hsnap_glibc_mapped_end(const struct walk *walk, uint64_t start, uint64_t limit);

/* Each appends to walk->runs and to heap->regions; false: out of memory. */
bool hsnap_glibc_heap_runs(struct walk *walk);
bool hsnap_glibc_main_runs(struct walk *walk);
bool hsnap_glibc_mapped_runs(struct walk *walk);

bool hsnap_glibc_piece_runs(struct walk *walk); /* called by main_runs, for arenas marked so */

/* `start`: where the main arena's chunks should begin; else where they may.  *ret_found: whether there is any.  false: out of
 * memory. */
bool hsnap_glibc_find_params(struct walk *walk, const struct hsnap_glibc_arena *arena, uint64_t start, struct params *ret,
			     bool *ret_found);

/* Do chunks follow each other from here to the run's top, to its end, or for a while? */
bool hsnap_glibc_leads_on(struct walk *walk, const struct run *run, uint64_t at);

/* Put the runs in order; one that overlaps the one before is the work of a damaged head and goes. */
void hsnap_glibc_sort_runs(struct walk *walk);

/* Where there are more blocks with mappings of their own than malloc counts: words of somebody else's that
 * look like a head, in the midst of a mapping, go. */
void hsnap_glibc_drop_doubtful(struct walk *walk);

/* Walk all runs: blocks in use by their tags, and what is free; false: out of memory. */
bool hsnap_glibc_walk_runs(struct walk *walk);

/* Take what is in caches of threads and in fastbins out of the blocks; false: out of memory. */
bool hsnap_glibc_sort_out_cached(struct walk *walk);

static inline bool hsnap_glibc_is_head(uint64_t head, uint64_t room)
{
	uint64_t size = SIZE(head);
	return !(head & (MAPPED | 8)) && size <= room && (size >= MIN_CHUNK || size == FENCE);
}

#endif
