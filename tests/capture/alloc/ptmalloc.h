/* SPDX-License-Identifier: MIT */
/*
 * ptmalloc.h - made-up heaps of glibc's malloc, laid out as a version does.
 *
 * A heap is said in words, a chunk each: "live 24" (a block of so many usable bytes), "cache" (a
 * thread's cache), "tcache 40" (a chunk on the latest cache's list), "fast 24", "bin 600",
 * "marked 40" (bears the mark of cached chunks, is on no list), "residue 40" (a live block with that
 * mark and the link of a fastbin), "posts", "top".
 */
#ifndef HSNAP_TESTS_CAPTURE_ALLOC_PTMALLOC_H
#define HSNAP_TESTS_CAPTURE_ALLOC_PTMALLOC_H

#include <stdint.h>

#include "capture/target/target.h"

enum mark { MARK_NONE, MARK_OWN, MARK_RANDOM };

struct layout {
	const char *name;
	unsigned bins_offset, heap_head; /* sizes of what stands before the bins, and of struct _heap_info */
	unsigned bins, count_size;       /* of a thread's cache */
	unsigned slots;                  /* most on a list, where counts are of what is left; 0: they are not */
	bool mixed, five_ints;           /* links; struct malloc_par as since 2.35 */
	enum mark mark;
};

#define PTM_MAX 64
#define PTM_LIBC 0x7f0000000000ull  /* data of libc */
#define PTM_BRK 0x555500000000ull
#define PTM_HEAPS 0x7e0000000000ull /* other arenas' heaps */
#define PTM_MAPPED 0x7d0000000000ull

struct ptm_block {
	uint64_t address, usable;
	char what; /* l live, c cached, f in a bin or free otherwise, a cache itself */
};

struct ptm_arena {
	uint64_t base;      /* of its struct malloc_state */
	uint64_t system;    /* as it says */
	uint64_t unsorted;  /* the last chunk put on its list */
	uint64_t fast[10];
	uint64_t top;
};

/* One stretch of memory of the target, being filled. */
struct ptm_piece {
	uint64_t start;
	uint8_t *bytes;
	size_t size;
};

struct ptm {
	const struct layout *layout;
	struct hsnap_target *target;
	struct ptm_piece pieces[16];
	unsigned num_pieces;
	struct ptm_arena arenas[4];
	unsigned num_arenas;
	uint64_t cache; /* the latest one's block */
	uint64_t mapped, mapped_bytes;
	struct ptm_block blocks[PTM_MAX];
	unsigned num_blocks;
};

/* libc's data with a main arena in it. */
void ptm_init(struct ptm *ptm, const struct layout *layout);
/* Memory with chunks in it; returns where it begins. */
uint64_t ptm_brk(struct ptm *ptm, uint64_t start, const char *words);
/* A heap at `start` of so many bytes: of a new arena, or one more of the latest. */
void ptm_heap(struct ptm *ptm, uint64_t start, uint64_t size, bool first, const char *words);
/* A block with a mapping of its own, aligned as said (16: not); returns the mapping's end. */
uint64_t ptm_map(struct ptm *ptm, uint64_t start, uint64_t usable, uint64_t alignment);
/* Write arenas and counts: the last to be written. */
void ptm_write(struct ptm *ptm);
/* What stands there, as a target. */
struct hsnap_target *ptm_target(const struct ptm *ptm);
/* Both. */
struct hsnap_target *ptm_finish(struct ptm *ptm);
void ptm_deinit(struct ptm *ptm);

/* A word of the memory; the place must exist. */
uint64_t ptm_get(struct ptm *ptm, uint64_t address);
void ptm_put(struct ptm *ptm, uint64_t address, uint64_t value);

#endif
