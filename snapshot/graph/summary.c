/* SPDX-License-Identifier: MIT */
/* summary.c - which blocks are reached, and the table of types. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/base/cleanup.h"
#include "snapshot/base/pages.h"
#include "snapshot/snapshot.h"

static void set_state(struct hsnap_graph *graph, hsnap_node_id node, enum hsnap_state state)
{
	graph->flags[node] = (uint8_t)((graph->flags[node] & ~HSNAP_FLAG_STATE) |
				       (unsigned)state << HSNAP_FLAG_STATE_SHIFT);
}

/* Memory between blocks whose heads were written over: where in it others begin nobody knows, so that no pointer into it
 * may be missed. */
static bool is_lost(const struct hsnap_graph *graph, hsnap_node_id node)
{
	return graph->flags[node] & HSNAP_FLAG_NO_RECORD && graph->flags[node] & HSNAP_FLAG_OVERRUN;
}

/* Breadth first from the roots for which (kind is MAPPING) == mappings, with those from what is lost.  What is not
 * UNREACHABLE was visited; `queue` has room for every node. */
static void flood(struct hsnap_graph *graph, bool mappings, enum hsnap_state state, hsnap_node_id *queue)
{
	size_t head = 0, tail = 0;
	for (uint32_t r = 0; r < graph->num_roots; r++) {
		hsnap_node_id node = 1 + r;
		if ((graph->roots.items[r].kind == HSNAP_ROOT_MAPPING) != mappings ||
		    hsnap_node_state(graph, node) != HSNAP_UNREACHABLE)
			continue;
		set_state(graph, node, state);
		queue[tail++] = node;
	}
	for (hsnap_node_id node = hsnap_first_block(graph); mappings && node < graph->num_nodes; node++) {
		if (!is_lost(graph, node) || hsnap_node_state(graph, node) != HSNAP_UNREACHABLE)
			continue;
		set_state(graph, node, state);
		queue[tail++] = node;
	}
	while (head < tail) {
		hsnap_node_id from = queue[head++];
		for (uint32_t e = graph->first_edge[from]; e < graph->first_edge[from + 1]; e++) {
			hsnap_node_id to = graph->edge_to[e] & ~HSNAP_EDGE_WEAK;
			if (hsnap_node_state(graph, to) != HSNAP_UNREACHABLE)
				continue;
			set_state(graph, to, state);
			queue[tail++] = to;
		}
	}
}

enum hsnap_code hsnap_snapshot_mark(struct hsnap_snapshot *snapshot, struct hsnap_error *err)
{
	struct hsnap_graph *graph = &snapshot->graph;
	if (!graph->first_edge)
		return HSNAP_OK;
	hsnap_node_id *queue = hsnap_pages_alloc(graph->num_nodes, sizeof(*queue));
	if (!queue)
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for %u blocks", graph->num_blocks);
	for (hsnap_node_id node = 1; node < graph->num_nodes; node++)
		set_state(graph, node, HSNAP_UNREACHABLE);
	flood(graph, false, HSNAP_LIVE, queue);
	flood(graph, true, HSNAP_POSSIBLE, queue);
	hsnap_pages_free(queue, graph->num_nodes, sizeof(*queue));
	return HSNAP_OK;
}

static int compare_numbers(uint64_t left, uint64_t right)
{
	return left < right ? 1 : left > right ? -1 : 0; /* greatest first */
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct hsnap_snapshot *snapshot = context;
	const struct hsnap_row *left = a, *right = b;
	const struct hsnap_type *types = snapshot->types.items;
	int order = compare_numbers(left->bytes, right->bytes);
	if (!order)
		order = compare_numbers(left->count, right->count);
	if (!order)
		order = strcmp(hsnap_text(snapshot, types[left->type].name),
			       hsnap_text(snapshot, types[right->type].name));
	if (!order)
		order = strcmp(hsnap_text(snapshot, types[left->type].holder),
			       hsnap_text(snapshot, types[right->type].holder));
	if (!order)
		order = compare_numbers(right->type, left->type);
	return order ? order : compare_numbers(right->state, left->state);
}

