/* SPDX-License-Identifier: MIT */
/*
 * refine.c - partition refinement (Moore, 1956): from "looks alike" down until nothing splits any more.
 *
 * A class has a number.  In each round those types are looked at again that refer to one whose class has
 * changed; of a class that splits one part keeps the number.  So the first round sees all, and the others
 * the few that differ far away: of libjvm's 1.5 million types 36,000 classes are left after 15 rounds, all
 * but 4,000 of them after the first.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/symbols/unify.h"

#define MAX_ROUNDS 64 /* a difference further away than this is not seen: hostile only */

uint64_t hsnap_refine_looks(const struct hsnap_reader *reader, const struct hsnap_raw_type *type)
{
	uint64_t hash = hsnap_unify_mix(hsnap_unify_mix(0, type->kind), type->name);
	hash = hsnap_unify_mix(hash, (uint64_t)type->file << 32 | type->line);
	hash = hsnap_unify_mix(hash, type->size);
	hash = hsnap_unify_mix(hash, type->count);
	hash = hsnap_unify_mix(hash, type->flags);
	hash = hsnap_unify_mix(hash, (uint64_t)type->num_members << 32 | type->num_arguments);
	for (uint32_t i = 0; i < type->num_members; i++) {
		const struct hsnap_raw_member *member = &reader->members.items[type->first_member + i];
		hash = hsnap_unify_mix(hash, (uint64_t)member->name << 32 | member->flags);
		hash = hsnap_unify_mix(hash, member->offset);
	}
	return hash;
}

/* --- numbers for hashes --- */

/* A table of our own: it is filled and dropped in each of some dozen rounds.  At its place or behind it; 0: empty. */
struct numbers {
	struct number {
		uint64_t hash;
		uint32_t class_of;
	} *slots;
	size_t size, num; /* a power of two */
};

static size_t slot_of(const struct numbers *numbers, uint64_t hash)
{
	size_t mask = numbers->size - 1, at = hash * 0x9e3779b97f4a7c15u >> 20 & mask;
	while (numbers->slots[at].hash && numbers->slots[at].hash != hash)
		at = (at + 1) & mask;
	return at;
}

static bool numbers_grow(struct numbers *numbers)
{
	struct numbers grown = { .size = numbers->size ? numbers->size * 4 : 1024, .num = numbers->num };
	grown.slots = calloc(grown.size, sizeof(*grown.slots));
	if (!grown.slots)
		return false;
	for (size_t i = 0; i < numbers->size; i++)
		if (numbers->slots[i].hash)
			grown.slots[slot_of(&grown, numbers->slots[i].hash)] = numbers->slots[i];
	free(numbers->slots);
	*numbers = grown;
	return true;
}

/* The place of a hash, with a new one's hash put there and *ret_new true; NULL: no memory. */
static struct number *number_of(struct numbers *numbers, uint64_t hash, bool *ret_new)
{
	hash |= 1; /* 0 is empty */
	if (numbers->num >= numbers->size / 2 && !numbers_grow(numbers))
		return NULL;
	struct number *number = &numbers->slots[slot_of(numbers, hash)];
	*ret_new = !number->hash;
	numbers->num += *ret_new;
	number->hash = hash;
	return number;
}

/* --- what refers to what --- */

static uint32_t num_refs(const struct hsnap_raw_type *type)
{
	bool target = type->kind == HSNAP_RAW_POINTER || type->kind == HSNAP_RAW_ARRAY;
	return type->kind == HSNAP_RAW_ALIAS ? 0 : target + type->num_members + type->num_arguments;
}

