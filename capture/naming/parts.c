/* SPDX-License-Identifier: MIT */
/* parts.c - objects within blocks: they have no name to give, but pointers. */
#include "capture/naming/pools.h"
#include "capture/naming/push.h"

#define MAX_PARTS ((size_t)1 << 20)

/*
 * An object within a block, or one at its start that is smaller: it has no name to give, but pointers
 * that are as good as any.
 */
void hsnap_push_note_part(struct push *push, uint32_t b, hsnap_dtype_id type, uint64_t address)
{
	struct hsnap_work *work = push->work;
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, type);
	struct hsnap_part part = { .address = address, .type = type, .block = b, .sure = push->sure };
	bool is_new;
	part.type = work->plans.same[type];
	if (dtype->kind != HSNAP_DTYPE_STRUCT || !dtype->size || address % 8 ||
	    !(hsnap_part_counts(work, &part) || hsnap_may_be_item(work, &part)) ||
	    !hsnap_has_room(work, b, address, dtype->size) || hsnap_is_bare_link(work, type))
		return;
	if (work->parts.num >= MAX_PARTS) {
		push->cut = true;
		return;
	}
	uint32_t *known = hsnap_keymap_at(&push->parts, (struct hsnap_key){ address, part.type }, &is_new);
	if (!known || (is_new && !hsnap_vec_push(&work->parts, part))) {
		push->failed = true;
		return;
	}
	if (is_new)
		*known = (uint32_t)work->parts.num - 1;
	else
		work->parts.items[*known].sure |= part.sure;
}

static void add_declared(void *context, const struct hsnap_slab *slab, uint64_t address)
{
	struct push *push = context;
	push->sure = hsnap_evidence_confidence((enum hsnap_evidence)slab->evidence) > HSNAP_INFERRED;
	hsnap_push_note_part(push, slab->block, slab->type, address);
}

/* Objects in blocks that have no name by now: their pointers are declared as well. */
void hsnap_push_walk_parts(struct push *push)
{
	struct hsnap_work *work = push->work;
	hsnap_each_declared(work, &push->declared, add_declared, push);
	for (; push->walked < work->parts.num && !push->failed; push->walked++) {
		struct hsnap_part part = work->parts.items[push->walked];
		if (!hsnap_part_stands(work, &part))
			continue;
		push->sure = part.sure;
		push->place = part.type;
		hsnap_walk_object(&push->walk, part.type, part.address, part.address + hsnap_dtype(work->symbols, part.type)->size);
		hsnap_push_drain(push);
		hsnap_push_take_waiting(push);
	}
}

enum hsnap_code hsnap_push_say_what_was_cut(const struct push *push, struct hsnap_error *err)
{
	struct hsnap_snapshot *snapshot = push->work->snapshot;
	if (!push->cut)
		return HSNAP_OK;
	hsnap_string note = hsnap_strings_addf(&snapshot->strings, "of objects within blocks only %zu were looked at", MAX_PARTS);
	return note != HSNAP_NO_STRING && hsnap_vec_push(&snapshot->notes, note) ? HSNAP_OK : hsnap_no_memory(err);
}