/* The row of the type and state, made on first use; NULL: out of memory. */
static struct hsnap_row *row_of(struct hsnap_snapshot *snapshot, uint32_t *row_of_pair,
				hsnap_type_id type, enum hsnap_state state)
{
	uint32_t *slot = &row_of_pair[(size_t)type * HSNAP_NUM_STATES + state];
	if (!*slot) {
		if (!hsnap_vec_push(&snapshot->rows, (struct hsnap_row){ .type = type, .state = (uint8_t)state }))
			return NULL;
		*slot = (uint32_t)snapshot->rows.num;
	}
	return &snapshot->rows.items[*slot - 1];
}

static void add_block(const struct hsnap_snapshot *snapshot, hsnap_node_id node, struct hsnap_row *row)
{
	const struct hsnap_graph *graph = &snapshot->graph;
	const struct hsnap_type *type = &snapshot->types.items[row->type];
	uint64_t size = hsnap_node_size(graph, node);
	if (!row->count++)
		row->sample = graph->address[node];
	row->bytes += size;
	row->usable += hsnap_node_usable(graph, node);
	row->bytes_by_confidence[hsnap_node_confidence(graph, node)] += size;
	if (graph->flags[node] & HSNAP_FLAG_NO_RECORD)
		row->no_record++;
	if (type->kind != HSNAP_TYPE_ARRAY)
		return;
	uint64_t each = snapshot->types.items[type->element].size;
	if (each)
		row->items += size / each;
}

