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
 *
 * When that is done it is the turn of opaque handles, then of what blocks have from their
 * kin, and then of what one container's void pointers lead to.
 */
#include <stdlib.h>

#include "capture/naming/claims.h"
#include "capture/naming/freed.h"
#include "capture/naming/inferred.h"
#include "capture/naming/landings.h"
#include "capture/naming/owned.h"
#include "capture/naming/pools.h"
#include "capture/naming/walk.h"
#include "snapshot/base/cleanup.h"
#include "snapshot/base/pages.h"

#define FEW_FITS 8u
#define FEW_USED 4u /* elements of an array that is not full: what a stale pointer leads to may begin with two */
#define MAX_PARTS ((size_t)1 << 20)
#define LANDING_ROUNDS 4 /* containers that hang on others' void members */
#define OWNED_ROUNDS 8   /* containers that hang on what a rule named under another */
#define MOST_REST 31u /* bytes that glibc does not split off */

enum { SEEN_SURE_POINTER, SEEN_RUN, NUM_FIRST, SEEN_POINTER = NUM_FIRST };

/* A block that a pointer to pointers leads to. */
struct waiting {
	uint32_t block;
	hsnap_dtype_id pointer; /* type of its elements */
	bool sure;              /* who leads there is */
	uint64_t at;            /* where that stands, or 0 */
};

/* A block that has 16 bytes more than an object of the type that a pointer to it says. */
struct odd {
	uint32_t block;
	hsnap_dtype_id type;
	bool sure; /* who leads there is */
};

/* One a type: pointers to it that led to blocks of its size, and to others. */
struct fits {
	uint32_t good, bad;
};

/* A block that an opaque handle leads to, and what it is. */
struct handle {
	uint32_t block;
	hsnap_dtype_id type;
};

