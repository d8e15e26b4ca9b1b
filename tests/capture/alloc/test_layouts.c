/* SPDX-License-Identifier: MIT */
/* test_layouts.c - the walk of glibc's heap on made-up ones: each version's layout, and what a stop leaves torn. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <string.h>

#include "capture/alloc/alloc.h"
#include "ptmalloc.h"

static const struct layout layouts[] = {
	{ "2.26", 104, 0x20, 64, 1, 0, false, false, MARK_NONE },
	{ "2.27, 2.28", 112, 0x20, 64, 1, 0, false, false, MARK_NONE },
	{ "2.29", 112, 0x20, 64, 1, 0, false, false, MARK_OWN },
	{ "2.30, 2.31", 112, 0x20, 64, 2, 0, false, false, MARK_OWN },
	{ "2.32, 2.33", 112, 0x20, 64, 2, 0, true, false, MARK_OWN },
	{ "2.34", 112, 0x20, 64, 2, 0, true, false, MARK_RANDOM },
	{ "2.35 to 2.41", 112, 0x30, 64, 2, 0, true, true, MARK_RANDOM },
	{ "2.42", 112, 0x30, 76, 2, 7, true, true, MARK_RANDOM },
	{ "2.43", 24, 0x30, 76, 2, 16, true, true, MARK_RANDOM },
};
#define USUAL (&layouts[6])
#define HEAP_MAX ((uint64_t)64 << 20)

/* A main arena, another one with two heaps, a second distance between heaps, blocks with mappings. */
static void fill_world(struct ptm *ptm, const struct layout *layout, uint64_t heap_max)
{
	ptm_init(ptm, layout);
	ptm_brk(ptm, PTM_BRK, layout->mark == MARK_NONE ?
		"live 40 cache tcache 24 tcache 24 tcache 104 live 1000 bin 600 live 24 fast 24 live 56 fast 24 fast 40 live 24 top" :
		"live 40 cache tcache 24 tcache 24 tcache 104 live 1000 bin 600 live 24 fast 24 live 56 fast 24 fast 40 live 24 "
		"live 88 marked 40 residue 40 live 24 top");
	ptm_heap(ptm, PTM_HEAPS, 32768, true, "cache tcache 40 tcache 40 live 88 bin 200 live 24 posts");
	ptm_heap(ptm, PTM_HEAPS + heap_max, 65536, false, "live 24 bin 408 live 3000 fast 24 live 24 top");
	uint64_t end = ptm_map(ptm, PTM_MAPPED, 200000, 16);
	end = ptm_map(ptm, end, 5000, 16);
	end = ptm_map(ptm, end, 9000, 64);
	ptm_map(ptm, end, 9000, 8192);
	ptm_map(ptm, PTM_MAPPED + ((uint64_t)1 << 30), 100000, 1 << 16);
}

static const struct hsnap_free *find_free(const struct hsnap_heap *heap, uint64_t start)
{
	for (size_t i = 0; i < heap->free.num; i++)
		if (heap->free.items[i].start == start)
			return &heap->free.items[i];
	return NULL;
}

static void check_one(const struct hsnap_heap *heap, const struct ptm_block *want, const char *name)
{
	size_t found = hsnap_heap_find(heap, want->address);
	const struct hsnap_block *block = found == SIZE_MAX ? NULL : &heap->blocks.items[found];
	const struct hsnap_free *free = find_free(heap, want->address - 16);
	if (want->what == 'l' || want->what == 'a') {
		cr_expect(block && block->address == want->address && block->usable == want->usable,
			  "%s: block 0x%" PRIx64 " of %" PRIu64 " bytes is missing", name, want->address, want->usable);
		cr_expect(!block || !(block->flags & HSNAP_BLOCK_ALLOCATOR) == (want->what == 'l'), "%s: 0x%" PRIx64 ": flags", name,
			  want->address);
		return;
	}
	cr_expect(!block, "%s: free chunk 0x%" PRIx64 " (%c) is called live", name, want->address, want->what);
	cr_expect(free && free->kind == (want->what == 'c' ? HSNAP_FREE_CACHED : HSNAP_FREE_BIN) &&
			  free->end - free->start == want->usable + 8,
		  "%s: free chunk 0x%" PRIx64 " (%c) is not among them", name, want->address, want->what);
}

