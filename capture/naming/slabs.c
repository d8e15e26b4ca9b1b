/* SPDX-License-Identifier: MIT */
/*
 * slabs.c - finds the blocks that are pools, by the objects in them that typed pointers lead to.
 *
 * What an allocator of the program's own cuts a block into has one size.  So objects of one type at one distance
 * are its items; a struct that is but a member of the items has another size than that, and is none.
 */
#include <stdlib.h>

#include "capture/naming/claims.h"
#include "capture/naming/inferred.h"
#include "capture/naming/pools.h"
#include "snapshot/base/cleanup.h"
#include "snapshot/base/pages.h"
#include "snapshot/base/search.h"

#define FEW_ITEMS 4u
#define FEW_FLEXIBLE 8u /* of those whose size nothing but their distance tells, unless half of the places have one */
#define MOST_KINDS 16u  /* types in one block: with more it is a heap of all sorts */
#define MOST_AGAINST 20u /* one in so many may be contradicted */

/* Objects of one type in one block. */
struct kind {
	hsnap_dtype_id type;
	uint32_t num, sure;
	uint64_t first, last, distance; /* offsets; what all distances are multiples of */
};

struct slabs {
	struct hsnap_work *work;
	uint8_t *counts; /* parts of each block, up to FEW_ITEMS */
	struct hsnap_vec(uint32_t) order; /* parts of blocks with enough of them, by address */
	struct hsnap_keymap outer; /* {type, size} → a type of that size at most has it as a part; 0: any begins with it */
};

static void slabs_deinit(struct slabs *slabs)
{
	hsnap_pages_free(slabs->counts, slabs->work->num_blocks, sizeof(*slabs->counts));
	hsnap_vec_deinit(&slabs->order);
	hsnap_keymap_deinit(&slabs->outer);
}

static int by_address(const void *a, const void *b, void *context)
{
	const struct hsnap_work *work = context;
	const struct hsnap_part *x = &work->parts.items[*(const uint32_t *)a], *y = &work->parts.items[*(const uint32_t *)b];
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->type < y->type ? -1 : x->type > y->type;
}

bool hsnap_may_be_item(const struct hsnap_work *work, const struct hsnap_part *part)
{
	const struct hsnap_claim *claim = &work->claims[part->block];
	return claim->form == HSNAP_FORM_RUN && claim->type == part->type &&
	       (claim->evidence == HSNAP_EVIDENCE_RUN || claim->evidence == HSNAP_EVIDENCE_GUESS ||
		claim->evidence == HSNAP_EVIDENCE_POINTER);
}

/* Is the part to be looked at, or has its block a name that is good enough? */
static bool is_open(const struct hsnap_work *work, const struct hsnap_part *part)
{
	return hsnap_part_counts(work, part) || (!hsnap_is_kept_as_run(work, part->block) && hsnap_may_be_item(work, part));
}

static bool put_in_order(struct slabs *slabs)
{
	struct hsnap_work *work = slabs->work;
	for (size_t i = 0; i < work->parts.num; i++) {
		uint8_t *count = &slabs->counts[work->parts.items[i].block];
		*count += *count < FEW_ITEMS;
	}
	for (size_t i = 0; i < work->parts.num; i++) {
		const struct hsnap_part *part = &work->parts.items[i];
		bool enough = slabs->counts[part->block] >= FEW_ITEMS || work->claims[part->block].type == part->type;
		if (enough && is_open(work, part) && !hsnap_vec_push(&slabs->order, (uint32_t)i))
			return false;
	}
	if (slabs->order.num)
		qsort_r(slabs->order.items, slabs->order.num, sizeof(*slabs->order.items), by_address, work);
	return true;
}

/* ---- one block ---- */

/* The parts of one block, in order of address. */
struct group {
	struct hsnap_work *work;
	const uint32_t *parts;
	size_t num;
	uint32_t block;
	hsnap_dtype_id first; /* the block has the name of what is but the first of its kind in it, as it seems; else 0 */
	struct kind kinds[MOST_KINDS];
	unsigned num_kinds;
};

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

