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
#include "capture/naming/looks.h"
#include "capture/naming/walk.h"
#include "snapshot/base/cleanup.h"
#include "snapshot/base/pages.h"

#define MAX_CLIMB 8      /* single nodes, each held by another */
#define FEW_BLOCKS 4     /* fewer are no evidence */
#define MAX_LOOKED 2048u /* of one group's blocks, evenly spread, about */
#define MAX_INSIDE ((size_t)1 << 20)
#define MANY UINT32_MAX  /* more than one place points to it */

/* How a candidate fares with one member's blocks of one container: of those that were looked at … */
struct score {
	uint32_t fits;  /* … it may be what they begin with */
	uint32_t exact; /* … and has their size, too */
	uint32_t uses;  /* … and has a pointer there that leads somewhere */
};

/* Of the blocks that nothing but bytes can be in. */
struct texts {
	uint32_t total, seen, looked; /* as in struct group; only those without a name */
	uint32_t fits, longs;         /* it is text; it is so long that it can be nothing else */
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
	struct texts texts;
	bool text; /* what can be nothing but bytes is text */
};

/* The group that a member's blocks were last counted for: most are of one container. */
struct recent {
	uint32_t owner, group; /* group: 1 + index into groups; 0: none yet */
};

struct land {
	struct hsnap_work *work;
	struct hsnap_void_members members;
	struct hsnap_looks looks;
	uint32_t hint;
	/* One a block, then one a segment: */
	uint32_t *container;  /* another of the same one, itself where it stands for all */
	uint32_t *holder;     /* 1 + the place that points to it; 0: none, or MANY */
	uint32_t *counted;    /* one a block: 1 + the group that it was last counted for */
	size_t num_places;
	struct hsnap_keymap known; /* {container, member} → 1 + index into groups */
	struct recent *recent;     /* one a member */
	struct hsnap_vec(struct group) groups;
	struct hsnap_vec(struct score) scores;
	uint32_t place;       /* that is walked by declared pointers */
	hsnap_dtype_id part;  /* of an object within it; 0: it is all of it */
	struct hsnap_landed_list *inside; /* where objects within blocks are kept */
	bool any;             /* a block without a name was met */
	bool failed;          /* out of memory */
};

static void land_deinit(struct land *land)
{
	hsnap_void_members_deinit(&land->members);
	hsnap_looks_deinit(&land->looks);
	hsnap_pages_free(land->container, land->num_places, sizeof(*land->container));
	hsnap_pages_free(land->holder, land->num_places, sizeof(*land->holder));
	hsnap_pages_free(land->counted, land->work->num_blocks, sizeof(*land->counted));
	hsnap_keymap_deinit(&land->known);
	free(land->recent);
	hsnap_vec_deinit(&land->groups);
	hsnap_vec_deinit(&land->scores);
}

static bool has_failed(const struct land *land)
{
	return land->failed || land->members.failed || land->looks.failed;
}

static const struct hsnap_void_member *member_at(const struct land *land, uint32_t member)
{
	return &land->members.items.items[member];
}

