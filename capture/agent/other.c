/* SPDX-License-Identifier: MIT */
/*
 * other.c - jemalloc's, tcmalloc's, mimalloc's and anybody's blocks, whose malloc follows ours.
 *
 * An entry is taken out before a block is given back, since the next moment it is another thread's, and
 * put in after it was handed out.  A block that realloc may move keeps its entry, held, until
 * the allocator has answered: what it points to is not lost sight of.  What the allocator calls itself while
 * it is at work (malloc in reallocarray, calloc in its beginnings) is not the program's and is handed on.
 */
#include "capture/agent/other.h"

#include <errno.h>
#include <unistd.h>

#include "capture/agent/record.h"
#include "capture/agent/registry.h"

static inline bool is_other(void)
{
	return hsnap_agent.mode == HSNAP_MODE_OTHER && !hsnap_agent_self.inside;
}

/* Threads that have no slot share one. */
static inline void add(struct hsnap_wire_counters *counters, uint64_t *counter, uint64_t value)
{
	if (UNLIKELY(counters == &hsnap_agent_directory.shared))
		__atomic_fetch_add(counter, value, __ATOMIC_RELAXED);
	else
		hsnap_agent_add(counter, value);
}

static inline struct hsnap_wire_counters *slot(void)
{
	struct hsnap_wire_counters *counters = hsnap_agent_counters();
	return LIKELY(counters != NULL) ? counters : hsnap_agent_slot();
}

void *hsnap_agent_enter(void *block, size_t size, const uintptr_t *frame)
{
	if (UNLIKELY(!block) || !is_other())
		return block;
	uint32_t site = hsnap_agent_site_here(frame);
	if (!hsnap_agent_registry_add((uintptr_t)block, size, site, hsnap_agent.epoch))
		return block;
	hsnap_agent_self.entered++;
	struct hsnap_wire_counters *counters = slot();
	add(counters, &counters->allocated_bytes, size);
	add(counters, &counters->allocated_room, size);
	add(counters, &counters->allocated_count, 1);
	if (UNLIKELY(hsnap_agent_self.entered % 64 == 0))
		hsnap_agent_renew_epoch();
	return block;
}

void *hsnap_agent_enter_for(void *block, size_t size, const uintptr_t *frame)
{
	struct hsnap_agent_entry entry;
	if (!block || !is_other())
		return block;
	if (!hsnap_agent_registry_hold((uintptr_t)block, &entry))
		return hsnap_agent_enter(block, size, frame);
	uint32_t site = hsnap_agent_site_here(frame);
	__atomic_store_n(&entry.place[1], (entry.second & ~(uint64_t)HSNAP_MAX_SITE) | site, __ATOMIC_RELAXED);
	hsnap_agent_registry_let_go(&entry);
	return block;
}

static inline void drop(struct hsnap_agent_entry *entry)
{
	struct hsnap_wire_counters *counters = slot();
	add(counters, &counters->freed_room, HSNAP_ENTRY_REQUESTED(entry->word, entry->second));
	add(counters, &counters->freed_count, 1);
	__asm__ volatile("" ::: "memory"); /* counted as freed before it says so */
	hsnap_agent_registry_drop(entry);
}

void hsnap_agent_withdraw(void *block)
{
	struct hsnap_agent_entry entry;
	if (UNLIKELY(!is_other()))
		return;
	if (LIKELY(hsnap_agent_registry_find((uintptr_t)block, &entry)))
		drop(&entry);
	else
		__atomic_fetch_add(&hsnap_agent_directory.unknown_frees, 1, __ATOMIC_RELAXED);
}

void hsnap_agent_other_free(void *block)
{
	hsnap_agent_withdraw(block);
	hsnap_agent_next.free(block);
}

size_t hsnap_agent_other_usable(void *block)
{
	uint64_t *asked = &hsnap_agent_directory.rooms_asked;
	if (UNLIKELY(!__atomic_load_n(asked, __ATOMIC_RELAXED)))
		__atomic_store_n(asked, 1, __ATOMIC_RELAXED);
	return hsnap_agent_next.usable(block);
}

