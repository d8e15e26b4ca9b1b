/* SPDX-License-Identifier: MIT */
/* split.c - finding the other halves of units, and making files of them that libdwarf can read. */
#include "capture/symbols/split.h"

#include <stdlib.h>
#include <string.h>

#include "capture/symbols/child.h"
#include "capture/symbols/module.h"
#include "capture/symbols/reader.h"
#include "snapshot/base/bytes.h"

#define MAX_HALVES 65536 /* of one module: each is a file to ask for, and a Dwarf_Debug */
#define MAX_ATTEMPTS 8

/* The sections of a .dwo, and their columns in a package's index; 0: not in that version's. */
enum part { PART_INFO, PART_TYPES, PART_ABBREV, PART_LINE, PART_LOCLISTS, PART_LOC, PART_OFFSETS, PART_RNGLISTS, NUM_PARTS };
static const struct {
	const char *name, *shown; /* NULL: read by lists.c */
	uint8_t column_5, column_2;
} parts[] = {
	[PART_INFO] = { ".debug_info.dwo", ".debug_info", 1, 1 },
	[PART_TYPES] = { ".debug_types.dwo", ".debug_types", 0, 2 },
	[PART_ABBREV] = { ".debug_abbrev.dwo", ".debug_abbrev", 3, 3 },
	[PART_LINE] = { ".debug_line.dwo", ".debug_line", 4, 4 },
	[PART_LOCLISTS] = { ".debug_loclists.dwo", NULL, 5, 0 },
	[PART_LOC] = { ".debug_loc.dwo", NULL, 0, 5 },
	[PART_OFFSETS] = { ".debug_str_offsets.dwo", ".debug_str_offsets", 6, 6 },
	[PART_RNGLISTS] = { ".debug_rnglists.dwo", NULL, 8, 0 },
};

struct slice {
	const uint8_t *bytes; /* NULL: none */
	uint64_t size;
};

struct hsnap_dies *hsnap_split_half(const struct hsnap_split_halves *halves, uint32_t i)
{
	return halves && i < halves->num ? &halves->items[i]->dies : NULL;
}

void hsnap_split_add(struct hsnap_reader *reader, struct hsnap_dies *dies, Dwarf_Die die, uint64_t id)
{
	struct hsnap_die_bases said;
	hsnap_die_read_bases(dies, die, &said);
	struct hsnap_split_skeleton skeleton = {
		.key = hsnap_die_key_here(dies, die), .id = id, .address_base = said.addresses,
		.ranges_base = said.ranges, .low_pc = said.low_pc,
	};
	if (said.name && *said.name != '/' && said.folder)
		skeleton.path = hsnap_strings_addf(&reader->strings, "%.4000s/%.4000s", said.folder, said.name);
	else if (said.name)
		skeleton.path = hsnap_table_string(reader, said.name);
	if (skeleton.path == HSNAP_NO_STRING || !hsnap_vec_push(&reader->split.skeletons, skeleton))
		hsnap_table_no_memory(reader);
}

bool hsnap_split_is_wanted(const struct hsnap_split *split, const struct hsnap_split_half *half, uint64_t id)
{
	return half->skeleton && split->skeletons.items[half->skeleton - 1].id == id;
}

/* --- a half as a file --- */

static struct slice section_of(struct hsnap_elf *elf, const char *name)
{
	struct slice got = { 0 };
	got.bytes = hsnap_elf_section_bytes(elf, hsnap_elf_find(elf, name), &got.size);
	return got;
}

static struct slice bytes_of(struct hsnap_elf *elf, size_t i)
{
	struct slice got = { 0 };
	got.bytes = hsnap_elf_section_bytes(elf, &elf->sections[i], &got.size);
	return got;
}

static struct slice from(struct slice whole, uint64_t start)
{
	if (!whole.bytes || start >= whole.size)
		return (struct slice){ 0 };
	return (struct slice){ whole.bytes + start, whole.size - start };
}

static bool show(struct hsnap_elf *elf, const char *name, struct slice bytes)
{
	return !bytes.bytes || !bytes.size || hsnap_elf_add_section(elf, name, bytes.bytes, bytes.size);
}

