/* SPDX-License-Identifier: MIT */
/*
 * owned.c - whose a node is, for rules that hold "under" a place only.
 *
 * What a pointer at the place leads to is the place's, whatever it is; and from there on nodes of the types that
 * the rules are about, by declared pointers, directly or by way of arrays of pointers.
 */
#include "capture/naming/owned.h"

#include "capture/naming/pieces.h"
#include "capture/naming/walk.h"
#include "snapshot/base/cleanup.h"

#define MAX_DEPTH 32

struct owning {
	struct hsnap_work *work;
	struct hsnap_walk walk, kin;
	uint32_t hint;
	uint32_t bits;        /* of the block that is walked for its kin */
	uint64_t first, last; /* of a segment: only what is found at [first, last) of it is the owner's */
	uint64_t looks;       /* at members, that are left */
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
	if (work->symbols->variables.items[owner->variable].num_pieces)
		return !owner->when.num; /* what it asks for has no one place to count from */
	struct hsnap_values values = { .target = work->target, .base = work->symbols->variables.items[owner->variable].address };
	int64_t holds;
	return hsnap_user_run(work->user, owner->when, &values, &holds) && holds;
}

/* A segment of the owner's, which lies at [first, last) of what the segment lies `into` bytes in. */
static void walk_owner(struct owning *owning, const struct hsnap_segment *segment, const struct hsnap_bound_owner *owner, uint64_t into)
{
	uint64_t first = owner->offset, last = first + hsnap_dtype(owning->work->symbols, owner->member)->size;
	owning->bits = 1u << owner->bit;
	owning->first = first > into ? first - into : 0;
	owning->last = last > into ? last - into : 0;
	hsnap_walk_segment(&owning->kin, segment);
}

/* The member of a struct, or the element of an array, that has the offset; false: there is none. */
static bool step_down(struct owning *owning, hsnap_dtype_id *type, uint64_t *offset)
{
	const struct hsnap_work *work = owning->work;
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, *type);
	if (dtype->kind == HSNAP_DTYPE_ARRAY) {
		uint64_t each = hsnap_dtype(work->symbols, dtype->target)->size;
		*type = dtype->target;
		*offset = each ? *offset % each : 0;
		return each;
	}
	for (uint32_t i = 0; dtype->kind == HSNAP_DTYPE_STRUCT && i < dtype->num_members && owning->looks; i++, owning->looks--) {
		const struct hsnap_dmember *member = &work->symbols->members.items[dtype->first_member + i];
		uint64_t size = hsnap_dtype(work->symbols, member->type)->size;
		if (member->flags & (HSNAP_DMEMBER_VIRTUAL | HSNAP_DMEMBER_BITFIELD) || member->offset > *offset ||
		    *offset - member->offset >= size)
			continue;
		*type = member->type;
		*offset -= member->offset;
		return true;
	}
	return false;
}

/* An object of a variable that was taken apart: whose it is the types around it say, which lie nowhere as a whole. */
static void walk_piece(struct owning *owning, const struct hsnap_segment *segment)
{
	const struct hsnap_work *work = owning->work;
	const struct hsnap_bounds *bounds = &work->user->bounds;
	hsnap_dtype_id type = segment->whole;
	uint64_t into = segment->into;
	for (unsigned depth = 0; depth < MAX_DEPTH && work->plans.same[type] != segment->type; depth++) {
		struct hsnap_key key = { work->plans.same[type], 0 };
		for (uint32_t i = hsnap_keymap_get(&bounds->owned, key); i; i = bounds->owners.items[i - 1].next)
			if (!bounds->owners.items[i - 1].when.num)
				walk_owner(owning, segment, &bounds->owners.items[i - 1], into);
		if (!step_down(owning, &type, &into))
			break;
	}
}

static void walk_variables(struct owning *owning)
{
	struct hsnap_work *work = owning->work;
	const struct hsnap_bounds *bounds = &work->user->bounds;
	owning->kin.visit = see_variable;
	for (size_t i = 0; i < work->segments.num; i++)
		if (work->segments.items[i].whole && work->segments.items[i].type)
			walk_piece(owning, &work->segments.items[i]);
	for (size_t o = 0; o < bounds->owners.num; o++) {
		const struct hsnap_bound_owner *owner = &bounds->owners.items[o];
		if (owner->type || !holds_of(work, owner))
			continue;
		for (size_t i = 0; i < work->segments.num; i++)
			if (work->segments.items[i].variable == owner->variable + 1)
				walk_owner(owning, &work->segments.items[i], owner, work->segments.items[i].into);
	}
}

enum hsnap_code hsnap_find_owned(struct hsnap_work *work, struct hsnap_block_list *ret, struct hsnap_error *err)
{
	hsnap_auto(owning_deinit) struct owning owning = { .work = work, .marked = ret, .looks = HSNAP_PIECES_LOOKS };
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
