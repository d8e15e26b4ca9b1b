/* SPDX-License-Identifier: MIT */
/* record.c - records of large blocks, and the rare ways of counting. */
#include "capture/agent/other.h"
#include "capture/agent/record.h"

/* A thread's own slot needs no locked instruction, the shared one does. */
static void add(struct hsnap_wire_counters *counters, uint64_t *counter, uint64_t value)
{
	if (counters == &hsnap_agent_directory.shared)
		__atomic_fetch_add(counter, value, __ATOMIC_RELAXED);
	else
		hsnap_agent_add(counter, value);
}

static void count_freed(uint64_t room)
{
	struct hsnap_wire_counters *counters = hsnap_agent_slot();
	add(counters, &counters->freed_room, room);
	add(counters, &counters->freed_count, 1);
}

void *hsnap_agent_look_around(void *block)
{
	size_t head = ((const size_t *)block)[-1];
	if (!(head & CHUNK_MAPPED) && !hsnap_agent_place_known((uintptr_t)block, head)) {
		if (head & CHUNK_OTHER_ARENA)
			hsnap_agent_note_heap((uintptr_t)block);
		else
			hsnap_agent_note_main((uintptr_t)block);
	}
	hsnap_agent_renew_epoch();
	return block;
}

/* The last word that a chunk gives its user. */
static uint64_t *trailer_place(void *block)
{
	return (uint64_t *)((char *)block + HSNAP_ROOM(((const size_t *)block)[-1]));
}

static bool is_live(const uint64_t *place)
{
	return HSNAP_TRAILER_VALID(hsnap_agent.key, (uintptr_t)place, *place) && HSNAP_TRAILER_STATE(*place) & HSNAP_WIRE_LIVE;
}

/* A mapping of its own, slack that does not fit, a thread without a slot. */
void *hsnap_agent_record_rare(void *block, size_t size, uint32_t site)
{
	size_t head = ((const size_t *)block)[-1], slack = HSNAP_ROOM(head) - size;
	if (slack > HSNAP_SLACK_LARGE)
		slack = HSNAP_SLACK_LARGE;
	if (head & CHUNK_MAPPED || slack == HSNAP_SLACK_LARGE)
		hsnap_agent_large_add((uintptr_t)block, size, site, hsnap_agent.epoch);
	if (!(head & CHUNK_MAPPED)) {
		uint64_t *place = trailer_place(block);
		*place = hsnap_agent_trailer(place, HSNAP_TRAILER_REST(site, hsnap_agent.epoch, slack, HSNAP_WIRE_LIVE));
	}
	__asm__ volatile("" ::: "memory");
	struct hsnap_wire_counters *counters = hsnap_agent_slot();
	add(counters, &counters->allocated_bytes, size);
	add(counters, &counters->allocated_room, HSNAP_ROOM(head));
	add(counters, &counters->allocated_count, 1);
	return hsnap_agent_look_around(block);
}

struct hsnap_agent_old hsnap_agent_release(void *block)
{
	struct hsnap_agent_old old = { 0 };
	size_t head = ((const size_t *)block)[-1];
	count_freed(HSNAP_ROOM(head));
	__asm__ volatile("" ::: "memory");
	if (head & CHUNK_MAPPED) {
		old.in_table = hsnap_agent_large_take((uintptr_t)block, &old.requested, &old.word);
		old.lost = !old.in_table && hsnap_agent_large_found();
		uint32_t site = old.in_table ? (uint32_t)(old.word >> 12) & HSNAP_MAX_SITE : 0;
		old.tagged = hsnap_agent_is_tagged(site) ? site : 0;
	} else {
		uint64_t *place = trailer_place(block);
		old.word = *place;
		old.data = !is_live(place);
		if (UNLIKELY(!old.data && HSNAP_TRAILER_STATE(old.word) == HSNAP_WIRE_TAGGED))
			old.tagged = HSNAP_TRAILER_SITE(old.word);
		old.room = HSNAP_ROOM(head);
		*place = hsnap_agent_trailer(place, HSNAP_TRAILER_REST(0, 0, 0, HSNAP_WIRE_FREED));
	}
	return old;
}

void hsnap_agent_free_rare(void *block)
{
	if (!hsnap_agent_records()) {
		hsnap_agent_other_free(block);
		return;
	}
	hsnap_agent_release(block);
	__libc_free(block);
}

/* glibc could not resize: the block stands where it stood. */
void hsnap_agent_restore(void *block, const struct hsnap_agent_old *old)
{
	size_t head = ((const size_t *)block)[-1];
	if (old->in_table)
		hsnap_agent_large_add((uintptr_t)block, old->requested, old->word >> 12,
				      (unsigned)(old->word & HSNAP_EPOCH_MAX));
	else if (old->lost)
		hsnap_agent_large_lost();
	else if (!(head & CHUNK_MAPPED))
		*trailer_place(block) = old->word;
	__asm__ volatile("" ::: "memory");
	struct hsnap_wire_counters *counters = hsnap_agent_slot();
	add(counters, &counters->freed_room, -HSNAP_ROOM(head));
	add(counters, &counters->freed_count, -1ull);
}

void hsnap_agent_put_data(void *moved, const struct hsnap_agent_old *old)
{
	size_t head = ((const size_t *)moved)[-1];
	size_t usable = HSNAP_ROOM(head) + (head & CHUNK_MAPPED ? 0 : HSNAP_TRAILER_SIZE);
	if (old->room + sizeof(old->word) <= usable)
		*(uint64_t *)((char *)moved + old->room) = old->word;
}

size_t hsnap_agent_usable(void *block)
{
	size_t head = ((const size_t *)block)[-1];
	if (head & CHUNK_MAPPED)
		return HSNAP_ROOM(head);
	return HSNAP_ROOM(head) + (is_live(trailer_place(block)) ? 0 : HSNAP_TRAILER_SIZE);
}
