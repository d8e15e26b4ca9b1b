/* SPDX-License-Identifier: MIT */
/* texts.c - what the program calls its types, pools and roots: each text is stored once, in the pool of stacks. */
#include <string.h>

#include "capture/agent/pools.h"

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

uint32_t hsnap_agent_text(const char *text, unsigned how)
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

/* The stack of a site. */
static uint32_t bare(uint32_t site)
{
	uint64_t head = site ? hsnap_agent_unit(site) : 0;
	return HSNAP_UNIT_KIND(head) == HSNAP_UNIT_TAGGED ? HSNAP_TAGGED_SITE(head) : site;
}

uint32_t hsnap_agent_tagged(uint32_t site, uint32_t text)
{
	return hsnap_agent_intern(HSNAP_UNIT_TAGGED | (uint64_t)text << 8 | (uint64_t)bare(site) << 32, NULL, 0);
}