static const struct hsnap_part *part_of(const struct group *group, size_t i)
{
	return &group->work->parts.items[group->parts[i]];
}

static uint64_t offset_of(const struct group *group, const struct hsnap_part *part)
{
	return part->address - hsnap_object_start(group->work, group->block);
}

/* false: of all sorts. */
static bool add_object(struct group *group, hsnap_dtype_id type, uint64_t at, bool sure)
{
	unsigned k = 0;
	while (k < group->num_kinds && group->kinds[k].type != type)
		k++;
	if (k == MOST_KINDS)
		return false;
	struct kind *kind = &group->kinds[k];
	if (k == group->num_kinds) {
		group->num_kinds++;
		*kind = (struct kind){ .type = type, .first = at };
	}
	kind->distance = common_divisor(at - kind->first, kind->distance);
	kind->last = at;
	kind->num++;
	kind->sure += sure;
	return true;
}

static bool find_kinds(struct group *group)
{
	const struct hsnap_claim *claim = &group->work->claims[group->block];
	if (group->first && !add_object(group, group->first, 0, hsnap_claim_is_sure(claim)))
		return false;
	for (size_t i = 0; i < group->num; i++)
		if (!add_object(group, part_of(group, i)->type, offset_of(group, part_of(group, i)), part_of(group, i)->sure))
			return false;
	return true;
}

/* A flexible object in whose tail others of its type lie is no larger than they are; nor is one of a pool's a run. */
static hsnap_dtype_id find_first(const struct group *group)
{
	const struct hsnap_claim *claim = &group->work->claims[group->block];
	if (claim->form != HSNAP_FORM_RUN && (claim->form != HSNAP_FORM_ONE || claim->evidence > HSNAP_EVIDENCE_CONTAINER))
		return 0;
	for (size_t i = 0; i < group->num; i++)
		if (part_of(group, i)->type == claim->type)
			return claim->type;
	return 0;
}

static bool is_flexible(const struct group *group, hsnap_dtype_id type)
{
	return hsnap_dtype(group->work->symbols, type)->flags & HSNAP_DTYPE_FLEXIBLE;
}

/* Is there a type of at most `most` bytes that has the other as a part of it?  Then that may be the item. */
static bool has_outer(const struct hsnap_work *work, hsnap_dtype_id type, uint64_t most)
{
	uint64_t size = hsnap_dtype(work->symbols, type)->size;
	for (hsnap_dtype_id outer = 1; outer < work->symbols->types.num; outer++) {
		const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, outer);
		if (dtype->kind != HSNAP_DTYPE_STRUCT || dtype->size <= size || dtype->size > most)
			continue;
		for (uint64_t at = 0; at + size <= dtype->size; at += 8)
			if (hsnap_has_member(work, outer, type, at))
				return true;
	}
	return false;
}

/* Does a larger type begin with it?  Then a pointer to it may be one to any of those. */
static bool begins_other(const struct hsnap_work *work, hsnap_dtype_id type)
{
	uint64_t size = hsnap_dtype(work->symbols, type)->size;
	for (hsnap_dtype_id outer = 1; outer < work->symbols->types.num; outer++) {
		const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, outer);
		if (dtype->kind == HSNAP_DTYPE_STRUCT && dtype->size > size && hsnap_starts_with(&work->plans, outer, type))
			return true;
	}
	return false;
}

/* The same, asked once: of types of `stride` bytes at most, or 0: of those that begin with it. */
static bool may_be_part(struct slabs *slabs, hsnap_dtype_id type, uint64_t stride, bool *ret)
{
	bool is_new;
	uint32_t *known = hsnap_keymap_at(&slabs->outer, (struct hsnap_key){ type, stride }, &is_new);
	if (!known)
		return false;
	if (is_new)
		*known = stride ? has_outer(slabs->work, type, stride) : begins_other(slabs->work, type);
	*ret = *known;
	return true;
}

