/* SPDX-License-Identifier: MIT */
/*
 * index.h - which block does a word point into?
 *
 * Blocks are gathered into spans, stretches of address space with small gaps.  A
 * span has a bit for each 16 bytes, set where a block starts, and how many
 * blocks start before each 64 bits: a look-up touches one cell and one block.  A
 * big block is a span of its own; where blocks are not aligned so, a span is
 * searched by halves.
 */
#ifndef HSNAP_CAPTURE_NAMING_INDEX_H
#define HSNAP_CAPTURE_NAMING_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "capture/alloc/heap.h"
#include "snapshot/base/error.h"
#include "snapshot/base/vec.h"
#include "snapshot/graph/graph.h"

#define HSNAP_NO_BLOCK UINT32_MAX
#define HSNAP_CELL_SHIFT 10 /* 64 bits of 16 bytes */
#define HSNAP_NO_CELLS SIZE_MAX

/* 1 KiB of address space. */
struct hsnap_cell {
	uint64_t starts; /* bit n: a block starts at 16 * n */
	uint32_t before; /* number of the first block that starts at or after the cell */
};

struct hsnap_span {
	uint64_t start, end;  /* first and last byte (end exclusive) of its blocks */
	uint32_t first, num;  /* its blocks */
	size_t first_cell;    /* into cells, or HSNAP_NO_CELLS */
};

struct hsnap_block_index {
	const struct hsnap_block *blocks;
	struct hsnap_vec(struct hsnap_span) spans;
	struct hsnap_vec(struct hsnap_cell) cells;
	uint64_t low, high;   /* no block begins below or ends above */
};

HSNAP_CHECKED enum hsnap_code hsnap_block_index_init(struct hsnap_block_index *index,
						     const struct hsnap_heap *heap,
						     struct hsnap_error *err);
void hsnap_block_index_deinit(struct hsnap_block_index *index);

/* The slow half of hsnap_block_index_find(): `value` lies between low and high. */
uint32_t hsnap_block_index_search(const struct hsnap_block_index *index, uint64_t value, uint32_t *hint);

/* Block in whose usable bytes `value` points, or HSNAP_NO_BLOCK.  *hint: 0 at first, then left alone. */
static inline uint32_t hsnap_block_index_find(const struct hsnap_block_index *index, uint64_t value,
					      uint32_t *hint)
{
	if (value - index->low >= index->high - index->low)
		return HSNAP_NO_BLOCK;
	return hsnap_block_index_search(index, value, hint);
}

#endif
