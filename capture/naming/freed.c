/* SPDX-License-Identifier: MIT */
/* freed.c - pools that know their free objects by a list. */
#include "capture/naming/freed.h"

#include <stdlib.h>

#include "capture/naming/claims.h"
#include "capture/naming/members.h"
#include "capture/naming/pools.h"
#include "capture/naming/walk.h"
#include "snapshot/base/cleanup.h"
#include "snapshot/base/search.h"

#define FEW_FREE 8u
#define MOST_FREE ((size_t)1 << 22)  /* on one list */
#define MOST_STEPS ((size_t)1 << 24) /* along all lists: any word may look like the head of a long one */
#define MOST_LISTS 4096u
#define MOST_OWNED ((size_t)1 << 20) /* structs and pages of one owner */

/* A member that seems to be the head of such a list. */
struct list {
	uint32_t place;      /* a block, or behind them a segment */
	hsnap_dtype_id type; /* of the objects */
	uint64_t head;
	bool good;           /* it can be followed to its end */
};

struct freed {
	struct hsnap_work *work;
	struct hsnap_void_members members;
	struct hsnap_window reader;
	uint32_t hint;
	struct hsnap_vec(struct list) lists;
	/* Of one list: */
	struct hsnap_vec(uint64_t) free;   /* addresses, in order */
	struct hsnap_vec(uint32_t) structs, pages; /* of its owner, as they are found */
	struct hsnap_keymap owned;         /* {block, 0}: it is among them */
	hsnap_dtype_id from;               /* type of the struct that is walked; 0: the owner */
	size_t steps;                      /* left */
	bool failed;                       /* out of memory */
};

static void freed_deinit(struct freed *freed)
{
	hsnap_void_members_deinit(&freed->members);
	hsnap_vec_deinit(&freed->lists);
	hsnap_vec_deinit(&freed->free);
	hsnap_vec_deinit(&freed->structs);
	hsnap_vec_deinit(&freed->pages);
	hsnap_keymap_deinit(&freed->owned);
}

/* What may be a pool's page: nobody says more of it than that it is bytes. */
static bool may_be_page(const struct hsnap_work *work, uint32_t b)
{
	const struct hsnap_claim *claim = &work->claims[b];
	return claim->evidence < HSNAP_EVIDENCE_RUN || claim->form == HSNAP_FORM_BYTES;
}

/* An object whose first word, as long as it is one, is no pointer. */
static bool has_plain_start(struct hsnap_work *work, hsnap_dtype_id type)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, type);
	const struct hsnap_plan *plan = hsnap_plan_of(&work->plans, type);
	if (dtype->kind != HSNAP_DTYPE_STRUCT || dtype->size < 16 || dtype->flags & (HSNAP_DTYPE_FLEXIBLE | HSNAP_DTYPE_POLYMORPHIC))
		return false;
	for (uint32_t i = 0; i < plan->num; i++)
		if (plan->slots[i].offset < 8)
			return false;
	return true;
}

/* What the only list that a member can be the head of has in it; 0: it can be none's. */
static hsnap_dtype_id listed_by(const struct freed *freed, const struct hsnap_void_member *member)
{
	hsnap_dtype_id type = member->num == 1 ? freed->members.candidates.items[member->first] : 0;
	return type && has_plain_start(freed->work, type) ? type : 0;
}

/* Most programs have no such member, and need not be walked. */
static bool may_have_lists(const struct freed *freed)
{
	for (size_t i = 0; i < freed->members.items.num; i++)
		if (listed_by(freed, &freed->members.items.items[i]))
			return true;
	return false;
}

static void see_head(void *context, uint32_t member, const struct hsnap_void_target *target)
{
	struct freed *freed = context;
	hsnap_dtype_id type = listed_by(freed, &freed->members.items.items[member]);
	if (!type || !may_be_page(freed->work, target->block) || freed->lists.num >= MOST_LISTS)
		return;
	if (!hsnap_vec_push(&freed->lists, (struct list){ freed->members.place, type, target->address }))
		freed->failed = true;
}

