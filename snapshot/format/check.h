/* SPDX-License-Identifier: MIT */
/*
 * check.h - what a snapshot promises to those who use it.
 *
 * The reader holds a file against it, and the writer a graph before it is
 * written: nothing is written that could not be read again.  Each answers NULL,
 * or what is wrong.  Private to snapshot/format.
 */
#ifndef HSNAP_SNAPSHOT_FORMAT_CHECK_H
#define HSNAP_SNAPSHOT_FORMAT_CHECK_H

#include "snapshot/snapshot.h"

/* Modules, types, rows; with `members` also members, stacks, frames, roots and the objects of pools.  Indices in range,
 * no type within itself.  *ret_no_memory: the check itself failed. */
const char *hsnap_check_table(const struct hsnap_snapshot *snapshot, bool members, bool *ret_no_memory);
/* That the columns are there and begin and end as they must. */
const char *hsnap_check_graph(const struct hsnap_snapshot *snapshot);
/* Nodes [first, first + num), against the node before too. */
const char *hsnap_check_nodes(const struct hsnap_snapshot *snapshot, hsnap_node_id first, uint32_t num);
/* Edges of the nodes [first, first + num). */
const char *hsnap_check_edges(const struct hsnap_snapshot *snapshot, hsnap_node_id first, uint32_t num);

/* That pools lie in their blocks, and edges to them lead to objects that are there; after all of the above. */
const char *hsnap_check_pools(const struct hsnap_snapshot *snapshot);

bool hsnap_sane_flags(uint8_t flags);
/* 0 needs no table. */
bool hsnap_sane_grounds(uint64_t grounds, size_t num);
bool hsnap_sane_size(uint64_t size, uint64_t slack);

#endif
