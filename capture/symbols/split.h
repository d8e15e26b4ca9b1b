/* SPDX-License-Identifier: MIT */
/*
 * split.h - units in two halves: a skeleton in the program, the rest in a .dwo or a package of them.
 *
 * Each half is opened in libdwarf as if it were a file of its own, made of the sections of its .dwo
 * (or of its parts of the package's) and of the addresses that its skeleton speaks of.
 * Sources: DWARF 5, 7.3.2 and 7.3.5; GNU's "DebugFission" and "DebugFissionDWP" for DWARF 4.
 */
#ifndef HSNAP_CAPTURE_SYMBOLS_SPLIT_H
#define HSNAP_CAPTURE_SYMBOLS_SPLIT_H

#include "capture/symbols/dies.h"
#include "capture/symbols/lists.h"
#include "snapshot/base/strings.h"
#include "snapshot/base/vec.h"

struct hsnap_module_input;
struct hsnap_reader;

/* A unit's half in the program. */
struct hsnap_split_skeleton {
	hsnap_die_key key;
	uint64_t id, address_base, ranges_base, low_pc;
	hsnap_string path; /* of the other half's .dwo, "" where it is not known */
	bool found;
};

/* The other half, or a type unit out of a package.  Does not move. */
struct hsnap_split_half {
	struct hsnap_elf elf;
	struct hsnap_dies dies;
	struct hsnap_lists lists;
	uint32_t skeleton; /* 1 + its index, 0: none */
	uint32_t owner;    /* 1 + index of the skeleton whose file it lies in; 0: in the package */
};

struct hsnap_split_halves hsnap_vec_body(struct hsnap_split_half *);

struct hsnap_split {
	struct hsnap_vec(struct hsnap_split_skeleton) skeletons;
	struct hsnap_split_halves halves;
	struct hsnap_vec(struct hsnap_elf *) files; /* that the halves' sections lie in */
};

/* The entries of half number i, or NULL. */
struct hsnap_dies *hsnap_split_half(const struct hsnap_split_halves *halves, uint32_t i);

/* Note the skeleton whose entry this is. */
void hsnap_split_add(struct hsnap_reader *reader, struct hsnap_dies *dies, Dwarf_Die die, uint64_t id);
/* Find and open the other halves of the skeletons; reader->note says it where some are missing. */
void hsnap_split_open(struct hsnap_reader *reader, const struct hsnap_module_input *input);
/* Which half's unit has this id: is it the one that the skeleton means?  Else it is to be left alone. */
bool hsnap_split_is_wanted(const struct hsnap_split *split, const struct hsnap_split_half *half, uint64_t id);
/* How many other halves were not found, and the first one's skeleton. */
size_t hsnap_split_missing(const struct hsnap_split *split, const struct hsnap_split_skeleton **ret_first);
void hsnap_split_deinit(struct hsnap_split *split);

#endif
