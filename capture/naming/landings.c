/* SPDX-License-Identifier: MIT */
/*
 * landings.c - void members, one container's blocks together.
 *
 * A container is what hangs together by pointers between nodes of one type, by arrays of pointers,
 * and by arrays within its head.  A single node belongs to whoever alone points to it.  To choose
 * for each block by its size was tried on redis: 5,000 names of 135,000 were wrong.  So size is no
 * veto either, but that a type must fit in: an object may have its text behind it.
 */
#include "capture/naming/landings.h"

#include <stdlib.h>

#include "capture/naming/claims.h"
#include "capture/naming/walk.h"
#include "snapshot/base/cleanup.h"
#include "snapshot/base/pages.h"
#include "snapshot/base/search.h"

#define MAX_CANDIDATES 64 /* a member with more can be anything */
#define MAX_SLOTS 256     /* of one type; of an array the first of them */
#define MAX_DEPTH 16
#define MAX_CLIMB 8       /* single nodes, each held by another */
#define FEW_BLOCKS 4      /* fewer are no evidence */
#define MAX_LOOKED 2048u  /* of one group's blocks, evenly spread, about */
#define MAX_NUMBERS 64    /* words of a type that are checked */
#define FEW_BYTES 32      /* of an object within a block: smaller ones are links */
#define MAX_INSIDE ((size_t)1 << 20)
#define MAX_BEHIND 8      /* times an object's size that its block may have: text behind it, say */
#define MANY UINT32_MAX   /* more than one place points to it */

/* A member whose type says nothing, and what it has been seen to lead to. */
struct member {
	hsnap_dtype_id holder;
	uint64_t offset;
	uint32_t first, num; /* into candidates */
};

/* Where such members stand in a type. */
struct slot {
	uint64_t offset;
	uint32_t member;
};

struct slots {
	struct slot *items;
	uint32_t num;
	bool made;
};

/* How a candidate fares with one member's blocks of one container: of those that were looked at … */
struct score {
	uint32_t fits;  /* … it may be what they begin with */
	uint32_t exact; /* … and has their size, too */
	uint32_t uses;  /* … and has a pointer there that leads somewhere */
};

struct group {
	uint32_t member;
	uint32_t total;   /* blocks that the members lead to */
	uint32_t unnamed; /* of them: without a name yet */
	uint32_t inside;  /* of them: not to their starts */
	uint32_t seen;    /* when it is their turn to be looked at */
	uint32_t looked;  /* that were looked at */
	uint32_t first_score;
	hsnap_dtype_id chosen;
};

/* The words of a type that hold numbers and nothing else. */
struct numbers {
	uint32_t *words;
	uint32_t num;
	bool made;
};

struct land {
	struct hsnap_work *work;
	struct hsnap_window reader;
	uint32_t hint;
	struct hsnap_vec(struct member) members;
	struct hsnap_vec(hsnap_dtype_id) candidates;
	struct slots *slots;     /* one a type */
	struct numbers *numbers; /* likewise */
	/* One a block, then one a segment: */
	uint32_t *container;  /* another of the same one, itself where it stands for all */
	uint32_t *holder;     /* 1 + the place that points to it; 0: none, or MANY */
	uint32_t *counted;    /* one a block: 1 + the group that it was last counted for */
	size_t num_places;
	struct hsnap_keymap known; /* {container, member} → 1 + index into groups */
	struct hsnap_vec(struct group) groups;
	struct hsnap_vec(struct score) scores;
	uint32_t place;       /* that is walked */
	hsnap_dtype_id part;  /* of an object within the place that is walked; 0: it is all of it */
	struct hsnap_landed_list *inside; /* where objects within blocks are kept */
	bool any;             /* a block without a name was met */
	bool failed;          /* out of memory */
};

