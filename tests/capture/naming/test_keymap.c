/* SPDX-License-Identifier: MIT */
/* test_keymap.c - pairs to numbers, and what is left of them when memory runs out. */
#include <criterion/criterion.h>

#include "capture/naming/keymap.h"
#include "tests/support/scarce.h"

#define NUM 1000u

/* Pairs that differ in one half only, and in bits far up. */
static struct hsnap_key key_of(uint32_t i)
{
	return i % 2 ? (struct hsnap_key){ (uint64_t)i << 40, 7 } : (struct hsnap_key){ 7, (uint64_t)i << 40 };
}

Test(keymap, each_pair_has_its_number_though_memory_runs_out)
{
	struct hsnap_keymap map = { 0 };
	cr_expect_eq(hsnap_keymap_get(&map, key_of(1)), 0, "an empty map has something");
	for (uint32_t i = 0; i < NUM; i++) {
		uint32_t *value = NULL;
		bool is_new = false;
		for (size_t grants = 0; !value; grants++) {
			cr_assert_eq(hsnap_keymap_get(&map, key_of(i)), 0, "pair %u is there before it was put in", i);
			scarce_grant(grants);
			value = hsnap_keymap_at(&map, key_of(i), &is_new);
			scarce_grant(PLENTY);
			cr_assert(value || grants < 4, "pair %u failed with %zu allocations", i, grants);
		}
		cr_assert(is_new && !*value, "pair %u is not new", i);
		*value = i + 1;
		cr_assert(hsnap_keymap_at(&map, key_of(i), &is_new) == value && !is_new, "pair %u is there twice", i);
	}
	for (uint32_t i = 0; i < NUM; i++)
		cr_assert_eq(hsnap_keymap_get(&map, key_of(i)), i + 1, "pair %u has another number", i);
	hsnap_keymap_deinit(&map);
	cr_expect_eq(hsnap_keymap_get(&map, key_of(1)), 0, "a map is empty afterwards");
}
