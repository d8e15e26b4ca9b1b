/* SPDX-License-Identifier: MIT */
/*
 * claims.c - memory that several threads claim becomes the root of one.
 *
 * Stacks lie in one another where a thread runs on a block of another's stack, or where no more is
 * known of a stack than its mapping; and a target that lies can put all its threads on one, which
 * would then be gone through once for each.
 */
#include <stdlib.h>

#include "capture/roots/finder.h"

void hsnap_roots_claim(struct hsnap_root_finder *finder, uint64_t start, uint64_t end,
		       const struct hsnap_root_place *place)
{
	struct hsnap_root_claim claim = { start, end, *place, (uint32_t)finder->claims.num };
	if (start < end && !hsnap_vec_push(&finder->claims, claim))
		finder->no_memory = true;
}

/* Of those that begin at one place the longest comes first, and of equals the first one last: what comes last has it. */
static int by_start(const void *a, const void *b)
{
	const struct hsnap_root_claim *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->order > y->order ? -1 : x->order < y->order;
}

static int by_order(const void *a, const void *b)
{
	const struct hsnap_root_claim *x = a, *y = b;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

struct sweep {
	struct hsnap_root_finder *finder;
	struct hsnap_vec(size_t) open; /* claims that go on at `at`, the one that has it last */
	struct hsnap_root_claims pieces;
	uint64_t at;
};

/* Up to `end`, or to where the last open claim ends. */
static void give(struct sweep *sweep, uint64_t end)
{
	struct hsnap_root_claim piece = sweep->finder->claims.items[sweep->open.items[sweep->open.num - 1]];
	end = piece.end < end ? piece.end : end;
	if (sweep->at >= end)
		return;
	piece.start = sweep->at;
	piece.end = sweep->at = end;
	if (!hsnap_vec_push(&sweep->pieces, piece))
		sweep->finder->no_memory = true;
}

static void advance(struct sweep *sweep, uint64_t to)
{
	while (sweep->open.num) {
		give(sweep, to);
		if (sweep->finder->claims.items[sweep->open.items[sweep->open.num - 1]].end > to)
			break;
		sweep->open.num--;
	}
	sweep->at = to;
}

void hsnap_roots_settle(struct hsnap_root_finder *finder)
{
	struct sweep sweep = { .finder = finder };
	struct hsnap_root_claims *claims = &finder->claims;
	if (claims->num)
		qsort(claims->items, claims->num, sizeof(*claims->items), by_start);
	for (size_t i = 0; i < claims->num; i++) {
		advance(&sweep, claims->items[i].start);
		if (!hsnap_vec_push(&sweep.open, i))
			finder->no_memory = true;
	}
	advance(&sweep, UINT64_MAX);
	if (sweep.pieces.num)
		qsort(sweep.pieces.items, sweep.pieces.num, sizeof(*sweep.pieces.items), by_order);
	for (size_t i = 0; i < sweep.pieces.num; i++) {
		const struct hsnap_root_claim *piece = &sweep.pieces.items[i];
		hsnap_roots_add(finder, piece->start, piece->end, &piece->place);
	}
	hsnap_vec_deinit(&sweep.open);
	hsnap_vec_deinit(&sweep.pieces);
	hsnap_vec_deinit(claims);
}
