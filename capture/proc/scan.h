/* SPDX-License-Identifier: MIT */
/*
 * scan.h - PAGEMAP_SCAN of Linux 6.7, and entries of the page map before.
 *
 * Source: linux/fs.h, Documentation/admin-guide/mm/pagemap.rst; Debian 12 has older headers.
 */
#ifndef HSNAP_CAPTURE_PROC_SCAN_H
#define HSNAP_CAPTURE_PROC_SCAN_H

#include <stdint.h>
#include <sys/ioctl.h>

struct hsnap_page_region {
	uint64_t start, end, categories;
};

struct hsnap_scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, category_inverted, category_mask,
		category_anyof_mask, return_mask;
};
#define HSNAP_SCAN_IOCTL _IOWR('f', 16, struct hsnap_scan_arg)

/* Categories. */
enum {
	HSNAP_PAGE_WATCHED = 1 << 0, /* written pages of its mapping are told by a userfaultfd */
	HSNAP_PAGE_WRITTEN = 1 << 1, /* not write-protected by one; of any mapping */
	HSNAP_PAGE_FILE = 1 << 2,
	HSNAP_PAGE_PRESENT = 1 << 3,
	HSNAP_PAGE_SWAPPED = 1 << 4,
	HSNAP_PAGE_ZERO = 1 << 5,
};

/* Flags. */
enum { HSNAP_SCAN_PROTECT = 1 << 0 /* what matches is write-protected, where it is watched */ };

/* Bits of an entry of the page map. */
#define HSNAP_ENTRY_SOFT_DIRTY ((uint64_t)1 << 55)
#define HSNAP_ENTRY_EXCLUSIVE ((uint64_t)1 << 56) /* mapped here alone; never of the zero page */
#define HSNAP_ENTRY_FILE ((uint64_t)1 << 61)
#define HSNAP_ENTRY_PRESENT ((uint64_t)1 << 63)
#define HSNAP_ENTRY_SWAPPED ((uint64_t)1 << 62)
#define HSNAP_ENTRY_THERE (HSNAP_ENTRY_PRESENT | HSNAP_ENTRY_SWAPPED)

#endif
