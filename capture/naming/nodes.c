/* SPDX-License-Identifier: MIT */
/* nodes.c - blocks and roots become nodes of the graph. */
#include <stdatomic.h>

#include "capture/naming/work.h"
#include "snapshot/base/parallel.h"

#define SLICE 65536u /* blocks that one thread makes nodes of */

struct nodes {
	const struct hsnap_work *work;
	struct hsnap_graph *graph;
	atomic_bool any_big; /* sizes that do not fit the columns */
};

static void make_node(const struct nodes *nodes, uint32_t b)
{
	const struct hsnap_block *block = &nodes->work->heap->blocks.items[b];
	struct hsnap_graph *graph = nodes->graph;
	hsnap_node_id node = hsnap_first_block(graph) + b;
	graph->address[node] = block->address;
	graph->site[node] = block->stack < nodes->work->snapshot->stacks.num ? block->stack : HSNAP_NO_SITE;
	graph->epoch[node] = block->epoch;
	graph->flags[node] = (block->flags & HSNAP_BLOCK_NO_RECORD ? HSNAP_FLAG_NO_RECORD : 0) |
			     (block->flags & HSNAP_BLOCK_OVERRUN ? HSNAP_FLAG_OVERRUN : 0);
}

static void make_slice(void *context, size_t i)
{
	struct nodes *nodes = context;
	uint32_t first = (uint32_t)i * SLICE, num = nodes->work->num_blocks;
	uint32_t last = num - first < SLICE ? num : first + SLICE;
	for (uint32_t b = first; b < last; b++) {
		const struct hsnap_block *block = &nodes->work->heap->blocks.items[b];
		make_node(nodes, b);
		if (!hsnap_node_set_small(nodes->graph, hsnap_first_block(nodes->graph) + b, hsnap_block_size(block), block->usable))
			nodes->any_big = true;
	}
}

/* The list of the big ones is in order, so it is made by one thread. */
static bool list_big(const struct nodes *nodes)
{
	for (uint32_t b = 0; b < nodes->work->num_blocks; b++) {
		const struct hsnap_block *block = &nodes->work->heap->blocks.items[b];
		hsnap_node_id node = hsnap_first_block(nodes->graph) + b;
		if (nodes->graph->size[node] == HSNAP_SIZE_BIG &&
		    !hsnap_node_set_size(nodes->graph, node, hsnap_block_size(block), block->usable))
			return false;
	}
	return true;
}

enum hsnap_code hsnap_make_nodes(struct hsnap_work *work, struct hsnap_error *err)
{
	struct hsnap_graph *graph = &work->snapshot->graph;
	enum hsnap_code code =
		hsnap_graph_alloc_nodes(graph, (uint32_t)work->segments.num, work->num_blocks, err);
	if (code)
		return code;
	for (uint32_t r = 0; r < graph->num_roots; r++) {
		const struct hsnap_segment *segment = &work->segments.items[r];
		graph->address[1 + r] = segment->address - segment->into; /* what offsets of edges count from */
		if (!hsnap_vec_push(&graph->roots, segment->root))
			return hsnap_no_memory(err);
	}
	struct nodes nodes = { .work = work, .graph = graph };
	hsnap_parallel(((size_t)work->num_blocks + SLICE - 1) / SLICE, make_slice, &nodes);
	return nodes.any_big && !list_big(&nodes) ? hsnap_no_memory(err) : HSNAP_OK;
}
