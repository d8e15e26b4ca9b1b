/* SPDX-License-Identifier: MIT */
/*
 * scan.h - entries of one unit, decoded from the bytes of its section; private to this folder.
 *
 * The index looks at each entry of a module, up to twenty million, once.  libdwarf allocates a record for
 * each and for each of its attributes: that is nine tenths of the time.  So here are entries by themselves,
 * a cursor on the caller's stack.  libdwarf remains who iterates units and knows lines, ranges and places,
 * and who is right: tests/capture/symbols/test_scan.c compares all that an entry says with what it says.
 *
 * DWARF 2 to 5 with 32 and 64 bits (DWARF 5, 7.4 to 7.5.6).  What breaks its form ends the list that it is
 * in and marks the unit broken.
 */
#ifndef HSNAP_CAPTURE_SYMBOLS_SCAN_H
#define HSNAP_CAPTURE_SYMBOLS_SCAN_H

#include "capture/symbols/dies.h"
#include "snapshot/base/vec.h"

struct hsnap_abbrev {
	uint64_t code;
	uint32_t first, num; /* of its attributes */
	uint16_t tag;
	uint16_t size;       /* of their values where that is the same in each entry, else HSNAP_ABBREV_VARIES */
	bool children;
	bool has_code;       /* one says where its code lies */
};
#define HSNAP_ABBREV_VARIES UINT16_MAX

struct hsnap_abbrev_attribute {
	uint16_t what, form;
	int64_t value; /* of DW_FORM_implicit_const */
};

/* What the values of a unit's entries depend on. */
struct hsnap_scan_shape {
	uint64_t abbreviations; /* offset of its table */
	uint8_t version, address_size, offset_size;
};

/* Strings of a section; those that begin before `size` end within it. */
struct hsnap_scan_text {
	const char *bytes;
	uint64_t size;
};

/* What the units of one section are read with; all borrowed, NULL where there is none. */
struct hsnap_scan_file {
	struct hsnap_dies *dies; /* NULL: none yet */
	bool types;              /* .debug_types, else .debug_info */
	const uint8_t *bytes, *abbreviations, *offsets; /* of that section; .debug_abbrev; .debug_str_offsets */
	uint64_t size, abbreviations_size, offsets_size;
	struct hsnap_scan_text text, line_text, alt_text;
};

/* One unit. */
struct hsnap_scan {
	struct hsnap_scan_file file;
	bool broken;
	uint64_t start, first, end; /* offsets in its section: of the header, its own entry, and the next unit */
	struct hsnap_scan_shape shape;
	bool table;              /* these two are read: */
	struct hsnap_vec(struct hsnap_abbrev) abbrevs; /* in order of code */
	struct hsnap_vec(struct hsnap_abbrev_attribute) attributes;
	const uint8_t *offsets;  /* of its strings by number, or NULL */
	uint64_t offsets_size;
	unsigned users;
	uint64_t used;           /* when it was asked for, of all that were */
};

/* An entry; without an abbreviation: the end of a list. */
struct hsnap_entry {
	const struct hsnap_abbrev *abbrev;
	uint64_t offset, values; /* in the section: of itself, and of its first value */
	uint64_t end, sibling;   /* behind its values, and what they say who is next; 0: not known yet, or not said */
};

/* Units that were scanned lately: a few, since a walk leads into others now and then. */
#define HSNAP_SCANS 24
struct hsnap_scans {
	struct hsnap_scan items[HSNAP_SCANS];
	struct hsnap_scan_file file; /* that was looked at last */
	uint64_t clock;
};

void hsnap_scans_deinit(struct hsnap_scans *scans);
/* The unit whose header is at `start`; NULL: it cannot be scanned, or there is no memory.  Close it again. */
struct hsnap_scan *hsnap_scan_open(struct hsnap_scans *scans, struct hsnap_dies *dies, bool types, uint64_t start);
static inline void hsnap_scan_close(struct hsnap_scan *scan)
{
	if (scan)
		scan->users--;
}

#define HSNAP_DIE_HAS_SIZE 1u
#define HSNAP_DIE_HAS_COUNT 2u
#define HSNAP_DIE_HAS_MEMBER_OFFSET 4u
#define HSNAP_DIE_MEMBER_COMPUTED 8u /* its offset is an expression: a virtual base */
#define HSNAP_DIE_DECLARATION 16u
#define HSNAP_DIE_EXTERNAL 32u
#define HSNAP_DIE_ARTIFICIAL 64u
#define HSNAP_DIE_BIT_FIELD 128u
#define HSNAP_DIE_CONTAINING 256u /* DW_AT_containing_type: has a vtable */
#define HSNAP_DIE_HAS_LOCATION 512u
#define HSNAP_DIE_HAS_PC 1024u /* low_pc or ranges */
#define HSNAP_DIE_VIRTUAL 4096u
#define HSNAP_DIE_CONST_VALUE 8192u
#define HSNAP_DIE_FIXED_PLACE 16384u /* its location may name an address or a thread-local */

/* What an entry's attributes say; what they do not say is 0. */
struct hsnap_die_facts {
	unsigned tag, flags;
	const char *name, *linkage_name; /* borrowed from the section, or NULL */
	hsnap_die_key type, specification, origin, signature;
	uint64_t size, count, member_offset;
	uint64_t decl_file, call_file; /* UINT64_MAX: none; 0 is one in DWARF 5 */
	uint64_t decl_line, call_line;
	uint64_t encoding, language;
	uint64_t num_bits, first_bit;  /* BIT_FIELD: how many, and which from the lowest of the byte at member_offset */
	uint64_t high_bit;             /* in place of that: 1 + bits above the field in `size` bytes; 0: not said so */
	int64_t const_value;           /* CONST_VALUE, where it is a number */
};

/* The entry at an offset of the section, which may be anything. */
struct hsnap_entry hsnap_entry_at(struct hsnap_scan *scan, uint64_t offset);
/* Its first child, and the entry after it and its children. */
struct hsnap_entry hsnap_entry_child(struct hsnap_scan *scan, struct hsnap_entry *entry);
struct hsnap_entry hsnap_entry_next(struct hsnap_scan *scan, struct hsnap_entry *entry);
/* What its attributes say. */
void hsnap_entry_read(struct hsnap_scan *scan, struct hsnap_entry *entry, struct hsnap_die_facts *ret);
hsnap_die_key hsnap_entry_key(const struct hsnap_scan *scan, const struct hsnap_entry *entry);

static inline unsigned hsnap_entry_tag(const struct hsnap_entry *entry)
{
	return entry->abbrev ? entry->abbrev->tag : 0;
}

#endif
