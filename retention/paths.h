/* SPDX-License-Identifier: MIT */
/* paths.h - private to retention/: shortest paths that start at blocks instead of roots. */
#ifndef HSNAP_RETENTION_PATHS_H
#define HSNAP_RETENTION_PATHS_H

#include "retention/retention.h"

/* Shortest paths from the starts to the blocks of one state, and over no others.  Parent of a
 * start is 0, as is that of every node of another state; `order` has those that were reached. */
HSNAP_CHECKED enum hsnap_code hsnap_paths_from(const struct hsnap_graph *graph, const hsnap_node_id *starts,
					       uint32_t num_starts, enum hsnap_state state,
					       struct hsnap_paths *ret, struct hsnap_error *err);

#endif
