/* SPDX-License-Identifier: MIT */
/*
 * owned.c - whose a node is, for rules that hold "under" a place only.
 *
 * What a pointer at the place leads to is the place's, whatever it is; and from there on nodes of the types that
 * the rules are about, by declared pointers, directly or by way of arrays of pointers.
 */
#include "capture/naming/owned.h"

#include "capture/naming/walk.h"
#include "snapshot/base/cleanup.h"

struct owning {
	struct hsnap_work *work;
	struct hsnap_walk walk, kin;
	uint32_t hint;
	uint32_t bits;        /* of the block that is walked for its kin */
	uint64_t first, last; /* of a variable: only what is found at [first, last) of it is the owner's */
	struct hsnap_block_list queue;
	struct hsnap_block_list *marked;
	bool failed;          /* out of memory */
};

static void owning_deinit(struct owning *owning)
{
	hsnap_vec_deinit(&owning->queue);
}

/* The rules about the block's type that hold under one of these owners. */
static bool is_node(const struct hsnap_work *work, uint32_t b, uint32_t bits)
{
	const struct hsnap_bounds *bounds = &work->user->bounds;
	const struct hsnap_claim *claim = &work->claims[b];
	uint32_t i = claim->type ? hsnap_keymap_get(&bounds->holds, (struct hsnap_key){ claim->type, 0 }) : 0;
	for (; i; i = bounds->bounds.items[i].next)
		if (bounds->bounds.items[i].owners & bits)
			return true;
	return false;
}

static bool is_array(const struct hsnap_work *work, uint32_t b)
{
	const struct hsnap_claim *claim = &work->claims[b];
	return claim->form == HSNAP_FORM_RUN && hsnap_dtype(work->symbols, claim->type)->kind == HSNAP_DTYPE_POINTER;
}

static void mark(struct owning *owning, uint32_t b, uint32_t bits)
{
	uint32_t *owned = &owning->work->user->owned[b];
	if ((*owned & bits) == bits)
		return;
	*owned |= bits;
	if (!hsnap_vec_push(&owning->queue, b) || !hsnap_vec_push(owning->marked, b))
		owning->failed = true;
}

static void see_owned(void *context, const struct hsnap_found *found, uint32_t owner)
{
	struct owning *owning = context;
	uint32_t b = hsnap_block_at(owning->work, found->value, &owning->hint);
	if (b != HSNAP_NO_BLOCK)
		mark(owning, b, 1u << owner);
}

static void see_nothing(void *context, const struct hsnap_found *found)
{
	(void)context;
	(void)found;
}

static void see_variable(void *context, const struct hsnap_found *found)
{
	struct owning *owning = context;
	bool here = found->offset >= owning->first && found->offset < owning->last;
	uint32_t b = here ? hsnap_block_at(owning->work, found->value, &owning->hint) : HSNAP_NO_BLOCK;
	if (b != HSNAP_NO_BLOCK)
		mark(owning, b, owning->bits);
}

static void see_kin(void *context, const struct hsnap_found *found)
{
	struct owning *owning = context;
	uint32_t b = hsnap_block_at(owning->work, found->value, &owning->hint);
	if (b != HSNAP_NO_BLOCK && (is_array(owning->work, b) || is_node(owning->work, b, owning->bits)))
		mark(owning, b, owning->bits);
}

static bool holds_of(struct hsnap_work *work, const struct hsnap_bound_owner *owner)
{
	struct hsnap_values values = { .target = work->target, .base = work->symbols->variables.items[owner->variable].address };
	int64_t holds;
	return hsnap_user_run(work->user, owner->when, &values, &holds) && holds;
}

static void walk_variables(struct owning *owning)
{
	struct hsnap_work *work = owning->work;
	const struct hsnap_bounds *bounds = &work->user->bounds;
	owning->kin.visit = see_variable;
	for (size_t o = 0; o < bounds->owners.num; o++) {
		const struct hsnap_bound_owner *owner = &bounds->owners.items[o];
		if (owner->type || !holds_of(work, owner))
			continue;
		owning->bits = 1u << owner->bit;
		owning->first = owner->offset;
		owning->last = owner->offset + hsnap_dtype(work->symbols, owner->member)->size;
		for (size_t i = 0; i < work->segments.num; i++)
			if (work->segments.items[i].variable == owner->variable + 1)
				hsnap_walk_segment(&owning->kin, &work->segments.items[i]);
	}
}

enum hsnap_code hsnap_find_owned(struct hsnap_work *work, struct hsnap_block_list *ret, struct hsnap_error *err)
{
	hsnap_auto(owning_deinit) struct owning owning = { .work = work, .marked = ret };
	ret->num = 0;
	hsnap_walk_init(&owning.walk, work, see_nothing, &owning);
	hsnap_walk_init(&owning.kin, work, see_kin, &owning);
	owning.walk.see_owned = see_owned;
	for (size_t i = 0; i < work->segments.num && !owning.failed; i++)
		hsnap_walk_segment(&owning.walk, &work->segments.items[i]);
	for (uint32_t b = 0; b < work->num_blocks && !owning.failed; b++)
		hsnap_walk_block(&owning.walk, b);
	walk_variables(&owning);
	owning.kin.visit = see_kin;
	/* Blocks that were marked before may have got kin since. */
	for (uint32_t b = 0; b < work->num_blocks && !owning.failed; b++)
		if (work->user->owned[b] && !hsnap_vec_push(&owning.queue, b))
			owning.failed = true;
	while (owning.queue.num && !owning.failed) {
		uint32_t b = owning.queue.items[--owning.queue.num];
		owning.bits = work->user->owned[b];
		hsnap_walk_block(&owning.kin, b);
	}
	return owning.failed ? hsnap_no_memory(err) : HSNAP_OK;
}
