/* SPDX-License-Identifier: MIT */
/* pointers.c - what a declared pointer, or a container, says of the block that it leads to. */
#include "capture/naming/push.h"
#include "capture/naming/rings.h"

/*
 * A larger struct that begins with a smaller one is no run of it; without pointers there is nothing to check.  Where each
 * of them leads to blocks that have the size of what its pointers say, it is as sure as one object.
 */
static enum hsnap_evidence evidence_of_run(struct push *push, uint32_t b, hsnap_dtype_id type)
{
	struct hsnap_work *work = push->work;
	if (work->claims[b].evidence >= HSNAP_EVIDENCE_RUN)
		return HSNAP_EVIDENCE_NONE;
	if (!hsnap_plan_of(&work->plans, type)->num)
		return hsnap_may_be_larger(work, b, type) ? HSNAP_EVIDENCE_NONE : HSNAP_EVIDENCE_GUESS;
	if (hsnap_push_seen_before(push, b, HSNAP_SEEN_RUN, type)) /* a good one has its claim since */
		return HSNAP_EVIDENCE_NONE;
	bool used;
	if (!hsnap_may_be_larger(work, b, type) && hsnap_is_run(work, b, type, 0, UINT64_MAX, &used))
		return used && push->sure ? HSNAP_EVIDENCE_POINTER : HSNAP_EVIDENCE_RUN;
	hsnap_reject_claim(work, b, type, HSNAP_FORM_RUN, HSNAP_EVIDENCE_RUN, HSNAP_VERDICT_LOOK);
	return HSNAP_EVIDENCE_NONE;
}

/*
 * An object with a flexible tail fits whatever it is the first of: a page of a pool.  Where others of its
 * type lie within blocks it names none.
 */
static bool is_pool_item(struct push *push, uint32_t b, hsnap_dtype_id type)
{
	const struct hsnap_plan *plan = hsnap_plan_of(&push->work->plans, type);
	uint64_t size = hsnap_object_room(push->work, b);
	return plan->tail && push->inside[type] && size / 2 >= hsnap_dtype(push->work->symbols, type)->size;
}

static void push_object(struct push *push, uint32_t b, hsnap_dtype_id type, enum hsnap_evidence evidence)
{
	struct hsnap_work *work = push->work;
	enum hsnap_form form = is_pool_item(push, b, type) ? HSNAP_FORM_NONE : hsnap_fit(work, b, type);
	if (form != HSNAP_FORM_ONE && hsnap_is_odd(work, b, type))
		hsnap_push_note_odd(push, b, type);
	if (form == HSNAP_FORM_RUN && push->keeps)
		work->as_run[b / 64] |= (uint64_t)1 << b % 64;
	push->fits[type].good += form == HSNAP_FORM_ONE;
	push->fits[type].bad += form != HSNAP_FORM_ONE;
	if (!form && hsnap_dtype(work->symbols, type)->size)
		hsnap_reject_claim(work, b, type, HSNAP_FORM_ONE, evidence, HSNAP_VERDICT_SIZE);
	if (form != HSNAP_FORM_ONE && hsnap_lone_pointer(work, type))
		hsnap_push_wait(push, b, type, 0);
	if (form == HSNAP_FORM_RUN)
		evidence = evidence_of_run(push, b, type);
	if (form && evidence)
		hsnap_push_claim(push, b, type, form, evidence);
	else
		hsnap_push_note_part(push, b, type, hsnap_object_start(work, b));
}

/* A pointer to one object or a run of them, which stands at an address or none; an array type stands for its elements. */
void hsnap_push_pointer(struct push *push, uint32_t b, hsnap_dtype_id type, uint64_t at, enum hsnap_evidence evidence)
{
	type = hsnap_element_of(push->work->symbols, type);
	const struct hsnap_dtype *dtype = hsnap_dtype(push->work->symbols, type);
	if (dtype->kind == HSNAP_DTYPE_POINTER)
		hsnap_push_wait(push, b, type, at);
	else if (dtype->kind == HSNAP_DTYPE_STRUCT || dtype->kind == HSNAP_DTYPE_UNION)
		push_object(push, b, type, hsnap_push_evidence(push, evidence));
}

