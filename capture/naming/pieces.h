/* SPDX-License-Identifier: MIT */
/* pieces.h - objects of which a piece of a variable consists.  Private to capture/naming. */
#ifndef HSNAP_CAPTURE_NAMING_PIECES_H
#define HSNAP_CAPTURE_NAMING_PIECES_H

#include "capture/symbols/symbols.h"

#define HSNAP_PIECES_LOOKS ((uint64_t)1 << 22) /* members and elements looked at, of all of a process */

/* Call see() for each outermost object of a type that lies in [from, to) of it whole: a member, an element. */
struct hsnap_piece_search {
	const struct hsnap_symbols *symbols;
	uint64_t from, to;
	uint64_t looks; /* that are left: hostile types have more members than anybody has time for */
	void (*see)(void *context, hsnap_dtype_id type, uint64_t offset);
	void *context;
};
void hsnap_see_objects(struct hsnap_piece_search *search, hsnap_dtype_id type);

#endif
