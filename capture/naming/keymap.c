/* SPDX-License-Identifier: MIT */
/* keymap.c - pairs of words to numbers, by uthash. */
#include "capture/naming/keymap.h"

#include "snapshot/base/hash.h"

struct hsnap_key_entry {
	struct hsnap_key key;
	uint32_t value;
	UT_hash_handle hh;
};

void hsnap_keymap_deinit(struct hsnap_keymap *map)
{
	hsnap_hash_free(map->table);
}

uint32_t *hsnap_keymap_at(struct hsnap_keymap *map, struct hsnap_key key, bool *ret_new)
{
	struct hsnap_key_entry *entry;
	unsigned hash;
	HASH_VALUE(&key, sizeof(key), hash);
	HASH_FIND_BYHASHVALUE(hh, map->table, &key, sizeof(key), hash, entry);
	*ret_new = !entry;
	if (entry)
		return &entry->value;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->key = key;
	HASH_ADD_BYHASHVALUE(hh, map->table, key, sizeof(key), hash, entry);
	return entry ? &entry->value : NULL;
}

uint32_t hsnap_keymap_get(const struct hsnap_keymap *map, struct hsnap_key key)
{
	struct hsnap_key_entry *entry;
	HASH_FIND(hh, map->table, &key, sizeof(key), entry);
	return entry ? entry->value : 0;
}