/* Everything that was said is found, and `more` blocks besides. */
static void check_all(const struct ptm *ptm, const struct hsnap_heap *heap, const char *name, size_t more)
{
	size_t live = 0;
	for (unsigned i = 0; i < ptm->num_blocks; i++) {
		check_one(heap, &ptm->blocks[i], name);
		live += ptm->blocks[i].what == 'l' || ptm->blocks[i].what == 'a';
	}
	cr_expect_eq(heap->blocks.num, live + more, "%s: %zu blocks, want %zu", name, heap->blocks.num, live + more);
	for (size_t i = 0; i < heap->free.num; i++)
		cr_expect(!i || heap->free.items[i - 1].end <= heap->free.items[i].start, "%s: free chunks in order", name);
}

static void read_heap(struct ptm *ptm, struct hsnap_heap *heap, const char *name)
{
	struct hsnap_target *target = ptm_finish(ptm);
	struct hsnap_error err;
	cr_assert_eq(hsnap_glibc_heap_read(target, heap, &err), HSNAP_OK, "%s: %s", name, err.message);
	hsnap_target_close(target);
}

static struct criterion_test_params numbers(size_t num)
{
	static size_t indices[64];
	for (size_t i = 0; i < num; i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, num);
}

ParameterizedTestParameters(glibc_layouts, each_version)
{
	return numbers(sizeof(layouts) / sizeof(*layouts));
}

ParameterizedTest(size_t *row, glibc_layouts, each_version)
{
	const char *name = layouts[*row].name;
	struct ptm ptm;
	struct hsnap_heap heap;
	fill_world(&ptm, &layouts[*row], HEAP_MAX);
	read_heap(&ptm, &heap, name);
	check_all(&ptm, &heap, name, 0);
	cr_expect_str_empty(heap.partial, "%s: %s", name, heap.partial);
	cr_expect_eq(heap.walked_bytes, heap.expected_bytes, "%s", name);
	cr_expect_eq(heap.arenas.num, 3u, "%s: %zu arenas", name, heap.arenas.num);
	cr_expect_eq(heap.arenas.items[0].walked, ptm.mapped_bytes, "%s: mapped", name);
	hsnap_heap_deinit(&heap);
	ptm_deinit(&ptm);
}

/* ---- the same, changed ---- */

static uint64_t chunk_of(const struct ptm *ptm, char what, uint64_t usable)
{
	for (unsigned i = 0; i < ptm->num_blocks; i++)
		if (ptm->blocks[i].what == what && ptm->blocks[i].usable == usable)
			return ptm->blocks[i].address - 16;
	cr_assert_fail("no such block");
	return 0;
}

static void top_moved_first(struct ptm *ptm)
{
	ptm->arenas[0].top += 64; /* the chunk before still has the old top's size */
	ptm_put(ptm, ptm->arenas[0].top + 8, 0);
}

static void top_without_head(struct ptm *ptm)
{
	ptm_put(ptm, ptm->arenas[0].top + 8, 64 | 1);
	ptm->arenas[0].top += 64;
	ptm_put(ptm, ptm->arenas[0].top + 8, 0x5a5a5a5a5a5a5a5a);
}

static void top_of_before_it_grew(struct ptm *ptm)
{
	uint64_t at = ptm->arenas[0].top + 8;
	ptm_put(ptm, at, ptm_get(ptm, at) - 8192);
}

static void brk_given_back(struct ptm *ptm)
{
	ptm->pieces[1].size -= 8192;
}

