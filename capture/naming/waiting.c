/* SPDX-License-Identifier: MIT */
/*
 * waiting.c - blocks that wait until all that is plain has been said: pointers to pointers lead to them, or they
 * are a little larger than what a pointer says.
 */
#include "capture/naming/push.h"

#define FEW_FITS 8u
#define FEW_USED 4u /* elements of an array that is not full: what a stale pointer leads to may begin with two */
#define MAX_LOOKED 1024u /* elements of an array without a name that are looked at */
#define MOST_REST 31u /* bytes that glibc does not split off */

void hsnap_push_wait(struct push *push, uint32_t b, hsnap_dtype_id pointer, uint64_t at)
{
	if ((push->work->claims[b].evidence >= HSNAP_EVIDENCE_POINTER && !hsnap_may_be_array(push->work, b)) ||
	    hsnap_push_seen_before(push, b, push->sure ? HSNAP_SEEN_SURE_POINTER : HSNAP_SEEN_POINTER, pointer))
		return;
	if (!hsnap_vec_push(&push->waiting, (struct waiting){ b, pointer, push->sure, at }))
		push->failed = true;
}

/* Is it the member of an object whose name is known, and of that type? */
static bool is_member(const struct hsnap_work *work, uint32_t b, uint64_t value, hsnap_dtype_id type)
{
	const struct hsnap_claim *claim = &work->claims[b];
	uint64_t offset = value - hsnap_object_start(work, b), size = hsnap_dtype(work->symbols, claim->type)->size;
	return claim->evidence >= HSNAP_EVIDENCE_RUN && claim->form != HSNAP_FORM_BYTES && size && value >= hsnap_object_start(work, b) &&
	       hsnap_has_member(work, claim->type, type, claim->form == HSNAP_FORM_RUN ? offset % size : offset);
}

/* Does it point to such an object within a block, or to the first of several? */
static bool is_inside(struct push *push, uint64_t value, hsnap_dtype_id type)
{
	struct hsnap_work *work = push->work;
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, type);
	uint32_t b = dtype->kind == HSNAP_DTYPE_STRUCT && dtype->size && value % 8 == 0
			     ? hsnap_block_index_find(&work->index, value, &push->hint) : HSNAP_NO_BLOCK;
	if (b == HSNAP_NO_BLOCK)
		return false;
	if (is_member(work, b, value, type))
		return true;
	struct hsnap_part part = { .block = b, .address = value, .type = type };
	bool within = value != hsnap_object_start(work, b);
	bool found = hsnap_has_room(work, b, value, dtype->size) && (within || dtype->size <= hsnap_object_room(work, b) / 2) &&
		     hsnap_part_stands(work, &part);
	push->inside[type] |= found && within;
	return found;
}

/*
 * Programs that keep a count beside an array leave in it what they have freed: such a pointer leads to what has
 * been made there since.  Where the block has no name yet, its words must not contradict.
 */
static bool is_somebody_elses(struct push *push, uint64_t value, hsnap_dtype_id type, unsigned *looked)
{
	struct hsnap_work *work = push->work;
	uint32_t b = hsnap_dtype(work->symbols, type)->kind == HSNAP_DTYPE_STRUCT && *looked < MAX_LOOKED
			     ? hsnap_block_at(work, value, &push->hint) : HSNAP_NO_BLOCK;
	if (b == HSNAP_NO_BLOCK || work->claims[b].evidence >= HSNAP_EVIDENCE_RUN)
		return false;
	++*looked;
	bool held = hsnap_numbers_hold_blocks(&push->looks, type, value);
	push->failed |= push->looks.failed;
	return held;
}

/* Is each of the first words of the block null or a pointer such as it is said to hold? */
static bool are_targets(struct push *push, const struct waiting *waiting, uint64_t num)
{
	uint64_t start = hsnap_object_start(push->work, waiting->block), word;
	hsnap_dtype_id lone = hsnap_lone_pointer(push->work, waiting->pointer);
	hsnap_dtype_id type = lone ? lone : hsnap_dtype(push->work->symbols, waiting->pointer)->target;
	unsigned looked = 0;
	hsnap_window_open(&push->walk.reader, start, start + num * 8);
	for (uint64_t at = start; at < start + num * 8; at += 8)
		if (!hsnap_window_word(&push->walk.reader, at, &word) ||
		    !(hsnap_is_target(push->work, word, type, &push->hint) || is_inside(push, word, type)) ||
		    is_somebody_elses(push, word, type, &looked))
			return false;
	return num;
}

static bool fills_block(struct push *push, const struct waiting *waiting)
{
	struct hsnap_work *work = push->work;
	uint64_t room = hsnap_object_room(work, waiting->block);
	bool requested = hsnap_is_requested(work, &work->heap->blocks.items[waiting->block]);
	return !(requested && room % 8) && are_targets(push, waiting, room / 8);
}

