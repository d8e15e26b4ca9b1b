/* SPDX-License-Identifier: MIT */
/* pages.c - sums over a set of pages. */
#include "capture/account/pages.h"

#include "snapshot/base/search.h"

bool hsnap_pages_add(struct hsnap_pages *pages, uint64_t start, uint64_t end)
{
	struct hsnap_pages_run *last = pages->runs.num ? &pages->runs.items[pages->runs.num - 1] : NULL;
	if (last && start < last->end)
		start = last->end;
	if (start >= end)
		return true;
	if (last && start == last->end) {
		last->end = end;
		return true;
	}
	uint64_t before = last ? last->before + (last->end - last->start) : 0;
	struct hsnap_pages_run run = { .start = start, .end = end, .before = before };
	return hsnap_vec_push(&pages->runs, run);
}

void hsnap_pages_deinit(struct hsnap_pages *pages)
{
	hsnap_vec_deinit(&pages->runs);
}

size_t hsnap_pages_find(const struct hsnap_pages *pages, uint64_t address)
{
	size_t low = hsnap_first(pages->runs.num, i, pages->runs.items[i].end > address);
	return low;
}

static size_t find_near(const struct hsnap_pages *pages, uint64_t address, size_t hint)
{
	const struct hsnap_pages_run *runs = pages->runs.items;
	for (size_t i = hint; i < pages->runs.num && i < hint + 4; i++)
		if (runs[i].end > address && (!i || runs[i - 1].end <= address))
			return i;
	return hsnap_pages_find(pages, address);
}

/* Bytes in the set below an address, of which run i is the first that ends after it. */
static uint64_t below(const struct hsnap_pages *pages, uint64_t address, size_t i)
{
	const struct hsnap_pages_run *runs = pages->runs.items;
	if (i == pages->runs.num)
		return i ? runs[i - 1].before + (runs[i - 1].end - runs[i - 1].start) : 0;
	return runs[i].before + (address > runs[i].start ? address - runs[i].start : 0);
}

uint64_t hsnap_pages_in(const struct hsnap_pages *pages, uint64_t start, uint64_t end, size_t *hint)
{
	if (start >= end || !pages->runs.num)
		return 0;
	size_t first = find_near(pages, start, hint ? *hint : 0);
	size_t last = find_near(pages, end, first);
	if (hint)
		*hint = first;
	return below(pages, end, last) - below(pages, start, first);
}
