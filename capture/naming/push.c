/* SPDX-License-Identifier: MIT */
/*
 * push.c - types pushed along declared pointers, from all typed places at once.
 *
 * Typed places are variables and blocks with a name; a block that gets one is
 * put on the work list and becomes a typed place itself.  A pointer to pointers
 * waits until no struct claims its block (typing a link field's neighbour as an
 * array makes a cascade of nonsense).  What only a doubtful place leads to is
 * doubtful too (HSNAP_EVIDENCE_FOLLOWED): such places come last, and one that turns
 * out to be sure is walked again.
 *
 * When that is done it is the turn of opaque handles, then of what blocks have from their
 * kin, and then of what one container's void pointers lead to.
 */
#include <stdlib.h>

#include "capture/naming/freed.h"
#include "capture/naming/pools.h"
#include "capture/naming/push.h"
#include "snapshot/base/cleanup.h"
#include "snapshot/base/pages.h"

static void push_deinit(struct push *push)
{
	hsnap_vec_deinit(&push->queue);
	hsnap_vec_deinit(&push->doubtful);
	hsnap_vec_deinit(&push->waiting);
	hsnap_vec_deinit(&push->odd);
	hsnap_vec_deinit(&push->handles);
	hsnap_vec_deinit(&push->again);
	free(push->inside);
	hsnap_looks_deinit(&push->looks);
	hsnap_inners_deinit(&push->inners);
	free(push->fits);
	hsnap_keymap_deinit(&push->more);
	for (int what = 0; what < HSNAP_NUM_FIRST; what++)
		hsnap_pages_free(push->first[what], push->work->num_blocks, sizeof(*push->first[what]));
}

/* It will be walked soon, wherever in memory it lies: half of the time of a walk was waiting for its first line. */
static void fetch_early(const struct hsnap_work *work, uint32_t b)
{
	const void *bytes = hsnap_target_view(work->target, work->heap->blocks.items[b].address, sizeof(uint64_t));
	if (bytes)
		__builtin_prefetch(bytes);
}

/* What it leads to is to be seen, or seen again. */
void hsnap_push_enqueue(struct push *push, uint32_t b)
{
	if (!(hsnap_push_is_sure(push, b) ? hsnap_vec_push(&push->queue, b) : hsnap_vec_push(&push->doubtful, b)))
		push->failed = true;
	fetch_early(push->work, b);
}

void hsnap_push_claim(struct push *push, uint32_t b, hsnap_dtype_id type, enum hsnap_form form,
		      enum hsnap_evidence evidence)
{
	if (hsnap_claim_block(push->work, b, type, form, evidence))
		hsnap_push_enqueue(push, b);
}

bool hsnap_push_seen_before(struct push *push, uint32_t b, int what, hsnap_dtype_id type)
{
	bool is_new = false;
	hsnap_dtype_id *first = what < HSNAP_NUM_FIRST ? &push->first[what][b] : NULL;
	if (first && *first == type)
		return true;
	if (first && !*first) {
		*first = type;
		return false;
	}
	if (!hsnap_keymap_at(&push->more, (struct hsnap_key){ (uint64_t)what << 32 | b, type }, &is_new))
		push->failed = true;
	return !is_new;
}

void hsnap_push_walk_block(struct push *push, uint32_t b)
{
	push->sure = hsnap_push_is_sure(push, b);
	push->place = push->work->claims[b].type;
	hsnap_walk_block(&push->walk, b);
}

void hsnap_push_drain(struct push *push)
{
	while (!push->failed && (push->queue.num || push->doubtful.num)) {
		if (push->queue.num) {
			hsnap_push_walk_block(push, push->queue.items[--push->queue.num]);
			continue;
		}
		uint32_t b = push->doubtful.items[--push->doubtful.num];
		if (!hsnap_push_is_sure(push, b)) /* else it was walked meanwhile */
			hsnap_push_walk_block(push, b);
	}
}

/* All that the queues and what they lead to have to say; opaque handles when all else is said. */
void hsnap_push_settle(struct push *push)
{
	hsnap_push_drain(push);
	hsnap_push_take_waiting(push);
	hsnap_push_take_odd(push);
	hsnap_push_walk_parts(push);
	for (; push->handled < push->handles.num && !push->failed; push->handled++) {
		struct handle handle = push->handles.items[push->handled];
		push->sure = true; /* what it says is inferred in any case */
		hsnap_push_pointer(push, handle.block, handle.type, 0, HSNAP_EVIDENCE_ALIAS);
		hsnap_push_drain(push);
		hsnap_push_take_waiting(push);
		hsnap_push_take_odd(push);
		hsnap_push_walk_parts(push);
	}
}

enum hsnap_code hsnap_push_types(struct hsnap_work *work, struct hsnap_error *err)
{
	if (!work->symbols)
		return HSNAP_OK;
	hsnap_auto(push_deinit) struct push push = { .work = work };
	for (int what = 0; what < HSNAP_NUM_FIRST; what++) {
		push.first[what] = hsnap_pages_alloc(work->num_blocks, sizeof(*push.first[what]));
		if (!push.first[what])
			return hsnap_no_memory(err);
	}
	push.fits = calloc(work->symbols->types.num, sizeof(*push.fits));
	push.inside = calloc(work->symbols->types.num, sizeof(*push.inside));
	if (!push.fits || !push.inside || !hsnap_looks_init(&push.looks, work))
		return hsnap_no_memory(err);
	hsnap_walk_init(&push.walk, work, hsnap_push_visit, &push);
	hsnap_window_init(&push.counts, work->target);
	push.sure = true; /* of a variable is declared what it is */
	for (size_t i = 0; i < work->segments.num && !push.failed; i++) {
		uint8_t kind = work->segments.items[i].root.kind;
		push.in_frame = kind == HSNAP_ROOT_STACK || kind == HSNAP_ROOT_REGISTER;
		hsnap_walk_segment(&push.walk, &work->segments.items[i]);
	}
	push.in_frame = false;
	for (uint32_t b = 0; b < work->num_blocks && !push.failed; b++)
		if (work->claims[b].evidence >= HSNAP_EVIDENCE_SITE)
			hsnap_push_walk_block(&push, b);
	hsnap_push_settle(&push);
	enum hsnap_code code = hsnap_push_take_owned(&push, err);
	hsnap_naming_begin(work, "kin");
	if (!code)
		hsnap_push_take_any(&push);
	if (!code)
		code = hsnap_push_infer(&push, err);
	hsnap_naming_begin(work, "landings");
	if (!code)
		code = hsnap_push_take_landings(&push, err);
	hsnap_naming_begin(work, "pools");
	if (!code)
		code = hsnap_find_freed(work, err);
	if (!code)
		hsnap_push_settle(&push);
	if (!code)
		code = hsnap_push_take_arrays(&push, err);
	hsnap_parts_close(&work->parts);
	if (!code)
		code = hsnap_find_slabs(work, &push.inners, err);
	if (!code)
		code = hsnap_push_say_what_was_cut(&push, err);
	if (code)
		return code;
	return push.failed || work->plans.failed || work->losers.failed ? hsnap_no_memory(err) : HSNAP_OK;
}
