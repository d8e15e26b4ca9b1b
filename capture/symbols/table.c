/* SPDX-License-Identifier: MIT */
/* table.c - what a reader has found, by key: types, units, files; and its strings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/symbols/reader.h"
#include "snapshot/base/search.h"

#define MAX_NAME 65536
#define MAX_ALIASES 64

bool hsnap_table_no_memory(struct hsnap_reader *reader)
{
	reader->no_memory = true;
	return false;
}

hsnap_string hsnap_table_string(struct hsnap_reader *reader, const char *text)
{
	if (!text)
		return 0;
	hsnap_string s = hsnap_strings_add_len(&reader->strings, text, MAX_NAME);
	if (s == HSNAP_NO_STRING) {
		reader->no_memory = true;
		return 0;
	}
	return s;
}

hsnap_string hsnap_table_join(struct hsnap_reader *reader, hsnap_string scope, const char *name)
{
	if (!name || !*name)
		return 0;
	if (!scope)
		return hsnap_table_string(reader, name);
	size_t scope_len = strlen(hsnap_str(&reader->strings, scope)), len = strnlen(name, MAX_NAME);
	if (scope_len > MAX_NAME)
		return 0;
	reader->scratch.num = 0;
	if (!hsnap_vec_reserve(&reader->scratch, scope_len + len + 2)) {
		hsnap_table_no_memory(reader);
		return 0;
	}
	char *to = reader->scratch.items;
	memcpy(to, hsnap_str(&reader->strings, scope), scope_len);
	memcpy(to + scope_len, "::", 2);
	memcpy(to + scope_len + 2, name, len);
	hsnap_string s = hsnap_strings_add_len(&reader->strings, to, scope_len + 2 + len);
	return s == HSNAP_NO_STRING ? (hsnap_table_no_memory(reader), 0) : s;
}

/* Where a name lies and its scope say what it is: most are met hundreds of times. */
struct hsnap_joined {
	const char *name;
	hsnap_string scope, whole;
};
#define NUM_JOINED 65536

hsnap_string hsnap_table_named(struct hsnap_reader *reader, hsnap_string scope, const char *name)
{
	if (!name || !*name)
		return 0;
	if (!reader->joined && !(reader->joined = calloc(NUM_JOINED, sizeof(*reader->joined))))
		return hsnap_table_join(reader, scope, name);
	uint64_t hash = ((uintptr_t)name ^ (uint64_t)scope << 32) * 0x9e3779b97f4a7c15u;
	struct hsnap_joined *joined = &reader->joined[hash >> 48];
	if (joined->name != name || joined->scope != scope)
		*joined = (struct hsnap_joined){ name, scope, hsnap_table_join(reader, scope, name) };
	return joined->whole;
}

/* --- types by key --- */

/*
 * A table of our own: there are millions, each already stands in reader->types with its key, and an
 * entry of uthash costs 80 bytes more.  An index is at its key's place or behind it, 0 = empty.
 */
void hsnap_table_free(struct hsnap_reader *reader)
{
	free(reader->table);
	free(reader->joined);
	reader->table = NULL;
	reader->joined = NULL;
	reader->table_size = 0;
}

/* Where the key is, or would be put. */
static size_t table_place(const struct hsnap_reader *reader, hsnap_die_key key)
{
	size_t mask = reader->table_size - 1, at = key * 0x9e3779b97f4a7c15u >> 20 & mask;
	while (reader->table[at] && reader->types.items[reader->table[at]].key != key)
		at = (at + 1) & mask;
	return at;
}

static bool table_grow(struct hsnap_reader *reader)
{
	size_t size = reader->table_size ? reader->table_size * 2 : 4096;
	uint32_t *table = calloc(size, sizeof(*table));
	if (!table)
		return false;
	free(reader->table);
	reader->table = table;
	reader->table_size = size;
	for (uint32_t i = 1; i < reader->types.num; i++)
		table[table_place(reader, reader->types.items[i].key)] = i;
	return true;
}

uint32_t hsnap_table_find(const struct hsnap_reader *reader, hsnap_die_key key)
{
	return reader->table_size ? reader->table[table_place(reader, key)] : 0;
}

uint32_t hsnap_reader_table_add(struct hsnap_reader *reader, const struct hsnap_raw_type *type)
{
	bool room = reader->types.num < UINT32_MAX / 4 && hsnap_vec_reserve(&reader->types, 1);
	if (!room || (reader->types.num >= reader->table_size / 2 && !table_grow(reader)))
		return hsnap_table_no_memory(reader);
	size_t at = table_place(reader, type->key);
	if (reader->table[at])
		return 0;
	uint32_t index = (uint32_t)reader->types.num;
	reader->types.items[reader->types.num++] = *type;
	reader->table[at] = index;
	return index;
}