static void land_deinit(struct land *land)
{
	hsnap_vec_deinit(&land->members);
	hsnap_vec_deinit(&land->candidates);
	for (size_t i = 0; land->slots && i < land->work->symbols->types.num; i++)
		free(land->slots[i].items);
	for (size_t i = 0; land->numbers && i < land->work->symbols->types.num; i++)
		free(land->numbers[i].words);
	free(land->slots);
	free(land->numbers);
	hsnap_pages_free(land->container, land->num_places, sizeof(*land->container));
	hsnap_pages_free(land->holder, land->num_places, sizeof(*land->holder));
	hsnap_pages_free(land->counted, land->work->num_blocks, sizeof(*land->counted));
	hsnap_keymap_deinit(&land->known);
	hsnap_vec_deinit(&land->groups);
	hsnap_vec_deinit(&land->scores);
}

/* --- members and where they stand --- */

static bool add_candidate(struct land *land, const struct hsnap_dlanding *landing)
{
	struct member *last = land->members.num ? &land->members.items[land->members.num - 1] : NULL;
	if (!last || last->holder != landing->holder || last->offset != landing->offset) {
		struct member member = { landing->holder, landing->offset, (uint32_t)land->candidates.num, 0 };
		if (!hsnap_vec_push(&land->members, member))
			return false;
		last = &land->members.items[land->members.num - 1];
	}
	if (last->num && land->candidates.items[last->first + last->num - 1] == landing->type)
		return true;
	last->num++;
	return hsnap_vec_push(&land->candidates, landing->type);
}

/* The same struct in several modules is one, and has the candidates of all. */
static bool list_members(struct land *land)
{
	const struct hsnap_work *work = land->work;
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
		ok = add_candidate(land, &list.items[i]);
	hsnap_vec_deinit(&list);
	return ok;
}

static uint32_t find_member(const struct land *land, hsnap_dtype_id holder, uint64_t offset)
{
	size_t at = hsnap_first(land->members.num, i, land->members.items[i].holder > holder ||
				(land->members.items[i].holder == holder && land->members.items[i].offset >= offset));
	bool found = at < land->members.num && land->members.items[at].holder == holder &&
		     land->members.items[at].offset == offset && land->members.items[at].num <= MAX_CANDIDATES;
	return found ? (uint32_t)at : MANY;
}

struct slot_list hsnap_vec_body(struct slot);

static void list_slots(struct land *land, hsnap_dtype_id type, uint64_t offset, unsigned depth, struct slot_list *list);

/* A member, or each element of one that is an array. */
static void list_member(struct land *land, hsnap_dtype_id type, uint32_t member, uint64_t offset, unsigned depth,
			struct slot_list *list)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(land->work->symbols, type);
	if (dtype->kind == HSNAP_DTYPE_ARRAY && depth < MAX_DEPTH) {
		uint64_t each = hsnap_dtype(land->work->symbols, dtype->target)->size;
		for (uint64_t n = 0; each && n < dtype->count && list->num < MAX_SLOTS; n++)
			list_member(land, dtype->target, member, offset + n * each, depth + 1, list);
	} else if (member == MANY) {
		list_slots(land, type, offset, depth + 1, list);
	} else if (list->num < MAX_SLOTS && !hsnap_vec_push(list, (struct slot){ offset, member })) {
		land->failed = true;
	}
}

static void list_slots(struct land *land, hsnap_dtype_id type, uint64_t offset, unsigned depth, struct slot_list *list)
{
	const struct hsnap_symbols *symbols = land->work->symbols;
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	if ((dtype->kind != HSNAP_DTYPE_STRUCT && dtype->kind != HSNAP_DTYPE_UNION) || depth >= MAX_DEPTH)
		return;
	for (uint32_t m = 0; m < dtype->num_members && list->num < MAX_SLOTS; m++) {
		const struct hsnap_dmember *member = &symbols->members.items[dtype->first_member + m];
		if (member->flags & (HSNAP_DMEMBER_BITFIELD | HSNAP_DMEMBER_VIRTUAL | HSNAP_DMEMBER_VPTR) ||
		    member->offset >= dtype->size)
			continue;
		uint32_t known = find_member(land, land->work->plans.same[type], member->offset);
		list_member(land, member->type, known, offset + member->offset, depth, list);
		if (dtype->kind == HSNAP_DTYPE_UNION && known != MANY)
			return; /* its arms are one word */
	}
}