static void cut_in_two(struct ptm *ptm)
{
	uint64_t chunk = chunk_of(ptm, 'f', 600);
	ptm_put(ptm, chunk + 8, 112 | 1);
	ptm_put(ptm, chunk + 112 + 8, 0x5a5a5a5a5a5a5a5a);
	for (uint64_t at = chunk + 128; at < chunk + 608; at += 32) /* chunks of old: they lead on */
		ptm_put(ptm, at + 8, 32 | 1);
	for (unsigned i = 0; i < ptm->num_blocks; i++)
		if (ptm->blocks[i].address == chunk + 16)
			ptm->blocks[i] = (struct ptm_block){ chunk + 16, 104, 'l' }; /* is being handed out */
}

static void head_destroyed(struct ptm *ptm)
{
	ptm_put(ptm, chunk_of(ptm, 'l', 1000) + 8, 0x4141414141414141);
}

static void list_damaged(struct ptm *ptm)
{
	/* The first of two: the second is known by its mark alone. */
	uint64_t first = ptm_get(ptm, chunk_of(ptm, 'a', 648) + 16 + 128);
	ptm_put(ptm, first, 0x4141414141414141);
}

static void lists_go_round(struct ptm *ptm)
{
	uint64_t first = ptm_get(ptm, ptm->cache + 128 + 8), fast = ptm->arenas[0].fast[0];
	ptm_put(ptm, first, first >> 12 ^ first);
	ptm_put(ptm, fast + 16, (fast + 16) >> 12 ^ fast);
}

static void brk_is_blocked(struct ptm *ptm)
{
	ptm_put(ptm, ptm->arenas[0].base, (uint64_t)2 << 32);
}

/* Two words were left of the top when its arena went on in another heap. */
static void small_rest_of_a_heap(struct ptm *ptm)
{
	uint64_t end = PTM_HEAPS + 32768, at = 0;
	for (unsigned i = 0; i < ptm->num_blocks; i++)
		if (ptm->blocks[i].address + ptm->blocks[i].usable - 8 == end - 32) {
			at = ptm->blocks[i].address - 16;
			ptm->blocks[i].usable -= 16;
		}
	ptm_put(ptm, at + 8, ptm_get(ptm, at + 8) - 16);
	ptm_put(ptm, end - 48 + 8, 32 | 1);
}

static void locked(struct ptm *ptm)
{
	ptm_put(ptm, ptm->arenas[0].base, 1);
}

static void more_mapped_than_is_there(struct ptm *ptm)
{
	ptm->mapped++;
	ptm->mapped_bytes += 8192;
}

static const struct {
	const char *name;
	void (*change)(struct ptm *ptm);
	uint64_t heap_max;
	size_t more; /* blocks that are not known to be the program's */
	const char *partial;
	bool other_blocks; /* some are not found as they were: checked by the case alone */
} rows[] = {
	{ "heaps of 1 MiB", NULL, 1 << 20, 0, "", false },
	{ "heaps of 8 MiB: huge pages", NULL, 8 << 20, 0, "", false },
	{ "heaps of 4 GiB", NULL, (uint64_t)4 << 30, 0, "", false },
	{ "the top was moved before its chunk was cut", top_moved_first, HEAP_MAX, 0, "", false },
	{ "the new top has no head yet", top_without_head, HEAP_MAX, 1, "", false },
	{ "the arena has grown, its top not yet", top_of_before_it_grew, HEAP_MAX, 0, "", false },
	{ "brk was given back, the arena does not know yet", brk_given_back, HEAP_MAX, 0, "", false },
	{ "a chunk was being cut in two", cut_in_two, HEAP_MAX, 0, "", false },
	{ "a head was written over", head_destroyed, HEAP_MAX, 0, "1008 of ", false },
	{ "the list of a cache was written over", list_damaged, HEAP_MAX, 0, "", false },
	{ "lists that lead round and round", lists_go_round, HEAP_MAX, 0, "", true },
	{ "not contiguous, and yet in one piece", brk_is_blocked, HEAP_MAX, 0, "", false },
	{ "a heap that ends in less than a chunk", small_rest_of_a_heap, HEAP_MAX, 0, "", false },
	{ "a locked arena", locked, HEAP_MAX, 0, "", false },
	{ "a mapping that is missing", more_mapped_than_is_there, HEAP_MAX, 0, "8192 of ", false },
};

