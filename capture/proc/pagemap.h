/* SPDX-License-Identifier: MIT */
/*
 * pagemap.h - which pages of a process are there, by /proc/PID/pagemap.
 *
 * By PAGEMAP_SCAN (Linux 6.7), which passes over what is absent in big steps, or an entry a page.
 */
#ifndef HSNAP_CAPTURE_PROC_PAGEMAP_H
#define HSNAP_CAPTURE_PROC_PAGEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/base/vec.h"

struct hsnap_page_range {
	uint64_t start, end;
};
struct hsnap_page_ranges hsnap_vec_body(struct hsnap_page_range); /* in order of address, disjoint */

enum hsnap_pages_found { HSNAP_PAGES_LISTED, HSNAP_PAGES_UNKNOWN, HSNAP_PAGES_NO_MEMORY };

/**
 * Append the pages of [start, end) that are in memory and count for the process's resident size:
 * not the page of zeros, unless the kernel is too old to tell it.
 * @param pagemap  descriptor of the process's page map
 * @return HSNAP_PAGES_UNKNOWN: not permitted, the process is gone, or too much to look at without
 *         PAGEMAP_SCAN; what was found until then is in the list
 */
enum hsnap_pages_found hsnap_pagemap_present(int pagemap, uint64_t start, uint64_t end,
					     struct hsnap_page_ranges *to);

/* Bit n: page n of [start, end), of the first 64, is in memory; none where that is not told.  Allocates
 * nothing. */
uint64_t hsnap_pagemap_bits(int pagemap, uint64_t start, uint64_t end);

/* Does PAGEMAP_SCAN work on it? */
bool hsnap_pagemap_scans(int pagemap);

/* Append the pages of [start, end) that are swapped out to the *num ranges, of which there may be `max`;
 * allocates nothing.  false: there are more, or the kernel does not tell. */
bool hsnap_pagemap_swapped(int pagemap, uint64_t start, uint64_t end, struct hsnap_page_range *to, size_t max,
			   size_t *num);

#endif
