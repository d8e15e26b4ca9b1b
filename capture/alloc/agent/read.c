/* SPDX-License-Identifier: MIT */
/* read.c - the heap of a process with the agent: all steps, and the agent's own sums. */
#include <stdio.h>
#include <stdlib.h>

#include "capture/alloc/agent/reader.h"
#include "snapshot/base/cleanup.h"

static void add_counters(struct hsnap_heap *heap, const struct hsnap_wire_counters *c)
{
	heap->allocated_bytes += c->allocated_bytes;
	heap->allocated_count += c->allocated_count;
	heap->freed_count += c->freed_count;
	heap->counted_room += c->allocated_room - c->freed_room;
}

/* A slot that cannot be read is left out: the sums are then too small, which is said. */
static bool read_counters(struct reader *reader)
{
	const struct hsnap_wire_directory *dir = &reader->dir;
	bool whole = true;
	add_counters(reader->heap, &dir->shared);
	uint64_t left = dir->num_slots;
	for (unsigned s = 0; s < HSNAP_SLOT_SEGMENTS && left; s++) {
		uint64_t num = (uint64_t)HSNAP_SLOT_FIRST << s;
		num = num < left ? num : left;
		left -= num;
		for (uint64_t i = 0; i < num && dir->slot_segments[s]; i++) {
			struct hsnap_wire_counters slot;
			if (hsnap_target_read(reader->target, dir->slot_segments[s] + i * sizeof(slot), &slot,
					      sizeof(slot), NULL)) {
				whole = false;
				break;
			}
			add_counters(reader->heap, &slot);
		}
	}
	return whole && !left;
}

/* What keeps the heap from being whole, the gravest thing first. */
static void say_partial(struct reader *reader, bool counters)
{
	struct hsnap_heap *heap = reader->heap;
	uint64_t missing = heap->expected_bytes - heap->walked_bytes;
	int n = 0;
	if (missing)
		n = snprintf(heap->partial, sizeof(heap->partial), "%llu of %llu bytes of the heap could not be walked",
			     (unsigned long long)missing, (unsigned long long)heap->expected_bytes);
	else if (reader->dir.large_lost)
		n = snprintf(heap->partial, sizeof(heap->partial), "%llu large blocks found no place in the agent's table",
			     (unsigned long long)reader->dir.large_lost);
	else if (reader->large_gone)
		n = snprintf(heap->partial, sizeof(heap->partial), "%llu large blocks on record are not in memory",
			     (unsigned long long)reader->large_gone);
	else if (reader->dir.registry_lost || reader->registry_gone)
		n = snprintf(heap->partial, sizeof(heap->partial), "%llu blocks found no place in the agent's registry, %llu in it "
			     "are not in memory", (unsigned long long)reader->dir.registry_lost,
			     (unsigned long long)reader->registry_gone);
	else if (reader->dir.beside[0])
		n = snprintf(heap->partial, sizeof(heap->partial), "the program calls %.63s, too: such blocks are not listed",
			     reader->dir.beside);
	else if (reader->registry_twice || reader->dir.unknown_frees)
		n = snprintf(heap->partial, sizeof(heap->partial), "the agent did not see %llu blocks that were freed, nor that %llu were "
			     "freed: the program goes round it", (unsigned long long)reader->dir.unknown_frees,
			     (unsigned long long)reader->registry_twice);
	else if (!counters)
		n = snprintf(heap->partial, sizeof(heap->partial), "not all counters of the agent could be read");
	else if (reader->dir.stacks_lost)
		n = snprintf(heap->partial, sizeof(heap->partial), "the call stacks of up to %llu allocations found no place in the agent's memory",
			     (unsigned long long)reader->dir.stacks_lost);
	if (n < 0)
		heap->partial[0] = '\0';
}

/* What passed the agent by is in its sums: freed by it and made by another, or the other way round.  Which of its own blocks are
 * live is known: all the rest that it handed out has been freed. */