/* Of a node it is proved that it is one: it may lie in a block that was left over larger. */
static void push_node(struct push *push, uint32_t b, hsnap_dtype_id type)
{
	const struct hsnap_block *block = &push->work->heap->blocks.items[b];
	const struct hsnap_dtype *dtype = hsnap_dtype(push->work->symbols, type);
	uint64_t usable = block->usable - hsnap_header(push->work, b);
	bool larger = !hsnap_is_requested(push->work, block) && dtype->kind == HSNAP_DTYPE_STRUCT && dtype->size &&
		      usable >= dtype->size && usable - dtype->size < HSNAP_MOST_SLACK;
	if (larger)
		hsnap_push_claim(push, b, type, HSNAP_FORM_ONE, hsnap_push_evidence(push, HSNAP_EVIDENCE_CONTAINER));
	else
		hsnap_push_pointer(push, b, type, 0, HSNAP_EVIDENCE_CONTAINER);
}

/* Of a node that the agent knew, what it holds is seen to only when its container says that it is alive. */
static void push_linked(struct push *push, uint32_t b, hsnap_dtype_id type)
{
	struct hsnap_work *work = push->work;
	uint64_t bit = (uint64_t)1 << (b % 64);
	push_node(push, b, type);
	if (work->claims[b].type != work->plans.same[type] || work->linked[b / 64] & bit)
		return;
	work->linked[b / 64] |= bit;
	hsnap_push_enqueue(push, b);
}

/* A claim, and where it is believed, which of its bytes are in use. */
static void claim_live(struct push *push, uint32_t b, hsnap_dtype_id type, enum hsnap_form form, enum hsnap_evidence evidence,
		       uint64_t first, uint64_t live)
{
	hsnap_push_claim(push, b, type, form, evidence);
	const struct hsnap_claim *now = &push->work->claims[b];
	if (now->form == form && now->type == push->work->plans.same[type] && !hsnap_set_live(push->work, b, first, live))
		push->failed = true;
}

/* A container's body; bytes and scalars are told apart by their holders later. */
static void push_body(struct push *push, uint32_t b, const struct hsnap_found *found)
{
	struct hsnap_work *work = push->work;
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, found->type);
	enum hsnap_form form = dtype->kind == HSNAP_DTYPE_BYTE || dtype->kind == HSNAP_DTYPE_SCALAR ? HSNAP_FORM_BYTES
													   : HSNAP_FORM_RUN;
	enum hsnap_evidence evidence = hsnap_push_evidence(push, HSNAP_EVIDENCE_CONTAINER);
	if (!dtype->size)
		return;
	if (found->live > work->heap->blocks.items[b].usable) {
		hsnap_reject_claim(work, b, found->type, form, evidence, HSNAP_VERDICT_SIZE);
		return;
	}
	claim_live(push, b, found->type, form, evidence, found->first, found->live);
}

/* A declared pointer to the very block shows that this one has no header. */
bool hsnap_push_is_start(struct hsnap_work *work, uint32_t b, uint64_t value)
{
	struct hsnap_claim *claim = &work->claims[b];
	if (value == work->heap->blocks.items[b].address && hsnap_header(work, b)) {
		if (claim->evidence == HSNAP_EVIDENCE_VTABLE || claim->evidence == HSNAP_EVIDENCE_CONTROL)
			hsnap_unname_block(work, b, HSNAP_VERDICT_SIZE); /* what says so stands behind what was taken for one */
		if (!claim->type)
			work->headers[b] = 0;
	}
	return value == hsnap_object_start(work, b);
}

/* What is linked with its like may be the first member of a larger object, as well as any other. */
static bool may_be_first(struct hsnap_work *work, uint32_t b, hsnap_dtype_id type)
{
	return hsnap_fit(work, b, type) != HSNAP_FORM_ONE && hsnap_link_of(work, type).kind;
}

void hsnap_push_note_inner(struct push *push, uint32_t b, const struct hsnap_found *found)
{
	struct hsnap_work *work = push->work;
	uint64_t start = hsnap_object_start(work, b);
	if (found->kind != HSNAP_SLOT_POINTER || work->claims[b].evidence >= HSNAP_EVIDENCE_INTRUSIVE || found->value < start ||
	    hsnap_dtype(work->symbols, found->type)->kind != HSNAP_DTYPE_STRUCT ||
	    (found->value == start && !may_be_first(work, b, found->type)))
		return;
	if (!hsnap_inners_note(&push->inners, b, work->plans.same[found->type], found->value - start))
		push->failed = true;
}

/* Where a pointer knows of an object there are not only bytes, whatever the call site has for it. */
static void doubt_bytes(struct push *push, uint32_t b, const struct hsnap_found *found)
{
	struct hsnap_claim *claim = &push->work->claims[b];
	if (claim->evidence == HSNAP_EVIDENCE_KEPT && hsnap_is_telling(push->work, found->type))
		claim->evidence = HSNAP_EVIDENCE_TOLD;
}

