/* SPDX-License-Identifier: MIT */
/* graph.c - storage and look-ups of struct hsnap_graph. */
#include "snapshot/graph/graph.h"

#include "snapshot/base/pages.h"
#include "snapshot/base/search.h"

static const char *const root_kind_names[HSNAP_NUM_ROOT_KINDS] = {
	[HSNAP_ROOT_GLOBAL] = "global",       [HSNAP_ROOT_STATIC] = "static",
	[HSNAP_ROOT_THREAD_LOCAL] = "thread-local", [HSNAP_ROOT_HANDLE] = "handle",
	[HSNAP_ROOT_STACK] = "stack",         [HSNAP_ROOT_REGISTER] = "register",
	[HSNAP_ROOT_KERNEL] = "kernel",       [HSNAP_ROOT_FINALIZER] = "finalizer",
	[HSNAP_ROOT_OTHER] = "other",         [HSNAP_ROOT_MAPPING] = "mapping",
};

const char *hsnap_root_kind_name(enum hsnap_root_kind kind)
{
	return (unsigned)kind < HSNAP_NUM_ROOT_KINDS ? root_kind_names[kind] : "other";
}

const char *hsnap_confidence_name(enum hsnap_confidence confidence)
{
	static const char *const names[HSNAP_NUM_CONFIDENCES] = {
		"unknown", "label", "inferred", "proved", "exact",
	};
	return (unsigned)confidence < HSNAP_NUM_CONFIDENCES ? names[confidence] : "unknown";
}

const char *hsnap_state_name(enum hsnap_state state)
{
	static const char *const names[HSNAP_NUM_STATES] = { "live", "possible", "unreachable" };
	return (unsigned)state < HSNAP_NUM_STATES ? names[state] : "live";
}

enum hsnap_code hsnap_graph_alloc_nodes(struct hsnap_graph *graph, uint32_t num_roots,
					uint32_t num_blocks, struct hsnap_error *err)
{
	uint64_t num = (uint64_t)1 + num_roots + num_blocks;
	if (num > HSNAP_MAX_NODES)
		return hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "more than %u blocks", HSNAP_MAX_NODES);
	graph->num_roots = num_roots;
	graph->num_blocks = num_blocks;
	graph->num_nodes = (uint32_t)num;
	graph->address = hsnap_pages_alloc(num, sizeof(*graph->address));
	graph->size = hsnap_pages_alloc(num, sizeof(*graph->size));
	graph->slack = hsnap_pages_alloc(num, sizeof(*graph->slack));
	graph->type = hsnap_pages_alloc(num, sizeof(*graph->type));
	graph->site = hsnap_pages_alloc(num, sizeof(*graph->site));
	graph->epoch = hsnap_pages_alloc(num, sizeof(*graph->epoch));
	graph->flags = hsnap_pages_alloc(num, sizeof(*graph->flags));
	if (!graph->address || !graph->size || !graph->slack || !graph->type || !graph->site ||
	    !graph->epoch || !graph->flags)
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for %u blocks", num_blocks);
	return HSNAP_OK;
}

enum hsnap_code hsnap_graph_alloc_grounds(struct hsnap_graph *graph, struct hsnap_error *err)
{
	graph->grounds = hsnap_pages_alloc(graph->num_nodes, sizeof(*graph->grounds));
	if (!graph->grounds)
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for %u blocks", graph->num_blocks);
	return HSNAP_OK;
}

enum hsnap_code hsnap_graph_alloc_edges(struct hsnap_graph *graph, uint64_t num_edges,
					struct hsnap_error *err)
{
	if (num_edges >= UINT32_MAX)
		return hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "more than 4 Gi edges");
	graph->num_edges = num_edges;
	graph->first_edge = hsnap_pages_alloc((size_t)graph->num_nodes + 1, sizeof(*graph->first_edge));
	graph->edge_to = hsnap_pages_alloc(num_edges, sizeof(*graph->edge_to));
	graph->edge_offset = hsnap_pages_alloc(num_edges, sizeof(*graph->edge_offset));
	if (!graph->first_edge || !graph->edge_to || !graph->edge_offset)
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the edges");
	return HSNAP_OK;
}

