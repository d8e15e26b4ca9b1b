/* SPDX-License-Identifier: MIT */
/* walk.c - follows a type's plan over the memory of an object. */
#include "capture/naming/shapes.h"

#define MAX_DEPTH 64

void hsnap_walk_init(struct hsnap_walk *walk, struct hsnap_work *work,
		     void (*visit)(void *context, const struct hsnap_found *found), void *context)
{
	hsnap_window_init(&walk->reader, work->target);
	walk->work = work;
	walk->visit = visit;
	walk->context = context;
	walk->see_owned = NULL;
	walk->seeing_owned = false;
	walk->owners = 0;
}

/* The word at an address, or 0 where there is none before `end`. */
static uint64_t word_at(struct hsnap_walk *walk, uint64_t at, uint64_t end)
{
	uint64_t word = 0;
	if (at >= end || end - at < sizeof(word) || !hsnap_window_word(&walk->reader, at, &word))
		return 0;
	return word;
}

static void walk_plan(struct hsnap_walk *walk, hsnap_dtype_id type, uint64_t address, uint64_t end,
		      uint64_t offset, unsigned depth);

/* What it leads to, and the object that it holds in itself. */
static void walk_container(struct hsnap_walk *walk, const struct hsnap_slot *slot, uint64_t at, uint64_t end,
			   uint64_t offset, unsigned depth)
{
	const struct hsnap_plans *plans = &walk->work->plans;
	const struct hsnap_container container = plans->containers.items[slot->count]; /* plans may be made on the way */
	uint64_t size = hsnap_dtype(walk->work->symbols, container.type)->size;
	hsnap_dtype_id type;
	if (at >= end || end - at < size || depth == MAX_DEPTH || !walk->budget)
		return;
	walk->budget--;
	if (hsnap_shape_content(walk->work, &container, at, &type) == HSNAP_CONTENT_OBJECT)
		walk_plan(walk, type, at + container.offsets[0], end, offset + container.offsets[0], depth + 1);
	else
		hsnap_shape_walk(walk, &container, at, offset);
}

static void visit_found(struct hsnap_walk *walk, struct hsnap_found *found)
{
	if (walk->seeing_owned) {
		walk->see_owned(walk->context, found, walk->owner);
		return;
	}
	if (walk->work->user && found->kind == HSNAP_SLOT_POINTER)
		hsnap_user_refine(walk, found);
	walk->visit(walk->context, found);
}

static void visit_slot(struct hsnap_walk *walk, const struct hsnap_slot *slot, uint64_t at, uint64_t end,
		       uint64_t offset, bool in_array)
{
	struct hsnap_found found = { .offset = offset, .value = word_at(walk, at, end), .at = at, .type = slot->type,
				     .kind = slot->kind, .in_array = in_array };
	if (slot->kind == HSNAP_SLOT_NODE && slot->count) {
		/* From a node that no container leads to nobody knows whether it is the header that has no value. */
		if (found.value < slot->count || !hsnap_is_linked(walk->work, at - offset))
			return;
		found.value -= slot->count;
		found.linked = true;
	}
	/* The head of a ring of nodes is none. */
	if (!found.value || (slot->kind == HSNAP_SLOT_NODE && hsnap_is_head(walk->work, found.value)))
		return;
	visit_found(walk, &found);
}

/* What an owner's place leads to. */
static void visit_owned(struct hsnap_walk *walk, const struct hsnap_slot *slot, uint64_t at, uint64_t end, uint64_t offset,
			unsigned depth)
{
	const struct hsnap_bound_owner *owner = &walk->work->user->bounds.owners.items[slot->count];
	struct hsnap_values values = { .target = walk->work->target, .base = at };
	int64_t holds;
	if (!walk->see_owned || walk->seeing_owned || at >= end || owner->offset >= end - at || depth == MAX_DEPTH)
		return;
	if (!hsnap_user_run(walk->work->user, owner->when, &values, &holds) || !holds)
		return;
	walk->seeing_owned = true;
	walk->owner = owner->bit;
	walk_plan(walk, owner->member, at + owner->offset, end, offset + owner->offset, depth + 1);
	walk->seeing_owned = false;
}

/* What only the user knows of: rules, and owners. */
static void visit_user_slot(struct hsnap_walk *walk, const struct hsnap_slot *slot, uint64_t at, uint64_t end, uint64_t offset,
			    unsigned depth)
{
	if (slot->kind == HSNAP_SLOT_OWNER)
		visit_owned(walk, slot, at, end, offset, depth);
	else
		hsnap_user_visit(walk, (uint32_t)slot->count, at, end, offset);
}

