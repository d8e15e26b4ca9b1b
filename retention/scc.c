/* SPDX-License-Identifier: MIT */
/*
 * scc.c - strongly connected components of the blocks of one state, and their heads.
 *
 * Blocks have numbers of their own here (1 …, in order of address), so that few
 * leaked blocks in a large heap cost little.
 */
#include "retention/scc.h"

#include <stdlib.h>

#include "snapshot/base/cleanup.h"
#include "snapshot/base/pages.h"

struct frame {
	uint32_t number, edge; /* the next edge to look at */
};

struct tarjan {
	const struct hsnap_graph *graph;
	uint32_t *number_of; /* of each node; 0: of another state */
	hsnap_node_id *node_of; /* of each number */
	uint32_t num;           /* of numbers, 0 included */
	uint32_t *seen;         /* order of discovery, from 1; 0: not yet */
	uint32_t *low;
	uint32_t *component;    /* the lowest number in it; 0: not known yet */
	uint32_t *open, num_open;
	struct frame *frames;
	uint32_t num_frames, clock;
};

static void free_tarjan(struct tarjan *t)
{
	hsnap_pages_free(t->number_of, t->graph->num_nodes, sizeof(*t->number_of));
	free(t->node_of);
	free(t->seen);
	free(t->low);
	free(t->component);
	free(t->open);
	free(t->frames);
}

static bool number_blocks(struct tarjan *t, enum hsnap_state state)
{
	const struct hsnap_graph *graph = t->graph;
	t->number_of = hsnap_pages_alloc(graph->num_nodes, sizeof(*t->number_of));
	if (!t->number_of)
		return false;
	t->num = 1;
	for (hsnap_node_id node = hsnap_first_block(graph); node < graph->num_nodes; node++)
		if (hsnap_node_state(graph, node) == state)
			t->number_of[node] = t->num++;
	t->node_of = calloc(t->num, sizeof(*t->node_of));
	t->seen = calloc(t->num, sizeof(*t->seen));
	t->low = calloc(t->num, sizeof(*t->low));
	t->component = calloc(t->num, sizeof(*t->component));
	t->open = calloc(t->num, sizeof(*t->open));
	t->frames = calloc(t->num, sizeof(*t->frames));
	if (!t->node_of || !t->seen || !t->low || !t->component || !t->open || !t->frames)
		return false;
	for (hsnap_node_id node = hsnap_first_block(graph); node < graph->num_nodes; node++)
		if (t->number_of[node])
			t->node_of[t->number_of[node]] = node;
	return true;
}

static void enter(struct tarjan *t, uint32_t number)
{
	t->seen[number] = t->low[number] = ++t->clock;
	t->open[t->num_open++] = number;
	t->frames[t->num_frames++] = (struct frame){ number, t->graph->first_edge[t->node_of[number]] };
}

/* All edges of the block are done: it may be the last of its component to be so. */
static void leave(struct tarjan *t, uint32_t number)
{
	t->num_frames--;
	if (t->num_frames) {
		uint32_t caller = t->frames[t->num_frames - 1].number;
		if (t->low[number] < t->low[caller])
			t->low[caller] = t->low[number];
	}
	if (t->low[number] != t->seen[number])
		return;
	uint32_t first = t->num_open, lowest = number;
	do {
		first--;
		if (t->open[first] < lowest)
			lowest = t->open[first];
	} while (t->open[first] != number);
	for (uint32_t i = first; i < t->num_open; i++)
		t->component[t->open[i]] = lowest;
	t->num_open = first;
}

static void find_components(struct tarjan *t)
{
	for (uint32_t start = 1; start < t->num; start++) {
		if (t->seen[start])
			continue;
		enter(t, start);
		while (t->num_frames) {
			struct frame *frame = &t->frames[t->num_frames - 1];
			if (frame->edge == t->graph->first_edge[t->node_of[frame->number] + 1]) {
				leave(t, frame->number);
				continue;
			}
			uint32_t to = t->number_of[t->graph->edge_to[frame->edge++] & ~HSNAP_EDGE_WEAK];
			if (!to)
				continue;
			if (!t->seen[to])
				enter(t, to);
			else if (!t->component[to] && t->seen[to] < t->low[frame->number])
				t->low[frame->number] = t->seen[to];
		}
	}
}

enum { HAS_REFERRER = 1, IS_CYCLE = 2 };

/* What edges say of the components they lead to; entry of a component: its lowest number. */
static void look_at_edges(const struct tarjan *t, uint8_t *marks)
{
	for (uint32_t from = 1; from < t->num; from++) {
		hsnap_node_id node = t->node_of[from];
		for (uint32_t e = t->graph->first_edge[node]; e < t->graph->first_edge[node + 1]; e++) {
			uint32_t to = t->number_of[t->graph->edge_to[e] & ~HSNAP_EDGE_WEAK];
			/* What points from object to object in a pool's block is no cycle of blocks. */
			if (to && !(to == from && hsnap_pool_of(t->graph, node)))
				marks[t->component[to]] |= t->component[from] == t->component[to] ? IS_CYCLE : HAS_REFERRER;
		}
	}
}

enum hsnap_code hsnap_heads_find(const struct hsnap_graph *graph, enum hsnap_state state,
				 struct hsnap_heads *ret, struct hsnap_error *err)
{
	hsnap_auto(free_tarjan) struct tarjan t = { .graph = graph };
	struct hsnap_heads heads = { 0 };
	hsnap_auto(hsnap_freep) uint8_t *marks = NULL;
	bool ok = number_blocks(&t, state) && (marks = calloc(t.num, sizeof(*marks)));
	if (ok) {
		find_components(&t);
		look_at_edges(&t, marks);
	}
	for (uint32_t i = 1; ok && i < t.num; i++)
		if (t.component[i] == i && !(marks[i] & HAS_REFERRER))
			ok = hsnap_vec_push(&heads, (struct hsnap_head){ t.node_of[i], marks[i] & IS_CYCLE });
	if (!ok) {
		hsnap_vec_deinit(&heads);
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for %u blocks", t.num);
	}
	*ret = heads;
	return HSNAP_OK;
}
