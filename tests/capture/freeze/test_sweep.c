/* SPDX-License-Identifier: MIT */
/* test_sweep.c - what several find in page tables by the short way is what the long one finds. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/freeze/sweep.h"

#define PAGE ((size_t)4096)
#define TABLE ((size_t)2 << 20)
#define SIZE ((size_t)512 << 20)
#define WP_ASYNC ((uint64_t)1 << 15)

TestSuite(sweep, .timeout = 60);

/* Protect what is there, as a round of precopy does; false: not to be had here. */
static bool protect(uint8_t *memory)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | 1), pagemap = open("/proc/self/pagemap", O_RDONLY);
	struct uffdio_api api = { .api = UFFD_API, .features = WP_ASYNC };
	struct uffdio_register area = {
		.range = { (uint64_t)(uintptr_t)memory, SIZE }, .mode = UFFDIO_REGISTER_MODE_WP,
	};
	struct hsnap_page_region region;
	struct hsnap_scan_arg arg = {
		.size = sizeof(arg), .flags = HSNAP_SCAN_PROTECT, .start = area.range.start, .end = area.range.start + SIZE,
		.category_inverted = HSNAP_PAGE_ZERO, .category_mask = HSNAP_PAGE_ZERO | HSNAP_PAGE_WRITTEN,
		.category_anyof_mask = HSNAP_PAGE_PRESENT | HSNAP_PAGE_SWAPPED, .return_mask = HSNAP_PAGE_WRITTEN,
		.vec = (uint64_t)(uintptr_t)&region, .vec_len = 1,
	};
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &area))
		return false;
	while (arg.start < arg.end && ioctl(pagemap, HSNAP_SCAN_IOCTL, &arg) >= 0)
		arg.start = arg.walk_end;
	return arg.start >= arg.end;
}

