/* SPDX-License-Identifier: MIT */
/*
 * layouts.c - the plans of all types that blocks and roots have, as bitmaps for the scan.
 *
 * Between a bool and the next member stands what the memory held before: such a
 * word is no pointer.  What a pointer may be hidden in is a number as large as
 * one, bytes, arrays of numbers, and a union.
 */
#include <stdlib.h>

#include "capture/naming/shapes.h"

#define MAX_SIZE ((uint64_t)64 << 20) /* a larger type's words are all weak */
#define MAX_DEPTH 64

/* Does the pointer lead to whole words?  With other low bits it is tagged. */
static bool is_aligned(const struct hsnap_symbols *symbols, const struct hsnap_slot *slot)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, slot->type);
	return (dtype->kind == HSNAP_DTYPE_STRUCT || dtype->kind == HSNAP_DTYPE_POINTER) && dtype->size &&
	       !(dtype->size % 8) && (slot->kind == HSNAP_SLOT_POINTER || slot->kind == HSNAP_SLOT_NODE || slot->kind == HSNAP_SLOT_ARRAY);
}

static void set_bit(uint64_t *bits, uint64_t offset)
{
	bits[offset / 512] |= (uint64_t)1 << (offset / 8 % 64);
}

/* A word at an offset holds a pointer; of those that stand between words there is a list. */
static bool mark_word(const struct hsnap_symbols *symbols, struct hsnap_layout *layout, const struct hsnap_slot *slot,
		      uint64_t at)
{
	if (at >= layout->size)
		return true;
	if ((at % 8 || layout->size % 8) && layout->size - at >= 8 && !hsnap_vec_push(&layout->packed, (uint32_t)at))
		return false;
	if (at % 8)
		return true;
	set_bit(layout->strong, at);
	if (is_aligned(symbols, slot))
		set_bit(layout->aligned, at);
	return true;
}

/* A container's own words, and its storage. */
struct marking {
	struct hsnap_work *work;
	struct hsnap_layout *layout;
	const struct hsnap_slot *slot;
	uint64_t at;
	bool failed; /* out of memory */
};

static void see_word(void *context, uint64_t offset)
{
	struct marking *marking = context;
	marking->failed |= !mark_word(marking->work->symbols, marking->layout, marking->slot, marking->at + offset);
}

static bool mark_container(struct hsnap_work *work, struct hsnap_layout *layout, const struct hsnap_slot *slot, uint64_t at)
{
	const struct hsnap_container container = work->plans.containers.items[slot->count];
	struct marking marking = { work, layout, slot, at, false };
	struct hsnap_storage region = { .at = at, .container = (uint32_t)slot->count };
	hsnap_shape_words(&container, see_word, &marking);
	if (!hsnap_shape_storage(work->symbols, &container, &region.start, &region.end))
		return !marking.failed;
	region.start += at;
	region.end += region.start;
	return !marking.failed && hsnap_vec_push(&layout->regions, region);
}

/* false: out of memory. */
static bool mark(struct hsnap_work *work, struct hsnap_layout *layout, hsnap_dtype_id type, uint64_t offset,
		 unsigned depth)
{
	const struct hsnap_plan *plan = hsnap_plan_of(&work->plans, type);
	for (uint32_t i = 0; i < plan->num; i++) {
		const struct hsnap_slot *slot = &plan->slots[i];
		uint64_t at = offset + slot->offset;
		if (slot->kind == HSNAP_SLOT_USER || slot->kind == HSNAP_SLOT_OWNER)
			continue; /* no word of the type's own */
		if (slot->kind == HSNAP_SLOT_EACH) {
			uint64_t each = hsnap_dtype(work->symbols, slot->type)->size;
			for (uint64_t n = 0; n < slot->count && at < layout->size && depth < MAX_DEPTH; n++, at += each)
				if (!mark(work, layout, slot->type, at, depth + 1))
					return false;
			continue;
		}
		if (!(slot->kind == HSNAP_SLOT_CONTAINER ? mark_container(work, layout, slot, at)
							   : mark_word(work->symbols, layout, slot, at)))
			return false;
	}
	return true;
}

/* What is left of the work that one type is worth; hostile members overlap without end. */
struct budget {
	uint64_t steps;
};

static void mark_region(struct hsnap_layout *layout, uint64_t start, uint64_t size)
{
	uint64_t end = start + size < layout->size ? start + size : layout->size;
	for (uint64_t at = (start + 7) / 8 * 8; at < end && end - at >= 8; at += 8)
		set_bit(layout->possible, at);
}

static bool mark_possible(const struct hsnap_symbols *symbols, struct hsnap_layout *layout, hsnap_dtype_id type,
			  uint64_t offset, struct budget *budget, unsigned depth);

static bool mark_elements(const struct hsnap_symbols *symbols, struct hsnap_layout *layout,
			  const struct hsnap_dtype *array, uint64_t offset, struct budget *budget, unsigned depth)
{
	const struct hsnap_dtype *element = hsnap_dtype(symbols, array->target);
	if (element->kind != HSNAP_DTYPE_STRUCT && element->kind != HSNAP_DTYPE_ARRAY) {
		mark_region(layout, offset, array->size);
		return true;
	}
	bool done = true;
	for (uint64_t n = 0; done && element->size && n < array->count && offset < layout->size; n++) {
		done = mark_possible(symbols, layout, array->target, offset, budget, depth + 1);
		offset += element->size;
	}
	return done;
}

