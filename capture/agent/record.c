/* SPDX-License-Identifier: MIT */
/* record.c - records of large blocks, and the rare ways of counting. */
#include "capture/agent/record.h"

/* A thread's own slot needs no locked instruction, the shared one does. */
static void add(struct hsnap_wire_counters *counters, uint64_t *counter, uint64_t value)
{
	if (counters == &hsnap_agent_directory.shared)
		__atomic_fetch_add(counter, value, __ATOMIC_RELAXED);
	else
		hsnap_agent_add(counter, value);
}

void hsnap_agent_count_allocated(uint64_t bytes, uint64_t room)
{
	struct hsnap_wire_counters *counters = hsnap_agent_slot();
	add(counters, &counters->allocated_bytes, bytes);
	add(counters, &counters->allocated_room, room);
	add(counters, &counters->allocated_count, 1);
	if (counters->allocated_count % 64 == 0)
		hsnap_agent_renew_epoch();
}

void hsnap_agent_count_freed(uint64_t room)
{
	struct hsnap_wire_counters *counters = hsnap_agent_slot();
	add(counters, &counters->freed_room, room);
	add(counters, &counters->freed_count, 1);
}

/* The last word that a chunk gives its user. */
static uint64_t *trailer_place(void *block)
{
	return (uint64_t *)((char *)block + HSNAP_ROOM(((const size_t *)block)[-1]));
}

void hsnap_agent_record_large(void *block, size_t size, uint32_t site)
{
	size_t head = ((const size_t *)block)[-1];
	hsnap_agent_large_add((uintptr_t)block, size, site, hsnap_agent.epoch);
	if (!(head & CHUNK_MAPPED)) {
		uint64_t *place = trailer_place(block);
		*place = hsnap_agent_trailer(place, HSNAP_TRAILER_REST(site, hsnap_agent.epoch, HSNAP_SLACK_LARGE,
								       HSNAP_WIRE_LIVE));
		if (head & CHUNK_OTHER_ARENA)
			hsnap_agent_note_heap((uintptr_t)block);
		else if ((uintptr_t)block - hsnap_agent.brk_start >= hsnap_agent.brk_size)
			hsnap_agent_note_main((uintptr_t)block);
	}
	__asm__ volatile("" ::: "memory");
	hsnap_agent_count_allocated(size, HSNAP_ROOM(head));
}

struct hsnap_agent_old hsnap_agent_release_mapped(void *block)
{
	struct hsnap_agent_old old = { 0 };
	hsnap_agent_count_freed(HSNAP_ROOM(((const size_t *)block)[-1]));
	__asm__ volatile("" ::: "memory");
	old.in_table = hsnap_agent_large_take((uintptr_t)block, &old.requested, &old.word);
	return old;
}

/* glibc could not resize: the block stands where it stood. */
void hsnap_agent_restore(void *block, const struct hsnap_agent_old *old)
{
	size_t head = ((const size_t *)block)[-1];
	if (old->in_table)
		hsnap_agent_large_add((uintptr_t)block, old->requested, old->word >> 12,
				      (unsigned)(old->word & HSNAP_EPOCH_MAX));
	else if (!(head & CHUNK_MAPPED))
		*trailer_place(block) = old->word;
	__asm__ volatile("" ::: "memory");
	struct hsnap_wire_counters *counters = hsnap_agent_slot();
	add(counters, &counters->freed_room, -HSNAP_ROOM(head));
	add(counters, &counters->freed_count, -1ull);
}

size_t hsnap_agent_usable(void *block)
{
	size_t head = ((const size_t *)block)[-1];
	if (head & CHUNK_MAPPED)
		return HSNAP_ROOM(head);
	const uint64_t *place = trailer_place(block);
	bool ours = HSNAP_TRAILER_VALID(hsnap_agent.key, (uintptr_t)place, *place) &&
		    HSNAP_TRAILER_STATE(*place) & HSNAP_WIRE_LIVE;
	return HSNAP_ROOM(head) + (ours ? 0 : HSNAP_TRAILER_SIZE);
}