/* --- files of a unit --- */

/* "./a/../b.c" → "b.c", by text: one file has one name, however it was included. */
static void tidy_path(char *path)
{
	char *to = path, *first = path + (*path == '/');
	for (char *at = path; *at;) {
		size_t len = strcspn(at, "/");
		bool slash = at[len] == '/';
		char *last = to;
		while (last > first && last[-1] == '/')
			last--;
		while (last > first && last[-1] != '/')
			last--;
		if (len == 1 && *at == '.' && slash) {
			/* nothing */
		} else if (len == 2 && !memcmp(at, "..", 2) && slash && to > first && strncmp(last, "../", 3)) {
			to = last;
		} else if (len || to == path) {
			memmove(to, at, len + slash);
			to += len + slash;
		}
		at += len + slash;
	}
	*to = '\0';
}

hsnap_die_key hsnap_table_lines(const struct hsnap_reader *reader, uint32_t unit)
{
	uint32_t skeleton = reader->units.items[unit].skeleton;
	return skeleton ? reader->split.skeletons.items[skeleton - 1].key : reader->units.items[unit].key;
}

static void load_files(struct hsnap_reader *reader, uint32_t unit)
{
	hsnap_die_key key = hsnap_table_lines(reader, unit);
	struct hsnap_dies *dies = hsnap_dies_of(reader->dies, key);
	Dwarf_Die die = hsnap_die_at(reader->dies, key);
	reader->files_unit = reader->units.items[unit].key;
	reader->files.num = 0;
	if (!die)
		return;
	size_t num;
	char **files = hsnap_die_files(dies, die, &num, &reader->files_base);
	for (size_t i = 0; i < num; i++) {
		char path[4096];
		snprintf(path, sizeof(path), "%s", files[i]);
		tidy_path(path);
		if (!hsnap_vec_push(&reader->files, hsnap_table_string(reader, path)))
			hsnap_table_no_memory(reader);
	}
	hsnap_die_files_free(dies, files, num);
	hsnap_die_free(die);
}

hsnap_string hsnap_table_file(struct hsnap_reader *reader, hsnap_die_key key, uint64_t number)
{
	uint32_t unit = hsnap_table_unit(reader, key);
	if (unit == UINT32_MAX)
		return 0;
	if (reader->files_unit != reader->units.items[unit].key)
		load_files(reader, unit);
	if (number < reader->files_base || number - reader->files_base >= reader->files.num)
		return 0;
	return reader->files.items[number - reader->files_base];
}

uint32_t hsnap_table_unit(const struct hsnap_reader *reader, hsnap_die_key key)
{
	size_t low = hsnap_first(reader->units.num, i, reader->units.items[i].key > key);
	return low ? (uint32_t)low - 1 : UINT32_MAX;
}

static bool is_of_types(hsnap_die_key key)
{
	enum hsnap_die_section section = hsnap_die_section_of(key);
	return section == HSNAP_DIE_TYPES || section == HSNAP_DIE_SPLIT_TYPES;
}

static uint64_t offset_in(const struct hsnap_dies *file, hsnap_die_key key)
{
	return key & (file->root ? (UINT64_C(1) << HSNAP_DIE_SPLIT_SHIFT) - 1 : HSNAP_DIE_OFFSET);
}

struct hsnap_scan *hsnap_table_scan(struct hsnap_reader *reader, hsnap_die_key key, uint64_t *ret_offset)
{
	struct hsnap_dies *file = hsnap_dies_of(reader->dies, key);
	uint32_t unit = file ? hsnap_table_unit(reader, key) : UINT32_MAX;
	if (unit == UINT32_MAX)
		return NULL;
	const struct hsnap_raw_unit *raw = &reader->units.items[unit];
	*ret_offset = offset_in(file, key);
	uint64_t start = offset_in(file, raw->key) - raw->header;
	if (key - raw->key != *ret_offset - offset_in(file, raw->key)) /* another section's */
		return NULL;
	struct hsnap_scan *scan = hsnap_scan_open(&reader->scans, file, is_of_types(key), start);
	if (!scan || *ret_offset < scan->end)
		return scan;
	hsnap_scan_close(scan);
	return NULL;
}

/* The same in a unit that was not come to yet: libdwarf knows where it begins. */
static struct hsnap_scan *scan_ahead(struct hsnap_reader *reader, hsnap_die_key key, uint64_t *ret_offset)
{
	struct hsnap_dies *file = hsnap_dies_of(reader->dies, key);
	Dwarf_Die die = hsnap_die_at(reader->dies, key);
	uint64_t start, in_unit;
	bool found = die && hsnap_die_in_unit(file, die, &start, &in_unit);
	hsnap_die_free(die);
	if (!found)
		return NULL;
	*ret_offset = start + in_unit;
	return hsnap_scan_open(&reader->scans, file, is_of_types(key), start);
}

