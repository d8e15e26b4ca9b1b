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
 */
#include "capture/naming/claims.h"
#include "capture/naming/walk.h"
#include "snapshot/base/cleanup.h"
#include "snapshot/base/pages.h"

enum { SEEN_SURE_POINTER, SEEN_RUN, NUM_FIRST, SEEN_POINTER = NUM_FIRST };

/* A block that a pointer to pointers leads to. */
struct waiting {
	uint32_t block;
	hsnap_dtype_id pointer; /* type of its elements */
	bool sure;              /* who leads there is */
};

struct push {
	struct hsnap_work *work;
	struct hsnap_walk walk;
	uint32_t hint;
	bool sure; /* the place that is walked is known and not only inferred */
	struct hsnap_vec(uint32_t) queue, doubtful;
	struct hsnap_vec(struct waiting) waiting;
	/* Which element a block has waited with, which run it was checked for: the first of each in a
	 * column, since most blocks have one at most; more of them in the map, {block, what; type}. */
	hsnap_dtype_id *first[NUM_FIRST];
	struct hsnap_keymap more;
	bool failed; /* out of memory */
};

static void push_deinit(struct push *push)
{
	hsnap_vec_deinit(&push->queue);
	hsnap_vec_deinit(&push->doubtful);
	hsnap_vec_deinit(&push->waiting);
	hsnap_keymap_deinit(&push->more);
	for (int what = 0; what < NUM_FIRST; what++)
		hsnap_pages_free(push->first[what], push->work->num_blocks, sizeof(*push->first[what]));
}

/* It will be walked soon, wherever in memory it lies: half of the time of a walk was waiting for its first line. */
static void fetch_early(const struct hsnap_work *work, uint32_t b)
{
	const void *bytes = hsnap_target_view(work->target, work->heap->blocks.items[b].address, sizeof(uint64_t));
	if (bytes)
		__builtin_prefetch(bytes);
}

static bool is_sure(const struct push *push, uint32_t b)
{
	return hsnap_claim_confidence(&push->work->claims[b]) > HSNAP_INFERRED;
}

static void claim(struct push *push, uint32_t b, hsnap_dtype_id type, enum hsnap_form form, enum hsnap_evidence evidence)
{
	if (!hsnap_claim_block(push->work, b, type, form, evidence))
		return;
	if (!(is_sure(push, b) ? hsnap_vec_push(&push->queue, b) : hsnap_vec_push(&push->doubtful, b)))
		push->failed = true;
	fetch_early(push->work, b);
}

