/* SPDX-License-Identifier: MIT */
/*
 * paths.c - shortest paths by breadth-first search in phases.
 *
 * Phase k settles the nodes whose best path has k weak hops.  Its queue is fed
 * from two sides, both in order of distance: strong edges of its own nodes, and
 * weak edges of the nodes of the phase before.  Taking whichever is nearer keeps
 * the queue in order, so the first to find a node finds it by a shortest path.
 * All this happens once from every other root and then, for what is left, from
 * the mappings: only what nothing else reaches is theirs.
 */
#include <stdlib.h>
#include <string.h>

#include "retention/paths.h"
#include "snapshot/base/cleanup.h"
#include "snapshot/base/pages.h"

#define AHEAD 6 /* nodes between asking for a cache line and using it */

void hsnap_paths_deinit(struct hsnap_paths *paths)
{
	hsnap_pages_free(paths->to, paths->num_nodes, sizeof(*paths->to));
	hsnap_pages_free(paths->order, paths->num_nodes, sizeof(*paths->order));
	*paths = (struct hsnap_paths){ 0 };
}

struct search {
	const struct hsnap_graph *graph;
	struct hsnap_paths paths;
	uint32_t *depth; /* hops from the root, of each entry of the queue */
	uint32_t tail;   /* end of the queue, which is paths.order */
};

static void settle(struct search *search, hsnap_node_id node, hsnap_node_id parent, uint32_t edge, uint32_t depth)
{
	search->paths.to[node] = (struct hsnap_last_hop){ parent, edge };
	search->depth[search->tail] = depth;
	search->paths.order[search->tail++] = node;
}

static int compare_roots(const void *a, const void *b, void *context)
{
	const struct hsnap_graph *graph = context;
	hsnap_node_id left = *(const hsnap_node_id *)a, right = *(const hsnap_node_id *)b;
	uint8_t left_kind = graph->roots.items[left - 1].kind, right_kind = graph->roots.items[right - 1].kind;
	if (left_kind != right_kind)
		return left_kind - right_kind;
	if (graph->address[left] != graph->address[right])
		return graph->address[left] < graph->address[right] ? -1 : 1;
	return left < right ? -1 : 1;
}

/* Roots that start together: those of mappings come last of all. */
enum start { STRONG_ROOTS, WEAK_ROOTS, MAPPINGS, NO_ROOTS };

static enum start start_of(const struct hsnap_root *root)
{
	if (root->kind == HSNAP_ROOT_MAPPING)
		return MAPPINGS;
	return root->weak ? WEAK_ROOTS : STRONG_ROOTS;
}

/* Put the roots of one kind of start into the queue, in order of preference. */
static void start_from_roots(struct search *search, enum start start)
{
	const struct hsnap_graph *graph = search->graph;
	uint32_t first = search->tail;
	for (uint32_t r = 0; r < graph->num_roots; r++)
		if (start_of(&graph->roots.items[r]) == start)
			settle(search, 1 + r, 0, 0, 0);
	if (search->tail > first)
		qsort_r(search->paths.order + first, search->tail - first, sizeof(hsnap_node_id), compare_roots,
			(void *)graph);
}

static void expand(struct search *search, uint32_t at, uint32_t wanted)
{
	const struct hsnap_graph *graph = search->graph;
	hsnap_node_id from = search->paths.order[at];
	uint32_t depth = search->depth[at] + 1;
	for (uint32_t e = graph->first_edge[from]; e < graph->first_edge[from + 1]; e++) {
		hsnap_node_id to = graph->edge_to[e] & ~HSNAP_EDGE_WEAK;
		if ((graph->edge_to[e] & HSNAP_EDGE_WEAK) == wanted && search->paths.to[to].parent == HSNAP_NO_NODE)
			settle(search, to, from, e, depth);
	}
}

