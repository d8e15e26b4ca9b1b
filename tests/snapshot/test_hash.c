/* SPDX-License-Identifier: MIT */
/* test_hash.c - tables of snapshot/base when memory runs out. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "snapshot/base/hash.h"
#include "snapshot/base/strings.h"
#include "tests/support/scarce.h"

#define NUM 5000u

struct entry {
	uint64_t key;
	UT_hash_handle hh;
};

static struct entry *find(struct entry *table, uint64_t key)
{
	struct entry *entry;
	HASH_FIND(hh, table, &key, sizeof(key), entry);
	return entry;
}

static struct entry *add(struct entry **table, uint64_t key)
{
	struct entry *entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->key = key;
	HASH_ADD(hh, *table, key, sizeof(entry->key), entry);
	return entry;
}

/* Each key is added with too little memory first: for the entry, the table, its buckets, more buckets. */
Test(hash, what_could_not_be_added_is_not_there_and_the_rest_is)
{
	struct entry *table = NULL;
	unsigned failed = 0;
	for (uint64_t key = 0; key < NUM; key++) {
		struct entry *entry = NULL;
		for (size_t grants = 0; !entry; grants++) {
			scarce_grant(grants);
			entry = add(&table, key);
			scarce_grant(PLENTY);
			failed += !entry;
			cr_assert(entry == find(table, key), "key %lu after %zu allocations", (unsigned long)key, grants);
			cr_assert_eq(HASH_COUNT(table), key + (entry != NULL));
		}
	}
	cr_expect_gt(failed, NUM + 5, "only %u failures: no table had to grow", failed);
	for (uint64_t key = 0; key < NUM; key++)
		cr_assert(find(table, key), "key %lu is lost", (unsigned long)key);
	cr_expect(!find(table, NUM));
	hsnap_hash_free(table);
	cr_expect(!table);
	hsnap_hash_free(table);
}

static hsnap_string add_number(struct hsnap_strings *strings, uint32_t number)
{
	char text[32];
	return hsnap_strings_add_len(strings, text, (size_t)snprintf(text, sizeof(text), "name-%u", number));
}

Test(hash, a_string_that_could_not_be_added_can_be_added_later)
{
	struct hsnap_strings strings = { 0 };
	static hsnap_string offsets[NUM];
	for (uint32_t i = 0; i < NUM; i++) {
		offsets[i] = HSNAP_NO_STRING;
		for (size_t grants = 0; offsets[i] == HSNAP_NO_STRING; grants++) {
			size_t before = strings.num;
			scarce_grant(grants);
			offsets[i] = add_number(&strings, i);
			scarce_grant(PLENTY);
			cr_assert(offsets[i] != HSNAP_NO_STRING || strings.num <= before + !before,
				  "string %u: what failed left something behind", i);
		}
	}
	for (uint32_t i = 0; i < NUM; i++)
		cr_assert_eq(add_number(&strings, i), offsets[i], "string %u is there twice", i);
	hsnap_strings_deinit(&strings);
}

/* As a snapshot is loaded: the bytes alone. */
Test(hash, strings_without_a_table_get_one_or_fail)
{
	struct hsnap_strings made = { 0 }, loaded = { 0 };
	hsnap_string offsets[300];
	for (uint32_t i = 0; i < 300; i++)
		offsets[i] = add_number(&made, i);
	loaded.bytes = malloc(made.num);
	cr_assert(loaded.bytes);
	memcpy(loaded.bytes, made.bytes, made.num);
	loaded.num = loaded.capacity = made.num;
	size_t grants = 0;
	for (hsnap_string s = HSNAP_NO_STRING; s == HSNAP_NO_STRING; grants++) {
		scarce_grant(grants);
		s = add_number(&loaded, 299);
		scarce_grant(PLENTY);
		cr_assert(s == HSNAP_NO_STRING || s == offsets[299], "after %zu allocations", grants);
	}
	cr_expect_gt(grants, 300, "only %zu allocations: not all were put into the table", grants);
	for (uint32_t i = 0; i < 300; i++)
		cr_assert_eq(add_number(&loaded, i), offsets[i]);
	cr_expect_eq(loaded.num, made.num);
	hsnap_strings_deinit(&loaded);
	hsnap_strings_deinit(&made);
}
