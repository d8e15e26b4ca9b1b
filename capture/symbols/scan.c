/* SPDX-License-Identifier: MIT */
/* scan.c - entries of one unit, decoded from the bytes of its section. */
#include "capture/symbols/scan.h"

#include <string.h>

#include "capture/symbols/fixed.h"
#include "capture/symbols/forms.h"
#include "snapshot/base/search.h"

static const struct hsnap_entry no_entry;

static struct hsnap_entry broken(struct hsnap_scan *scan)
{
	scan->broken = true;
	return no_entry;
}

/* The unit's bytes from an offset of the section on; none behind its end. */
static struct hsnap_bytes bytes_at(const struct hsnap_scan *scan, uint64_t offset)
{
	return hsnap_bytes(scan->file.bytes + offset, offset < scan->end ? scan->end - offset : 0);
}

/* They are in order; almost always numbered from 1 without a gap. */
static const struct hsnap_abbrev *find_abbrev(const struct hsnap_scan *scan, uint64_t code)
{
	size_t num = scan->abbrevs.num;
	if (code - 1 < num && scan->abbrevs.items[code - 1].code == code)
		return &scan->abbrevs.items[code - 1];
	size_t low = hsnap_first(num, i, scan->abbrevs.items[i].code >= code);
	return low < num && scan->abbrevs.items[low].code == code ? &scan->abbrevs.items[low] : NULL;
}

struct hsnap_entry hsnap_entry_at(struct hsnap_scan *scan, uint64_t offset)
{
	struct hsnap_entry entry = { .offset = offset };
	if (offset < scan->first || offset > scan->end)
		return broken(scan);
	if (offset == scan->end) /* the last lists of a unit need not be closed */
		return no_entry;
	struct hsnap_bytes b = bytes_at(scan, offset);
	uint64_t code = hsnap_bytes_varint(&b);
	entry.values = (uint64_t)(b.at - scan->file.bytes);
	entry.abbrev = code ? find_abbrev(scan, code) : NULL;
	if (b.bad || (code && !entry.abbrev))
		return broken(scan);
	return entry;
}

/* Find out where its values end, and who is said to be next; false: broken. */
static bool measure(struct hsnap_scan *scan, struct hsnap_entry *entry)
{
	if (entry->end)
		return true;
	const struct hsnap_abbrev *abbrev = entry->abbrev;
	struct hsnap_bytes b = bytes_at(scan, entry->values);
	if (abbrev->size != HSNAP_ABBREV_VARIES) {
		hsnap_bytes_get(&b, abbrev->size);
	} else {
		for (uint32_t i = 0; i < abbrev->num && !b.bad; i++) {
			const struct hsnap_abbrev_attribute *attribute = &scan->attributes.items[abbrev->first + i];
			struct hsnap_form_value value = hsnap_form_read(&scan->shape, &b, attribute);
			if (attribute->what == DW_AT_sibling)
				entry->sibling = scan->start + value.number;
		}
	}
	entry->end = (uint64_t)(b.at - scan->file.bytes);
	scan->broken |= b.bad;
	return !b.bad;
}

struct hsnap_entry hsnap_entry_child(struct hsnap_scan *scan, struct hsnap_entry *entry)
{
	if (!entry->abbrev || !entry->abbrev->children || !measure(scan, entry))
		return no_entry;
	return hsnap_entry_at(scan, entry->end);
}

/* Where the list that begins at `at` is over: however deep, it is gone along once. */
static uint64_t end_of_list(struct hsnap_scan *scan, uint64_t at)
{
	uint64_t depth = 1;
	while (depth) {
		struct hsnap_entry entry = hsnap_entry_at(scan, at);
		if (scan->broken || at >= scan->end)
			return scan->end;
		if (!entry.abbrev) { /* one byte of 0, or an overlong one */
			at = entry.values;
			depth--;
			continue;
		}
		if (!measure(scan, &entry))
			return scan->end;
		bool jump = entry.abbrev->children && entry.sibling > entry.end && entry.sibling <= scan->end;
		at = jump ? entry.sibling : entry.end;
		depth += entry.abbrev->children && !jump;
	}
	return at;
}

struct hsnap_entry hsnap_entry_next(struct hsnap_scan *scan, struct hsnap_entry *entry)
{
	if (!entry->abbrev || !measure(scan, entry))
		return no_entry;
	if (!entry->abbrev->children)
		return hsnap_entry_at(scan, entry->end);
	if (entry->sibling <= entry->end || entry->sibling > scan->end) {
		uint64_t next = end_of_list(scan, entry->end);
		entry->sibling = next;
		if (scan->broken)
			return no_entry;
	}
	return hsnap_entry_at(scan, entry->sibling);
}

hsnap_die_key hsnap_entry_key(const struct hsnap_scan *scan, const struct hsnap_entry *entry)
{
	return hsnap_die_key_in(scan->file.dies, !scan->file.types, entry->offset);
}