/* ---- what hands out ---- */

/* CALL is the allocator's; whatever of ours it calls is not recorded. */
#define INSIDE(call) \
	({ \
		bool before_ = hsnap_agent_self.inside; \
		hsnap_agent_self.inside = true; \
		__typeof__(call) result_ = (call); \
		hsnap_agent_self.inside = before_; \
		result_; \
	})

void *hsnap_agent_other_malloc(size_t size, const uintptr_t *frame)
{
	return hsnap_agent_enter(INSIDE(hsnap_agent_next.malloc(size)), size, frame);
}

void *hsnap_agent_other_calloc(size_t num, size_t size, const uintptr_t *frame)
{
	return hsnap_agent_enter(INSIDE(hsnap_agent_next.calloc(num, size)), num * size, frame);
}

void *hsnap_agent_other_memalign(size_t alignment, size_t size, const uintptr_t *frame)
{
	return hsnap_agent_enter(INSIDE(hsnap_agent_next.memalign(alignment, size)), size, frame);
}

void *hsnap_agent_other_aligned_alloc(size_t alignment, size_t size, const uintptr_t *frame)
{
	return hsnap_agent_enter(INSIDE(hsnap_agent_next.aligned_alloc(alignment, size)), size, frame);
}

int hsnap_agent_other_posix_memalign(void **ret, size_t alignment, size_t size, const uintptr_t *frame)
{
	int result = INSIDE(hsnap_agent_next.posix_memalign(ret, alignment, size));
	if (!result)
		hsnap_agent_enter(*ret, size, frame);
	return result;
}

void *hsnap_agent_other_valloc(size_t size, const uintptr_t *frame)
{
	return hsnap_agent_enter(INSIDE(hsnap_agent_next.valloc(size)), size, frame);
}

void *hsnap_agent_other_pvalloc(size_t size, const uintptr_t *frame)
{
	size_t page = (size_t)getpagesize();
	void *block = INSIDE(hsnap_agent_next.pvalloc(size));
	/* Whole pages are what is asked for. */
	return hsnap_agent_enter(block, (size + page - 1) & ~(page - 1), frame);
}

void *hsnap_agent_other_new(size_t size, size_t alignment, const uintptr_t *frame)
{
	if (hsnap_agent.mode != HSNAP_MODE_OTHER || hsnap_agent.other_operators)
		return NULL;
	if (!alignment)
		return hsnap_agent_other_malloc(size, frame);
	return alignment & (alignment - 1) ? NULL : hsnap_agent_other_memalign(alignment, size, frame);
}

/* ---- what moves ---- */

void *hsnap_agent_other_realloc(void *block, size_t size, const uintptr_t *frame)
{
	struct hsnap_agent_entry held;
	bool is_held = block && is_other() && hsnap_agent_registry_hold((uintptr_t)block, &held);
	void *moved = INSIDE(hsnap_agent_next.realloc(block, size));
	/* Of a size of 0 NULL is no failure: the block is gone. */
	if (is_held && (moved || !size))
		drop(&held);
	else if (is_held)
		hsnap_agent_registry_let_go(&held);
	moved = hsnap_agent_enter(moved, size, frame);
	if (is_held)
		hsnap_agent_tag_again(moved, HSNAP_ENTRY_SITE(held.second));
	return moved;
}

/* glibc's own calls realloc, whoever's that is; some allocators have none. */
void *hsnap_agent_other_reallocarray(void *block, size_t num, size_t size, const uintptr_t *frame)
{
	size_t bytes;
	if (hsnap_agent.mode != HSNAP_MODE_OTHER)
		return hsnap_agent_next.reallocarray(block, num, size);
	if (__builtin_mul_overflow(num, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return hsnap_agent_other_realloc(block, bytes, frame);
}
