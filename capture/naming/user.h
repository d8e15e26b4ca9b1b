/* SPDX-License-Identifier: MIT */
/*
 * user.h - what the user's rules have said of the blocks of one heap.  Private to capture/naming.
 */
#ifndef HSNAP_CAPTURE_NAMING_USER_H
#define HSNAP_CAPTURE_NAMING_USER_H

#include "capture/naming/bound.h"

/* Steps of rules: each operation of an expression is one, and each word or place that is looked at.  Files that come with
 * heapsnap took 6 (lua5.4) and 30 (redis7.0) a word of heap and roots. */
#define HSNAP_LEAST_STEPS ((uint64_t)1 << 24)
#define HSNAP_STEPS_A_WORD 256u

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
	uint64_t most_steps, steps; /* of rules: how many there may be, and are left */
	bool cut;                   /* there were to be more: what rules say is not complete */
	struct hsnap_user_mark *marks;
	uint32_t *owned; /* one a block: whose it is, a bit an owner; NULL: no rule asks */
	struct hsnap_user_count *counts;
};

/*
 * As hsnap_run_program(), by steps that are left: a file and a process that nobody answers for may ask for no end of
 * them.  false, too, when there are no more.
 */
bool hsnap_user_run(struct hsnap_user *user, struct hsnap_program program, const struct hsnap_values *values, int64_t *ret);

/* That many steps, and no more, are left; false: there are not. */
bool hsnap_user_step(struct hsnap_user *user, uint64_t steps);

/* How many steps rules may take in a heap of so many bytes. */
static inline uint64_t hsnap_user_most_steps(uint64_t bytes)
{
	return HSNAP_LEAST_STEPS + HSNAP_STEPS_A_WORD * (bytes / 8);
}

/* The words of an object at `address` that a rule is about: visits what they lead to. */
void hsnap_user_visit(struct hsnap_walk *walk, uint32_t rule, uint64_t address, uint64_t end, uint64_t offset);

/* What the rules about any block say of that which begins at an address; false: nothing. */
bool hsnap_user_ask(struct hsnap_walk *walk, uint32_t block, struct hsnap_found *ret);

/* Is a pointer of its type said to lead to something else, by what is there?  Then `found` says that. */
bool hsnap_user_refine(struct hsnap_walk *walk, struct hsnap_found *found);

/* Blocks that a rule's claim did not fit, where they are many, become notes of the snapshot. */
HSNAP_CHECKED enum hsnap_code hsnap_user_notes(struct hsnap_work *work, struct hsnap_error *err);

#endif
