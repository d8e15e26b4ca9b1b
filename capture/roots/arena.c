/* SPDX-License-Identifier: MIT */
/*
 * arena.c - the state of glibc's main arena, which lies in libc's own data.
 *
 * Its pointers lead to heads of free chunks and of the top chunk, and the head of a chunk begins
 * in the last eight bytes of the block before it: as roots they would keep the neighbours of free
 * memory alive.  Source: glibc 2.26 to 2.43 malloc/malloc.c, struct malloc_state.
 */
#include "capture/roots/finder.h"
#include "snapshot/base/cleanup.h"

#define PAGE_MASK (~(uint64_t)4095)
#define NUM_BINS 127
#define BINS_SIZE (NUM_BINS * 16)
#define BEFORE_BINS 112 /* mutex, flags, have_fastchunks, ten fast bins, top, last_remainder */
#define AFTER_BINS 64   /* binmap, next, next_free, attached_threads, system_mem, max_system_mem */
#define MIN_EMPTY 32    /* of the bins: the large ones hardly ever hold anything */
#define MAX_DATA ((uint64_t)64 << 20)

static bool in_heap(const struct hsnap_root_finder *finder, uint64_t address)
{
	uint64_t at = address, end;
	return address && address + 1 && !hsnap_spans_gap(&finder->regions, &at, address + 1, &end);
}

/* A bin is a pair of links; an empty one leads to itself, less the head of a chunk. */
static bool is_empty_bin(const uint64_t *pair, uint64_t address)
{
	return pair[0] == address - 16 && pair[1] == address - 16;
}

static bool is_bin(const struct hsnap_root_finder *finder, const uint64_t *pair, uint64_t address)
{
	return is_empty_bin(pair, address) || (in_heap(finder, pair[0]) && in_heap(finder, pair[1]));
}

/* Is [end - BINS_SIZE, end) the bins, given that they do not go on at `end`? */
static bool are_bins(const struct hsnap_root_finder *finder, const uint64_t *words, size_t end, uint64_t address)
{
	unsigned empty = 0;
	if (end < BINS_SIZE / 8)
		return false;
	for (size_t i = end - BINS_SIZE / 8; i < end; i += 2) {
		if (!is_bin(finder, &words[i], address + i * 8))
			return false;
		empty += is_empty_bin(&words[i], address + i * 8);
	}
	return empty >= MIN_EMPTY;
}

static void look_in(struct hsnap_root_finder *finder, const uint64_t *words, size_t num, uint64_t address,
		    struct hsnap_spans *found)
{
	for (size_t i = 0; i + 1 < num; i++) {
		if (!is_empty_bin(&words[i], address + i * 8))
			continue;
		size_t end = i;
		while (end + 1 < num && is_bin(finder, &words[end], address + end * 8))
			end += 2;
		uint64_t at = address + end * 8;
		if (are_bins(finder, words, end, address) &&
		    !hsnap_spans_add(found, at - BINS_SIZE - BEFORE_BINS, at + AFTER_BINS))
			finder->no_memory = true;
		i = end - 1;
	}
}

void hsnap_roots_exclude_arena(struct hsnap_root_finder *finder)
{
	const struct hsnap_target *target = finder->target;
	struct hsnap_spans found = { 0 };
	for (size_t i = 0; i < target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &target->mappings.items[i];
		if (!mapping->module || mapping->module >= target->modules.num || !(mapping->prot & HSNAP_PROT_WRITE))
			continue;
		uint64_t end = (target->modules.items[mapping->module].end + ~PAGE_MASK) & PAGE_MASK;
		if (end > mapping->end)
			end = mapping->end;
		uint64_t size = end > mapping->start ? end - mapping->start : 0;
		if (size < BINS_SIZE || size > MAX_DATA)
			continue;
		hsnap_auto(hsnap_freep) uint64_t *words = malloc(size);
		if (!words)
			finder->no_memory = true;
		else if (!hsnap_target_read(target, mapping->start, words, size, NULL))
			look_in(finder, words, size / 8, mapping->start, &found);
	}
	for (size_t i = 0; i < found.num; i++)
		if (!hsnap_spans_add(&finder->regions, found.items[i].start, found.items[i].end))
			finder->no_memory = true;
	hsnap_spans_sort(&finder->regions);
	hsnap_vec_deinit(&found);
}
