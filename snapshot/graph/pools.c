/* SPDX-License-Identifier: MIT */
/* pools.c - objects within blocks: which lies where, and a graph in which they are nodes. */
#include <string.h>

#include "snapshot/base/cleanup.h"
#include "snapshot/base/search.h"
#include "snapshot/graph/evidence.h"

const struct hsnap_pool *hsnap_pool_of(const struct hsnap_graph *graph, hsnap_node_id node)
{
	const struct hsnap_pool *pools = graph->pools.items;
	size_t low = hsnap_first(graph->pools.num, i, pools[i].node >= node);
	return low < graph->pools.num && pools[low].node == node ? &pools[low] : NULL;
}

uint32_t hsnap_pool_find(const struct hsnap_graph *graph, const struct hsnap_pool *pool, uint64_t offset)
{
	if (offset < pool->first || (offset - pool->first) % pool->stride >= pool->size)
		return UINT32_MAX;
	uint64_t place = (offset - pool->first) / pool->stride;
	const uint32_t *places = graph->items.items + pool->first_item;
	size_t low = hsnap_first(pool->num_items, i, places[i] >= place);
	return low < pool->num_items && places[low] == place ? (uint32_t)low : UINT32_MAX;
}

hsnap_node_id hsnap_pool_block(const struct hsnap_graph *graph, hsnap_node_id node)
{
	const struct hsnap_pool *pools = graph->pools.items;
	hsnap_node_id first = graph->num_nodes - graph->num_items;
	if (node < first)
		return node;
	return pools[hsnap_first(graph->pools.num, i, pools[i].first_item > node - first) - 1].node;
}

/* What an expanded graph is made of. */
struct expand {
	const struct hsnap_graph *from;
	struct hsnap_graph to;
	hsnap_node_id first_item; /* node */
	uint32_t *pool_of;        /* one a node of `from`: 1 + its pool, or 0 */
	uint32_t *degrees;        /* one a node of `to` */
	size_t num_from, num_to;  /* nodes of both */
	size_t edge_item;         /* into edge_items */
};

static void expand_deinit(struct expand *expand)
{
	hsnap_graph_deinit(&expand->to);
	hsnap_pages_free(expand->pool_of, expand->num_from, sizeof(*expand->pool_of));
	hsnap_pages_free(expand->degrees, expand->num_to, sizeof(*expand->degrees));
}

static uint64_t item_offset(const struct hsnap_graph *graph, const struct hsnap_pool *pool, uint32_t item)
{
	return pool->first + pool->stride * graph->items.items[pool->first_item + item];
}

/* ---- nodes ---- */

static void copy_columns(struct expand *expand)
{
	const struct hsnap_graph *from = expand->from;
	struct hsnap_graph *to = &expand->to;
	size_t num = from->num_nodes;
	memcpy(to->address, from->address, num * sizeof(*to->address));
	memcpy(to->size, from->size, num * sizeof(*to->size));
	memcpy(to->slack, from->slack, num * sizeof(*to->slack));
	memcpy(to->type, from->type, num * sizeof(*to->type));
	memcpy(to->site, from->site, num * sizeof(*to->site));
	memcpy(to->epoch, from->epoch, num * sizeof(*to->epoch));
	memcpy(to->flags, from->flags, num * sizeof(*to->flags));
	if (from->grounds)
		memcpy(to->grounds, from->grounds, num * sizeof(*to->grounds));
}

/* What is not told of the object itself is its block's. */
static bool add_items(struct expand *expand, const struct hsnap_pool *pool)
{
	struct hsnap_graph *to = &expand->to;
	enum hsnap_confidence sure = hsnap_evidence_confidence((enum hsnap_evidence)pool->evidence);
	for (uint32_t i = 0; i < pool->num_items; i++) {
		hsnap_node_id node = expand->first_item + pool->first_item + i;
		to->address[node] = to->address[pool->node] + pool->header + item_offset(expand->from, pool, i);
		to->type[node] = pool->type;
		to->site[node] = to->site[pool->node];
		to->epoch[node] = to->epoch[pool->node];
		to->flags[node] = (uint8_t)((to->flags[pool->node] & ~HSNAP_FLAG_CONFIDENCE) | (unsigned)sure);
		if (!hsnap_node_set_size(to, node, pool->size, pool->size))
			return false;
	}
	return true;
}