/* By what rows of objects in pools are told apart. */
static int compare_item_rows(const void *a, const void *b)
{
	const struct hsnap_item_row *x = a, *y = b;
	uint32_t left[] = { x->pool, x->state, x->type, x->confidence }, right[] = { y->pool, y->state, y->type, y->confidence };
	for (size_t i = 0; i < sizeof(left) / sizeof(*left); i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

static void join_item_rows(struct hsnap_snapshot *snapshot)
{
	struct hsnap_item_row *rows = snapshot->item_rows.items;
	size_t kept = 0;
	if (snapshot->item_rows.num)
		qsort(rows, snapshot->item_rows.num, sizeof(*rows), compare_item_rows);
	for (size_t i = 0; i < snapshot->item_rows.num; i++) {
		if (!kept || compare_item_rows(&rows[kept - 1], &rows[i])) {
			rows[kept++] = rows[i];
			continue;
		}
		rows[kept - 1].count += rows[i].count;
		rows[kept - 1].bytes += rows[i].bytes;
		if (rows[i].sample < rows[kept - 1].sample)
			rows[kept - 1].sample = rows[i].sample;
	}
	snapshot->item_rows.num = kept;
}

/* Bytes of objects in pools are as sure as those are. */
static bool add_pools(struct hsnap_snapshot *snapshot, const uint32_t *row_of_pair)
{
	const struct hsnap_graph *graph = &snapshot->graph;
	snapshot->item_rows.num = 0;
	for (size_t i = 0; i < graph->pools.num; i++) {
		const struct hsnap_pool *pool = &graph->pools.items[i];
		uint64_t bytes = pool->size * pool->num_items, size = hsnap_node_size(graph, pool->node);
		enum hsnap_confidence confidence = hsnap_node_confidence(graph, pool->node);
		struct hsnap_item_row item = { .pool = graph->type[pool->node], .type = pool->type, .count = pool->num_items,
					       .state = (uint8_t)hsnap_node_state(graph, pool->node) };
		item.confidence = (uint8_t)hsnap_evidence_confidence((enum hsnap_evidence)pool->evidence);
		item.bytes = bytes < size ? bytes : size;
		item.sample = graph->address[pool->node] + pool->header + pool->first +
			      pool->stride * graph->items.items[pool->first_item];
		if (!hsnap_vec_push(&snapshot->item_rows, item))
			return false;
		struct hsnap_row *row = &snapshot->rows.items[row_of_pair[(size_t)item.pool * HSNAP_NUM_STATES + item.state] - 1];
		if (snapshot->types.items[row->type].kind == HSNAP_TYPE_LABEL)
			row->items += pool->num_items;
		if (item.confidence <= confidence)
			continue;
		row->bytes_by_confidence[confidence] -= item.bytes;
		row->bytes_by_confidence[item.confidence] += item.bytes;
	}
	join_item_rows(snapshot);
	return true;
}

static void sum_facts(struct hsnap_snapshot *snapshot)
{
	struct hsnap_facts *facts = &snapshot->facts;
	facts->heap_bytes = facts->heap_usable = facts->heap_count = facts->no_record = 0;
	memset(facts->bytes_by_confidence, 0, sizeof(facts->bytes_by_confidence));
	for (size_t i = 0; i < snapshot->rows.num; i++) {
		const struct hsnap_row *row = &snapshot->rows.items[i];
		facts->heap_bytes += row->bytes;
		facts->heap_usable += row->usable;
		facts->heap_count += row->count;
		facts->no_record += row->no_record;
		for (int c = 0; c < HSNAP_NUM_CONFIDENCES; c++)
			facts->bytes_by_confidence[c] += row->bytes_by_confidence[c];
	}
}

/* The row of a type and state; NULL: there is none. */
static struct hsnap_row *find_row(struct hsnap_snapshot *snapshot, hsnap_type_id type, uint8_t state)
{
	for (size_t i = 0; i < snapshot->rows.num; i++)
		if (snapshot->rows.items[i].type == type && snapshot->rows.items[i].state == state)
			return &snapshot->rows.items[i];
	return NULL;
}

static uint64_t less(uint64_t *from, uint64_t bytes)
{
	uint64_t taken = *from < bytes ? *from : bytes;
	*from -= taken;
	return bytes - taken;
}

/* What the objects take goes from the row of their blocks to their own; of hostile numbers no more than there is. */
static bool move_items(struct hsnap_snapshot *snapshot, const struct hsnap_item_row *item)
{
	struct hsnap_row *pool = find_row(snapshot, item->pool, item->state);
	uint64_t bytes = pool ? item->bytes - less(&pool->bytes, item->bytes) : 0, left = bytes;
	if (!pool)
		return true;
	less(&pool->usable, bytes);
	pool->items = 0;
	left = less(&pool->bytes_by_confidence[item->confidence], left);
	for (int c = HSNAP_NUM_CONFIDENCES - 1; c >= 0; c--)
		left = less(&pool->bytes_by_confidence[c], left);
	struct hsnap_row *own = find_row(snapshot, item->type, item->state);
	if (!own) {
		if (!hsnap_vec_push(&snapshot->rows, (struct hsnap_row){ .type = item->type, .state = item->state }))
			return false;
		own = &snapshot->rows.items[snapshot->rows.num - 1];
	}
	if (!own->sample || item->sample < own->sample)
		own->sample = item->sample;
	own->count += item->count;
	own->bytes += bytes;
	own->usable += bytes;
	own->bytes_by_confidence[item->confidence] += bytes;
	return true;
}

enum hsnap_code hsnap_snapshot_expand_rows(struct hsnap_snapshot *snapshot, struct hsnap_error *err)
{
	for (size_t i = 0; i < snapshot->item_rows.num; i++)
		if (!move_items(snapshot, &snapshot->item_rows.items[i]))
			return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the table of types");
	snapshot->item_rows.num = 0;
	if (snapshot->rows.num)
		qsort_r(snapshot->rows.items, snapshot->rows.num, sizeof(*snapshot->rows.items), compare_rows, snapshot);
	return HSNAP_OK;
}

enum hsnap_code hsnap_snapshot_summarize(struct hsnap_snapshot *snapshot, struct hsnap_error *err)
{
	const struct hsnap_graph *graph = &snapshot->graph;
	hsnap_auto(hsnap_freep) uint32_t *row_of_pair =
		calloc(snapshot->types.num, HSNAP_NUM_STATES * sizeof(*row_of_pair));
	if (!row_of_pair)
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the table of types");
	snapshot->rows.num = 0;
	uint64_t overruns = 0;
	for (hsnap_node_id node = hsnap_first_block(graph); node < graph->num_nodes; node++) {
		assert(graph->type[node] < snapshot->types.num);
		struct hsnap_row *row =
			row_of(snapshot, row_of_pair, graph->type[node], hsnap_node_state(graph, node));
		if (!row)
			return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the table of types");
		add_block(snapshot, node, row);
		overruns += (graph->flags[node] & HSNAP_FLAG_OVERRUN) != 0;
	}
	if (!add_pools(snapshot, row_of_pair))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the table of types");
	if (snapshot->rows.num)
		qsort_r(snapshot->rows.items, snapshot->rows.num, sizeof(*snapshot->rows.items), compare_rows,
			snapshot);
	sum_facts(snapshot);
	/* Of some that the agent has counted nobody knows which they are. */
	if (snapshot->facts.overruns < overruns)
		snapshot->facts.overruns = overruns;
	return HSNAP_OK;
}