/* What an allocator makes of the size, so that all distances are multiples of it; 0: they are not. */
static uint64_t stride_of(const struct group *group, const struct kind *kind)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(group->work->symbols, kind->type);
	if (kind->num < FEW_ITEMS || kind->distance < dtype->size)
		return 0;
	if (is_flexible(group, kind->type)) {
		bool dense = (kind->last - kind->first) / kind->distance + 1 <= (uint64_t)kind->num * 2;
		return dense || kind->num >= FEW_FLEXIBLE ? kind->distance : 0;
	}
	/* Classes with virtual functions are derived from: with room behind it is rather one of those. */
	for (unsigned r = 0; r < (dtype->flags & HSNAP_DTYPE_POLYMORPHIC ? 1 : HSNAP_POOL_ROUNDINGS); r++) {
		uint64_t stride = hsnap_pool_stride(dtype->size, r);
		if (kind->distance % stride == 0)
			return stride;
	}
	return 0;
}

/* At no less than two of three places: what is twice as large, or more, does not fit between them. */
static bool is_dense(const struct kind *kind, uint64_t stride)
{
	return ((kind->last - kind->first) / stride + 1) * 2 <= (uint64_t)kind->num * 3;
}

/* Is the item rather something larger, of which the kind's type is a part?  false: out of memory. */
static bool may_be_larger(struct slabs *slabs, const struct group *group, const struct kind *kind, uint64_t stride, bool *ret)
{
	uint64_t size = hsnap_dtype(group->work->symbols, kind->type)->size;
	*ret = false;
	if (!stride || is_flexible(group, kind->type))
		return true;
	if (stride >= size + 8 && !may_be_part(slabs, kind->type, stride, ret))
		return false;
	return *ret || is_dense(kind, stride) || may_be_part(slabs, kind->type, 0, ret);
}

/*
 * The kind that the block is a pool of, as it seems: the largest, since the others may be parts of it.
 * false: out of memory.
 */
static bool choose(struct slabs *slabs, const struct group *group, const struct kind **ret)
{
	const struct hsnap_symbols *symbols = group->work->symbols;
	*ret = NULL;
	for (unsigned k = 0; k < group->num_kinds; k++) {
		const struct kind *kind = &group->kinds[k];
		uint64_t stride = stride_of(group, kind), size = hsnap_dtype(symbols, kind->type)->size;
		bool part = false;
		if (!may_be_larger(slabs, group, kind, stride, &part))
			return false;
		if (stride && !part && (!*ret || size > hsnap_dtype(symbols, (*ret)->type)->size))
			*ret = kind;
	}
	return true;
}

static void set_item(struct hsnap_slab *slab, uint64_t place)
{
	if (place < slab->num)
		hsnap_slab_add(slab, place);
}

static void drop_item(struct hsnap_slab *slab, uint64_t place)
{
	if (place >= slab->num || !hsnap_slab_has(slab, place))
		return;
	slab->items[place / 64] &= ~((uint64_t)1 << place % 64);
	slab->num_items--;
}

/* Can there be such an object at a byte of an item? */
static bool explains(const struct hsnap_work *work, hsnap_dtype_id item, hsnap_dtype_id type, uint64_t at)
{
	if (at >= hsnap_dtype(work->symbols, item)->size) /* in its tail */
		return true;
	return hsnap_has_member(work, item, type, at) ||
	       (!at && (hsnap_starts_with(&work->plans, type, item) || hsnap_starts_with(&work->plans, item, type)));
}

