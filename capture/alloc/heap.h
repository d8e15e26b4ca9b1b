/* SPDX-License-Identifier: MIT */
/*
 * heap.h - what walking an allocator yields: blocks, and the memory it owns.
 */
#ifndef HSNAP_CAPTURE_ALLOC_HEAP_H
#define HSNAP_CAPTURE_ALLOC_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot/base/error.h"
#include "snapshot/base/strings.h"
#include "snapshot/base/vec.h"

#define HSNAP_BLOCK_NO_RECORD 1u /* in use, but the agent has no valid record of it */
#define HSNAP_BLOCK_OVERRUN 2u   /* its record, or the head after it, was damaged */
#define HSNAP_BLOCK_ALLOCATOR 4u /* the allocator's own: a thread's cache */
#define HSNAP_BLOCK_OBJECT 8u    /* of a pool that the program names: its size is the program's word */
#define HSNAP_BLOCK_INSIDE 16u   /* asked for by the allocator itself, and never a leak of the program's */

struct hsnap_block {
	uint64_t address;   /* what the program was handed */
	uint64_t usable;    /* bytes */
	uint64_t requested; /* bytes; equals usable where unknown */
	uint32_t stack;     /* index into stacks, 0: unknown */
	uint16_t epoch;     /* as hsnap_graph.epoch */
	uint16_t flags;     /* HSNAP_BLOCK_… */
};

struct hsnap_raw_stack {
	uint32_t first_pc, num_pcs; /* into pcs: return addresses, innermost first */
};

/* The name of a type as the program gives it (heapsnap.h): any bytes, at most HSNAP_MAX_TEXT of them. */
struct hsnap_tag {
	hsnap_string text; /* in the heap's texts */
	uint8_t how;       /* enum hsnap_wire_text */
	bool cut;          /* it was longer */
};

/* Memory of a pool's slabs that is no object's, and may be more than free places: a header of the pool's own. */
struct hsnap_rest {
	uint64_t start, end;
	uint32_t pool; /* index into pools */
	bool header;   /* the program has told where the objects are, and this is beside */
};

/* Memory that the program says is a root. */
struct hsnap_named_root {
	uint64_t start, end;
	hsnap_string name; /* in the heap's texts */
};

/* Memory that an allocator or the agent manages: no place to look for roots. */
struct hsnap_region {
	uint64_t start, end;
};

/* Memory that the allocator holds and the program does not: a whole chunk, its head included. */
enum hsnap_free_kind {
	HSNAP_FREE_BIN,    /* on an arena's lists */
	HSNAP_FREE_CACHED, /* in a thread's cache or a fastbin: looks in use by its tags */
	HSNAP_FREE_TOP,    /* the end of a heap, where it grows */
	HSNAP_FREE_OTHER,  /* free by its tags alone: merged or moved at the moment of the stop */
	HSNAP_NUM_FREE_KINDS,
};
struct hsnap_free {
	uint64_t start, end;
	uint32_t arena;    /* index into arenas */
	uint8_t kind;      /* enum hsnap_free_kind */
};

/* One arena of the allocator.  [0] of the list stands for blocks with mappings of their own. */
struct hsnap_arena {
	uint64_t address;  /* of its state; 0: unknown (the agent's directory does not tell) */
	uint64_t system;   /* bytes that it says it has from the system; 0: unknown */
	uint64_t walked;   /* bytes of chunks that the walk found */
	bool main;
	bool locked;       /* a thread was at work in it */
};

struct hsnap_heap {
	struct hsnap_vec(struct hsnap_block) blocks;   /* live ones, in order of address, disjoint */
	struct hsnap_vec(struct hsnap_raw_stack) stacks; /* [0] empty */
	struct hsnap_vec(uint64_t) pcs;
	struct hsnap_vec(struct hsnap_tag) tags; /* [0] empty; what the program says its blocks are */
	uint32_t *tag_of;                        /* one a block: index into tags; NULL: there are none */
	struct hsnap_vec(struct hsnap_region) regions; /* in order of address, disjoint */
	struct hsnap_vec(struct hsnap_region) own;     /* of these the agent's own, in order, disjoint */
	struct hsnap_vec(struct hsnap_free) free;      /* in order of address, disjoint */
	struct hsnap_vec(struct hsnap_arena) arenas;   /* [0] as said above; empty: not told */
	struct hsnap_vec(hsnap_string) pools;    /* names, [0] none; those that the program gives its pools */
	uint32_t *pool_of;                       /* one a block: index into pools; NULL: no block is an object of one */
	struct hsnap_vec(struct hsnap_rest) rests; /* in order of address, disjoint */
	struct hsnap_vec(struct hsnap_named_root) named_roots; /* in order of address */
	struct hsnap_strings texts;
	uint32_t allocator;         /* module of an allocator that is nothing else; its thread-locals are no roots; 0: none */
	uint64_t num_objects, object_bytes, num_slabs, slab_bytes; /* of pools: what counts as blocks, and the memory around them */
	uint64_t objects_gone; /* on record where the pool has no memory */
	uint64_t notes_lost, notes_astray; /* annotations without room, and of addresses that are nobody's */
	const char *source;         /* "agent", "glibc" */
	bool requested_known;       /* requested sizes are known (for blocks with a record) */
	uint64_t epoch_start;       /* ns since the epoch to which block epochs count */
	uint64_t allocated_bytes, allocated_count, freed_bytes, freed_count; /* since start */
	/* Room of the live blocks, as the agent counts and as the walk found it (blocks with a record):
	 * equal where nothing is lost and no thread was between the two. */
	uint64_t counted_room, found_room;
	uint64_t no_record, overruns;
	uint64_t walked_bytes, expected_bytes; /* the walk proves itself: equal when nothing was lost */
	char partial[160];          /* why something is missing; "" = complete */
};

void hsnap_heap_deinit(struct hsnap_heap *heap);

/* Put regions in order, those that overlap or touch made one; returns how many they are then. */
size_t hsnap_regions_sort(struct hsnap_region *regions, size_t num);
/* The same with all regions of a heap. */
void hsnap_heap_sort_regions(struct hsnap_heap *heap);

/* Index of the block that contains the address, or SIZE_MAX.  O(log n). */
size_t hsnap_heap_find(const struct hsnap_heap *heap, uint64_t address);

#endif
