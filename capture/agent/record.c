/* SPDX-License-Identifier: MIT */
/* record.c - records of large blocks, of damaged ones, and the shared counters. */
#include "capture/agent/record.h"

void hsnap_agent_count_shared(int64_t allocated, int64_t freed_bytes, int64_t freed_count)
{
	struct hsnap_wire_counters *shared = &hsnap_agent_directory.shared;
	if (allocated >= 0) {
		__atomic_fetch_add(&shared->allocated_bytes, (uint64_t)allocated, __ATOMIC_RELAXED);
		__atomic_fetch_add(&shared->allocated_count, 1, __ATOMIC_RELAXED);
	}
	__atomic_fetch_add(&shared->freed_bytes, (uint64_t)freed_bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shared->freed_count, (uint64_t)freed_count, __ATOMIC_RELAXED);
}

/* The last word that a chunk gives its user. */
static uint64_t *trailer_place(void *block)
{
	size_t head = ((const size_t *)block)[-1];
	return (uint64_t *)((char *)block + (head & ~(size_t)CHUNK_FLAGS) - 2 * HSNAP_TRAILER_SIZE);
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
	hsnap_agent_count_allocated(size);
}

static struct hsnap_agent_old release_mapped(void *block, size_t head)
{
	struct hsnap_agent_old old = { .counted = true };
	old.large = hsnap_agent_large_take((uintptr_t)block, &old.requested, &old.word);
	if (!old.large) {
		old.damaged = true;
		old.requested = (head & ~(size_t)CHUNK_FLAGS) - 2 * sizeof(size_t);
	}
	hsnap_agent_count_freed(old.requested);
	return old;
}

struct hsnap_agent_old hsnap_agent_release_rare(void *block, size_t head, uint64_t *place)
{
	/* Not what malloc returns: glibc will say so. */
	if ((uintptr_t)block & 15 || (head & ~(size_t)CHUNK_FLAGS) < 32)
		return (struct hsnap_agent_old){ 0 };
	struct hsnap_agent_old old = { .counted = true };
	if (head & CHUNK_MAPPED) {
		old = release_mapped(block, head);
	} else {
		uint64_t key = hsnap_agent.key, word = *place;
		uint64_t rest = word & ~HSNAP_TRAILER_CHECK_MASK;
		uint64_t check = HSNAP_TRAILER_CHECK(key, (uintptr_t)place, rest);
		unsigned state = HSNAP_TRAILER_STATE(word);
		size_t most = (size_t)((char *)place - (char *)block);
		bool whole = (word & HSNAP_TRAILER_CHECK_MASK) == check;
		if (whole && state == HSNAP_WIRE_FREED) /* freed twice: glibc will say so */
			return (struct hsnap_agent_old){ 0 };
		/* All but what one byte too many damages holds: the rest can be trusted. */
		bool readable = (word & HSNAP_TRAILER_CHECK_MASK & ~HSNAP_TRAILER_HIT_BYTE) ==
					(check & ~HSNAP_TRAILER_HIT_BYTE) &&
				state & HSNAP_WIRE_LIVE;
		old.word = word;
		old.damaged = !whole;
		old.requested = most;
		if (readable && HSNAP_TRAILER_SLACK(word) == HSNAP_SLACK_LARGE)
			old.large = hsnap_agent_large_take((uintptr_t)block, &old.requested, &old.word);
		else if (readable && HSNAP_TRAILER_SLACK(word) <= most)
			old.requested = most - HSNAP_TRAILER_SLACK(word);
		hsnap_agent_count_freed(old.requested);
		__asm__ volatile("" ::: "memory");
		rest = readable ? rest & ~(3ull << HSNAP_TRAILER_STATE_SHIFT) : 0;
		*place = hsnap_agent_trailer(place, rest | (uint64_t)HSNAP_WIRE_FREED << HSNAP_TRAILER_STATE_SHIFT);
	}
	if (old.damaged)
		__atomic_fetch_add(&hsnap_agent_counters()->freed_damaged, 1, __ATOMIC_RELAXED);
	return old;
}

/* glibc could not resize: the block stands where it stood. */
void hsnap_agent_restore(void *block, const struct hsnap_agent_old *old)
{
	if (!old->counted)
		return;
	size_t head = ((const size_t *)block)[-1];
	uint64_t *place = trailer_place(block);
	if (old->large) {
		unsigned epoch = (unsigned)(old->word & HSNAP_EPOCH_MAX);
		hsnap_agent_large_add((uintptr_t)block, old->requested, old->word >> 12, epoch);
		if (!(head & CHUNK_MAPPED))
			*place = hsnap_agent_trailer(place, HSNAP_TRAILER_REST(old->word >> 12, epoch, HSNAP_SLACK_LARGE,
									       HSNAP_WIRE_LIVE));
	} else if (!(head & CHUNK_MAPPED)) {
		*place = old->word;
	}
	__asm__ volatile("" ::: "memory");
	struct hsnap_wire_counters *counters = hsnap_agent_counters();
	__atomic_fetch_sub(&counters->freed_bytes, old->requested, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&counters->freed_count, 1, __ATOMIC_RELAXED);
	if (old->damaged)
		__atomic_fetch_sub(&counters->freed_damaged, 1, __ATOMIC_RELAXED);
}

size_t hsnap_agent_usable(void *block)
{
	size_t head = ((const size_t *)block)[-1];
	size_t size = head & ~(size_t)CHUNK_FLAGS;
	if (head & CHUNK_MAPPED)
		return size - 2 * sizeof(size_t);
	const uint64_t *place = trailer_place(block);
	bool ours = HSNAP_TRAILER_VALID(hsnap_agent.key, (uintptr_t)place, *place) &&
		    HSNAP_TRAILER_STATE(*place) & HSNAP_WIRE_LIVE;
	return ours ? size - 2 * sizeof(size_t) : size - sizeof(size_t);
}