static int by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Find the list's objects; false: it is none. */
static bool follow(struct freed *freed, const struct list *list)
{
	struct hsnap_work *work = freed->work;
	uint64_t at = list->head, size = hsnap_dtype(work->symbols, list->type)->size;
	freed->free.num = 0;
	while (at) {
		uint32_t b = at % 8 ? HSNAP_NO_BLOCK : hsnap_block_index_find(&work->index, at, &freed->hint);
		if (b == HSNAP_NO_BLOCK || !may_be_page(work, b) || at < hsnap_object_start(work, b) ||
		    freed->free.num >= MOST_FREE || !freed->steps)
			return false;
		freed->steps--;
		if (!hsnap_has_room(work, b, at, size))
			return false;
		if (!hsnap_vec_push(&freed->free, at)) {
			freed->failed = true;
			return false;
		}
		if (!hsnap_window_word(&freed->reader, at, &at))
			return false;
	}
	return freed->free.num >= FEW_FREE;
}

/* ---- the owner's pages ---- */

static void own(struct freed *freed, uint32_t b, bool page)
{
	bool is_new;
	if (freed->structs.num + freed->pages.num >= MOST_OWNED)
		return;
	if (!hsnap_keymap_at(&freed->owned, (struct hsnap_key){ b, 0 }, &is_new))
		freed->failed = true;
	else if (is_new && !(page ? hsnap_vec_push(&freed->pages, b) : hsnap_vec_push(&freed->structs, b)))
		freed->failed = true;
}

/* From the owner to structs of whatever type, from those to more of their own. */
static void see_owned(void *context, const struct hsnap_found *found)
{
	struct freed *freed = context;
	struct hsnap_work *work = freed->work;
	uint32_t b = found->kind == HSNAP_SLOT_POINTER ? hsnap_block_at(work, found->value, &freed->hint) : HSNAP_NO_BLOCK;
	if (b == HSNAP_NO_BLOCK)
		return;
	uint8_t kind = hsnap_dtype(work->symbols, found->type)->kind;
	if ((!found->type || kind == HSNAP_DTYPE_BYTE) && may_be_page(work, b))
		own(freed, b, true);
	else if (kind == HSNAP_DTYPE_STRUCT && work->claims[b].type == work->plans.same[found->type] &&
		 (!freed->from || work->claims[b].type == freed->from))
		own(freed, b, false);
}

static void find_pages(struct freed *freed, uint32_t place)
{
	struct hsnap_work *work = freed->work;
	struct hsnap_walk walk;
	hsnap_keymap_deinit(&freed->owned);
	freed->owned = (struct hsnap_keymap){ 0 };
	freed->structs.num = freed->pages.num = 0;
	hsnap_walk_init(&walk, work, see_owned, freed);
	freed->from = 0;
	if (place < work->num_blocks)
		hsnap_walk_block(&walk, place);
	else
		hsnap_walk_segment(&walk, &work->segments.items[place - work->num_blocks]);
	for (size_t i = 0; i < freed->structs.num && !freed->failed; i++) {
		freed->from = work->claims[freed->structs.items[i]].type;
		hsnap_walk_block(&walk, freed->structs.items[i]);
	}
}

/* ---- pages and what is in them ---- */

/* The free objects of a page: [*first, *last). */
static void free_in(const struct freed *freed, uint32_t b, size_t *first, size_t *last)
{
	const uint64_t *free = freed->free.items;
	uint64_t start = hsnap_object_start(freed->work, b), end = start + hsnap_object_room(freed->work, b);
	*first = hsnap_first(freed->free.num, i, free[i] >= start);
	*last = hsnap_first(freed->free.num, i, free[i] >= end);
}

/* The distance of places: all pages begin with one, and free objects are at such; 0: they are not. */
static uint64_t find_stride(const struct freed *freed, hsnap_dtype_id type)
{
	uint64_t size = hsnap_dtype(freed->work->symbols, type)->size;
	for (unsigned r = 0; r < HSNAP_POOL_ROUNDINGS; r++) {
		uint64_t stride = hsnap_pool_stride(size, r);
		bool good = true;
		for (size_t p = 0; p < freed->pages.num && good; p++) {
			size_t first, last;
			free_in(freed, freed->pages.items[p], &first, &last);
			for (; first < last && good; first++)
				good = (freed->free.items[first] - hsnap_object_start(freed->work, freed->pages.items[p])) % stride == 0;
		}
		if (good)
			return stride;
	}
	return 0;
}

