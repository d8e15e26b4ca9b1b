/* SPDX-License-Identifier: MIT */
/*
 * walk.h - private to retention/: the blocks that lie on some paths, each with its shape.
 *
 * Only these are looked at, under numbers of their own (places) in the order of
 * the paths, so that a question about few blocks of a large heap stays small.
 */
#ifndef HSNAP_RETENTION_WALK_H
#define HSNAP_RETENTION_WALK_H

#include "retention/shapes.h"

struct hsnap_place {
	hsnap_node_id node;
	uint32_t parent;      /* place; HSNAP_NO_PLACE: a beginning */
	hsnap_shape_id shape;
	uint32_t repeats;     /* folded hops since the shape was entered */
	uint32_t entered;     /* the place of the parent shape where it was entered */
	hsnap_string via;     /* of the hop that leads here */
};

#define HSNAP_NO_PLACE UINT32_MAX

struct hsnap_walk {
	struct hsnap_shapes shapes;
	struct hsnap_vec(struct hsnap_place) places;
};

void hsnap_walk_deinit(struct hsnap_walk *walk);

/* A beginning; its place, or HSNAP_NO_PLACE: out of memory. */
uint32_t hsnap_walk_begin(struct hsnap_walk *walk, hsnap_node_id node, hsnap_shape_id shape);
/* The place of the block at the end of an edge from a place. */
uint32_t hsnap_walk_take(struct hsnap_walk *walk, uint32_t from, uint32_t edge, bool weak);

#endif
