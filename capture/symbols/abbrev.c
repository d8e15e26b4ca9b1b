/* SPDX-License-Identifier: MIT */
/* abbrev.c - abbreviations of a unit, and units by where they begin. */
#include <stdlib.h>
#include <string.h>

#include "capture/symbols/forms.h"
#include "snapshot/base/bytes.h"

#define MAX_SIZE 4096 /* of values that all have the same size */

static const uint8_t *section_of(struct hsnap_elf *elf, const char *name, const char *old_name, uint64_t *ret_size)
{
	struct hsnap_elf_section *section = hsnap_elf_find(elf, name);
	return hsnap_elf_section_bytes(elf, section ? section : hsnap_elf_find(elf, old_name), ret_size);
}

static struct hsnap_scan_text text_of(struct hsnap_elf *elf, const char *name, const char *old_name)
{
	uint64_t size;
	const char *bytes = (const char *)section_of(elf, name, old_name, &size);
	const char *last = bytes ? memrchr(bytes, 0, size) : NULL;
	return (struct hsnap_scan_text){ bytes, last ? (uint64_t)(last - bytes) + 1 : 0 };
}

/* The size of an abbreviation's values, where each entry has the same. */
static uint16_t fixed_size(const struct hsnap_scan *scan, const struct hsnap_abbrev *abbrev)
{
	uint32_t size = 0;
	for (uint32_t i = 0; i < abbrev->num; i++) {
		unsigned form = scan->attributes.items[abbrev->first + i].form;
		int one = hsnap_form_size(&scan->shape, form);
		/* Who is next is said in a value: where there is one values are looked at. */
		if (one < 0 || scan->attributes.items[abbrev->first + i].what == DW_AT_sibling || (size += (unsigned)one) > MAX_SIZE)
			return HSNAP_ABBREV_VARIES;
	}
	return (uint16_t)size;
}

static bool read_attributes(struct hsnap_scan *scan, struct hsnap_bytes *b, struct hsnap_abbrev *abbrev)
{
	abbrev->first = (uint32_t)scan->attributes.num;
	for (;;) {
		uint64_t what = hsnap_bytes_varint(b), form = hsnap_bytes_varint(b);
		if (b->bad || what > UINT16_MAX || form > UINT16_MAX || scan->attributes.num >= UINT32_MAX / 2)
			return false;
		if (!what && !form)
			break;
		struct hsnap_abbrev_attribute attribute = { .what = (uint16_t)what, .form = (uint16_t)form };
		abbrev->has_code |= what == DW_AT_low_pc || what == DW_AT_ranges;
		if (form == DW_FORM_implicit_const)
			attribute.value = hsnap_form_signed(b);
		if (!hsnap_vec_push(&scan->attributes, attribute))
			return false;
	}
	abbrev->num = (uint32_t)scan->attributes.num - abbrev->first;
	abbrev->size = fixed_size(scan, abbrev);
	return true;
}

static int compare_abbrevs(const void *a, const void *b)
{
	const struct hsnap_abbrev *x = a, *y = b;
	return (x->code > y->code) - (x->code < y->code);
}

static bool read_table(struct hsnap_scan *scan)
{
	const struct hsnap_scan_file *file = &scan->file;
	uint64_t at = scan->shape.abbreviations;
	bool sorted = true;
	scan->abbrevs.num = scan->attributes.num = 0;
	if (!file->abbreviations || at >= file->abbreviations_size)
		return false;
	struct hsnap_bytes b = hsnap_bytes(file->abbreviations + at, file->abbreviations_size - at);
	for (;;) {
		struct hsnap_abbrev abbrev = { .code = hsnap_bytes_varint(&b) };
		if (b.bad)
			return false;
		if (!abbrev.code)
			break;
		uint64_t tag = hsnap_bytes_varint(&b);
		abbrev.children = hsnap_bytes_u8(&b) != 0;
		abbrev.tag = (uint16_t)tag;
		size_t num = scan->abbrevs.num;
		sorted &= !num || scan->abbrevs.items[num - 1].code < abbrev.code;
		if (tag > UINT16_MAX || !read_attributes(scan, &b, &abbrev) || !hsnap_vec_push(&scan->abbrevs, abbrev))
			return false;
	}
	if (!sorted)
		qsort(scan->abbrevs.items, scan->abbrevs.num, sizeof(*scan->abbrevs.items), compare_abbrevs);
	return true;
}

/* What the unit's header says: DWARF 5, 7.5.1; before that the fields stood in another order. */
struct header {
	struct hsnap_scan_shape shape;
	uint64_t first, end;
};

