/* SPDX-License-Identifier: MIT */
/*
 * outer.c - from the object inside a block to what it is a part of (container_of).
 *
 * A place is a type at an offset of blocks of one size.  Pools have such objects at many offsets, and a
 * list's node that many structs have is told by its offset and their size alone: such a place has several
 * candidates, or its candidate has to show for it.
 *
 * Nodes of a list are judged by those of their size first: at one offset, or at several that one struct has, since
 * an object may be on two lists and have the head of a third.  Where that tells nothing they are judged list by list.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/naming/claims.h"
#include "capture/naming/rings.h"
#include "capture/naming/walk.h"
#include "snapshot/base/cleanup.h"

#define MAX_PLACES 64u
#define MAX_DEPTH 16u
#define MAX_STEPS 4096u /* members that are looked at for one: hostile ones overlap */
#define FEW_NODES 3u
#define MOST_PERCENT 95u
#define MOST_OFFSETS HSNAP_MOST_INNERS
#define ALL_SETS (1u << MOST_OFFSETS) /* of offsets, each a bit */

/* Offsets, the most common ones, and how often each is met. */
struct votes {
	uint32_t offsets[MOST_OFFSETS], counts[MOST_OFFSETS];
	uint32_t num, all;
};

/* Inners that are judged together: of one type in blocks of one size, or those of them that are on one list. */
struct group {
	struct votes votes;
	uint32_t place; /* 1 + index into places, or 0 */
	uint32_t inner; /* one of them */
};

/* Objects of a type at the same offsets of blocks of a size. */
struct place {
	hsnap_dtype_id type, outer; /* outer 0: none, or it cannot be told */
	uint64_t size;
	uint32_t offsets[MOST_OFFSETS], num;
	uint32_t block; /* one of them */
	uint32_t having, fitting; /* types with such members there, and those that fill the block */
	uint32_t fitting_some[ALL_SETS]; /* types that fill the block and have such members at those offsets at least */
	uint32_t looked, good, used; /* blocks that were looked at, look like outer, and use its other pointers */
};

struct outer {
	struct hsnap_work *work;
	const struct hsnap_inners *inners;
	struct hsnap_rings rings;
	bool by_list;
	struct hsnap_keymap known; /* {type or list, size} → 1 + index into groups */
	struct hsnap_vec(struct group) groups;
	struct hsnap_vec(struct place) places;
	struct hsnap_keymap said;  /* {block, 0} → what it is called, or NO_WAY */
	struct hsnap_vec(uint32_t) blocks; /* that are called something */
};

#define NO_WAY UINT32_MAX

static void outer_deinit(struct outer *outer)
{
	hsnap_rings_deinit(&outer->rings);
	hsnap_keymap_deinit(&outer->known);
	hsnap_vec_deinit(&outer->groups);
	hsnap_vec_deinit(&outer->places);
	hsnap_keymap_deinit(&outer->said);
	hsnap_vec_deinit(&outer->blocks);
}

/* Inners that count, now: of blocks without a name; not those that only look like nodes of a list. */
static bool counts(const struct outer *outer, uint32_t i)
{
	const struct hsnap_inner *inner = &outer->inners->items.items[i];
	uint8_t state = outer->rings.state[i];
	bool is_node = state == HSNAP_RING_NODE;
	return outer->work->claims[inner->block].evidence < HSNAP_EVIDENCE_INTRUSIVE && state != HSNAP_RING_OFF &&
	       (inner->offset || is_node) && (!outer->by_list || is_node);
}

static struct hsnap_key key_of(const struct outer *outer, uint32_t i)
{
	const struct hsnap_inner *inner = &outer->inners->items.items[i];
	uint64_t size = hsnap_object_room(outer->work, inner->block);
	return (struct hsnap_key){ outer->by_list ? outer->rings.list[i] : inner->type, size };
}

static struct group *group_of(const struct outer *outer, uint32_t i)
{
	uint32_t known = hsnap_keymap_get(&outer->known, key_of(outer, i));
	return known ? &outer->groups.items[known - 1] : NULL;
}

static unsigned find_offset(const struct votes *votes, uint32_t offset)
{
	unsigned n = 0;
	while (n < votes->num && votes->offsets[n] != offset)
		n++;
	return n;
}