ParameterizedTestParameters(glibc_layouts, changed)
{
	return numbers(sizeof(rows) / sizeof(*rows));
}

ParameterizedTest(size_t *row, glibc_layouts, changed)
{
	const char *name = rows[*row].name;
	struct ptm ptm;
	struct hsnap_heap heap;
	fill_world(&ptm, USUAL, rows[*row].heap_max);
	if (rows[*row].change)
		rows[*row].change(&ptm);
	read_heap(&ptm, &heap, name);
	if (!rows[*row].other_blocks)
		check_all(&ptm, &heap, name, rows[*row].more);
	cr_expect(!strncmp(heap.partial, rows[*row].partial, strlen(rows[*row].partial)) && !heap.partial[0] == !rows[*row].partial[0],
		  "%s: partial: '%s'", name, heap.partial);
	cr_expect_eq(heap.arenas.items[1].locked, rows[*row].change == locked, "%s: locked", name);
	hsnap_heap_deinit(&heap);
	ptm_deinit(&ptm);
}

/* What looks like the head of a block with a mapping of its own, in the midst of somebody else's memory. */
Test(glibc_layouts, no_block_of_a_mapping)
{
	struct ptm ptm;
	struct hsnap_heap heap;
	fill_world(&ptm, USUAL, HEAP_MAX);
	uint64_t mapped = ptm.mapped, bytes = ptm.mapped_bytes, other = PTM_MAPPED + ((uint64_t)2 << 30);
	ptm_map(&ptm, other, 50000, 16);
	ptm.num_blocks--;
	ptm.mapped = mapped;
	ptm.mapped_bytes = bytes;
	ptm_put(&ptm, other + 8, 0);
	ptm_put(&ptm, other + 8192 + 8, 12288 | 2);
	read_heap(&ptm, &heap, "no block");
	check_all(&ptm, &heap, "no block", 0);
	cr_expect_str_empty(heap.partial, "%s", heap.partial);
	hsnap_heap_deinit(&heap);
	ptm_deinit(&ptm);
}

/* Pieces that lie apart, one right behind another; a copy of one is none. */
ParameterizedTestParameters(glibc_layouts, pieces)
{
	return numbers(3);
}

ParameterizedTest(size_t *copies, glibc_layouts, pieces)
{
	struct ptm ptm;
	struct hsnap_heap heap;
	ptm_init(&ptm, USUAL);
	ptm_brk(&ptm, PTM_BRK, "live 40 cache tcache 24 live 500 posts");
	for (unsigned i = 0; i < 3; i++)
		ptm_brk(&ptm, PTM_MAPPED + i * 32768, "live 56 bin 600 live 24 fast 24 live 5000 posts");
	ptm_brk(&ptm, PTM_MAPPED + ((uint64_t)1 << 30), "live 56 bin 600 live 24 tcache 24 live 5000 posts");
	ptm_brk(&ptm, PTM_MAPPED + ((uint64_t)2 << 30), "live 56 bin 600 live 24 tcache 24 live 5000 top");
	ptm_put(&ptm, ptm.arenas[0].base, (uint64_t)2 << 32);
	unsigned num = ptm.num_blocks;
	for (unsigned i = 0; i < *copies; i++) {
		uint64_t system = ptm.arenas[0].system;
		ptm_brk(&ptm, PTM_MAPPED - ((uint64_t)(i + 1) << 30), "live 56 live 24 live 5000 posts");
		ptm.arenas[0].system = system;
	}
	ptm.num_blocks = num;
	read_heap(&ptm, &heap, "pieces");
	check_all(&ptm, &heap, "pieces", 0);
	cr_expect_str_empty(heap.partial, "%s", heap.partial);
	hsnap_heap_deinit(&heap);
	ptm_deinit(&ptm);
}