/* --- what values say --- */

static const char *text_at(const struct hsnap_scan_text *text, uint64_t at)
{
	return at < text->size ? text->bytes + at : NULL;
}

static const char *numbered_text(const struct hsnap_scan *scan, uint64_t number)
{
	uint64_t at = 0, size = scan->shape.offset_size;
	if (!scan->offsets || number >= scan->offsets_size / size)
		return NULL;
	memcpy(&at, scan->offsets + number * size, size);
	return text_at(&scan->file.text, at);
}

static const char *text_of(const struct hsnap_scan *scan, const struct hsnap_form_value *value)
{
	switch (value->form) {
	case DW_FORM_string:
		return (const char *)value->bytes;
	case DW_FORM_strp:
		return text_at(&scan->file.text, value->number);
	case DW_FORM_line_strp:
		return text_at(&scan->file.line_text, value->number);
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return text_at(&scan->file.alt_text, value->number);
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return numbered_text(scan, value->number);
	default:
		return NULL;
	}
}

/* A number, as far as it is one; 0 else. */
static uint64_t number_of(const struct hsnap_form_value *value, bool *ret_ok)
{
	switch (value->form) {
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_implicit_const:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
		*ret_ok = true;
		return value->number;
	default:
		*ret_ok = false;
		return 0;
	}
}

static bool flag_of(const struct hsnap_form_value *value)
{
	bool is_flag = value->form == DW_FORM_flag || value->form == DW_FORM_flag_present ||
		       value->form == DW_FORM_implicit_const;
	return is_flag && value->number;
}

static hsnap_die_key reference_of(const struct hsnap_scan *scan, const struct hsnap_form_value *value)
{
	switch (value->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		return value->number && value->number < scan->end - scan->start
			       ? hsnap_die_key_in(scan->file.dies, !scan->file.types, scan->start + value->number) : HSNAP_DIE_UNKNOWN;
	case DW_FORM_ref_addr:
		return value->number && (scan->file.types || value->number < scan->file.size)
			       ? hsnap_die_key_in(scan->file.dies, true, value->number) : HSNAP_DIE_UNKNOWN;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		return value->number && scan->file.dies->alt ? hsnap_die_key_of(HSNAP_DIE_ALT, value->number) : HSNAP_DIE_UNKNOWN;
	case DW_FORM_ref_sig8:
		return hsnap_die_key_of(HSNAP_DIE_SIGNATURE, value->number);
	default:
		return HSNAP_DIE_UNKNOWN;
	}
}

static bool is_block(unsigned form)
{
	return form == DW_FORM_block || form == DW_FORM_block1 || form == DW_FORM_block2 || form == DW_FORM_block4;
}

/* An expression that does no more than add a number; what else it is, is computed. */
static void see_member_expression(const uint8_t *bytes, uint64_t size, struct hsnap_die_facts *facts)
{
	uint64_t value = 0;
	unsigned shift = 0;
	bool plain = size > 1 && size < 10 && bytes[0] == DW_OP_plus_uconst;
	for (uint64_t i = 1; plain && i < size; i++, shift += 7)
		value |= (uint64_t)(bytes[i] & 0x7f) << shift;
	if (plain)
		facts->member_offset = value;
	facts->flags |= plain ? HSNAP_DIE_HAS_MEMBER_OFFSET : HSNAP_DIE_MEMBER_COMPUTED;
}

/* An offset within the struct: a number, or an expression that adds one. */
static void see_member_offset(const struct hsnap_form_value *value, struct hsnap_die_facts *facts)
{
	bool ok;
	if (value->form == DW_FORM_exprloc || is_block(value->form)) {
		see_member_expression(value->bytes, value->number, facts);
		return;
	}
	facts->member_offset = number_of(value, &ok);
	facts->flags |= ok ? HSNAP_DIE_HAS_MEMBER_OFFSET : 0;
}

/* An array's bound, where it is a number. */
static void see_count(const struct hsnap_form_value *value, uint64_t more, struct hsnap_die_facts *facts)
{
	bool ok;
	uint64_t number = number_of(value, &ok);
	if (!ok)
		return;
	facts->count = number + more;
	facts->flags |= HSNAP_DIE_HAS_COUNT;
}

/* Could this location be a fixed place, or several? */
static bool names_fixed_place(const struct hsnap_form_value *value)
{
	if (value->form != DW_FORM_exprloc)
		return value->form == DW_FORM_block1 || value->form == DW_FORM_block;
	return hsnap_fixed_looks_so(value->bytes, value->number);
}