/* Those of one size with the first that has a free object; all of the list must lie in them. */
static bool keep_pages(struct freed *freed)
{
	uint64_t room = 0;
	size_t found = 0, kept = 0, first, last;
	for (size_t p = 0; p < freed->pages.num && !room; p++) {
		free_in(freed, freed->pages.items[p], &first, &last);
		if (first < last)
			room = hsnap_object_room(freed->work, freed->pages.items[p]);
	}
	for (size_t p = 0; p < freed->pages.num; p++) {
		uint32_t b = freed->pages.items[p];
		if (hsnap_object_room(freed->work, b) != room)
			continue;
		free_in(freed, b, &first, &last);
		found += last - first;
		freed->pages.items[kept++] = b;
	}
	freed->pages.num = kept;
	return room && found == freed->free.num;
}

static bool is_blank(struct freed *freed, uint64_t at, uint64_t size)
{
	uint64_t word;
	for (uint64_t i = 0; i + 8 <= size; i += 8)
		if (!hsnap_window_word(&freed->reader, at + i, &word) || word)
			return false;
	return true;
}

static bool add_page(struct freed *freed, uint32_t b, hsnap_dtype_id type, uint64_t stride)
{
	struct hsnap_work *work = freed->work;
	uint64_t size = hsnap_dtype(work->symbols, type)->size, start = hsnap_object_start(work, b);
	uint64_t num = (hsnap_object_room(work, b) - size) / stride + 1;
	size_t next, last;
	free_in(freed, b, &next, &last);
	hsnap_window_open(&freed->reader, start, start + num * stride);
	struct hsnap_slab slab = { .block = b, .type = type, .stride = stride, .size = size, .num = (uint32_t)num,
				   .evidence = HSNAP_EVIDENCE_LANDING };
	if (num > HSNAP_MAX_NODES)
		return true;
	slab.items = calloc(num / 64 + 1, sizeof(*slab.items));
	for (uint64_t p = 0; p < num && slab.items; p++) {
		uint64_t at = start + p * stride;
		if (next < last && freed->free.items[next] == at)
			next++;
		else if (!is_blank(freed, at, size) && hsnap_is_object(work, type, at))
			hsnap_slab_add(&slab, p);
	}
	return slab.items && hsnap_add_declared(work, &slab);
}

static bool has_one_list(const struct freed *freed, uint32_t place)
{
	size_t num = 0;
	for (size_t i = 0; i < freed->lists.num; i++)
		num += freed->lists.items[i].good && freed->lists.items[i].place == place;
	return num == 1;
}

static bool take_list(struct freed *freed, const struct list *list)
{
	if (!list->good || !has_one_list(freed, list->place) || !follow(freed, list))
		return !freed->failed;
	qsort(freed->free.items, freed->free.num, sizeof(*freed->free.items), by_address);
	find_pages(freed, list->place);
	uint64_t stride = !freed->failed && keep_pages(freed) ? find_stride(freed, list->type) : 0;
	for (size_t p = 0; p < freed->pages.num && stride; p++)
		if (!add_page(freed, freed->pages.items[p], list->type, stride))
			return false;
	return !freed->failed;
}

enum hsnap_code hsnap_find_freed(struct hsnap_work *work, struct hsnap_error *err)
{
	if (!work->symbols->landings.num)
		return HSNAP_OK;
	hsnap_auto(freed_deinit) struct freed freed = { .work = work, .steps = MOST_STEPS };
	hsnap_window_init(&freed.reader, work->target);
	bool done = hsnap_void_members_init(&freed.members, work);
	if (done && may_have_lists(&freed))
		hsnap_void_walk(&freed.members, see_head, &freed);
	for (size_t i = 0; i < freed.lists.num && done; i++)
		freed.lists.items[i].good = follow(&freed, &freed.lists.items[i]);
	for (size_t i = 0; i < freed.lists.num && done; i++)
		done = take_list(&freed, &freed.lists.items[i]);
	return done && !freed.failed && !freed.members.failed ? HSNAP_OK : hsnap_no_memory(err);
}