struct push {
	struct hsnap_work *work;
	struct hsnap_walk walk;
	struct hsnap_window counts; /* of new[]: the walk's own window stays where it is */
	uint32_t hint;
	bool sure; /* the place that is walked is known and not only inferred */
	struct hsnap_vec(uint32_t) queue, doubtful;
	struct hsnap_vec(struct waiting) waiting;
	size_t waited, doubted;    /* of them: sure ones and doubtful ones that had their turn */
	struct hsnap_vec(struct handle) handles;
	size_t handled, walked;    /* of handles, and of work->parts */
	size_t declared;           /* of work->declared: those that are parts */
	bool cut;                  /* there are more parts than are kept */
	struct hsnap_keymap parts; /* {address, type} */
	bool *inside;              /* one a type: objects of it lie within blocks, so no block is one */
	struct hsnap_vec(struct odd) odd;
	size_t taken;             /* of odd: those that had their turn */
	struct fits *fits;        /* one a type */
	struct hsnap_inners inners;
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
	hsnap_vec_deinit(&push->odd);
	hsnap_vec_deinit(&push->handles);
	hsnap_keymap_deinit(&push->parts);
	free(push->inside);
	hsnap_inners_deinit(&push->inners);
	free(push->fits);
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

/* What it leads to is to be seen, or seen again. */
static void enqueue(struct push *push, uint32_t b)
{
	if (!(is_sure(push, b) ? hsnap_vec_push(&push->queue, b) : hsnap_vec_push(&push->doubtful, b)))
		push->failed = true;
	fetch_early(push->work, b);
}

static void claim(struct push *push, uint32_t b, hsnap_dtype_id type, enum hsnap_form form, enum hsnap_evidence evidence)
{
	if (hsnap_claim_block(push->work, b, type, form, evidence))
		enqueue(push, b);
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

static void wait_for_arrays(struct push *push, uint32_t b, hsnap_dtype_id pointer, uint64_t at)
{
	if (push->work->claims[b].evidence >= HSNAP_EVIDENCE_POINTER ||
	    seen_before(push, b, push->sure ? SEEN_SURE_POINTER : SEEN_POINTER, pointer))
		return;
	if (!hsnap_vec_push(&push->waiting, (struct waiting){ b, pointer, push->sure, at }))
		push->failed = true;
}

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
	if (seen_before(push, b, SEEN_RUN, type)) /* a good one has its claim since */
		return HSNAP_EVIDENCE_NONE;
	bool used;
	if (!hsnap_may_be_larger(work, b, type) && hsnap_is_run(work, b, type, 0, UINT64_MAX, &used))
		return used && push->sure ? HSNAP_EVIDENCE_POINTER : HSNAP_EVIDENCE_RUN;
	hsnap_reject_claim(work, b, type, HSNAP_FORM_RUN, HSNAP_EVIDENCE_RUN, HSNAP_VERDICT_LOOK);
	return HSNAP_EVIDENCE_NONE;
}

static void note_odd(struct push *push, uint32_t b, hsnap_dtype_id type)
{
	if (push->work->claims[b].evidence < HSNAP_EVIDENCE_POINTER &&
	    !hsnap_vec_push(&push->odd, (struct odd){ b, type, push->sure }))
		push->failed = true;
}

/* Is it nothing but pointers to its own like?  The links of a list lead to links. */
static bool is_link(struct push *push, hsnap_dtype_id type)
{
	const struct hsnap_plan *plan = hsnap_plan_of(&push->work->plans, type);
	for (uint32_t i = 0; i < plan->num; i++)
		if (plan->slots[i].type != type)
			return false;
	return plan->num && plan->words * 8 >= hsnap_dtype(push->work->symbols, type)->size;
}

/*
 * An object within a block, or one at its start that is smaller: it has no name to give, but pointers
 * that are as good as any.
 */
static void note_part(struct push *push, uint32_t b, hsnap_dtype_id type, uint64_t address)
{
	struct hsnap_work *work = push->work;
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, type);
	struct hsnap_part part = { .address = address, .type = type, .block = b, .sure = push->sure };
	uint64_t start = hsnap_object_start(work, b), size = hsnap_object_room(work, b);
	bool is_new;
	part.type = work->plans.same[type];
	if (dtype->kind != HSNAP_DTYPE_STRUCT || !dtype->size || address % 8 || !hsnap_part_counts(work, &part) ||
	    address < start || dtype->size > size || address - start > size - dtype->size || is_link(push, type))
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
		note_odd(push, b, type);
	push->fits[type].good += form == HSNAP_FORM_ONE;
	push->fits[type].bad += form != HSNAP_FORM_ONE;
	if (!form && hsnap_dtype(work->symbols, type)->size)
		hsnap_reject_claim(work, b, type, HSNAP_FORM_ONE, evidence, HSNAP_VERDICT_SIZE);
	if (form == HSNAP_FORM_RUN)
		evidence = evidence_of_run(push, b, type);
	if (form && evidence)
		claim(push, b, type, form, evidence);
	else
		note_part(push, b, type, hsnap_object_start(work, b));
}

