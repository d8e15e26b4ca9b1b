/* SPDX-License-Identifier: MIT */
/*
 * annotate.c - what the program says of its memory by heapsnap.h.
 *
 * A tag is a text in the pool of stacks, and a tagged block's site another record there: which stack, which tag.  So a
 * block's record stays as long as it is, and freeing one needs to look at nothing.
 *
 * Nobody promises that an address is a block's: what is no live record by its check is left alone.
 */
#include "capture/agent/pools.h"
#include "capture/agent/record.h"
#include "capture/agent/registry.h"

/* ---- tags ---- */

bool hsnap_agent_is_tagged(uint32_t site)
{
	return site && HSNAP_UNIT_KIND(hsnap_agent_unit(site)) == HSNAP_UNIT_TAGGED;
}

/* The record of a live block in a heap of glibc's, or NULL. */
static uint64_t *find_record(uintptr_t block)
{
	if (block % 16 || !hsnap_agent_is_heap(block - 16, block))
		return NULL;
	size_t head = ((const size_t *)block)[-1], size = head & ~(size_t)7;
	if (head & CHUNK_MAPPED || size < 32 || size % 16 || size >> HSNAP_ADDRESS_BITS ||
	    !hsnap_agent_is_heap(block - 16, block + size - 8))
		return NULL;
	uint64_t *place = (uint64_t *)(block + HSNAP_ROOM(head)), word = *place;
	bool valid = HSNAP_TRAILER_VALID(hsnap_agent.key, (uintptr_t)place, word) && HSNAP_TRAILER_STATE(word) & HSNAP_WIRE_LIVE &&
		     HSNAP_TRAILER_SITE(word) < hsnap_agent_directory.stack_units && HSNAP_TRAILER_SLACK(word) <= HSNAP_ROOM(head);
	return valid ? place : NULL;
}

/* The program changes nothing of a block's record meanwhile: whoever has it is here. */
static void tag_block(uintptr_t block, uint32_t text)
{
	uint64_t *large = hsnap_agent_large_site(block), *place = find_record(block);
	uint32_t old = place ? HSNAP_TRAILER_SITE(*place) : large ? (uint32_t)(*large >> 12) & HSNAP_MAX_SITE : 0;
	uint32_t site = place || large ? hsnap_agent_tagged(old, text) : 0;
	if (!site) {
		hsnap_agent_count(place || large ? &hsnap_agent_directory.notes_lost : &hsnap_agent_directory.notes_astray);
		return;
	}
	if (place)
		*place = hsnap_agent_trailer(place, HSNAP_TRAILER_REST(site, HSNAP_TRAILER_EPOCH(*place), HSNAP_TRAILER_SLACK(*place),
								       HSNAP_WIRE_TAGGED));
	if (large)
		*large = (uint64_t)site << 12 | (*large & HSNAP_EPOCH_MAX);
}

/* Of another allocator's: kept in place while it is changed, since others may move it. */
static void tag_entry(uintptr_t block, uint32_t text)
{
	struct hsnap_agent_entry entry;
	if (!hsnap_agent_registry_hold(block, &entry)) {
		hsnap_agent_count(&hsnap_agent_directory.notes_astray);
		return;
	}
	uint32_t site = hsnap_agent_tagged(HSNAP_ENTRY_SITE(entry.second), text);
	if (site)
		__atomic_store_n(&entry.place[1], (entry.second & ~(uint64_t)HSNAP_MAX_SITE) | site, __ATOMIC_RELAXED);
	else
		hsnap_agent_count(&hsnap_agent_directory.notes_lost);
	hsnap_agent_registry_let_go(&entry);
}

static void tag_any(uintptr_t block, uint32_t text)
{
	if (hsnap_agent.mode == HSNAP_MODE_OTHER)
		tag_entry(block, text);
	else
		tag_block(block, text);
}

void hsnap_agent_tag_again(void *block, uint32_t site)
{
	if (block && hsnap_agent_is_tagged(site))
		tag_any((uintptr_t)block, HSNAP_TAGGED_TEXT(hsnap_agent_unit(site)));
}

bool hsnap_agent_annotates(void)
{
	hsnap_agent_records(); /* the first call decides */
	return hsnap_agent.mode != HSNAP_MODE_ASIDE;
}

static void tag(void *block, const char *type, enum heapsnap_text how)
{
	if (!block || !type || !*type || !hsnap_agent_annotates())
		return;
	uint32_t text = hsnap_agent_text(type, how);
	if (!text)
		hsnap_agent_count(&hsnap_agent_directory.notes_lost);
	else if (!hsnap_agent_tag_object((uintptr_t)block, text)) /* which may begin where a block does */
		tag_any((uintptr_t)block, text);
}

/* ---- counters ---- */

static int counters(struct heapsnap_counters *ret, int of_process)
{
	struct hsnap_wire_counters sum;
	if (!hsnap_agent_annotates())
		return 0;
	if (of_process)
		hsnap_agent_count_process(&sum);
	else if (!hsnap_agent_count_thread(&sum))
		return 0;
	*ret = (struct heapsnap_counters){
		.allocations = sum.allocated_count, .allocated_bytes = sum.allocated_bytes, .frees = sum.freed_count,
		.live = sum.allocated_count > sum.freed_count ? sum.allocated_count - sum.freed_count : 0,
		.live_bytes = sum.allocated_room > sum.freed_room ? sum.allocated_room - sum.freed_room : 0,
	};
	return 1;
}

/* ---- what the header finds ---- */

EXPORTED const struct heapsnap_calls heapsnap_calls = {
	.size = sizeof(struct heapsnap_calls), .tag = tag, .counters = counters,
	.pool_create = hsnap_agent_pool_create, .pool_destroy = hsnap_agent_pool_destroy, .pool_reset = hsnap_agent_pool_reset,
	.pool_slab = hsnap_agent_pool_slab, .pool_slab_gone = hsnap_agent_pool_slab_gone,
	.pool_alloc = hsnap_agent_pool_alloc, .pool_free = hsnap_agent_pool_free,
	.root = hsnap_agent_root, .root_gone = hsnap_agent_root_gone,
};