static bool mark_members(const struct hsnap_symbols *symbols, struct hsnap_layout *layout,
			 const struct hsnap_dtype *dtype, uint64_t offset, struct budget *budget, unsigned depth)
{
	bool done = dtype->num_members; /* where nothing is known, anything is possible */
	for (uint32_t m = 0; done && m < dtype->num_members; m++) {
		const struct hsnap_dmember *member = &symbols->members.items[dtype->first_member + m];
		done = !(member->flags & HSNAP_DMEMBER_VIRTUAL) && member->offset <= dtype->size &&
		       (member->flags & HSNAP_DMEMBER_BITFIELD ||
			mark_possible(symbols, layout, member->type, offset + member->offset, budget, depth + 1));
	}
	return done;
}

/* false: not to be told, or too much work. */
static bool mark_possible(const struct hsnap_symbols *symbols, struct hsnap_layout *layout, hsnap_dtype_id type,
			  uint64_t offset, struct budget *budget, unsigned depth)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	if (depth == MAX_DEPTH || !budget->steps--)
		return false;
	if (dtype->kind == HSNAP_DTYPE_STRUCT && dtype->size > 1)
		return mark_members(symbols, layout, dtype, offset, budget, depth);
	if (dtype->kind == HSNAP_DTYPE_ARRAY)
		return mark_elements(symbols, layout, dtype, offset, budget, depth);
	if (!dtype->size && dtype->kind != HSNAP_DTYPE_STRUCT)
		return false; /* only declared in its module: how far it reaches is not known */
	mark_region(layout, offset, dtype->size);
	return true;
}

static int compare_regions(const void *a, const void *b)
{
	const struct hsnap_storage *x = a, *y = b;
	return (x->start > y->start) - (x->start < y->start);
}

static bool make_bitmaps(struct hsnap_work *work, struct hsnap_layout *layout, hsnap_dtype_id type)
{
	size_t num = layout->size / 512 + 1;
	layout->possible = calloc(num, sizeof(*layout->possible));
	if (!layout->possible)
		return false;
	struct budget budget = { .steps = 4 * layout->size + 64 };
	if (layout->size < 8 || !mark_possible(work->symbols, layout, type, 0, &budget, 0)) {
		free(layout->possible);
		layout->possible = NULL;
	}
	if (!hsnap_plan_of(&work->plans, type)->num)
		return true;
	layout->strong = calloc(num, sizeof(*layout->strong));
	layout->aligned = calloc(num, sizeof(*layout->aligned));
	if (!layout->strong || !layout->aligned)
		return false;
	if (!mark(work, layout, type, 0, 0))
		return false;
	if (layout->regions.num)
		qsort(layout->regions.items, layout->regions.num, sizeof(*layout->regions.items), compare_regions);
	for (size_t i = 0; layout->possible && i < num; i++)
		layout->possible[i] |= layout->strong[i];
	return true;
}

static bool make_layout(struct hsnap_work *work, hsnap_dtype_id type)
{
	for (const struct hsnap_plan *plan; type && !work->layouts[type].size; type = plan->tail) {
		struct hsnap_layout *layout = &work->layouts[type];
		plan = hsnap_plan_of(&work->plans, type);
		layout->size = hsnap_dtype(work->symbols, type)->size;
		layout->tail = plan->tail;
		layout->tail_offset = plan->tail_offset;
		if (layout->size && layout->size <= MAX_SIZE && !make_bitmaps(work, layout, type))
			return false;
	}
	return true;
}

static bool make_argument_layouts(struct hsnap_work *work, hsnap_dtype_id type)
{
	bool done = true;
	for (unsigned i = 0; done && i < hsnap_dtype(work->symbols, type)->num_arguments; i++)
		done = make_layout(work, hsnap_type_argument(work->symbols, type, i));
	return done;
}

/* What may stand in the storage of containers.  Making them may bring more containers. */
static bool make_content_layouts(struct hsnap_work *work)
{
	bool done = true;
	for (size_t i = 0; done && i < work->symbols->managers.num; i++)
		done = make_argument_layouts(work, work->symbols->managers.items[i].type);
	for (size_t i = 0; done && i < work->plans.containers.num; i++) {
		const struct hsnap_container container = work->plans.containers.items[i];
		uint64_t start, size;
		if (hsnap_shape_storage(work->symbols, &container, &start, &size))
			done = make_argument_layouts(work, container.type);
	}
	return done;
}

enum hsnap_code hsnap_make_layouts(struct hsnap_work *work, struct hsnap_error *err)
{
	if (!work->symbols)
		return HSNAP_OK;
	work->layouts = calloc(work->symbols->types.num, sizeof(*work->layouts));
	bool done = work->layouts;
	for (size_t i = 0; done && i < work->segments.num; i++)
		done = make_layout(work, work->segments.items[i].type);
	for (uint32_t b = 0; done && b < work->num_blocks; b++)
		done = make_layout(work, work->claims[b].type);
	for (size_t i = 0; done && i < work->slabs.num; i++)
		done = make_layout(work, work->slabs.items[i].type);
	done = done && make_content_layouts(work);
	return done && !work->plans.failed ? HSNAP_OK : hsnap_no_memory(err);
}