static const struct slots *slots_of(struct land *land, hsnap_dtype_id type)
{
	struct slots *slots = &land->slots[type];
	if (!slots->made) {
		struct slot_list list = { 0 };
		list_slots(land, type, 0, 0, &list);
		*slots = (struct slots){ list.items, (uint32_t)list.num, true };
	}
	return slots;
}

/* --- what the members of all typed places lead to --- */

/* What a member leads to: a block, or an address within it. */
struct target {
	uint32_t block;
	uint64_t address;
	bool at_start;
};

typedef void see_target(struct land *land, uint32_t member, const struct target *target);

static void walk_object(struct land *land, const struct slots *slots, uint64_t address, uint64_t end, see_target *see)
{
	for (uint32_t i = 0; i < slots->num; i++) {
		uint64_t at = address + slots->items[i].offset, word;
		if (at >= end || end - at < 8 || !hsnap_window_word(&land->reader, at, &word))
			continue;
		uint32_t b = hsnap_block_index_find(&land->work->index, word, &land->hint);
		if (b == HSNAP_NO_BLOCK)
			continue;
		struct target target = { b, word, hsnap_object_start(land->work, b) == word };
		see(land, slots->items[i].member, &target);
	}
}

static void walk_place(struct land *land, hsnap_dtype_id type, bool run, uint64_t address, uint64_t end, see_target *see)
{
	const struct slots *slots = slots_of(land, type);
	uint64_t each = hsnap_dtype(land->work->symbols, type)->size;
	if (!slots->num || !each)
		return;
	if (address < land->reader.start || end > land->reader.end)
		hsnap_window_open(&land->reader, address, end);
	walk_object(land, slots, address, end, see);
	for (uint64_t at = address + each; run && at < end && end - at >= each; at += each)
		walk_object(land, slots, at, end, see);
}

static void walk_all(struct land *land, see_target *see)
{
	struct hsnap_work *work = land->work;
	for (uint32_t b = 0; b < work->num_blocks && !land->failed; b++) {
		const struct hsnap_claim *claim = &work->claims[b];
		uint64_t address = hsnap_object_start(work, b);
		land->place = b;
		if (claim->form == HSNAP_FORM_ONE || claim->form == HSNAP_FORM_RUN)
			walk_place(land, claim->type, claim->form == HSNAP_FORM_RUN, address,
				   address + hsnap_live_bytes(work, b), see);
	}
	for (size_t i = 0; i < work->parts.num && !land->failed; i++) {
		const struct hsnap_part *part = &work->parts.items[i];
		land->place = part->block;
		if (slots_of(land, part->type)->num && hsnap_part_counts(work, part) && hsnap_is_object(work, part->type, part->address))
			walk_place(land, part->type, false, part->address,
				   part->address + hsnap_dtype(work->symbols, part->type)->size, see);
	}
	for (uint32_t s = 0; s < work->segments.num && !land->failed; s++) {
		const struct hsnap_segment *segment = &work->segments.items[s];
		land->place = work->num_blocks + s;
		if (segment->type && segment->size)
			walk_place(land, segment->type, hsnap_dtype(work->symbols, segment->type)->kind == HSNAP_DTYPE_ARRAY,
				   segment->address, segment->address + segment->size, see);
	}
}

static bool is_named(const struct land *land, uint32_t b)
{
	return land->work->claims[b].evidence >= HSNAP_EVIDENCE_LANDING;
}

static void see_unnamed(struct land *land, uint32_t member, const struct target *target)
{
	(void)member;
	land->any |= !is_named(land, target->block);
}