static bool add_nodes(struct expand *expand)
{
	const struct hsnap_graph *from = expand->from;
	struct hsnap_graph *to = &expand->to;
	copy_columns(expand);
	for (size_t i = 0; i < from->big.num; i++)
		if (!hsnap_vec_push(&to->big, from->big.items[i]))
			return false;
	for (size_t i = 0; i < from->roots.num; i++)
		if (!hsnap_vec_push(&to->roots, from->roots.items[i]))
			return false;
	for (size_t p = 0; p < from->pools.num; p++) {
		expand->pool_of[from->pools.items[p].node] = (uint32_t)p + 1;
		if (!add_items(expand, &from->pools.items[p]))
			return false;
	}
	return true;
}

/* ---- edges ---- */

/* Where an edge of a block really begins. */
static hsnap_node_id source_of(const struct expand *expand, const struct hsnap_pool *pool, uint32_t *offset)
{
	uint32_t item = *offset == HSNAP_OFFSET_BEYOND ? UINT32_MAX : hsnap_pool_find(expand->from, pool, *offset);
	if (item == UINT32_MAX)
		return pool->node;
	*offset -= (uint32_t)item_offset(expand->from, pool, item);
	return expand->first_item + pool->first_item + item;
}

/* And where it ends; to be asked of all edges in order. */
static uint32_t target_of(struct expand *expand, uint32_t edge_to)
{
	uint32_t pool = expand->pool_of[edge_to & ~HSNAP_EDGE_WEAK];
	uint32_t item = pool ? expand->from->edge_items.items[expand->edge_item++] : 0;
	if (!item)
		return edge_to;
	return (expand->first_item + expand->from->pools.items[pool - 1].first_item + item - 1) | (edge_to & HSNAP_EDGE_WEAK);
}

static void count_edges(struct expand *expand)
{
	const struct hsnap_graph *from = expand->from;
	for (hsnap_node_id node = 0; node < from->num_nodes; node++) {
		const struct hsnap_pool *pool = expand->pool_of[node] ? &from->pools.items[expand->pool_of[node] - 1] : NULL;
		if (!pool)
			expand->degrees[node] = from->first_edge[node + 1] - from->first_edge[node];
		for (uint32_t e = from->first_edge[node]; pool && e < from->first_edge[node + 1]; e++) {
			uint32_t offset = from->edge_offset[e];
			expand->degrees[source_of(expand, pool, &offset)]++;
		}
	}
	for (size_t p = 0; p < from->pools.num; p++) {
		const struct hsnap_pool *pool = &from->pools.items[p];
		expand->degrees[pool->node] += pool->num_items;
		for (uint32_t i = 0; i < pool->num_items; i++)
			expand->degrees[expand->first_item + pool->first_item + i]++;
	}
}

/* degrees become the places where each node's next edge is put. */
static void place_edges(struct expand *expand)
{
	uint32_t at = 0;
	for (hsnap_node_id node = 0; node < expand->to.num_nodes; node++) {
		expand->to.first_edge[node] = at;
		at += expand->degrees[node];
		expand->degrees[node] = expand->to.first_edge[node];
	}
	expand->to.first_edge[expand->to.num_nodes] = at;
}

static void put_edge(struct expand *expand, hsnap_node_id from, uint32_t to, uint32_t offset)
{
	uint32_t at = expand->degrees[from]++;
	expand->to.edge_to[at] = to;
	expand->to.edge_offset[at] = offset;
}

