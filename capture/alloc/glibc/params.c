/* SPDX-License-Identifier: MIT */
/*
 * params.c - what malloc keeps for all its arenas, found by what it says.
 *
 * glibc 2.26 to 2.43 malloc/malloc.c, struct malloc_par: …, (hp_flags since 2.35,) n_mmaps, n_mmaps_max,
 * max_n_mmaps, no_dyn_threshold (each 32 bits), mmapped_mem, max_mmapped_mem, sbrk_base, … It stands
 * in the data of the module that has the main arena.
 */
#include <stdlib.h>

#include "capture/alloc/glibc/walk.h"
#include "snapshot/base/search.h"

#define DEFAULT_MAX 65536u /* of n_mmaps_max, where nobody has changed it */

/* The words before sbrk_base. */
struct before {
	uint32_t ints[6];
	uint64_t bytes, most_bytes;
};

/* Are these the counts of mappings?  `first`: of the four integers. */
static bool are_counts(const struct before *before, unsigned first)
{
	uint32_t num = before->ints[first], limit = before->ints[first + 1], most = before->ints[first + 2];
	uint32_t fixed = before->ints[first + 3];
	return fixed <= 1 && num <= most && (limit == DEFAULT_MAX || (fixed && most <= limit)) &&
	       before->bytes >= num * PAGE && (num || !before->bytes) && (most || !before->most_bytes);
}

static bool read_counts(const struct walk *walk, uint64_t at, uint64_t base, struct params *ret)
{
	struct before before;
	if (hsnap_target_read(walk->target, at - sizeof(before), &before, sizeof(before), NULL) ||
	    before.bytes % PAGE || before.most_bytes % PAGE || before.bytes > before.most_bytes)
		return false;
	/* Five integers and a gap since 2.35, four before. */
	unsigned first = !before.ints[5] && are_counts(&before, 1) ? 1 : 2;
	if (first == 2 && !are_counts(&before, 2))
		return false;
	*ret = (struct params){ .brk_start = base, .mapped_bytes = before.bytes };
	return true;
}

/* Places that lead to the start of brk, or of whatever an arena began with. */
static bool list(struct walk *walk, uint64_t from, uint64_t to)
{
	for (uint64_t at = (from + 7) & ~7ull; at + 8 <= to; at += 8) {
		struct params found;
		uint64_t base;
		if (!hsnap_window_word(&walk->links, at, &base))
			break;
		if (!base || !hsnap_glibc_is_private(walk, base, base + 1) || !read_counts(walk, at, base, &found))
			continue;
		struct params_place place = { base, found.mapped_bytes, (uint32_t)walk->params.num };
		if (!hsnap_vec_push(&walk->params, place))
			return false;
		if (walk->params.num == 1)
			walk->first_params = found;
	}
	return true;
}

static int by_base(const void *a, const void *b)
{
	const struct params_place *x = a, *y = b;
	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* All places of the module, or of a mapping that is of none, in which an arena stands.  Arenas of one follow
 * each other. */
static bool list_all(struct walk *walk, const struct hsnap_mapping *own)
{
	const struct hsnap_mapping *of = walk->params_of;
	if (of == own || (of && of->module && of->module == own->module))
		return true;
	walk->params_of = own;
	walk->params.num = 0;
	for (size_t i = 0; i < walk->target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &walk->target->mappings.items[i];
		if (mapping != own && (!own->module || mapping->module != own->module || !(mapping->prot & HSNAP_PROT_WRITE)))
			continue;
		uint64_t start, end;
		for (uint64_t at = mapping->start; hsnap_target_next_run(walk->target, at, &start, &end); at = end) {
			if (start >= mapping->end)
				break;
			if (!list(walk, start, end < mapping->end ? end : mapping->end))
				return false;
		}
	}
	if (walk->params.num)
		qsort(walk->params.items, walk->params.num, sizeof(*walk->params.items), by_base);
	return true;
}

bool hsnap_glibc_find_params(struct walk *walk, const struct hsnap_glibc_arena *arena, uint64_t start, struct params *ret,
			     bool *ret_found)
{
	const struct hsnap_mapping *own = hsnap_target_mapping(walk->target, arena->start);
	*ret_found = false;
	if (!own)
		return true;
	if (!list_all(walk, own))
		return false;
	const struct params_place *places = walk->params.items;
	size_t first = hsnap_first(walk->params.num, i, places[i].base >= start);
	*ret_found = walk->params.num > 0;
	if (start && first < walk->params.num && places[first].base == start)
		*ret = (struct params){ places[first].base, places[first].mapped_bytes };
	else if (*ret_found)
		*ret = walk->first_params;
	return true;
}
