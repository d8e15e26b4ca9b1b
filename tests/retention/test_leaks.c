/* SPDX-License-Identifier: MIT */
/* test_leaks.c - heads of what nothing reaches, and what hangs on them. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "retention/retention.h"
#include "tests/support/graph_text.h"
#include "tests/support/random_graph.h"

#define ROWS(table) (sizeof(table) / sizeof(*(table)))

#define TYPES "Cart=16{items:Node*@0,tree:Tree*@8} Node=24{next:Node*@0,value:Item*@8,other:Node*@16} Item=8 " \
	      "Tree=24{left:Tree*@0,right:Tree*@8,value:Item*@16} Page=32{text:char*@0}"
#define STACKS "make(a.c:1)<main add(b.c:2)<main"

/* Groups as "HEADS×TYPE/COUNT/BYTES" with "@SITE" and "o" for a cycle, then " via>Type:COUNT" each. */
static const struct {
	const char *name, *blocks, *edges, *want;
} rows[] = {
	{ "nothing leaks", "a:Node", "g>a", "" },
	{ "one block", "a:Item", "", "1×Item/1/8" },
	{ "a leaked block points to a live one", "a:Node b:Item", "g>b a.8>b", "1×Node/1/24" },
	{ "what hangs on it", "a*2:Page t*2:char[]/10", "a0>t0 a1>t1", "2×Page/4/84 .text>char[]:2" },
	{ "one that several point to hangs on the first", "a*2:Page t:char[]/10", "a0>t a1>t", "2×Page/3/74 .text>char[]:1" },
	{ "call sites are groups", "a:Item&1 b:Item&2 c:Item&2", "", "2×Item@2/2/16|1×Item@1/1/8" },
	{ "a list", "n*4:Node", "n0>n1 n1>n2 n2>n3", "1×Node/4/96 .next*3>Node:3" },
	{ "a ring is headed by its lowest address", "n*3:Node", "n0>n1 n1>n2 n2>n0", "1×Nodeo/3/72 .next*2>Node:2" },
	{ "a block that points to itself", "n:Node", "n>n", "1×Nodeo/1/24" },
	{ "a ring that something outside points to heads nothing", "h:Tree n*2:Node", "h.16>n0 n0>n1 n1>n0",
	  "1×Tree/3/72 .value>Node:1 .value.next*1>Node:1" },
	{ "a ring and what hangs on it", "n*2:Node i:Item", "n0>n1 n1>n0 n1.8>i", "1×Nodeo/3/56 .next*1>Node:1 .value>Item:1" },
	{ "a weak edge makes no head", "n:Node i:Item", "n.8~i", "1×Node/2/32 .value~Item:1" },
	{ "greatest first", "a:Item b*2:Page", "", "2×Page/2/64|1×Item/1/8" },
	{ "two levels", "t:Tree n:Node i:Item", "t.0>n n.8>i", "1×Tree/3/56 .left>Node:1 .left.value>Item:1" },
};

static void leaks_to_text(const struct hsnap_snapshot *s, const struct hsnap_leaks *leaks, char *text)
{
	*text = '\0';
	for (size_t i = 0; i < leaks->groups.num; i++) {
		const struct hsnap_leak_group *group = &leaks->groups.items[i];
		sprintf(text + strlen(text), "%s%llu×%s%s", i ? "|" : "", (unsigned long long)group->heads,
			hsnap_text(s, s->types.items[group->type].name), group->cycle ? "o" : "");
		if (group->site)
			sprintf(text + strlen(text), "@%u", group->site);
		sprintf(text + strlen(text), "/%llu/%llu", (unsigned long long)group->count, (unsigned long long)group->bytes);
		for (uint32_t d = 0; d < group->num_drags; d++) {
			const struct hsnap_drag *drag = &leaks->drags.items[group->first_drag + d];
			sprintf(text + strlen(text), " %s", hsnap_str(&leaks->strings, drag->via));
			if (drag->max)
				sprintf(text + strlen(text), "*%u", drag->max);
			sprintf(text + strlen(text), "%s%s:%llu", drag->weak ? "~" : ">",
				hsnap_text(s, s->types.items[drag->type].name), (unsigned long long)drag->count);
		}
	}
}