/* --- containers --- */

static uint32_t container_of(struct land *land, uint32_t place)
{
	while (land->container[place] != place) {
		land->container[place] = land->container[land->container[place]];
		place = land->container[place];
	}
	return place;
}

static void join(struct land *land, uint32_t a, uint32_t b)
{
	a = container_of(land, a);
	b = container_of(land, b);
	/* What has been joined is no single node any more. */
	land->container[a > b ? a : b] = a > b ? b : a;
	if (a != b)
		land->holder[a > b ? b : a] = MANY;
}

static hsnap_dtype_id type_of_place(const struct land *land, bool *ret_pointers)
{
	const struct hsnap_work *work = land->work;
	*ret_pointers = false;
	if (land->place >= work->num_blocks)
		return 0;
	const struct hsnap_claim *claim = &work->claims[land->place];
	*ret_pointers = claim->form == HSNAP_FORM_RUN && hsnap_dtype(work->symbols, claim->type)->kind == HSNAP_DTYPE_POINTER;
	return claim->type;
}

static void note_holder(struct land *land, uint32_t b)
{
	if (land->holder[b] != land->place + 1)
		land->holder[b] = land->holder[b] ? MANY : land->place + 1;
}

static void see_link(void *context, const struct hsnap_found *found)
{
	struct land *land = context;
	struct hsnap_work *work = land->work;
	uint32_t b = hsnap_block_index_find(&work->index, found->value, &land->hint);
	if (b == HSNAP_NO_BLOCK || b == land->place)
		return;
	bool pointers;
	hsnap_dtype_id type = type_of_place(land, &pointers);
	bool same = land->part ? found->type == land->part : type && work->claims[b].type == type;
	/* Void pointers join nothing: it is what they lead to that is asked. */
	if (found->type && (pointers || found->in_array || same))
		join(land, land->place, b);
	else
		note_holder(land, b);
}

/* Arms of unions are no declared pointers. */
static void see_holder(struct land *land, uint32_t member, const struct target *target)
{
	(void)member;
	note_holder(land, target->block);
}

static void find_containers(struct land *land)
{
	struct hsnap_work *work = land->work;
	struct hsnap_walk walk;
	for (uint32_t i = 0; i < land->num_places; i++)
		land->container[i] = i;
	hsnap_walk_init(&walk, work, see_link, land);
	for (uint32_t b = 0; b < work->num_blocks; b++) {
		land->place = b;
		hsnap_walk_block(&walk, b);
	}
	for (size_t i = 0; i < work->parts.num; i++) {
		const struct hsnap_part *part = &work->parts.items[i];
		land->place = part->block;
		land->part = part->type;
		if (hsnap_part_counts(work, part) && hsnap_is_object(work, part->type, part->address))
			hsnap_walk_object(&walk, part->type, part->address,
					  part->address + hsnap_dtype(work->symbols, part->type)->size);
	}
	land->part = 0;
	for (uint32_t s = 0; s < work->segments.num; s++) {
		land->place = work->num_blocks + s;
		hsnap_walk_segment(&walk, &work->segments.items[s]);
	}
	walk_all(land, see_holder);
}

/* A single node is one of those that its holders are nodes of. */
static uint32_t owner_of(struct land *land, uint32_t place)
{
	place = container_of(land, place);
	for (unsigned i = 0; i < MAX_CLIMB && land->holder[place] && land->holder[place] != MANY; i++)
		place = container_of(land, land->holder[place] - 1);
	return place;
}

/* --- groups and their candidates --- */

