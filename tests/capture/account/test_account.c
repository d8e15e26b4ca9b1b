/* SPDX-License-Identifier: MIT */
/* test_account.c - a made-up process whose every page is known, swapped ones and lies included. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/account/account.h"
#include "tests/capture/support/tree.h"

enum { PAGE = 4096, R = HSNAP_PROT_READ, W = HSNAP_PROT_WRITE, X = HSNAP_PROT_EXEC, S = HSNAP_PROT_SHARED };

#define HEAP 0x100000u
#define STACK 0x200000u
#define POOL 0x300000u
#define SHARED 0x400000u

/* Heap of 16 pages, stack of 4, a mapping of its own of 8, shared memory of 2, all resident. */
struct world {
	struct hsnap_target *target;
	struct hsnap_kernel kernel;
	struct hsnap_heap heap;
	struct hsnap_account_look look;
	struct hsnap_snapshot *snapshot;
	char status[256];
};

static void add_mapping(struct world *w, uint64_t start, size_t pages, unsigned prot, const char *path, uint64_t inode)
{
	cr_assert(hsnap_image_add(w->target, start, NULL, pages * PAGE, prot, path));
	for (size_t i = 0; i < w->target->mappings.num; i++)
		if (w->target->mappings.items[i].start == start)
			w->target->mappings.items[i].inode = inode;
}

static void create(struct world *w, uint64_t rss_pages, uint64_t swap_pages)
{
	*w = (struct world){ .target = hsnap_image_create(), .snapshot = hsnap_snapshot_create() };
	cr_assert(w->target && w->snapshot);
	add_mapping(w, HEAP, 16, R | W, "[heap]", 0);
	add_mapping(w, STACK, 4, R | W, "", 0);
	add_mapping(w, POOL, 8, R | W, "", 0);
	add_mapping(w, SHARED, 2, R | W | S, "/dev/shm/ring", 9);
	struct hsnap_thread thread = { .tid = 7, .name = "worker" };
	thread.regs.value[HSNAP_REG_SP] = STACK + 100;
	cr_assert(hsnap_vec_push(&w->target->threads, thread));
	w->kernel.memory = calloc(1, sizeof(*w->kernel.memory));
	cr_assert(w->kernel.memory);
	w->kernel.memory->status = w->kernel.memory->pagemap = -1;
	w->kernel.memory->text = strdup("");
	snprintf(w->status, sizeof(w->status), "Name:\tVmRSS: 3 kB\nVmRSS:\t%8lu kB\nRssAnon:\t 4 kB\nVmSwap:\t%lu kB\n",
		 rss_pages * 4, swap_pages * 4);
	free(w->kernel.memory->text);
	w->kernel.memory->text = strdup(w->status);
	w->snapshot->facts.basis = HSNAP_BASIS_REQUESTED;
}

static void destroy(struct world *w)
{
	hsnap_account_look_deinit(&w->look);
	hsnap_heap_deinit(&w->heap);
	hsnap_kernel_deinit(&w->kernel);
	hsnap_target_close(w->target);
	hsnap_snapshot_destroy(w->snapshot);
}

static void add_block(struct world *w, uint64_t address, uint64_t usable, uint64_t requested)
{
	struct hsnap_block block = { .address = address, .usable = usable, .requested = requested };
	cr_assert(hsnap_vec_push(&w->heap.blocks, block));
	w->snapshot->facts.heap_bytes += requested;
	w->snapshot->facts.heap_usable += usable;
	w->snapshot->facts.heap_count++;
}

static void add_free(struct world *w, uint64_t start, uint64_t end, uint32_t arena, enum hsnap_free_kind kind)
{
	cr_assert(hsnap_vec_push(&w->heap.free, (struct hsnap_free){ start, end, arena, (uint8_t)kind }));
}

static void add_region(struct world *w, uint64_t start, uint64_t end)
{
	cr_assert(hsnap_vec_push(&w->heap.regions, (struct hsnap_region){ start, end }));
}

