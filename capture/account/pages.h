/* SPDX-License-Identifier: MIT */
/* pages.h - a set of pages that answers how many bytes of a range are in it. */
#ifndef HSNAP_CAPTURE_ACCOUNT_PAGES_H
#define HSNAP_CAPTURE_ACCOUNT_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot/base/vec.h"

struct hsnap_pages_run {
	uint64_t start, end;
	uint64_t before; /* bytes in all runs before this one */
};

struct hsnap_pages {
	struct hsnap_vec(struct hsnap_pages_run) runs; /* in order of address, disjoint */
};

/* Put [start, end) behind what is in the set; what lies before its end is cut off.  false: out of
 * memory. */
bool hsnap_pages_add(struct hsnap_pages *pages, uint64_t start, uint64_t end);
void hsnap_pages_deinit(struct hsnap_pages *pages);

/* Index of the first run that ends after the address; the number of runs: there is none.  O(log runs). */
size_t hsnap_pages_find(const struct hsnap_pages *pages, uint64_t address);

/* Bytes of [start, end) in the set.  O(log runs), and O(1) for ranges in order of address: `hint`
 * remembers the last place, 0 at first, and may be NULL. */
uint64_t hsnap_pages_in(const struct hsnap_pages *pages, uint64_t start, uint64_t end, size_t *hint);

/* Is all of [start, end) in the run that the hint is of?  Then there is nothing to search for. */
static inline bool hsnap_pages_covers(const struct hsnap_pages *pages, uint64_t start, uint64_t end, size_t hint)
{
	return hint < pages->runs.num && start >= pages->runs.items[hint].start && start <= end &&
	       end <= pages->runs.items[hint].end;
}

#endif
