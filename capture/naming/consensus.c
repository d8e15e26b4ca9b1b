/* SPDX-License-Identifier: MIT */
/* consensus.c - a call site that made three of a kind made the fourth. */
#include <stdlib.h>

#include "capture/naming/claims.h"
#include "capture/naming/inferred.h"

#define FEW_WITNESSES 3u
#define MOST_PERCENT 95u

/* What a call stack's blocks are: the one type that may be most of theirs, and for how many it spoke. */
struct vote {
	hsnap_dtype_id type;
	uint32_t lead;         /* while it is chosen: so many more spoke for it than against */
	uint32_t total, agree; /* blocks with a sure name, and those of them that are one of the type */
	bool unnamed;          /* there is somebody to be named */
};

static struct vote *vote_of(const struct hsnap_work *work, struct vote *votes, uint32_t b)
{
	uint32_t stack = work->heap->blocks.items[b].stack;
	return stack && stack < work->heap->stacks.num ? &votes[stack] : NULL;
}

static bool is_unnamed(const struct hsnap_claim *claim)
{
	return claim->evidence < HSNAP_EVIDENCE_CONSENSUS;
}

/* If one type has the majority, it is this. */
static void choose(const struct hsnap_work *work, struct vote *votes)
{
	for (uint32_t b = 0; b < work->num_blocks; b++) {
		const struct hsnap_claim *claim = &work->claims[b];
		struct vote *vote = vote_of(work, votes, b);
		if (!vote)
			continue;
		vote->unnamed |= is_unnamed(claim);
		if (!hsnap_claim_is_sure(claim))
			continue;
		if (!vote->lead)
			vote->type = claim->type;
		if (vote->type == claim->type)
			vote->lead++;
		else
			vote->lead--;
	}
}

static void count(const struct hsnap_work *work, struct vote *votes)
{
	for (uint32_t b = 0; b < work->num_blocks; b++) {
		const struct hsnap_claim *claim = &work->claims[b];
		struct vote *vote = vote_of(work, votes, b);
		if (!vote || !vote->unnamed || !hsnap_claim_is_sure(claim))
			continue;
		vote->total++;
		vote->agree += claim->form == HSNAP_FORM_ONE && claim->type == vote->type;
	}
}

static bool agrees(const struct vote *vote)
{
	return vote->agree >= FEW_WITNESSES && (uint64_t)vote->agree * 100 >= (uint64_t)vote->total * MOST_PERCENT;
}

/* A flexible object is as good as any size: it may be the first of a page full of them, and so may those that agree. */
static bool fills(struct hsnap_work *work, uint32_t b, hsnap_dtype_id type)
{
	if (hsnap_plan_of(&work->plans, type)->tail && hsnap_object_room(work, b) / 2 >= hsnap_dtype(work->symbols, type)->size)
		return false;
	return hsnap_fit(work, b, type) == HSNAP_FORM_ONE;
}

enum hsnap_code hsnap_find_consensus(struct hsnap_work *work, struct hsnap_inferred_list *ret, struct hsnap_error *err)
{
	if (work->heap->stacks.num <= 1) /* stack 0 is that of blocks of which it is not known */
		return HSNAP_OK;
	struct vote *votes = calloc(work->heap->stacks.num, sizeof(*votes));
	bool ok = votes;
	if (ok) {
		choose(work, votes);
		count(work, votes);
	}
	for (uint32_t b = 0; b < work->num_blocks && ok; b++) {
		const struct vote *vote = vote_of(work, votes, b);
		if (!vote || !is_unnamed(&work->claims[b]) || !agrees(vote) ||
		    !fills(work, b, vote->type) || !hsnap_is_run(work, b, vote->type, 0, 1, NULL))
			continue;
		ok = hsnap_vec_push(ret, (struct hsnap_inferred){ b, vote->type });
	}
	free(votes);
	return ok ? HSNAP_OK : hsnap_no_memory(err);
}