static struct hsnap_account_sums fill(struct world *w)
{
	struct hsnap_account_sums sums;
	struct hsnap_error err;
	cr_assert_eq(hsnap_account_look(NULL, w->target, &w->kernel, &w->look, &err), HSNAP_OK, "%s", err.message);
	cr_assert_eq(hsnap_account_fill(w->target, &w->heap, &w->kernel, &w->look, w->snapshot, &err), HSNAP_OK);
	cr_assert(hsnap_account_sum(w->snapshot, HSNAP_BASIS_REQUESTED, &sums));
	return sums;
}

/* Two blocks, two free chunks, a top; the rest of the heap's mapping is nobody's. */
static void make_heap(struct world *w)
{
	add_region(w, HEAP, HEAP + 12 * PAGE);
	add_block(w, HEAP + 16, 5000, 4990);
	add_block(w, HEAP + 3 * PAGE + 16, PAGE, PAGE);
	add_free(w, HEAP + 5032, HEAP + 3 * PAGE, 1, HSNAP_FREE_BIN);
	add_free(w, HEAP + 4 * PAGE + 16, HEAP + 5 * PAGE, 1, HSNAP_FREE_CACHED);
	add_free(w, HEAP + 5 * PAGE, HEAP + 12 * PAGE, 1, HSNAP_FREE_TOP);
	cr_assert(hsnap_vec_push(&w->heap.arenas, (struct hsnap_arena){ 0 }));
	cr_assert(hsnap_vec_push(&w->heap.arenas, (struct hsnap_arena){ .address = 0x5000, .system = 12 * PAGE, .walked = 12 * PAGE, .main = true }));
	cr_assert(hsnap_vec_push(&w->heap.arenas, (struct hsnap_arena){ .address = 0x6000, .system = UINT64_MAX }));
}

/* The writer refuses what readers would not believe. */
static void expect_writable(const struct hsnap_snapshot *snapshot)
{
	struct hsnap_error err = { 0 };
	char path[] = "/tmp/hsnap-account-XXXXXX";
	close(mkstemp(path));
	cr_expect_eq(hsnap_snapshot_write(snapshot, path, true, NULL, &err), HSNAP_OK, "%s", err.message);
	unlink(path);
}

Test(account, every_byte_has_its_line)
{
	struct world w;
	create(&w, 30, 0);
	make_heap(&w);
	struct hsnap_account_sums sums = fill(&w);
	cr_expect_eq(sums.rss, 30 * PAGE);
	cr_expect_eq(sums.live, 4990 + PAGE);
	cr_expect_eq(sums.live_absent, 0);
	cr_expect_eq(sums.free, 3 * PAGE - 5032 + PAGE - 16 + 7 * PAGE);
	cr_expect_eq(sums.overhead, 12 * PAGE - sums.live - sums.free);
	cr_expect_eq(sums.parts[HSNAP_PART_STACK], 4 * PAGE);
	cr_expect_eq(sums.parts[HSNAP_PART_SHARED], 2 * PAGE);
	cr_expect_eq(sums.parts[HSNAP_PART_ANONYMOUS], (8 + 4) * PAGE, "the pool, and what the heap's mapping has beyond");
	cr_expect_eq(sums.unexplained, 0);
	const struct hsnap_account *account = &w.snapshot->account;
	cr_expect_eq(account->biggest_free, 7 * PAGE);
	cr_expect_eq(account->free_count, 3);
	cr_assert_eq(w.snapshot->account_arenas.num, 1, "one that has nothing, or only says so, is none");
	cr_expect_eq(w.snapshot->account_arenas.items[0].cached, PAGE - 16);
	cr_expect_eq(w.snapshot->account_arenas.items[0].top, 7 * PAGE);
	cr_expect_eq(w.snapshot->facts.rss, 30 * PAGE);
	cr_expect_str_eq(hsnap_text(w.snapshot, w.snapshot->account_parts.items[0].name), "worker");
	destroy(&w);
}

