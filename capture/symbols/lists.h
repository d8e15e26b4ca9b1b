/* SPDX-License-Identifier: MIT */
/*
 * lists.h - range and location lists of DWARF 5, and of GNU's split DWARF 4; private to this folder.
 *
 * libdwarf (20210528) believes the offsets in a table of such lists, and reads wherever they lead.
 * And of a unit in two halves the addresses that a list names by number lie in the other half, which
 * it cannot be given without a search that need not end (sound.h).  So these lists are read here,
 * and libdwarf is shown none.
 */
#ifndef HSNAP_CAPTURE_SYMBOLS_LISTS_H
#define HSNAP_CAPTURE_SYMBOLS_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the lists of one unit are read with; all borrowed, NULL where there is none. */
struct hsnap_lists {
	const uint8_t *addresses; /* .debug_addr from the unit's first on */
	uint64_t addresses_size;
	uint64_t low_pc;          /* what offsets count from, unless a list says otherwise */
	const uint8_t *ranges, *locations; /* .debug_rnglists and .debug_loclists (or .debug_loc), or the unit's part */
	uint64_t ranges_size, locations_size;
	uint64_t ranges_base, locations_base; /* where in there the offsets of the unit's lists are */
	bool wide;                /* those are of 64 bits */
};

#define HSNAP_LISTS_HEADER 12 /* where they are in a part that begins with its header, of 32 bits */

/**
 * Call see() for each range of code that a list of DWARF 5 names, until it answers false.
 *
 * @param indexed  `where` is the list's number, else its offset
 */
void hsnap_lists_ranges(const struct hsnap_lists *lists, uint64_t where, bool indexed,
			bool (*see)(void *context, uint64_t low, uint64_t high), void *context);

/**
 * Call see() for each entry of a location list, with its expression's bytes.
 *
 * @param version  4: GNU's early form of a .dwo
 */
void hsnap_lists_locations(const struct hsnap_lists *lists, unsigned version, uint64_t where, bool indexed,
			   void (*see)(void *context, uint64_t low, uint64_t high, const uint8_t *bytes, size_t size),
			   void *context);

#endif
