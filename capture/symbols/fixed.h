/* SPDX-License-Identifier: MIT */
/*
 * fixed.h - the fixed places that a variable's location names; private to this folder.
 *
 * Of a static struct that only this file uses an optimiser makes variables of its own, one a member, and leaves out
 * those that nobody reads: its location is a row of pieces then (DWARF 5, 2.6.1.2), each an address, a value, or nothing.
 */
#ifndef HSNAP_CAPTURE_SYMBOLS_FIXED_H
#define HSNAP_CAPTURE_SYMBOLS_FIXED_H

#include <stdbool.h>

#include "snapshot/base/bytes.h"

#define HSNAP_FIXED_PIECES 64 /* looked at of one variable: what is behind them has no place */

struct hsnap_fixed_piece {
	uint64_t offset, size; /* of the variable; size 0: all of it */
	uint64_t address;      /* as in the file's headers, or in the module's thread-local block */
};

struct hsnap_fixed_place {
	bool thread_local_;
	uint32_t num; /* in order of offset; they do not overlap */
	struct hsnap_fixed_piece pieces[HSNAP_FIXED_PIECES];
};

/* Number `index` of the unit's addresses; false: there is none. */
typedef bool hsnap_indexed_address(void *context, uint64_t index, uint64_t *ret);

/* false: it names no place in memory, or more than we know before the first. */
bool hsnap_fixed_read(struct hsnap_bytes expression, hsnap_indexed_address *indexed, void *context, struct hsnap_fixed_place *ret);

/* Could an expression be such?  Its first operator tells almost always. */
bool hsnap_fixed_looks_so(const uint8_t *bytes, uint64_t size);

#endif
