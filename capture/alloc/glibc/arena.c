/* SPDX-License-Identifier: MIT */
/*
 * arena.c - arenas by their lists and their ring.
 *
 * glibc 2.26 to 2.43, malloc/malloc.c, struct malloc_state: mutex, flags, (have_fastchunks,
 * fastbinsY[10],) top, last_remainder, bins[254] (pairs of forward and backward links), binmap[4]
 * (32 bits each), next, next_free, attached_threads, system_mem, max_system_mem.
 */
#include "capture/alloc/glibc/arena.h"

#include <string.h>

#include "capture/alloc/window.h"
#include "snapshot/base/search.h"

#define BINS_SIZE (HSNAP_GLIBC_BINS * 16u)
#define BINMAP_SIZE 16u
#define NEXT_AT (BINS_SIZE + BINMAP_SIZE) /* from the bins on */
#define SYSTEM_AT (NEXT_AT + 3 * 8)
#define TAIL_END (NEXT_AT + 5 * 8)
#define FASTBINS_BACK (10 * 8 + 16)       /* before the bins: the heads, top, last_remainder */
#define LINKS_BACK 16                     /* an empty list's links point 16 bytes before themselves */
#define MIN_EMPTY 3
#define MAX_STEPS (1u << 22)
#define NONCONTIGUOUS 2u                  /* in flags */

/* From the start of the structure to its bins: 2.27 to 2.42, 2.26, from 2.43 on (no fastbins). */
static const uint64_t bins_offsets[] = { 112, 104, 24 };
#define MAX_BINS_OFFSET 256u

/* [start, end) is an arena's, and none that begins before goes on beyond `reach`. */
struct place {
	uint64_t start, end, reach;
};

struct search {
	const struct hsnap_target *target;
	struct hsnap_window window;
	struct hsnap_glibc_arenas *arenas;
	uint32_t rings;
	uint64_t steps;  /* taken along rings, of which a hostile target has endless ones */
	uint32_t mains;
	struct hsnap_vec(struct place) known; /* where the arenas lie, in order */
	bool in_modules; /* else everywhere */
};

/* Do the arenas make a ring by `next`, each as far before its bins as the others?  From a place that is none the way
 * may lead into the heap, and there round and round: to come by a mark again ends it (Brent's algorithm). */
static bool ring_closes(struct search *search, uint64_t base, uint64_t bins_offset)
{
	uint64_t at = base, mark = base;
	for (uint32_t taken = 0, most = 1; search->steps++ < MAX_STEPS; taken++) {
		if (taken == most) {
			mark = at;
			most *= 2;
			taken = 0;
		}
		if (!hsnap_target_word(search->target, at + bins_offset + NEXT_AT, &at) || !at || at & 7)
			return false;
		if (at == base || at == mark)
			return at == base;
	}
	return false;
}

static bool find_offset(struct search *search, uint64_t bins, uint64_t *ret)
{
	for (size_t i = 0; i < sizeof(bins_offsets) / sizeof(*bins_offsets); i++) {
		*ret = bins_offsets[i];
		if (bins > *ret && ring_closes(search, bins - *ret, *ret))
			return true;
	}
	/* Another layout: whatever makes the ring close. */
	for (*ret = 24; *ret <= MAX_BINS_OFFSET && bins > *ret; *ret += 8)
		if (ring_closes(search, bins - *ret, *ret))
			return true;
	return false;
}

static bool is_empty(uint64_t place, const uint64_t *links)
{
	return links[0] == place - LINKS_BACK && links[1] == place - LINKS_BACK;
}

/* The first of an arena's heaps begins with a word that leads to the arena right behind that head. */
static bool is_in_heap(const struct search *search, uint64_t base)
{
	for (uint64_t size = HSNAP_GLIBC_MIN_HEAP_HEAD; size <= HSNAP_GLIBC_MAX_HEAP_HEAD && size <= base; size += 16) {
		uint64_t arena;
		if ((base - size) % 4096 == 0)
			return hsnap_target_word(search->target, base - size, &arena) && arena == base;
	}
	return false;
}

static bool read_arena(const struct search *search, uint64_t base, uint64_t bins_offset, struct hsnap_glibc_arena *ret)
{
	uint64_t head, tail[2];
	struct hsnap_glibc_arena arena = {
		.start = base, .bins = base + bins_offset, .end = base + bins_offset + TAIL_END, .ring = search->rings,
		.main = !is_in_heap(search, base),
	};
	if (hsnap_target_read(search->target, base, &head, sizeof(head), NULL) ||
	    !hsnap_target_word(search->target, arena.bins - 16, &arena.top) ||
	    hsnap_target_read(search->target, arena.bins + SYSTEM_AT, tail, sizeof(tail), NULL))
		return false;
	arena.locked = (uint32_t)head != 0;
	arena.contiguous = !(head >> 32 & NONCONTIGUOUS);
	arena.fastbins = bins_offset > FASTBINS_BACK ? arena.bins - FASTBINS_BACK : 0;
	arena.system = tail[0];
	*ret = arena;
	return true;
}

