/* SPDX-License-Identifier: MIT */
/* claims.h - what is said of blocks, and which of it is believed.  Private to capture/naming. */
#ifndef HSNAP_CAPTURE_NAMING_CLAIMS_H
#define HSNAP_CAPTURE_NAMING_CLAIMS_H

#include "capture/naming/work.h"
#include "snapshot/graph/evidence.h"

/* Bytes that a block may have beyond what was asked for: what is left over when a chunk is not split. */
#define HSNAP_MOST_SLACK 40u
#define HSNAP_LEAST_REST 16u /* likewise, of what rounding leaves at the most */

/* Would an object of the type, or a run of them, fill the block?  NONE: no. */
enum hsnap_form hsnap_fit(struct hsnap_work *work, uint32_t block, hsnap_dtype_id type);

/* Bytes, exclusive, that a block may have beyond the size that was asked for. */
uint64_t hsnap_most_rest(const struct hsnap_work *work, uint32_t block);

/* Has the block the size that glibc gives to an object of the type, and 16 bytes more that it did not split off?
 * Only where the size asked for is not known; hsnap_fit() takes larger ones so anyway. */
bool hsnap_is_odd(struct hsnap_work *work, uint32_t block, hsnap_dtype_id type);

/* Is there a struct that begins with an object of the type, and fills the block as one?  Then it is no sure run of these.
 * Cost: a look at each type, once for each type and size of block. */
bool hsnap_may_be_larger(struct hsnap_work *work, uint32_t block, hsnap_dtype_id type);

/**
 * Put a claim to a block's: the stronger evidence is kept, and contested it is by nothing weaker.  Of equal
 * ones that which begins with the other, since a pointer to a base leads to a derived object as well; else
 * the first, and the conflict is counted.  What loses is remembered (losers.h).
 * @return true if the block's claim changed or is no longer inferred only, and what it points to is to be seen
 */
bool hsnap_claim_block(struct hsnap_work *work, uint32_t block, hsnap_dtype_id type, enum hsnap_form form,
		       enum hsnap_evidence evidence);

/* Remember a claim that was not put because the block is not like that. */
void hsnap_reject_claim(struct hsnap_work *work, uint32_t block, hsnap_dtype_id type, enum hsnap_form form,
			enum hsnap_evidence evidence, enum hsnap_verdict verdict);

/* The block is not what was claimed of it, as its size tells or its words: it has no name any more. */
void hsnap_unname_block(struct hsnap_work *work, uint32_t block, enum hsnap_verdict verdict);

/* How sure the claim makes a name: a contested one is inferred at the most. */
enum hsnap_confidence hsnap_claim_confidence(const struct hsnap_claim *claim);

/* Is the name known, and not only inferred? */
static inline bool hsnap_claim_is_sure(const struct hsnap_claim *claim)
{
	return hsnap_claim_confidence(claim) > HSNAP_INFERRED;
}

/* The block is the body of a container of which the bytes from `first` to `live` are in use; false: out of memory. */
bool hsnap_set_live(struct hsnap_work *work, uint32_t block, uint64_t first, uint64_t live);

/* arrays.c: how many words of the block are in use, where the pointer to it stands at an address, by the numbers beside
 * that; 0: they do not tell. */
uint64_t hsnap_count_used(const struct hsnap_work *work, uint32_t block, uint64_t at);

/* targets.c */
/* May a pointer to the type have this value?  *hint as in hsnap_block_index_find(). */
bool hsnap_is_target(struct hsnap_work *work, uint64_t value, hsnap_dtype_id type, uint32_t *hint);
/* Have the objects [first, last) of a run in the block only pointers that may be such?  *ret_used (may be NULL): each of
 * them has one to a block of an object's size. */
bool hsnap_is_run(struct hsnap_work *work, uint32_t block, hsnap_dtype_id type, uint64_t first, uint64_t last, bool *ret_used);
/* As hsnap_is_target(), be the block larger, or one that has objects in it: may a pointer have this value? */
bool hsnap_may_point(struct hsnap_work *work, uint64_t value, hsnap_dtype_id type, uint32_t *hint);
/* Does a pointer of the type that may not tell that it is none?  Bytes and void can be numbers in disguise. */
bool hsnap_is_telling(const struct hsnap_work *work, hsnap_dtype_id type);
/* Is it within a module's code, where no object is and no text?  false where its constants may be there as well. */
bool hsnap_is_only_code(const struct hsnap_work *work, uint64_t value);
/* Is the struct nothing but pointers to its own like?  The links of a list lead to links. */
bool hsnap_is_bare_link(struct hsnap_work *work, hsnap_dtype_id type);
/* Is it a struct around one pointer and nothing else, a bucket's head?  Then what that is declared to lead to; else 0. */
hsnap_dtype_id hsnap_lone_pointer(struct hsnap_work *work, hsnap_dtype_id type);
/* What an array of arrays, a few deep, is made of; any other type is itself. */
hsnap_dtype_id hsnap_element_of(const struct hsnap_symbols *symbols, hsnap_dtype_id type);
/* May all telling pointers of the object at the address? */
bool hsnap_is_object(struct hsnap_work *work, hsnap_dtype_id type, uint64_t address);
/* Is the part's block still without a better name, or the part beyond what that says?  Else it has all that there is to say. */
bool hsnap_part_counts(const struct hsnap_work *work, const struct hsnap_part *part);
/* Does it count, and may all telling pointers of the object there? */
bool hsnap_part_stands(struct hsnap_work *work, const struct hsnap_part *part);

/* Does what is led to as bytes begin as an object does: with the address of a block among its first words, and no text in front? */
bool hsnap_holds_blocks(const struct hsnap_work *work, uint32_t block);

/* refuted.c: is the name that pointers gave to the block one that its text speaks against? */
enum hsnap_refuted {
	HSNAP_REFUTED_NOT,
	HSNAP_REFUTED_MAYBE, /* it may as well be the bytes that somebody has there */
	HSNAP_REFUTED,
};

/* Cost: a look at a bit; where pointers to bytes lead there, a walk of the object. */
enum hsnap_refuted hsnap_is_refuted(struct hsnap_work *work, uint32_t block);
/* Does a block's address stand where the object that pointers say it is begins with a number? */
bool hsnap_may_be_array(const struct hsnap_work *work, uint32_t block);

/* outer.c: does a type have a member of the other there, be it a member's? */
bool hsnap_has_member(const struct hsnap_work *work, hsnap_dtype_id type, hsnap_dtype_id member, uint64_t offset);

/* sites.c, vtable.c, push.c (and what push.h names): the sources of claims; doubt.c: what becomes of what contested ones led to.
 * None does anything without symbols. */
HSNAP_CHECKED enum hsnap_code hsnap_claim_sites(struct hsnap_work *work, struct hsnap_error *err);
HSNAP_CHECKED enum hsnap_code hsnap_claim_vtables(struct hsnap_work *work, struct hsnap_error *err);
HSNAP_CHECKED enum hsnap_code hsnap_push_types(struct hsnap_work *work, struct hsnap_error *err);
HSNAP_CHECKED enum hsnap_code hsnap_spread_doubt(struct hsnap_work *work, struct hsnap_error *err);

struct hsnap_convert;

/* grounds.c: what the names rest on becomes part of the snapshot.  No claim may change after it. */
HSNAP_CHECKED enum hsnap_code hsnap_keep_grounds(struct hsnap_work *work, struct hsnap_convert *convert,
						 struct hsnap_error *err);

#endif
