/* SPDX-License-Identifier: MIT */
/* inners.c - objects inside blocks that pointers lead to. */
#include "capture/naming/inferred.h"

#define MAX_INNERS ((size_t)1 << 20)

void hsnap_inners_deinit(struct hsnap_inners *inners)
{
	hsnap_vec_deinit(&inners->items);
	hsnap_keymap_deinit(&inners->known);
	hsnap_keymap_deinit(&inners->many);
}

static struct hsnap_key key_of(uint32_t block, hsnap_dtype_id type)
{
	return (struct hsnap_key){ block, type };
}

uint32_t hsnap_inners_find(const struct hsnap_inners *inners, uint32_t block, hsnap_dtype_id type, uint64_t offset)
{
	uint32_t i = hsnap_keymap_get(&inners->known, key_of(block, type));
	while (i && inners->items.items[i - 1].offset != offset)
		i = inners->items.items[i - 1].next;
	return i;
}

bool hsnap_inners_are_many(const struct hsnap_inners *inners, const struct hsnap_inner *inner)
{
	return inners->many.table && hsnap_keymap_get(&inners->many, key_of(inner->block, inner->type));
}

static bool note_many(struct hsnap_inners *inners, struct hsnap_key key)
{
	bool is_new;
	uint32_t *many = hsnap_keymap_at(&inners->many, key, &is_new);
	if (many)
		*many = true;
	return many;
}

bool hsnap_inners_note(struct hsnap_inners *inners, uint32_t block, hsnap_dtype_id type, uint64_t offset)
{
	bool is_new;
	if (inners->items.num >= MAX_INNERS || offset % 8 || offset > UINT32_MAX)
		return true;
	uint32_t *known = hsnap_keymap_at(&inners->known, key_of(block, type), &is_new), num = 0;
	if (!known)
		return false;
	for (uint32_t i = *known; i; i = inners->items.items[i - 1].next, num++)
		if (inners->items.items[i - 1].offset == offset)
			return true;
	if (num == HSNAP_MOST_INNERS)
		return note_many(inners, key_of(block, type));
	struct hsnap_inner inner = { .block = block, .offset = (uint32_t)offset, .type = type, .next = *known };
	*known = (uint32_t)inners->items.num + 1;
	return hsnap_vec_push(&inners->items, inner);
}
