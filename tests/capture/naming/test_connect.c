/* SPDX-License-Identifier: MIT */
/* test_connect.c - words to edges, roots, and labels where there is no debug info. */
#include <criterion/criterion.h>

#include "world.h"

#define STACK(w, ...) world_stack((w), (const uint64_t[]){ __VA_ARGS__, 0 })

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
	cr_expect_str_eq(world_rows(w), "2 64 bytes from app+0x34 label; 1 unknown unknown unreachable");
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

Test(connect, the_inside_of_a_block_counts_and_its_end_does_not)
{
	static const struct {
		int64_t offset; /* of the pointer, from the second block's start */
		const char *edges;
	} rows[] = {
		{ 0, "+0>2?" }, { 1, "+0>2?" }, { 55, "+0>2?" }, { 56, "" }, { -1, "" }, { -8, "" }, { -9, "+0>1?" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		w->without_symbols = true;
		world_block(w, 50, 0);
		uint64_t second = world_block(w, 50, 0);
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
	cr_expect_str_eq(world_rows(w), "1 unknown unknown possible; 1 unknown unknown");
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
	cr_expect_str_eq(world_rows(w), "1500 unknown unknown");
	const struct hsnap_graph *g = &w->snapshot->graph;
	cr_expect_eq(g->num_edges, 1500);
	for (hsnap_node_id n = hsnap_first_block(g) + 1; n < g->num_nodes; n++)
		cr_expect_eq(g->edge_to[g->first_edge[n]] & ~HSNAP_EDGE_WEAK, n - 1);
	world_destroy(w);
}
