/* SPDX-License-Identifier: MIT */
/*
 * items.h - things of one size that come and go, each with a number: pools, and pieces of their lists.
 *
 * An item's second word is the list's while nobody has it.  Nothing waits: not for another thread, not for one that a fork
 * left behind, not for what a signal's handler has interrupted.  Items stay where they are and are never unmapped.
 */
#ifndef HSNAP_CAPTURE_AGENT_ITEMS_H
#define HSNAP_CAPTURE_AGENT_ITEMS_H

#include "capture/agent/agent.h"

/* Segment s holds HSNAP_SLOT_FIRST << s of something; where the one of this index is, or NULL.  for_first: storage of
 * segment 0, or NULL. */
void *hsnap_agent_item_at(uint64_t *segments, size_t item_size, void *for_first, uint64_t index);

struct hsnap_agent_items {
	uint64_t *segments; /* HSNAP_SLOT_SEGMENTS addresses */
	uint64_t *num;      /* items that there are */
	size_t size;        /* of one */
	uint64_t free;      /* 1 + number of the first that nobody has, and above it a count of changes */
};

/* One that nobody has; NULL: no memory. */
void *hsnap_agent_items_take(struct hsnap_agent_items *items, uint64_t *ret_number);
void hsnap_agent_items_put(struct hsnap_agent_items *items, uint64_t number);

/* NULL: there is none of this number. */
static inline void *hsnap_agent_items_at(const struct hsnap_agent_items *items, uint64_t number)
{
	return number < __atomic_load_n(items->num, __ATOMIC_ACQUIRE) ? hsnap_agent_item_at(items->segments, items->size, NULL, number)
								       : NULL;
}

#endif
