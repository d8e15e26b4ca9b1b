/* SPDX-License-Identifier: MIT */
/* members.c - members whose type says nothing, with their candidates; a walk along them. */
#include "capture/naming/members.h"

#include <stdlib.h>

#include "capture/naming/claims.h"
#include "capture/naming/walk.h"
#include "snapshot/base/search.h"

#define MAX_SLOTS 256 /* of one type; of an array the first of them */
#define MAX_DEPTH 16
#define NO_MEMBER UINT32_MAX

/* Where such members stand in a type. */
struct hsnap_void_slot {
	uint64_t offset;
	uint32_t member;
};

struct slot_list hsnap_vec_body(struct hsnap_void_slot);

void hsnap_void_members_deinit(struct hsnap_void_members *members)
{
	hsnap_vec_deinit(&members->items);
	hsnap_vec_deinit(&members->candidates);
	for (size_t i = 0; members->slots && i < members->work->symbols->types.num; i++)
		free(members->slots[i].items);
	free(members->slots);
}

/* --- candidates --- */

static bool is_declared(const struct hsnap_symbols *symbols, const struct hsnap_dlanding *landing)
{
	const struct hsnap_dtype *holder = hsnap_dtype(symbols, landing->holder);
	for (uint32_t m = 0; m < holder->num_members && holder->kind == HSNAP_DTYPE_STRUCT; m++) {
		const struct hsnap_dmember *member = &symbols->members.items[holder->first_member + m];
		const struct hsnap_dtype *dtype = hsnap_dtype(symbols, member->type);
		for (unsigned i = 0; i < MAX_DEPTH && dtype->kind == HSNAP_DTYPE_ARRAY; i++)
			dtype = hsnap_dtype(symbols, dtype->target);
		if (member->offset == landing->offset)
			return dtype->kind == HSNAP_DTYPE_POINTER && hsnap_dtype(symbols, dtype->target)->kind == HSNAP_DTYPE_BYTE;
	}
	return false;
}

/* Of several kinds of bytes plain ones: their name says the least. */
static void add_bytes(const struct hsnap_symbols *symbols, struct hsnap_void_member *member, hsnap_dtype_id type)
{
	if (!member->bytes || !strcmp(hsnap_str(&symbols->strings, hsnap_dtype(symbols, type)->name), "char"))
		member->bytes = type;
}

static bool add_candidate(struct hsnap_void_members *members, const struct hsnap_dlanding *landing)
{
	const struct hsnap_symbols *symbols = members->work->symbols;
	struct hsnap_void_member *last = members->items.num ? &members->items.items[members->items.num - 1] : NULL;
	if (!last || last->holder != landing->holder || last->offset != landing->offset) {
		struct hsnap_void_member member = { .holder = landing->holder, .offset = landing->offset,
						    .first = (uint32_t)members->candidates.num,
						    .declared = is_declared(symbols, landing) };
		if (!hsnap_vec_push(&members->items, member))
			return false;
		last = &members->items.items[members->items.num - 1];
	}
	if (hsnap_dtype(symbols, landing->type)->kind == HSNAP_DTYPE_BYTE) {
		add_bytes(symbols, last, landing->type);
		return true;
	}
	if (last->num && members->candidates.items[last->first + last->num - 1] == landing->type)
		return true;
	last->num++;
	return hsnap_vec_push(&members->candidates, landing->type);
}

/* The same struct in several modules is one, and has the candidates of all. */
static bool list_members(struct hsnap_void_members *members)
{
	const struct hsnap_work *work = members->work;
	const struct hsnap_symbols *symbols = work->symbols;
	struct hsnap_vec(struct hsnap_dlanding) list = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < symbols->landings.num; i++) {
		struct hsnap_dlanding landing = symbols->landings.items[i];
		landing.holder = work->plans.same[landing.holder];
		landing.type = hsnap_dtype(symbols, landing.type)->kind == HSNAP_DTYPE_INCOMPLETE
				       ? work->aliases[landing.type] : work->plans.same[landing.type];
		ok = !landing.type || hsnap_vec_push(&list, landing);
	}
	if (list.num)
		qsort(list.items, list.num, sizeof(*list.items), hsnap_compare_landings);
	for (size_t i = 0; ok && i < list.num; i++)
		ok = add_candidate(members, &list.items[i]);
	hsnap_vec_deinit(&list);
	return ok;
}

bool hsnap_void_members_init(struct hsnap_void_members *members, struct hsnap_work *work)
{
	members->work = work;
	hsnap_window_init(&members->reader, work->target);
	members->slots = calloc(work->symbols->types.num, sizeof(*members->slots));
	return members->slots && list_members(members);
}

/* --- where they stand --- */

static uint32_t find_member(const struct hsnap_void_members *members, hsnap_dtype_id holder, uint64_t offset)
{
	const struct hsnap_void_member *items = members->items.items;
	size_t at = hsnap_first(members->items.num, i, items[i].holder > holder ||
				(items[i].holder == holder && items[i].offset >= offset));
	bool found = at < members->items.num && items[at].holder == holder && items[at].offset == offset &&
		     items[at].num <= HSNAP_MAX_CANDIDATES;
	return found ? (uint32_t)at : NO_MEMBER;
}

static void list_slots(struct hsnap_void_members *members, hsnap_dtype_id type, uint64_t offset, unsigned depth,
		       struct slot_list *list);

