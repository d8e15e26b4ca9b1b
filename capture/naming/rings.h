/* SPDX-License-Identifier: MIT */
/*
 * rings.h - objects inside blocks that are linked with their like, there and back.
 *
 * The proof of a list: where a node's pointer leads, another one leads back.  Who has left a list or was never on one, and
 * a stale pointer to where one was, does not have it.  Private to capture/naming.
 */
#ifndef HSNAP_CAPTURE_NAMING_RINGS_H
#define HSNAP_CAPTURE_NAMING_RINGS_H

#include "capture/naming/inferred.h"

enum hsnap_link_kind {
	HSNAP_LINK_NONE,
	HSNAP_LINK_BOTH, /* two pointers to its like: list_head, ngx_queue_s, _GList */
	HSNAP_LINK_BACK, /* one to its like, and one to where it is pointed to from: hlist_node */
};

/* Where the pointers stand in an object; which of BOTH is the one forward does not matter. */
struct hsnap_link {
	uint64_t next, back;
	uint8_t kind; /* enum hsnap_link_kind */
};

struct hsnap_link hsnap_link_of(struct hsnap_work *work, hsnap_dtype_id type);

enum hsnap_ring_state {
	HSNAP_RING_NONE, /* objects of its type are not linked like that */
	HSNAP_RING_NODE, /* it is on a list */
	HSNAP_RING_OFF,  /* it is on none, though such objects are */
};

/* One an inner. */
struct hsnap_rings {
	uint8_t *state;  /* enum hsnap_ring_state */
	uint32_t *list;  /* of nodes: the same for those of one list, as far as its nodes follow one another here */
};

/**
 * Which inners are on a list.  A type's objects are linked, if half of those are that it is known of.
 *
 * Cost: six words for each.
 */
HSNAP_CHECKED enum hsnap_code hsnap_find_rings(struct hsnap_work *work, const struct hsnap_inners *inners, struct hsnap_rings *ret,
					       struct hsnap_error *err);
void hsnap_rings_deinit(struct hsnap_rings *rings);

#endif
