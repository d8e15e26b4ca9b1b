/* SPDX-License-Identifier: MIT */
/* test_glibc_heap.c - the walk from outside against what a program knows of its own heap. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <string.h>

#include "capture/alloc/alloc.h"
#include "tests/capture/agent/frozen.h"

/* Blocks that are not the program's own: of the loader and of libc, one more for each thread. */
static const struct {
	const char *name;
	unsigned others;
	unsigned arenas; /* at least */
} rows[] = {
	{ "sizes", 3, 1 },
	{ "churn", 3, 1 },
	{ "realloc_moves", 3, 1 },
	{ "realloc_in_place", 3, 1 },
	{ "realloc_mapped", 3, 1 },
	{ "memaligned", 3, 1 },
	{ "usable_to_the_last_byte", 3, 1 },
	{ "cached", 3, 1 },
	{ "threads", 19, 3 },
	{ "brk_blocked", 3, 1 },
	{ "foreign_brk", 3, 1 },
	{ "forked", 3, 1 },
	{ "forked_child", 24, 3 },
	{ "thread_destructors", 40, 1 },
	{ "small_stacks", 6, 1 },
	{ "fibres", 6, 1 },
	{ "second_libc", 40, 2 },
	{ "sparse", 3, 1 },
};

ParameterizedTestParameters(glibc_heap, walk)
{
	static size_t indices[sizeof(rows) / sizeof(*rows)];
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, sizeof(rows) / sizeof(*rows));
}

static uint64_t check_blocks(const struct hsnap_heap *heap, const char *name)
{
	uint64_t bytes = 0;
	size_t region = 0;
	for (size_t i = 0; i < heap->blocks.num; i++) {
		const struct hsnap_block *b = &heap->blocks.items[i];
		cr_assert(!i || b[-1].address + b[-1].usable <= b->address, "%s: block %zu overlaps", name, i);
		cr_assert(b->requested == b->usable && !b->stack && !b->epoch, "%s: block %zu", name, i);
		while (region < heap->regions.num && heap->regions.items[region].end <= b->address)
			region++;
		cr_assert(region < heap->regions.num && heap->regions.items[region].start < b->address &&
				  b->address + b->usable <= heap->regions.items[region].end + 8,
			  "%s: block %zu lies in no region", name, i);
		bytes += b->usable + 8;
	}
	return bytes;
}

static uint64_t check_free(const struct hsnap_heap *heap, const char *name)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < heap->free.num; i++) {
		const struct hsnap_free *f = &heap->free.items[i];
		cr_assert(f->start < f->end && f->kind < HSNAP_NUM_FREE_KINDS && f->arena < heap->arenas.num && f->arena);
		cr_assert(!i || f[-1].end <= f->start, "%s: free chunk %zu overlaps", name, i);
		cr_assert_eq(hsnap_heap_find(heap, f->start + 16), SIZE_MAX, "%s: free chunk %zu is a block", name, i);
		bytes += f->end - f->start;
	}
	return bytes;
}

/* Blocks, their heads, and what is free are all of what was walked. */
static void check_sums(const struct hsnap_heap *heap, const char *name)
{
	uint64_t blocks = check_blocks(heap, name), free = check_free(heap, name), arenas = 0;
	for (size_t i = 1; i < heap->arenas.num; i++)
		arenas += heap->arenas.items[i].walked;
	for (size_t i = 0; i < heap->blocks.num; i++) /* mappings: another head, and the rest of a page before it */
		if (heap->blocks.items[i].address % 4096 == 16 && heap->blocks.items[i].usable % 4096 == 4080)
			blocks -= heap->blocks.items[i].usable + 8;
	if (strcmp(name, "memaligned")) /* has one that begins elsewhere */
		cr_expect_eq(blocks + free, arenas, "%s: %" PRIu64 " of blocks, %" PRIu64 " free, %" PRIu64 " in all", name, blocks,
			     free, arenas);
	cr_expect_eq(heap->walked_bytes, heap->expected_bytes, "%s: %" PRIu64 " of %" PRIu64, name, heap->walked_bytes,
		     heap->expected_bytes);
	cr_expect_str_empty(heap->partial, "%s: %s", name, heap->partial);
}

ParameterizedTest(size_t *row, glibc_heap, walk)
{
	const char *name = rows[*row].name;
	const char *argv[] = { getenv("HSNAP_TEST_VICTIM"), name, NULL };
	struct victim victim = victim_start(NULL, argv, NULL);
	char path[64], what[8];
	int pid;
	size_t lines, live = 0, missing = 0, called_live = 0, too_small = 0;
	cr_assert_eq(fscanf(victim.said, "%63s %zu", path, &lines), 2);
	cr_assert_eq(sscanf(path, "/proc/%d/", &pid), 1);
	struct hsnap_target *target = victim_freeze(pid);
	struct hsnap_heap heap;
	struct hsnap_error err;
	cr_assert_eq(hsnap_glibc_heap_read(target, &heap, &err), HSNAP_OK, "%s: %s", name, err.message);
	cr_expect_str_eq(heap.source, "glibc");
	cr_expect(!heap.requested_known && heap.arenas.num > rows[*row].arenas, "%s: %zu arenas", name, heap.arenas.num);
	check_sums(&heap, name);

	uint64_t address, size, first = 0;
	FILE *truth = fopen(path, "r");
	cr_assert(truth);
	rewind(truth);
	for (size_t i = 0; i < lines; i++) {
		cr_assert_eq(fscanf(truth, "%7s %" SCNx64 " %" SCNu64, what, &address, &size), 3);
		size_t found = hsnap_heap_find(&heap, address);
		const struct hsnap_block *b = found != SIZE_MAX && heap.blocks.items[found].address == address ?
						      &heap.blocks.items[found] : NULL;
		size_t *wrong = *what == 'd' ? &called_live : !b ? &missing : b->usable < size ? &too_small : NULL;
		if (*what == 'd' && (!b || b->flags & HSNAP_BLOCK_ALLOCATOR)) /* handed out again, to libc */
			wrong = NULL;
		if (wrong && !(*wrong)++)
			first = address;
		live += *what != 'd';
	}
	fclose(truth);
	cr_expect(!missing && !called_live && !too_small,
		  "%s: %zu of %zu live blocks are missing, %zu too small, %zu freed ones called live, such as %" PRIx64, name,
		  missing, live, too_small, called_live, first);
	cr_expect(live, "%s: nothing was compared", name);
	cr_expect(heap.blocks.num - live <= rows[*row].others, "%s: %zu blocks more than the program's", name,
		  heap.blocks.num - live);
	hsnap_heap_deinit(&heap);
	hsnap_target_close(target);
	victim_end(&victim);
}