/* A member, or each element of one that is an array. */
static void list_member(struct hsnap_void_members *members, hsnap_dtype_id type, uint32_t member, uint64_t offset,
			unsigned depth, struct slot_list *list)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(members->work->symbols, type);
	if (dtype->kind == HSNAP_DTYPE_ARRAY && depth < MAX_DEPTH) {
		uint64_t each = hsnap_dtype(members->work->symbols, dtype->target)->size;
		for (uint64_t n = 0; each && n < dtype->count && list->num < MAX_SLOTS; n++)
			list_member(members, dtype->target, member, offset + n * each, depth + 1, list);
	} else if (member == NO_MEMBER) {
		list_slots(members, type, offset, depth + 1, list);
	} else if (list->num < MAX_SLOTS && !hsnap_vec_push(list, (struct hsnap_void_slot){ offset, member })) {
		members->failed = true;
	}
}

static void list_slots(struct hsnap_void_members *members, hsnap_dtype_id type, uint64_t offset, unsigned depth,
		       struct slot_list *list)
{
	const struct hsnap_symbols *symbols = members->work->symbols;
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	if ((dtype->kind != HSNAP_DTYPE_STRUCT && dtype->kind != HSNAP_DTYPE_UNION) || depth >= MAX_DEPTH)
		return;
	for (uint32_t m = 0; m < dtype->num_members && list->num < MAX_SLOTS; m++) {
		const struct hsnap_dmember *member = &symbols->members.items[dtype->first_member + m];
		if (member->flags & (HSNAP_DMEMBER_BITFIELD | HSNAP_DMEMBER_VIRTUAL | HSNAP_DMEMBER_VPTR) ||
		    member->offset >= dtype->size)
			continue;
		uint32_t known = find_member(members, members->work->plans.same[type], member->offset);
		list_member(members, member->type, known, offset + member->offset, depth, list);
		if (dtype->kind == HSNAP_DTYPE_UNION && known != NO_MEMBER)
			return; /* its arms are one word */
	}
}

static const struct hsnap_void_slots *slots_of(struct hsnap_void_members *members, hsnap_dtype_id type)
{
	struct hsnap_void_slots *slots = &members->slots[type];
	if (!slots->made) {
		struct slot_list list = { 0 };
		list_slots(members, type, 0, 0, &list);
		*slots = (struct hsnap_void_slots){ list.items, (uint32_t)list.num, true };
	}
	return slots;
}

/* --- what the members of all typed places lead to --- */

/* Is it nothing that could have a name, whatever lies there?  So hsnap_must_be_bytes() has it. */
static bool needs_no_name(const struct hsnap_void_members *members, uint32_t member, uint64_t word)
{
	const struct hsnap_void_member *m = &members->items.items[member];
	return word % 2 == 0 && !m->num && m->declared;
}

static void walk_object(struct hsnap_void_members *members, const struct hsnap_void_slots *slots, uint64_t address,
			uint64_t end)
{
	for (uint32_t i = 0; i < slots->num; i++) {
		uint64_t at = address + slots->items[i].offset, word;
		if (at >= end || end - at < 8 || !hsnap_window_word(&members->reader, at, &word))
			continue;
		if (members->only_names && needs_no_name(members, slots->items[i].member, word))
			continue;
		uint32_t b = hsnap_block_index_find(&members->work->index, word, &members->hint);
		if (b == HSNAP_NO_BLOCK)
			continue;
		struct hsnap_void_target target = { b, word, hsnap_object_start(members->work, b) == word };
		members->see(members->context, slots->items[i].member, &target);
	}
}

static void walk_place(struct hsnap_void_members *members, hsnap_dtype_id type, bool run, uint64_t address, uint64_t end)
{
	const struct hsnap_void_slots *slots = slots_of(members, type);
	uint64_t each = hsnap_dtype(members->work->symbols, type)->size;
	if (!slots->num || !each)
		return;
	if (address < members->reader.start || end > members->reader.end)
		hsnap_window_open(&members->reader, address, end);
	walk_object(members, slots, address, end);
	for (uint64_t at = address + each; run && at < end && end - at >= each; at += each)
		walk_object(members, slots, at, end);
}

void hsnap_void_walk(struct hsnap_void_members *members, hsnap_see_target *see, void *context)
{
	struct hsnap_work *work = members->work;
	members->see = see;
	members->context = context;
	members->stop = false;
	for (uint32_t b = 0; b < work->num_blocks && !members->failed && !members->stop; b++) {
		const struct hsnap_claim *claim = &work->claims[b];
		uint64_t address = hsnap_object_start(work, b);
		members->place = b;
		if ((claim->form != HSNAP_FORM_ONE && claim->form != HSNAP_FORM_RUN) || !slots_of(members, claim->type)->num)
			continue;
		hsnap_fetch_ahead(work, &members->reader, b);
		walk_place(members, claim->type, claim->form == HSNAP_FORM_RUN, address, address + hsnap_live_bytes(work, b));
	}
	for (size_t i = 0; i < work->parts.num && !members->failed && !members->stop; i++) {
		const struct hsnap_part *part = &work->parts.items[i];
		members->place = part->block;
		if (slots_of(members, part->type)->num && hsnap_part_stands(work, part))
			walk_place(members, part->type, false, part->address,
				   part->address + hsnap_dtype(work->symbols, part->type)->size);
	}
	for (uint32_t s = 0; s < work->segments.num && !members->failed && !members->stop; s++) {
		const struct hsnap_segment *segment = &work->segments.items[s];
		members->place = work->num_blocks + s;
		if (segment->type && segment->size)
			walk_place(members, segment->type, hsnap_dtype(work->symbols, segment->type)->kind == HSNAP_DTYPE_ARRAY,
				   segment->address, segment->address + segment->size);
	}
}