static void half_destroy(struct hsnap_split_half *half)
{
	if (!half)
		return;
	hsnap_dies_deinit(&half->dies);
	hsnap_elf_deinit(&half->elf);
	free(half);
}

/* Open the sections as a half of the skeleton (1 + its index; 0: a type unit, out of the file of `owner`). */
static bool add_half(struct hsnap_reader *reader, struct hsnap_elf *file, const struct slice *slices, uint32_t skeleton,
		     uint32_t owner)
{
	struct hsnap_split *split = &reader->split;
	struct hsnap_elf *root = reader->dies->elf;
	struct hsnap_error err;
	struct hsnap_split_half *half = split->halves.num < MAX_HALVES ? calloc(1, sizeof(*half)) : NULL;
	bool ok = half && hsnap_vec_reserve(&split->halves, 1) && show(&half->elf, ".debug_str", section_of(file, ".debug_str.dwo"));
	for (unsigned i = 0; ok && i < NUM_PARTS; i++)
		ok = !parts[i].shown || show(&half->elf, parts[i].shown, slices[i]);
	if (ok && skeleton) {
		const struct hsnap_split_skeleton *s = &split->skeletons.items[skeleton - 1];
		struct slice addresses = from(section_of(root, ".debug_addr"), s->address_base);
		ok = show(&half->elf, ".debug_addr", addresses) &&
		     show(&half->elf, ".debug_ranges", from(section_of(root, ".debug_ranges"), s->ranges_base));
		half->lists = (struct hsnap_lists){ .addresses = addresses.bytes, .addresses_size = addresses.size, .low_pc = s->low_pc };
	}
	if (!ok) {
		half_destroy(half);
		return split->halves.num == MAX_HALVES ? false : hsnap_table_no_memory(reader);
	}
	struct slice locations = slices[slices[PART_LOCLISTS].bytes ? PART_LOCLISTS : PART_LOC];
	half->lists.locations = locations.bytes;
	half->lists.locations_size = locations.size;
	half->lists.ranges = slices[PART_RNGLISTS].bytes;
	half->lists.ranges_size = slices[PART_RNGLISTS].size;
	half->lists.ranges_base = half->lists.locations_base = HSNAP_LISTS_HEADER;
	half->skeleton = skeleton;
	half->owner = owner;
	if (hsnap_dies_init_half(&half->dies, &half->elf, (uint32_t)split->halves.num, reader->dies, &half->lists, &err)) {
		half_destroy(half);
		return false;
	}
	split->halves.items[split->halves.num++] = half;
	return true;
}

/* --- packages --- */

/* .debug_cu_index or .debug_tu_index. */
struct package_index {
	struct hsnap_elf *file;
	unsigned version;
	uint32_t num_columns, num_rows, num_slots;
	const uint8_t *ids, *rows, *columns, *offsets, *sizes;
	struct slice sections[NUM_PARTS];
};

static uint32_t number_at(const uint8_t *table, uint64_t i)
{
	uint32_t number;
	memcpy(&number, table + i * 4, sizeof(number));
	return number;
}

static bool read_index(struct hsnap_elf *file, const char *name, struct package_index *ret)
{
	struct slice section = section_of(file, name);
	struct hsnap_bytes b = hsnap_bytes(section.bytes, section.size);
	*ret = (struct package_index){ .file = file, .version = hsnap_bytes_u32(&b) & UINT16_MAX }; /* 5: and padding */
	ret->num_columns = hsnap_bytes_u32(&b);
	ret->num_rows = hsnap_bytes_u32(&b);
	ret->num_slots = hsnap_bytes_u32(&b);
	if (b.bad || (ret->version != 5 && ret->version != 2) || ret->num_columns > 16 || ret->num_rows > MAX_HALVES ||
	    ret->num_slots & (ret->num_slots - 1))
		return false;
	ret->ids = hsnap_bytes_get(&b, (uint64_t)ret->num_slots * 8);
	ret->rows = hsnap_bytes_get(&b, (uint64_t)ret->num_slots * 4);
	ret->columns = hsnap_bytes_get(&b, (uint64_t)ret->num_columns * 4);
	ret->offsets = hsnap_bytes_get(&b, (uint64_t)ret->num_rows * ret->num_columns * 4);
	ret->sizes = hsnap_bytes_get(&b, (uint64_t)ret->num_rows * ret->num_columns * 4);
	for (unsigned i = 0; i < NUM_PARTS; i++)
		ret->sections[i] = section_of(file, parts[i].name);
	return !b.bad;
}