static bool add_arena(struct search *search, const struct hsnap_glibc_arena *arena)
{
	if (search->arenas->num >= HSNAP_GLIBC_MAX_ARENAS || (arena->main && search->mains >= HSNAP_GLIBC_MAX_MAIN)) {
		search->arenas->left_out++;
		return true;
	}
	search->mains += arena->main;
	return hsnap_vec_push(search->arenas, *arena) &&
	       hsnap_vec_push(&search->known, (struct place){ arena->start, arena->end, 0 });
}

static int by_start(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static void put_in_order(struct search *search)
{
	uint64_t reach = 0;
	if (search->known.num)
		qsort(search->known.items, search->known.num, sizeof(*search->known.items), by_start);
	for (size_t i = 0; i < search->known.num; i++) {
		reach = search->known.items[i].end > reach ? search->known.items[i].end : reach;
		search->known.items[i].reach = reach;
	}
}

/* All of the ring; false: out of memory. */
static bool add_ring(struct search *search, uint64_t base, uint64_t bins_offset)
{
	size_t before = search->known.num;
	uint32_t taken = 0;
	uint64_t at = base;
	do {
		struct hsnap_glibc_arena arena;
		if (read_arena(search, at, bins_offset, &arena) && !add_arena(search, &arena))
			return false;
		if (!hsnap_target_word(search->target, at + bins_offset + NEXT_AT, &at))
			break;
	} while (at != base && ++taken < MAX_STEPS);
	search->rings++;
	if (search->known.num > before)
		put_in_order(search);
	return true;
}

/* The list that begins at `place` may be any of the array: try each.  *ret_end: of the array, 0: none. */
static bool try_array(struct search *search, uint64_t place, uint64_t *ret_end)
{
	*ret_end = 0;
	for (uint64_t k = 0; k < HSNAP_GLIBC_BINS; k++) {
		uint64_t links[HSNAP_GLIBC_BINS * 2], bins = place - k * 16, offset;
		if (place < k * 16 || hsnap_target_read(search->target, bins, links, sizeof(links), NULL))
			break;
		unsigned empty = 0;
		for (unsigned i = 0; i < HSNAP_GLIBC_BINS; i++)
			empty += is_empty(bins + i * 16u, links + i * 2);
		if (empty < MIN_EMPTY || !find_offset(search, bins, &offset))
			continue;
		*ret_end = bins + TAIL_END;
		return add_ring(search, bins - offset, offset);
	}
	return true;
}

static bool is_known(const struct search *search, uint64_t place, uint64_t *ret_end)
{
	size_t after = hsnap_first(search->known.num, i, search->known.items[i].start > place);
	*ret_end = after ? search->known.items[after - 1].reach : 0;
	return place < *ret_end;
}

static bool search_run(struct search *search, uint64_t from, uint64_t to)
{
	uint64_t tried_to = from; /* lists before this one were of an array that was dealt with */
	for (uint64_t at = (from + 7) & ~7ull; at + 16 <= to; at += 8) {
		uint64_t links[2], end;
		if (!hsnap_window_word(&search->window, at, links))
			break;
		if (links[0] != at - LINKS_BACK || at < tried_to || !hsnap_window_word(&search->window, at + 8, links + 1) ||
		    !is_empty(at, links))
			continue;
		if (is_known(search, at, &end)) {
			tried_to = end;
			continue;
		}
		if (!try_array(search, at, &end))
			return false;
		tried_to = end ? end : at + BINS_SIZE;
	}
	return true;
}

static bool search_mapping(struct search *search, const struct hsnap_mapping *mapping)
{
	uint64_t start, end;
	for (uint64_t at = mapping->start; hsnap_target_next_run(search->target, at, &start, &end); at = end) {
		if (start >= mapping->end)
			break;
		if (!search_run(search, start, end < mapping->end ? end : mapping->end))
			return false;
	}
	return true;
}

static bool search_all(struct search *search)
{
	for (size_t i = 0; i < search->target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &search->target->mappings.items[i];
		if (mapping->prot & HSNAP_PROT_WRITE && (mapping->module || !search->in_modules) &&
		    !search_mapping(search, mapping))
			return false;
	}
	return true;
}

bool hsnap_glibc_arenas_find(const struct hsnap_target *target, struct hsnap_glibc_arenas *arenas)
{
	struct search search = {
		.target = target, .window = { .target = target }, .arenas = arenas, .in_modules = true,
	};
	size_t before = arenas->num;
	bool ok = search_all(&search);
	if (ok && arenas->num == before) {
		search.in_modules = false;
		ok = search_all(&search);
	}
	hsnap_window_deinit(&search.window);
	hsnap_vec_deinit(&search.known);
	return ok;
}