bool hsnap_table_facts(struct hsnap_reader *reader, hsnap_die_key key, struct hsnap_die_facts *ret)
{
	uint64_t offset;
	struct hsnap_scan *scan = hsnap_table_scan(reader, key, &offset);
	scan = scan ? scan : scan_ahead(reader, key, &offset);
	if (!scan)
		return false;
	struct hsnap_entry entry = hsnap_entry_at(scan, offset);
	hsnap_entry_read(scan, &entry, ret);
	hsnap_scan_close(scan);
	return entry.abbrev != NULL;
}

/* --- functions --- */

/* The innermost class in which the key is, or NULL. */
static const struct hsnap_raw_class *class_around(const struct hsnap_reader *reader, hsnap_die_key key)
{
	size_t at = hsnap_first(reader->classes.num, i, reader->classes.items[i].key > key);
	while (at && reader->classes.items[at - 1].end <= key)
		at = reader->classes.items[at - 1].outer;
	return at ? &reader->classes.items[at - 1] : NULL;
}

hsnap_string hsnap_table_type_name(const struct hsnap_reader *reader, uint32_t index)
{
	for (unsigned hops = 0; index && hops < 4; hops++) {
		const struct hsnap_raw_type *type = &reader->types.items[index];
		if (type->name || type->kind != HSNAP_RAW_ALIAS)
			return type->name;
		index = hsnap_table_find(reader, type->ref);
	}
	return 0;
}

struct hsnap_raw_function *hsnap_table_function(struct hsnap_reader *reader, hsnap_die_key key)
{
	size_t low = hsnap_first(reader->functions.num, i, reader->functions.items[i].key > key);
	if (!low)
		return NULL;
	/* Up to the next function, or the end of its unit, all is its own. */
	struct hsnap_raw_function *function = &reader->functions.items[low - 1];
	const struct hsnap_raw_class *inner = class_around(reader, key);
	if (inner && inner->key > function->key)
		return NULL;
	return hsnap_table_unit(reader, function->key) == hsnap_table_unit(reader, key) ? function : NULL;
}

static int compare_functions(const void *a, const void *b)
{
	const struct hsnap_raw_function *x = a, *y = b;
	return (x->key > y->key) - (x->key < y->key);
}

bool hsnap_table_own_function(struct hsnap_reader *reader, hsnap_die_key key, struct hsnap_raw_function *ret)
{
	struct hsnap_raw_function *outer = hsnap_table_function(reader, key);
	const struct hsnap_raw_class *around = class_around(reader, key);
	if (outer && outer->key == key) {
		*ret = *outer;
		return true;
	}
	if (around && (!outer || around->key > outer->key)) {
		*ret = (struct hsnap_raw_function){ .key = key, .scope = around->scope, .owner = around->owner };
		return true;
	}
	if (outer)
		hsnap_index_walk_function(reader, outer, 0);
	if (!reader->nested_sorted && reader->nested.num)
		qsort(reader->nested.items, reader->nested.num, sizeof(*reader->nested.items), compare_functions);
	reader->nested_sorted = true;
	struct hsnap_raw_function wanted = { .key = key };
	const struct hsnap_raw_function *found =
		reader->nested.num ? bsearch(&wanted, reader->nested.items, reader->nested.num, sizeof(wanted), compare_functions) : NULL;
	if (found)
		*ret = *found;
	return found != NULL;
}

const char *hsnap_table_linkage_name(struct hsnap_reader *reader, hsnap_die_key key)
{
	for (unsigned hops = 0; key && key != HSNAP_DIE_UNKNOWN && hops < 4; hops++) {
		struct hsnap_die_facts facts;
		if (!hsnap_table_facts(reader, key, &facts))
			return NULL;
		if (facts.linkage_name)
			return facts.linkage_name;
		key = facts.specification ? facts.specification : facts.origin;
	}
	return NULL;
}

hsnap_string hsnap_table_function_name(struct hsnap_reader *reader, hsnap_die_key key)
{
	for (unsigned hops = 0; key && key != HSNAP_DIE_UNKNOWN && hops < 8; hops++) {
		struct hsnap_die_facts facts;
		if (!hsnap_table_facts(reader, key, &facts))
			return 0;
		if (facts.name) {
			struct hsnap_raw_function function = { 0 };
			(void)hsnap_table_own_function(reader, key, &function);
			return hsnap_table_join(reader, function.scope, facts.name);
		}
		key = facts.specification ? facts.specification : facts.origin;
	}
	return 0;
}