/* A pointer to one object or a run of them, which stands at an address or none; an array type stands for its elements. */
static void push_pointer(struct push *push, uint32_t b, hsnap_dtype_id type, uint64_t at, enum hsnap_evidence evidence)
{
	const struct hsnap_symbols *symbols = push->work->symbols;
	for (unsigned depth = 0; depth < 8 && hsnap_dtype(symbols, type)->kind == HSNAP_DTYPE_ARRAY; depth++)
		type = hsnap_dtype(symbols, type)->target;
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	if (dtype->kind == HSNAP_DTYPE_POINTER)
		wait_for_arrays(push, b, type, at);
	else if (dtype->kind == HSNAP_DTYPE_STRUCT || dtype->kind == HSNAP_DTYPE_UNION)
		push_object(push, b, type, push->sure ? evidence : HSNAP_EVIDENCE_FOLLOWED);
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
		claim(push, b, type, HSNAP_FORM_ONE, push->sure ? HSNAP_EVIDENCE_CONTAINER : HSNAP_EVIDENCE_FOLLOWED);
	else
		push_pointer(push, b, type, 0, HSNAP_EVIDENCE_CONTAINER);
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
	enqueue(push, b);
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

static void note_inner(struct push *push, uint32_t b, const struct hsnap_found *found)
{
	struct hsnap_work *work = push->work;
	uint64_t start = hsnap_object_start(work, b);
	if (found->kind != HSNAP_SLOT_POINTER || work->claims[b].evidence >= HSNAP_EVIDENCE_INTRUSIVE || found->value < start ||
	    hsnap_dtype(work->symbols, found->type)->kind != HSNAP_DTYPE_STRUCT)
		return;
	if (!hsnap_inners_note(&push->inners, b, work->plans.same[found->type], found->value - start))
		push->failed = true;
}

/* An object that the user says to have a header in front: the block is taken to be so, if nothing else was said of it. */
static bool begin_behind(struct hsnap_work *work, uint32_t b, const struct hsnap_found *found)
{
	if (!found->header || found->value - found->header != work->heap->blocks.items[b].address)
		return !found->header;
	if (!work->headers && !(work->headers = hsnap_pages_alloc(work->num_blocks, sizeof(*work->headers))))
		return false;
	if (!work->claims[b].type)
		work->headers[b] = found->header;
	return work->headers[b] == found->header;
}

/* One object, and so many bytes behind it. */
static bool has_extra(const struct hsnap_work *work, uint32_t b, uint64_t size, uint64_t extra)
{
	uint64_t room = hsnap_object_room(work, b), rest = room < size ? 0 : room - size;
	return room >= size && rest >= extra && rest - extra < hsnap_most_rest(work, b);
}

/* Has a block room for just so many objects, whatever the number?  Of small ones it always has. */
static bool is_multiple(const struct hsnap_work *work, uint32_t b, uint64_t each)
{
	uint64_t room = hsnap_object_room(work, b), rest = each ? room % each : room;
	return each && room >= each && rest < (hsnap_most_rest(work, b) == HSNAP_MOST_SLACK ? HSNAP_LEAST_REST : hsnap_most_rest(work, b));
}

/* In what way the block is what the user says; NONE: its size says that it is not. */
static enum hsnap_form form_of_user(struct push *push, uint32_t b, const struct hsnap_found *found)
{
	struct hsnap_work *work = push->work;
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, found->type);
	uint64_t room = hsnap_object_room(work, b);
	enum hsnap_form form = hsnap_fit(work, b, found->type);
	if (found->extra)
		return has_extra(work, b, dtype->size, found->extra) ? HSNAP_FORM_ONE : HSNAP_FORM_NONE;
	if (!found->run)
		return form == HSNAP_FORM_ONE || hsnap_is_odd(work, b, found->type) ? HSNAP_FORM_ONE : HSNAP_FORM_NONE;
	if (dtype->kind == HSNAP_DTYPE_BYTE || dtype->kind == HSNAP_DTYPE_SCALAR)
		return found->live <= room && room >= dtype->size ? HSNAP_FORM_BYTES : HSNAP_FORM_NONE;
	bool filled = found->live && found->live <= room && room - found->live < hsnap_most_rest(work, b);
	return filled || (found->live <= room && is_multiple(work, b, dtype->size)) ? HSNAP_FORM_RUN : HSNAP_FORM_NONE;
}

static void count_user(struct push *push, uint32_t b, const struct hsnap_found *found, bool fits)
{
	struct hsnap_user *user = push->work->user;
	uint32_t rule = user->bounds.bounds.items[found->rule].rule;
	uint16_t *mark = fits ? &user->marks[b].rule : &user->marks[b].vetoed;
	if (*mark == rule + 1)
		return;
	*mark = (uint16_t)(rule + 1);
	if (fits)
		user->counts[rule].named++;
	else
		user->counts[rule].vetoed++;
}

