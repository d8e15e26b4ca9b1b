/* SPDX-License-Identifier: MIT */
/*
 * pieces.c - lists that only grow, until all of them goes: an arena's objects, a pool's slabs.
 *
 * An entry is claimed by counting it, and is there once its first word is.
 */
#include "capture/agent/items.h"
#include "capture/agent/pools.h"

#include <string.h>

static struct hsnap_agent_items pieces = {
	.segments = hsnap_agent_directory.piece_segments, .num = &hsnap_agent_directory.num_pieces,
	.size = sizeof(struct hsnap_wire_piece),
};

static struct hsnap_wire_piece *piece_at(uint64_t number_and_one)
{
	return number_and_one ? hsnap_agent_items_at(&pieces, number_and_one - 1) : NULL;
}

uint64_t *hsnap_agent_list_add(uint64_t *list)
{
	for (;;) {
		uint64_t latest = __atomic_load_n(list, __ATOMIC_ACQUIRE), number;
		struct hsnap_wire_piece *piece = piece_at(latest);
		uint64_t at = piece ? __atomic_fetch_add(&piece->num, 1, __ATOMIC_RELAXED) : HSNAP_PIECE_ENTRIES;
		if (LIKELY(at < HSNAP_PIECE_ENTRIES))
			return piece->entries[at];
		struct hsnap_wire_piece *fresh = hsnap_agent_items_take(&pieces, &number);
		if (!fresh)
			return NULL;
		memset(fresh->entries, 0, sizeof(fresh->entries));
		fresh->older = latest;
		__atomic_store_n(&fresh->num, 1, __ATOMIC_RELAXED);
		if (__atomic_compare_exchange_n(list, &latest, number + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return fresh->entries[0];
		hsnap_agent_items_put(&pieces, number);
	}
}

uint64_t *hsnap_agent_list_find(const uint64_t *list, uint64_t first, uint64_t ignored)
{
	struct hsnap_wire_piece *piece = piece_at(__atomic_load_n(list, __ATOMIC_ACQUIRE));
	for (; piece; piece = piece_at(piece->older)) {
		uint64_t num = __atomic_load_n(&piece->num, __ATOMIC_RELAXED);
		for (uint64_t at = num < HSNAP_PIECE_ENTRIES ? num : HSNAP_PIECE_ENTRIES; at--;)
			if ((__atomic_load_n(&piece->entries[at][0], __ATOMIC_ACQUIRE) & ~ignored) == first)
				return piece->entries[at];
	}
	return NULL;
}

void hsnap_agent_list_clear(uint64_t *list)
{
	uint64_t next = __atomic_exchange_n(list, 0, __ATOMIC_ACQ_REL);
	for (struct hsnap_wire_piece *piece; (piece = piece_at(next));) {
		uint64_t number = next - 1;
		next = piece->older;
		hsnap_agent_items_put(&pieces, number);
	}
}
