/* SPDX-License-Identifier: MIT */
/* parts.c - objects within blocks: they have no name to give, but pointers. */
#include <inttypes.h>

#include "capture/naming/pools.h"
#include "capture/naming/push.h"

/*
 * An object within a block, or one at its start that is smaller: it has no name to give, but pointers
 * that are as good as any.
 */
void hsnap_push_note_part(struct push *push, uint32_t b, hsnap_dtype_id type, uint64_t address)
{
	struct hsnap_work *work = push->work;
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, type);
	struct hsnap_part part = { .address = address, .type = type, .block = b, .sure = push->sure };
	part.type = work->plans.same[type];
	if (dtype->kind != HSNAP_DTYPE_STRUCT || !dtype->size || address % 8 ||
	    !(hsnap_part_counts(work, &part) || hsnap_may_be_item(work, &part)) ||
	    !hsnap_has_room(work, b, address, dtype->size) || hsnap_is_bare_link(work, type))
		return;
	size_t surer;
	if (!hsnap_parts_add(&work->parts, part, &surer) ||
	    (surer < push->walked && !hsnap_vec_push(&push->again, (uint32_t)surer)))
		push->failed = true;
}

static void add_declared(void *context, const struct hsnap_slab *slab, uint64_t address)
{
	struct push *push = context;
	push->sure = hsnap_evidence_confidence((enum hsnap_evidence)slab->evidence) > HSNAP_INFERRED;
	hsnap_push_note_part(push, slab->block, slab->type, address);
}

/* Is it an object that says something?  One of a run is walked with that, but then no better known than that is. */
static bool is_to_walk(struct hsnap_work *work, const struct hsnap_part *part)
{
	return hsnap_part_stands(work, part) ||
	       (part->sure && hsnap_may_be_item(work, part) && hsnap_is_object(work, part->type, part->address));
}

/* The next one to be walked: one that turned out to be sure once more. */
static bool next_part(struct push *push, struct hsnap_part *ret)
{
	const struct hsnap_parts *parts = &push->work->parts;
	if (push->again.num)
		*ret = parts->items[push->again.items[--push->again.num]];
	else if (push->walked < parts->num)
		*ret = parts->items[push->walked++];
	else
		return false;
	return !push->failed;
}

/* Objects in blocks that have no name by now: their pointers are declared as well. */
void hsnap_push_walk_parts(struct push *push)
{
	struct hsnap_work *work = push->work;
	struct hsnap_part part;
	hsnap_each_declared(work, &push->declared, add_declared, push);
	while (next_part(push, &part)) {
		if (!is_to_walk(work, &part))
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
	const struct hsnap_parts *parts = &push->work->parts;
	if (!parts->missed)
		return HSNAP_OK;
	hsnap_string reason = hsnap_strings_addf(&snapshot->strings, "of objects within blocks only %zu were looked at: there was no"
						 " memory for more, to which %" PRIu64 " pointers led", parts->num, parts->missed);
	return reason != HSNAP_NO_STRING && hsnap_vec_push(&snapshot->partial_reasons, reason) ? HSNAP_OK : hsnap_no_memory(err);
}
