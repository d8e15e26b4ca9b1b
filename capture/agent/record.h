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
	bool lost;          /* a mapping that had found no place in it */
	bool data;          /* `word` is no record but the program's: the block was made behind our back */
	size_t room;        /* where that stood */
	uint32_t tagged;    /* its site, if that has a tag */
};

/* record.c: the rare ways. */
void *hsnap_agent_record_rare(void *block, size_t size, uint32_t site);
void *hsnap_agent_look_around(void *block); /* the clock, and where the block lies; returns it */
void hsnap_agent_free_rare(void *block);
struct hsnap_agent_old hsnap_agent_release(void *block); /* any block that is about to be moved */
void hsnap_agent_restore(void *block, const struct hsnap_agent_old *old);
void hsnap_agent_put_data(void *moved, const struct hsnap_agent_old *old); /* what the mark of the old place hid */
size_t hsnap_agent_usable(void *block);

/* annotate.c: the block has the tag of another site. */
void hsnap_agent_tag_again(void *block, uint32_t tagged);
bool hsnap_agent_is_tagged(uint32_t site);

/* Is this process recorded at all?  The first call of a process decides. */
static inline bool hsnap_agent_records(void)
{
	unsigned mode = __atomic_load_n(&hsnap_agent.mode, __ATOMIC_RELAXED);
	if (LIKELY(mode == HSNAP_MODE_RECORD)) /* asked first: it is one comparison of few */
		return true;
	return mode == HSNAP_MODE_UNDECIDED && hsnap_agent_decide() == HSNAP_MODE_RECORD;
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
	/* One writer, and handlers of signals that come in between: no lock is needed, but one instruction. */
	__asm__ volatile("addq %1, %0" : "+m"(*counter) : "er"(value));
}

/* NULL: the thread has no slot, not yet or no more, and counts by the rare functions. */
static inline struct hsnap_wire_counters *hsnap_agent_counters(void)
{
	return hsnap_agent_self.counters;
}

/* Has it been noted where this chunk lies? */
static inline bool hsnap_agent_place_known(uintptr_t block, size_t head)
{
	if (LIKELY(!(head & CHUNK_OTHER_ARENA)))
		return LIKELY(block - hsnap_agent.brk_start < hsnap_agent.brk_size);
	uintptr_t heap = block >> HSNAP_HEAP_SHIFT;
	return block >> HSNAP_ADDRESS_BITS || hsnap_agent_heap_bits[heap / 64] >> heap % 64 & 1;
}

/* Enter a block of `size` requested bytes that glibc has just handed out (NULL: nothing to do),
 * by the call whose frame this is.  Returns the block.  All that is rare is a last call: the common way
 * saves no registers for it. */
static inline __attribute__((always_inline)) void *hsnap_agent_record(void *block, size_t size,
								      const uintptr_t *frame)
{
	if (UNLIKELY(!block))
		return NULL;
	uint32_t site = hsnap_agent_site_here(frame);
	struct hsnap_wire_counters *counters = hsnap_agent_counters();
	size_t head = ((const size_t *)block)[-1];
	size_t slack = HSNAP_ROOM(head) - size;
	if (UNLIKELY(head & CHUNK_MAPPED || slack >= HSNAP_SLACK_LARGE || !counters))
		return hsnap_agent_record_rare(block, size, site);
	uint64_t *place = (uint64_t *)((char *)block + size + slack);
	*place = hsnap_agent_trailer(place, HSNAP_TRAILER_REST(site, hsnap_agent.epoch, slack, HSNAP_WIRE_LIVE));
	__asm__ volatile("" ::: "memory"); /* the record first, then the count: see wire.h */
	hsnap_agent_add(&counters->allocated_bytes, size);
	hsnap_agent_add(&counters->allocated_room, size + slack);
	hsnap_agent_add(&counters->allocated_count, 1);
	if (UNLIKELY(counters->allocated_count % 64 == 0 || !hsnap_agent_place_known((uintptr_t)block, head)))
		return hsnap_agent_look_around(block);
	return block;
}

/* The trailer of a block that is about to be freed or moved says so from now on: of one that has no
 * record, or a damaged one, too.  false: a rare case, nothing was done. */
static inline __attribute__((always_inline)) bool hsnap_agent_mark_freed(void *block)
{
	size_t head = ((const size_t *)block)[-1];
	struct hsnap_wire_counters *counters = hsnap_agent_counters();
	if (UNLIKELY(head & CHUNK_MAPPED || !counters))
		return false;
	hsnap_agent_add(&counters->freed_room, HSNAP_ROOM(head));
	hsnap_agent_add(&counters->freed_count, 1);
	__asm__ volatile("" ::: "memory"); /* counted as freed before it says so */
	uint64_t *place = (uint64_t *)((char *)block + HSNAP_ROOM(head));
	*place = hsnap_agent_trailer(place, HSNAP_TRAILER_REST(0, 0, 0, HSNAP_WIRE_FREED));
	return true;
}

/* What free does, NULL excepted: hands on to glibc, or to whoever it is. */
static inline __attribute__((always_inline)) void hsnap_agent_free(void *block)
{
	if (UNLIKELY(hsnap_agent.mode != HSNAP_MODE_RECORD || !hsnap_agent_mark_freed(block)))
		hsnap_agent_free_rare(block);
	else
		__libc_free(block);
}

#endif
