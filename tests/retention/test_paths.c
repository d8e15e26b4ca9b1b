/* SPDX-License-Identifier: MIT */
/* test_paths.c - which path to a block is the shortest one. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "retention/retention.h"
#include "tests/support/graph_text.h"
#include "tests/support/random_graph.h"

#define ROWS(table) (sizeof(table) / sizeof(*(table)))

/* want: the nodes on the way to block "x", from the root; "-" where there is no way. */
static const struct {
	const char *name, *roots, *blocks, *edges, *want;
} rows[] = {
	{ "straight", "global:g", "a b x", "g>a a>b b>x", "g a b x" },
	{ "the shorter of two", "global:g", "a b c x", "g>a a>b b>x g>c c>x", "g c x" },
	{ "nothing points to it", "global:g", "a x", "g>a x>a", "-" },
	{ "an island", "global:g", "a x", "a>x x>a", "-" },
	{ "a long strong way beats a short weak one", "global:g", "a b c x", "g>a a>b b>c c>x g~x", "g a b c x" },
	{ "one weak hop beats two, whatever the length", "global:g", "a b c x", "g~a a~x g>b b>c c~x", "g b c x" },
	{ "the only way is weak", "global:g", "a x", "g~a a>x", "g a x" },
	{ "of two ways with one weak hop the shorter", "global:g", "a b c d x", "g>a a>b b~x g~c c>d d>x g~d", "g d x" },
	{ "weak hop late or early, of one length", "global:g", "a b x", "g~a a>x g>b b~x", "g a x" },
	{ "the kind that comes first", "stack:s global:g", "a b x", "s>a a>x g>b b>x", "g b x" },
	{ "kinds in their order", "register:r handle:h thread-local:t", "a x", "r>x h>x t>x", "t x" },
	{ "a nearer stack beats a global", "stack:s global:g", "a x", "s>x g>a a>x", "s x" },
	{ "a weak root is a weak hop", "mapping:m! global:g", "a b x", "m>x g>a a>b b>x", "g a b x" },
	{ "a weak root alone", "mapping:m!", "x", "m>x", "m x" },
	{ "a weak root and a weak hop beside one weak hop", "mapping:m! global:g", "a b x", "m~x g>a a>b b~x", "g a b x" },
	{ "the lower place on the way", "global:g", "a b x", "g.8>a g.0>b a>x b>x", "g b x" },
	{ "a block that points to itself", "global:g", "x", "x>x g>x", "g x" },
	{ "an edge to a root leads nowhere", "mapping:m! global:g", "a x", "g>a a>m m>x a~x", "g a x" },
	{ "a mapping when nothing else reaches it", "mapping:m! global:g", "a b x", "m>x g~a a~b b~x", "g a b x" },
	{ "from a mapping the fewest weak hops too", "mapping:m!", "a b x", "m~x m>a a>b b>x", "m a b x" },
	{ "another weak root", "kernel:k! global:g", "a b x", "k>x g>a a>b b>x", "g a b x" },
	{ "another weak root before a mapping", "mapping:m! kernel:k!", "a x", "m>x k~a a>x", "k a x" },
	{ "a weak edge and a strong one to the same block", "global:g", "a x", "g~x g>a a>x g>x", "g x" },
};

static void way_to_text(const struct hsnap_paths *paths, hsnap_node_id node, char *text)
{
	if (paths->to[node].parent == HSNAP_NO_NODE) {
		strcpy(text, "-");
		return;
	}
	if (paths->to[node].parent) {
		way_to_text(paths, paths->to[node].parent, text);
		strcat(text, " ");
	}
	strcat(text, node_to_text(node));
}

ParameterizedTestParameters(paths, the_shortest)
{
	static size_t indices[ROWS(rows)];
	for (size_t i = 0; i < ROWS(rows); i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, ROWS(rows));
}

ParameterizedTest(size_t *row, paths, the_shortest)
{
	struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){
		.roots = rows[*row].roots, .blocks = rows[*row].blocks, .edges = rows[*row].edges });
	struct hsnap_paths paths;
	char got[256] = "";
	cr_assert_eq(hsnap_paths_init(&s->graph, &paths, NULL), HSNAP_OK);
	way_to_text(&paths, node_from_text("x"), got);
	cr_expect_str_eq(got, rows[*row].want, "%s: want %s, got %s", rows[*row].name, rows[*row].want, got);
	hsnap_paths_deinit(&paths);
	hsnap_snapshot_destroy(s);
}

/* Of roots alike in kind the one at the lowest address. */
Test(paths, roots_by_address)
{
	struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){
		.roots = "global:g global:h", .blocks = "x", .edges = "g>x h>x" });
	struct hsnap_paths paths;
	s->graph.address[node_from_text("g")] = 0x2000;
	s->graph.address[node_from_text("h")] = 0x1000;
	cr_assert_eq(hsnap_paths_init(&s->graph, &paths, NULL), HSNAP_OK);
	cr_expect_eq(paths.to[node_from_text("x")].parent, node_from_text("h"));
	hsnap_paths_deinit(&paths);
	hsnap_snapshot_destroy(s);
}

/* ---- random graphs against the plainest search there is ---- */

struct cost {
	uint32_t weak, length; /* compared in this order */
};

static const struct cost never = { UINT32_MAX, UINT32_MAX };

static bool is_less(struct cost a, struct cost b)
{
	return a.weak != b.weak ? a.weak < b.weak : a.length < b.length;
}