ParameterizedTestParameters(leaks, heads_and_what_hangs_on_them)
{
	static size_t indices[ROWS(rows)];
	for (size_t i = 0; i < ROWS(rows); i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, ROWS(rows));
}

ParameterizedTest(size_t *row, leaks, heads_and_what_hangs_on_them)
{
	struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){
		.types = TYPES, .stacks = STACKS, .roots = "global:g", .blocks = rows[*row].blocks, .edges = rows[*row].edges });
	struct hsnap_leaks leaks;
	char got[1024];
	cr_assert_eq(hsnap_leaks_init(s, HSNAP_UNREACHABLE, false, &leaks, NULL), HSNAP_OK);
	leaks_to_text(s, &leaks, got);
	cr_expect_str_eq(got, rows[*row].want, "%s:\nwant %s\ngot  %s", rows[*row].name, rows[*row].want, got);
	hsnap_leaks_deinit(&leaks);
	hsnap_snapshot_destroy(s);
}

Test(leaks, possible_ones_are_another_question)
{
	struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){
		.types = TYPES, .roots = "global:g mapping:m!", .blocks = "a:Page t:char[]/10 b:Item", .edges = "m>a a>t" });
	struct hsnap_leaks leaks;
	char got[256];
	cr_assert_eq(hsnap_leaks_init(s, HSNAP_POSSIBLE, false, &leaks, NULL), HSNAP_OK);
	leaks_to_text(s, &leaks, got);
	cr_expect_str_eq(got, "1×Page/2/42 .text>char[]:1", "got %s", got);
	hsnap_leaks_deinit(&leaks);
	cr_assert_eq(hsnap_leaks_init(s, HSNAP_UNREACHABLE, false, &leaks, NULL), HSNAP_OK);
	cr_expect_eq(leaks.count, 1);
	hsnap_leaks_deinit(&leaks);
	hsnap_snapshot_destroy(s);
}

/* ---- random graphs against reachability, block by block ---- */

#define MOST_NODES 100

struct reach {
	bool from[MOST_NODES][MOST_NODES]; /* over blocks of the state alone */
};

static void find_reach(const struct hsnap_graph *graph, struct reach *reach)
{
	for (hsnap_node_id node = hsnap_first_block(graph); node < graph->num_nodes; node++)
		for (uint32_t e = graph->first_edge[node]; e < graph->first_edge[node + 1]; e++) {
			hsnap_node_id to = graph->edge_to[e] & ~HSNAP_EDGE_WEAK;
			if (node == to && hsnap_pool_of(graph, node))
				continue; /* from object to object in it */
			if (to >= hsnap_first_block(graph) && hsnap_node_state(graph, node) == HSNAP_UNREACHABLE &&
			    hsnap_node_state(graph, to) == HSNAP_UNREACHABLE)
				reach->from[node][to] = true;
		}
	for (uint32_t k = 0; k < graph->num_nodes; k++)
		for (uint32_t i = 0; i < graph->num_nodes; i++)
			for (uint32_t j = 0; j < graph->num_nodes; j++)
				reach->from[i][j] |= reach->from[i][k] && reach->from[k][j];
}

/* All that reach it are reached by it, and none of those lies lower. */
static bool is_head(const struct hsnap_graph *graph, const struct reach *reach, hsnap_node_id node)
{
	for (hsnap_node_id other = hsnap_first_block(graph); other < graph->num_nodes; other++)
		if (reach->from[other][node] && (!reach->from[node][other] || other < node))
			return false;
	return hsnap_node_state(graph, node) == HSNAP_UNREACHABLE;
}

