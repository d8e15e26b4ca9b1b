/* SPDX-License-Identifier: MIT */
/*
 * outer.c - from the object inside a block to what it is a part of (container_of).
 *
 * A place is a type at an offset of blocks of one size.  Pools have such objects at many offsets, and a
 * list's node that many structs have is told by its offset and their size alone: such a place has several
 * candidates, or its candidate has to show for it.
 */
#include <stdlib.h>

#include "capture/naming/claims.h"
#include "capture/naming/inferred.h"
#include "capture/naming/walk.h"
#include "snapshot/base/cleanup.h"

#define MAX_INNERS ((size_t)1 << 20)
#define MAX_PLACES 64u
#define MAX_DEPTH 16u
#define FEW_BLOCKS 3u
#define MOST_PERCENT 95u

void hsnap_inners_deinit(struct hsnap_inners *inners)
{
	hsnap_vec_deinit(&inners->items);
	hsnap_keymap_deinit(&inners->known);
}

bool hsnap_inners_note(struct hsnap_inners *inners, uint32_t block, hsnap_dtype_id type, uint64_t offset)
{
	bool is_new;
	if (inners->items.num >= MAX_INNERS || offset % 8 || offset > UINT32_MAX)
		return true;
	uint32_t *known = hsnap_keymap_at(&inners->known, (struct hsnap_key){ block, type }, &is_new);
	if (!known)
		return false;
	if (is_new) {
		*known = (uint32_t)inners->items.num + 1;
		return hsnap_vec_push(&inners->items, (struct hsnap_inner){ block, (uint32_t)offset, type, false });
	}
	struct hsnap_inner *inner = &inners->items.items[*known - 1];
	inner->many |= inner->offset != offset;
	return true;
}

/* Those of one type in blocks of one size, at the offset where most of them are. */
struct place {
	hsnap_dtype_id type, outer; /* outer 0: none, or it cannot be told */
	uint64_t size;
	uint32_t offset, block;  /* block: one of them */
	uint32_t total, there; /* blocks, and those of them that have it at the offset */
	uint32_t having, fitting; /* types with such a member there, and those that fill the block */
	uint32_t looked, good, used; /* blocks that were looked at, look like outer, and use its other pointers */
};

struct outer {
	struct hsnap_work *work;
	const struct hsnap_inners *inners;
	struct hsnap_keymap known; /* {type, size} → 1 + index into places */
	struct hsnap_vec(struct place) places;
};

static void outer_deinit(struct outer *outer)
{
	hsnap_keymap_deinit(&outer->known);
	hsnap_vec_deinit(&outer->places);
}

static bool is_unnamed(const struct outer *outer, uint32_t b)
{
	return outer->work->claims[b].evidence < HSNAP_EVIDENCE_INTRUSIVE;
}

static struct hsnap_key key_of(const struct outer *outer, const struct hsnap_inner *inner)
{
	return (struct hsnap_key){ inner->type, hsnap_object_room(outer->work, inner->block) };
}

/* The place of one that counts, or NULL. */
static struct place *place_of(const struct outer *outer, const struct hsnap_inner *inner)
{
	uint32_t known = hsnap_keymap_get(&outer->known, key_of(outer, inner));
	struct place *place = known ? &outer->places.items[known - 1] : NULL;
	return place && place->outer && !inner->many && inner->offset == place->offset && is_unnamed(outer, inner->block)
		       ? place : NULL;
}

/* By majority, so that one pass finds the offset and a second one counts. */
static bool find_places(struct outer *outer)
{
	const struct hsnap_inners *inners = outer->inners;
	for (size_t i = 0; i < inners->items.num; i++) {
		const struct hsnap_inner *inner = &inners->items.items[i];
		bool is_new;
		if (!is_unnamed(outer, inner->block))
			continue;
		uint32_t *known = hsnap_keymap_at(&outer->known, key_of(outer, inner), &is_new);
		if (!known)
			return false;
		if (is_new) {
			*known = (uint32_t)outer->places.num + 1;
			struct place place = { .type = inner->type, .size = key_of(outer, inner).b, .block = inner->block };
			if (!hsnap_vec_push(&outer->places, place))
				return false;
		}
		struct place *place = &outer->places.items[*known - 1];
		if (!place->there)
			place->offset = inner->offset;
		place->there += place->offset == inner->offset ? 1 : -1u;
	}
	return true;
}

static void count_blocks(struct outer *outer)
{
	for (size_t p = 0; p < outer->places.num; p++)
		outer->places.items[p].there = 0;
	for (size_t i = 0; i < outer->inners->items.num; i++) {
		const struct hsnap_inner *inner = &outer->inners->items.items[i];
		uint32_t known = hsnap_keymap_get(&outer->known, key_of(outer, inner));
		if (!known || !is_unnamed(outer, inner->block))
			continue;
		struct place *place = &outer->places.items[known - 1];
		place->total++;
		place->there += !inner->many && inner->offset == place->offset;
	}
}

static bool is_constant(const struct place *place)
{
	return place->there >= FEW_BLOCKS && (uint64_t)place->there * 100 >= (uint64_t)place->total * MOST_PERCENT;
}

