/* SPDX-License-Identifier: MIT */
/*
 * convert.h - types of the debug info as types of the snapshot.
 *
 * Only what is asked for is copied, with what it is made of; what it points to
 * comes by name alone.  Identity is kept: two types of one name stay two.
 */
#ifndef HSNAP_CAPTURE_NAMING_CONVERT_H
#define HSNAP_CAPTURE_NAMING_CONVERT_H

#include "capture/naming/keymap.h"
#include "capture/symbols/symbols.h"
#include "snapshot/snapshot.h"

struct hsnap_convert {
	const struct hsnap_symbols *symbols;
	struct hsnap_snapshot *snapshot;
	hsnap_type_id *ids;  /* one a type of symbols; 0: not yet */
	bool *full;          /* its members are there, or in the queue */
	struct hsnap_vec(hsnap_dtype_id) queue;
	struct hsnap_keymap runs; /* {element, holder} → type */
	bool failed;         /* out of memory */
};

bool hsnap_convert_init(struct hsnap_convert *convert, const struct hsnap_symbols *symbols,
			struct hsnap_snapshot *snapshot);
void hsnap_convert_deinit(struct hsnap_convert *convert);

/* The type with its members; HSNAP_NO_TYPE for void, and where memory ran out. */
hsnap_type_id hsnap_convert_type(struct hsnap_convert *convert, hsnap_dtype_id type);

/* The type by name alone: its members are there only where they were asked for elsewhere. */
hsnap_type_id hsnap_convert_name(struct hsnap_convert *convert, hsnap_dtype_id type);

/* "T[]", or "char[]" with its holder, as the type of a block. */
hsnap_type_id hsnap_convert_run(struct hsnap_convert *convert, hsnap_dtype_id element, hsnap_string holder);

#endif