/* A pool of which the user says where its objects stand. */
static void declare_pool(struct push *push, uint32_t b, const struct hsnap_found *found)
{
	const struct hsnap_bounds *bounds = &push->work->user->bounds;
	const struct hsnap_bound *bound = &bounds->bounds.items[found->rule];
	const struct hsnap_rule *rule = &bounds->rules->rules.items[bound->rule];
	struct hsnap_pool_layout layout = {
		.type = found->type, .first = found->from, .stride = found->step, .live_bytes = bound->live_bytes,
		.live_at = bound->live_at, .live_mask = rule->live_mask, .live_value = rule->live_value,
	};
	bool fits = false;
	if (push->work->user->marks[b].rule == bound->rule + 1)
		return; /* it was walked before */
	if (!hsnap_declare_pool(push->work, b, &layout, &fits))
		push->failed = true;
	count_user(push, b, found, fits);
}

/* What a rule of the user's leads to. */
static void push_user(struct push *push, uint32_t b, const struct hsnap_found *found)
{
	struct hsnap_work *work = push->work;
	enum hsnap_evidence evidence = push->sure ? HSNAP_EVIDENCE_USER : HSNAP_EVIDENCE_FOLLOWED;
	if (!begin_behind(work, b, found) || !is_start(work, b, found->value)) {
		note_part(push, b, found->type, found->value);
		return;
	}
	if (found->step) {
		declare_pool(push, b, found);
		return;
	}
	enum hsnap_form form = form_of_user(push, b, found);
	if (!form) {
		hsnap_reject_claim(work, b, found->type, found->run ? HSNAP_FORM_RUN : HSNAP_FORM_ONE, evidence, HSNAP_VERDICT_SIZE);
		count_user(push, b, found, false);
		return;
	}
	claim(push, b, found->type, form, evidence);
	const struct hsnap_claim *now = &work->claims[b];
	if (now->evidence != evidence || now->form != form || now->type != work->plans.same[found->type])
		return;
	count_user(push, b, found, true);
	if (found->live && !hsnap_set_live(work, b, 0, found->live))
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
	enum hsnap_evidence evidence = push->sure ? HSNAP_EVIDENCE_CONTAINER : HSNAP_EVIDENCE_FOLLOWED;
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
		claim(push, b, found->type, HSNAP_FORM_RUN, evidence);
		return true;
	}
	hsnap_window_open(&push->counts, start, start + room);
	if ((head != 8 && head != 16) || !hsnap_window_word(&push->counts, found->value - 8, &num) || !num ||
	    num > (room - head) / each || room - head - num * each >= most)
		return false;
	claim(push, b, found->type, HSNAP_FORM_RUN, evidence);
	const struct hsnap_claim *now = &work->claims[b];
	if (now->form == HSNAP_FORM_RUN && now->type == work->plans.same[found->type] &&
	    !hsnap_set_live(work, b, head, head + num * each))
		push->failed = true;
	return true;
}

