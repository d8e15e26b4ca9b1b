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
#define CHUNK_FLAGS 7u

/* What was in force before a release, for the way back. */
struct hsnap_agent_old {
	uint64_t word;      /* the trailer; of a large block: site << 12 | epoch */
	uint64_t requested;
	bool counted;       /* it was live, and is now counted as freed */
	bool damaged;
	bool large;         /* it stood in the table */
};

/* record.c: the rare ways. */
void hsnap_agent_record_large(void *block, size_t size, uint32_t site);
struct hsnap_agent_old hsnap_agent_release_rare(void *block, size_t head, uint64_t *place);
void hsnap_agent_restore(void *block, const struct hsnap_agent_old *old);
size_t hsnap_agent_usable(void *block);
void hsnap_agent_count_shared(int64_t allocated, int64_t freed_bytes, int64_t freed_count);

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

static inline struct hsnap_wire_counters *hsnap_agent_counters(void)
{
	struct hsnap_wire_counters *counters = hsnap_agent_self.counters;
	return LIKELY(counters != NULL) ? counters : hsnap_agent_slot();
}

static inline void hsnap_agent_count_allocated(uint64_t bytes)
{
	struct hsnap_wire_counters *counters = hsnap_agent_counters();
	if (UNLIKELY(counters == &hsnap_agent_directory.shared)) {
		hsnap_agent_count_shared((int64_t)bytes, 0, 0);
		return;
	}
	hsnap_agent_add(&counters->allocated_bytes, bytes);
	hsnap_agent_add(&counters->allocated_count, 1);
}

static inline void hsnap_agent_count_freed(uint64_t bytes)
{
	struct hsnap_wire_counters *counters = hsnap_agent_counters();
	if (UNLIKELY(counters == &hsnap_agent_directory.shared)) {
		hsnap_agent_count_shared(-1, (int64_t)bytes, 1);
		return;
	}
	hsnap_agent_add(&counters->freed_bytes, bytes);
	hsnap_agent_add(&counters->freed_count, 1);
}

/* Enter a block of `size` requested bytes that glibc has just handed out (NULL: nothing to do),
 * by the call whose frame this is.  Returns the block. */
static inline __attribute__((always_inline)) void *hsnap_agent_record(void *block, size_t size,
								      const uintptr_t *frame)
{
	if (UNLIKELY(!block))
		return NULL;
	uint32_t site = hsnap_agent_site(frame);
	struct hsnap_agent_thread *self = &hsnap_agent_self;
	if (UNLIKELY(self->until_epoch-- == 0))
		hsnap_agent_renew_epoch(self);
	size_t head = ((const size_t *)block)[-1];
	size_t slack = (head & ~(size_t)CHUNK_FLAGS) - 2 * HSNAP_TRAILER_SIZE - size;
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
	hsnap_agent_count_allocated(size);
	return block;
}

/* Withdraw the record of a block that is about to be freed or moved. */
static inline __attribute__((always_inline)) struct hsnap_agent_old hsnap_agent_release(void *block)
{
	size_t head = ((const size_t *)block)[-1];
	uint64_t *place = (uint64_t *)((char *)block + (head & ~(size_t)CHUNK_FLAGS) - 2 * HSNAP_TRAILER_SIZE);
	if (UNLIKELY(head & CHUNK_MAPPED || (uintptr_t)block & 15 || head < 32))
		return hsnap_agent_release_rare(block, head, place);
	uint64_t word = *place;
	if (UNLIKELY(!HSNAP_TRAILER_VALID(hsnap_agent.key, (uintptr_t)place, word) ||
		     HSNAP_TRAILER_STATE(word) != HSNAP_WIRE_LIVE ||
		     HSNAP_TRAILER_SLACK(word) == HSNAP_SLACK_LARGE))
		return hsnap_agent_release_rare(block, head, place);
	struct hsnap_agent_old old = { .word = word, .counted = true };
	old.requested = (size_t)((char *)place - (char *)block) - HSNAP_TRAILER_SLACK(word);
	hsnap_agent_count_freed(old.requested);
	__asm__ volatile("" ::: "memory"); /* counted as freed before it says so */
	uint64_t rest = word & ~HSNAP_TRAILER_CHECK_MASK;
	rest ^= (uint64_t)(HSNAP_WIRE_LIVE ^ HSNAP_WIRE_FREED) << HSNAP_TRAILER_STATE_SHIFT;
	*place = hsnap_agent_trailer(place, rest);
	return old;
}

#endif
