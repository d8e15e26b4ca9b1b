/* SPDX-License-Identifier: MIT */
/* heap.c - what a walk yielded: look-up and release. */
#include "capture/alloc/heap.h"

void hsnap_heap_deinit(struct hsnap_heap *heap)
{
	if (!heap)
		return;
	hsnap_vec_deinit(&heap->blocks);
	hsnap_vec_deinit(&heap->stacks);
	hsnap_vec_deinit(&heap->pcs);
	hsnap_vec_deinit(&heap->regions);
	hsnap_vec_deinit(&heap->free);
	hsnap_vec_deinit(&heap->arenas);
}

size_t hsnap_heap_find(const struct hsnap_heap *heap, uint64_t address)
{
	size_t low = 0, high = heap->blocks.num; /* the answer is the block before high */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (heap->blocks.items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address - heap->blocks.items[low - 1].address >= heap->blocks.items[low - 1].usable)
		return SIZE_MAX;
	return low - 1;
}