static struct group *group_of(struct land *land, uint32_t member)
{
	bool is_new;
	uint32_t *known = hsnap_keymap_at(&land->known, (struct hsnap_key){ owner_of(land, land->place), member }, &is_new);
	if (known && is_new) {
		struct group group = { .member = member, .first_score = (uint32_t)land->scores.num };
		uint32_t num = land->members.items[member].num;
		*known = (uint32_t)land->groups.num + 1;
		if (!hsnap_vec_reserve(&land->scores, num) || !hsnap_vec_push(&land->groups, group))
			known = NULL;
		for (uint32_t i = 0; known && i < num; i++)
			land->scores.items[land->scores.num++] = (struct score){ 0 };
	}
	land->failed |= !known;
	return known ? &land->groups.items[*known - 1] : NULL;
}

/* false: it was counted already. */
static bool is_first(struct land *land, const struct group *group, uint32_t b)
{
	uint32_t number = (uint32_t)(group - land->groups.items) + 1;
	if (land->counted[b] == number)
		return false;
	land->counted[b] = number;
	return true;
}

/* --- does a block look like a type? --- */

struct number_list hsnap_vec_body(uint32_t);

/* Halves of words that are numbers: a word is one if both are. */
static void list_numbers(struct land *land, hsnap_dtype_id type, uint64_t offset, unsigned depth, struct number_list *list)
{
	const struct hsnap_symbols *symbols = land->work->symbols;
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	if (dtype->kind == HSNAP_DTYPE_SCALAR && (dtype->size == 4 || dtype->size == 8) && offset < UINT32_MAX / 2) {
		for (uint64_t at = offset; at < offset + dtype->size && list->num < 2 * MAX_NUMBERS; at += 4)
			land->failed |= !hsnap_vec_push(list, (uint32_t)at);
	} else if (dtype->kind == HSNAP_DTYPE_STRUCT && depth < MAX_DEPTH) {
		for (uint32_t m = 0; m < dtype->num_members && list->num < 2 * MAX_NUMBERS; m++) {
			const struct hsnap_dmember *member = &symbols->members.items[dtype->first_member + m];
			if (!(member->flags & (HSNAP_DMEMBER_BITFIELD | HSNAP_DMEMBER_VIRTUAL)) && member->offset < dtype->size)
				list_numbers(land, member->type, offset + member->offset, depth + 1, list);
		}
	}
}

static const struct numbers *numbers_of(struct land *land, hsnap_dtype_id type)
{
	struct numbers *numbers = &land->numbers[type];
	if (numbers->made)
		return numbers;
	struct number_list list = { 0 };
	uint32_t kept = 0;
	list_numbers(land, type, 0, 0, &list);
	for (size_t i = 0; i + 1 < list.num; i++)
		if (list.items[i] % 8 == 0 && list.items[i + 1] == list.items[i] + 4)
			list.items[kept++] = list.items[i];
	*numbers = (struct numbers){ list.items, kept, true };
	return numbers;
}

struct look {
	struct land *land;
	uint32_t hint;
	bool misfit, used;
};

static void see_pointer(void *context, const struct hsnap_found *found)
{
	struct look *look = context;
	struct hsnap_work *work = look->land->work;
	if (found->kind != HSNAP_SLOT_POINTER) { /* a container's, which has been looked at by its own rules */
		look->used |= hsnap_block_index_find(&work->index, found->value, &look->hint) != HSNAP_NO_BLOCK;
		return;
	}
	if (hsnap_may_point(work, found->value, found->type, &look->hint))
		look->used = true;
	else if (hsnap_is_telling(work, found->type))
		look->misfit = true; /* others may be numbers in disguise */
}

