/* SPDX-License-Identifier: MIT */
/*
 * arena.c - the main arena by its lists and its ring.
 *
 * glibc 2.26 to 2.43, malloc/malloc.c, struct malloc_state: … top, last_remainder,
 * bins[254] (pairs of forward and backward links), binmap[4] (32 bits each), next,
 * next_free, attached_threads, system_mem, max_system_mem.  What stands before the bins
 * differs between versions: the ring decides.
 */
#include "capture/alloc/glibc/arena.h"

#include <string.h>

#define NUM_BINS 127
#define BINS_SIZE (NUM_BINS * 16)
#define BINMAP_SIZE 16
#define TAIL_SIZE (BINMAP_SIZE + 5 * 8) /* binmap to max_system_mem */
#define LINKS_BACK 16 /* an empty list's links point 16 bytes before themselves */
#define MIN_EMPTY 3
#define MAX_ARENAS 4096
#define MAX_DATA ((uint64_t)64 << 20)

/* From the start of the structure to its bins: 2.43 (no fastbins), 2.26, 2.27 to 2.42. */
static const uint64_t bins_offsets[] = { 112, 104, 24 };

/* The arenas are a ring by `next`, and each stands as far before its bins as the others. */
static bool ring_closes(const struct hsnap_target *target, uint64_t base, uint64_t bins_offset)
{
	uint64_t at = base;
	for (int i = 0; i < MAX_ARENAS; i++) {
		if (!hsnap_target_word(target, at + bins_offset + BINS_SIZE + BINMAP_SIZE, &at) || !at || at & 7)
			return false;
		if (at == base)
			return true;
	}
	return false;
}

static bool is_empty(uint64_t place, const uint64_t *links)
{
	return links[0] == place - LINKS_BACK && links[1] == place - LINKS_BACK;
}

/* A list that begins at `place` may be the k-th of the array: try each k. */
static bool try_array(const struct hsnap_target *target, uint64_t place, uint64_t *start, uint64_t *end)
{
	for (uint64_t k = 0; k < NUM_BINS; k++) {
		uint64_t links[NUM_BINS * 2], bins = place - k * 16;
		if (place < k * 16 || hsnap_target_read(target, bins, links, sizeof(links), NULL))
			break;
		unsigned empty = 0;
		for (unsigned i = 0; i < NUM_BINS; i++)
			empty += is_empty(bins + i * 16u, links + i * 2);
		if (empty < MIN_EMPTY)
			continue;
		for (size_t i = 0; i < sizeof(bins_offsets) / sizeof(*bins_offsets); i++) {
			if (bins < bins_offsets[i] || !ring_closes(target, bins - bins_offsets[i], bins_offsets[i]))
				continue;
			*start = bins - bins_offsets[i];
			*end = bins + BINS_SIZE + TAIL_SIZE;
			return true;
		}
	}
	return false;
}

/* An array is longer than half a window, so it shows in one that is not cut by the end. */
static bool search(const struct hsnap_target *target, uint64_t from, uint64_t to, uint64_t *start, uint64_t *end)
{
	uint64_t words[512];
	uint64_t tried_to = 0; /* lists before this one were of an array that was no arena */
	for (uint64_t at = from; at < to && to - at >= sizeof(words); at += sizeof(words) - 8) {
		if (hsnap_target_read(target, at, words, sizeof(words), NULL))
			continue;
		for (size_t i = 0; i + 1 < sizeof(words) / 8; i++) {
			uint64_t place = at + i * 8;
			if (place < tried_to || !is_empty(place, words + i))
				continue;
			if (try_array(target, place, start, end))
				return true;
			tried_to = place + BINS_SIZE;
		}
	}
	return false;
}

bool hsnap_glibc_main_arena(const struct hsnap_target *target, uint64_t from, uint64_t *start, uint64_t *end)
{
	for (size_t i = 0; i < target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &target->mappings.items[i];
		uint64_t at = mapping->start > from ? mapping->start : (from + 7) & ~(uint64_t)7;
		if (mapping->module && mapping->prot & HSNAP_PROT_WRITE && mapping->end - mapping->start <= MAX_DATA &&
		    at < mapping->end && search(target, at, mapping->end, start, end))
			return true;
	}
	return false;
}
