/* SPDX-License-Identifier: MIT */
/*
 * words.c - what words that somebody asks for mean: typedefs and plain types, whose names are else not
 * kept, and enumerators.
 */
#include "capture/symbols/reader.h"
#include "snapshot/base/search.h"

#define MOST_MEANINGS ((size_t)1 << 20) /* of all words in a module: debug info can repeat one without end */

struct finder {
	struct hsnap_reader *reader;
	struct hsnap_vec(hsnap_string) names; /* in order */
};

static int compare_names(const void *a, const void *b)
{
	hsnap_string x = *(const hsnap_string *)a, y = *(const hsnap_string *)b;
	return (x > y) - (x < y);
}

/* In the reader's own strings, where equal texts are one. */
static bool list_names(struct finder *finder, const struct hsnap_wanted *wanted)
{
	for (size_t i = 0; i < wanted->num; i++)
		if (!hsnap_vec_push(&finder->names, hsnap_table_string(finder->reader, wanted->words[i])))
			return hsnap_table_no_memory(finder->reader);
	if (finder->names.num)
		qsort(finder->names.items, finder->names.num, sizeof(*finder->names.items), compare_names);
	return finder->names.num;
}

static bool is_wanted(const struct finder *finder, hsnap_string name)
{
	size_t low = hsnap_first(finder->names.num, i, finder->names.items[i] >= name);
	return name && low < finder->names.num && finder->names.items[low] == name;
}

static void add(struct finder *finder, struct hsnap_dword word)
{
	struct hsnap_reader *reader = finder->reader;
	if (reader->out->words.num < MOST_MEANINGS && !hsnap_vec_push(&reader->out->words, word))
		hsnap_table_no_memory(reader);
}

static void see_enumerators(struct finder *finder, hsnap_die_key key)
{
	struct hsnap_reader *reader = finder->reader;
	struct hsnap_die_facts facts;
	uint64_t offset;
	struct hsnap_scan *scan = hsnap_table_scan(reader, key, &offset);
	if (!scan)
		return;
	struct hsnap_entry type = hsnap_entry_at(scan, offset), entry = hsnap_entry_child(scan, &type);
	for (; entry.abbrev; entry = hsnap_entry_next(scan, &entry)) {
		if (hsnap_entry_tag(&entry) != DW_TAG_enumerator)
			continue;
		hsnap_entry_read(scan, &entry, &facts);
		hsnap_string name = hsnap_table_string(reader, facts.name);
		if (is_wanted(finder, name) && facts.flags & HSNAP_DIE_CONST_VALUE)
			add(finder, (struct hsnap_dword){ .name = name, .value = facts.const_value });
	}
	hsnap_scan_close(scan);
}

void hsnap_words_find(struct hsnap_reader *reader, const struct hsnap_wanted *wanted)
{
	struct finder finder = { .reader = reader };
	if (list_names(&finder, wanted))
		for (uint32_t i = 1; i < reader->types.num && !reader->no_memory; i++) {
			const struct hsnap_raw_type *type = &reader->types.items[i];
			bool plain = type->kind == HSNAP_RAW_SCALAR || type->kind == HSNAP_RAW_BYTE;
			bool is_enum = plain && type->line; /* plain types are declared nowhere */
			if ((plain || type->flags & HSNAP_RAW_TYPEDEF) && is_wanted(&finder, type->name))
				add(&finder, (struct hsnap_dword){ .name = type->name, .type = i });
			if (is_enum)
				see_enumerators(&finder, type->key);
		}
	hsnap_vec_deinit(&finder.names);
}
