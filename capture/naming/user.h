/* SPDX-License-Identifier: MIT */
/*
 * user.h - what the user's rules have said of the blocks of one heap.  Private to capture/naming.
 */
#ifndef HSNAP_CAPTURE_NAMING_USER_H
#define HSNAP_CAPTURE_NAMING_USER_H

#include "capture/naming/bound.h"

struct hsnap_walk;
struct hsnap_found;
struct hsnap_work;
struct hsnap_slot;

/* One a block. */
struct hsnap_user_mark {
	uint16_t rule;   /* 1 + the rule that made the claim which the block has, or 0 */
	uint16_t vetoed; /* 1 + the last rule that its size contradicts, or 0 */
};

/* One a rule: blocks, each once as a rule. */
struct hsnap_user_count {
	uint32_t named, vetoed;
};

struct hsnap_user {
	struct hsnap_bounds bounds;
	struct hsnap_user_mark *marks;
	uint32_t *owned; /* one a block: whose it is, a bit an owner; NULL: no rule asks */
	struct hsnap_user_count *counts;
};

/* The words of an object at `address` that a rule is about: visits what they lead to. */
void hsnap_user_visit(struct hsnap_walk *walk, uint32_t rule, uint64_t address, uint64_t end, uint64_t offset);

/* Is a pointer of its type said to lead to something else, by what is there?  Then `found` says that. */
bool hsnap_user_refine(struct hsnap_walk *walk, struct hsnap_found *found);

/* Blocks that a rule's claim did not fit, where they are many, become notes of the snapshot. */
HSNAP_CHECKED enum hsnap_code hsnap_user_notes(struct hsnap_work *work, struct hsnap_error *err);

#endif
