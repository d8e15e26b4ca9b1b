/* SPDX-License-Identifier: MIT */
/*
 * lists.h - range and location lists of a split unit; private to this folder.
 *
 * The addresses that such a list names by number lie in the other half of the unit, which libdwarf
 * cannot be given without a search that need not end (sound.h): so these lists are read here.
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
	const uint8_t *ranges, *locations; /* the unit's part of .debug_rnglists and .debug_loclists (or .debug_loc) */
	uint64_t ranges_size, locations_size;
};

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