Test(account, what_does_not_fit_is_unexplained)
{
	struct world w;
	create(&w, 33, 0);
	make_heap(&w);
	cr_expect_eq(fill(&w).unexplained, 3 * PAGE);
	destroy(&w);
	create(&w, 28, 0);
	make_heap(&w);
	cr_expect_eq(fill(&w).unexplained, -2 * PAGE);
	destroy(&w);
}

Test(account, swapped_pages_are_not_resident)
{
	struct world w;
	struct hsnap_page_range swapped[] = { { HEAP + 3 * PAGE, HEAP + 4 * PAGE }, { HEAP + 6 * PAGE, HEAP + 8 * PAGE },
					      { POOL, POOL + PAGE } };
	create(&w, 26, 4);
	make_heap(&w);
	w.kernel.memory->swapped = malloc(sizeof(swapped));
	memcpy(w.kernel.memory->swapped, swapped, sizeof(swapped));
	w.kernel.memory->num_swapped = 3;
	struct hsnap_account_sums sums = fill(&w);
	cr_expect_eq(sums.live_absent, PAGE - 16, "all of the second block but its last bytes");
	cr_expect_eq(w.snapshot->account.live_swapped, PAGE - 16);
	cr_expect_eq(w.snapshot->account.swap, 4 * PAGE);
	cr_expect_eq(w.snapshot->account.free - w.snapshot->account.free_resident, 2 * PAGE);
	cr_expect_eq(sums.parts[HSNAP_PART_ANONYMOUS], 11 * PAGE);
	cr_expect_eq(sums.unexplained, 0);
	destroy(&w);
}

/* A recorded /proc of a kernel without PAGEMAP_SCAN, its pages in a file. */
Test(account, a_recorded_tree_with_swap)
{
	struct hsnap_proc proc;
	struct world w;
	create(&w, 0, 0);
	make_heap(&w);
	hsnap_kernel_deinit(&w.kernel);
	tree_create(&proc);
	tree_write(&proc, "proc/812/status", "Name:\tx\nState:\tS\nVmRSS:\t 112 kB\nVmSwap:\t 8 kB\n");
	tree_write(&proc, "proc/812/maps", "100000-110000 rw-p 00000000 00:00 0 [heap]\n300000-308000 rw-p 00000000 00:00 0 \n");
	tree_write(&proc, "proc/812/pagemap", "");
	int fd = hsnap_proc_open(&proc, O_WRONLY, "proc/812/pagemap");
	for (uint64_t page = HEAP / PAGE; page < 0x310; page++) {
		bool gone = page == HEAP / PAGE || page == POOL / PAGE;
		uint64_t entry = (uint64_t)1 << (gone ? 62 : 63);
		cr_assert_eq(pwrite(fd, &entry, 8, (off_t)(page * 8)), 8);
	}
	close(fd);
	cr_assert(hsnap_kernel_prepare(&w.kernel, &proc, 812));
	hsnap_kernel_read(&w.kernel);
	struct hsnap_account_sums sums = fill(&w);
	cr_expect_eq(sums.rss, 28 * PAGE);
	cr_expect_eq(sums.live_absent, PAGE - 16);
	cr_expect_eq(w.snapshot->account.live_swapped, PAGE - 16);
	cr_expect_eq(sums.unexplained, 0);
	tree_destroy(&proc);
	destroy(&w);
}

/* A core does not tell: what it holds is what there was. */
Test(account, without_a_kernel_the_resident_size_is_not_known)
{
	struct world w;
	create(&w, 30, 0);
	make_heap(&w);
	hsnap_kernel_deinit(&w.kernel);
	struct hsnap_account_sums sums = fill(&w);
	cr_expect(!sums.rss_known && !sums.rss && !sums.unexplained);
	cr_expect_eq(sums.live + sums.overhead + sums.free, 12 * PAGE);
	cr_expect_eq(w.snapshot->account.rss, HSNAP_NOT_KNOWN);
	cr_expect_eq(w.snapshot->account.swap, HSNAP_NOT_KNOWN);
	destroy(&w);
}