uint32_t hsnap_table_owner(struct hsnap_reader *reader, hsnap_die_key key)
{
	for (unsigned hops = 0; key && key != HSNAP_DIE_UNKNOWN && hops < 8; hops++) {
		struct hsnap_raw_function function;
		if (hsnap_table_own_function(reader, key, &function) && function.owner)
			return function.owner;
		struct hsnap_die_facts facts;
		if (!hsnap_table_facts(reader, key, &facts))
			return 0;
		key = facts.specification ? facts.specification : facts.origin;
	}
	return 0;
}

/* --- types by key, read now if they were not yet --- */

uint32_t hsnap_table_entry(struct hsnap_reader *reader, hsnap_die_key key)
{
	if (!key)
		return 0;
	uint32_t index = hsnap_table_find(reader, key);
	if (index || key == HSNAP_DIE_UNKNOWN)
		return index ? index : HSNAP_UNKNOWN_TYPE;
	struct hsnap_raw_function *function = hsnap_table_function(reader, key);
	if (function && !function->walked) {
		hsnap_index_walk_function(reader, function, 0);
		index = hsnap_table_find(reader, key);
	}
	return index ? index : HSNAP_UNKNOWN_TYPE;
}

uint32_t hsnap_table_type(struct hsnap_reader *reader, hsnap_die_key key)
{
	uint32_t index = hsnap_table_entry(reader, key);
	for (unsigned i = 0; i < MAX_ALIASES; i++) {
		if (!index || index == HSNAP_UNKNOWN_TYPE)
			return index;
		const struct hsnap_raw_type *type = &reader->types.items[index];
		if (type->kind == HSNAP_RAW_ALIAS)
			index = hsnap_table_entry(reader, type->ref);
		else if (type->kind == HSNAP_RAW_DECLARATION && type->aliased)
			index = type->aliased;
		else
			return index;
	}
	return HSNAP_UNKNOWN_TYPE;
}

uint64_t hsnap_table_size(struct hsnap_reader *reader, uint32_t index)
{
	uint64_t times = 1;
	for (unsigned depth = 0; depth < 16 && index && index != HSNAP_UNKNOWN_TYPE; depth++) {
		const struct hsnap_raw_type *type = &reader->types.items[index];
		uint64_t size;
		if (type->kind != HSNAP_RAW_ARRAY)
			return __builtin_mul_overflow(times, type->size, &size) ? 0 : size;
		if (type->flags & HSNAP_RAW_UNBOUNDED || __builtin_mul_overflow(times, type->count, &times))
			return 0;
		index = hsnap_table_type(reader, type->ref);
	}
	return 0;
}

/* The only member of a struct that has the whole word at the offset: 1 + its number; 0: none, or several. */
static uint32_t member_at(struct hsnap_reader *reader, uint32_t index, uint64_t offset)
{
	uint32_t num = reader->types.items[index].num_members, found = 0;
	for (uint32_t i = 0; i < num; i++) {
		/* Looking may move types and members: nothing is kept across it. */
		struct hsnap_raw_member member = reader->members.items[reader->types.items[index].first_member + i];
		if (member.flags & (HSNAP_DMEMBER_BITFIELD | HSNAP_DMEMBER_VIRTUAL) || member.offset > offset)
			continue;
		uint32_t of = hsnap_table_type(reader, member.type);
		uint64_t size = hsnap_table_size(reader, of), into = offset - member.offset;
		bool open_end = of && of != HSNAP_UNKNOWN_TYPE && reader->types.items[of].flags & HSNAP_RAW_UNBOUNDED;
		if ((into >= size || size - into < 8) && !open_end)
			continue; /* no whole word of it is there: an empty base, say */
		if (found)
			return 0;
		found = i + 1;
	}
	return found;
}

struct hsnap_table_word hsnap_table_word(struct hsnap_reader *reader, uint32_t index, int64_t offset)
{
	struct hsnap_table_word word = { 0 }, none = { 0 };
	for (unsigned depth = 0; depth < 16 && index && index != HSNAP_UNKNOWN_TYPE && offset >= 0; depth++) {
		const struct hsnap_raw_type *type = &reader->types.items[index];
		if (type->kind == HSNAP_RAW_ARRAY) {
			uint32_t element = hsnap_table_type(reader, type->ref);
			uint64_t size = hsnap_table_size(reader, element);
			if (!size)
				return none;
			word.in_array = true;
			word.array_start = !offset;
			offset = (int64_t)((uint64_t)offset % size);
			index = element;
			continue;
		}
		if (type->kind != HSNAP_RAW_STRUCT) {
			word.type = index;
			return offset ? none : word;
		}
		uint32_t found = member_at(reader, index, (uint64_t)offset);
		if (!found)
			return none;
		struct hsnap_raw_member member = reader->members.items[reader->types.items[index].first_member + found - 1];
		word = (struct hsnap_table_word){ .holder = index, .offset = member.offset };
		offset -= (int64_t)member.offset;
		index = hsnap_table_type(reader, member.type);
	}
	return none;
}