static void see_unnamed(void *context, uint32_t member, const struct hsnap_void_target *target)
{
	struct land *land = context;
	const struct hsnap_void_member *m = member_at(land, member);
	land->any |= !hsnap_is_landed(land->work, target->block) && (m->num || hsnap_must_be_bytes(land->work, m, target));
	land->members.stop = land->any;
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
static void see_holder(void *context, uint32_t member, const struct hsnap_void_target *target)
{
	struct land *land = context;
	(void)member;
	land->place = land->members.place;
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
		if (work->claims[b].type)
			hsnap_walk_next(&walk, b);
	}
	for (size_t i = 0; i < work->parts.num; i++) {
		const struct hsnap_part *part = &work->parts.items[i];
		land->place = part->block;
		land->part = part->type;
		if (hsnap_part_stands(work, part))
			hsnap_walk_object(&walk, part->type, part->address,
					  part->address + hsnap_dtype(work->symbols, part->type)->size);
	}
	land->part = 0;
	for (uint32_t s = 0; s < work->segments.num; s++) {
		land->place = work->num_blocks + s;
		hsnap_walk_segment(&walk, &work->segments.items[s]);
	}
	hsnap_void_walk(&land->members, see_holder, land);
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
	struct recent *recent = &land->recent[member];
	uint32_t owner = owner_of(land, land->members.place);
	if (recent->group && recent->owner == owner)
		return &land->groups.items[recent->group - 1];
	uint32_t *known = hsnap_keymap_at(&land->known, (struct hsnap_key){ owner, member }, &is_new);
	if (known && is_new) {
		struct group group = { .member = member, .first_score = (uint32_t)land->scores.num };
		uint32_t num = member_at(land, member)->num;
		*known = (uint32_t)land->groups.num + 1;
		if (!hsnap_vec_reserve(&land->scores, num) || !hsnap_vec_push(&land->groups, group))
			known = NULL;
		for (uint32_t i = 0; known && i < num; i++)
			land->scores.items[land->scores.num++] = (struct score){ 0 };
	}
	land->failed |= !known;
	if (known)
		*recent = (struct recent){ owner, *known };
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

/* --- scores --- */

/* How all of a member's candidates suit a target.  Where one has its very size and pointers to show, it is none
 * that is smaller. */
static void suit_all(struct land *land, const struct hsnap_void_member *member, const struct hsnap_void_target *target,
		     struct score *scores)
{
	enum hsnap_suits suits[HSNAP_MAX_CANDIDATES];
	bool used[HSNAP_MAX_CANDIDATES], any = false;
	for (uint32_t i = 0; i < member->num; i++) {
		suits[i] = hsnap_suits_target(&land->looks, target, land->members.candidates.items[member->first + i], &used[i]);
		any |= suits[i] == HSNAP_SUITS_EXACT && used[i];
	}
	for (uint32_t i = 0; i < member->num; i++) {
		bool fits = suits[i] == HSNAP_SUITS_EXACT || (suits[i] == HSNAP_SUITS_LARGER && !any);
		scores[i].fits += fits;
		scores[i].uses += fits && used[i];
		scores[i].exact += suits[i] == HSNAP_SUITS_EXACT;
	}
}

static void see_total(void *context, uint32_t member, const struct hsnap_void_target *target)
{
	struct land *land = context;
	struct group *group = group_of(land, member);
	if (!group || !is_first(land, group, target->block))
		return;
	bool named = hsnap_is_landed(land->work, target->block);
	group->total++;
	group->inside += !target->at_start;
	group->unnamed += !named;
	group->texts.total += !named && hsnap_must_be_bytes(land->work, member_at(land, member), target);
}

/* Is it this one's turn, of so many? */
static bool is_sample(uint32_t *seen, uint32_t total)
{
	return (*seen)++ % (total / MAX_LOOKED + 1) == 0;
}

static void see_text(struct land *land, struct texts *texts, const struct hsnap_void_target *target)
{
	if (texts->total < FEW_BLOCKS || !is_sample(&texts->seen, texts->total))
		return;
	enum hsnap_text text = hsnap_text_at(&land->looks, target);
	texts->looked++;
	texts->fits += text != HSNAP_TEXT_NONE;
	texts->longs += text == HSNAP_TEXT_LONG;
}

static void see_scores(void *context, uint32_t member, const struct hsnap_void_target *target)
{
	struct land *land = context;
	const struct hsnap_void_member *m = member_at(land, member);
	struct group *group = group_of(land, member);
	if (!group || !group->unnamed || group->total < FEW_BLOCKS || !is_first(land, group, target->block))
		return;
	if (!hsnap_is_landed(land->work, target->block) && hsnap_must_be_bytes(land->work, m, target))
		see_text(land, &group->texts, target);
	if (!is_sample(&group->seen, group->total))
		return;
	group->looked++;
	suit_all(land, m, target, &land->scores.items[group->first_score]);
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
	const struct hsnap_void_member *m = member_at(land, group->member);
	hsnap_dtype_id good = 0, exact = 0;
	unsigned num_good = 0, num_exact = 0;
	for (uint32_t i = 0; i < m->num && group->looked; i++) {
		const struct score *score = &land->scores.items[group->first_score + i];
		hsnap_dtype_id type = land->members.candidates.items[m->first + i];
		const struct hsnap_plan *plan = hsnap_plan_of(&land->work->plans, type);
		bool sole = m->num == 1 && !m->bytes && !plan->num && !plan->tail && score->exact == group->looked;
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
	const struct texts *texts = &group->texts;
	group->text = texts->looked >= FEW_BLOCKS && is_most(texts->fits, texts->looked) &&
		      (uint64_t)texts->longs * 2 >= texts->looked;
}

static void start_counting(struct land *land)
{
	for (uint32_t b = 0; b < land->work->num_blocks; b++)
		land->counted[b] = 0;
}

static void add_inside(struct land *land, const struct hsnap_void_target *target, hsnap_dtype_id type)
{
	if (land->inside->num < MAX_INSIDE &&
	    !hsnap_vec_push(land->inside, (struct hsnap_landed){ target->block, type, target->address }))
		land->failed = true;
}

/* Two containers that lead to one block and disagree say nothing of it. */
static void land_on(struct land *land, uint32_t b, hsnap_dtype_id type)
{
	land->counted[b] = land->counted[b] && land->counted[b] != type ? MANY : type;
}

static void see_chosen(void *context, uint32_t member, const struct hsnap_void_target *target)
{
	struct land *land = context;
	struct group *group = group_of(land, member);
	if (!group || !(group->chosen || group->text) || hsnap_is_landed(land->work, target->block))
		return;
	const struct hsnap_void_member *m = member_at(land, member);
	if (group->text && hsnap_must_be_bytes(land->work, m, target)) {
		if (hsnap_text_at(&land->looks, target))
			land_on(land, target->block, m->bytes);
		return;
	}
	struct score scores[HSNAP_MAX_CANDIDATES] = { 0 };
	suit_all(land, m, target, scores);
	for (uint32_t i = 0; i < m->num; i++)
		if (land->members.candidates.items[m->first + i] == group->chosen && !scores[i].fits)
			return;
	if (target->at_start && group->chosen)
		land_on(land, target->block, group->chosen);
	else if (group->chosen)
		add_inside(land, target, group->chosen);
}

static enum hsnap_code decide(struct land *land, struct hsnap_landed_list *ret, struct hsnap_error *err)
{
	hsnap_void_walk(&land->members, see_total, land);
	start_counting(land);
	hsnap_void_walk(&land->members, see_scores, land);
	for (size_t i = 0; i < land->groups.num; i++)
		choose(land, &land->groups.items[i]);
	start_counting(land);
	land->inside = ret;
	hsnap_void_walk(&land->members, see_chosen, land);
	for (uint32_t b = 0; b < land->work->num_blocks && !land->failed; b++)
		if (land->counted[b] && land->counted[b] != MANY &&
		    !hsnap_vec_push(ret, (struct hsnap_landed){ b, land->counted[b], hsnap_object_start(land->work, b) }))
			land->failed = true;
	return has_failed(land) ? hsnap_no_memory(err) : HSNAP_OK;
}

enum hsnap_code hsnap_find_landings(struct hsnap_work *work, struct hsnap_landed_list *ret, struct hsnap_error *err)
{
	if (!work->symbols->landings.num)
		return HSNAP_OK;
	hsnap_auto(land_deinit) struct land land = { .work = work };
	if (!hsnap_void_members_init(&land.members, work) || !hsnap_looks_init(&land.looks, work))
		return hsnap_no_memory(err);
	land.members.only_names = true;
	hsnap_void_walk(&land.members, see_unnamed, &land);
	land.members.only_names = false;
	if (!land.any)
		return has_failed(&land) ? hsnap_no_memory(err) : HSNAP_OK;
	land.num_places = (size_t)work->num_blocks + work->segments.num;
	land.container = hsnap_pages_alloc(land.num_places, sizeof(*land.container));
	land.holder = hsnap_pages_alloc(land.num_places, sizeof(*land.holder));
	land.counted = hsnap_pages_alloc(work->num_blocks, sizeof(*land.counted));
	land.recent = calloc(land.members.items.num, sizeof(*land.recent));
	if (!land.container || !land.holder || !land.counted || !land.recent)
		return hsnap_no_memory(err);
	find_containers(&land);
	return decide(&land, ret, err);
}
