/* SPDX-License-Identifier: MIT */
/* index.c - spans of blocks and the first block of each of their pages. */
#include "capture/naming/index.h"

#define PAGE ((uint64_t)1 << HSNAP_INDEX_PAGE_SHIFT)
#define BIG ((uint64_t)64 << HSNAP_INDEX_PAGE_SHIFT)     /* from here on a span of its own */
#define MAX_GAP ((uint64_t)16 << HSNAP_INDEX_PAGE_SHIFT) /* inside a span */

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

static bool add_pages(struct hsnap_block_index *index, const struct hsnap_span *span)
{
	uint64_t base = span->start >> HSNAP_INDEX_PAGE_SHIFT;
	uint64_t num = ((span->end - 1) >> HSNAP_INDEX_PAGE_SHIFT) - base + 1;
	if (!hsnap_vec_reserve(&index->pages, num + 1))
		return false;
	uint32_t block = span->first, last = span->first + span->num;
	for (uint64_t page = 0; page <= num; page++) {
		while (block < last && index->blocks[block].address >> HSNAP_INDEX_PAGE_SHIFT < base + page)
			block++;
		index->pages.items[index->pages.num++] = block;
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
			.first = first, .num = next - first, .first_page = index->pages.num,
		};
		bool single = span.num == 1;
		if ((!single && !add_pages(index, &span)) || !hsnap_vec_push(&index->spans, span)) {
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
	hsnap_vec_deinit(&index->pages);
	*index = (struct hsnap_block_index){ 0 };
}

/* The span that holds the address, or NULL. */
static const struct hsnap_span *find_span(const struct hsnap_block_index *index, uint64_t value,
					  uint32_t *hint)
{
	const struct hsnap_span *spans = index->spans.items;
	if (value - spans[*hint].start < spans[*hint].end - spans[*hint].start)
		return &spans[*hint];
	size_t low = 0, high = index->spans.num;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (spans[middle].start <= value)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || value >= spans[low - 1].end)
		return NULL;
	*hint = (uint32_t)(low - 1);
	return &spans[low - 1];
}

uint32_t hsnap_block_index_search(const struct hsnap_block_index *index, uint64_t value, uint32_t *hint)
{
	const struct hsnap_span *span = find_span(index, value, hint);
	if (!span)
		return HSNAP_NO_BLOCK;
	uint32_t low = span->first, high = span->first + span->num;
	if (span->num > 1) {
		const uint32_t *page = index->pages.items + span->first_page +
				       ((value >> HSNAP_INDEX_PAGE_SHIFT) - (span->start >> HSNAP_INDEX_PAGE_SHIFT));
		low = page[0];
		high = page[1];
	}
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (index->blocks[middle].address <= value)
			low = middle + 1;
		else
			high = middle;
	}
	/* The block before is the one that may hold it, be it of an earlier page. */
	if (low == span->first)
		return HSNAP_NO_BLOCK;
	const struct hsnap_block *block = &index->blocks[low - 1];
	return value - block->address < block->usable ? low - 1 : HSNAP_NO_BLOCK;
}