/* `offset`: of this object in the outermost one. */
static void walk_plan(struct hsnap_walk *walk, hsnap_dtype_id type, uint64_t address, uint64_t end,
		      uint64_t offset, unsigned depth)
{
	const struct hsnap_plan *plan = hsnap_plan_of(&walk->work->plans, type);
	if (!depth)
		walk->budget = hsnap_dtype(walk->work->symbols, type)->size;
	for (uint32_t i = 0; i < plan->num; i++) {
		const struct hsnap_slot *slot = &plan->slots[i];
		uint64_t at = address + slot->offset;
		if (slot->kind == HSNAP_SLOT_CONTAINER)
			walk_container(walk, slot, at, end, offset + slot->offset, depth);
		else if (slot->kind == HSNAP_SLOT_USER || slot->kind == HSNAP_SLOT_OWNER)
			visit_user_slot(walk, slot, at, end, offset + slot->offset, depth);
		else if (slot->kind != HSNAP_SLOT_EACH)
			visit_slot(walk, slot, at, end, offset + slot->offset, depth > 0);
		if (slot->kind != HSNAP_SLOT_EACH)
			continue;
		uint64_t each = hsnap_dtype(walk->work->symbols, slot->type)->size;
		for (uint64_t n = 0; n < slot->count && at < end && depth < MAX_DEPTH; n++, at += each)
			walk_plan(walk, slot->type, at, end, offset + (at - address), depth + 1);
	}
}

void hsnap_walk_object(struct hsnap_walk *walk, hsnap_dtype_id type, uint64_t address, uint64_t end)
{
	if (address < walk->reader.start || end > walk->reader.end)
		hsnap_window_open(&walk->reader, address, end);
	walk->owners = 0;
	walk_plan(walk, type, address, end, 0, 0);
}

/* Objects of a type, one after the other, from `at` to `end`. */
static void walk_run(struct hsnap_walk *walk, hsnap_dtype_id type, uint64_t at, uint64_t end, uint64_t offset)
{
	uint64_t each = hsnap_dtype(walk->work->symbols, type)->size;
	if (!each || !hsnap_plan_of(&walk->work->plans, type)->num)
		return;
	for (; at < end && end - at >= each; at += each)
		walk_plan(walk, type, at, end, offset, 0);
}

void hsnap_walk_block(struct hsnap_walk *walk, uint32_t b)
{
	const struct hsnap_claim *claim = &walk->work->claims[b];
	uint64_t start = hsnap_object_start(walk->work, b), end = start + hsnap_object_room(walk->work, b);
	if (!claim->type || (claim->form != HSNAP_FORM_ONE && claim->form != HSNAP_FORM_RUN))
		return;
	if (start < walk->reader.start || end > walk->reader.end)
		hsnap_window_open(&walk->reader, start, end);
	walk->owners = walk->work->user && walk->work->user->owned ? walk->work->user->owned[b] : 0;
	if (claim->form == HSNAP_FORM_RUN) {
		walk_run(walk, claim->type, start + hsnap_live_first(walk->work, b), start + hsnap_live_bytes(walk->work, b), 0);
		return;
	}
	walk_plan(walk, claim->type, start, end, 0, 0);
	const struct hsnap_plan *plan = hsnap_plan_of(&walk->work->plans, claim->type);
	if (plan->tail)
		walk_run(walk, plan->tail, start + plan->tail_offset, end, plan->tail_offset);
}

void hsnap_walk_next(struct hsnap_walk *walk, uint32_t b)
{
	hsnap_fetch_ahead(walk->work, &walk->reader, b);
	hsnap_walk_block(walk, b);
}

void hsnap_walk_segment(struct hsnap_walk *walk, const struct hsnap_segment *segment)
{
	if (!segment->type)
		return;
	if (segment->size) {
		hsnap_walk_object(walk, segment->type, segment->address, segment->address + segment->size);
		return;
	}
	const struct hsnap_dtype *type = hsnap_dtype(walk->work->symbols, segment->type);
	struct hsnap_found found = { .value = segment->value, .type = walk->work->plans.same[type->target],
				     .kind = HSNAP_SLOT_POINTER };
	if (type->kind == HSNAP_DTYPE_POINTER && found.value)
		visit_found(walk, &found);
}
