/* SPDX-License-Identifier: MIT */
/*
 * params.c - what malloc keeps for all its arenas, found by what it says.
 *
 * glibc 2.26 to 2.43 malloc/malloc.c, struct malloc_par: …, (hp_flags since 2.35,) n_mmaps, n_mmaps_max,
 * max_n_mmaps, no_dyn_threshold (each 32 bits), mmapped_mem, max_mmapped_mem, sbrk_base, … It stands
 * in the data of the module that has the main arena.
 */
#include "capture/alloc/glibc/walk.h"

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

/* A place that leads to the start of brk, or of whatever the arena began with; `start`: where it should
 * lead, 0: unknown. */
static bool search(struct walk *walk, uint64_t from, uint64_t to, uint64_t start, struct params *ret)
{
	for (uint64_t at = (from + 7) & ~7ull; at + 8 <= to; at += 8) {
		uint64_t base;
		if (!hsnap_window_word(&walk->links, at, &base))
			break;
		if (!base || (start && base != start) || !hsnap_glibc_is_private(walk->target, base, base + 1) ||
		    !read_counts(walk, at, base, ret))
			continue;
		return true;
	}
	return false;
}

bool hsnap_glibc_find_params(struct walk *walk, const struct hsnap_glibc_arena *arena, uint64_t start, struct params *ret)
{
	const struct hsnap_mapping *own = hsnap_target_mapping(walk->target, arena->start);
	for (size_t i = 0; own && i < walk->target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &walk->target->mappings.items[i];
		if (mapping != own && (!own->module || mapping->module != own->module || !(mapping->prot & HSNAP_PROT_WRITE)))
			continue;
		uint64_t run_start, run_end;
		for (uint64_t at = mapping->start; hsnap_target_next_run(walk->target, at, &run_start, &run_end); at = run_end) {
			if (run_start >= mapping->end)
				break;
			if (search(walk, run_start, run_end < mapping->end ? run_end : mapping->end, start, ret))
				return true;
		}
	}
	return false;
}
