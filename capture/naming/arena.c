/* SPDX-License-Identifier: MIT */
/*
 * arena.c - where in a module's data glibc keeps its main arena.
 *
 * The arena points to free chunks, that is two words before their bytes, where
 * the block before ends: read as roots, these words would hold neighbours.
 * It has no exported name, but its 127 bins are heads of rings: an empty one
 * points to itself, two words before, twice (glibc malloc/malloc.c, struct
 * malloc_state and bin_at(); the same from 2.3 on).
 */
#include "capture/naming/memory.h"
#include "capture/naming/work.h"

#define NUM_BINS 127
#define ENOUGH_BINS 100 /* consistent ones; a thread may be at work on a few */
#define BEFORE 112      /* bytes of malloc_state before the bins, where it has fastbins */
#define AFTER 16        /* the map of bins that are not empty */

/* Is the pair of words at `at` the head of a ring? */
static bool is_bin(struct hsnap_window *window, uint64_t at, bool *ret_empty)
{
	uint64_t forward, back, word, self = at - 16;
	*ret_empty = false;
	if (!hsnap_window_word(window, at, &forward) || !hsnap_window_word(window, at + 8, &back))
		return false;
	if (forward == self || back == self) {
		*ret_empty = forward == back;
		return *ret_empty;
	}
	return forward % 16 == 0 && back % 16 == 0 && forward && back &&
	       hsnap_window_word(window, forward + 24, &word) && word == self &&
	       hsnap_window_word(window, back + 16, &word) && word == self;
}

static unsigned count_bins(struct hsnap_window *window, uint64_t at, uint64_t end)
{
	unsigned num = 0;
	bool empty;
	for (unsigned i = 0; i < NUM_BINS && at < end && end - at >= 16; i++, at += 16)
		num += is_bin(window, at, &empty);
	return num;
}

bool hsnap_find_arena(const struct hsnap_target *target, uint64_t start, uint64_t end, struct hsnap_region *ret)
{
	struct hsnap_window window;
	hsnap_window_init(&window, target);
	hsnap_window_open(&window, start, end);
	uint64_t at = (start + 7) & ~(uint64_t)7, word;
	for (bool empty; at < end && end - at >= 16; at += 8) {
		/* The cheap half of the test first: nearly no word points two words before itself. */
		if (!hsnap_window_word(&window, at, &word) || word != at - 16 || !is_bin(&window, at, &empty))
			continue;
		uint64_t first = at;
		while (first - start >= 16 && is_bin(&window, first - 16, &empty))
			first -= 16;
		if (count_bins(&window, first, end) < ENOUGH_BINS)
			continue;
		uint64_t bins_end = first + NUM_BINS * 16;
		ret->start = first - start > BEFORE ? first - BEFORE : start;
		ret->end = end - bins_end > AFTER && bins_end < end ? bins_end + AFTER : end;
		return true;
	}
	return false;
}
