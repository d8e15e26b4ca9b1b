/* SPDX-License-Identifier: MIT */
/* pagemap.c - pages that are there, and pages that are swapped out. */
#include "capture/proc/pagemap.h"

#include <unistd.h>

#include "capture/proc/scan.h"

#define PAGE ((uint64_t)4096)
#define MAX_ENTRIES ((uint64_t)64 << 20)  /* read of one mapping, one by one: 256 GiB */

/* One step of a scan from *start on; returns the number of regions, negative: it does not work. */
static int scan_step(int pagemap, uint64_t *start, uint64_t end, uint64_t never, uint64_t one_of,
		     struct hsnap_page_region *regions, size_t max)
{
	struct hsnap_scan_arg scan = {
		.size = sizeof(scan), .start = *start, .end = end, .vec = (uint64_t)(uintptr_t)regions, .vec_len = max,
		.category_inverted = never, .category_mask = never, .category_anyof_mask = one_of, .return_mask = one_of,
	};
	int n = ioctl(pagemap, HSNAP_SCAN_IOCTL, &scan);
	*start = n < 0 || scan.walk_end <= *start ? end : scan.walk_end;
	return n;
}

/* Which pages are meant: by the categories of a scan, and by the bit of an entry. */
struct wanted {
	uint64_t never, one_of, entry;
};
static const struct wanted present = { HSNAP_PAGE_ZERO, HSNAP_PAGE_PRESENT, HSNAP_ENTRY_PRESENT };
static const struct wanted swapped = { 0, HSNAP_PAGE_SWAPPED, HSNAP_ENTRY_SWAPPED };

typedef bool add_fn(void *context, uint64_t start, uint64_t end);

/* An entry a page. */
static enum hsnap_pages_found read_entries(int pagemap, uint64_t start, uint64_t end, const struct wanted *wanted,
					   add_fn *add, void *context)
{
	uint64_t entries[4096];
	if ((end - start) / PAGE > MAX_ENTRIES)
		return HSNAP_PAGES_UNKNOWN;
	while (start < end) {
		uint64_t want = (end - start) / PAGE;
		if (want > sizeof(entries) / sizeof(*entries))
			want = sizeof(entries) / sizeof(*entries);
		ssize_t n = pread(pagemap, entries, want * sizeof(*entries), (off_t)(start / PAGE * sizeof(*entries)));
		size_t num = n < 0 ? 0 : (size_t)n / sizeof(*entries);
		if (!num)
			return HSNAP_PAGES_UNKNOWN;
		for (size_t i = 0; i < num; i++, start += PAGE)
			if (entries[i] & wanted->entry && !add(context, start, start + PAGE))
				return HSNAP_PAGES_NO_MEMORY;
	}
	return HSNAP_PAGES_LISTED;
}

static enum hsnap_pages_found list(int pagemap, uint64_t start, uint64_t end, const struct wanted *wanted, add_fn *add,
				   void *context)
{
	struct hsnap_page_region regions[256];
	for (uint64_t at = start; at < end;) {
		uint64_t before = at;
		int n = scan_step(pagemap, &at, end, wanted->never, wanted->one_of, regions, sizeof(regions) / sizeof(*regions));
		if (n < 0)
			return pagemap < 0 ? HSNAP_PAGES_UNKNOWN : read_entries(pagemap, before, end, wanted, add, context);
		for (int i = 0; i < n; i++)
			if (!add(context, regions[i].start, regions[i].end))
				return HSNAP_PAGES_NO_MEMORY;
	}
	return HSNAP_PAGES_LISTED;
}

static bool add_to_list(void *context, uint64_t start, uint64_t end)
{
	struct hsnap_page_ranges *to = context;
	struct hsnap_page_range *last = to->num ? &to->items[to->num - 1] : NULL;
	if (last && last->end == start) {
		last->end = end;
		return true;
	}
	return hsnap_vec_push(to, (struct hsnap_page_range){ start, end });
}

enum hsnap_pages_found hsnap_pagemap_present(int pagemap, uint64_t start, uint64_t end, struct hsnap_page_ranges *to)
{
	return list(pagemap, start, end, &present, add_to_list, to);
}

uint64_t hsnap_pagemap_bits(int pagemap, uint64_t start, uint64_t end)
{
	uint64_t entries[64], bits = 0;
	uint64_t want = start < end ? (end - start) / PAGE : 0;
	if (want > 64)
		want = 64;
	ssize_t n = want ? pread(pagemap, entries, want * sizeof(*entries), (off_t)(start / PAGE * sizeof(*entries))) : 0;
	for (ssize_t i = 0; i < n / (ssize_t)sizeof(*entries); i++)
		bits |= (entries[i] & HSNAP_ENTRY_PRESENT) >> 63 << i;
	return bits;
}

bool hsnap_pagemap_scans(int pagemap)
{
	struct hsnap_page_region region;
	uint64_t at = 0;
	return scan_step(pagemap, &at, PAGE, 0, HSNAP_PAGE_PRESENT, &region, 1) >= 0;
}

struct found {
	struct hsnap_page_range *to;
	size_t max, *num;
};

static bool add_found(void *context, uint64_t start, uint64_t end)
{
	const struct found *found = context;
	struct hsnap_page_range *last = *found->num ? &found->to[*found->num - 1] : NULL;
	if (last && last->end == start) {
		last->end = end;
		return true;
	}
	if (*found->num == found->max)
		return false;
	found->to[(*found->num)++] = (struct hsnap_page_range){ start, end };
	return true;
}

bool hsnap_pagemap_swapped(int pagemap, uint64_t start, uint64_t end, struct hsnap_page_range *to, size_t max,
			   size_t *num)
{
	struct found found = { to, max, num };
	return list(pagemap, start, end, &swapped, add_found, &found) == HSNAP_PAGES_LISTED;
}