static void visit(void *context, const struct hsnap_found *seen)
{
	struct push *push = context;
	struct hsnap_found declared = *seen;
	const struct hsnap_found *found = &declared;
	uint32_t b = hsnap_block_index_find(&push->work->index, found->value, &push->hint);
	if (b == HSNAP_NO_BLOCK)
		return;
	if (found->kind == HSNAP_SLOT_USER) {
		push_user(push, b, found);
		return;
	}
	doubt_bytes(push, b, found);
	if (found->kind == HSNAP_SLOT_ARRAY && push_array(push, b, found))
		return;
	if (found->kind == HSNAP_SLOT_ARRAY)
		declared.kind = HSNAP_SLOT_POINTER;
	if (!is_start(push->work, b, found->value)) {
		note_inner(push, b, found); /* it names a member, and not the block */
		if (found->kind == HSNAP_SLOT_POINTER) {
			push->inside[found->type] = true;
			note_part(push, b, found->type, found->value);
		}
		return;
	}
	hsnap_dtype_id alias = push->work->aliases[found->type];
	switch (found->kind) {
	case HSNAP_SLOT_POINTER:
		if (!alias)
			push_pointer(push, b, found->type, found->at, HSNAP_EVIDENCE_POINTER);
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

/* Does it point to such an object within a block, or to the first of several? */
static bool is_inside(struct push *push, uint64_t value, hsnap_dtype_id type)
{
	struct hsnap_work *work = push->work;
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, type);
	uint32_t b = dtype->kind == HSNAP_DTYPE_STRUCT && dtype->size && value % 8 == 0
			     ? hsnap_block_index_find(&work->index, value, &push->hint) : HSNAP_NO_BLOCK;
	if (b == HSNAP_NO_BLOCK)
		return false;
	struct hsnap_part part = { .block = b, .address = value };
	uint64_t offset = value - hsnap_object_start(work, b), size = hsnap_object_room(work, b);
	bool found = dtype->size <= size && offset <= size - dtype->size && (offset || dtype->size <= size / 2) &&
		     hsnap_part_counts(work, &part) && hsnap_is_object(work, type, value);
	push->inside[type] |= found && offset;
	return found;
}

/* Is each of the first words of the block null or a pointer such as it is said to hold? */
static bool are_targets(struct push *push, const struct waiting *waiting, uint64_t num)
{
	uint64_t start = hsnap_object_start(push->work, waiting->block), word;
	hsnap_dtype_id type = hsnap_dtype(push->work->symbols, waiting->pointer)->target;
	hsnap_window_open(&push->walk.reader, start, start + num * 8);
	for (uint64_t at = start; at < start + num * 8; at += 8)
		if (!hsnap_window_word(&push->walk.reader, at, &word) ||
		    !(hsnap_is_target(push->work, word, type, &push->hint) || is_inside(push, word, type)))
			return false;
	return num;
}

static void take_one(struct push *push, const struct waiting *waiting)
{
	struct hsnap_work *work = push->work;
	uint32_t b = waiting->block;
	uint64_t room = hsnap_object_room(work, b), used = 0;
	enum hsnap_evidence evidence = waiting->sure ? HSNAP_EVIDENCE_POINTER : HSNAP_EVIDENCE_FOLLOWED;
	if (work->claims[b].evidence >= evidence)
		return;
	bool whole = !(hsnap_is_requested(work, &work->heap->blocks.items[b]) && room % 8) && are_targets(push, waiting, room / 8);
	if (!whole)
		used = hsnap_count_used(work, b, waiting->at);
	if (!whole && (used < FEW_USED || !are_targets(push, waiting, used))) {
		hsnap_reject_claim(work, b, waiting->pointer, HSNAP_FORM_RUN, evidence, HSNAP_VERDICT_LOOK);
		return;
	}
	claim(push, b, waiting->pointer, HSNAP_FORM_RUN, evidence);
	if (!whole && work->claims[b].evidence == evidence) {
		push->failed |= !hsnap_set_live(work, b, 0, used * 8);
		if (!push->failed)
			work->bodies.items[work->body_of[b] - 1].unproved = true;
	}
	drain(push);
}

/* Arrays of pointers, once structs have had their say; what they hold may lead to more.  Those that sure
 * places lead to come first, also the ones found on the way. */
static void take_waiting(struct push *push)
{
	while (!push->failed) {
		while (push->waited < push->waiting.num && !push->waiting.items[push->waited].sure)
			push->waited++;
		while (push->doubted < push->waiting.num && push->waiting.items[push->doubted].sure)
			push->doubted++;
		if (push->waited == push->waiting.num && push->doubted == push->waiting.num)
			break;
		struct waiting waiting = push->waiting.items[push->waited < push->waiting.num ? push->waited++ : push->doubted++];
		take_one(push, &waiting);
	}
}

/*
 * Now and then malloc does not split off what is too little for a chunk of its own.  It is that, and no
 * larger object that the pointer knows the beginning of, if hardly any other block is not of the type's
 * size and no type begins with this one.
 */
static bool may_be_odd(struct push *push, hsnap_dtype_id type)
{
	const struct fits *fits = &push->fits[type];
	const struct hsnap_symbols *symbols = push->work->symbols;
	uint64_t size = hsnap_dtype(symbols, type)->size;
	if (fits->good < FEW_FITS || (uint64_t)fits->bad * 20 > fits->good)
		return false;
	for (hsnap_dtype_id other = 1; other < symbols->types.num; other++) {
		const struct hsnap_dtype *dtype = hsnap_dtype(symbols, other);
		if (dtype->kind == HSNAP_DTYPE_STRUCT && dtype->size > size && dtype->size <= size + MOST_REST &&
		    hsnap_starts_with(&push->work->plans, other, type))
			return false;
	}
	return true;
}

static void take_odd(struct push *push)
{
	hsnap_dtype_id last = 0;
	bool good = false;
	for (; push->taken < push->odd.num && !push->failed; push->taken++) {
		struct odd odd = push->odd.items[push->taken];
		if (push->work->claims[odd.block].evidence >= HSNAP_EVIDENCE_POINTER)
			continue;
		if (odd.type != last)
			good = may_be_odd(push, odd.type);
		last = odd.type;
		if (!good)
			continue;
		claim(push, odd.block, odd.type, HSNAP_FORM_ONE, odd.sure ? HSNAP_EVIDENCE_POINTER : HSNAP_EVIDENCE_FOLLOWED);
		drain(push);
		take_waiting(push);
	}
}

static void add_declared(void *context, const struct hsnap_slab *slab, uint64_t address)
{
	struct push *push = context;
	push->sure = hsnap_evidence_confidence((enum hsnap_evidence)slab->evidence) > HSNAP_INFERRED;
	note_part(push, slab->block, slab->type, address);
}

/* Objects in blocks that have no name by now: their pointers are declared as well. */
static void walk_parts(struct push *push)
{
	struct hsnap_work *work = push->work;
	hsnap_each_declared(work, &push->declared, add_declared, push);
	for (; push->walked < work->parts.num && !push->failed; push->walked++) {
		struct hsnap_part part = work->parts.items[push->walked];
		if (!hsnap_part_counts(work, &part) || !hsnap_is_object(work, part.type, part.address))
			continue;
		push->sure = part.sure;
		hsnap_walk_object(&push->walk, part.type, part.address, part.address + hsnap_dtype(work->symbols, part.type)->size);
		drain(push);
		take_waiting(push);
	}
}

/* All that the queues and what they lead to have to say; opaque handles when all else is said. */
static void settle(struct push *push)
{
	drain(push);
	take_waiting(push);
	take_odd(push);
	walk_parts(push);
	for (; push->handled < push->handles.num && !push->failed; push->handled++) {
		struct handle handle = push->handles.items[push->handled];
		push->sure = true; /* what it says is inferred in any case */
		push_pointer(push, handle.block, handle.type, 0, HSNAP_EVIDENCE_ALIAS);
		drain(push);
		take_waiting(push);
		take_odd(push);
		walk_parts(push);
	}
}

static void take_inferred(struct push *push, const struct hsnap_inferred_list *list, enum hsnap_evidence evidence)
{
	for (size_t i = 0; i < list->num && !push->failed; i++)
		claim(push, list->items[i].block, list->items[i].type, HSNAP_FORM_ONE, evidence);
	settle(push);
}

static void see_link(void *context, const struct hsnap_found *found)
{
	struct push *push = context;
	uint32_t b = hsnap_block_index_find(&push->work->index, found->value, &push->hint);
	if (b != HSNAP_NO_BLOCK && found->value != hsnap_object_start(push->work, b))
		note_inner(push, b, found);
}

/* A list's nodes lead from one to the next, and only the first to be seen is what a typed place leads to. */
static void follow_inners(struct push *push)
{
	struct hsnap_work *work = push->work;
	struct hsnap_walk walk;
	hsnap_walk_init(&walk, work, see_link, push);
	for (size_t i = 0; i < push->inners.items.num && !push->failed; i++) {
		struct hsnap_inner inner = push->inners.items.items[i];
		uint64_t start = hsnap_object_start(work, inner.block), room = hsnap_object_room(work, inner.block);
		uint64_t size = hsnap_dtype(work->symbols, inner.type)->size;
		if (work->claims[inner.block].evidence < HSNAP_EVIDENCE_INTRUSIVE && size <= room &&
		    inner.offset <= room - size)
			hsnap_walk_object(&walk, inner.type, start + inner.offset, start + inner.offset + size);
	}
}

/* What blocks have from their kin, once all is said that can be proved. */
static enum hsnap_code infer(struct push *push, struct hsnap_error *err)
{
	struct hsnap_inferred_list list = { 0 };
	follow_inners(push);
	enum hsnap_code code = hsnap_find_outer(push->work, &push->inners, &list, err);
	if (!code)
		take_inferred(push, &list, HSNAP_EVIDENCE_INTRUSIVE);
	hsnap_vec_deinit(&list);
	list = (struct hsnap_inferred_list){ 0 };
	if (!code)
		code = hsnap_find_consensus(push->work, &list, err);
	if (!code)
		take_inferred(push, &list, HSNAP_EVIDENCE_CONSENSUS);
	hsnap_vec_deinit(&list);
	return code;
}

/* Blocks and objects within them that only void pointers lead to; they may hold more of these. */
static enum hsnap_code take_landings(struct push *push, struct hsnap_error *err)
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
				note_part(push, landed->block, landed->type, landed->address);
				continue;
			}
			claim(push, landed->block, landed->type, bytes ? HSNAP_FORM_BYTES : HSNAP_FORM_ONE, HSNAP_EVIDENCE_LANDING);
			blocks += !bytes; /* which lead to nothing more */
		}
		hsnap_vec_deinit(&list);
		any = blocks || push->work->parts.num > parts;
		settle(push);
	}
	return code;
}