static bool read_header(const struct hsnap_scan_file *file, uint64_t start, struct header *ret)
{
	*ret = (struct header){ 0 };
	if (!file->bytes || start >= file->size)
		return false;
	struct hsnap_bytes b = hsnap_bytes(file->bytes + start, file->size - start);
	uint64_t length = hsnap_bytes_u32(&b);
	bool wide = length == UINT32_MAX, type_unit = file->types, id = false;
	if (wide)
		length = hsnap_bytes_u64(&b);
	if (b.bad || length > hsnap_bytes_left(&b))
		return false;
	b.end = b.at + length;
	uint16_t version = hsnap_bytes_u16(&b);
	ret->shape.version = version > 5 ? 0 : (uint8_t)version;
	ret->shape.offset_size = wide ? 8 : 4;
	if (version >= 5) {
		uint8_t kind = hsnap_bytes_u8(&b);
		ret->shape.address_size = hsnap_bytes_u8(&b);
		type_unit = kind == DW_UT_type || kind == DW_UT_split_type;
		id = kind == DW_UT_skeleton || kind == DW_UT_split_compile;
	}
	ret->shape.abbreviations = wide ? hsnap_bytes_u64(&b) : hsnap_bytes_u32(&b);
	if (version < 5)
		ret->shape.address_size = hsnap_bytes_u8(&b);
	if (id || type_unit)
		hsnap_bytes_u64(&b);
	if (type_unit)
		hsnap_bytes_get(&b, ret->shape.offset_size);
	ret->first = (uint64_t)(b.at - file->bytes);
	ret->end = (uint64_t)(b.end - file->bytes);
	return !b.bad && ret->shape.version >= 2 && (ret->shape.address_size == 8 || ret->shape.address_size == 4);
}

/* Where the numbers of its strings count from: DWARF 5, 7.26; a .dwo has nothing else. */
static void find_offsets(struct hsnap_scan *scan)
{
	scan->offsets = scan->file.offsets;
	scan->offsets_size = scan->file.offsets_size;
	if (!scan->offsets)
		return;
	uint64_t base = scan->shape.version < 5 ? 0 : scan->shape.offset_size == 8 ? 16 : 8;
	struct hsnap_entry entry = hsnap_entry_at(scan, scan->first);
	hsnap_entry_offsets_base(scan, &entry, &base);
	if (base > scan->offsets_size)
		scan->offsets = NULL;
	else
		scan->offsets_size -= base;
	if (scan->offsets)
		scan->offsets += base;
}

static struct hsnap_scan_file file_of(struct hsnap_dies *dies, bool types)
{
	struct hsnap_elf *elf = dies->elf;
	struct hsnap_scan_file file = { .dies = dies, .types = types };
	file.bytes = types ? section_of(elf, ".debug_types", ".zdebug_types", &file.size)
			   : section_of(elf, ".debug_info", ".zdebug_info", &file.size);
	file.abbreviations = section_of(elf, ".debug_abbrev", ".zdebug_abbrev", &file.abbreviations_size);
	file.offsets = section_of(elf, ".debug_str_offsets", ".zdebug_str_offsets", &file.offsets_size);
	file.text = text_of(elf, ".debug_str", ".zdebug_str");
	file.line_text = text_of(elf, ".debug_line_str", ".zdebug_line_str");
	if (dies->alt)
		file.alt_text = text_of(dies->alt->elf, ".debug_str", ".zdebug_str");
	return file;
}

static bool is_same_table(const struct hsnap_scan *scan, const struct hsnap_dies *dies,
			  const struct hsnap_scan_shape *shape)
{
	return scan->file.dies == dies && scan->table && scan->shape.abbreviations == shape->abbreviations &&
	       scan->shape.version == shape->version && scan->shape.address_size == shape->address_size &&
	       scan->shape.offset_size == shape->offset_size;
}

/* Of the units that nobody uses the one that has the table already, else the one that was used first. */
static struct hsnap_scan *choose(struct hsnap_scans *scans, const struct hsnap_dies *dies,
				 const struct hsnap_scan_shape *shape)
{
	struct hsnap_scan *oldest = NULL;
	for (struct hsnap_scan *scan = scans->items; scan < scans->items + HSNAP_SCANS; scan++) {
		if (scan->users)
			continue;
		if (is_same_table(scan, dies, shape))
			return scan;
		if (!oldest || scan->used < oldest->used)
			oldest = scan;
	}
	return oldest;
}

static struct hsnap_scan *open_unit(struct hsnap_scans *scans, struct hsnap_dies *dies, bool types, uint64_t start)
{
	struct header header;
	if (scans->file.dies != dies || scans->file.types != types)
		scans->file = file_of(dies, types);
	if (!read_header(&scans->file, start, &header))
		return NULL;
	struct hsnap_scan *scan = choose(scans, dies, &header.shape);
	if (!scan)
		return NULL;
	bool known = is_same_table(scan, dies, &header.shape);
	scan->file = scans->file;
	scan->shape = header.shape;
	scan->start = start;
	scan->first = header.first;
	scan->end = header.end;
	scan->broken = false;
	scan->table = known || read_table(scan);
	if (!scan->table) {
		scan->start = UINT64_MAX;
		return NULL;
	}
	find_offsets(scan);
	return scan;
}

struct hsnap_scan *hsnap_scan_open(struct hsnap_scans *scans, struct hsnap_dies *dies, bool types, uint64_t start)
{
	struct hsnap_scan *scan = scans->items;
	while (scan < scans->items + HSNAP_SCANS && !(scan->table && scan->file.dies == dies && scan->file.types == types &&
						      scan->start == start))
		scan++;
	if (scan == scans->items + HSNAP_SCANS)
		scan = open_unit(scans, dies, types, start);
	if (!scan)
		return NULL;
	scan->users++;
	scan->used = ++scans->clock;
	return scan;
}

void hsnap_scans_deinit(struct hsnap_scans *scans)
{
	for (struct hsnap_scan *scan = scans->items; scan < scans->items + HSNAP_SCANS; scan++) {
		hsnap_vec_deinit(&scan->abbrevs);
		hsnap_vec_deinit(&scan->attributes);
	}
}
