/* SPDX-License-Identifier: MIT */
/*
 * forms.h - values in the bytes of an entry, each by its form (DWARF 5, 7.5.6); private to this folder.
 *
 * In a header, since it is done a hundred million times for a large module.
 */
#ifndef HSNAP_CAPTURE_SYMBOLS_FORMS_H
#define HSNAP_CAPTURE_SYMBOLS_FORMS_H

#include "capture/symbols/scan.h"
#include "snapshot/base/bytes.h"

struct hsnap_form_value {
	unsigned form;        /* never DW_FORM_indirect */
	uint64_t number;      /* of a block: its size */
	const uint8_t *bytes; /* of a block, or of a string that stands here */
};

/* Signed LEB128. */
static inline int64_t hsnap_form_signed(struct hsnap_bytes *b)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t byte = hsnap_bytes_u8(b);
		value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
		if (!(byte & 0x80))
			return (int64_t)(byte & 0x40 && shift < 57 ? value | ~UINT64_C(0) << (shift + 7) : value);
	}
	b->bad = true;
	return 0;
}

/* How many bytes a value of the form takes; -1: they themselves say it, or it is no form. */
static inline int hsnap_form_size(const struct hsnap_scan_shape *shape, unsigned form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sup8:
	case DW_FORM_ref_sig8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return shape->address_size;
	case DW_FORM_ref_addr: /* DWARF 2 had it as long as an address */
		return shape->version == 2 ? shape->address_size : shape->offset_size;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_GNU_ref_alt:
		return shape->offset_size;
	default:
		return -1;
	}
}

static inline uint64_t hsnap_form_number(struct hsnap_bytes *b, unsigned size)
{
	uint64_t value = 0;
	const void *got = hsnap_bytes_get(b, size);
	if (got && size == 4) { /* the most of them */
		uint32_t four;
		memcpy(&four, got, sizeof(four));
		return four;
	}
	if (got && size <= sizeof(value))
		memcpy(&value, got, size);
	return value;
}

/* The value of an attribute that is the next one in `b`; what is not understood makes `b` bad. */
static inline struct hsnap_form_value hsnap_form_read(const struct hsnap_scan_shape *shape, struct hsnap_bytes *b,
						      const struct hsnap_abbrev_attribute *attribute)
{
	struct hsnap_form_value value = { .form = attribute->form };
	if (value.form == DW_FORM_indirect) {
		value.form = (unsigned)hsnap_bytes_varint(b) & UINT16_MAX;
		b->bad |= value.form == DW_FORM_indirect || value.form == DW_FORM_implicit_const;
	}
	int size = hsnap_form_size(shape, value.form);
	switch (value.form) {
	case DW_FORM_flag_present:
		value.number = 1;
		return value;
	case DW_FORM_implicit_const:
		value.number = (uint64_t)attribute->value;
		return value;
	case DW_FORM_sdata:
		value.number = (uint64_t)hsnap_form_signed(b);
		return value;
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		value.number = hsnap_bytes_varint(b);
		return value;
	case DW_FORM_string: {
		const uint8_t *end = b->bad ? NULL : memchr(b->at, 0, hsnap_bytes_left(b));
		value.bytes = hsnap_bytes_get(b, end ? (size_t)(end - b->at) + 1 : SIZE_MAX);
		return value;
	}
	case DW_FORM_block1:
		value.number = hsnap_bytes_u8(b);
		break;
	case DW_FORM_block2:
		value.number = hsnap_bytes_u16(b);
		break;
	case DW_FORM_block4:
		value.number = hsnap_bytes_u32(b);
		break;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		value.number = hsnap_bytes_varint(b);
		break;
	default:
		if (size < 0)
			b->bad = true;
		else
			value.number = hsnap_form_number(b, (unsigned)size);
		return value;
	}
	value.bytes = hsnap_bytes_get(b, value.number);
	return value;
}

/* Where the numbers of its strings count from, if the entry says it. */
void hsnap_entry_offsets_base(struct hsnap_scan *scan, struct hsnap_entry *entry, uint64_t *ret);

#endif