/* All that are at more than a fifth are found, whatever comes (Misra and Gries); how often, a second pass counts. */
static void vote(struct votes *votes, uint32_t offset)
{
	unsigned n = find_offset(votes, offset), kept = 0;
	if (n == votes->num && n < MOST_OFFSETS)
		votes->offsets[votes->num++] = offset;
	if (n < MOST_OFFSETS) {
		votes->counts[n]++;
		return;
	}
	for (n = 0; n < MOST_OFFSETS; n++) {
		votes->offsets[kept] = votes->offsets[n];
		votes->counts[kept] = votes->counts[n] - 1;
		kept += votes->counts[kept] > 0;
	}
	votes->num = kept;
	for (n = kept; n < MOST_OFFSETS; n++)
		votes->counts[n] = 0;
}

static bool find_groups(struct outer *outer)
{
	for (uint32_t i = 0; i < outer->inners->items.num; i++) {
		bool is_new;
		if (!counts(outer, i))
			continue;
		uint32_t *known = hsnap_keymap_at(&outer->known, key_of(outer, i), &is_new);
		if (!known)
			return false;
		if (is_new) {
			*known = (uint32_t)outer->groups.num + 1;
			if (!hsnap_vec_push(&outer->groups, (struct group){ .inner = i }))
				return false;
		}
		vote(&outer->groups.items[*known - 1].votes, outer->inners->items.items[i].offset);
	}
	return true;
}

static void count_all(struct outer *outer)
{
	for (size_t g = 0; g < outer->groups.num; g++)
		memset(outer->groups.items[g].votes.counts, 0, sizeof(outer->groups.items[g].votes.counts));
	for (uint32_t i = 0; i < outer->inners->items.num; i++) {
		const struct hsnap_inner *inner = &outer->inners->items.items[i];
		struct group *group = counts(outer, i) ? group_of(outer, i) : NULL;
		if (!group)
			continue;
		unsigned n = find_offset(&group->votes, inner->offset);
		group->votes.all++;
		if (n < group->votes.num && !hsnap_inners_are_many(outer->inners, inner))
			group->votes.counts[n]++;
	}
}

static bool are_most(uint32_t some, uint32_t all)
{
	return (uint64_t)some * 100 >= (uint64_t)all * MOST_PERCENT;
}

/* The offsets that are met often enough; false: they do not tell. */
static bool choose(const struct outer *outer, struct group *group)
{
	const struct votes votes = group->votes;
	struct votes *kept = &group->votes;
	uint32_t there = 0, most = 0;
	kept->num = 0;
	for (unsigned n = 0; n < votes.num; n++) {
		if (votes.counts[n] < FEW_NODES)
			continue;
		there += votes.counts[n];
		most = votes.counts[n] > most ? votes.counts[n] : most;
		kept->counts[kept->num] = votes.counts[n];
		kept->offsets[kept->num++] = votes.offsets[n];
	}
	if (outer->by_list) /* one may be the head, within an object of that size */
		return kept->num == 1 && are_most(most, votes.all - (most < votes.all));
	bool nodes = outer->rings.state[group->inner] == HSNAP_RING_NODE;
	return kept->num && (kept->num == 1 || nodes) && are_most(there, votes.all);
}

static bool is_same_place(const struct place *a, const struct place *b)
{
	return a->type == b->type && a->size == b->size && a->num == b->num &&
	       !memcmp(a->offsets, b->offsets, a->num * sizeof(*a->offsets));
}

/* 1 + index of the place, or 0: there are enough of them.  NO_WAY: out of memory. */
static uint32_t add_place(struct outer *outer, const struct place *place)
{
	size_t p = 0;
	while (p < outer->places.num && !is_same_place(&outer->places.items[p], place))
		p++;
	if (p == MAX_PLACES)
		return 0;
	if (p == outer->places.num && !hsnap_vec_push(&outer->places, *place))
		return NO_WAY;
	return (uint32_t)p + 1;
}

static bool find_places(struct outer *outer)
{
	for (size_t g = 0; g < outer->groups.num; g++) {
		struct group *group = &outer->groups.items[g];
		const struct hsnap_inner *inner = &outer->inners->items.items[group->inner];
		struct place place = { .type = inner->type, .block = inner->block, .size = hsnap_object_room(outer->work, inner->block) };
		if (!choose(outer, group))
			continue;
		place.num = group->votes.num;
		memcpy(place.offsets, group->votes.offsets, sizeof(place.offsets));
		group->place = add_place(outer, &place);
		if (group->place == NO_WAY)
			return false;
	}
	return true;
}

/* The place of an inner that counts, or NULL. */
static struct place *place_of(const struct outer *outer, uint32_t i)
{
	const struct hsnap_inner *inner = &outer->inners->items.items[i];
	const struct group *group = counts(outer, i) ? group_of(outer, i) : NULL;
	struct place *place = group && group->place ? &outer->places.items[group->place - 1] : NULL;
	return place && place->outer && !hsnap_inners_are_many(outer->inners, inner) &&
		       find_offset(&group->votes, inner->offset) < group->votes.num ? place : NULL;
}

