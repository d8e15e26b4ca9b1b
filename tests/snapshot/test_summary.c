/* SPDX-License-Identifier: MIT */
/* test_summary.c - states of blocks and the table of types. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#include "snapshot/base/cleanup.h"
#include "snapshot/base/pages.h"
#include "tests/support/graph_text.h"

/* States of a, b, c …: l, p or u. */
static const struct {
	const char *name, *roots, *blocks, *edges, *states;
} rows[] = {
	{ "nothing at all", "", "", "", "" },
	{ "no root: all unreachable", "", "a b", "a>b", "uu" },
	{ "a chain from a root", "global:r", "a b c", "r>a a>b", "llu" },
	{ "a weak edge keeps as well", "global:r", "a b", "r~a a~b", "ll" },
	{ "only a mapping reaches it", "mapping:m", "a b", "m~a a>b", "pp" },
	{ "live wins over possible, whatever the order", "mapping:m global:r", "a b c", "m~a m~b r>b b>c", "pll" },
	{ "a live block reached through a possible one is live", "mapping:m stack:r", "a b", "m~a a>b r>b", "pl" },
	{ "a ring that nobody holds", "global:r", "a b", "a>b b>a", "uu" },
	{ "a block that points to itself", "global:r", "a b", "r>a a>a b>b", "lu" },
	{ "a weak root of another kind is live", "stack:r!", "a", "r~a", "l" },
};

ParameterizedTestParameters(summary, mark)
{
	static size_t index[sizeof(rows) / sizeof(*rows)];
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, sizeof(rows) / sizeof(*rows));
}

ParameterizedTest(size_t *row, summary, mark)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){
		.roots = rows[*row].roots, .blocks = rows[*row].blocks, .edges = rows[*row].edges });
	char states[16] = "";
	for (hsnap_node_id node = hsnap_first_block(&s->graph); node < s->graph.num_nodes; node++)
		states[strlen(states)] = "lpu"[hsnap_node_state(&s->graph, node)];
	cr_expect_str_eq(states, rows[*row].states, "%s: want %s, got %s", rows[*row].name, rows[*row].states, states);
}

Test(summary, a_long_chain_needs_no_stack)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s =
		snapshot_from_text(&(struct graph_text){ .roots = "global:r", .blocks = "b*1000000/16" });
	struct hsnap_graph *graph = &s->graph;
	hsnap_pages_free(graph->edge_to, 0, sizeof(*graph->edge_to));
	hsnap_pages_free(graph->edge_offset, 0, sizeof(*graph->edge_offset));
	hsnap_pages_free(graph->first_edge, (size_t)graph->num_nodes + 1, sizeof(*graph->first_edge));
	cr_assert_eq(hsnap_graph_alloc_edges(graph, 1000000, NULL), HSNAP_OK);
	for (hsnap_node_id node = 1; node < graph->num_nodes - 1; node++) {
		graph->first_edge[node] = node - 1;
		graph->edge_to[node - 1] = node + 1;
	}
	graph->first_edge[graph->num_nodes - 1] = graph->first_edge[graph->num_nodes] = graph->num_nodes - 2;
	cr_assert_eq(hsnap_snapshot_mark(s, NULL), HSNAP_OK);
	cr_expect_eq(hsnap_node_state(graph, graph->num_nodes - 1), HSNAP_LIVE);
}

static char *table_to_text(const struct hsnap_snapshot *s)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	for (size_t i = 0; i < s->rows.num; i++) {
		const struct hsnap_row *row = &s->rows.items[i];
		fprintf(out, "%s %s %llu %llu %llu %llu\n", hsnap_text(s, s->types.items[row->type].name),
			hsnap_state_name(row->state), (unsigned long long)row->count, (unsigned long long)row->bytes,
			(unsigned long long)row->usable, (unsigned long long)row->items);
	}
	fclose(out);
	return text;
}

Test(summary, rows_are_sorted_and_add_up)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){
		.types = "Entry=24 Line=20 Apple=10 Pear=10",
		.roots = "global:r",
		.blocks = "e*3:Entry!exact lost:Entry a:Line[]/63+1 b:Line[]/40 p:Pear q:Apple big:char[]/0x100000010+0x20 "
			  "x/7!unknown two/3 three/4!label",
		.edges = "r>e0 r>e1 r>e2 r>a r>b r>p r>q r>big r>x r>two r>three" });
	hsnap_auto(hsnap_freep) char *got = table_to_text(s);
	cr_expect_str_eq(got, "char[] live 1 4294967312 4294967344 4294967312\n"
			      "Line[] live 2 103 104 5\n"
			      "Entry live 3 72 72 0\n"
			      "Entry unreachable 1 24 24 0\n"
			      "unknown live 3 14 14 0\n"
			      "Apple live 1 10 10 0\n"
			      "Pear live 1 10 10 0\n");
	cr_expect_eq(s->facts.heap_count, 12);
	cr_expect_eq(s->facts.heap_bytes, 4294967312u + 103 + 72 + 24 + 14 + 20);
	cr_expect_eq(s->facts.heap_usable, s->facts.heap_bytes + 33);
	cr_expect_eq(s->facts.bytes_by_confidence[HSNAP_EXACT], 72);
	cr_expect_eq(s->facts.bytes_by_confidence[HSNAP_UNKNOWN], 10);
	cr_expect_eq(s->facts.bytes_by_confidence[HSNAP_LABEL], 4);
}

Test(summary, counts_what_the_agent_missed_and_is_repeatable)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s =
		snapshot_from_text(&(struct graph_text){ .blocks = "a b c" });
	hsnap_node_id first = hsnap_first_block(&s->graph);
	s->graph.flags[first] |= HSNAP_FLAG_NO_RECORD;
	s->graph.flags[first + 1] |= HSNAP_FLAG_NO_RECORD | HSNAP_FLAG_OVERRUN;
	for (int round = 0; round < 2; round++) {
		cr_assert_eq(hsnap_snapshot_summarize(s, NULL), HSNAP_OK);
		cr_expect_eq(s->rows.num, 1);
		cr_expect_eq(s->rows.items[0].no_record, 2);
		cr_expect_eq(s->facts.no_record, 2);
		cr_expect_eq(s->facts.overruns, 1);
		cr_expect_eq(s->facts.heap_count, 3);
	}
}
