/* SPDX-License-Identifier: MIT */
/* index.c - spans of blocks, and where in them blocks start. */
#include "capture/naming/index.h"

#include "snapshot/base/search.h"

#define BIG ((uint64_t)256 << 10)    /* from here on a block is a span of its own */
#define MAX_GAP ((uint64_t)64 << 10) /* inside a span */

static uint64_t end_of(const struct hsnap_block *block)
{
	return block->address + block->usable;
}

/* Blocks [first, result) make one span. */
static uint32_t span_end(const struct hsnap_heap *heap, uint32_t first)
{
	const struct hsnap_block *blocks = heap->blocks.items;
	uint32_t next = first + 1;
	if (blocks[first].usable >= BIG)
		return next;
	while (next < heap->blocks.num && blocks[next].usable < BIG &&
	       blocks[next].address - end_of(&blocks[next - 1]) <= MAX_GAP)
		next++;
	return next;
}

static bool is_aligned(const struct hsnap_block_index *index, const struct hsnap_span *span)
{
	for (uint32_t b = span->first; b < span->first + span->num; b++)
		if (index->blocks[b].address % 16)
			return false;
	return true;
}

static bool add_cells(struct hsnap_block_index *index, struct hsnap_span *span)
{
	uint64_t base = span->start >> HSNAP_CELL_SHIFT;
	uint64_t num = (span->end >> HSNAP_CELL_SHIFT) - base + 1;
	if (span->num == 1 || !is_aligned(index, span))
		return true;
	if (!hsnap_vec_reserve(&index->cells, num))
		return false;
	span->first_cell = index->cells.num;
	uint32_t block = span->first, last = span->first + span->num;
	for (uint64_t n = 0; n < num; n++) {
		struct hsnap_cell cell = { .before = block };
		for (; block < last && index->blocks[block].address >> HSNAP_CELL_SHIFT == base + n; block++)
			cell.starts |= (uint64_t)1 << (index->blocks[block].address / 16 % 64);
		index->cells.items[index->cells.num++] = cell;
	}
	return true;
}

enum hsnap_code hsnap_block_index_init(struct hsnap_block_index *index, const struct hsnap_heap *heap,
				       struct hsnap_error *err)
{
	*index = (struct hsnap_block_index){ .blocks = heap->blocks.items };
	if (heap->blocks.num >= HSNAP_MAX_NODES)
		return hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "more than %u blocks", HSNAP_MAX_NODES);
	uint32_t num = (uint32_t)heap->blocks.num;
	for (uint32_t first = 0, next; first < num; first = next) {
		next = span_end(heap, first);
		struct hsnap_span span = {
			.start = index->blocks[first].address, .end = end_of(&index->blocks[next - 1]),
			.first = first, .num = next - first, .first_cell = HSNAP_NO_CELLS,
		};
		if (!add_cells(index, &span) || !hsnap_vec_push(&index->spans, span)) {
			hsnap_block_index_deinit(index);
			return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the index of blocks");
		}
	}
	if (num) {
		index->low = index->spans.items[0].start;
		index->high = index->spans.items[index->spans.num - 1].end;
	}
	return HSNAP_OK;
}

void hsnap_block_index_deinit(struct hsnap_block_index *index)
{
	if (!index)
		return;
	hsnap_vec_deinit(&index->spans);
	hsnap_vec_deinit(&index->cells);
	*index = (struct hsnap_block_index){ 0 };
}

/* The span that holds the address, or NULL. */
static const struct hsnap_span *find_span(const struct hsnap_block_index *index, uint64_t value,
					  uint32_t *hint)
{
	const struct hsnap_span *spans = index->spans.items;
	if (value - spans[*hint].start < spans[*hint].end - spans[*hint].start)
		return &spans[*hint];
	size_t low = hsnap_first(index->spans.num, i, spans[i].start > value);
	if (!low || value >= spans[low - 1].end)
		return NULL;
	*hint = (uint32_t)(low - 1);
	return &spans[low - 1];
}

/* How many of the span's blocks start at or before the address, counted from block 0. */
static uint32_t count_by_cell(const struct hsnap_block_index *index, const struct hsnap_span *span, uint64_t value)
{
	const struct hsnap_cell *cell = index->cells.items + span->first_cell +
					((value >> HSNAP_CELL_SHIFT) - (span->start >> HSNAP_CELL_SHIFT));
	return cell->before + (uint32_t)__builtin_popcountll(cell->starts << (63 - value / 16 % 64));
}

static uint32_t count_by_halves(const struct hsnap_block_index *index, const struct hsnap_span *span, uint64_t value)
{
	uint32_t low = span->first, high = span->first + span->num;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (index->blocks[middle].address <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t hsnap_block_index_search(const struct hsnap_block_index *index, uint64_t value, uint32_t *hint)
{
	const struct hsnap_span *span = find_span(index, value, hint);
	if (!span)
		return HSNAP_NO_BLOCK;
	/* Never 0 of the span's: its first block starts where it starts. */
	uint32_t block = (span->first_cell == HSNAP_NO_CELLS ? count_by_halves(index, span, value)
							     : count_by_cell(index, span, value)) - 1;
	return value - index->blocks[block].address < index->blocks[block].usable ? block : HSNAP_NO_BLOCK;
}
