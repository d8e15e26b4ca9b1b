/* SPDX-License-Identifier: MIT */
/*
 * pieces.c - a main arena that does not lie in one piece.
 *
 * Where brk cannot grow (something is mapped behind it, or this is a second libc of the process),
 * sysmalloc() goes on in mappings of a mebibyte or more: glibc 2.26 to 2.43 malloc/malloc.c,
 * sysmalloc_mmap_fallback().  What it leaves ends in two fence posts, what it is at ends in the
 * top; nothing leads to the pieces but that.  So every page of private memory is tried as the
 * start of a chain of chunks that ends in posts at the end of a page, or in the top; in brk, from
 * which others may have taken memory, every 16 bytes.
 *
 * The pieces of an arena have to add up to what it has from the system.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/alloc/glibc/walk.h"
#include "snapshot/base/search.h"

#define MAX_AREA ((uint64_t)1 << 42)
#define SURE 64            /* chunks that have to be whole before one that is not is stepped over */
#define MAX_STEP (1u << 20)
#define STRETCH ((uint64_t)1 << 20)

struct piece {
	uint64_t start, end, top; /* top: 0 where it ends in posts */
	uint32_t arena;           /* index into walk->arenas; UINT32_MAX: not known yet */
	bool anchored;            /* the arena's own words lead into it */
	bool listed;              /* a free chunk in it is on a list: it is no copy of a heap */
};

struct search {
	struct walk *walk;
	struct hsnap_vec(struct piece) pieces; /* in order of address */
	/* For each stretch of the area, once a chain came there, a bit for each 16 bytes where a chunk of it began:
	 * whoever comes there goes the same way, and it led nowhere. */
	uint64_t **dead;
	size_t num_dead;
	uint64_t area_start, area_end;
	bool brk;
	uint64_t *has; /* bytes of pieces of each arena */
	struct hsnap_vec(uint32_t) arenas; /* whose pieces are looked for: index into walk->arenas */
	bool no_memory;
};

static bool is_dead(struct search *search, uint64_t at)
{
	uint64_t **bits = &search->dead[(at - search->area_start) / STRETCH], bit = (at - search->area_start) % STRETCH / 16;
	if (!*bits)
		*bits = calloc(STRETCH / 16 / 64, sizeof(**bits));
	if (!*bits) {
		search->no_memory = true;
		return true;
	}
	bool was = (*bits)[bit / 64] >> bit % 64 & 1;
	(*bits)[bit / 64] |= 1ull << bit % 64;
	return was;
}

static void forget_dead(struct search *search)
{
	for (size_t i = 0; i < search->num_dead; i++)
		free(search->dead[i]);
	free(search->dead);
	search->dead = NULL;
	search->num_dead = 0;
}

/* The arena whose top this is, if its pieces are looked for. */
static uint32_t arena_of_top(const struct search *search, uint64_t at)
{
	for (size_t i = 0; i < search->arenas.num; i++)
		if (search->walk->arenas.items[search->arenas.items[i]].top == at)
			return search->arenas.items[i];
	return UINT32_MAX;
}

/* A chunk that was being cut at the stop: where does the chain go on?  0: nowhere near. */
static uint64_t step_over(struct search *search, uint64_t at)
{
	struct run area = { .start = search->area_start, .end = search->area_end, .kind = RUN_MAIN };
	uint64_t limit = search->area_end - at < MAX_STEP ? search->area_end : at + MAX_STEP;
	while ((at += 16) < limit && search->walk->foot_steps) {
		search->walk->foot_steps--;
		if (hsnap_glibc_leads_on(search->walk, &area, at))
			return at;
	}
	return 0;
}

static bool is_post(struct search *search, uint64_t at)
{
	uint64_t head;
	return search->area_end - at >= FENCE && hsnap_window_word(&search->walk->window, at + 8, &head) && head == (FENCE | IN_USE);
}

/* The end of the posts that stand here: two, or three where the top was too small to become a chunk; 0:
 * there are none. */
static uint64_t end_of_posts(struct search *search, uint64_t at)
{
	uint64_t two = at + 2 * FENCE, three = at + 3 * FENCE;
	if (!is_post(search, at + FENCE))
		return 0;
	if (three % PAGE == 0 && is_post(search, two))
		return three;
	return search->brk || two % PAGE == 0 ? two : 0;
}

/* Does what the chunk leads to lead back? */
static bool is_listed(struct search *search, uint64_t chunk)
{
	uint64_t forward, back;
	return hsnap_window_word(&search->walk->window, chunk + 16, &forward) &&
	       hsnap_window_word(&search->walk->links, forward + 24, &back) && back == chunk;
}

