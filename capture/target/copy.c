/* SPDX-License-Identifier: MIT */
/* copy.c - storage of a private copy. */
#include "capture/target/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "capture/target/scratch.h"
#include "snapshot/base/pages.h"
#include "snapshot/base/parallel.h"
#include "snapshot/base/search.h"

#define PAGE ((size_t)4096)
#define SLICE ((size_t)16 << 20) /* that one thread faults in */

struct fresh {
	volatile uint8_t *pages;
	size_t size;
};

static void fault_in_slice(void *context, size_t n)
{
	const struct fresh *fresh = context;
	size_t end = fresh->size - n * SLICE < SLICE ? fresh->size : (n + 1) * SLICE;
	for (size_t i = n * SLICE; i < end; i += PAGE)
		fresh->pages[i] = 0;
}

/* A page that is faulted in on first use costs four times its copying.  Clearing them is most of that. */
static void fault_in(void *pages, size_t size)
{
	struct fresh fresh = { pages, size };
	hsnap_parallel((size + SLICE - 1) / SLICE, fault_in_slice, &fresh);
}

static bool map_file(struct hsnap_copy *copy)
{
	if (!hsnap_scratch_resize(copy->scratch, copy->size))
		return false;
	void *pages = mmap(NULL, copy->size, PROT_READ | PROT_WRITE, MAP_SHARED, copy->scratch, 0);
	copy->buffer = pages == MAP_FAILED ? NULL : pages;
	return copy->buffer;
}

bool hsnap_copy_init(struct hsnap_copy *copy, size_t size, size_t max_extents, int scratch)
{
	size = size ? (size + PAGE - 1) & ~(PAGE - 1) : PAGE;
	*copy = (struct hsnap_copy){ .size = size, .max_extents = max_extents, .scratch = scratch };
	bool done = true;
	if (scratch >= 0)
		done = map_file(copy);
	else
		copy->buffer = hsnap_pages_alloc(size, 1);
	copy->extents = hsnap_pages_alloc(max_extents, sizeof(*copy->extents));
	if (!done || !copy->buffer || !copy->extents) {
		int sys_errno = done ? ENOMEM : errno;
		hsnap_copy_deinit(copy);
		errno = sys_errno;
		return false;
	}
	if (scratch < 0)
		fault_in(copy->buffer, size);
	fault_in(copy->extents, max_extents * sizeof(*copy->extents));
	return true;
}

bool hsnap_copy_stage(struct hsnap_copy *copy, size_t memory)
{
	if (copy->scratch < 0)
		return true;
	copy->stage = hsnap_stage_create(copy->scratch, memory);
	return copy->stage;
}

void hsnap_copy_deinit(struct hsnap_copy *copy)
{
	hsnap_stage_destroy(copy->stage);
	hsnap_pages_free(copy->buffer, copy->size, 1);
	hsnap_pages_free(copy->extents, copy->max_extents, sizeof(*copy->extents));
	*copy = (struct hsnap_copy){ .scratch = -1 };
}

void hsnap_copy_rewind(struct hsnap_copy *copy)
{
	copy->used = copy->num_extents = 0;
	if (copy->stage)
		hsnap_stage_rewind(copy->stage);
}

static int by_start(const void *a, const void *b)
{
	const struct hsnap_extent *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

void hsnap_copy_sort(struct hsnap_copy *copy)
{
	struct hsnap_extent *extents = copy->extents;
	size_t last = 0, in_order = 1;
	while (in_order < copy->num_extents && extents[in_order - 1].start < extents[in_order].start)
		in_order++;
	if (in_order < copy->num_extents)
		qsort(extents, copy->num_extents, sizeof(*extents), by_start);
	for (size_t i = 1; i < copy->num_extents; i++) {
		struct hsnap_extent next = extents[i];
		if (next.start == extents[last].end &&
		    next.at == extents[last].at + (extents[last].end - extents[last].start))
			extents[last].end = next.end;
		else
			extents[++last] = next;
	}
	copy->num_extents = copy->num_extents ? last + 1 : 0;
}

int hsnap_copy_room(struct hsnap_copy *copy, struct iovec to[2])
{
	if (copy->stage)
		return hsnap_stage_room(copy->stage, to);
	to[0] = (struct iovec){ copy->buffer + copy->used, copy->size - copy->used };
	return 1;
}

bool hsnap_copy_wait(struct hsnap_copy *copy)
{
	return !copy->stage || hsnap_stage_wait(copy->stage);
}

bool hsnap_copy_finish(struct hsnap_copy *copy)
{
	bool done = !copy->stage || hsnap_stage_finish(copy->stage);
	int sys_errno = errno;
	hsnap_stage_destroy(copy->stage);
	copy->stage = NULL;
	size_t keep = (copy->used + PAGE - 1) & ~(PAGE - 1);
	if (!keep)
		keep = PAGE;
	if (keep < copy->size) {
		munmap(copy->buffer + keep, copy->size - keep);
		copy->size = keep;
	}
	errno = sys_errno;
	return done;
}

/* Bytes of the buffer; of a huge page memory comes back when all of it is gone. */
static void drop(struct hsnap_copy *copy, uint64_t from, uint64_t to)
{
	from = (from + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	to &= ~(uint64_t)(PAGE - 1);
	if (from >= to)
		return;
	if (copy->scratch < 0)
		(void)madvise(copy->buffer + from, to - from, MADV_DONTNEED);
	else
		hsnap_scratch_relieve(copy->scratch, copy->buffer + from, from, to - from);
}

void hsnap_copy_forget(struct hsnap_copy *copy, uint64_t start, uint64_t end)
{
	uint64_t from = 0, to = 0; /* extents that lie together in the buffer are dropped at once */
	const struct hsnap_extent *stop = copy->extents + copy->num_extents;
	for (const struct hsnap_extent *extent = hsnap_copy_find(copy, start); extent && extent < stop; extent++) {
		if (extent->start >= end)
			break;
		uint64_t low = extent->start > start ? extent->start : start, high = extent->end < end ? extent->end : end;
		if (extent->at + (low - extent->start) != to) {
			drop(copy, from, to);
			from = extent->at + (low - extent->start);
			if (low > extent->start) /* what stands before it on its page was given back before */
				from &= ~(uint64_t)(PAGE - 1);
		}
		to = extent->at + (high - extent->start);
	}
	drop(copy, from, to);
}

bool hsnap_copy_relieve(const struct hsnap_copy *copy)
{
	if (copy->scratch < 0 || !copy->buffer)
		return false;
	hsnap_scratch_relieve(copy->scratch, copy->buffer, 0, copy->size);
	return true;
}

const struct hsnap_extent *hsnap_copy_find(const struct hsnap_copy *copy, uint64_t address)
{
	size_t low = hsnap_first(copy->num_extents, i, address < copy->extents[i].end);
	return low < copy->num_extents ? &copy->extents[low] : NULL;
}