/* Pointers to something else where the items are, or where more of them might be; such an item does not count. */
static uint32_t count_against(const struct group *group, struct hsnap_slab *slab)
{
	uint64_t end = slab->first + (uint64_t)slab->num * slab->stride;
	uint32_t against = 0;
	for (size_t i = 0; i < group->num; i++) {
		const struct hsnap_part *part = part_of(group, i);
		uint64_t at = offset_of(group, part), from = at - slab->first;
		if (part->type == slab->type || at < slab->first || at >= end ||
		    explains(group->work, slab->type, part->type, from % slab->stride))
			continue;
		drop_item(slab, from / slab->stride);
		against++;
	}
	return against;
}

static void set_items(const struct group *group, const struct kind *kind, struct hsnap_slab *slab)
{
	for (size_t i = 0; i < group->num; i++) {
		const struct hsnap_part *part = part_of(group, i);
		if (part->type == kind->type)
			set_item(slab, (offset_of(group, part) - slab->first) / slab->stride);
	}
	if (group->first == kind->type)
		set_item(slab, 0);
}

/* From the first item that is seen to the last that there is room for; false: out of memory. */
static bool measure(const struct group *group, const struct kind *kind, struct hsnap_slab *slab)
{
	uint64_t room = hsnap_object_room(group->work, group->block);
	slab->block = group->block;
	slab->type = kind->type;
	slab->stride = stride_of(group, kind);
	slab->size = is_flexible(group, kind->type) ? slab->stride : hsnap_dtype(group->work->symbols, kind->type)->size;
	slab->first = kind->first;
	slab->evidence = (uint64_t)kind->sure * MOST_AGAINST >= (uint64_t)kind->num * (MOST_AGAINST - 1)
				 ? HSNAP_EVIDENCE_POINTER : HSNAP_EVIDENCE_FOLLOWED;
	if (room < slab->first || room - slab->first < slab->size ||
	    (room - slab->first - slab->size) / slab->stride >= HSNAP_MAX_NODES)
		return true;
	slab->num = (uint32_t)((room - slab->first - slab->size) / slab->stride) + 1;
	slab->items = calloc(slab->num / 64 + 1, sizeof(*slab->items));
	return slab->items;
}

/* The parts of one block from `first` on; those of the next one begin at the result. */
static size_t begin_group(const struct slabs *slabs, size_t first, struct group *group)
{
	*group = (struct group){ .work = slabs->work, .parts = slabs->order.items + first };
	group->block = part_of(group, 0)->block;
	while (first + group->num < slabs->order.num && part_of(group, group->num)->block == group->block)
		group->num++;
	return first + group->num;
}

/* What the block is a pool of; ret->items is NULL where it is none.  false: out of memory. */
static bool find_slab(struct slabs *slabs, struct group *group, struct hsnap_slab *ret)
{
	const struct hsnap_work *work = slabs->work;
	const struct kind *kind = NULL;
	bool is_declared = work->declared.num && hsnap_keymap_get(&work->declared_blocks, (struct hsnap_key){ group->block, 0 });
	*ret = (struct hsnap_slab){ 0 };
	group->first = find_first(group);
	if (is_declared || !find_kinds(group))
		return true;
	if (!choose(slabs, group, &kind) || (kind && !measure(group, kind, ret)))
		return false;
	if (ret->num)
		set_items(group, kind, ret);
	uint64_t against = ret->num ? count_against(group, ret) : 0;
	if (ret->num_items < FEW_ITEMS || against * MOST_AGAINST > kind->num) {
		free(ret->items);
		ret->items = NULL;
	}
	return true;
}

static bool look_at_block(struct slabs *slabs, size_t first, size_t *next)
{
	struct hsnap_work *work = slabs->work;
	struct hsnap_slab slab;
	struct group group;
	*next = begin_group(slabs, first, &group);
	if (!find_slab(slabs, &group, &slab))
		return false;
	/* A run of what the first object was once taken for, links of free ones: nothing but the size bears it. */
	const struct hsnap_claim *claim = &work->claims[group.block];
	bool is_guess = slab.items && claim->form == HSNAP_FORM_RUN && claim->evidence == HSNAP_EVIDENCE_GUESS;
	if (is_guess || (group.first && (slab.items || claim->form == HSNAP_FORM_ONE)))
		hsnap_unname_block(work, group.block, HSNAP_VERDICT_SIZE);
	if (!slab.items || hsnap_vec_push(&work->slabs, slab))
		return true;
	free(slab.items);
	return false;
}

