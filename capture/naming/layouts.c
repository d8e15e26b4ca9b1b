/* SPDX-License-Identifier: MIT */
/* layouts.c - the plans of all types that blocks and roots have, as bitmaps for the scan. */
#include <stdlib.h>

#include "capture/naming/work.h"

#define MAX_SIZE ((uint64_t)64 << 20) /* a larger type's words are all weak */
#define MAX_DEPTH 64

/* Words that a slot's pointers take. */
static unsigned words_of(enum hsnap_slot_kind kind)
{
	return kind == HSNAP_SLOT_VECTOR ? 3 : 1;
}

static void mark(struct hsnap_work *work, struct hsnap_layout *layout, hsnap_dtype_id type, uint64_t offset,
		 unsigned depth)
{
	const struct hsnap_plan *plan = hsnap_plan_of(&work->plans, type);
	for (uint32_t i = 0; i < plan->num; i++) {
		const struct hsnap_slot *slot = &plan->slots[i];
		uint64_t at = offset + slot->offset;
		if (slot->kind == HSNAP_SLOT_EACH) {
			uint64_t each = hsnap_dtype(work->symbols, slot->type)->size;
			for (uint64_t n = 0; n < slot->count && at < layout->size && depth < MAX_DEPTH; n++, at += each)
				mark(work, layout, slot->type, at, depth + 1);
			continue;
		}
		for (unsigned w = 0; w < words_of(slot->kind); w++, at += 8)
			if (!(at % 8) && at < layout->size)
				layout->strong[at / 512] |= (uint64_t)1 << (at / 8 % 64);
	}
}

static bool make_layout(struct hsnap_work *work, hsnap_dtype_id type)
{
	for (const struct hsnap_plan *plan; type && !work->layouts[type].size; type = plan->tail) {
		struct hsnap_layout *layout = &work->layouts[type];
		plan = hsnap_plan_of(&work->plans, type);
		layout->size = hsnap_dtype(work->symbols, type)->size;
		layout->tail = plan->tail;
		layout->tail_offset = plan->tail_offset;
		if (!plan->num || !layout->size || layout->size > MAX_SIZE)
			continue;
		layout->strong = calloc(layout->size / 512 + 1, sizeof(*layout->strong));
		if (!layout->strong)
			return false;
		mark(work, layout, type, 0, 0);
	}
	return true;
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
	return done && !work->plans.failed ? HSNAP_OK : hsnap_no_memory(err);
}