/* The row of an id, from 1; 0: none.  DWARF 5, 7.3.5.3. */
static uint32_t find_row(const struct package_index *index, uint64_t id)
{
	uint64_t mask = index->num_slots - UINT64_C(1), at = id & mask, step = (id >> 32 & mask) | 1;
	for (uint32_t tries = 0; tries < index->num_slots; tries++, at = (at + step) & mask) {
		uint64_t here;
		uint32_t row = number_at(index->rows, at);
		memcpy(&here, index->ids + at * 8, sizeof(here));
		if (!row || row > index->num_rows)
			return 0;
		if (here == id)
			return row;
	}
	return 0;
}

static bool add_row(struct hsnap_reader *reader, const struct package_index *index, uint32_t row, uint32_t skeleton)
{
	struct slice slices[NUM_PARTS] = { 0 };
	for (uint32_t c = 0; c < index->num_columns; c++) {
		uint32_t column = number_at(index->columns, c);
		uint64_t at = (uint64_t)(row - 1) * index->num_columns + c;
		uint64_t offset = number_at(index->offsets, at), size = number_at(index->sizes, at);
		for (unsigned i = 0; i < NUM_PARTS; i++) {
			struct slice whole = index->sections[i];
			if (!column || column != (index->version == 5 ? parts[i].column_5 : parts[i].column_2) ||
			    !whole.bytes || offset > whole.size || size > whole.size - offset)
				continue;
			slices[i] = (struct slice){ whole.bytes + offset, size };
		}
	}
	return add_half(reader, index->file, slices, skeleton, 0);
}

/* true: it has the other half of some unit of ours. */
static bool use_package(struct hsnap_reader *reader, struct hsnap_elf *file)
{
	struct package_index units, types;
	struct hsnap_split *split = &reader->split;
	bool any = false;
	if (!read_index(file, ".debug_cu_index", &units) || !units.num_slots)
		return false;
	for (uint32_t i = 0; i < split->skeletons.num; i++) {
		struct hsnap_split_skeleton *skeleton = &split->skeletons.items[i];
		uint32_t row = skeleton->found ? 0 : find_row(&units, skeleton->id);
		skeleton->found |= row && add_row(reader, &units, row, i + 1);
		any |= row != 0;
	}
	if (any && read_index(file, ".debug_tu_index", &types))
		for (uint32_t row = 1; row <= types.num_rows; row++)
			add_row(reader, &types, row, 0);
	return any;
}

/* --- files --- */

/* The file in memory, or NULL; it stays until the module has been read. */
static struct hsnap_elf *open_file(struct hsnap_reader *reader, const struct hsnap_module_input *input, uint32_t what,
				   uint32_t attempt, hsnap_string path, bool *ret_end)
{
	struct hsnap_module_bytes bytes = { 0 };
	struct hsnap_error err;
	uint8_t reply = input->get_split(input->context, what, attempt, hsnap_str(&reader->strings, path), &bytes);
	*ret_end = reply == HSNAP_REPLY_END;
	struct hsnap_elf *elf = reply == HSNAP_REPLY_FILE ? calloc(1, sizeof(*elf)) : NULL;
	if (!elf)
		return NULL;
	if (hsnap_elf_init(elf, bytes.bytes, bytes.size, &err) || !hsnap_vec_push(&reader->split.files, elf)) {
		hsnap_elf_deinit(elf);
		free(elf);
		return NULL;
	}
	return elf;
}

