/* SPDX-License-Identifier: MIT */
/*
 * annotate.c - what the program says of its memory by heapsnap.h.
 *
 * A tag is a text in the pool of stacks, and a tagged block's site another record there: which stack, which tag.  So a
 * block's record stays as long as it is, and freeing one needs to look at nothing.
 *
 * Nobody promises that an address is a block's: what is no live record by its check is left alone.
 */
#include "capture/agent/heapsnap.h"

#include <string.h>

#include "capture/agent/record.h"

static void count(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* ---- texts ---- */

_Static_assert((int)HEAPSNAP_TEXT_MANGLED == (int)HSNAP_TEXT_MANGLED && (int)HEAPSNAP_TEXT_PRETTY == (int)HSNAP_TEXT_PRETTY,
	       "the header's numbers are the reader's");

/* Texts by the address that they came from, which for literals is always the same: upper bits 40 | unit 24. */
#define LITERAL_BITS 10
static uint64_t literals[1u << LITERAL_BITS];

static bool says(uint32_t unit, const char *text, unsigned how)
{
	uint64_t head = hsnap_agent_unit(unit);
	unsigned bytes = HSNAP_TEXT_BYTES(head);
	return HSNAP_TEXT_HOW(head) == how && !HSNAP_TEXT_IS_CUT(head) && !strncmp(hsnap_agent_unit_text(unit), text, bytes) &&
	       !text[bytes];
}

/* 0: no room. */
static uint32_t add_text(const char *text, unsigned how)
{
	uint64_t words[(HSNAP_MAX_TEXT + 8) / 8] = { 0 };
	size_t bytes = strnlen(text, HSNAP_MAX_TEXT + 1);
	uint64_t cut = bytes > HSNAP_MAX_TEXT;
	bytes -= cut;
	memcpy(words, text, bytes);
	return hsnap_agent_intern(HSNAP_UNIT_TEXT | bytes << 8 | (uint64_t)how << 24 | cut << 31, words,
				  (uint32_t)(bytes + 7) / 8);
}

static uint32_t unit_of(const char *text, unsigned how)
{
	uintptr_t at = (uintptr_t)text;
	uint64_t *place = &literals[(at ^ at >> LITERAL_BITS) & ((1u << LITERAL_BITS) - 1)];
	uint64_t known = __atomic_load_n(place, __ATOMIC_RELAXED);
	uint32_t unit = (uint32_t)known & HSNAP_MAX_SITE;
	if (LIKELY(unit && known >> 24 == at >> LITERAL_BITS && says(unit, text, how)))
		return unit;
	unit = add_text(text, how);
	if (unit)
		__atomic_store_n(place, (uint64_t)(at >> LITERAL_BITS) << 24 | unit, __ATOMIC_RELAXED);
	return unit;
}

/* ---- tags ---- */

/* The stack of a site. */
static uint32_t bare(uint32_t site)
{
	uint64_t head = site ? hsnap_agent_unit(site) : 0;
	return HSNAP_UNIT_KIND(head) == HSNAP_UNIT_TAGGED ? HSNAP_TAGGED_SITE(head) : site;
}

/* 0: no room. */
static uint32_t tagged(uint32_t site, uint32_t text)
{
	return hsnap_agent_intern(HSNAP_UNIT_TAGGED | (uint64_t)text << 8 | (uint64_t)bare(site) << 32, NULL, 0);
}

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
	uint32_t site = place || large ? tagged(old, text) : 0;
	if (!site) {
		count(place || large ? &hsnap_agent_directory.notes_lost : &hsnap_agent_directory.notes_astray);
		return;
	}
	if (place)
		*place = hsnap_agent_trailer(place, HSNAP_TRAILER_REST(site, HSNAP_TRAILER_EPOCH(*place), HSNAP_TRAILER_SLACK(*place),
								       HSNAP_WIRE_TAGGED));
	if (large)
		*large = (uint64_t)site << 12 | (*large & HSNAP_EPOCH_MAX);
}

void hsnap_agent_tag_again(void *block, uint32_t site)
{
	if (hsnap_agent_is_tagged(site))
		tag_block((uintptr_t)block, HSNAP_TAGGED_TEXT(hsnap_agent_unit(site)));
}

static void tag(void *block, const char *type, enum heapsnap_text how)
{
	if (!block || !type || !*type || !hsnap_agent_records())
		return;
	uint32_t text = unit_of(type, how);
	if (text)
		tag_block((uintptr_t)block, text);
	else
		count(&hsnap_agent_directory.notes_lost);
}

/* ---- counters ---- */

static int counters(struct heapsnap_counters *ret, int of_process)
{
	struct hsnap_wire_counters sum;
	if (!hsnap_agent_records())
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
};
