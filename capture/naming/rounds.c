/* SPDX-License-Identifier: MIT */
/*
 * rounds.c - what is found out once all declared pointers have been followed: by the owners that rules know, by kin, by
 * containers.  What it names is followed in turn.
 */
#include "capture/naming/landings.h"
#include "capture/naming/owned.h"
#include "capture/naming/pools.h"
#include "capture/naming/push.h"

#define LANDING_ROUNDS 4 /* containers that hang on others' void members */
#define OWNED_ROUNDS 8   /* containers that hang on what a rule named under another */
#define OUTER_ROUNDS 16  /* lists whose heads are in what another list named */

static void take_inferred(struct push *push, const struct hsnap_inferred_list *list, enum hsnap_form form,
			  enum hsnap_evidence evidence)
{
	for (size_t i = 0; i < list->num && !push->failed; i++)
		hsnap_push_claim(push, list->items[i].block, list->items[i].type, form, evidence);
	hsnap_push_settle(push);
}

static void see_link(void *context, const struct hsnap_found *found)
{
	struct push *push = context;
	uint32_t b = hsnap_block_index_find(&push->work->index, found->value, &push->hint);
	if (b != HSNAP_NO_BLOCK)
		hsnap_push_note_inner(push, b, found);
}

/*
 * A list's nodes lead from one to the next, and only the first to be seen is what a typed place leads to.
 * Returns how many are followed by now.
 */
static size_t follow_inners(struct push *push, size_t first)
{
	struct hsnap_work *work = push->work;
	struct hsnap_walk walk;
	hsnap_walk_init(&walk, work, see_link, push);
	size_t i = first;
	for (; i < push->inners.items.num && !push->failed; i++) {
		struct hsnap_inner inner = push->inners.items.items[i];
		uint64_t at = hsnap_object_start(work, inner.block) + inner.offset, size = hsnap_dtype(work->symbols, inner.type)->size;
		if (work->claims[inner.block].evidence < HSNAP_EVIDENCE_INTRUSIVE && hsnap_has_room(work, inner.block, at, size))
			hsnap_walk_object(&walk, inner.type, at, at + size);
	}
	return i;
}

/* What lists run through; they may have heads of others. */
static enum hsnap_code take_outer(struct push *push, struct hsnap_error *err)
{
	enum hsnap_code code = HSNAP_OK;
	size_t followed = 0;
	for (unsigned round = 0; round < OUTER_ROUNDS && followed < push->inners.items.num && !code && !push->failed; round++) {
		struct hsnap_inferred_list list = { 0 };
		followed = follow_inners(push, followed);
		code = hsnap_find_outer(push->work, &push->inners, &list, err);
		if (!code)
			take_inferred(push, &list, HSNAP_FORM_ONE, HSNAP_EVIDENCE_INTRUSIVE);
		hsnap_vec_deinit(&list);
	}
	return code;
}

/* What blocks have from their kin, once all is said that can be proved. */
enum hsnap_code hsnap_push_infer(struct push *push, struct hsnap_error *err)
{
	struct hsnap_inferred_list list = { 0 };
	enum hsnap_code code = take_outer(push, err);
	if (!code)
		code = hsnap_find_consensus(push->work, &list, err);
	if (!code)
		take_inferred(push, &list, HSNAP_FORM_ONE, HSNAP_EVIDENCE_CONSENSUS);
	hsnap_vec_deinit(&list);
	return code;
}

/* Blocks and objects within them that only void pointers lead to; they may hold more of these. */
enum hsnap_code hsnap_push_take_landings(struct push *push, struct hsnap_error *err)
{
	enum hsnap_code code = HSNAP_OK;
	bool any = true;
	for (unsigned round = 0; round < LANDING_ROUNDS && any && !code && !push->failed; round++) {
		struct hsnap_landed_list list = { 0 };
		size_t parts = push->work->parts.num, blocks = 0;
		code = hsnap_find_landings(push->work, &list, err);
		push->sure = false;
		for (size_t i = 0; i < list.num && !code; i++) {
			const struct hsnap_landed *landed = &list.items[i];
			bool bytes = hsnap_dtype(push->work->symbols, landed->type)->kind == HSNAP_DTYPE_BYTE;
			if (hsnap_object_start(push->work, landed->block) != landed->address) {
				hsnap_push_note_part(push, landed->block, landed->type, landed->address);
				continue;
			}
			hsnap_push_claim(push, landed->block, landed->type, bytes ? HSNAP_FORM_BYTES : HSNAP_FORM_ONE, HSNAP_EVIDENCE_LANDING);
			blocks += !bytes; /* which lead to nothing more */
		}
		hsnap_vec_deinit(&list);
		any = blocks || push->work->parts.num > parts;
		hsnap_push_settle(push);
	}
	return code;
}

/* What is an array, whatever its objects' pointers lead to by now. */
enum hsnap_code hsnap_push_take_arrays(struct push *push, struct hsnap_error *err)
{
	struct hsnap_inferred_list list = { 0 };
	enum hsnap_code code = hsnap_find_arrays(push->work, &list, err);
	if (!code && list.num)
		take_inferred(push, &list, HSNAP_FORM_RUN, HSNAP_EVIDENCE_RUN);
	hsnap_vec_deinit(&list);
	return code;
}

/* What rules say that hold under an owner only; what they name may be an owner's, or hold others. */
enum hsnap_code hsnap_push_take_owned(struct push *push, struct hsnap_error *err)
{
	enum hsnap_code code = HSNAP_OK;
	struct hsnap_block_list list = { 0 };
	bool any = push->work->user && push->work->user->owned;
	for (unsigned round = 0; round < OWNED_ROUNDS && any && !code && !push->failed; round++) {
		code = hsnap_find_owned(push->work, &list, err);
		any = list.num;
		for (size_t i = 0; i < list.num && !code && !push->failed; i++)
			hsnap_push_walk_block(push, list.items[i]);
		hsnap_push_settle(push);
	}
	hsnap_vec_deinit(&list);
	return code;
}

void hsnap_push_take_any(struct push *push)
{
	struct hsnap_work *work = push->work;
	struct hsnap_found found;
	for (uint32_t b = 0; work->user && work->user->bounds.any && b < work->num_blocks && !push->failed; b++) {
		if (hsnap_push_is_sure(push, b) || !hsnap_user_ask(&push->walk, b, &found) ||
		    (!found.extra && hsnap_plan_of(&work->plans, found.type)->tail))
			continue; /* of what may have any size the size tells nothing */
		push->sure = true;
		hsnap_push_user(push, b, &found);
	}
	hsnap_push_settle(push);
}