/* The agent's directory, arenas and heads are the target's: they may say anything. */
Test(account, lies_change_lines_and_never_the_sum)
{
	struct world w;
	create(&w, 30, 0);
	make_heap(&w);
	w.heap.arenas.items[1].system = UINT64_MAX;
	add_region(&w, STACK, STACK + 2 * PAGE);       /* a stack that is a block of the heap's */
	add_region(&w, POOL - PAGE, POOL + 100 * PAGE); /* beyond what is mapped */
	cr_assert(hsnap_vec_push(&w.heap.own, (struct hsnap_region){ 0, UINT64_MAX }));
	add_block(&w, POOL + 7 * PAGE, 1u << 30, 1u << 30);
	add_free(&w, POOL + 200 * PAGE, POOL + 300 * PAGE, 77, HSNAP_FREE_OTHER);
	struct hsnap_account_sums sums = fill(&w);
	cr_expect_eq(sums.unexplained, 0);
	cr_expect_eq(sums.parts[HSNAP_PART_AGENT], 22 * PAGE);
	cr_expect_eq(sums.overhead + (sums.live - sums.live_absent) + sums.free, 0, "all of the heap is called the agent's");
	cr_expect_eq(w.snapshot->account_arenas.items[0].system, 0);
	expect_writable(w.snapshot);
	destroy(&w);
}

Test(account, a_core_with_impossible_mappings_can_be_written)
{
	struct world w;
	create(&w, 30, 0);
	hsnap_kernel_deinit(&w.kernel);
	for (size_t i = 0; i < w.target->mappings.num; i++)
		w.target->mappings.items[i].end = w.target->mappings.items[i].start + ((uint64_t)1 << 62);
	struct hsnap_account_sums sums = fill(&w);
	cr_expect(!sums.rss_known);
	for (size_t i = 0; i < w.snapshot->account_parts.num; i++)
		cr_expect_leq(w.snapshot->account_parts.items[i].size, HSNAP_ACCOUNT_MAX);
	expect_writable(w.snapshot);
	destroy(&w);
}

Test(account, huge_pages_stand_beside)
{
	struct world w;
	create(&w, 30, 0);
	make_heap(&w);
	add_mapping(&w, 0x600000, 512, R | W | S, "/anon_hugepage", 4);
	add_mapping(&w, 0x900000, 512, R | W, "/anon_hugepage", 5);
	add_mapping(&w, 0xc00000, 512, R | W | S, "/dev/hugepages/pool", 6);
	cr_expect_eq(fill(&w).unexplained, 0);
	destroy(&w);
}

/* Its page map is not to be read: what it wrote of files is in the copy, the rest is what status says. */
Test(account, pages_of_files_in_one_sum)
{
	struct world w;
	create(&w, 30 + 5 + 7, 0);
	make_heap(&w);
	add_mapping(&w, 0x600000, 5, R | W, "/usr/lib/libx.so", 4);
	add_mapping(&w, 0x700000, 100, 0, "", 0); /* reserved: no page of it is in the copy but by the image's making */
	w.target->mappings.items[w.target->mappings.num - 1].prot = 0;
	free(w.kernel.memory->text);
	w.kernel.memory->text = strdup("VmRSS:\t 168 kB\nRssFile:\t 28 kB\n");
	struct hsnap_account_sums sums = fill(&w);
	cr_expect_not(w.look.files_known);
	cr_expect_eq(sums.parts[HSNAP_PART_FILE], (5 + 7) * PAGE);
	destroy(&w);
}

/* The process ran on before its page map was read: what was reserved and is in use by now, or another
 * file by now, had no page at the stop. */
