/* SPDX-License-Identifier: MIT */
/* keymap.c - open addressing, at most two thirds full. */
#include "capture/naming/keymap.h"

#include <stdlib.h>

void hsnap_keymap_deinit(struct hsnap_keymap *map)
{
	free(map->slots);
	*map = (struct hsnap_keymap){ 0 };
}

static size_t find_slot(const struct hsnap_keymap *map, struct hsnap_key key)
{
	uint64_t hash = (key.a ^ (key.b * 0x9e3779b97f4a7c15u)) * 0xd6e8feb86659fd93u;
	for (size_t i = (hash ^ hash >> 32) & (map->size - 1);; i = (i + 1) & (map->size - 1)) {
		const struct hsnap_key_slot *slot = &map->slots[i];
		if (!slot->used || (slot->key.a == key.a && slot->key.b == key.b))
			return i;
	}
}

static bool grow(struct hsnap_keymap *map)
{
	struct hsnap_keymap next = { .size = map->size ? map->size * 2 : 64, .used = map->used };
	next.slots = calloc(next.size, sizeof(*next.slots));
	if (!next.slots)
		return false;
	for (size_t i = 0; i < map->size; i++)
		if (map->slots[i].used)
			next.slots[find_slot(&next, map->slots[i].key)] = map->slots[i];
	free(map->slots);
	*map = next;
	return true;
}

uint32_t *hsnap_keymap_at(struct hsnap_keymap *map, struct hsnap_key key, bool *ret_new)
{
	if (map->used * 3 >= map->size * 2 && !grow(map))
		return NULL;
	struct hsnap_key_slot *slot = &map->slots[find_slot(map, key)];
	*ret_new = !slot->used;
	if (!slot->used) {
		slot->used = true;
		slot->key = key;
		map->used++;
	}
	return &slot->value;
}

uint32_t hsnap_keymap_get(const struct hsnap_keymap *map, struct hsnap_key key)
{
	if (!map->size)
		return 0;
	const struct hsnap_key_slot *slot = &map->slots[find_slot(map, key)];
	return slot->used ? slot->value : 0;
}