static bool seen_before(struct push *push, uint32_t b, int what, hsnap_dtype_id type)
{
	bool is_new = false;
	hsnap_dtype_id *first = what < NUM_FIRST ? &push->first[what][b] : NULL;
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

static void wait_for_arrays(struct push *push, uint32_t b, hsnap_dtype_id pointer)
{
	if (push->work->claims[b].evidence >= HSNAP_EVIDENCE_POINTER ||
	    seen_before(push, b, push->sure ? SEEN_SURE_POINTER : SEEN_POINTER, pointer))
		return;
	if (!hsnap_vec_push(&push->waiting, (struct waiting){ b, pointer, push->sure }))
		push->failed = true;
}

/* A larger struct that begins with a smaller one is no run of it; without pointers there is
 * nothing to check. */
static enum hsnap_evidence evidence_of_run(struct push *push, uint32_t b, hsnap_dtype_id type)
{
	struct hsnap_work *work = push->work;
	if (work->claims[b].evidence >= HSNAP_EVIDENCE_RUN)
		return HSNAP_EVIDENCE_NONE;
	if (!hsnap_plan_of(&work->plans, type)->num)
		return HSNAP_EVIDENCE_GUESS;
	if (seen_before(push, b, SEEN_RUN, type)) /* a good one has its claim since */
		return HSNAP_EVIDENCE_NONE;
	if (hsnap_is_run(work, b, type, 0, UINT64_MAX))
		return HSNAP_EVIDENCE_RUN;
	hsnap_reject_claim(work, b, type, HSNAP_FORM_RUN, HSNAP_EVIDENCE_RUN, HSNAP_VERDICT_LOOK);
	return HSNAP_EVIDENCE_NONE;
}

static void push_object(struct push *push, uint32_t b, hsnap_dtype_id type, enum hsnap_evidence evidence)
{
	struct hsnap_work *work = push->work;
	enum hsnap_form form = hsnap_fit(work, b, type);
	if (!form && hsnap_dtype(work->symbols, type)->size)
		hsnap_reject_claim(work, b, type, HSNAP_FORM_ONE, evidence, HSNAP_VERDICT_SIZE);
	if (form == HSNAP_FORM_RUN)
		evidence = evidence_of_run(push, b, type);
	if (form && evidence)
		claim(push, b, type, form, evidence);
}

/* A pointer to one object or a run of them; an array type stands for its elements. */
static void push_pointer(struct push *push, uint32_t b, hsnap_dtype_id type, enum hsnap_evidence evidence)
{
	const struct hsnap_symbols *symbols = push->work->symbols;
	for (unsigned depth = 0; depth < 8 && hsnap_dtype(symbols, type)->kind == HSNAP_DTYPE_ARRAY; depth++)
		type = hsnap_dtype(symbols, type)->target;
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	if (dtype->kind == HSNAP_DTYPE_POINTER)
		wait_for_arrays(push, b, type);
	else if (dtype->kind == HSNAP_DTYPE_STRUCT || dtype->kind == HSNAP_DTYPE_UNION)
		push_object(push, b, type, push->sure ? evidence : HSNAP_EVIDENCE_FOLLOWED);
}

/* Of a node it is proved that it is one: it may lie in a block that was left over larger. */
static void push_node(struct push *push, uint32_t b, hsnap_dtype_id type)
{
	const struct hsnap_block *block = &push->work->heap->blocks.items[b];
	const struct hsnap_dtype *dtype = hsnap_dtype(push->work->symbols, type);
	bool larger = !hsnap_is_requested(push->work, block) && dtype->kind == HSNAP_DTYPE_STRUCT && dtype->size &&
		      block->usable >= dtype->size && block->usable - dtype->size < HSNAP_MOST_SLACK;
	if (larger)
		claim(push, b, type, HSNAP_FORM_ONE, push->sure ? HSNAP_EVIDENCE_CONTAINER : HSNAP_EVIDENCE_FOLLOWED);
	else
		push_pointer(push, b, type, HSNAP_EVIDENCE_CONTAINER);
}

/* A container's body; bytes and scalars are told apart by their holders later. */
static void push_body(struct push *push, uint32_t b, const struct hsnap_found *found)
{
	struct hsnap_work *work = push->work;
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, found->type);
	enum hsnap_form form = dtype->kind == HSNAP_DTYPE_BYTE || dtype->kind == HSNAP_DTYPE_SCALAR ? HSNAP_FORM_BYTES
													   : HSNAP_FORM_RUN;
	enum hsnap_evidence evidence = push->sure ? HSNAP_EVIDENCE_CONTAINER : HSNAP_EVIDENCE_FOLLOWED;
	if (!dtype->size)
		return;
	if (found->live > work->heap->blocks.items[b].usable) {
		hsnap_reject_claim(work, b, found->type, form, evidence, HSNAP_VERDICT_SIZE);
		return;
	}
	claim(push, b, found->type, form, evidence);
	const struct hsnap_claim *now = &work->claims[b];
	if (now->form == form && now->type == work->plans.same[found->type] &&
	    !hsnap_set_live(work, b, found->first, found->live))
		push->failed = true;
}

/* A declared pointer to the very block shows that this one has no header. */
static bool is_start(struct hsnap_work *work, uint32_t b, uint64_t value)
{
	if (value == work->heap->blocks.items[b].address && hsnap_header(work, b) && !work->claims[b].type)
		work->headers[b] = 0;
	return value == hsnap_object_start(work, b);
}

static void visit(void *context, const struct hsnap_found *found)
{
	struct push *push = context;
	uint32_t b = hsnap_block_index_find(&push->work->index, found->value, &push->hint);
	if (b == HSNAP_NO_BLOCK || !is_start(push->work, b, found->value))
		return; /* what points inside names a member, and not the block */
	switch (found->kind) {
	case HSNAP_SLOT_POINTER:
		push_pointer(push, b, found->type, HSNAP_EVIDENCE_POINTER);
		break;
	case HSNAP_SLOT_NODE:
		push_node(push, b, found->type);
		break;
	default:
		push_body(push, b, found);
	}
}