static void count_past(struct reader *reader, uint64_t in_flight)
{
	struct hsnap_heap *heap = reader->heap;
	uint64_t found = reader->recorded + reader->dir.large_lost, live = heap->allocated_count - heap->freed_count;
	bool fewer = (int64_t)(found - live) > (int64_t)in_flight;
	if ((!reader->past && !fewer) || found > heap->allocated_count)
		return;
	heap->freed_count = heap->allocated_count - found;
	heap->counted_room = heap->found_room;
}

/* Blocks that the agent counts as live and whose record is gone were written past their end, too.
 * Which of the unrecorded ones they are cannot be said.  One whose head is gone was not, but one before it. */
static void count_overruns(struct reader *reader)
{
	struct hsnap_heap *heap = reader->heap;
	uint64_t live = heap->allocated_count - heap->freed_count;
	uint64_t found = reader->recorded + reader->dir.large_lost;
	uint64_t lost = heap->allocated_count > heap->freed_count && live > found ? live - found : 0;
	lost -= lost < reader->dir.forked_amid ? lost : reader->dir.forked_amid;
	lost -= lost < reader->lost ? lost : reader->lost;
	if (reader->past || lost > heap->no_record)
		lost = 0;
	heap->overruns += lost > reader->lost ? lost : reader->lost;
}

/* What was asked for of the blocks that are gone: all, less what the live ones have.  One whose record
 * is lost had no slack, or the record would have been out of reach. */
static void count_freed(struct reader *reader)
{
	struct hsnap_heap *heap = reader->heap;
	uint64_t live = reader->recorded_bytes;
	if (heap->counted_room > heap->found_room)
		live += heap->counted_room - heap->found_room;
	heap->freed_bytes = heap->allocated_bytes > live ? heap->allocated_bytes - live : 0;
}

static enum hsnap_code walk_glibc(struct reader *reader, struct hsnap_error *err)
{
	enum hsnap_code code = hsnap_reader_spans(reader, err);
	if (!code && !hsnap_reader_arenas(reader))
		code = hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	return code ? code : hsnap_reader_walk(reader, err);
}

static enum hsnap_code read_all(struct reader *reader, struct hsnap_error *err)
{
	enum hsnap_code code = hsnap_reader_find(reader, err);
	if (!code)
		code = reader->dir.allocator == HSNAP_ALLOCATOR_OTHER ? hsnap_reader_registry(reader, err) : walk_glibc(reader, err);
	if (code)
		return code;
	struct hsnap_heap *heap = reader->heap;
	bool counters = read_counters(reader), of_glibc = reader->dir.allocator != HSNAP_ALLOCATOR_OTHER;
	uint64_t in_flight = reader->target->threads.num + reader->dir.forked_amid;
	if (of_glibc)
		code = hsnap_reader_past(reader, in_flight, err);
	if (!code)
		code = hsnap_reader_pools(reader, err);
	if (!code)
		code = hsnap_reader_sites(reader, err);
	if (code)
		return code;
	heap->source = "agent";
	heap->requested_known = true;
	heap->epoch_start = reader->dir.epoch_start;
	heap->notes_lost = reader->dir.notes_lost;
	heap->notes_astray = reader->dir.notes_astray;
	if (of_glibc) {
		count_past(reader, in_flight);
		count_overruns(reader);
	}
	count_freed(reader);
	say_partial(reader, counters);
	return HSNAP_OK;
}

enum hsnap_code hsnap_agent_heap_read(const struct hsnap_target *target, struct hsnap_heap *ret,
				      struct hsnap_error *err)
{
	struct hsnap_heap heap = { 0 };
	struct reader reader = { .target = target, .heap = &heap, .window = { .target = target }, .steps = (uint64_t)1 << 26 };
	enum hsnap_code code = read_all(&reader, err);
	hsnap_vec_deinit(&reader.large);
	hsnap_vec_deinit(&reader.spans);
	hsnap_vec_deinit(&reader.unknown);
	free(reader.piece_copy);
	hsnap_window_deinit(&reader.window);
	if (code) {
		hsnap_heap_deinit(&heap);
		return code;
	}
	*ret = heap;
	return HSNAP_OK;
}
