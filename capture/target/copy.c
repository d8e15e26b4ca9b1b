/* SPDX-License-Identifier: MIT */
/* copy.c - storage of a private copy. */
#include "capture/target/copy.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "snapshot/base/pages.h"

#define PAGE ((size_t)4096)

bool hsnap_copy_init(struct hsnap_copy *copy, size_t size, size_t max_extents, int scratch)
{
	(void)scratch;
	size = (size + PAGE - 1) & ~(PAGE - 1);
	*copy = (struct hsnap_copy){ .size = size, .max_extents = max_extents };
	copy->buffer = hsnap_pages_alloc(size, 1);
	copy->extents = hsnap_pages_alloc(max_extents, sizeof(*copy->extents));
	if (!copy->buffer || !copy->extents) {
		hsnap_copy_deinit(copy);
		return false;
	}
	/* A page that is faulted in on first use costs four times its copying. */
	for (size_t i = 0; i < size; i += PAGE)
		((volatile uint8_t *)copy->buffer)[i] = 0;
	for (size_t i = 0; i < max_extents; i += PAGE / sizeof(*copy->extents))
		((volatile struct hsnap_extent *)copy->extents)[i].at = 0;
	return true;
}

void hsnap_copy_deinit(struct hsnap_copy *copy)
{
	hsnap_pages_free(copy->buffer, copy->size, 1);
	hsnap_pages_free(copy->extents, copy->max_extents, sizeof(*copy->extents));
	*copy = (struct hsnap_copy){ 0 };
}

void hsnap_copy_shrink(struct hsnap_copy *copy)
{
	size_t keep = (copy->used + PAGE - 1) & ~(PAGE - 1);
	if (!keep)
		keep = PAGE;
	if (keep >= copy->size)
		return;
	munmap(copy->buffer + keep, copy->size - keep);
	copy->size = keep;
}

const struct hsnap_extent *hsnap_copy_find(const struct hsnap_copy *copy, uint64_t address)
{
	size_t low = 0, high = copy->num_extents;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (address < copy->extents[middle].end)
			high = middle;
		else
			low = middle + 1;
	}
	return low < copy->num_extents ? &copy->extents[low] : NULL;
}