/* What rules say that hold under an owner only; what they name may be an owner's, or hold others. */
static enum hsnap_code take_owned(struct push *push, struct hsnap_error *err)
{
	enum hsnap_code code = HSNAP_OK;
	struct hsnap_block_list list = { 0 };
	bool any = push->work->user && push->work->user->owned;
	for (unsigned round = 0; round < OWNED_ROUNDS && any && !code && !push->failed; round++) {
		code = hsnap_find_owned(push->work, &list, err);
		any = list.num;
		for (size_t i = 0; i < list.num && !code && !push->failed; i++)
			walk_block(push, list.items[i]);
		settle(push);
	}
	hsnap_vec_deinit(&list);
	return code;
}

static enum hsnap_code say_what_was_cut(const struct push *push, struct hsnap_error *err)
{
	struct hsnap_snapshot *snapshot = push->work->snapshot;
	if (!push->cut)
		return HSNAP_OK;
	hsnap_string note = hsnap_strings_addf(&snapshot->strings, "of objects within blocks only %zu were looked at", MAX_PARTS);
	return note != HSNAP_NO_STRING && hsnap_vec_push(&snapshot->notes, note) ? HSNAP_OK : hsnap_no_memory(err);
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
	push.fits = calloc(work->symbols->types.num, sizeof(*push.fits));
	push.inside = calloc(work->symbols->types.num, sizeof(*push.inside));
	if (!push.fits || !push.inside)
		return hsnap_no_memory(err);
	hsnap_walk_init(&push.walk, work, visit, &push);
	hsnap_window_init(&push.counts, work->target);
	push.sure = true; /* of a variable is declared what it is */
	for (size_t i = 0; i < work->segments.num && !push.failed; i++)
		hsnap_walk_segment(&push.walk, &work->segments.items[i]);
	for (uint32_t b = 0; b < work->num_blocks && !push.failed; b++)
		if (work->claims[b].evidence >= HSNAP_EVIDENCE_SITE)
			walk_block(&push, b);
	settle(&push);
	enum hsnap_code code = take_owned(&push, err);
	if (!code)
		code = infer(&push, err);
	if (!code)
		code = take_landings(&push, err);
	if (!code)
		code = hsnap_find_freed(work, err);
	if (!code)
		settle(&push);
	if (!code)
		code = hsnap_find_slabs(work, &push.inners, err);
	if (!code)
		code = say_what_was_cut(&push, err);
	if (code)
		return code;
	return push.failed || work->plans.failed || work->losers.failed ? hsnap_no_memory(err) : HSNAP_OK;
}
