/* SPDX-License-Identifier: MIT */
/* scc.h - private to retention/: which blocks of a state head the structures they are in. */
#ifndef HSNAP_RETENTION_SCC_H
#define HSNAP_RETENTION_SCC_H

#include "retention/retention.h"

struct hsnap_head {
	hsnap_node_id node;
	bool cycle; /* it can be reached from itself */
};

struct hsnap_heads hsnap_vec_body(struct hsnap_head);

/* The heads among the blocks of a state, in order of address; free with hsnap_vec_deinit(). */
HSNAP_CHECKED enum hsnap_code hsnap_heads_find(const struct hsnap_graph *graph, enum hsnap_state state,
					       struct hsnap_heads *ret, struct hsnap_error *err);

#endif
