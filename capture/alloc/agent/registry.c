/* SPDX-License-Identifier: MIT */
/*
 * registry.c - the blocks of another allocator than glibc's: what the agent's registry has of them.
 *
 * Of the allocator itself nothing is walked.  Its memory is no place for roots: what lies there and in no
 * live block is dead.  Which memory that is, its own maps say where it is one that is known
 * (capture/alloc/foreign); of any, the pages of its blocks are, and what lies between two of them that
 * are not far apart in one mapping.  Its variables are roots, but for its lists of blocks: a program may have left
 * something there, and handed-out blocks are in none of the others.
 */
#include <stdlib.h>

#include "capture/alloc/agent/reader.h"
#include "capture/alloc/foreign/foreign.h"
#include "snapshot/base/cleanup.h"

#define PAGE ((uint64_t)4096)
#define MOST_BETWEEN ((uint64_t)2 << 20) /* of one extent: jemalloc and mimalloc take memory by 2 and 4 MiB */

/* ---- blocks ---- */

/* What the allocator gives for that, at most: the size classes of jemalloc, four to a doubling, of which
 * the others' are finer.  A program that asks for the usable size may use all of it. */
static uint64_t room_for(uint64_t requested)
{
	if (requested <= 16)
		return requested <= 8 ? 8 : 16;
	unsigned magnitude = 63u - (unsigned)__builtin_clzll(requested - 1);
	uint64_t step = magnitude > 6 ? (uint64_t)1 << (magnitude - 2) : 16;
	return (requested + step - 1) & ~(step - 1);
}

/* false: out of memory */
static bool add_block(struct reader *reader, const struct entry *entry, uint64_t next)
{
	const struct hsnap_mapping *mapping = hsnap_target_mapping(reader->target, entry->address);
	uint64_t room = room_for(entry->requested), requested = entry->requested;
	if (!mapping || !hsnap_target_mapping(reader->target, entry->address + (requested ? requested - 1 : 0))) {
		/* A block that realloc has just unmapped is not missing. */
		reader->registry_gone += entry->state == HSNAP_ENTRY_LIVE;
		return true;
	}
	if (room > next - entry->address)
		room = next - entry->address;
	if (entry->address + room > mapping->end && entry->address + requested <= mapping->end)
		room = mapping->end - entry->address;
	struct hsnap_block block = {
		.address = entry->address, .usable = room, .requested = requested < room ? requested : room, .stack = entry->site,
		.epoch = hsnap_reader_epoch(entry->epoch),
	};
	reader->recorded++;
	reader->recorded_bytes += requested;
	reader->heap->found_room += requested;
	reader->heap->walked_bytes += room;
	reader->heap->expected_bytes += room;
	return hsnap_vec_push(&reader->heap->blocks, block);
}

/* An address has one live entry; another one is a moment's: of a block in the hands of realloc, whose memory is
 * another's already, or of one on its way to another segment. */
static bool add_blocks(struct reader *reader, const struct entries *entries)
{
	size_t next;
	for (size_t i = 0; i < entries->num; i = next) {
		const struct entry *entry = &entries->items[i];
		next = i + 1;
		while (next < entries->num && entries->items[next].address == entry->address)
			next++;
		uint64_t end = next < entries->num ? entries->items[next].address : UINT64_MAX;
		bool moving = entry->state != HSNAP_ENTRY_LIVE && entry->requested > end - entry->address;
		if (!moving && !add_block(reader, entry, end))
			return false;
	}
	return true;
}

/* ---- its memory ---- */

static bool add_regions(struct reader *reader)
{
	struct hsnap_heap *heap = reader->heap;
	const struct hsnap_mapping *before = NULL;
	struct hsnap_region region = { 0 };
	for (size_t i = 0; i < heap->blocks.num; i++) {
		const struct hsnap_block *block = &heap->blocks.items[i];
		const struct hsnap_mapping *mapping = hsnap_target_mapping(reader->target, block->address);
		uint64_t start = block->address & ~(PAGE - 1), end = (block->address + block->usable + PAGE - 1) & ~(PAGE - 1);
		if (mapping == before && start <= region.end + MOST_BETWEEN) {
			region.end = end > region.end ? end : region.end;
			continue;
		}
		if (before && !hsnap_vec_push(&heap->regions, region))
			return false;
		region = (struct hsnap_region){ start, end };
		before = mapping;
	}
	return !before || hsnap_vec_push(&heap->regions, region);
}

enum hsnap_code hsnap_reader_registry(struct reader *reader, struct hsnap_error *err)
{
	struct entries entries = { 0 };
	enum hsnap_code code = hsnap_reader_entries(reader, HSNAP_KIND_BLOCK, &entries, err);
	if (!code)
		code = hsnap_foreign_regions(reader->target, reader->heap, err);
	if (!code && (!add_blocks(reader, &entries) || !add_regions(reader) || !hsnap_reader_own(reader)))
		code = hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	reader->heap->allocator = hsnap_foreign_allocator(reader->target, reader->dir.other_malloc);
	hsnap_vec_deinit(&entries);
	return code;
}
