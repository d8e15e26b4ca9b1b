/* SPDX-License-Identifier: MIT */
/* landings.h - what pointers of no type lead to, by what the program's code does with them.  Private to capture/naming. */
#ifndef HSNAP_CAPTURE_NAMING_LANDINGS_H
#define HSNAP_CAPTURE_NAMING_LANDINGS_H

#include "capture/naming/work.h"

/* One a type: what pointers to the opaque one lead to; 0: not known.  NULL: out of memory.  To be freed. */
hsnap_dtype_id *hsnap_find_aliases(const struct hsnap_plans *plans);

/* What one container's pointers of no type lead to: an object, which is a block or lies within one, or a block of bytes. */
struct hsnap_landed {
	uint32_t block;
	hsnap_dtype_id type;
	uint64_t address;
};
struct hsnap_landed_list hsnap_vec_body(struct hsnap_landed);

/**
 * What the void members of typed blocks lead to, a container at a time.
 *
 * A member's candidates are those that the code lands in (symbols->landings).  One is believed
 * where it alone fits nine tenths of all blocks that one container's nodes lead to, whatever their
 * size, and where half of these make use of its pointers; then of those that it fits and that have
 * no better name.  It fits where its pointers are null or lead to what they may, and where no
 * number of it is a block's address.  What can be no object by its address is bytes, if most of it
 * looks like text.
 *
 * @param[out] ret  in no order; blocks once, objects within blocks perhaps several times
 * Cost: nothing where no such member leads to a block without a name; else a walk over all typed
 * blocks and 12 bytes a block meanwhile.
 */
HSNAP_CHECKED enum hsnap_code hsnap_find_landings(struct hsnap_work *work, struct hsnap_landed_list *ret,
						  struct hsnap_error *err);

#endif
