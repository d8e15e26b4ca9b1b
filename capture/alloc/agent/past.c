/* SPDX-License-Identifier: MIT */
/*
 * past.c - blocks that were made or freed behind the agent's back.
 *
 * A library may be bound to libc's malloc whoever stands before it (RTLD_DEEPBIND, __libc_malloc).  What it frees of the
 * agent's keeps its record until the memory is used again, and what it is handed may end in the mark of the block that was
 * freed there before.  Where there are signs of that, glibc's own bookkeeping decides what is live: a second walk, which
 * other processes are spared.
 */
#include <stdlib.h>

#include "capture/alloc/agent/reader.h"
#include "capture/wire.h"

static bool has_signs(const struct reader *reader, uint64_t in_flight)
{
	const struct hsnap_heap *heap = reader->heap;
	uint64_t live = heap->allocated_count - heap->freed_count, found = reader->recorded + reader->dir.large_lost;
	/* Records that are counted and not there may have been written over, if there are blocks without one. */
	bool more = (int64_t)(live - found) > (int64_t)(in_flight + heap->no_record);
	bool fewer = (int64_t)(found - live) > (int64_t)in_flight;
	return more || fewer || reader->doubtful_live || reader->doubtful_freed > in_flight;
}

/* Of the agent's, what glibc has as free. */
static bool drop_freed(struct reader *reader, const struct hsnap_heap *glibc)
{
	struct hsnap_heap *heap = reader->heap;
	size_t kept = 0, next = 0;
	for (size_t i = 0; i < heap->blocks.num; i++) {
		const struct hsnap_block block = heap->blocks.items[i];
		while (next < glibc->free.num && glibc->free.items[next].start < block.address - 16)
			next++;
		const struct hsnap_free *free = next < glibc->free.num ? &glibc->free.items[next] : NULL;
		uint64_t end = block.address + block.usable + (block.flags & HSNAP_BLOCK_NO_RECORD ? 0 : HSNAP_TRAILER_SIZE) - 8;
		if (!free || free->start != block.address - 16 || free->end != end) {
			heap->blocks.items[kept++] = block;
			continue;
		}
		reader->past++;
		if (block.flags & HSNAP_BLOCK_NO_RECORD) {
			heap->no_record--;
		} else {
			reader->recorded--;
			reader->recorded_bytes -= block.requested;
			heap->found_room -= block.usable;
		}
		struct hsnap_free cached = { .start = free->start, .end = free->end, .kind = free->kind, .arena = reader->main_arena };
		if (!hsnap_vec_push(&heap->free, cached))
			return false;
	}
	heap->blocks.num = kept;
	return true;
}

/* Of what bears the agent's mark of the freed, what glibc has handed out. */
static bool add_made(struct reader *reader, const struct hsnap_heap *glibc)
{
	struct hsnap_heap *heap = reader->heap;
	size_t kept = 0, next = 0, num = heap->free.num;
	for (size_t i = 0; i < num; i++) {
		const struct hsnap_free free = heap->free.items[i];
		while (next < glibc->blocks.num && glibc->blocks.items[next].address < free.start + 16)
			next++;
		struct hsnap_block block = next < glibc->blocks.num ? glibc->blocks.items[next] : (struct hsnap_block){ 0 };
		if (free.kind != HSNAP_FREE_CACHED || block.address != free.start + 16 || block.flags & HSNAP_BLOCK_ALLOCATOR ||
		    block.address + block.usable != free.end + 8) {
			heap->free.items[kept++] = free;
			continue;
		}
		reader->past++;
		heap->no_record++;
		block.flags = HSNAP_BLOCK_NO_RECORD;
		block.stack = 0;
		block.requested = block.usable;
		if (!hsnap_vec_push(&heap->blocks, block))
			return false;
	}
	heap->free.num = kept;
	return true;
}

enum hsnap_code hsnap_reader_past(struct reader *reader, uint64_t in_flight, struct hsnap_error *err)
{
	struct hsnap_heap glibc;
	if (!has_signs(reader, in_flight))
		return HSNAP_OK;
	enum hsnap_code code = hsnap_glibc_heap_read(reader->target, &glibc, err);
	if (code == HSNAP_NOT_FOUND)
		return HSNAP_OK;
	if (code)
		return code;
	/* Both ways by the lists as they were found. */
	bool room = add_made(reader, &glibc) && (hsnap_reader_sort(reader->heap), drop_freed(reader, &glibc));
	hsnap_heap_deinit(&glibc);
	if (!room)
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	if (reader->past)
		hsnap_reader_sort(reader->heap);
	return HSNAP_OK;
}
