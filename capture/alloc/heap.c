/* SPDX-License-Identifier: MIT */
/* heap.c - what a walk yielded: order, look-up and release. */
#include "capture/alloc/heap.h"

#include <stdlib.h>

#include "snapshot/base/search.h"

void hsnap_heap_deinit(struct hsnap_heap *heap)
{
	if (!heap)
		return;
	hsnap_vec_deinit(&heap->blocks);
	hsnap_vec_deinit(&heap->stacks);
	hsnap_vec_deinit(&heap->pcs);
	hsnap_vec_deinit(&heap->tags);
	free(heap->tag_of);
	hsnap_vec_deinit(&heap->pools);
	free(heap->pool_of);
	hsnap_vec_deinit(&heap->rests);
	hsnap_vec_deinit(&heap->named_roots);
	hsnap_strings_deinit(&heap->texts);
	hsnap_vec_deinit(&heap->regions);
	hsnap_vec_deinit(&heap->own);
	hsnap_vec_deinit(&heap->free);
	hsnap_vec_deinit(&heap->arenas);
}

static int by_region(const void *a, const void *b)
{
	const struct hsnap_region *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

size_t hsnap_regions_sort(struct hsnap_region *regions, size_t num)
{
	if (!num)
		return 0;
	qsort(regions, num, sizeof(*regions), by_region);
	size_t kept = 1;
	for (size_t i = 1; i < num; i++) {
		struct hsnap_region *last = &regions[kept - 1], next = regions[i];
		if (next.start > last->end)
			regions[kept++] = next;
		else if (next.end > last->end)
			last->end = next.end;
	}
	return kept;
}

void hsnap_heap_sort_regions(struct hsnap_heap *heap)
{
	heap->regions.num = hsnap_regions_sort(heap->regions.items, heap->regions.num);
}

size_t hsnap_heap_find(const struct hsnap_heap *heap, uint64_t address)
{
	size_t low = hsnap_first(heap->blocks.num, i, heap->blocks.items[i].address > address); /* the answer is the block before high */
	if (!low || address - heap->blocks.items[low - 1].address >= heap->blocks.items[low - 1].usable)
		return SIZE_MAX;
	return low - 1;
}