/* The walk jumps about in memory: ask for what it will need in time. */
static void look_ahead(const struct search *search, uint32_t at, uint32_t end)
{
	const struct hsnap_graph *graph = search->graph;
	const hsnap_node_id *order = search->paths.order;
	if (at + 3 * AHEAD < end)
		__builtin_prefetch(&graph->first_edge[order[at + 3 * AHEAD]]);
	if (at + 2 * AHEAD < end)
		__builtin_prefetch(&graph->edge_to[graph->first_edge[order[at + 2 * AHEAD]]]);
	if (at + AHEAD >= end)
		return;
	uint32_t first = graph->first_edge[order[at + AHEAD]], last = graph->first_edge[order[at + AHEAD] + 1];
	for (uint32_t e = first; e < last && e < first + AHEAD; e++)
		__builtin_prefetch(&search->paths.to[graph->edge_to[e] & ~HSNAP_EDGE_WEAK], 1);
}

/* One phase; [before, before_end) of the queue are the nodes of the phase before. */
static void run_phase(struct search *search, uint32_t before, uint32_t before_end, uint32_t own)
{
	const uint32_t *depth = search->depth;
	while (own < search->tail || before < before_end) {
		if (own < search->tail &&
		    (before == before_end || depth[own] <= depth[before])) {
			look_ahead(search, own, search->tail);
			expand(search, own++, 0);
		} else {
			look_ahead(search, before, before_end);
			expand(search, before++, HSNAP_EDGE_WEAK);
		}
	}
}

static bool alloc_search(struct search *search)
{
	uint32_t num = search->graph->num_nodes;
	struct hsnap_paths *paths = &search->paths;
	paths->num_nodes = num;
	paths->to = hsnap_pages_alloc(num, sizeof(*paths->to));
	paths->order = hsnap_pages_alloc(num, sizeof(*paths->order));
	search->depth = hsnap_pages_alloc(num, sizeof(*search->depth));
	return paths->to && paths->order && search->depth;
}

/* Phases until one finds nothing.  The first starts from what the queue holds from `before` on,
 * the second also from the roots of `second`. */
static void run_phases(struct search *search, uint32_t before, enum start second)
{
	run_phase(search, 0, 0, before);
	for (bool first = true; first || before < search->tail; first = false) {
		uint32_t own = search->tail;
		if (first)
			start_from_roots(search, second);
		run_phase(search, before, own, own);
		before = own;
	}
	search->paths.num_reached = search->tail;
}

/* Hand over what was found, or clean up after `ok` is false. */
static enum hsnap_code finish(struct search *search, bool ok, struct hsnap_paths *ret, struct hsnap_error *err)
{
	hsnap_pages_free(search->depth, search->graph->num_nodes, sizeof(*search->depth));
	if (ok) {
		*ret = search->paths;
		return HSNAP_OK;
	}
	hsnap_paths_deinit(&search->paths);
	return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the paths to %u blocks", search->graph->num_blocks);
}

enum hsnap_code hsnap_paths_init(const struct hsnap_graph *graph, struct hsnap_paths *ret,
				 struct hsnap_error *err)
{
	struct search search = { .graph = graph };
	bool ok = alloc_search(&search);
	if (ok) {
		memset(search.paths.to, 0xff, graph->num_nodes * sizeof(*search.paths.to));
		/* Roots are where paths begin: an edge to one leads nowhere. */
		memset(search.paths.to, 0, hsnap_first_block(graph) * sizeof(*search.paths.to));
		start_from_roots(&search, STRONG_ROOTS);
		run_phases(&search, 0, WEAK_ROOTS);
		uint32_t before = search.tail;
		start_from_roots(&search, MAPPINGS);
		run_phases(&search, before, NO_ROOTS);
	}
	return finish(&search, ok, ret, err);
}

enum hsnap_code hsnap_paths_from(const struct hsnap_graph *graph, const hsnap_node_id *starts,
				 uint32_t num_starts, enum hsnap_state state, struct hsnap_paths *ret,
				 struct hsnap_error *err)
{
	struct search search = { .graph = graph };
	bool ok = alloc_search(&search);
	if (ok) {
		for (hsnap_node_id node = hsnap_first_block(graph); node < graph->num_nodes; node++)
			if (hsnap_node_state(graph, node) == state)
				search.paths.to[node].parent = HSNAP_NO_NODE;
		for (uint32_t i = 0; i < num_starts; i++)
			settle(&search, starts[i], 0, 0, 0);
		run_phases(&search, 0, NO_ROOTS);
	}
	return finish(&search, ok, ret, err);
}
