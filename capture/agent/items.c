/* SPDX-License-Identifier: MIT */
/* items.c - a list of what nobody has, of which each state is another one: see free_slots in threads.c. */
#include "capture/agent/items.h"

void *hsnap_agent_item_at(uint64_t *segments, size_t item_size, void *for_first, uint64_t index)
{
	unsigned segment = (unsigned)(63 - __builtin_clzll(index / HSNAP_SLOT_FIRST + 1));
	if (segment >= HSNAP_SLOT_SEGMENTS)
		return NULL;
	uint64_t first = HSNAP_SLOT_FIRST * ((1ull << segment) - 1);
	uint64_t at = __atomic_load_n(&segments[segment], __ATOMIC_ACQUIRE);
	if (!at) {
		size_t size = item_size * HSNAP_SLOT_FIRST << segment;
		void *ready = segment ? NULL : for_first, *fresh = ready ? ready : hsnap_agent_pages(size);
		if (!fresh)
			return NULL;
		if (__atomic_compare_exchange_n(&segments[segment], &at, (uintptr_t)fresh, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			at = (uintptr_t)fresh;
		else if (!ready)
			hsnap_agent_pages_free(fresh, size);
	}
	return (char *)at + item_size * (index - first);
}

static uint64_t *link_of(void *item)
{
	return (uint64_t *)item + 1;
}

static uint64_t next_state(uint64_t head, uint64_t first)
{
	return ((head & ~(uint64_t)UINT32_MAX) + (1ull << 32)) | first;
}

static void *reuse(struct hsnap_agent_items *items, uint64_t *ret_number)
{
	uint64_t head = __atomic_load_n(&items->free, __ATOMIC_ACQUIRE);
	while (head & UINT32_MAX) {
		uint64_t number = (head & UINT32_MAX) - 1;
		void *item = hsnap_agent_item_at(items->segments, items->size, NULL, number);
		uint64_t next = next_state(head, __atomic_load_n(link_of(item), __ATOMIC_RELAXED) & UINT32_MAX);
		if (__atomic_compare_exchange_n(&items->free, &head, next, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			*ret_number = number;
			return item;
		}
	}
	return NULL;
}

void *hsnap_agent_items_take(struct hsnap_agent_items *items, uint64_t *ret_number)
{
	void *item = reuse(items, ret_number);
	uint64_t number = __atomic_load_n(items->num, __ATOMIC_RELAXED);
	if (item)
		return item;
	do {
		item = number < UINT32_MAX ? hsnap_agent_item_at(items->segments, items->size, NULL, number) : NULL;
		if (!item)
			return NULL;
	} while (!__atomic_compare_exchange_n(items->num, &number, number + 1, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	*ret_number = number;
	return item;
}

void hsnap_agent_items_put(struct hsnap_agent_items *items, uint64_t number)
{
	void *item = hsnap_agent_item_at(items->segments, items->size, NULL, number);
	uint64_t head = __atomic_load_n(&items->free, __ATOMIC_ACQUIRE);
	do
		__atomic_store_n(link_of(item), head & UINT32_MAX, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&items->free, &head, next_state(head, number + 1), true, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE));
}