static bool try_piece(struct search *search, uint64_t start, struct piece *ret)
{
	uint64_t at = start, size = 0, head;
	bool listed = false;
	unsigned whole = 0; /* chunks since the last one that was not */
	for (;; at += size, whole++) {
		uint64_t room = search->area_end - at, before;
		if (room < 2 * FENCE || is_dead(search, at) || !hsnap_window_word(&search->walk->window, at + 8, &head))
			return false;
		uint32_t arena = arena_of_top(search, at);
		if (arena != UINT32_MAX) {
			*ret = (struct piece){ start, at + (SIZE(head) < room ? SIZE(head) : room), at, arena, true, listed };
			return true;
		}
		bool ok = hsnap_glibc_is_head(head, room) && !(head & OTHER_ARENA) &&
			  (head & IN_USE || (at > start && hsnap_window_word(&search->walk->window, at, &before) &&
					     (before == size || !whole)));
		if (!ok) {
			uint64_t next = whole >= SURE ? step_over(search, at) : 0;
			if (!next)
				return false;
			size = next - at;
			whole = UINT32_MAX; /* none, with the next turn */
			continue;
		}
		listed = listed || (!(head & IN_USE) && is_listed(search, at - size));
		size = SIZE(head);
		if (size != FENCE)
			continue;
		*ret = (struct piece){ start, end_of_posts(search, at), 0, UINT32_MAX, false, listed };
		return at > start && ret->end;
	}
}

static bool search_area(struct search *search, uint64_t start, uint64_t end)
{
	uint64_t run_start, run_end, step = search->brk ? 16 : PAGE;
	search->area_start = start & ~(PAGE - 1);
	search->area_end = end = end - search->area_start < MAX_AREA ? end : search->area_start + MAX_AREA;
	forget_dead(search);
	search->num_dead = (size_t)((end - search->area_start) / STRETCH + 1);
	search->dead = calloc(search->num_dead, sizeof(*search->dead));
	if (!search->dead)
		return false;
	for (uint64_t at = start; at < end && hsnap_target_next_run(search->walk->target, at, &run_start, &run_end);) {
		struct piece piece;
		at = (run_start + step - 1) & ~(step - 1);
		if (at >= end)
			break;
		if (!try_piece(search, at, &piece)) {
			at += step;
			continue;
		}
		if (!hsnap_vec_push(&search->pieces, piece))
			return false;
		at = piece.end;
	}
	return !search->no_memory;
}

/* ---- where to look ---- */

/* What is known to be something else: heaps of other arenas, main arenas in one piece. */
static bool collect_known(const struct walk *walk, struct hsnap_heap *known)
{
	for (size_t i = 0; i < walk->heap->regions.num; i++)
		if (!hsnap_vec_push(&known->regions, walk->heap->regions.items[i]))
			return false;
	for (size_t i = 0; i < walk->runs.num; i++)
		if (!hsnap_vec_push(&known->regions, (struct hsnap_region){ walk->runs.items[i].start, walk->runs.items[i].end }))
			return false;
	hsnap_heap_sort_regions(known);
	return true;
}

static bool is_brk(const struct walk *walk, const struct hsnap_mapping *mapping)
{
	return !strcmp(hsnap_str(&walk->target->strings, mapping->path), "[heap]");
}

/* Private memory from `at` on, at most to `limit`, that belongs together. */
static uint64_t area_end(const struct walk *walk, size_t mapping, uint64_t limit)
{
	const struct hsnap_target *target = walk->target;
	uint64_t end = target->mappings.items[mapping].end;
	while (end < limit && ++mapping < target->mappings.num && target->mappings.items[mapping].start == end &&
	       hsnap_glibc_private_from(target, &target->mappings.items[mapping]) == end &&
	       !is_brk(walk, &target->mappings.items[mapping]))
		end = target->mappings.items[mapping].end;
	return end < limit ? end : limit;
}

/* Where an arena began that now goes on in pieces, if that is in [start, end); else start. */
static uint64_t first_chunk(const struct search *search, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < search->arenas.num; i++) {
		uint64_t first = (search->walk->arenas.items[search->arenas.items[i]].brk_start + 15) & ~15ull;
		if (first >= start && first < end)
			return first;
	}
	return start;
}

static bool search_all(struct search *search, const struct hsnap_heap *known)
{
	const struct walk *walk = search->walk;
	uint64_t done = 0;
	size_t next = 0;
	for (size_t i = 0; i < walk->target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &walk->target->mappings.items[i];
		uint64_t at = hsnap_glibc_private_from(walk->target, mapping);
		search->brk = is_brk(walk, mapping);
		if (search->brk) /* what stands before is somebody else's */
			at = first_chunk(search, at, mapping->end);
		at = at < done ? done : at;
		while (at < mapping->end) {
			while (next < known->regions.num && known->regions.items[next].end <= at)
				next++;
			bool any = next < known->regions.num;
			if (any && known->regions.items[next].start <= at) {
				at = known->regions.items[next].end;
				continue;
			}
			uint64_t end = area_end(walk, i, any ? known->regions.items[next].start : UINT64_MAX);
			if (!search_area(search, at, end))
				return false;
			done = at = end;
		}
	}
	return true;
}