/* Can an object of the type be there, by what it holds?  A number of it is never a block's very address. */
static bool looks_like(struct land *land, const struct target *target, hsnap_dtype_id type, bool *ret_used)
{
	struct hsnap_work *work = land->work;
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, type);
	const struct numbers *numbers = numbers_of(land, type);
	struct look look = { .land = land };
	struct hsnap_walk walk;
	uint64_t word;
	uint64_t start = hsnap_object_start(work, target->block), size = hsnap_object_room(work, target->block);
	uint64_t offset = target->address - start;
	size = target->address >= start && offset < size ? size - offset : 0;
	if (!dtype->size || dtype->size > size || size / MAX_BEHIND > dtype->size || target->address % 8)
		return false;
	hsnap_walk_init(&walk, work, see_pointer, &look);
	hsnap_walk_object(&walk, type, target->address, target->address + dtype->size);
	for (uint32_t i = 0; i < numbers->num && !look.misfit; i++) {
		uint64_t at = target->address + numbers->words[i];
		uint32_t other = hsnap_window_word(&walk.reader, at, &word)
					 ? hsnap_block_index_find(&work->index, word, &look.hint) : HSNAP_NO_BLOCK;
		look.misfit = other != HSNAP_NO_BLOCK && hsnap_object_start(work, other) == word;
	}
	*ret_used = look.used;
	return !look.misfit;
}

/* How well a type suits a block. */
enum suits { NOT, LARGER, EXACT };

static enum suits suits_target(struct land *land, const struct target *target, hsnap_dtype_id type, bool *ret_used)
{
	const struct hsnap_claim *claim = &land->work->claims[target->block];
	bool named_so = target->at_start && claim->form == HSNAP_FORM_ONE && claim->type == type;
	*ret_used = false;
	if ((is_named(land, target->block) && !named_so) || !looks_like(land, target, type, ret_used))
		return NOT;
	if (!target->at_start)
		return hsnap_dtype(land->work->symbols, type)->size >= FEW_BYTES ? LARGER : NOT;
	return hsnap_fit(land->work, target->block, type) == HSNAP_FORM_ONE ? EXACT : LARGER;
}

/* How all of a member's candidates suit a target.  Where one has its very size and pointers to show, it is none
 * that is smaller. */
static void suit_all(struct land *land, const struct member *member, const struct target *target, struct score *scores)
{
	enum suits suits[MAX_CANDIDATES];
	bool used[MAX_CANDIDATES], any = false;
	for (uint32_t i = 0; i < member->num; i++) {
		suits[i] = suits_target(land, target, land->candidates.items[member->first + i], &used[i]);
		any |= suits[i] == EXACT && used[i];
	}
	for (uint32_t i = 0; i < member->num; i++) {
		bool fits = suits[i] == EXACT || (suits[i] == LARGER && !any);
		scores[i].fits += fits;
		scores[i].uses += fits && used[i];
		scores[i].exact += suits[i] == EXACT;
	}
}

static void see_total(struct land *land, uint32_t member, const struct target *target)
{
	struct group *group = group_of(land, member);
	if (!group || !is_first(land, group, target->block))
		return;
	group->total++;
	group->inside += !target->at_start;
	group->unnamed += !is_named(land, target->block);
}

static void see_scores(struct land *land, uint32_t member, const struct target *target)
{
	struct group *group = group_of(land, member);
	if (!group || !group->unnamed || group->total < FEW_BLOCKS || !is_first(land, group, target->block))
		return;
	if (group->seen++ % (group->total / MAX_LOOKED + 1))
		return;
	group->looked++;
	suit_all(land, &land->members.items[member], target, &land->scores.items[group->first_score]);
}

static bool is_most(uint32_t part, uint32_t all)
{
	return (uint64_t)part * 10 >= (uint64_t)all * 9;
}

/*
 * The one candidate, or none.  Some blocks must have its very size: the link of a list of freed blocks
 * fits whatever is freed.  Of several that fit, that which has the blocks' size; without pointers to
 * show for it only the one thing that the code ever puts there, where all have its very size.
 */
