/* SPDX-License-Identifier: MIT */
/*
 * registry.c - the blocks of another allocator than glibc's: what the agent's registry has of them.
 *
 * Of the allocator itself nothing is walked.  Its memory is no place for roots: what lies there and in no
 * live block is dead.  Which memory that is, its own maps say where it is one that is known
 * (capture/alloc/foreign); of any, the pages of its blocks are.  More is not taken: the program's own memory may lie
 * between, and what that holds is no leak.  Its variables are roots, but for its lists of blocks: a program may have
 * left something there, and handed-out blocks are in none of the others.
 */
#include <stdlib.h>

#include "capture/alloc/agent/reader.h"
#include "capture/alloc/foreign/foreign.h"
#include "snapshot/base/cleanup.h"

#define PAGE ((uint64_t)4096)

/* ---- blocks ---- */

/* What the allocator gives for that, at most: the size classes of jemalloc, four to a doubling, of which
 * the others' are finer.  A program that asks for the usable size may use all of it; of others what lies behind the
 * block is its neighbour's, which may be free and remember anything. */
static uint64_t room_for(const struct reader *reader, uint64_t requested)
{
	if (!reader->rooms_used)
		return requested ? requested : 1;
	if (requested <= 16)
		return requested <= 8 ? 8 : 16;
	unsigned magnitude = 63u - (unsigned)__builtin_clzll(requested - 1);
	uint64_t step = magnitude > 6 ? (uint64_t)1 << (magnitude - 2) : 16;
	return (requested + step - 1) & ~(step - 1);
}

/* Where the mappings end that go on from an address without a gap, `limit` at most; the address itself: there is none. */
static uint64_t mapped_until(const struct reader *reader, uint64_t address, uint64_t limit)
{
	const struct hsnap_mapping *mapping = hsnap_target_mapping(reader->target, address);
	const struct hsnap_mapping *last = reader->target->mappings.items + reader->target->mappings.num;
	uint64_t end = address;
	for (; mapping && mapping < last && mapping->start <= end && end < limit; mapping++)
		end = mapping->end;
	return end < limit ? end : limit;
}

/* false: out of memory */
static bool add_block(struct reader *reader, const struct entry *entry, uint64_t next)
{
	uint64_t requested = entry->requested, room = room_for(reader, requested), most = next - entry->address;
	uint64_t end = mapped_until(reader, entry->address, entry->address + (room < most ? room : most));
	if (end == entry->address || (end < next && end - entry->address < requested)) {
		/* A block that realloc has just unmapped is not missing. */
		reader->registry_gone += entry->state == HSNAP_ENTRY_LIVE;
		return true;
	}
	reader->registry_twice += entry->state == HSNAP_ENTRY_LIVE && requested > most;
	room = end - entry->address;
	requested = requested < room ? requested : room;
	struct hsnap_block block = {
		.address = entry->address, .usable = room, .requested = requested, .stack = entry->site,
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
 * another's already, or of one on its way to another segment.  More than one live one, or one that reaches into the next:
 * the former was freed behind the agent's back. */
static bool add_blocks(struct reader *reader, const struct entries *entries)
{
	size_t next;
	for (size_t i = 0; i < entries->num; i = next) {
		const struct entry *entry = &entries->items[i];
		next = i + 1;
		for (; next < entries->num && entries->items[next].address == entry->address; next++)
			reader->registry_twice += entries->items[next].state == HSNAP_ENTRY_LIVE;
		uint64_t end = next < entries->num ? entries->items[next].address : UINT64_MAX;
		bool moving = entry->state != HSNAP_ENTRY_LIVE && entry->requested > end - entry->address;
		if (!moving && !add_block(reader, entry, end))
			return false;
	}
	return true;
}

/* ---- its memory ---- */

/* The pages of the blocks; of an allocator that has its memory in a module's data, no more than the blocks. */
static bool add_regions(struct reader *reader)
{
	struct hsnap_heap *heap = reader->heap;
	struct hsnap_region region = { 0 };
	for (size_t i = 0; i < heap->blocks.num; i++) {
		const struct hsnap_block *block = &heap->blocks.items[i];
		const struct hsnap_mapping *mapping = hsnap_target_mapping(reader->target, block->address);
		uint64_t start = block->address, end = start + block->usable;
		if (mapping && !mapping->module) {
			start &= ~(PAGE - 1);
			end = (end + PAGE - 1) & ~(PAGE - 1);
		}
		if (start <= region.end) {
			region.end = end > region.end ? end : region.end;
			continue;
		}
		if (region.end && !hsnap_vec_push(&heap->regions, region))
			return false;
		region = (struct hsnap_region){ start, end };
	}
	return !region.end || hsnap_vec_push(&heap->regions, region);
}

enum hsnap_code hsnap_reader_registry(struct reader *reader, struct hsnap_error *err)
{
	struct entries entries = { 0 };
	reader->rooms_used = hsnap_reader_may_use_room(reader);
	enum hsnap_code code = hsnap_reader_entries(reader, HSNAP_KIND_BLOCK, &entries, err);
	if (!code)
		code = hsnap_foreign_regions(reader->target, reader->heap, err);
	if (!code && (!add_blocks(reader, &entries) || !add_regions(reader) || !hsnap_reader_own(reader)))
		code = hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	reader->heap->allocator = hsnap_foreign_allocator(reader->target, reader->dir.other_malloc);
	hsnap_vec_deinit(&entries);
	return code;
}