static bool has_member(const struct hsnap_work *work, hsnap_dtype_id type, hsnap_dtype_id member, uint64_t offset,
		       unsigned depth)
{
	const struct hsnap_symbols *symbols = work->symbols;
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	if (!offset && work->plans.same[type] == work->plans.same[member])
		return true;
	if (depth == MAX_DEPTH || offset >= dtype->size)
		return false;
	if (dtype->kind == HSNAP_DTYPE_ARRAY && hsnap_dtype(symbols, dtype->target)->size)
		return has_member(work, dtype->target, member, offset % hsnap_dtype(symbols, dtype->target)->size, depth + 1);
	for (uint32_t m = 0; dtype->kind == HSNAP_DTYPE_STRUCT && m < dtype->num_members; m++) {
		const struct hsnap_dmember *inner = &symbols->members.items[dtype->first_member + m];
		if (inner->flags & (HSNAP_DMEMBER_VIRTUAL | HSNAP_DMEMBER_BITFIELD | HSNAP_DMEMBER_VPTR) ||
		    inner->offset > offset || offset - inner->offset >= hsnap_dtype(symbols, inner->type)->size)
			continue;
		if (has_member(work, inner->type, member, offset - inner->offset, depth + 1))
			return true;
	}
	return false;
}

bool hsnap_has_member(const struct hsnap_work *work, hsnap_dtype_id type, hsnap_dtype_id member, uint64_t offset)
{
	return has_member(work, type, member, offset, 0);
}

static void find_candidates(struct outer *outer)
{
	struct hsnap_work *work = outer->work;
	for (hsnap_dtype_id type = 1; type < work->symbols->types.num; type++) {
		const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, type);
		if (dtype->kind != HSNAP_DTYPE_STRUCT || work->plans.same[type] != type)
			continue;
		for (size_t p = 0; p < outer->places.num; p++) {
			struct place *place = &outer->places.items[p];
			if (!place->total || place->offset >= dtype->size ||
			    !hsnap_has_member(work, type, place->type, place->offset))
				continue;
			place->having++;
			if (hsnap_fit(work, place->block, type) != HSNAP_FORM_ONE)
				continue;
			place->fitting++;
			place->outer = type;
		}
	}
}

/* The first places that are worth it. */
static void drop_others(struct outer *outer)
{
	uint32_t kept = 0;
	for (size_t p = 0; p < outer->places.num; p++)
		if (!is_constant(&outer->places.items[p]) || kept++ >= MAX_PLACES)
			outer->places.items[p].total = 0;
}

/* The pointers of an object, but for those of the part that is known. */
struct look {
	struct hsnap_work *work;
	uint64_t first, last; /* offsets of that part */
	uint32_t hint;
	bool bad, used;
};

static void see_pointer(void *context, const struct hsnap_found *found)
{
	struct look *look = context;
	if (found->offset >= look->first && found->offset < look->last)
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
	struct look look = { .work = work, .first = place->offset,
			     .last = place->offset + hsnap_dtype(work->symbols, place->type)->size };
	struct hsnap_walk walk;
	uint64_t start = hsnap_object_start(work, b);
	hsnap_walk_init(&walk, work, see_pointer, &look);
	hsnap_walk_object(&walk, place->outer, start, start + hsnap_dtype(work->symbols, place->outer)->size);
	return look;
}

static void look_at_all(struct outer *outer)
{
	for (size_t p = 0; p < outer->places.num; p++) {
		struct place *place = &outer->places.items[p];
		if (!place->total || place->fitting != 1)
			place->outer = 0;
	}
	for (size_t i = 0; i < outer->inners->items.num; i++) {
		const struct hsnap_inner *inner = &outer->inners->items.items[i];
		struct place *place = place_of(outer, inner);
		if (!place)
			continue;
		struct look look = look_at(outer, place, inner->block);
		place->looked++;
		place->good += !look.bad;
		place->used += !look.bad && look.used;
	}
}

static bool is_told(const struct place *place)
{
	return (uint64_t)place->good * 100 >= (uint64_t)place->looked * MOST_PERCENT &&
	       (place->having == 1 || place->used * 2 >= place->looked);
}

enum hsnap_code hsnap_find_outer(struct hsnap_work *work, const struct hsnap_inners *inners,
				 struct hsnap_inferred_list *ret, struct hsnap_error *err)
{
	if (!inners->items.num)
		return HSNAP_OK;
	hsnap_auto(outer_deinit) struct outer outer = { .work = work, .inners = inners };
	if (!find_places(&outer))
		return hsnap_no_memory(err);
	count_blocks(&outer);
	drop_others(&outer);
	find_candidates(&outer);
	look_at_all(&outer);
	for (size_t i = 0; i < inners->items.num; i++) {
		const struct hsnap_inner *inner = &inners->items.items[i];
		const struct place *place = place_of(&outer, inner);
		if (!place || !is_told(place) || look_at(&outer, place, inner->block).bad)
			continue;
		if (!hsnap_vec_push(ret, (struct hsnap_inferred){ inner->block, place->outer }))
			return hsnap_no_memory(err);
	}
	return HSNAP_OK;
}