static bool has_member(const struct hsnap_work *work, hsnap_dtype_id type, hsnap_dtype_id member, uint64_t offset,
		       unsigned depth, unsigned *steps)
{
	const struct hsnap_symbols *symbols = work->symbols;
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	if (!offset && work->plans.same[type] == work->plans.same[member])
		return true;
	if (depth == MAX_DEPTH || offset >= dtype->size)
		return false;
	if (dtype->kind == HSNAP_DTYPE_ARRAY && hsnap_dtype(symbols, dtype->target)->size)
		return has_member(work, dtype->target, member, offset % hsnap_dtype(symbols, dtype->target)->size, depth + 1,
				  steps);
	for (uint32_t m = 0; dtype->kind == HSNAP_DTYPE_STRUCT && m < dtype->num_members && *steps; m++) {
		const struct hsnap_dmember *inner = &symbols->members.items[dtype->first_member + m];
		--*steps;
		if (inner->flags & (HSNAP_DMEMBER_VIRTUAL | HSNAP_DMEMBER_BITFIELD | HSNAP_DMEMBER_VPTR) ||
		    inner->offset > offset || offset - inner->offset >= hsnap_dtype(symbols, inner->type)->size)
			continue;
		if (has_member(work, inner->type, member, offset - inner->offset, depth + 1, steps))
			return true;
	}
	return false;
}

bool hsnap_has_member(const struct hsnap_work *work, hsnap_dtype_id type, hsnap_dtype_id member, uint64_t offset)
{
	unsigned steps = MAX_STEPS;
	return has_member(work, type, member, offset, 0, &steps);
}

/* At which of the offsets the type has such a member. */
static unsigned set_of(const struct hsnap_work *work, hsnap_dtype_id type, const struct place *place)
{
	uint64_t size = hsnap_dtype(work->symbols, type)->size;
	unsigned set = 0;
	for (uint32_t n = 0; n < place->num; n++)
		if (place->offsets[n] < size && hsnap_has_member(work, type, place->type, place->offsets[n]))
			set |= 1u << n;
	return set;
}

/* A struct without a name to which no pointer leads is that of variables: no code can make or use one in a block. */
static bool is_of_variables(const struct hsnap_work *work, hsnap_dtype_id type)
{
	if (hsnap_dtype(work->symbols, type)->name)
		return false;
	for (hsnap_dtype_id other = 1; other < work->symbols->types.num; other++) {
		const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, other);
		if (dtype->kind == HSNAP_DTYPE_POINTER && work->plans.same[dtype->target] == type)
			return false;
	}
	return true;
}

/* One that fits but can be in no block still makes it doubtful which it is. */
static void find_candidates(struct outer *outer)
{
	struct hsnap_work *work = outer->work;
	for (hsnap_dtype_id type = 1; type < work->symbols->types.num; type++) {
		const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, type);
		if (dtype->kind != HSNAP_DTYPE_STRUCT || work->plans.same[type] != type)
			continue;
		for (size_t p = 0; p < outer->places.num; p++) {
			struct place *place = &outer->places.items[p];
			unsigned set = type != place->type ? set_of(work, type, place) : 0;
			bool has_all = set == (1u << place->num) - 1;
			place->having += has_all;
			if (!set || hsnap_fit(work, place->block, type) != HSNAP_FORM_ONE)
				continue;
			for (unsigned some = set; some; some = (some - 1) & set)
				place->fitting_some[some]++;
			if (!has_all)
				continue;
			place->fitting++;
			place->outer = place->fitting == 1 && is_of_variables(work, type) ? 0 : type;
		}
	}
}

/* The pointers of an object, but for those of the parts that are known. */
struct look {
	struct hsnap_work *work;
	const struct place *place;
	uint64_t part; /* size of each */
	uint32_t hint;
	bool bad, used;
};

static void see_pointer(void *context, const struct hsnap_found *found)
{
	struct look *look = context;
	for (uint32_t n = 0; n < look->place->num; n++)
		if (found->offset >= look->place->offsets[n] && found->offset < look->place->offsets[n] + look->part)
			return;
	uint32_t b = hsnap_block_index_find(&look->work->index, found->value, &look->hint);
	if (b != HSNAP_NO_BLOCK || hsnap_is_target(look->work, found->value, found->type, &look->hint))
		look->used |= b != HSNAP_NO_BLOCK;
	else if (found->kind == HSNAP_SLOT_POINTER)
		look->bad = true;
}

