/* SPDX-License-Identifier: MIT */
/* walk.c - places: blocks with their shapes, and how often a hop was repeated to reach them. */
#include "retention/walk.h"

void hsnap_walk_deinit(struct hsnap_walk *walk)
{
	hsnap_shapes_deinit(&walk->shapes);
	hsnap_vec_deinit(&walk->places);
}

uint32_t hsnap_walk_begin(struct hsnap_walk *walk, hsnap_node_id node, hsnap_shape_id shape)
{
	struct hsnap_place place = { .node = node, .parent = HSNAP_NO_PLACE, .shape = shape, .entered = HSNAP_NO_PLACE };
	if (shape == HSNAP_NO_SHAPE || !hsnap_vec_push(&walk->places, place))
		return HSNAP_NO_PLACE;
	return (uint32_t)walk->places.num - 1;
}

uint32_t hsnap_walk_take(struct hsnap_walk *walk, uint32_t from, uint32_t edge, bool weak)
{
	const struct hsnap_graph *graph = &walk->shapes.snapshot->graph;
	const struct hsnap_place *parent = &walk->places.items[from];
	hsnap_node_id node = graph->edge_to[edge] & ~HSNAP_EDGE_WEAK;
	hsnap_string via = hsnap_shapes_via(&walk->shapes, parent->node, edge);
	if (via == HSNAP_NO_STRING)
		return HSNAP_NO_PLACE;
	struct hsnap_hop hop = hsnap_shapes_take(&walk->shapes, parent->shape, via, graph->type[node], weak);
	if (hop.shape == HSNAP_NO_SHAPE)
		return HSNAP_NO_PLACE;
	struct hsnap_place place = { .node = node, .parent = from, .shape = hop.shape, .via = hop.via };
	if (hop.up) {
		/* Where the path last stood in the shape it is back at. */
		uint32_t last = from;
		for (uint32_t up = hop.up - 1; up; up--)
			last = walk->places.items[last].entered;
		place.repeats = walk->places.items[last].repeats + 1;
		place.entered = walk->places.items[last].entered;
	} else {
		place.repeats = walk->shapes.items.items[hop.shape].weak_fold ? 1 : 0;
		place.entered = from;
	}
	if (!hsnap_vec_push(&walk->places, place))
		return HSNAP_NO_PLACE;
	return (uint32_t)walk->places.num - 1;
}