void hsnap_graph_deinit(struct hsnap_graph *graph)
{
	if (!graph)
		return;
	size_t num = graph->num_nodes;
	hsnap_pages_free(graph->address, num, sizeof(*graph->address));
	hsnap_pages_free(graph->size, num, sizeof(*graph->size));
	hsnap_pages_free(graph->slack, num, sizeof(*graph->slack));
	hsnap_pages_free(graph->type, num, sizeof(*graph->type));
	hsnap_pages_free(graph->site, num, sizeof(*graph->site));
	hsnap_pages_free(graph->epoch, num, sizeof(*graph->epoch));
	hsnap_pages_free(graph->flags, num, sizeof(*graph->flags));
	hsnap_pages_free(graph->grounds, num, sizeof(*graph->grounds));
	hsnap_pages_free(graph->first_edge, num + 1, sizeof(*graph->first_edge));
	hsnap_pages_free(graph->edge_to, graph->num_edges, sizeof(*graph->edge_to));
	hsnap_pages_free(graph->edge_offset, graph->num_edges, sizeof(*graph->edge_offset));
	hsnap_vec_deinit(&graph->big);
	hsnap_vec_deinit(&graph->roots);
	hsnap_vec_deinit(&graph->pools);
	hsnap_vec_deinit(&graph->items);
	hsnap_vec_deinit(&graph->edge_items);
	*graph = (struct hsnap_graph){ 0 };
}

static const struct hsnap_big *find_big(const struct hsnap_graph *graph, hsnap_node_id node)
{
	size_t low = hsnap_first(graph->big.num, i, graph->big.items[i].node >= node);
	return low < graph->big.num && graph->big.items[low].node == node ? &graph->big.items[low] : NULL;
}

uint64_t hsnap_node_big_size(const struct hsnap_graph *graph, hsnap_node_id node)
{
	const struct hsnap_big *big = find_big(graph, node);
	return big ? big->size : 0;
}

uint64_t hsnap_node_usable(const struct hsnap_graph *graph, hsnap_node_id node)
{
	if (graph->size[node] != HSNAP_SIZE_BIG)
		return (uint64_t)graph->size[node] + graph->slack[node];
	const struct hsnap_big *big = find_big(graph, node);
	return big ? big->size + big->slack : 0;
}

bool hsnap_node_set_small(struct hsnap_graph *graph, hsnap_node_id node, uint64_t size, uint64_t usable)
{
	uint64_t slack = usable - size;
	bool small = size < HSNAP_SIZE_BIG && slack <= UINT8_MAX;
	graph->size[node] = small ? (uint32_t)size : HSNAP_SIZE_BIG;
	if (small)
		graph->slack[node] = (uint8_t)slack;
	return small;
}

bool hsnap_node_set_size(struct hsnap_graph *graph, hsnap_node_id node, uint64_t size, uint64_t usable)
{
	struct hsnap_big big = { .node = node, .size = size, .slack = usable - size };
	return hsnap_node_set_small(graph, node, size, usable) || hsnap_vec_push(&graph->big, big);
}

hsnap_node_id hsnap_graph_find(const struct hsnap_graph *graph, uint64_t address)
{
	uint32_t low = hsnap_first_block(graph), high = graph->num_nodes - graph->num_items;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (graph->address[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == hsnap_first_block(graph))
		return HSNAP_NO_NODE;
	hsnap_node_id node = low - 1;
	if (address - graph->address[node] >= hsnap_node_usable(graph, node))
		return HSNAP_NO_NODE;
	const struct hsnap_pool *pool = graph->num_items ? hsnap_pool_of(graph, node) : NULL;
	uint32_t item = pool ? hsnap_pool_find(graph, pool, address - graph->address[node] - pool->header) : UINT32_MAX;
	return item == UINT32_MAX ? node : graph->num_nodes - graph->num_items + pool->first_item + item;
}
