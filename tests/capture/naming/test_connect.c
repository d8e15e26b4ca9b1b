/* SPDX-License-Identifier: MIT */
/* test_connect.c - words to edges, roots, and labels where there is no debug info. */
#include <criterion/criterion.h>

#include "capture/naming/index.h"
#include "world.h"

Test(connect, an_empty_process_is_an_empty_graph)
{
	struct world *w = world_create();
	w->without_symbols = true;
	world_name(w);
	cr_expect_str_eq(world_rows(w), "");
	cr_expect_str_eq(world_edges(w), "");
	cr_expect_eq(w->snapshot->graph.num_nodes, 1);
	world_destroy(w);
}

Test(connect, labels_say_where_a_block_was_allocated)
{
	struct world *w = world_create();
	w->without_symbols = true;
	uint32_t site = STACK(w, WORLD_TEXT + 0x35, WORLD_TEXT + 0x99);
	uint64_t one = world_block(w, 64, site), two = world_block(w, 64, site);
	world_block(w, 40, 0);
	world_set(w, WORLD_DATA + 8, one);
	world_set(w, one + 56, two);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "2 64 bytes from app+0x34 label; 1 40 bytes unknown unreachable");
	cr_expect_str_eq(world_edges(w), "+8>1? 1+56>2?");
	world_destroy(w);
}

Test(connect, a_site_of_many_sizes_is_one_row)
{
	struct world *w = world_create();
	w->without_symbols = true;
	uint32_t few = STACK(w, WORLD_TEXT + 0x35), many = STACK(w, WORLD_TEXT + 0x55);
	world_block(w, 24, few);
	world_block(w, 40, few);
	for (unsigned size = 100; size < 130; size++)
		world_block(w, size, many);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "30 bytes from app+0x54 label unreachable; "
			 "1 40 bytes from app+0x34 label unreachable; 1 24 bytes from app+0x34 label unreachable");
	world_destroy(w);
}

