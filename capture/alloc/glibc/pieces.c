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
#include <string.h>

#include "capture/alloc/glibc/walk.h"
#include "snapshot/base/search.h"

#define MAX_AREA ((uint64_t)1 << 42)
#define SURE 64            /* chunks that have to be whole before one that is not is stepped over */
#define MAX_STEP (1u << 20)

struct piece {
	uint64_t start, end, top; /* top: 0 where it ends in posts */
	uint32_t arena;           /* index into walk->arenas; UINT32_MAX: not known yet */
	bool anchored;            /* the arena's own words lead into it */
	bool listed;              /* a free chunk in it is on a list: it is no copy of a heap */
};

struct search {
	struct walk *walk;
	struct hsnap_vec(struct piece) pieces; /* in order of address */
	/* For each page of the area, where the first chunk on it began of a chain that led nowhere, by 16 bytes
	 * and plus one: whoever comes there goes the same way. */
	uint16_t *dead;
	uint64_t area_start, area_end;
	bool brk;
	uint64_t *has; /* bytes of pieces of each arena */
};

static bool is_dead(struct search *search, uint64_t at, uint64_t *page)
{
	uint64_t index = (at - search->area_start) / PAGE;
	uint16_t place = (uint16_t)(at % PAGE / 16 + 1);
	if (index == *page)
		return false;
	*page = index;
	if (search->dead[index] == place)
		return true;
	search->dead[index] = place;
	return false;
}

/* The arena whose top this is, if its pieces are looked for. */
static uint32_t arena_of_top(const struct walk *walk, uint64_t at)
{
	for (uint32_t i = 0; i < walk->arenas.num; i++)
		if (walk->arenas.items[i].pieces && walk->arenas.items[i].top == at)
			return i;
	return UINT32_MAX;
}

/* A chunk that was being cut at the stop: where does the chain go on?  0: nowhere near. */
static uint64_t step_over(struct search *search, uint64_t at)
{
	struct run area = { .start = search->area_start, .end = search->area_end, .kind = RUN_MAIN };
	uint64_t limit = search->area_end - at < MAX_STEP ? search->area_end : at + MAX_STEP;
	while ((at += 16) < limit)
		if (hsnap_glibc_leads_on(search->walk, &area, at))
			return at;
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
	uint64_t at = start, size = 0, head, page = UINT64_MAX;
	bool listed = false;
	unsigned whole = 0; /* chunks since the last one that was not */
	for (;; at += size, whole++) {
		uint64_t room = search->area_end - at, before;
		if (room < 2 * FENCE || is_dead(search, at, &page) || !hsnap_window_word(&search->walk->window, at + 8, &head))
			return false;
		uint32_t arena = arena_of_top(search->walk, at);
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
	free(search->dead);
	search->dead = calloc((size_t)((end - search->area_start) / PAGE + 1), sizeof(*search->dead));
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
	return true;
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
	while (++mapping < target->mappings.num && target->mappings.items[mapping].start == end &&
	       hsnap_glibc_private_from(target, &target->mappings.items[mapping]) == end &&
	       !is_brk(walk, &target->mappings.items[mapping]))
		end = target->mappings.items[mapping].end;
	return end < limit ? end : limit;
}

/* Where an arena began that now goes on in pieces, if that is in [start, end); else start. */
static uint64_t first_chunk(const struct walk *walk, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < walk->arenas.num; i++) {
		uint64_t first = (walk->arenas.items[i].brk_start + 15) & ~15ull;
		if (walk->arenas.items[i].pieces && first >= start && first < end)
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
			at = first_chunk(walk, at, mapping->end);
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
	for (uint32_t a = 0; a < arenas->num; a++) {
		uint64_t has = search->has[a], system = arenas->items[a].system;
		if (!arenas->items[a].pieces || system <= has || system - has <= most)
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
	uint32_t num = (uint32_t)search->walk->arenas.num;
	for (uint32_t i = 0; i < num; i++)
		if (search->walk->arenas.items[i].pieces)
			anchor_all(search, i);
	for (size_t i = 0; i < search->pieces.num; i++)
		if (search->pieces.items[i].anchored)
			search->has[search->pieces.items[i].arena] += size_of(&search->pieces.items[i]);
	hand_out(search);
	for (uint32_t i = 0; i < num; i++)
		if (search->walk->arenas.items[i].pieces)
			drop_excess(search, i);
}

bool hsnap_glibc_piece_runs(struct walk *walk)
{
	struct search search = { .walk = walk, .has = calloc(walk->arenas.num, sizeof(*search.has)) };
	struct hsnap_heap known = { 0 };
	bool ok = search.has && collect_known(walk, &known) && search_all(&search, &known);
	if (ok) {
		settle(&search);
		ok = add_runs(&search);
	}
	free(search.dead);
	free(search.has);
	hsnap_vec_deinit(&search.pieces);
	hsnap_heap_deinit(&known);
	return ok;
}
