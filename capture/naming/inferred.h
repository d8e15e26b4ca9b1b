/* SPDX-License-Identifier: MIT */
/* inferred.h - names that blocks have from their kin.  Private to capture/naming. */
#ifndef HSNAP_CAPTURE_NAMING_INFERRED_H
#define HSNAP_CAPTURE_NAMING_INFERRED_H

#include "capture/naming/work.h"

/* One object of the type in a block: what is found out about it. */
struct hsnap_inferred {
	uint32_t block;
	hsnap_dtype_id type;
};
struct hsnap_inferred_list hsnap_vec_body(struct hsnap_inferred);

/**
 * consensus.c: blocks without a name whose call site made blocks that have one.
 *
 * At least three have one that is no inference, and 95 of 100 the same; the block has the size of that
 * type, and its pointers lead to what they may.
 *
 * Cost: nothing without call sites; else three looks at each claim.
 */
HSNAP_CHECKED enum hsnap_code hsnap_find_consensus(struct hsnap_work *work, struct hsnap_inferred_list *ret,
						   struct hsnap_error *err);

/* A declared pointer to an object inside a block, or to one that is linked with its like and is its start. */
struct hsnap_inner {
	uint32_t block, offset;
	hsnap_dtype_id type;
	uint32_t next; /* 1 + index of another one of the type in the block, or 0 */
};

/* Zeroed storage is valid. */
struct hsnap_inners {
	struct hsnap_vec(struct hsnap_inner) items;
	struct hsnap_keymap known; /* {block, type} → 1 + index into items, of the first */
	struct hsnap_keymap many;  /* {block, type}: there are more of them than are kept */
};

#define HSNAP_MOST_INNERS 4u /* of a type in a block that are kept */

/* inners.c */
void hsnap_inners_deinit(struct hsnap_inners *inners);
/* Remember one; what comes after a million of them is not.  false: out of memory. */
bool hsnap_inners_note(struct hsnap_inners *inners, uint32_t block, hsnap_dtype_id type, uint64_t offset);
/* 1 + index of the one at an offset, or 0. */
uint32_t hsnap_inners_find(const struct hsnap_inners *inners, uint32_t block, hsnap_dtype_id type, uint64_t offset);
/* Are there too many in the block to be the members of one struct? */
bool hsnap_inners_are_many(const struct hsnap_inners *inners, const struct hsnap_inner *inner);

/**
 * outer.c: what the objects lie in, where they lie at the same offset of all blocks of a size; those that are linked
 * with each other (rings.h) also at several offsets where one type has them all, or at one in the blocks of one list.
 *
 * Of all types one must have such a member there and fill the block; where another has it too, and only the size
 * tells them apart, its other pointers must be in use and lead to what they may.  Else the block stays
 * without.
 *
 * Cost: nothing without such pointers to blocks without a name; else a look at each type for each of at
 * most 64 kinds of places.
 */
HSNAP_CHECKED enum hsnap_code hsnap_find_outer(struct hsnap_work *work, const struct hsnap_inners *inners,
					       struct hsnap_inferred_list *ret, struct hsnap_error *err);

#endif
