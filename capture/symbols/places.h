/* SPDX-License-Identifier: MIT */
/* places.h - where an entry's code and a variable's value lie. */
#ifndef HSNAP_CAPTURE_SYMBOLS_PLACES_H
#define HSNAP_CAPTURE_SYMBOLS_PLACES_H

#include "capture/symbols/dies.h"
#include "capture/symbols/fixed.h"

/* Call see(context, low, high) for each range of code of the entry until it answers false. */
void hsnap_die_ranges(struct hsnap_dies *dies, Dwarf_Die die,
		      bool (*see)(void *context, uint64_t low, uint64_t high), void *context);

/* Does the entry's code include the address? */
bool hsnap_die_covers(struct hsnap_dies *dies, Dwarf_Die die, uint64_t pc);

/* The place of a variable in the module's memory or its thread-local block, or those of its pieces. */
bool hsnap_die_fixed_place(struct hsnap_dies *dies, Dwarf_Die die, struct hsnap_fixed_place *ret);

/* A place that a location expression names, as far as it is one of these. */
enum hsnap_location_kind {
	HSNAP_LOCATION_REGISTER, /* in the register */
	HSNAP_LOCATION_MEMORY,   /* in memory at register + offset */
	HSNAP_LOCATION_FRAME,    /* in memory at the function's frame base + offset */
};

struct hsnap_location {
	uint64_t low, high; /* while pc is in [low, high); a single location: 0 and UINT64_MAX */
	enum hsnap_location_kind kind;
	uint8_t number;
	bool single;
	bool piece;    /* only the word at `into` of the variable is there: a struct taken apart */
	uint64_t into;
	int64_t offset;
};

/* Call see() for each place of the variable, or of a word of it, that is a register or in memory. */
void hsnap_die_locations(struct hsnap_dies *dies, Dwarf_Die die, unsigned attribute,
			 void (*see)(void *context, const struct hsnap_location *location),
			 void *context);

/* What fbreg counts from: the CFA, or a register. */
struct hsnap_frame_base {
	bool known, is_cfa;
	uint8_t number;
};
struct hsnap_frame_base hsnap_die_frame_base(struct hsnap_dies *dies, Dwarf_Die function);

#endif