/* Words of the block before its first null. */
static uint64_t count_to_null(const struct hsnap_work *work, uint32_t b)
{
	uint64_t num = 0, most = hsnap_object_room(work, b) / 8, word;
	while (num < most && hsnap_target_word(work->target, hsnap_object_start(work, b) + num * 8, &word) && word)
		num++;
	return num;
}

/* An object has the block already; but where a stale pointer says so, it is the array for which it was made anew. */
static void contradict(struct push *push, const struct waiting *waiting)
{
	struct hsnap_stale stale = { .block = waiting->block };
	if (!waiting->sure || !hsnap_may_be_array(push->work, stale.block))
		return;
	if (fills_block(push, waiting))
		stale.pointer = waiting->pointer;
	else if (!are_targets(push, waiting, count_to_null(push->work, stale.block)))
		return;
	if (!hsnap_vec_push(&push->work->stale, stale))
		push->failed = true;
}

static void take_one(struct push *push, const struct waiting *waiting)
{
	struct hsnap_work *work = push->work;
	uint32_t b = waiting->block;
	uint64_t used = 0;
	enum hsnap_evidence evidence = waiting->sure ? HSNAP_EVIDENCE_POINTER : HSNAP_EVIDENCE_FOLLOWED;
	if (work->claims[b].evidence >= evidence) {
		contradict(push, waiting);
		return;
	}
	bool whole = fills_block(push, waiting);
	if (!whole)
		used = hsnap_count_used(work, b, waiting->at);
	if (!whole && (used < FEW_USED || !are_targets(push, waiting, used))) {
		hsnap_reject_claim(work, b, waiting->pointer, HSNAP_FORM_RUN, evidence, HSNAP_VERDICT_LOOK);
		return;
	}
	hsnap_push_claim(push, b, waiting->pointer, HSNAP_FORM_RUN, evidence);
	if (!whole && work->claims[b].evidence == evidence) {
		push->failed |= !hsnap_set_live(work, b, 0, used * 8);
		if (!push->failed)
			work->bodies.items[work->body_of[b] - 1].unproved = true;
	}
	hsnap_push_drain(push);
}

/* Arrays of pointers, once structs have had their say; what they hold may lead to more.  Those that sure
 * places lead to come first, also the ones found on the way. */
void hsnap_push_take_waiting(struct push *push)
{
	while (!push->failed) {
		while (push->waited < push->waiting.num && !push->waiting.items[push->waited].sure)
			push->waited++;
		while (push->doubted < push->waiting.num && push->waiting.items[push->doubted].sure)
			push->doubted++;
		if (push->waited == push->waiting.num && push->doubted == push->waiting.num)
			break;
		struct waiting waiting = push->waiting.items[push->waited < push->waiting.num ? push->waited++ : push->doubted++];
		take_one(push, &waiting);
	}
}

void hsnap_push_note_odd(struct push *push, uint32_t b, hsnap_dtype_id type)
{
	if (push->work->claims[b].evidence < HSNAP_EVIDENCE_POINTER &&
	    !hsnap_vec_push(&push->odd, (struct odd){ b, type, push->sure }))
		push->failed = true;
}

/*
 * Now and then malloc does not split off what is too little for a chunk of its own.  It is that, and no
 * larger object that the pointer knows the beginning of, if hardly any other block is not of the type's
 * size and no type begins with this one.
 */
static bool may_be_odd(struct push *push, hsnap_dtype_id type)
{
	const struct fits *fits = &push->fits[type];
	const struct hsnap_symbols *symbols = push->work->symbols;
	uint64_t size = hsnap_dtype(symbols, type)->size;
	if (fits->good < FEW_FITS || (uint64_t)fits->bad * 20 > fits->good)
		return false;
	for (hsnap_dtype_id other = 1; other < symbols->types.num; other++) {
		const struct hsnap_dtype *dtype = hsnap_dtype(symbols, other);
		if (dtype->kind == HSNAP_DTYPE_STRUCT && dtype->size > size && dtype->size <= size + MOST_REST &&
		    hsnap_starts_with(&push->work->plans, other, type))
			return false;
	}
	return true;
}

void hsnap_push_take_odd(struct push *push)
{
	hsnap_dtype_id last = 0;
	bool good = false;
	for (; push->taken < push->odd.num && !push->failed; push->taken++) {
		struct odd odd = push->odd.items[push->taken];
		if (push->work->claims[odd.block].evidence >= HSNAP_EVIDENCE_POINTER)
			continue;
		if (odd.type != last)
			good = may_be_odd(push, odd.type);
		last = odd.type;
		if (!good)
			continue;
		hsnap_push_claim(push, odd.block, odd.type, HSNAP_FORM_ONE, odd.sure ? HSNAP_EVIDENCE_POINTER : HSNAP_EVIDENCE_FOLLOWED);
		hsnap_push_drain(push);
		hsnap_push_take_waiting(push);
	}
}
