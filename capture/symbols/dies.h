/* SPDX-License-Identifier: MIT */
/*
 * dies.h - entries of one file's debug info, through libdwarf, and never more than it says.
 *
 * libdwarf answers DW_DLV_OK for strings and references into a supplementary
 * file (dwz) that is not there: here the form is looked at first, and what
 * cannot be followed is DIE_UNKNOWN or no name, never another entry.
 */
#ifndef HSNAP_CAPTURE_SYMBOLS_DIES_H
#define HSNAP_CAPTURE_SYMBOLS_DIES_H

#include <libdwarf/dwarf.h>
#include <libdwarf/libdwarf.h>

#include "capture/symbols/elf_file.h"
#include "capture/symbols/lists.h"

/* Where an entry lies: the section in the high bits, the offset in the low ones.  0: none. */
typedef uint64_t hsnap_die_key;
#define HSNAP_DIE_UNKNOWN UINT64_MAX /* a reference that cannot be followed */
enum hsnap_die_section {
	HSNAP_DIE_INFO,
	HSNAP_DIE_TYPES,
	HSNAP_DIE_ALT,       /* .debug_info of the supplementary file */
	HSNAP_DIE_SIGNATURE, /* no section: the low bits are those of a type unit's signature */
	HSNAP_DIE_SPLIT,     /* .debug_info of the other half of a unit: which half in bits 40 to 59 */
	HSNAP_DIE_SPLIT_TYPES, /* its .debug_types */
};
#define HSNAP_DIE_OFFSET ((UINT64_C(1) << 60) - 1)
#define HSNAP_DIE_SPLIT_SHIFT 40
#define HSNAP_DIE_MAX_SPLIT (UINT32_C(1) << 20)

static inline hsnap_die_key hsnap_die_key_of(enum hsnap_die_section section, uint64_t offset)
{
	return (uint64_t)section << 60 | (offset & HSNAP_DIE_OFFSET);
}

static inline enum hsnap_die_section hsnap_die_section_of(hsnap_die_key key)
{
	return (enum hsnap_die_section)(key >> 60);
}

struct hsnap_split_halves;

/* One file open in libdwarf.  Does not move: libdwarf keeps its address. */
struct hsnap_dies {
	struct hsnap_elf *elf;
	Dwarf_Obj_Access_Interface access;
	Dwarf_Debug dbg;            /* NULL: no debug info in this file */
	struct hsnap_dies *alt;     /* the supplementary file, or NULL */
	bool is_alt;
	/* The other halves of its units, in order (split.c), or NULL. */
	const struct hsnap_split_halves *halves;
	/* Of such a half: which one, what it is the half of, and how its lists are read.  Else NULL. */
	uint32_t half;
	struct hsnap_dies *root;
	const struct hsnap_lists *lists;
	/* How those of the unit that was asked about last are read: places.c. */
	struct hsnap_lists unit_lists;
	uint64_t unit_offset; /* of its entry, 0: none yet */
};

/* HSNAP_NOT_FOUND: the file has no debug info.  `alt` is borrowed until _deinit. */
HSNAP_CHECKED enum hsnap_code hsnap_dies_init(struct hsnap_dies *dies, struct hsnap_elf *elf,
					      struct hsnap_dies *alt, struct hsnap_error *err);
/* The other half number `half` of a unit of `root`; root and lists are borrowed until _deinit. */
HSNAP_CHECKED enum hsnap_code hsnap_dies_init_half(struct hsnap_dies *dies, struct hsnap_elf *elf, uint32_t half,
						   struct hsnap_dies *root, const struct hsnap_lists *lists,
						   struct hsnap_error *err);
void hsnap_dies_deinit(struct hsnap_dies *dies);

/* Its debug info is there, but compressed in a way that is not read here. */
bool hsnap_dies_unreadable(struct hsnap_elf *elf);

/* The file in which a key's entry lies, or NULL. */
struct hsnap_dies *hsnap_dies_of(struct hsnap_dies *dies, hsnap_die_key key);
/* The entry itself: NULL where there is none.  Free with hsnap_die_free(). */
Dwarf_Die hsnap_die_at(struct hsnap_dies *dies, hsnap_die_key key);
/* The key of an offset in this very file: in .debug_info, else in .debug_types. */
hsnap_die_key hsnap_die_key_in(const struct hsnap_dies *dies, bool info, uint64_t offset);
hsnap_die_key hsnap_die_key_here(struct hsnap_dies *dies, Dwarf_Die die);
/* Where the header of its unit begins in its section, and the entry in the unit; false: broken. */
bool hsnap_die_in_unit(struct hsnap_dies *dies, Dwarf_Die die, uint64_t *ret_start, uint64_t *ret_in_unit);
unsigned hsnap_die_tag(struct hsnap_dies *dies, Dwarf_Die die); /* 0: none */
static inline void hsnap_die_free(Dwarf_Die die)
{
	if (die)
		dwarf_dealloc_die(die);
}

/* First child, next sibling, or NULL. */
Dwarf_Die hsnap_die_child(struct hsnap_dies *dies, Dwarf_Die die);
Dwarf_Die hsnap_die_sibling(struct hsnap_dies *dies, Dwarf_Die die);

/* Names of the unit's files, as its line table has them: *ret[decl_file - *ret_base]. */
char **hsnap_die_files(struct hsnap_dies *dies, Dwarf_Die unit, size_t *ret_num, unsigned *ret_base);
void hsnap_die_files_free(struct hsnap_dies *dies, char **files, size_t num);

/* One unit, as iterated. */
struct hsnap_die_unit {
	Dwarf_Die die;      /* free it with hsnap_die_free() */
	uint64_t start;     /* of its header */
	uint8_t header;     /* bytes of it, up to the entry */
	hsnap_die_key type, signature; /* of a type unit, else 0 */
	uint64_t id;        /* of a unit in two halves: the same in both */
	unsigned version;
	bool skeleton;      /* the half that lies in the program: it says where the other is */
};

/**
 * The next unit of .debug_info (or .debug_types); false: no more, with *ret_whole false when it
 * stopped before the end for broken bytes.
 */
bool hsnap_die_next_unit(struct hsnap_dies *dies, bool types, struct hsnap_die_unit *ret,
			 bool *ret_whole);

/*
 * Where in other sections a unit's things begin, and of a skeleton where the other half is: DWARF 5,
 * 3.1.1 to 3.1.3, and GNU's way of DWARF 4.  What it does not say is 0, what makes no sense UINT64_MAX.
 */
struct hsnap_die_bases {
	const char *name, *folder; /* of the other half: borrowed from the section, or NULL */
	uint64_t addresses, ranges, locations, low_pc;
};
void hsnap_die_read_bases(struct hsnap_dies *dies, Dwarf_Die die, struct hsnap_die_bases *ret);

#endif