/* A mapping is a million weak hops away from everything. */
static struct cost cost_of_root(const struct hsnap_graph *graph, hsnap_node_id node)
{
	const struct hsnap_root *root = &graph->roots.items[node - 1];
	return (struct cost){ root->kind == HSNAP_ROOT_MAPPING ? 1000000 : root->weak, 0 };
}

/* Relax every edge until nothing changes. */
static struct cost *relax(const struct hsnap_graph *graph)
{
	struct cost *costs = malloc(graph->num_nodes * sizeof(*costs));
	for (hsnap_node_id node = 0; node < graph->num_nodes; node++)
		costs[node] = hsnap_is_root(graph, node) ? cost_of_root(graph, node) : never;
	for (bool changed = true; changed;) {
		changed = false;
		for (hsnap_node_id from = 1; from < graph->num_nodes; from++) {
			for (uint32_t e = graph->first_edge[from]; e < graph->first_edge[from + 1] && costs[from].weak != UINT32_MAX; e++) {
				bool weak = graph->edge_to[e] & HSNAP_EDGE_WEAK;
				hsnap_node_id to = graph->edge_to[e] & ~HSNAP_EDGE_WEAK;
				if (hsnap_is_root(graph, to))
					continue;
				struct cost next = { costs[from].weak + weak, costs[from].length + 1 };
				if (is_less(next, costs[to])) {
					costs[to] = next;
					changed = true;
				}
			}
		}
	}
	return costs;
}

/* What the way that was found costs; every edge on it must be there. */
static struct cost cost_of_way(const struct hsnap_graph *graph, const struct hsnap_paths *paths, hsnap_node_id node)
{
	struct cost cost = { 0, 0 };
	while (paths->to[node].parent) {
		hsnap_node_id parent = paths->to[node].parent;
		uint32_t edge = paths->to[node].edge;
		cr_assert(edge >= graph->first_edge[parent] && edge < graph->first_edge[parent + 1], "edge of another block");
		cr_assert_eq(graph->edge_to[edge] & ~HSNAP_EDGE_WEAK, node, "edge to another block");
		cost.weak += (graph->edge_to[edge] & HSNAP_EDGE_WEAK) != 0;
		cost.length++;
		cr_assert_leq(cost.length, graph->num_nodes, "a way in a circle");
		node = parent;
	}
	cr_assert(hsnap_is_root(graph, node), "a way that begins at a block");
	cost.weak += cost_of_root(graph, node).weak;
	return cost;
}

static void check_random(uint64_t seed)
{
	struct random random = { seed * 77 + 1 };
	struct hsnap_snapshot *s = random_snapshot(&(struct random_shape){
		.seed = seed, .num_roots = 1 + (uint32_t)random_below(&random, 6), .num_types = 5, .num_stacks = 3,
		.num_blocks = (uint32_t)random_below(&random, 90), .num_edges = (uint32_t)random_below(&random, 200) });
	const struct hsnap_graph *graph = &s->graph;
	struct cost *want = relax(graph);
	struct hsnap_paths paths;
	cr_assert_eq(hsnap_paths_init(graph, &paths, NULL), HSNAP_OK);
	uint32_t reached = 0;
	for (hsnap_node_id node = 1; node < graph->num_nodes; node++) {
		bool found = paths.to[node].parent != HSNAP_NO_NODE;
		cr_assert_eq(found, want[node].weak != UINT32_MAX, "seed %llu, node %u: reached or not", (unsigned long long)seed, node);
		if (!found)
			continue;
		reached++;
		struct cost got = cost_of_way(graph, &paths, node);
		cr_assert(got.weak == want[node].weak && got.length == want[node].length,
			  "seed %llu, node %u: want %u weak of %u, got %u of %u", (unsigned long long)seed, node,
			  want[node].weak, want[node].length, got.weak, got.length);
	}
	cr_assert_eq(paths.num_reached, reached);
	free(want);
	hsnap_paths_deinit(&paths);
	hsnap_snapshot_destroy(s);
}

Test(paths, as_short_as_the_plainest_search_finds_them)
{
	for (uint64_t seed = 1; seed <= 400; seed++)
		check_random(seed);
}

/* What nothing recurses over. */
Test(paths, a_long_list)
{
	enum { LENGTH = 1000000 };
	struct hsnap_graph graph = { 0 };
	cr_assert_eq(hsnap_graph_alloc_nodes(&graph, 1, LENGTH, NULL), HSNAP_OK);
	cr_assert_eq(hsnap_graph_alloc_edges(&graph, LENGTH, NULL), HSNAP_OK);
	cr_assert(hsnap_vec_push(&graph.roots, (struct hsnap_root){ .kind = HSNAP_ROOT_GLOBAL }));
	for (uint32_t i = 0; i < LENGTH; i++) {
		graph.first_edge[1 + i] = i;
		graph.edge_to[i] = i + 2;
	}
	graph.first_edge[1 + LENGTH] = graph.first_edge[2 + LENGTH] = LENGTH;
	struct hsnap_paths paths;
	cr_assert_eq(hsnap_paths_init(&graph, &paths, NULL), HSNAP_OK);
	cr_expect_eq(paths.num_reached, LENGTH + 1);
	cr_expect_eq(paths.to[LENGTH + 1].parent, LENGTH);
	hsnap_paths_deinit(&paths);
	hsnap_graph_deinit(&graph);
}
