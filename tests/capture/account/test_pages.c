/* SPDX-License-Identifier: MIT */
/* test_pages.c - sets of pages against a bitmap, and pages out of a recorded page map. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/account/pages.h"
#include "capture/proc/pagemap.h"
#include "tests/capture/support/tree.h"

#define PAGE 4096u
enum { SPACE = 600 };

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static uint64_t count(const bool *in, uint64_t start, uint64_t end)
{
	uint64_t n = 0;
	for (uint64_t i = start; i < end; i++)
		n += in[i];
	return n;
}

Test(pages, sums_are_those_of_a_bitmap)
{
	uint64_t state = 7;
	for (int round = 0; round < 60; round++) {
		struct hsnap_pages pages = { 0 };
		bool in[SPACE] = { false };
		for (uint64_t at = next(&state) % 40; at < SPACE;) {
			uint64_t end = at + next(&state) % 30;
			end = end < SPACE ? end : SPACE;
			cr_assert(hsnap_pages_add(&pages, at, end));
			memset(in + at, true, end - at);
			/* Now and then one that overlaps what is there. */
			at = next(&state) % 5 ? end + next(&state) % 20 : end - (end - at) / 2;
		}
		size_t hint = 0;
		for (uint64_t start = 0, end; start <= SPACE; start = end + next(&state) % 3 + 1) {
			end = start + next(&state) % 50;
			uint64_t to = end < SPACE ? end : SPACE;
			cr_expect_eq(hsnap_pages_in(&pages, start, end, NULL), count(in, start, to));
			cr_expect_eq(hsnap_pages_in(&pages, start, end, &hint), count(in, start, to), "with a hint");
		}
		hint = next(&state); /* any hint will do */
		cr_expect_eq(hsnap_pages_in(&pages, 0, SPACE, &hint), count(in, 0, SPACE));
		cr_expect_eq(hsnap_pages_in(&pages, 5, 5, NULL), 0);
		cr_expect_eq(hsnap_pages_in(&pages, 9, 5, NULL), 0);
		hsnap_pages_deinit(&pages);
	}
}

Test(pages, at_the_end_of_all_addresses)
{
	struct hsnap_pages pages = { 0 };
	cr_expect_eq(hsnap_pages_in(&pages, 0, UINT64_MAX, NULL), 0);
	cr_assert(hsnap_pages_add(&pages, 0x1000, 0x3000) && hsnap_pages_add(&pages, UINT64_MAX - 0xfff, UINT64_MAX));
	cr_expect_eq(hsnap_pages_in(&pages, 0, UINT64_MAX, NULL), 0x2fff);
	cr_expect_eq(hsnap_pages_in(&pages, UINT64_MAX - 1, UINT64_MAX, NULL), 1);
	hsnap_pages_deinit(&pages);
}

/* A kernel without PAGEMAP_SCAN: the ioctl fails, the entries are read. */
Test(pages, entries_of_a_recorded_page_map)
{
	struct hsnap_proc proc;
	const uint64_t present = (uint64_t)1 << 63, swapped = (uint64_t)1 << 62;
	uint64_t entries[10] = { [2] = present | 77, [3] = present, [4] = swapped | 5, [6] = swapped, [7] = swapped, [9] = present };
	tree_create(&proc);
	tree_write(&proc, "proc/7/pagemap", "");
	int fd = hsnap_proc_open(&proc, O_RDWR, "proc/7/pagemap");
	cr_assert_eq(pwrite(fd, entries, sizeof(entries), 0), (ssize_t)sizeof(entries));
	cr_expect_not(hsnap_pagemap_scans(fd));
	struct hsnap_page_ranges got = { 0 };
	cr_expect_eq(hsnap_pagemap_present(fd, 0, 10 * PAGE, &got), HSNAP_PAGES_LISTED);
	cr_assert_eq(got.num, 2);
	cr_expect(got.items[0].start == 2 * PAGE && got.items[0].end == 4 * PAGE);
	cr_expect(got.items[1].start == 9 * PAGE && got.items[1].end == 10 * PAGE);
	cr_expect_eq(hsnap_pagemap_present(fd, 0, 11 * PAGE, &got), HSNAP_PAGES_UNKNOWN, "more than is recorded");
	cr_expect_eq(hsnap_pagemap_present(-1, 0, PAGE, &got), HSNAP_PAGES_UNKNOWN);
	cr_expect_eq(hsnap_pagemap_present(fd, 0, UINT64_MAX & ~0xfffull, &got), HSNAP_PAGES_UNKNOWN, "too much to look at");
	hsnap_vec_deinit(&got);
	struct hsnap_page_range ranges[2];
	size_t num = 0;
	cr_expect(hsnap_pagemap_swapped(fd, 0, 10 * PAGE, ranges, 2, &num));
	cr_assert_eq(num, 2);
	cr_expect(ranges[0].start == 4 * PAGE && ranges[0].end == 5 * PAGE);
	cr_expect(ranges[1].start == 6 * PAGE && ranges[1].end == 8 * PAGE);
	num = 0;
	cr_expect_not(hsnap_pagemap_swapped(fd, 0, 10 * PAGE, ranges, 1, &num), "there was room for one");
	cr_expect_eq(num, 1);
	cr_expect_eq(hsnap_pagemap_bits(fd, 0, 10 * PAGE), 1u << 2 | 1u << 3 | 1u << 9);
	cr_expect_eq(hsnap_pagemap_bits(fd, 2 * PAGE, 4 * PAGE), 3);
	cr_expect_eq(hsnap_pagemap_bits(fd, 0, 0), 0);
	cr_expect_eq(hsnap_pagemap_bits(-1, 0, PAGE), 0);
	close(fd);
	tree_destroy(&proc);
}

/* Our own: by the scan where there is one, else by the entries; a page of zeros is none. */
Test(pages, of_this_process)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	cr_assert(fd >= 0);
	volatile char *at = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert(at != MAP_FAILED);
	cr_assert_eq(madvise((void *)(uintptr_t)at, 8 * PAGE, MADV_NOHUGEPAGE), 0);
	at[PAGE] = at[2 * PAGE] = 1;
	char zero = at[5 * PAGE]; /* read only */
	struct hsnap_page_ranges got = { 0 };
	uint64_t start = (uint64_t)(uintptr_t)at;
	cr_expect_eq(hsnap_pagemap_present(fd, start, start + 8 * PAGE, &got), HSNAP_PAGES_LISTED);
	cr_assert_geq(got.num, 1);
	cr_expect(got.items[0].start == start + PAGE && got.items[0].end == start + 3 * PAGE);
	if (hsnap_pagemap_scans(fd))
		cr_expect_eq(got.num, 1, "the page of zeros was counted (%d)", zero);
	hsnap_vec_deinit(&got);
	munmap((void *)(uintptr_t)at, 8 * PAGE);
	close(fd);
}