Test(connect, the_inside_of_a_block_counts_and_its_very_end)
{
	static const struct {
		int64_t offset; /* of the pointer, from the second block's start */
		enum hsnap_root_kind kind;
		const char *edges;
	} rows[] = {
		{ 0, HSNAP_ROOT_GLOBAL, "+0>2?" }, { 1, HSNAP_ROOT_GLOBAL, "+0>2?" }, { 55, HSNAP_ROOT_GLOBAL, "+0>2?" },
		{ 56, HSNAP_ROOT_GLOBAL, "+0>2?" }, { 57, HSNAP_ROOT_GLOBAL, "" }, { -1, HSNAP_ROOT_GLOBAL, "" },
		{ -8, HSNAP_ROOT_GLOBAL, "+0>1?" }, { -9, HSNAP_ROOT_GLOBAL, "+0>1?" },
		/* On a stack it may be the head of a chunk that glibc had in its hands. */
		{ 55, HSNAP_ROOT_STACK, "+0>2?" }, { 56, HSNAP_ROOT_STACK, "" }, { -8, HSNAP_ROOT_STACK, "" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		w->without_symbols = true;
		world_block(w, 50, 0);
		uint64_t second = world_block(w, 50, 0);
		w->roots.areas.items[0].kind = rows[i].kind;
		world_set(w, WORLD_DATA, second + (uint64_t)rows[i].offset);
		world_name(w);
		cr_expect_str_eq(world_edges(w), rows[i].edges, "row %zu: %s", i, w->text);
		world_destroy(w);
	}
}

Test(connect, a_block_that_spans_mappings_is_read_whole)
{
	struct world *w = world_create();
	w->without_symbols = true;
	uint64_t big = world_block(w, 0x2000, 0), small = world_block(w, 24, 0);
	world_set(w, WORLD_DATA, big);
	world_set(w, big + 8, small);
	world_set(w, WORLD_HEAP + 0x1000, small);
	world_set(w, big + 0x1ff8, small);
	world_set(w, big + 16, big); /* itself: keeps nothing */
	world_name(w);
	cr_expect_str_eq(world_edges(w), "+0>1? 1+8>2? 1+4080>2? 1+8184>2?");
	world_destroy(w);
}

Test(connect, values_and_mappings_are_roots)
{
	struct world *w = world_create();
	w->without_symbols = true;
	uint64_t held = world_block(w, 24, 0), possible = world_block(w, 40, 0);
	struct hsnap_root_value value = { .kind = HSNAP_ROOT_KERNEL, .value = held + 3,
					  .name = hsnap_strings_add(&w->roots.strings, "epoll 5 (fd 7)") };
	cr_assert(hsnap_vec_push(&w->roots.values, value));
	struct hsnap_root_area mapping = { .kind = HSNAP_ROOT_MAPPING, .weak = true, .address = WORLD_TLS,
					   .size = WORLD_SIZE,
					   .name = hsnap_strings_add(&w->roots.strings, "mapping") };
	cr_assert(hsnap_vec_push(&w->roots.areas, mapping));
	world_set(w, WORLD_TLS + 24, possible);
	world_name(w);
	cr_expect_str_eq(world_edges(w), "mapping+24>2? epoll 5 (fd 7)+0>1?");
	cr_expect_str_eq(world_rows(w), "1 40 bytes in a mapping label possible; 1 24 bytes in the kernel label");
	cr_expect(w->snapshot->graph.roots.items[0].weak);
	world_destroy(w);
}

Test(connect, thousands_of_blocks_find_each_other)
{
	struct world *w = world_create();
	w->without_symbols = true;
	uint64_t last = 0;
	for (unsigned i = 0; i < 1500; i++) {
		uint64_t block = world_block(w, 24, 0);
		world_set(w, block, last);
		last = block;
	}
	world_set(w, WORLD_DATA, last);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1499 24 bytes behind data of app label; 1 24 bytes in data of app label");
	const struct hsnap_graph *g = &w->snapshot->graph;
	cr_expect_eq(g->num_edges, 1500);
	for (hsnap_node_id n = hsnap_first_block(g) + 1; n < g->num_nodes; n++)
		cr_expect_eq(g->edge_to[g->first_edge[n]] & ~HSNAP_EDGE_WEAK, n - 1);
	world_destroy(w);
}

/* Every address of a heap, by the index and by looking at all blocks. */
static void check_all(struct world *w, const char *what)
{
	struct hsnap_block_index index;
	struct hsnap_error err;
	cr_assert_eq(hsnap_block_index_init(&index, &w->heap, &err), HSNAP_OK);
	const struct hsnap_block *blocks = w->heap.blocks.items;
	uint32_t hint = 0, want = 0, num = (uint32_t)w->heap.blocks.num;
	uint64_t end = blocks[num - 1].address + blocks[num - 1].usable + 5000;
	for (uint64_t at = blocks[0].address - 5000; at < end; at++) {
		while (want < num && at >= blocks[want].address + blocks[want].usable)
			want++;
		uint32_t expected = want < num && at >= blocks[want].address ? want : HSNAP_NO_BLOCK;
		uint32_t got = hsnap_block_index_find(&index, at, &hint);
		cr_assert_eq(got, expected, "%s: 0x%llx: want %u, got %u", what, (unsigned long long)at, expected, got);
	}
	hsnap_block_index_deinit(&index);
}

Test(connect, every_address_finds_its_block)
{
	static const struct {
		const char *name;
		uint64_t start, step; /* of the blocks: start + n * step + n % 7 * 16 */
		uint64_t usable, odd;
	} rows[] = {
		{ "small", 0x10000000, 160, 24, 0 },
		{ "touching", 0x10000010, 112, 16, 0 },
		{ "unaligned", 0x10000003, 128, 20, 1 },
		{ "far apart", 0x10000400, 70000, 24, 0 },
		{ "big", 0x10000000, 300000, 270000, 0 },
		{ "a cell's last", 0x100003f0, 1024, 1000, 0 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		for (uint64_t n = 0; n < 24; n++) {
			struct hsnap_block block = { .usable = rows[i].usable };
			block.address = rows[i].start + n * rows[i].step + n % 7 * (rows[i].step < 1024 ? 16 : 0) + n % 2 * rows[i].odd;
			cr_assert(hsnap_vec_push(&w->heap.blocks, block));
		}
		check_all(w, rows[i].name);
		world_destroy(w);
	}
}

Test(connect, missing_types_of_the_program_are_said)
{
	static const struct {
		const char *note, *want;
	} rows[] = { { "", "" }, { "no debug info", "no types for app: no debug info" } };
	for (size_t i = 0; i < 2; i++) {
		struct world *w = world_create();
		w->symbols.modules.items[1].note = world_string(w, rows[i].note);
		world_name(w);
		cr_expect_eq(w->snapshot->notes.num, i);
		cr_expect_str_eq(i ? hsnap_text(w->snapshot, w->snapshot->notes.items[0]) : "", rows[i].want);
		world_destroy(w);
	}
}
