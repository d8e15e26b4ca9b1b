/* SPDX-License-Identifier: MIT */
/* keymap.h - a hash table from pairs of words to small numbers; keys are never taken out. */
#ifndef HSNAP_CAPTURE_NAMING_KEYMAP_H
#define HSNAP_CAPTURE_NAMING_KEYMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hsnap_key {
	uint64_t a, b;
};

struct hsnap_keymap {
	struct hsnap_key_entry *table;
};

/* Zeroed storage is a valid, empty map. */
void hsnap_keymap_deinit(struct hsnap_keymap *map);

/* The value of the key, which is put in with 0 if it is new; valid until the next call.
 * NULL: out of memory. */
uint32_t *hsnap_keymap_at(struct hsnap_keymap *map, struct hsnap_key key, bool *ret_new);

/* The value of the key, or 0. */
uint32_t hsnap_keymap_get(const struct hsnap_keymap *map, struct hsnap_key key);

#endif