static void choose(struct land *land, struct group *group)
{
	const struct member *m = &land->members.items[group->member];
	hsnap_dtype_id good = 0, exact = 0;
	unsigned num_good = 0, num_exact = 0;
	for (uint32_t i = 0; i < m->num && group->looked; i++) {
		const struct score *score = &land->scores.items[group->first_score + i];
		hsnap_dtype_id type = land->candidates.items[m->first + i];
		const struct hsnap_plan *plan = hsnap_plan_of(&land->work->plans, type);
		bool sole = m->num == 1 && !plan->num && !plan->tail && score->exact == group->looked;
		bool sized = (uint64_t)score->exact * 10 >= group->looked || group->inside == group->total;
		bool borne = sized && (uint64_t)score->uses * 2 >= group->looked;
		if (!is_most(score->fits, group->looked) || !(sole || borne))
			continue;
		good = type;
		num_good++;
		if (!is_most(score->exact, group->looked))
			continue;
		exact = type;
		num_exact++;
	}
	group->chosen = num_exact == 1 ? exact : num_good == 1 ? good : 0;
}

static void start_counting(struct land *land)
{
	for (uint32_t b = 0; b < land->work->num_blocks; b++)
		land->counted[b] = 0;
}

static void add_inside(struct land *land, const struct target *target, hsnap_dtype_id type)
{
	if (land->inside->num < MAX_INSIDE &&
	    !hsnap_vec_push(land->inside, (struct hsnap_landed){ target->block, type, target->address }))
		land->failed = true;
}

/* Two containers that lead to one block and disagree say nothing of it. */
static void see_chosen(struct land *land, uint32_t member, const struct target *target)
{
	uint32_t b = target->block;
	struct group *group = group_of(land, member);
	if (!group || !group->chosen || is_named(land, b))
		return;
	const struct member *m = &land->members.items[member];
	struct score scores[MAX_CANDIDATES] = { 0 };
	suit_all(land, m, target, scores);
	for (uint32_t i = 0; i < m->num; i++)
		if (land->candidates.items[m->first + i] == group->chosen && !scores[i].fits)
			return;
	if (!target->at_start)
		add_inside(land, target, group->chosen);
	else if (!land->counted[b])
		land->counted[b] = group->chosen;
	else if (land->counted[b] != group->chosen)
		land->counted[b] = MANY;
}

static enum hsnap_code decide(struct land *land, struct hsnap_landed_list *ret, struct hsnap_error *err)
{
	walk_all(land, see_total);
	start_counting(land);
	walk_all(land, see_scores);
	for (size_t i = 0; i < land->groups.num; i++)
		choose(land, &land->groups.items[i]);
	start_counting(land);
	land->inside = ret;
	walk_all(land, see_chosen);
	for (uint32_t b = 0; b < land->work->num_blocks && !land->failed; b++)
		if (land->counted[b] && land->counted[b] != MANY &&
		    !hsnap_vec_push(ret, (struct hsnap_landed){ b, land->counted[b], hsnap_object_start(land->work, b) }))
			land->failed = true;
	return land->failed ? hsnap_no_memory(err) : HSNAP_OK;
}

enum hsnap_code hsnap_find_landings(struct hsnap_work *work, struct hsnap_landed_list *ret, struct hsnap_error *err)
{
	if (!work->symbols->landings.num)
		return HSNAP_OK;
	hsnap_auto(land_deinit) struct land land = { .work = work };
	hsnap_window_init(&land.reader, work->target);
	land.slots = calloc(work->symbols->types.num, sizeof(*land.slots));
	land.numbers = calloc(work->symbols->types.num, sizeof(*land.numbers));
	if (!land.slots || !land.numbers || !list_members(&land))
		return hsnap_no_memory(err);
	walk_all(&land, see_unnamed);
	if (!land.any)
		return land.failed ? hsnap_no_memory(err) : HSNAP_OK;
	land.num_places = (size_t)work->num_blocks + work->segments.num;
	land.container = hsnap_pages_alloc(land.num_places, sizeof(*land.container));
	land.holder = hsnap_pages_alloc(land.num_places, sizeof(*land.holder));
	land.counted = hsnap_pages_alloc(work->num_blocks, sizeof(*land.counted));
	if (!land.container || !land.holder || !land.counted)
		return hsnap_no_memory(err);
	find_containers(&land);
	return decide(&land, ret, err);
}