/* The objects of a pool up to an offset hang on the block: its edges are in order of that. */
static void put_items_before(struct expand *expand, const struct hsnap_pool *pool, uint32_t *item, uint64_t offset)
{
	for (; *item < pool->num_items && item_offset(expand->from, pool, *item) <= offset; ++*item) {
		uint64_t at = item_offset(expand->from, pool, *item);
		put_edge(expand, pool->node, (expand->first_item + pool->first_item + *item) | HSNAP_EDGE_WEAK,
			 at < HSNAP_OFFSET_BEYOND ? (uint32_t)at : HSNAP_OFFSET_BEYOND);
	}
}

static void put_edges(struct expand *expand)
{
	const struct hsnap_graph *from = expand->from;
	for (hsnap_node_id node = 0; node < from->num_nodes; node++) {
		const struct hsnap_pool *pool = expand->pool_of[node] ? &from->pools.items[expand->pool_of[node] - 1] : NULL;
		uint32_t item = 0;
		for (uint32_t e = from->first_edge[node]; e < from->first_edge[node + 1]; e++) {
			uint32_t offset = from->edge_offset[e];
			hsnap_node_id source = node;
			if (pool) {
				put_items_before(expand, pool, &item, offset);
				source = source_of(expand, pool, &offset);
			}
			put_edge(expand, source, target_of(expand, from->edge_to[e]), offset);
		}
		if (pool)
			put_items_before(expand, pool, &item, UINT64_MAX);
	}
	for (size_t p = 0; p < from->pools.num; p++) {
		const struct hsnap_pool *pool = &from->pools.items[p];
		for (uint32_t i = 0; i < pool->num_items; i++)
			put_edge(expand, expand->first_item + pool->first_item + i, pool->node | HSNAP_EDGE_WEAK, HSNAP_OFFSET_BEYOND);
	}
}

/* Take over what nothing is changed of. */
static void finish(struct expand *expand, struct hsnap_graph *graph)
{
	struct hsnap_graph old = *graph;
	expand->to.num_items = (uint32_t)old.items.num;
	memcpy(&expand->to.pools, &old.pools, sizeof(old.pools));
	memcpy(&expand->to.items, &old.items, sizeof(old.items));
	memset(&old.pools, 0, sizeof(old.pools));
	memset(&old.items, 0, sizeof(old.items));
	*graph = expand->to;
	expand->to = old; /* goes with the rest */
}

enum hsnap_code hsnap_graph_expand(struct hsnap_graph *graph, struct hsnap_error *err)
{
	uint64_t items = graph->items.num, edges = graph->num_edges + 2 * items;
	if (!items || !graph->first_edge || graph->num_items)
		return HSNAP_OK;
	if (edges >= UINT32_MAX)
		return hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "too many objects in pools: %llu", (unsigned long long)items);
	hsnap_auto(expand_deinit) struct expand expand = { .from = graph, .first_item = graph->num_nodes, .num_from = graph->num_nodes };
	uint32_t num_blocks = (uint32_t)(graph->num_blocks + items);
	enum hsnap_code code = graph->num_blocks + items >= HSNAP_MAX_NODES
				       ? hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "too many objects in pools: %llu", (unsigned long long)items)
				       : hsnap_graph_alloc_nodes(&expand.to, graph->num_roots, num_blocks, err);
	if (!code && graph->grounds)
		code = hsnap_graph_alloc_grounds(&expand.to, err);
	if (!code)
		code = hsnap_graph_alloc_edges(&expand.to, edges, err);
	if (code)
		return code;
	expand.num_to = expand.to.num_nodes;
	expand.pool_of = hsnap_pages_alloc(expand.num_from, sizeof(*expand.pool_of));
	expand.degrees = hsnap_pages_alloc(expand.num_to, sizeof(*expand.degrees));
	if (!expand.pool_of || !expand.degrees || !add_nodes(&expand))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for %llu objects in pools", (unsigned long long)items);
	count_edges(&expand);
	place_edges(&expand);
	put_edges(&expand);
	finish(&expand, graph);
	return HSNAP_OK;
}
