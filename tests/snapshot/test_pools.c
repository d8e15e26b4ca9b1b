/* SPDX-License-Identifier: MIT */
/* test_pools.c - objects within blocks: as nodes of a graph, and as rows. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/graph_text.h"
#include "tests/support/random_graph.h"

/* Page, 128 bytes behind a header of 8 whose pool begins at 16: objects of 24 bytes, 32 apart, at places 0, 1 and 3. */
static struct hsnap_snapshot *page(void)
{
	struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){
		.types = "Item=24{next:Item*@0} label:pages", .roots = "global:r static:t",
		.blocks = "a:Item page:pages/160!label b:Item",
		.edges = "r>page t>page page.0>a page.16>page page.24>b page.48~page page.80>a page.112>page a>page" });
	struct hsnap_graph *graph = &s->graph;
	struct hsnap_pool pool = { .node = node_from_text("page"), .type = type_from_text(s, "Item"), .evidence = HSNAP_EVIDENCE_POINTER,
				   .header = 8, .first = 16, .stride = 32, .size = 24, .num_items = 3 };
	static const uint32_t places[] = { 0, 1, 3 };
	/* r leads to the block, t to the third, a to the first; the first to the second, that weakly to the third, which leads to itself. */
	static const uint32_t ends[] = { 0, 3, 1, 2, 3, 3 };
	cr_assert(hsnap_vec_push(&graph->pools, pool));
	for (size_t i = 0; i < 3; i++)
		cr_assert(hsnap_vec_push(&graph->items, places[i]));
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		cr_assert(hsnap_vec_push(&graph->edge_items, ends[i]));
	return s;
}

static const char *edges_of(const struct hsnap_graph *graph, hsnap_node_id node, char *text, size_t size)
{
	size_t len = 0;
	text[0] = '\0';
	for (uint32_t e = graph->first_edge[node]; e < graph->first_edge[node + 1]; e++) {
		uint32_t to = graph->edge_to[e] & ~HSNAP_EDGE_WEAK;
		bool far = graph->edge_offset[e] == HSNAP_OFFSET_BEYOND;
		len += (size_t)snprintf(text + len, size - len, "%s%d%s%u", len ? " " : "", far ? -1 : (int)graph->edge_offset[e],
					graph->edge_to[e] & HSNAP_EDGE_WEAK ? "~" : ">", to);
	}
	return text;
}

Test(pools, objects_become_nodes)
{
	struct hsnap_snapshot *s = page();
	struct hsnap_graph *graph = &s->graph;
	hsnap_node_id block = node_from_text("page");
	uint64_t start = graph->address[block];
	/* Nodes: 1 r, 2 t, 3 a, 4 page, 5 b; then the objects 6, 7, 8. */
	static const char *const want[] = { "", "0>4", "0>8", "0>6", "0>3 16~6 48~7 80>3 112~8", "", "0>7 8>5 -1~4", "0~8 -1~4", "0>8 -1~4" };
	char text[256];
	cr_assert_eq(hsnap_graph_expand(graph, NULL), HSNAP_OK);
	cr_assert_eq(graph->num_nodes, 9);
	for (hsnap_node_id node = 1; node < graph->num_nodes; node++)
		cr_expect_str_eq(edges_of(graph, node, text, sizeof(text)), want[node], "node %u: want %s, got %s", node, want[node], text);
	cr_expect_eq(graph->address[7], start + 8 + 16 + 32);
	cr_expect_eq(hsnap_node_size(graph, 7), 24);
	cr_expect_eq(graph->type[7], type_from_text(s, "Item"));
	cr_expect_eq(hsnap_node_confidence(graph, 7), HSNAP_PROVED);
	cr_expect_eq(hsnap_pool_block(graph, 7), block);
	cr_expect_eq(hsnap_pool_block(graph, 3), 3);
	cr_expect_eq(hsnap_graph_find(graph, start + 8 + 16 + 32 + 23), 7);
	cr_expect_eq(hsnap_graph_find(graph, start + 8 + 16 + 32 + 24), block, "between two objects");
	cr_expect_eq(hsnap_graph_find(graph, start + 8 + 16 + 64), block, "where none is seen");
	cr_expect_eq(hsnap_graph_find(graph, start + 3), block, "in the header");
	hsnap_snapshot_destroy(s);
}

static const struct hsnap_row *row_of(const struct hsnap_snapshot *s, const char *name)
{
	for (size_t i = 0; i < s->rows.num; i++)
		if (!strcmp(hsnap_text(s, s->types.items[s->rows.items[i].type].name), name))
			return &s->rows.items[i];
	cr_assert_fail("no row %s", name);
	return NULL;
}

Test(pools, bytes_of_objects_are_as_sure_as_those)
{
	struct hsnap_snapshot *s = page();
	cr_assert_eq(hsnap_snapshot_summarize(s, NULL), HSNAP_OK);
	const struct hsnap_row *row = row_of(s, "pages");
	cr_expect(row->items == 3 && row->count == 1 && row->bytes == 160);
	cr_expect(row->bytes_by_confidence[HSNAP_LABEL] == 88 && row->bytes_by_confidence[HSNAP_PROVED] == 72);
	cr_expect_eq(s->facts.bytes_by_confidence[HSNAP_LABEL], 88);
	cr_expect_eq(s->facts.heap_bytes, 208);

	cr_assert_eq(hsnap_snapshot_expand_rows(s, NULL), HSNAP_OK);
	const struct hsnap_row *items = row_of(s, "Item");
	row = row_of(s, "pages");
	cr_expect(row->items == 0 && row->count == 1 && row->bytes == 88 && row->bytes_by_confidence[HSNAP_LABEL] == 88 &&
		  row->bytes_by_confidence[HSNAP_PROVED] == 0);
	cr_expect(items->count == 5 && items->bytes == 120, "two blocks, three objects");
	hsnap_snapshot_destroy(s);
}

/* Whatever there is: nothing is lost, and all edges stay in order and range. */
Test(pools, random_graphs)
{
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct hsnap_snapshot *s = random_snapshot(&(struct random_shape){
			.seed = seed, .style = seed % 2 ? RANDOM_WILD : RANDOM_HEAP, .num_types = 5, .num_stacks = 2, .num_roots = 3,
			.num_blocks = 30, .num_edges = 80 });
		struct hsnap_graph *graph = &s->graph;
		uint64_t edges = graph->num_edges, items = graph->items.num, bytes = 0, before = s->facts.heap_bytes;
		cr_assert_eq(hsnap_graph_expand(graph, NULL), HSNAP_OK);
		cr_assert_eq(graph->num_edges, edges + 2 * items);
		cr_assert_eq(graph->first_edge[graph->num_nodes], graph->num_edges);
		for (hsnap_node_id node = 0; node < graph->num_nodes; node++)
			for (uint32_t e = graph->first_edge[node]; e < graph->first_edge[node + 1]; e++) {
				cr_assert((graph->edge_to[e] & ~HSNAP_EDGE_WEAK) && (graph->edge_to[e] & ~HSNAP_EDGE_WEAK) < graph->num_nodes);
				cr_assert(e == graph->first_edge[node] || graph->edge_offset[e - 1] <= graph->edge_offset[e], "seed %llu, node %u",
					  (unsigned long long)seed, node);
			}
		cr_assert_eq(hsnap_snapshot_expand_rows(s, NULL), HSNAP_OK);
		for (size_t i = 0; i < s->rows.num; i++)
			bytes += s->rows.items[i].bytes;
		cr_assert_eq(bytes, before);
		hsnap_snapshot_destroy(s);
	}
}
