/* SPDX-License-Identifier: MIT */
/*
 * naming.h - from blocks, roots and debug info to a finished graph.
 *
 * Names come from claims (see snapshot/graph/evidence.h for what they rest on); what has no claim gets a
 * truthful label.  No name from size alone, ever.
 */
#ifndef HSNAP_CAPTURE_NAMING_NAMING_H
#define HSNAP_CAPTURE_NAMING_NAMING_H

#include "capture/alloc/heap.h"
#include "capture/naming/evidence.h"
#include "capture/naming/rules.h"
#include "capture/symbols/symbols.h"
#include "snapshot/snapshot.h"

/**
 * Name every block, connect them, and fill the snapshot's modules, types, members, stacks,
 * frames, graph, rows and states.  The facts that the graph does not tell are the caller's.
 *
 * @param symbols  may be NULL: then sites and sizes label the blocks; classes without debug info are added
 * @param rules    the user's, or NULL: HSNAP_REFUSED where they speak of what is not there
 * Cost: O(words of live blocks and roots · log) and a few words a block.
 */
HSNAP_CHECKED enum hsnap_code hsnap_name_and_connect(const struct hsnap_target *target,
						     const struct hsnap_heap *heap,
						     const struct hsnap_roots *roots,
						     struct hsnap_symbols *symbols,
						     const struct hsnap_rules *rules,
						     struct hsnap_snapshot *snapshot,
						     struct hsnap_error *err);

/* Who wants to know what naming is at, to measure it. */
struct hsnap_naming_watch {
	void (*begin)(void *context, const char *part); /* called as each part of it begins, some several times */
	void *context;
};

/* The same, watched; watch may be NULL. */
HSNAP_CHECKED enum hsnap_code hsnap_name_watched(const struct hsnap_target *target, const struct hsnap_heap *heap,
						 const struct hsnap_roots *roots, struct hsnap_symbols *symbols,
						 const struct hsnap_rules *rules, const struct hsnap_naming_watch *watch,
						 struct hsnap_snapshot *snapshot, struct hsnap_error *err);

/* Bytes of memory that this takes at the most of such blocks, more than what there is before; `copy`
 * bytes of what is given back on the way.  Three edges a block are counted on, and a million objects within blocks
 * where these are large enough: of more as many are looked at as there is memory for. */
uint64_t hsnap_naming_need(const struct hsnap_heap *heap, uint64_t copy);

#endif