/* ---- arrays ---- */

/* Objects of the type would fill it, and nothing but what its pointers lead to says that they do not. */
static bool may_be_array(struct hsnap_work *work, const struct hsnap_part *part)
{
	return hsnap_is_kept_as_run(work, part->block) && hsnap_part_counts(work, part) &&
	       part->address == hsnap_object_start(work, part->block) && hsnap_fit(work, part->block, part->type) == HSNAP_FORM_RUN &&
	       !hsnap_may_be_larger(work, part->block, part->type);
}

static bool look_for_array(struct slabs *slabs, size_t first, size_t *next, struct hsnap_inferred_list *ret)
{
	struct hsnap_slab slab;
	struct group group;
	*next = begin_group(slabs, first, &group);
	if (!hsnap_is_kept_as_run(slabs->work, group.block))
		return true;
	if (!find_slab(slabs, &group, &slab))
		return false;
	bool is_array = false;
	for (size_t i = 0; i < group.num && slab.items && !is_array; i++)
		is_array = part_of(&group, i)->type == slab.type && may_be_array(slabs->work, part_of(&group, i));
	is_array = is_array && slab.stride == hsnap_dtype(slabs->work->symbols, slab.type)->size;
	free(slab.items);
	return !is_array || hsnap_vec_push(ret, (struct hsnap_inferred){ group.block, slab.type });
}

enum hsnap_code hsnap_find_arrays(struct hsnap_work *work, struct hsnap_inferred_list *ret, struct hsnap_error *err)
{
	hsnap_auto(slabs_deinit) struct slabs slabs = { .work = work };
	bool any = false;
	for (size_t i = 0; i < work->parts.num && !any; i++)
		any = may_be_array(work, &work->parts.items[i]);
	if (!any)
		return HSNAP_OK;
	slabs.counts = hsnap_pages_alloc(work->num_blocks, sizeof(*slabs.counts));
	bool done = slabs.counts && put_in_order(&slabs);
	for (size_t i = 0; done && i < slabs.order.num;)
		done = look_for_array(&slabs, i, &i, ret);
	return done ? HSNAP_OK : hsnap_no_memory(err);
}

/* ---- all of them ---- */

/* What the user says is a pool is one; of what stands before its first object it says nothing. */
static bool take_declared(struct hsnap_work *work)
{
	for (size_t i = 0; i < work->declared.num; i++) {
		struct hsnap_slab *slab = &work->declared.items[i];
		const struct hsnap_claim *claim = &work->claims[slab->block];
		if (claim->form != HSNAP_FORM_BYTES && claim->type &&
		    (claim->form == HSNAP_FORM_RUN || slab->first < hsnap_dtype(work->symbols, claim->type)->size))
			hsnap_unname_block(work, slab->block, HSNAP_VERDICT_SIZE);
		if (!hsnap_vec_push(&work->slabs, *slab))
			return false;
		slab->items = NULL;
	}
	return true;
}

/* ---- free objects ---- */

#define MOST_LINKS (1u << 22) /* that are followed in all, beside as many as there are places */

/* One that has a pointer to its like at its start. */
static bool is_link(struct hsnap_work *work, hsnap_dtype_id type)
{
	return hsnap_is_bare_link(work, type) && !hsnap_plan_of(&work->plans, type)->slots[0].offset;
}

static struct hsnap_slab *slab_in_order(struct hsnap_work *work, uint32_t b)
{
	struct hsnap_slab *slabs = work->slabs.items;
	size_t low = hsnap_first(work->slabs.num, i, slabs[i].block >= b);
	return low < work->slabs.num && slabs[low].block == b ? &slabs[low] : NULL;
}