static struct look look_at(const struct outer *outer, const struct place *place, uint32_t b)
{
	struct hsnap_work *work = outer->work;
	struct look look = { .work = work, .place = place, .part = hsnap_dtype(work->symbols, place->type)->size };
	struct hsnap_walk walk;
	uint64_t start = hsnap_object_start(work, b);
	hsnap_walk_init(&walk, work, see_pointer, &look);
	hsnap_walk_object(&walk, place->outer, start, start + hsnap_dtype(work->symbols, place->outer)->size);
	return look;
}

static void look_at_all(struct outer *outer)
{
	for (size_t p = 0; p < outer->places.num; p++)
		if (outer->places.items[p].fitting != 1)
			outer->places.items[p].outer = 0;
	for (uint32_t i = 0; i < outer->inners->items.num; i++) {
		struct place *place = place_of(outer, i);
		if (!place)
			continue;
		struct look look = look_at(outer, place, outer->inners->items.items[i].block);
		place->looked++;
		place->good += !look.bad;
		place->used += !look.bad && look.used;
	}
}

static bool is_told(const struct place *place)
{
	return are_most(place->good, place->looked) && (place->having == 1 || place->used * 2 >= place->looked);
}

/* Are all nodes of the block such members of the type, and of no other type's that would fill the block? */
static bool has_nodes(const struct outer *outer, const struct place *place, const struct hsnap_inner *inner)
{
	const struct hsnap_inners *inners = outer->inners;
	uint32_t i = hsnap_keymap_get(&inners->known, (struct hsnap_key){ inner->block, inner->type });
	unsigned set = 0;
	for (; i; i = inners->items.items[i - 1].next) {
		uint32_t offset = inners->items.items[i - 1].offset, n = 0;
		if (outer->rings.state[i - 1] == HSNAP_RING_OFF)
			continue;
		if (!hsnap_has_member(outer->work, place->outer, inner->type, offset))
			return false;
		while (n < place->num && place->offsets[n] != offset)
			n++;
		set |= n < place->num ? 1u << n : 0;
	}
	return place->fitting_some[set] == 1;
}

/* Who is called two names has none. */
static bool say(struct outer *outer, uint32_t block, hsnap_dtype_id type)
{
	bool is_new;
	uint32_t *said = hsnap_keymap_at(&outer->said, (struct hsnap_key){ block, 0 }, &is_new);
	if (!said)
		return false;
	*said = is_new || *said == type ? type : NO_WAY;
	return !is_new || hsnap_vec_push(&outer->blocks, block);
}

static bool say_all(struct outer *outer)
{
	for (uint32_t i = 0; i < outer->inners->items.num; i++) {
		const struct hsnap_inner *inner = &outer->inners->items.items[i];
		const struct place *place = place_of(outer, i);
		if (place && is_told(place) && has_nodes(outer, place, inner) && !look_at(outer, place, inner->block).bad &&
		    !say(outer, inner->block, place->outer))
			return false;
	}
	return true;
}

/* All groups of one kind. */
static bool take_groups(struct outer *outer, bool by_list)
{
	outer->by_list = by_list;
	outer->groups.num = outer->places.num = 0;
	hsnap_keymap_deinit(&outer->known);
	outer->known = (struct hsnap_keymap){ 0 };
	if (!find_groups(outer))
		return false;
	count_all(outer);
	if (!find_places(outer))
		return false;
	find_candidates(outer);
	look_at_all(outer);
	return say_all(outer);
}

enum hsnap_code hsnap_find_outer(struct hsnap_work *work, const struct hsnap_inners *inners,
				 struct hsnap_inferred_list *ret, struct hsnap_error *err)
{
	if (!inners->items.num)
		return HSNAP_OK;
	hsnap_auto(outer_deinit) struct outer outer = { .work = work, .inners = inners };
	enum hsnap_code code = hsnap_find_rings(work, inners, &outer.rings, err);
	if (code)
		return code;
	if (!take_groups(&outer, false) || !take_groups(&outer, true))
		return hsnap_no_memory(err);
	for (size_t i = 0; i < outer.blocks.num; i++) {
		uint32_t b = outer.blocks.items[i], type = hsnap_keymap_get(&outer.said, (struct hsnap_key){ b, 0 });
		if (type != NO_WAY && !hsnap_vec_push(ret, (struct hsnap_inferred){ b, type }))
			return hsnap_no_memory(err);
	}
	return HSNAP_OK;
}
