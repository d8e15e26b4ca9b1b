/* SPDX-License-Identifier: MIT */
/*
 * doubt.c - what a contested place led to is not proved by it, and what a wrong one led to is nothing.
 *
 * Types are pushed on as they are found, and a claim may be contested or refuted only after its
 * block was walked.  So in the end all that is reached from contested blocks by declared
 * pointers is in doubt, unless a place that is not leads there as well; from refuted ones likewise, and
 * it has no name.  Where nothing is contested, which is usual, this costs one look at each claim.
 */
#include <string.h>

#include "capture/naming/claims.h"
#include "capture/naming/user.h"
#include "capture/naming/walk.h"
#include "snapshot/base/cleanup.h"
#include "snapshot/base/pages.h"

enum mark { PLAIN, IN_DOUBT, WRONG };

struct doubt {
	struct hsnap_work *work;
	struct hsnap_walk walk;
	uint32_t hint;
	uint8_t *marks; /* one a block: enum mark */
	size_t num;     /* blocks in doubt */
	bool refuting;  /* of what is led to from wrong ones, and not from contested ones */
	enum mark from; /* only blocks of this mark are looked at, and get the other */
	struct hsnap_vec(uint32_t) queue;
	bool failed;    /* out of memory */
};

static void doubt_deinit(struct doubt *doubt)
{
	hsnap_vec_deinit(&doubt->queue);
	hsnap_pages_free(doubt->marks, doubt->work->num_blocks, sizeof(*doubt->marks));
}

/* Is the name such as a pointer gives, from a place that is sure? */
static bool is_pushed(const struct hsnap_claim *claim)
{
	return claim->evidence == HSNAP_EVIDENCE_POINTER || claim->evidence == HSNAP_EVIDENCE_CONTAINER ||
	       claim->evidence == HSNAP_EVIDENCE_USER;
}

static bool is_contested(const struct hsnap_claim *claim)
{
	return claim->conflicts && hsnap_evidence_confidence((enum hsnap_evidence)claim->evidence) > HSNAP_INFERRED;
}

/* Would the pointer make the very claim that the block has? */
static bool says_so(struct hsnap_work *work, uint32_t b, const struct hsnap_found *found)
{
	const struct hsnap_claim *claim = &work->claims[b];
	return claim->type == work->plans.same[hsnap_element_of(work->symbols, found->type)];
}

static void visit(void *context, const struct hsnap_found *found)
{
	struct doubt *doubt = context;
	struct hsnap_work *work = doubt->work;
	uint32_t b = hsnap_block_at(work, found->value, &doubt->hint);
	if (b == HSNAP_NO_BLOCK)
		return;
	const struct hsnap_claim *claim = &work->claims[b];
	bool pushed = is_pushed(claim) || (doubt->refuting && claim->evidence == HSNAP_EVIDENCE_FOLLOWED);
	if (doubt->marks[b] != doubt->from || !pushed || (claim->conflicts && !doubt->refuting) || !says_so(work, b, found))
		return;
	doubt->marks[b] = !doubt->from;
	doubt->num += doubt->from == PLAIN;
	if (!hsnap_vec_push(&doubt->queue, b))
		doubt->failed = true;
}

static void drain(struct doubt *doubt)
{
	while (doubt->queue.num && !doubt->failed)
		hsnap_walk_block(&doubt->walk, doubt->queue.items[--doubt->queue.num]);
}

/* From contested blocks on, or from wrong ones: everything is in doubt.  false: there are none. */
static bool spread(struct doubt *doubt)
{
	bool any = false;
	doubt->from = PLAIN;
	for (uint32_t b = 0; b < doubt->work->num_blocks && !doubt->failed; b++) {
		if (doubt->refuting ? doubt->marks[b] != WRONG : !is_contested(&doubt->work->claims[b]))
			continue;
		any = true;
		hsnap_walk_block(&doubt->walk, b);
		drain(doubt);
	}
	return any;
}

/* From the places that are in no doubt on: what they lead to is not either. */
static void clear_up(struct doubt *doubt)
{
	struct hsnap_work *work = doubt->work;
	doubt->from = IN_DOUBT;
	for (size_t i = 0; i < work->segments.num; i++)
		hsnap_walk_segment(&doubt->walk, &work->segments.items[i]);
	for (uint32_t b = 0; b < work->num_blocks && !doubt->failed; b++)
		if (doubt->marks[b] == PLAIN && (doubt->refuting || hsnap_claim_is_sure(&work->claims[b])))
			hsnap_walk_block(&doubt->walk, b);
	drain(doubt);
}

/* false: no block is wrong.  Those of which nothing tells are none of bytes either. */
static bool find_wrong(struct doubt *doubt)
{
	struct hsnap_work *work = doubt->work;
	bool any = false;
	for (uint32_t b = 0; b < work->num_blocks; b++) {
		enum hsnap_refuted refuted = hsnap_is_refuted(work, b);
		if (refuted == HSNAP_REFUTED_MAYBE)
			work->undecided[b / 64] |= (uint64_t)1 << b % 64;
		if (refuted)
			doubt->marks[b] = WRONG;
		any |= refuted;
	}
	for (size_t i = 0; i < work->stale.num; i++) {
		uint32_t b = work->stale.items[i].block;
		if (hsnap_may_be_array(work, b)) /* it may have a better name since */
			doubt->marks[b] = WRONG;
		any |= doubt->marks[b] == WRONG;
	}
	return any;
}

/* Wrong names are none, and what only these led to has none. */
static void refute(struct doubt *doubt)
{
	struct hsnap_work *work = doubt->work;
	if (!find_wrong(doubt))
		return;
	doubt->refuting = true;
	spread(doubt);
	clear_up(doubt);
	doubt->refuting = false;
	for (uint32_t b = 0; b < work->num_blocks; b++)
		if (doubt->marks[b] != PLAIN)
			hsnap_unname_block(work, b, doubt->marks[b] == WRONG ? HSNAP_VERDICT_LOOK : HSNAP_VERDICT_LOST);
	for (size_t i = 0; i < work->stale.num; i++) {
		struct hsnap_stale stale = work->stale.items[i];
		if (doubt->marks[stale.block] == WRONG && stale.pointer)
			hsnap_claim_block(work, stale.block, stale.pointer, HSNAP_FORM_RUN, HSNAP_EVIDENCE_POINTER);
	}
	memset(doubt->marks, PLAIN, work->num_blocks * sizeof(*doubt->marks));
	doubt->num = 0;
}

enum hsnap_code hsnap_spread_doubt(struct hsnap_work *work, struct hsnap_error *err)
{
	if (!work->symbols)
		return HSNAP_OK;
	hsnap_auto(doubt_deinit) struct doubt doubt = { .work = work };
	hsnap_walk_init(&doubt.walk, work, visit, &doubt);
	doubt.marks = hsnap_pages_alloc(work->num_blocks, sizeof(*doubt.marks));
	if (!doubt.marks)
		return hsnap_no_memory(err);
	if (work->user)
		work->user->steps = work->user->most_steps;
	refute(&doubt);
	bool contested = spread(&doubt);
	if (contested && doubt.num)
		clear_up(&doubt);
	if (doubt.failed)
		return hsnap_no_memory(err);
	/* Where rules had no steps left, nobody knows how far the doubt would have gone. */
	bool all = contested && work->user && !work->user->steps;
	for (uint32_t b = 0; b < work->num_blocks; b++)
		if (doubt.marks[b] || (all && is_pushed(&work->claims[b])))
			work->claims[b].evidence = HSNAP_EVIDENCE_FOLLOWED;
	return HSNAP_OK;
}