/*
 * What one new[] made: objects that fill their block, or, where they need to be destroyed one by one, behind their number
 * (Itanium C++ ABI 2.7).  false: it is not like that.
 */
static bool push_array(struct push *push, uint32_t b, const struct hsnap_found *found)
{
	struct hsnap_work *work = push->work;
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, found->type);
	bool requested = hsnap_is_requested(work, &work->heap->blocks.items[b]);
	enum hsnap_evidence evidence = hsnap_push_evidence(push, HSNAP_EVIDENCE_CONTAINER);
	uint64_t start = hsnap_object_start(work, b), room = hsnap_object_room(work, b), each = dtype->size, num;
	uint64_t head = found->value - start, most = requested ? 1 : HSNAP_MOST_SLACK;
	if ((dtype->kind != HSNAP_DTYPE_STRUCT && dtype->kind != HSNAP_DTYPE_POINTER) || !each || found->value < start || room < each)
		return false;
	if (!head) {
		/* What may be left over behind the last one must look like one, too. */
		uint64_t sure = room > HSNAP_MOST_SLACK ? (room - HSNAP_MOST_SLACK) / each : 0;
		if (hsnap_fit(work, b, found->type) != HSNAP_FORM_RUN ||
		    !(requested || hsnap_is_run(work, b, found->type, sure, UINT64_MAX, NULL)))
			return false;
		hsnap_push_claim(push, b, found->type, HSNAP_FORM_RUN, evidence);
		return true;
	}
	hsnap_window_open(&push->counts, start, start + room);
	if ((head != 8 && head != 16) || !hsnap_window_word(&push->counts, found->value - 8, &num) || !num ||
	    num > (room - head) / each || room - head - num * each >= most)
		return false;
	claim_live(push, b, found->type, HSNAP_FORM_RUN, evidence, head, head + num * each);
	return true;
}

/* How does the place that is walked keep the block to whose start a pointer of it leads?  See pools.h. */
static void see_keeper(struct push *push, uint32_t b, const struct hsnap_found *found)
{
	struct hsnap_work *work = push->work;
	uint8_t kind = hsnap_dtype(work->symbols, found->type)->kind;
	bool named = !push->place || hsnap_dtype(work->symbols, push->place)->kind == HSNAP_DTYPE_STRUCT;
	if (found->kind != HSNAP_SLOT_POINTER || push->in_frame)
		return;
	if (kind == HSNAP_DTYPE_VOID || kind == HSNAP_DTYPE_BYTE)
		work->as_bytes[b / 64] |= (uint64_t)1 << b % 64;
	if (kind == HSNAP_DTYPE_BYTE && push->sure)
		work->as_text[b / 64] |= (uint64_t)1 << b % 64;
	push->keeps = named && !found->in_array && work->plans.same[push->place] != work->plans.same[found->type];
}

void hsnap_push_visit(void *context, const struct hsnap_found *seen)
{
	struct push *push = context;
	struct hsnap_found declared = *seen;
	const struct hsnap_found *found = &declared;
	uint32_t b = hsnap_block_index_find(&push->work->index, found->value, &push->hint);
	if (b == HSNAP_NO_BLOCK)
		return;
	if (found->kind == HSNAP_SLOT_USER) {
		hsnap_push_user(push, b, found);
		return;
	}
	doubt_bytes(push, b, found);
	if (found->kind == HSNAP_SLOT_ARRAY && push_array(push, b, found))
		return;
	if (found->kind == HSNAP_SLOT_ARRAY)
		declared.kind = HSNAP_SLOT_POINTER;
	bool is_start = hsnap_push_is_start(push->work, b, found->value);
	hsnap_push_note_inner(push, b, found); /* it may name a member, and not the block */
	if (!is_start) {
		if (found->kind == HSNAP_SLOT_POINTER) {
			push->inside[found->type] = true;
			hsnap_push_note_part(push, b, found->type, found->value);
		}
		return;
	}
	see_keeper(push, b, found);
	hsnap_dtype_id alias = push->work->aliases[found->type];
	switch (found->kind) {
	case HSNAP_SLOT_POINTER:
		if (!alias)
			hsnap_push_pointer(push, b, found->type, found->at, HSNAP_EVIDENCE_POINTER);
		else if (push->work->claims[b].evidence < HSNAP_EVIDENCE_ALIAS &&
			 !hsnap_vec_push(&push->handles, (struct handle){ b, alias }))
			push->failed = true;
		break;
	case HSNAP_SLOT_NODE:
		if (found->linked)
			push_linked(push, b, found->type);
		else
			push_node(push, b, found->type);
		break;
	default:
		push_body(push, b, found);
	}
	push->keeps = false;
}