/* ---- whose it is ---- */

static void anchor(struct search *search, uint32_t arena, uint64_t address)
{
	size_t low = hsnap_first(search->pieces.num, i, search->pieces.items[i].start > address);
	struct piece *piece = low ? &search->pieces.items[low - 1] : NULL;
	if (!piece || address >= piece->end || piece->arena != UINT32_MAX)
		return;
	piece->arena = arena;
	piece->anchored = true;
}

/* By what stands first and last on the arena's lists. */
static void anchor_all(struct search *search, uint32_t index)
{
	const struct hsnap_glibc_arena *arena = &search->walk->arenas.items[index];
	uint64_t link, from = arena->fastbins ? arena->fastbins : arena->bins - 16;
	for (uint64_t at = from; at < arena->bins + HSNAP_GLIBC_BINS * 16; at += 8)
		if (hsnap_window_word(&search->walk->links, at, &link) && (link < arena->start || link >= arena->end))
			anchor(search, index, link);
}

static uint64_t size_of(const struct piece *piece)
{
	return piece->end - piece->start;
}

static void hand_out_piece(struct search *search, struct piece *piece)
{
	const struct hsnap_glibc_arenas *arenas = &search->walk->arenas;
	uint64_t most = 0;
	for (size_t i = 0; i < search->arenas.num; i++) {
		uint32_t a = search->arenas.items[i];
		uint64_t has = search->has[a], system = arenas->items[a].system;
		if (system <= has || system - has <= most)
			continue;
		most = system - has;
		piece->arena = a;
	}
	if (piece->arena != UINT32_MAX)
		search->has[piece->arena] += size_of(piece);
}

/* Pieces that no arena leads into go to the one that lacks most; surely no copies first. */
static void hand_out(struct search *search)
{
	for (int listed = 1; listed >= 0; listed--)
		for (size_t i = 0; i < search->pieces.num; i++)
			if (search->pieces.items[i].arena == UINT32_MAX && search->pieces.items[i].listed == listed)
				hand_out_piece(search, &search->pieces.items[i]);
}

/* More than an arena has was not all its own: a copy of a heap, say.  Those that nothing leads into go,
 * first one that is just too much. */
static void drop_excess(struct search *search, uint32_t arena)
{
	uint64_t system = search->walk->arenas.items[arena].system;
	for (int exact = 1; exact >= 0; exact--) {
		for (size_t i = 0; i < search->pieces.num && search->has[arena] > system; i++) {
			struct piece *piece = &search->pieces.items[i];
			uint64_t excess = search->has[arena] - system;
			if (piece->arena != arena || piece->anchored || piece->listed || size_of(piece) > excess ||
			    (exact && size_of(piece) != excess))
				continue;
			search->has[arena] -= size_of(piece);
			piece->arena = UINT32_MAX;
		}
	}
}

static bool add_runs(struct search *search)
{
	for (size_t i = 0; i < search->pieces.num; i++) {
		const struct piece *piece = &search->pieces.items[i];
		struct run run = {
			.start = piece->start, .end = piece->end, .top = piece->top, .arena = piece->arena + 1, .kind = RUN_MAIN,
		};
		if (piece->arena != UINT32_MAX && !hsnap_vec_push(&search->walk->runs, run))
			return false;
	}
	return true;
}

/* For each piece the arena that it belongs to. */
static void settle(struct search *search)
{
	for (size_t i = 0; i < search->arenas.num; i++)
		anchor_all(search, search->arenas.items[i]);
	for (size_t i = 0; i < search->pieces.num; i++)
		if (search->pieces.items[i].anchored)
			search->has[search->pieces.items[i].arena] += size_of(&search->pieces.items[i]);
	hand_out(search);
	for (size_t i = 0; i < search->arenas.num; i++)
		drop_excess(search, search->arenas.items[i]);
}

static bool list_arenas(struct search *search)
{
	for (uint32_t i = 0; i < search->walk->arenas.num; i++)
		if (search->walk->arenas.items[i].pieces && !hsnap_vec_push(&search->arenas, i))
			return false;
	return true;
}

bool hsnap_glibc_piece_runs(struct walk *walk)
{
	struct search search = { .walk = walk, .has = calloc(walk->arenas.num, sizeof(*search.has)) };
	struct hsnap_heap known = { 0 };
	bool ok = search.has && list_arenas(&search) && collect_known(walk, &known) && search_all(&search, &known);
	if (ok) {
		settle(&search);
		ok = add_runs(&search);
	}
	forget_dead(&search);
	free(search.has);
	hsnap_vec_deinit(&search.arenas);
	hsnap_vec_deinit(&search.pieces);
	hsnap_heap_deinit(&known);
	return ok;
}
