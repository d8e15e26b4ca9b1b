/* SPDX-License-Identifier: MIT */
/*
 * musl.c - mallocng's groups: found by the secret that each page of its descriptors begins with.
 *
 * musl 1.2.1 to 1.2.5 src/malloc/mallocng/meta.h.  The secret stands in libc's (or a static
 * program's) own data, too; a descriptor and its group point to each other.
 */
#include "capture/alloc/foreign/claims.h"
#include "snapshot/base/cleanup.h"

#define UNIT 16u
#define MAX_DATA ((uint64_t)1 << 20) /* of one module: mallocng's state is a kilobyte of it */
#define MIN_GROUPS 3u

/* Blocks of a class, in units: glue.h's table. */
static const uint16_t size_classes[] = {
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 20, 25, 31, 36, 42, 50, 63, 72, 84, 102, 127, 146, 170, 204, 255,
	292, 340, 409, 511, 584, 682, 818, 1023, 1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191,
};

struct meta {
	uint64_t previous, next, group;
	uint32_t available, freed;
	uint64_t bits; /* last index 5, freeable 1, class 6, pages of its mapping 52 */
};

struct area {
	uint64_t secret, next;
	int32_t num_slots, pad;
};
_Static_assert(sizeof(struct meta) == 40 && sizeof(struct area) == 24, "as musl lays them out on 64-bit machines");

#define MOST_SLOTS ((HSNAP_FOREIGN_PAGE - sizeof(struct area)) / sizeof(struct meta)) /* 101 */

static size_t claim_group(struct foreign *foreign, uint64_t at)
{
	struct meta meta;
	uint64_t back;
	if (hsnap_target_read(foreign->target, at, &meta, sizeof(meta), NULL) || !meta.group || meta.group % UNIT ||
	    !hsnap_target_word(foreign->target, meta.group, &back) || back != at)
		return 0;
	uint64_t last = meta.bits & 31, size_class = meta.bits >> 6 & 63, pages = meta.bits >> 12;
	uint64_t size = pages * HSNAP_FOREIGN_PAGE;
	if (!pages && size_class < sizeof(size_classes) / sizeof(*size_classes))
		size = UNIT * size_classes[size_class] * (last + 1) + UNIT;
	if (!size || pages >> 36)
		return 0;
	foreign_claim(foreign, meta.group & ~(HSNAP_FOREIGN_PAGE - 1),
		      (meta.group + size + HSNAP_FOREIGN_PAGE - 1) & ~(HSNAP_FOREIGN_PAGE - 1));
	return 1;
}

/* Follow the list of descriptor pages from one on. */
static size_t claim_areas(struct foreign *foreign, uint64_t first, uint64_t secret)
{
	size_t groups = 0;
	for (uint64_t at = first; at && at % HSNAP_FOREIGN_PAGE == 0 && foreign->tries > MOST_SLOTS; foreign->tries -= MOST_SLOTS) {
		struct area area;
		if (hsnap_target_read(foreign->target, at, &area, sizeof(area), NULL) || area.secret != secret ||
		    area.num_slots < 0 || area.num_slots > (int32_t)MOST_SLOTS)
			break;
		foreign_claim(foreign, at, at + HSNAP_FOREIGN_PAGE);
		for (int32_t i = 0; i < area.num_slots; i++)
			groups += claim_group(foreign, at + sizeof(area) + (uint64_t)i * sizeof(struct meta));
		at = area.next;
	}
	return groups;
}

/*
 * The state begins with the secret; the head of the list of pages follows within a few words, at a
 * place that differs by version.
 */
static bool try_state(struct foreign *foreign, const uint64_t *words, size_t num)
{
	for (size_t i = 2; i < num && i < 12; i++) {
		uint64_t secret;
		if (!words[i] || words[i] % HSNAP_FOREIGN_PAGE || !hsnap_target_word(foreign->target, words[i], &secret) ||
		    secret != words[0])
			continue;
		if (claim_areas(foreign, words[i], secret) >= MIN_GROUPS)
			return true;
		foreign->claims.num = 0;
	}
	return false;
}

void foreign_look_musl(struct foreign *foreign)
{
	for (size_t i = 0; i < foreign->target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &foreign->target->mappings.items[i];
		uint64_t size = mapping->end - mapping->start;
		if (!mapping->module || !(mapping->prot & HSNAP_PROT_WRITE) || size > MAX_DATA)
			continue;
		hsnap_auto(hsnap_freep) uint64_t *words = malloc(size);
		if (!words) {
			foreign->no_memory = true;
			return;
		}
		size_t num = foreign->target->ops->read(foreign->target->self, mapping->start, words, size) / 8;
		for (size_t w = 0; w + 2 < num; w++)
			if (words[w] >> 32 && try_state(foreign, words + w, num - w))
				return;
	}
}