static void check_random(uint64_t seed)
{
	static struct reach reach;
	struct random random = { seed * 31 + 7 };
	struct hsnap_snapshot *s = random_snapshot(&(struct random_shape){
		.seed = seed, .num_roots = (uint32_t)random_below(&random, 3), .num_types = 4, .num_stacks = 4,
		.num_blocks = 1 + (uint32_t)random_below(&random, 60), .num_edges = 1 + (uint32_t)random_below(&random, 100) });
	cr_assert_eq(hsnap_snapshot_mark(s, NULL), HSNAP_OK);
	struct hsnap_graph *graph = &s->graph;
	memset(&reach, 0, sizeof(reach));
	find_reach(graph, &reach);
	uint64_t heads = 0, head_bytes = 0, count = 0, bytes = 0, cycles = 0;
	for (hsnap_node_id node = hsnap_first_block(graph); node < graph->num_nodes; node++) {
		bool head = is_head(graph, &reach, node);
		heads += head;
		head_bytes += head ? hsnap_node_size(graph, node) : 0;
		cycles += head && reach.from[node][node];
		count += hsnap_node_state(graph, node) == HSNAP_UNREACHABLE;
		bytes += hsnap_node_state(graph, node) == HSNAP_UNREACHABLE ? hsnap_node_size(graph, node) : 0;
	}
	struct hsnap_leaks leaks;
	cr_assert_eq(hsnap_leaks_init(s, HSNAP_UNREACHABLE, false, &leaks, NULL), HSNAP_OK);
	cr_assert(leaks.heads == heads && leaks.count == count && leaks.bytes == bytes,
		  "seed %llu: want %llu heads of %llu blocks, got %llu of %llu", (unsigned long long)seed,
		  (unsigned long long)heads, (unsigned long long)count, (unsigned long long)leaks.heads, (unsigned long long)leaks.count);
	bool any_cycle = false;
	for (size_t i = 0; i < leaks.groups.num; i++) {
		const struct hsnap_leak_group *group = &leaks.groups.items[i];
		uint64_t sum = group->heads, sum_bytes = group->head_bytes;
		head_bytes -= group->head_bytes;
		any_cycle |= group->cycle;
		for (uint32_t d = 0; d < group->num_drags; d++) {
			sum += leaks.drags.items[group->first_drag + d].count;
			sum_bytes += leaks.drags.items[group->first_drag + d].bytes;
		}
		cr_assert(sum == group->count && sum_bytes == group->bytes, "seed %llu: a group does not add up", (unsigned long long)seed);
	}
	cr_assert_eq(head_bytes, 0, "seed %llu: other heads", (unsigned long long)seed);
	cr_assert_eq(any_cycle, cycles > 0, "seed %llu: cycles", (unsigned long long)seed);
	hsnap_leaks_deinit(&leaks);
	hsnap_snapshot_destroy(s);
}

Test(leaks, heads_are_what_reachability_says)
{
	for (uint64_t seed = 1; seed <= 200; seed++)
		check_random(seed);
}

/* A leaked list : the search for cycles must not recurse. */
Test(leaks, a_long_list)
{
	struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){ .types = TYPES, .roots = "global:g", .blocks = "n*200000:Node" });
	struct hsnap_graph *graph = &s->graph;
	hsnap_node_id first = hsnap_first_block(graph);
	cr_assert_eq(hsnap_graph_alloc_edges(graph, graph->num_blocks - 1, NULL), HSNAP_OK);
	for (uint32_t i = 0; i < graph->num_blocks; i++) {
		graph->first_edge[first + i] = i;
		if (i + 1 < graph->num_blocks)
			graph->edge_to[i] = first + i + 1;
	}
	graph->first_edge[graph->num_nodes] = graph->num_blocks - 1;
	struct hsnap_leaks leaks;
	cr_assert_eq(hsnap_snapshot_mark(s, NULL), HSNAP_OK);
	cr_assert_eq(hsnap_leaks_init(s, HSNAP_UNREACHABLE, false, &leaks, NULL), HSNAP_OK);
	cr_assert_eq(leaks.groups.num, 1);
	cr_expect_eq(leaks.heads, 1);
	cr_expect_eq(leaks.count, 200000);
	cr_expect(!leaks.groups.items[0].cycle);
	hsnap_leaks_deinit(&leaks);
	hsnap_snapshot_destroy(s);
}