/* In eighths of the memory, everything that can have become of pages. */
static void change(uint8_t *memory)
{
	const size_t eighth = SIZE / 8;
	for (size_t i = 0; i < 200; i++) /* some written to */
		memory[(size_t)rand() * PAGE % eighth] = 2;
	uint8_t *at = memory + eighth; /* many, and in long runs */
	for (size_t i = 0; i < eighth / PAGE; i++)
		if (i % 600 < 300 ? i % 3 == 0 : i % 600 < 350)
			at[i * PAGE] = 3;
	at += eighth; /* given back: a page, a table, more */
	madvise(at + 5 * PAGE, PAGE, MADV_DONTNEED);
	madvise(at + 2 * TABLE, TABLE, MADV_DONTNEED);
	madvise(at + 5 * TABLE + PAGE, 3 * TABLE, MADV_DONTNEED);
	at[6 * TABLE + 9 * PAGE] = 4; /* and written to again */
	(void)*(volatile uint8_t *)(at + 7 * TABLE + 3 * PAGE); /* the zero page */
	at += eighth; /* with their tables: nothing tells of them but that they are gone */
	mmap(at + TABLE, 4 * TABLE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	at[2 * TABLE + 17 * PAGE] = 5;
	munmap(at + 7 * TABLE, 2 * TABLE);
	at += eighth; /* moved here, with what was known of them */
	mremap(memory + 4 * eighth + 9 * TABLE, 2 * TABLE, 2 * TABLE, MREMAP_MAYMOVE | MREMAP_FIXED, at + TABLE);
	at += eighth; /* guarded, and read-only; where that is not known nothing happens */
	madvise(at + 3 * PAGE, PAGE, 102 /* MADV_GUARD_INSTALL, Linux 6.13 */);
	mprotect(at + TABLE, TABLE, PROT_READ);
	madvise(at + 2 * TABLE, TABLE, MADV_PAGEOUT); /* where there is swap */
	at += eighth; /* shared with a child */
	at[7 * PAGE] = 6;
}

/* A process that was protected, changed and is stopped; -1: it cannot be. */
static pid_t start_target(uint8_t **ret)
{
	uint8_t *memory = mmap(NULL, SIZE + TABLE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert(memory != MAP_FAILED);
	memory = (uint8_t *)(((uintptr_t)memory + TABLE - 1) & ~(TABLE - 1));
	*ret = memory;
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* The last eighth in huge pages where they can be had, and hardly touched where not. */
		madvise(memory, SIZE / 8 * 7, MADV_NOHUGEPAGE);
		madvise(memory + SIZE / 8 * 7, SIZE / 8, MADV_HUGEPAGE);
		memset(memory, 1, SIZE / 8 * 7);
		for (size_t i = SIZE / 8 * 7; i < SIZE; i += 2 * TABLE)
			memory[i + 3 * PAGE] = 1;
		if (!protect(memory))
			_exit(77);
		change(memory);
		memory[SIZE / 8 * 7 + 4 * TABLE] = 2;
		raise(SIGSTOP);
		_exit(0);
	}
	int status;
	cr_assert(pid > 0 && waitpid(pid, &status, WUNTRACED) == pid);
	return WIFSTOPPED(status) ? pid : -1;
}

enum { CLEAN, ABSENT, READ };

static void mark(uint8_t *pages, uint64_t base, const struct hsnap_page_region *regions, int num)
{
	for (int i = 0; i < num; i++)
		memset(pages + (regions[i].start - base) / PAGE,
		       regions[i].categories & (HSNAP_PAGE_PRESENT | HSNAP_PAGE_SWAPPED) &&
				       !(regions[i].categories & HSNAP_PAGE_ZERO)
			       ? READ
			       : ABSENT,
		       (regions[i].end - regions[i].start) / PAGE);
}

/* The long way, from `at` to `end` at the most; returns how far it came. */
static uint64_t look(int pagemap, uint8_t *pages, uint64_t base, uint64_t at, uint64_t end)
{
	struct hsnap_page_region regions[512];
	struct hsnap_scan_arg arg = hsnap_sweep_changes;
	arg.size = sizeof(arg);
	arg.start = at;
	arg.end = end;
	arg.vec = (uint64_t)(uintptr_t)regions;
	arg.vec_len = 512;
	int n = ioctl(pagemap, HSNAP_SCAN_IOCTL, &arg);
	cr_assert(n >= 0 && arg.walk_end > at);
	mark(pages, base, regions, n);
	return arg.walk_end;
}

Test(sweep, finds_what_one_finds_alone)
{
	static uint8_t alone[SIZE / PAGE], several[SIZE / PAGE];
	uint8_t *memory;
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) < 2)
		cr_skip_test("there is one processor only");
	pid_t pid = start_target(&memory);
	if (pid < 0)
		cr_skip_test("no userfaultfd that tells of writes: Linux 6.7 and the right to it");
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	int pagemap = open(path, O_RDONLY);
	cr_assert_geq(pagemap, 0);
	uint64_t base = (uint64_t)(uintptr_t)memory, end = base + SIZE;
	for (uint64_t at = base; at < end; at = look(pagemap, alone, base, at, end))
		;
	struct hsnap_sweep *sweep = hsnap_sweep_create(pid, pagemap, hsnap_sweep_chunks(base, end));
	cr_assert_not_null(sweep);
	for (int round = 0; round < 20; round++) {
		uint64_t found = 0;
		memset(several, 0, sizeof(several));
		hsnap_sweep_clear(sweep);
		hsnap_sweep_add(sweep, base, end);
		hsnap_sweep_begin(sweep);
		for (uint64_t at = base, came; at < end; at = came) {
			const struct hsnap_page_region *regions;
			came = end;
			int n = hsnap_sweep_found(sweep, at, &regions, &came);
			if (n < 0) {
				came = look(pagemap, several, base, at, came);
				continue;
			}
			mark(several, base, regions, n);
			found += came - at;
		}
		for (size_t i = 0; i < SIZE / PAGE; i++)
			cr_assert_eq(several[i], alone[i], "page %zu of eighth %zu: %d, not %d", i % (SIZE / 8 / PAGE),
				     i / (SIZE / 8 / PAGE), several[i], alone[i]);
		cr_expect_gt(found, SIZE / 2, "%lu bytes were found by nobody", SIZE - found);
	}
	size_t num[3] = { 0 };
	for (size_t i = 0; i < SIZE / PAGE; i++)
		num[alone[i]]++;
	cr_expect(num[CLEAN] > 10000 && num[ABSENT] > 3000 && num[READ] > 3000, "%zu %zu %zu", num[0], num[1], num[2]);
	hsnap_sweep_destroy(sweep);
	close(pagemap);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