static bool link_all(struct hsnap_unify *u)
{
	struct hsnap_reader *reader = u->reader;
	uint64_t total = 0;
	for (uint32_t i = 0; i < u->num; i++)
		total += num_refs(&reader->types.items[i]);
	u->start = calloc(u->num + (size_t)1, sizeof(*u->start));
	u->refs = total < UINT32_MAX ? calloc(total + 1, sizeof(*u->refs)) : NULL;
	if (!u->start || !u->refs)
		return false;
	uint32_t at = 0;
	for (uint32_t i = 0; i < u->num; i++) {
		const struct hsnap_raw_type *type = &reader->types.items[i];
		u->start[i] = at;
		if (type->kind == HSNAP_RAW_ALIAS)
			continue;
		if (type->kind == HSNAP_RAW_POINTER || type->kind == HSNAP_RAW_ARRAY)
			u->refs[at++] = hsnap_table_type(reader, type->ref);
		for (uint32_t m = 0; m < type->num_members; m++)
			u->refs[at++] = hsnap_table_type(reader, reader->members.items[type->first_member + m].type);
		for (uint32_t a = 0; a < type->num_arguments; a++)
			u->refs[at++] = hsnap_table_type(reader, reader->arguments.items[type->first_argument + a]);
	}
	u->start[u->num] = at;
	return true;
}

/* A name alone makes a declaration: where it was written does not matter. */
static bool number_looks(struct hsnap_unify *u)
{
	struct numbers numbers = { 0 };
	bool ok = (u->looks = calloc(u->num, sizeof(*u->looks))) != NULL, is_new;
	u->num_looks = 1; /* 0 is void, and what nothing refers to: aliases */
	for (uint32_t i = 1; ok && i < u->num; i++) {
		const struct hsnap_raw_type *type = &u->reader->types.items[i];
		if (type->kind == HSNAP_RAW_ALIAS)
			continue;
		uint64_t hash = type->kind == HSNAP_RAW_DECLARATION ? hsnap_unify_mix(99, type->name)
								    : hsnap_refine_looks(u->reader, type);
		struct number *number = number_of(&numbers, hash, &is_new);
		ok = number != NULL;
		if (ok && is_new)
			number->class_of = u->num_looks++;
		u->looks[i] = ok ? number->class_of : 0;
	}
	free(numbers.slots);
	return ok;
}

bool hsnap_refine_init(struct hsnap_unify *u)
{
	u->class_of = calloc(u->num, sizeof(*u->class_of));
	return u->class_of && link_all(u) && number_looks(u);
}

void hsnap_refine_deinit(struct hsnap_unify *u)
{
	free(u->start);
	free(u->refs);
	free(u->looks);
	free(u->class_of);
	free(u->id);
	free(u->first);
}

/* --- refinement --- */

struct refine {
	struct hsnap_unify *u;
	uint32_t *size, *seen; /* per class: how many types it has but those in `settled`, and how many this round looks at */
	uint8_t *kept;         /* per class: a part of it has its number */
	uint8_t *changed;      /* a bit for each type: its class has changed in the last round */
	uint32_t *list, *next; /* types that this round looks at, and what they become */
	uint32_t num;
	struct hsnap_vec(uint32_t) settled; /* declarations whose definition is known */
	struct numbers numbers;
};

static void refine_deinit(struct refine *r)
{
	free(r->size);
	free(r->seen);
	free(r->kept);
	free(r->changed);
	free(r->list);
	free(r->next);
	free(r->numbers.slots);
	hsnap_vec_deinit(&r->settled);
}

static bool is_changed(const struct refine *r, uint32_t index)
{
	return index != HSNAP_UNKNOWN_TYPE && r->changed[index >> 3] >> (index & 7) & 1;
}

static void set_class(struct refine *r, uint32_t index, uint32_t class_of)
{
	r->u->class_of[index] = class_of;
	r->changed[index >> 3] |= (uint8_t)(1 << (index & 7));
}

/* What a declaration stands for has moved: so has it. */
static void follow_definitions(struct refine *r)
{
	uint32_t *class_of = r->u->class_of;
	for (size_t i = 0; i < r->settled.num; i++) {
		uint32_t index = r->settled.items[i], of = class_of[hsnap_unify_settled(r->u, index)];
		if (class_of[index] != of)
			set_class(r, index, of);
	}
}

