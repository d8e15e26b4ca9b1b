/* SPDX-License-Identifier: MIT */
/* record.h - writing and withdrawing the record of a block: the hot path, inline. */
#ifndef HSNAP_CAPTURE_AGENT_RECORD_H
#define HSNAP_CAPTURE_AGENT_RECORD_H

#include "capture/agent/agent.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t num, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

#define CHUNK_MAPPED 2u
#define CHUNK_OTHER_ARENA 4u

/* What was in force before a block was moved, for the way back. */
struct hsnap_agent_old {
	uint64_t word;      /* the trailer; of a mapping: site << 12 | epoch */
	uint64_t requested; /* of a mapping that stood in the table; else 0 */
	bool in_table;
};

/* record.c: the rare ways. */
void hsnap_agent_record_large(void *block, size_t size, uint32_t site);
struct hsnap_agent_old hsnap_agent_release_mapped(void *block);
void hsnap_agent_restore(void *block, const struct hsnap_agent_old *old);
size_t hsnap_agent_usable(void *block);
void hsnap_agent_count_allocated(uint64_t bytes, uint64_t room);
void hsnap_agent_count_freed(uint64_t room);

/* Is this process recorded at all?  The first call of a process decides. */
static inline bool hsnap_agent_records(void)
{
	unsigned mode = __atomic_load_n(&hsnap_agent.mode, __ATOMIC_RELAXED);
	if (UNLIKELY(mode == HSNAP_MODE_UNDECIDED))
		mode = hsnap_agent_decide();
	return mode == HSNAP_MODE_RECORD;
}

/* What to ask glibc for.  A size that overflows stays as it is: glibc refuses both. */
static inline size_t hsnap_agent_grown(size_t size)
{
	return LIKELY(size < SIZE_MAX - HSNAP_TRAILER_SIZE) ? size + HSNAP_TRAILER_SIZE : size;
}

static inline uint64_t hsnap_agent_trailer(const uint64_t *place, uint64_t rest)
{
	return rest | HSNAP_TRAILER_CHECK(hsnap_agent.key, (uintptr_t)place, rest);
}

static inline void hsnap_agent_add(uint64_t *counter, uint64_t value)
{
	/* One writer: no locked instruction is needed, only that no half value is seen. */
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + value, __ATOMIC_RELAXED);
}

/* NULL: the thread has no slot, not yet or no more, and counts by the rare functions. */
static inline struct hsnap_wire_counters *hsnap_agent_counters(void)
{
	return hsnap_agent_self.counters;
}

/* Enter a block of `size` requested bytes that glibc has just handed out (NULL: nothing to do),
 * by the call whose frame this is.  Returns the block. */
static inline __attribute__((always_inline)) void *hsnap_agent_record(void *block, size_t size,
								      const uintptr_t *frame)
{
	if (UNLIKELY(!block))
		return NULL;
	uint32_t site = hsnap_agent_site_here(frame);
	size_t head = ((const size_t *)block)[-1];
	size_t slack = HSNAP_ROOM(head) - size;
	if (UNLIKELY(head & CHUNK_MAPPED || slack >= HSNAP_SLACK_LARGE)) {
		hsnap_agent_record_large(block, size, site);
		return block;
	}
	uint64_t *place = (uint64_t *)((char *)block + size + slack);
	*place = hsnap_agent_trailer(place, HSNAP_TRAILER_REST(site, hsnap_agent.epoch, slack, HSNAP_WIRE_LIVE));
	if (head & CHUNK_OTHER_ARENA)
		hsnap_agent_note_heap((uintptr_t)block);
	else if (UNLIKELY((uintptr_t)block - hsnap_agent.brk_start >= hsnap_agent.brk_size))
		hsnap_agent_note_main((uintptr_t)block);
	__asm__ volatile("" ::: "memory"); /* the record first, then the count: see wire.h */
	struct hsnap_wire_counters *counters = hsnap_agent_counters();
	if (UNLIKELY(!counters)) {
		hsnap_agent_count_allocated(size, size + slack);
		return block;
	}
	hsnap_agent_add(&counters->allocated_bytes, size);
	hsnap_agent_add(&counters->allocated_room, size + slack);
	hsnap_agent_add(&counters->allocated_count, 1);
	if (UNLIKELY(counters->allocated_count % 64 == 0))
		hsnap_agent_renew_epoch();
	return block;
}

/* The trailer of a block is about to say freed: of one that has no record, or a damaged one, too. */
static inline __attribute__((always_inline)) void hsnap_agent_mark_freed(void *block, size_t head)
{
	uint64_t *place = (uint64_t *)((char *)block + HSNAP_ROOM(head));
	struct hsnap_wire_counters *counters = hsnap_agent_counters();
	if (LIKELY(counters != NULL)) {
		hsnap_agent_add(&counters->freed_room, HSNAP_ROOM(head));
		hsnap_agent_add(&counters->freed_count, 1);
	} else {
		hsnap_agent_count_freed(HSNAP_ROOM(head));
	}
	__asm__ volatile("" ::: "memory"); /* counted as freed before it says so */
	*place = hsnap_agent_trailer(place, HSNAP_TRAILER_REST(0, 0, 0, HSNAP_WIRE_FREED));
}

/* Withdraw the record of a block that is about to be freed. */
static inline __attribute__((always_inline)) void hsnap_agent_release(void *block)
{
	size_t head = ((const size_t *)block)[-1];
	if (LIKELY(!(head & CHUNK_MAPPED)))
		hsnap_agent_mark_freed(block, head);
	else
		hsnap_agent_release_mapped(block);
}

#endif
