/* SPDX-License-Identifier: MIT */
/* nodes.c - blocks and roots become nodes of the graph. */
#include "capture/naming/work.h"

enum hsnap_code hsnap_make_nodes(struct hsnap_work *work, struct hsnap_error *err)
{
	struct hsnap_graph *graph = &work->snapshot->graph;
	enum hsnap_code code =
		hsnap_graph_alloc_nodes(graph, (uint32_t)work->segments.num, work->num_blocks, err);
	if (code)
		return code;
	for (uint32_t r = 0; r < graph->num_roots; r++) {
		const struct hsnap_segment *segment = &work->segments.items[r];
		graph->address[1 + r] = segment->address;
		if (!hsnap_vec_push(&graph->roots, segment->root))
			return hsnap_no_memory(err);
	}
	for (uint32_t b = 0; b < work->num_blocks; b++) {
		const struct hsnap_block *block = &work->heap->blocks.items[b];
		hsnap_node_id node = hsnap_first_block(graph) + b;
		graph->address[node] = block->address;
		graph->site[node] = block->stack < work->snapshot->stacks.num ? block->stack : HSNAP_NO_SITE;
		graph->epoch[node] = block->epoch;
		graph->flags[node] = (block->flags & HSNAP_BLOCK_NO_RECORD ? HSNAP_FLAG_NO_RECORD : 0) |
				     (block->flags & HSNAP_BLOCK_OVERRUN ? HSNAP_FLAG_OVERRUN : 0);
		uint64_t size = block->requested < block->usable ? block->requested : block->usable;
		if (!hsnap_node_set_size(graph, node, size, block->usable))
			return hsnap_no_memory(err);
	}
	return HSNAP_OK;
}
