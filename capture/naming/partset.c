/* SPDX-License-Identifier: MIT */
/* partset.c - objects in a row, and a table of where each is in it. */
#include "capture/naming/partset.h"

#include <stdlib.h>

#include "snapshot/base/pages.h"
#include "snapshot/base/vec.h"

#define FEW_SLOTS ((size_t)1024)
#define MOST_PARTS ((size_t)1 << 28)
#define USUAL_PART 64u /* bytes */
#define SHARE 4u       /* one of so many parts of what is left */

void hsnap_parts_deinit(struct hsnap_parts *parts)
{
	hsnap_parts_close(parts);
	hsnap_vec_deinit(parts);
}

void hsnap_parts_close(struct hsnap_parts *parts)
{
	hsnap_pages_free(parts->slots, parts->num_slots, sizeof(*parts->slots));
	parts->slots = NULL;
	parts->num_slots = 0;
}

/* Where the object is, or the free slot that is its. */
static uint32_t *find(const struct hsnap_parts *parts, uint64_t address, uint32_t type)
{
	uint64_t hash = (address / 8 + type * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
	size_t at = (size_t)(hash ^ hash >> 32) & (parts->num_slots - 1);
	for (;; at = (at + 1) & (parts->num_slots - 1)) {
		uint32_t *slot = &parts->slots[at];
		if (!*slot || (parts->items[*slot - 1].address == address && parts->items[*slot - 1].type == type))
			return slot;
	}
}

/* Three quarters of the slots are in use at the most. */
static bool make_slots(struct hsnap_parts *parts)
{
	struct hsnap_parts more = *parts;
	if (parts->num < parts->num_slots / 4 * 3)
		return true;
	more.num_slots = parts->num_slots ? parts->num_slots * 2 : FEW_SLOTS;
	more.slots = hsnap_pages_alloc(more.num_slots, sizeof(*more.slots));
	if (!more.slots)
		return false;
	for (size_t i = 0; i < parts->num; i++)
		*find(&more, parts->items[i].address, parts->items[i].type) = (uint32_t)i + 1;
	hsnap_parts_close(parts);
	*parts = more;
	return true;
}

static bool is_full(struct hsnap_parts *parts)
{
	if (!parts->most)
		parts->most = HSNAP_PARTS_COUNTED;
	if (parts->num < parts->most)
		return false;
	size_t more = parts->most / 2;
	if (parts->most + more > MOST_PARTS || more > hsnap_budget_left() / SHARE / HSNAP_PART_BYTES)
		return true;
	parts->most += more;
	return false;
}

bool hsnap_parts_add(struct hsnap_parts *parts, struct hsnap_part part, size_t *ret_surer)
{
	if (ret_surer)
		*ret_surer = SIZE_MAX;
	if (!make_slots(parts))
		return false;
	uint32_t *slot = find(parts, part.address, part.type);
	if (*slot) {
		struct hsnap_part *known = &parts->items[*slot - 1];
		if (ret_surer && part.sure && !known->sure)
			*ret_surer = *slot - 1;
		known->sure |= part.sure;
		return true;
	}
	if (is_full(parts)) {
		parts->missed++;
		return true;
	}
	if (!hsnap_vec_push(parts, part))
		return false;
	*slot = (uint32_t)parts->num;
	return true;
}

uint64_t hsnap_parts_need(uint64_t bytes)
{
	uint64_t num = bytes / USUAL_PART;
	return (num < HSNAP_PARTS_COUNTED ? num : HSNAP_PARTS_COUNTED) * HSNAP_PART_BYTES;
}