static uint64_t signature(const struct hsnap_unify *u, uint32_t index)
{
	uint64_t hash = hsnap_unify_mix(1, u->class_of[index]);
	for (uint32_t at = u->start[index]; at < u->start[index + 1]; at++)
		hash = hsnap_unify_mix(hash, u->refs[at] == HSNAP_UNKNOWN_TYPE ? UINT64_MAX : u->class_of[u->refs[at]]);
	return hash;
}

/* Those that refer to one that has changed; in the first round all that refer to anything. */
static void list_affected(struct refine *r, bool first)
{
	const struct hsnap_unify *u = r->u;
	r->num = 0;
	for (uint32_t i = 1; i < u->num; i++) {
		uint32_t at = u->start[i], end = u->start[i + 1];
		bool affected = first && at < end;
		for (; at < end && !affected; at++)
			affected = is_changed(r, u->refs[at]);
		if (!affected)
			continue;
		r->list[r->num++] = i;
		r->seen[u->class_of[i]]++;
	}
}

/* The number of a new part of a class: its own, if none of it stays as it is and no other part has that. */
static uint32_t number_part(struct refine *r, uint32_t class_of)
{
	if (r->seen[class_of] < r->size[class_of] || r->kept[class_of])
		return r->u->num_classes++;
	r->kept[class_of] = 1;
	return class_of;
}

static bool split(struct refine *r)
{
	struct hsnap_unify *u = r->u;
	bool is_new, ok = true;
	if (r->numbers.slots)
		memset(r->numbers.slots, 0, r->numbers.size * sizeof(*r->numbers.slots));
	r->numbers.num = 0;
	for (uint32_t i = 0; ok && i < r->num; i++) {
		struct number *number = number_of(&r->numbers, signature(u, r->list[i]), &is_new);
		ok = number != NULL;
		if (ok && is_new)
			number->class_of = number_part(r, u->class_of[r->list[i]]);
		r->next[i] = ok ? number->class_of : 0;
	}
	return ok;
}

/* false: nothing has changed. */
static bool apply(struct refine *r)
{
	bool any = false;
	for (uint32_t i = 0; i < r->num; i++) {
		uint32_t class_of = r->u->class_of[r->list[i]];
		r->seen[class_of] = r->kept[class_of] = 0;
	}
	memset(r->changed, 0, r->u->num / 8 + 1);
	for (uint32_t i = 0; i < r->num; i++) {
		if (r->u->class_of[r->list[i]] == r->next[i])
			continue;
		r->size[r->u->class_of[r->list[i]]]--;
		r->size[r->next[i]]++;
		set_class(r, r->list[i], r->next[i]);
		any = true;
	}
	follow_definitions(r);
	return any;
}

static bool refine_init(struct refine *r)
{
	struct hsnap_unify *u = r->u;
	/* Each number stays in use: there are no more than types. */
	r->size = calloc(u->num + (size_t)1, sizeof(*r->size));
	r->seen = calloc(u->num + (size_t)1, sizeof(*r->seen));
	r->kept = calloc(u->num + (size_t)1, 1);
	r->changed = calloc(u->num / 8 + (size_t)1, 1);
	r->list = calloc(u->num, sizeof(*r->list));
	r->next = calloc(u->num, sizeof(*r->next));
	if (!r->size || !r->seen || !r->kept || !r->changed || !r->list || !r->next)
		return false;
	memcpy(u->class_of, u->looks, u->num * sizeof(*u->looks));
	u->num_classes = u->num_looks;
	for (uint32_t i = 0; i < u->num; i++) {
		bool settled = hsnap_unify_settled(u, i) != i;
		r->size[u->class_of[i]] += !settled;
		if (settled && !hsnap_vec_push(&r->settled, i))
			return false;
	}
	return true;
}

bool hsnap_refine(struct hsnap_unify *u)
{
	struct refine r = { .u = u };
	bool ok = refine_init(&r), more = ok;
	if (ok)
		follow_definitions(&r);
	for (unsigned round = 0; ok && more && round <= MAX_ROUNDS; round++) {
		list_affected(&r, !round);
		ok = split(&r);
		more = ok && apply(&r);
	}
	refine_deinit(&r);
	return ok;
}