/*
 * An item that a list of links leads to, though its type does not begin with one, is free: the link has
 * taken its place.
 */
static void follow_links(struct hsnap_work *work, struct hsnap_window *reader, const struct hsnap_inner *inner, uint64_t *budget)
{
	uint32_t b = inner->block, hint = 0;
	uint64_t at = hsnap_object_start(work, b) + inner->offset;
	for (; *budget && b != HSNAP_NO_BLOCK; --*budget) {
		struct hsnap_slab *slab = slab_in_order(work, b);
		uint64_t from = at - hsnap_object_start(work, b);
		if (slab && slab->evidence < HSNAP_EVIDENCE_USER && from >= slab->first && (from - slab->first) % slab->stride == 0 &&
		    !explains(work, slab->type, inner->type, 0))
			drop_item(slab, (from - slab->first) / slab->stride);
		if (!hsnap_window_word(reader, at, &at))
			break;
		b = hsnap_block_index_find(&work->index, at, &hint);
	}
}

static void drop_free(struct hsnap_work *work, const struct hsnap_inners *inners)
{
	struct hsnap_window reader;
	uint64_t budget = MOST_LINKS;
	for (size_t i = 0; i < work->slabs.num; i++)
		budget += work->slabs.items[i].num;
	hsnap_window_init(&reader, work->target);
	for (size_t i = 0; i < inners->items.num; i++)
		if (slab_in_order(work, inners->items.items[i].block) && is_link(work, inners->items.items[i].type))
			follow_links(work, &reader, &inners->items.items[i], &budget);
}

static int by_block(const void *a, const void *b)
{
	const struct hsnap_slab *x = a, *y = b;
	return (x->block > y->block) - (x->block < y->block);
}

static bool rank(struct hsnap_slab *slab)
{
	uint32_t words = slab->num / 64 + 1, before = 0;
	slab->ranks = calloc(words, sizeof(*slab->ranks));
	for (uint32_t i = 0; slab->ranks && i < words; i++) {
		slab->ranks[i] = before;
		before += (uint32_t)__builtin_popcountll(slab->items[i]);
	}
	return slab->ranks;
}

/* Give each object its number; more than there can be nodes have none. */
static bool number(struct hsnap_work *work)
{
	work->is_slab = calloc(work->num_blocks / 64 + 1, sizeof(*work->is_slab));
	if (!work->is_slab)
		return false;
	size_t kept = 0;
	for (size_t i = 0; i < work->slabs.num; i++) {
		struct hsnap_slab slab = work->slabs.items[i];
		work->slabs.items[i].items = NULL; /* it moves */
		if (!slab.num_items || work->num_items + slab.num_items > HSNAP_MAX_NODES / 2) {
			free(slab.items);
			continue;
		}
		slab.first_item = work->num_items;
		work->num_items += slab.num_items;
		work->is_slab[slab.block / 64] |= (uint64_t)1 << slab.block % 64;
		work->slabs.items[kept++] = slab;
		if (!rank(&work->slabs.items[kept - 1]))
			return false;
	}
	work->slabs.num = kept;
	return true;
}

enum hsnap_code hsnap_find_slabs(struct hsnap_work *work, const struct hsnap_inners *inners, struct hsnap_error *err)
{
	hsnap_auto(slabs_deinit) struct slabs slabs = { .work = work };
	slabs.counts = hsnap_pages_alloc(work->num_blocks, sizeof(*slabs.counts));
	bool done = slabs.counts && put_in_order(&slabs);
	for (size_t i = 0; done && i < slabs.order.num;)
		done = look_at_block(&slabs, i, &i);
	done = done && take_declared(work);
	if (done && work->slabs.num) {
		qsort(work->slabs.items, work->slabs.num, sizeof(*work->slabs.items), by_block);
		drop_free(work, inners);
		done = number(work);
	}
	return done ? HSNAP_OK : hsnap_no_memory(err);
}
