/* SPDX-License-Identifier: MIT */
/* looks.h - can that be there, by what the words and bytes say?  Private to landings.c and waiting.c. */
#ifndef HSNAP_CAPTURE_NAMING_LOOKS_H
#define HSNAP_CAPTURE_NAMING_LOOKS_H

#include "capture/naming/members.h"

/* How well a type suits a block. */
enum hsnap_suits { HSNAP_SUITS_NOT, HSNAP_SUITS_LARGER, HSNAP_SUITS_EXACT };

/* One a type: the words of it that hold numbers and nothing else. */
struct hsnap_numbers {
	uint32_t *words;
	uint32_t num;
	bool made;
};

struct hsnap_looks {
	struct hsnap_work *work;
	struct hsnap_window reader;
	struct hsnap_numbers *numbers;
	bool failed; /* out of memory */
};

/* Zeroed storage is valid for deinit; false: out of memory. */
bool hsnap_looks_init(struct hsnap_looks *looks, struct hsnap_work *work);
void hsnap_looks_deinit(struct hsnap_looks *looks);

/* Is a number of an object of the type that would be at the address a block's very address?  Cost: up to 64 words; of a
 * type, a look at its members once. */
bool hsnap_numbers_hold_blocks(struct hsnap_looks *looks, hsnap_dtype_id type, uint64_t address);

/* Has the block a name that what void members lead to must not change? */
bool hsnap_is_landed(const struct hsnap_work *work, uint32_t b);

/**
 * Can an object of the type be there?  Its pointers are null or lead to what they may, and none of its numbers
 * is a block's very address.
 *
 * @param[out] ret_used  it has a pointer there that leads somewhere
 */
enum hsnap_suits hsnap_suits_target(struct hsnap_looks *looks, const struct hsnap_void_target *target, hsnap_dtype_id type,
				    bool *ret_used);

/*
 * Can it be nothing but bytes, of all that the member leads to?  Objects are aligned: at an odd address there is none but
 * of bytes.  What stands before it in the block has no room for a pointer.  A block's start is only where the
 * code never puts an object.
 */
bool hsnap_must_be_bytes(const struct hsnap_work *work, const struct hsnap_void_member *member,
			 const struct hsnap_void_target *target);

enum hsnap_text {
	HSNAP_TEXT_NONE,
	HSNAP_TEXT_SHORT, /* so short that a number could look like it */
	HSNAP_TEXT_LONG,
};

/* Is there text, with nothing behind it in the block but zeros and what rounding leaves?  Cost: up to 4 KiB. */
enum hsnap_text hsnap_text_at(struct hsnap_looks *looks, const struct hsnap_void_target *target);

#endif