Test(account, what_came_after_the_stop_is_not_counted)
{
	struct hsnap_proc proc;
	struct world w;
	create(&w, 0, 0);
	make_heap(&w);
	hsnap_kernel_deinit(&w.kernel);
	add_mapping(&w, 0x500000, 16, 0, "", 0);                /* reserved for an arena */
	add_mapping(&w, 0x600000, 4, R | X, "/usr/lib/a.so", 4); /* stays */
	add_mapping(&w, 0x700000, 4, R, "/srv/b", 5);            /* replaced */
	w.target->pid = 812;
	tree_create(&proc);
	tree_write(&proc, "proc/812/status", "Name:\tx\nState:\tS\nVmRSS:\t 132 kB\n");
	tree_write(&proc, "proc/812/maps", "500000-508000 rw-p 00000000 00:00 0 \n508000-510000 ---p 00000000 00:00 0 \n"
		   "600000-604000 r-xp 00000000 00:00 4 /usr/lib/a.so\n700000-704000 r--p 00000000 00:00 6 /srv/c\n");
	tree_write(&proc, "proc/812/pagemap", "");
	int fd = hsnap_proc_open(&proc, O_WRONLY, "proc/812/pagemap");
	const uint64_t there = (uint64_t)1 << 63, none = 0;
	const uint64_t pages[] = { 0x500, 0x501, 0x507, 0x600, 0x601, 0x603, 0x700, 0x701 };
	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++)
		cr_assert_eq(pwrite(fd, &there, 8, (off_t)(pages[i] * 8)), 8);
	cr_assert_eq(pwrite(fd, &none, 8, 0x703 * 8), 8);
	close(fd);
	cr_assert(hsnap_kernel_prepare(&w.kernel, &proc, 812));
	hsnap_kernel_read(&w.kernel);
	struct hsnap_account_sums sums;
	cr_assert_eq(hsnap_account_look(&proc, w.target, &w.kernel, &w.look, NULL), HSNAP_OK);
	cr_assert_eq(hsnap_account_fill(w.target, &w.heap, &w.kernel, &w.look, w.snapshot, NULL), HSNAP_OK);
	cr_assert(hsnap_account_sum(w.snapshot, HSNAP_BASIS_REQUESTED, &sums));
	cr_expect(w.look.files_known);
	cr_expect_eq(sums.parts[HSNAP_PART_FILE], 3 * PAGE);
	cr_expect_eq(sums.parts[HSNAP_PART_ANONYMOUS], 12 * PAGE);
	cr_expect_eq(sums.unexplained, 0);
	tree_destroy(&proc);
	destroy(&w);
}

/* Hundreds of mapped files are sixty-three and the rest. */
Test(account, many_files_are_summed_up)
{
	struct world w;
	char path[32];
	create(&w, 230, 0);
	for (unsigned i = 0; i < 200; i++) {
		snprintf(path, sizeof(path), "/srv/%u", i);
		add_mapping(&w, 0x1000000 + (uint64_t)i * 0x10000, 1, R | W | S, path, 100 + i);
	}
	struct hsnap_account_sums sums = fill(&w);
	cr_expect_eq(sums.parts[HSNAP_PART_SHARED], 202 * PAGE);
	cr_expect_eq(sums.unexplained, 0);
	size_t shared = 0;
	uint64_t mappings = 0;
	for (size_t i = 0; i < w.snapshot->account_parts.num; i++) {
		const struct hsnap_account_part *part = &w.snapshot->account_parts.items[i];
		shared += part->kind == HSNAP_PART_SHARED;
		mappings += part->kind == HSNAP_PART_SHARED ? part->count : 0;
		if (shared == 64 && part->kind == HSNAP_PART_SHARED)
			cr_expect_str_eq(hsnap_text(w.snapshot, part->name), "");
	}
	cr_expect_eq(shared, 64);
	cr_expect_eq(mappings, 201);
	destroy(&w);
}
