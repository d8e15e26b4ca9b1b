/* SPDX-License-Identifier: MIT */
/*
 * shapes.h - private to retention/: paths that look alike, as one number.
 *
 * A shape is a path in types: the shape of its parent and one hop.  Taking a hop
 * from a shape gives a shape again, and hops that lead back to a type where the
 * path stands give the one that was there already.  So the shape of every block
 * follows from its parent's in one step, and a list of a million nodes has one.
 */
#ifndef HSNAP_RETENTION_SHAPES_H
#define HSNAP_RETENTION_SHAPES_H

#include "snapshot/snapshot.h"

typedef uint32_t hsnap_shape_id;
#define HSNAP_NO_SHAPE UINT32_MAX

struct hsnap_shape {
	hsnap_shape_id parent; /* HSNAP_NO_SHAPE: where paths begin */
	hsnap_string via;      /* of the hop; of a beginning: its key */
	hsnap_type_id type;
	uint32_t depth;        /* steps from the beginning */
	bool weak;             /* over a weak edge */
	bool weak_fold;        /* weak hops from a type to itself, folded: once at least */
	bool weak_inside;      /* a weak hop was folded into it */
	bool closed;           /* a beginning that is no block: nothing folds back to it */
};

struct hsnap_shapes {
	const struct hsnap_snapshot *snapshot;
	struct hsnap_strings *strings; /* of vias; borrowed */
	struct hsnap_vec(struct hsnap_shape) items;
	struct hsnap_shape_entry *table; /* to their ids */
	struct hsnap_via_entry *vias;    /* (type, offset) to member path */
	bool exact_offsets; /* tell "+200" from "+208" in what has no type, and "[3]" from "[4]" */
};

void hsnap_shapes_deinit(struct hsnap_shapes *shapes);

/* Member path of edge `edge` in node `from`; HSNAP_NO_STRING: out of memory.  "[3]" becomes "[*]", but for exact_offsets. */
hsnap_string hsnap_shapes_via(struct hsnap_shapes *shapes, hsnap_node_id from, uint32_t edge);

/* A beginning; blocks of the same key and type share it.  HSNAP_NO_SHAPE: out of memory. */
hsnap_shape_id hsnap_shapes_begin(struct hsnap_shapes *shapes, hsnap_string key, hsnap_type_id type,
				  bool weak, bool closed);

struct hsnap_hop {
	hsnap_shape_id shape; /* HSNAP_NO_SHAPE: out of memory */
	uint32_t up;          /* entered: 0; folded: 1 + how many shapes were left for an older one */
	hsnap_string via;     /* as it was; of what folds over several shapes: joined */
};

struct hsnap_hop hsnap_shapes_take(struct hsnap_shapes *shapes, hsnap_shape_id from, hsnap_string via,
				   hsnap_type_id type, bool weak);

/* A few different member paths: what repeated hops went over. */
#define HSNAP_MOST_VIAS 3 /* that are told by name */
struct hsnap_vias {
	hsnap_string items[HSNAP_MOST_VIAS + 1]; /* one more than is told */
	uint32_t num;
};

void hsnap_vias_add(struct hsnap_vias *vias, hsnap_string via);
/* ".left|.right", in order of name; "" of none; HSNAP_NO_STRING: out of memory. */
hsnap_string hsnap_vias_join(struct hsnap_vias *vias, struct hsnap_strings *strings);

#endif