static void see_value(const struct hsnap_scan *scan, unsigned what, const struct hsnap_form_value *value,
		      struct hsnap_die_facts *facts)
{
	bool ok;
	switch (what) {
	case DW_AT_name:
		facts->name = text_of(scan, value);
		break;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		facts->linkage_name = text_of(scan, value);
		break;
	case DW_AT_type:
		facts->type = reference_of(scan, value);
		break;
	case DW_AT_signature:
		facts->signature = reference_of(scan, value);
		break;
	case DW_AT_specification:
		facts->specification = reference_of(scan, value);
		break;
	case DW_AT_abstract_origin:
		facts->origin = reference_of(scan, value);
		break;
	case DW_AT_byte_size:
		facts->size = number_of(value, &ok);
		facts->flags |= ok ? HSNAP_DIE_HAS_SIZE : 0;
		break;
	case DW_AT_data_member_location:
		see_member_offset(value, facts);
		break;
	case DW_AT_data_bit_offset:
		facts->first_bit = number_of(value, &ok);
		facts->member_offset = facts->first_bit / 8;
		facts->first_bit %= 8;
		facts->flags |= HSNAP_DIE_HAS_MEMBER_OFFSET;
		break;
	case DW_AT_bit_size:
		facts->flags |= HSNAP_DIE_BIT_FIELD;
		facts->num_bits = number_of(value, &ok);
		break;
	case DW_AT_bit_offset: /* of DWARF 3 and before, from the highest bit */
		facts->high_bit = number_of(value, &ok) + 1;
		break;
	case DW_AT_count:
		see_count(value, 0, facts);
		break;
	case DW_AT_upper_bound:
		see_count(value, 1, facts);
		break;
	case DW_AT_decl_file:
		facts->decl_file = number_of(value, &ok);
		break;
	case DW_AT_decl_line:
		facts->decl_line = number_of(value, &ok);
		break;
	case DW_AT_call_file:
		facts->call_file = number_of(value, &ok);
		break;
	case DW_AT_call_line:
		facts->call_line = number_of(value, &ok);
		break;
	case DW_AT_encoding:
		facts->encoding = number_of(value, &ok);
		break;
	case DW_AT_language:
		facts->language = number_of(value, &ok);
		break;
	case DW_AT_virtuality:
		facts->flags |= number_of(value, &ok) ? HSNAP_DIE_VIRTUAL : 0;
		break;
	case DW_AT_declaration:
		facts->flags |= flag_of(value) ? HSNAP_DIE_DECLARATION : 0;
		break;
	case DW_AT_external:
		facts->flags |= flag_of(value) ? HSNAP_DIE_EXTERNAL : 0;
		break;
	case DW_AT_artificial:
		facts->flags |= flag_of(value) ? HSNAP_DIE_ARTIFICIAL : 0;
		break;
	case DW_AT_containing_type:
		facts->flags |= HSNAP_DIE_CONTAINING;
		break;
	case DW_AT_const_value:
		facts->flags |= HSNAP_DIE_CONST_VALUE;
		facts->const_value = (int64_t)number_of(value, &ok);
		break;
	case DW_AT_location:
		facts->flags |= HSNAP_DIE_HAS_LOCATION;
		facts->flags |= names_fixed_place(value) ? HSNAP_DIE_FIXED_PLACE : 0;
		break;
	case DW_AT_low_pc:
	case DW_AT_ranges:
		facts->flags |= HSNAP_DIE_HAS_PC;
		break;
	default:
		break;
	}
}

void hsnap_entry_read(struct hsnap_scan *scan, struct hsnap_entry *entry, struct hsnap_die_facts *ret)
{
	*ret = (struct hsnap_die_facts){ .tag = hsnap_entry_tag(entry), .decl_file = UINT64_MAX, .call_file = UINT64_MAX };
	if (!entry->abbrev)
		return;
	struct hsnap_bytes b = bytes_at(scan, entry->values);
	for (uint32_t i = 0; i < entry->abbrev->num; i++) {
		const struct hsnap_abbrev_attribute *attribute = &scan->attributes.items[entry->abbrev->first + i];
		struct hsnap_form_value value = hsnap_form_read(&scan->shape, &b, attribute);
		if (b.bad)
			break;
		if (attribute->what == DW_AT_sibling)
			entry->sibling = scan->start + value.number;
		else
			see_value(scan, attribute->what, &value, ret);
	}
	scan->broken |= b.bad;
	if (!b.bad)
		entry->end = (uint64_t)(b.at - scan->file.bytes);
}

void hsnap_entry_offsets_base(struct hsnap_scan *scan, struct hsnap_entry *entry, uint64_t *ret)
{
	if (!entry->abbrev)
		return;
	struct hsnap_bytes b = bytes_at(scan, entry->values);
	for (uint32_t i = 0; i < entry->abbrev->num && !b.bad; i++) {
		const struct hsnap_abbrev_attribute *attribute = &scan->attributes.items[entry->abbrev->first + i];
		struct hsnap_form_value value = hsnap_form_read(&scan->shape, &b, attribute);
		if (attribute->what == DW_AT_str_offsets_base && !b.bad)
			*ret = value.number;
	}
}