static void walk_block(struct push *push, uint32_t b)
{
	push->sure = is_sure(push, b);
	hsnap_walk_block(&push->walk, b);
}

static void drain(struct push *push)
{
	while (!push->failed && (push->queue.num || push->doubtful.num)) {
		if (push->queue.num) {
			walk_block(push, push->queue.items[--push->queue.num]);
			continue;
		}
		uint32_t b = push->doubtful.items[--push->doubtful.num];
		if (!is_sure(push, b)) /* else it was walked meanwhile */
			walk_block(push, b);
	}
}

/* Is every word of the block null or a pointer such as it is said to hold? */
static bool all_targets(struct push *push, const struct waiting *waiting)
{
	const struct hsnap_block *block = &push->work->heap->blocks.items[waiting->block];
	uint64_t start = hsnap_object_start(push->work, waiting->block), size = hsnap_object_room(push->work, waiting->block), word;
	if (hsnap_is_requested(push->work, block) && size % 8)
		return false;
	hsnap_dtype_id type = hsnap_dtype(push->work->symbols, waiting->pointer)->target;
	hsnap_window_open(&push->walk.reader, start, start + size);
	for (uint64_t at = 0; at + 8 <= size; at += 8)
		if (!hsnap_window_word(&push->walk.reader, start + at, &word) ||
		    !hsnap_is_target(push->work, word, type, &push->hint))
			return false;
	return size >= 8;
}

static void take_one(struct push *push, const struct waiting *waiting)
{
	enum hsnap_evidence evidence = waiting->sure ? HSNAP_EVIDENCE_POINTER : HSNAP_EVIDENCE_FOLLOWED;
	if (push->work->claims[waiting->block].evidence >= evidence)
		return;
	if (!all_targets(push, waiting)) {
		hsnap_reject_claim(push->work, waiting->block, waiting->pointer, HSNAP_FORM_RUN, evidence, HSNAP_VERDICT_LOOK);
		return;
	}
	claim(push, waiting->block, waiting->pointer, HSNAP_FORM_RUN, evidence);
	drain(push);
}

/* Arrays of pointers, once structs have had their say; what they hold may lead to more.  Those that sure
 * places lead to come first, also the ones found on the way. */
static void take_waiting(struct push *push)
{
	size_t sure = 0, doubtful = 0;
	while (!push->failed) {
		while (sure < push->waiting.num && !push->waiting.items[sure].sure)
			sure++;
		while (doubtful < push->waiting.num && push->waiting.items[doubtful].sure)
			doubtful++;
		if (sure == push->waiting.num && doubtful == push->waiting.num)
			break;
		struct waiting waiting = push->waiting.items[sure < push->waiting.num ? sure++ : doubtful++];
		take_one(push, &waiting);
	}
}

enum hsnap_code hsnap_push_types(struct hsnap_work *work, struct hsnap_error *err)
{
	if (!work->symbols)
		return HSNAP_OK;
	hsnap_auto(push_deinit) struct push push = { .work = work };
	for (int what = 0; what < NUM_FIRST; what++) {
		push.first[what] = hsnap_pages_alloc(work->num_blocks, sizeof(*push.first[what]));
		if (!push.first[what])
			return hsnap_no_memory(err);
	}
	hsnap_walk_init(&push.walk, work, visit, &push);
	push.sure = true; /* of a variable is declared what it is */
	for (size_t i = 0; i < work->segments.num && !push.failed; i++)
		hsnap_walk_segment(&push.walk, &work->segments.items[i]);
	for (uint32_t b = 0; b < work->num_blocks && !push.failed; b++)
		if (work->claims[b].evidence >= HSNAP_EVIDENCE_SITE)
			walk_block(&push, b);
	drain(&push);
	take_waiting(&push);
	return push.failed || work->plans.failed || work->losers.failed ? hsnap_no_memory(err) : HSNAP_OK;
}