/* In DWARF 5 the id stands in the header; in DWARF 4 it shows when the unit is walked. */
static bool has_id(struct slice info, uint64_t id)
{
	struct hsnap_bytes b = hsnap_bytes(info.bytes, info.size);
	while (info.bytes && hsnap_bytes_left(&b)) {
		uint64_t length = hsnap_bytes_u32(&b), got;
		const uint8_t *unit = length == UINT32_MAX ? NULL : hsnap_bytes_get(&b, length);
		if (!unit || length < 16)
			return false;
		if (unit[0] != 5 || unit[1])
			return true;
		memcpy(&got, unit + 8, sizeof(got));
		if (unit[2] == DW_UT_split_compile && got == id)
			return true;
	}
	return false;
}

/*
 * Open what is in a .dwo.  Of type units each has a section of its own, of the same name: each
 * becomes a half of its own.  false: it is not the skeleton's (1 + its index).
 */
static bool add_file(struct hsnap_reader *reader, struct hsnap_elf *elf, uint32_t skeleton)
{
	uint64_t id = reader->split.skeletons.items[skeleton - 1].id;
	struct slice slices[NUM_PARTS], none = { 0 };
	bool found = false;
	for (unsigned p = 0; p < NUM_PARTS; p++)
		slices[p] = section_of(elf, parts[p].name);
	for (size_t i = 0; i < elf->num_sections && !found; i++)
		if (!strcmp(elf->sections[i].name, parts[PART_INFO].name) && has_id(bytes_of(elf, i), id)) {
			slices[PART_INFO] = bytes_of(elf, i);
			slices[PART_TYPES] = none;
			found = add_half(reader, elf, slices, skeleton, skeleton);
		}
	const uint8_t *unit = slices[PART_INFO].bytes;
	for (size_t i = 0; i < elf->num_sections && found; i++) {
		bool info = !strcmp(elf->sections[i].name, parts[PART_INFO].name);
		struct slice here = bytes_of(elf, i);
		if ((!info && strcmp(elf->sections[i].name, parts[PART_TYPES].name)) || here.bytes == unit)
			continue;
		slices[PART_INFO] = info ? here : none;
		slices[PART_TYPES] = info ? none : here;
		add_half(reader, elf, slices, 0, skeleton);
	}
	return found;
}

static void open_half(struct hsnap_reader *reader, const struct hsnap_module_input *input, uint32_t i)
{
	struct hsnap_split_skeleton *skeleton = &reader->split.skeletons.items[i];
	bool end = false;
	for (uint32_t attempt = 0; attempt < MAX_ATTEMPTS && !end && !skeleton->found && skeleton->path; attempt++) {
		struct hsnap_elf *elf = open_file(reader, input, HSNAP_OPEN_DWO, attempt, skeleton->path, &end);
		skeleton->found = elf && add_file(reader, elf, i + 1);
	}
}

void hsnap_split_open(struct hsnap_reader *reader, const struct hsnap_module_input *input)
{
	struct hsnap_split *split = &reader->split;
	bool end = !input->get_split || !split->skeletons.num, any = false;
	for (uint32_t attempt = 0; attempt < MAX_ATTEMPTS && !end && !any; attempt++) {
		struct hsnap_elf *elf = open_file(reader, input, HSNAP_OPEN_DWP, attempt, 0, &end);
		any = elf && use_package(reader, elf);
	}
	for (uint32_t i = 0; input->get_split && i < split->skeletons.num && !reader->no_memory; i++)
		open_half(reader, input, i);
	reader->dies->halves = &split->halves;
}

size_t hsnap_split_missing(const struct hsnap_split *split, const struct hsnap_split_skeleton **ret_first)
{
	size_t missing = 0;
	*ret_first = NULL;
	for (size_t i = 0; i < split->skeletons.num; i++) {
		if (split->skeletons.items[i].found)
			continue;
		if (!missing++)
			*ret_first = &split->skeletons.items[i];
	}
	return missing;
}

void hsnap_split_deinit(struct hsnap_split *split)
{
	for (size_t i = 0; i < split->halves.num; i++)
		half_destroy(split->halves.items[i]);
	for (size_t i = 0; i < split->files.num; i++) {
		hsnap_elf_deinit(split->files.items[i]);
		free(split->files.items[i]);
	}
	hsnap_vec_deinit(&split->halves);
	hsnap_vec_deinit(&split->files);
	hsnap_vec_deinit(&split->skeletons);
}
