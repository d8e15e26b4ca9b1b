/* SPDX-License-Identifier: MIT */
/*
 * retention.h - who keeps memory alive: shortest paths from the roots, and what has none.
 *
 * Works on a finished graph: reads no process, prints nothing, keeps no state.
 * Units are bytes and blocks.  Everything here is deterministic: the same
 * snapshot gives the same answer.
 */
#ifndef HSNAP_RETENTION_RETENTION_H
#define HSNAP_RETENTION_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot/snapshot.h"

/* The last hop to a node. */
struct hsnap_last_hop {
	hsnap_node_id parent; /* 0: a root, or the super-root; HSNAP_NO_NODE: unreachable */
	uint32_t edge;        /* that leads here from parent; 0 for roots */
};

/* The tree of shortest paths. */
struct hsnap_paths {
	uint32_t num_nodes, num_reached;
	struct hsnap_last_hop *to; /* one entry a node */
	hsnap_node_id *order;      /* num_reached nodes, roots among them, each behind its parent */
};

/**
 * Find a shortest path to every node.
 *
 * A path with fewer weak hops is shorter than one with more, whatever their
 * lengths; a weak root counts as a weak hop.  A path from a root of kind mapping is longer than
 * any other, so only blocks in the state HSNAP_POSSIBLE have one.  Among paths of one length that of
 * the root wins whose kind comes first (enum hsnap_root_kind), then that of the root at the
 * lowest address, then that whose places lie lowest on the way.
 *
 * @param      graph  with edges; borrowed for the call
 * @param[out] ret    written on success only; release with hsnap_paths_deinit()
 * @return HSNAP_OK, HSNAP_NO_MEMORY
 *
 * Cost: O(nodes + edges) time, 4 bytes a node of scratch memory; the result has 12 a node.
 */
HSNAP_CHECKED enum hsnap_code hsnap_paths_init(const struct hsnap_graph *graph, struct hsnap_paths *ret,
					       struct hsnap_error *err);
void hsnap_paths_deinit(struct hsnap_paths *paths);

/*
 * One line of a path: all blocks that a hop leads to.  Hops that lead back to a
 * type where the path already stands fold: ".next", 0 to 5 times.
 */
struct hsnap_step {
	hsnap_string via;   /* member path: ".buckets", "[*]", "*"; folded: ".left|.right", at most
	                       three and then "..." */
	hsnap_type_id type; /* of what it leads to */
	bool weak;          /* over a weak edge */
	bool folded;        /* repeated min … max times */
	uint32_t min, max;  /* folded: least and most repetitions on the way to a block asked for */
	uint64_t count;     /* different blocks here; folded: those before the first repetition too */
	uint64_t items;     /* ARRAY types: elements in all of them; else 0 */
};

/* All paths of one shape. */
struct hsnap_path {
	uint32_t root;       /* index into graph.roots: the first of them */
	uint64_t num_roots;  /* alike in all but their address */
	uint64_t count, bytes; /* blocks asked for at its end */
	hsnap_node_id sample;  /* one of them: the first in the order of the paths */
	bool weak;           /* it has a weak hop or root */
	uint32_t first_step, num_steps; /* into steps */
};

struct hsnap_site_sum {
	uint32_t site; /* index into stacks */
	hsnap_node_id sample; /* the first of its blocks */
	uint64_t count, bytes;
};

struct hsnap_why {
	struct hsnap_strings strings; /* of vias */
	uint64_t count, bytes;        /* all blocks asked for */
	struct hsnap_vec(struct hsnap_path) paths; /* greatest first */
	struct hsnap_vec(struct hsnap_step) steps;
	uint64_t unreachable_count, unreachable_bytes;
	struct hsnap_vec(struct hsnap_site_sum) sites; /* of the unreachable ones, greatest first */
};

/* The blocks that are asked about. */
struct hsnap_why_what {
	const bool *types;  /* one entry a type: wanted or not; NULL: only `node` */
	hsnap_node_id node; /* where types is NULL */
	bool by_count;      /* rank by blocks and not by bytes */
	size_t most_paths;  /* steps are filled in for so many of the first paths */
};

/**
 * The retention paths of some blocks, merged by shape: the sequence of (member path, type) from
 * the root, folded.  Each block counts once, on its shortest path; the paths' counts and the
 * unreachable add up to `count`.
 *
 * @param      snapshot  with edges; borrowed for the call
 * @param      paths     of its graph
 * @param[out] ret       written on success only; release with hsnap_why_deinit()
 * @return HSNAP_OK, HSNAP_NO_MEMORY
 *
 * Cost: O(nodes + what lies on the paths · steps); 32 bytes a block on the paths and 4 a node.
 */
HSNAP_CHECKED enum hsnap_code hsnap_why_init(const struct hsnap_snapshot *snapshot,
					     const struct hsnap_paths *paths,
					     const struct hsnap_why_what *what, struct hsnap_why *ret,
					     struct hsnap_error *err);
void hsnap_why_deinit(struct hsnap_why *why);

/* What hangs on the heads of a group, by the way that leads there. */
struct hsnap_drag {
	hsnap_string via;   /* ".text", ".list[*].name" */
	hsnap_type_id type;
	bool weak;
	uint32_t max;       /* most repetitions of the last hop; 0: it is no repetition */
	uint64_t count, bytes;
	uint64_t least, most; /* bytes of the smallest and of the largest block */
};

/* Leaked structures whose heads are alike. */
struct hsnap_leak_group {
	hsnap_type_id type; /* of the heads */
	uint32_t site;      /* where the heads were allocated */
	uint64_t heads, head_bytes;
	uint64_t least, most;  /* bytes of the smallest and of the largest head */
	uint64_t count, bytes; /* heads and what hangs on them */
	bool cycle;            /* some head lies in a cycle */
	uint32_t first_drag, num_drags; /* into drags, greatest first */
};

struct hsnap_leaks {
	struct hsnap_strings strings;
	uint64_t count, bytes, heads;
	struct hsnap_vec(struct hsnap_leak_group) groups; /* greatest bytes first */
	struct hsnap_vec(struct hsnap_drag) drags;
};

/**
 * Group the blocks of one state by the structures that they form.
 *
 * A head is a block that no other block of the state points to; of a cycle that nothing outside
 * of it points to, the block at the lowest address.  Every other block hangs on the first head
 * (by address) that is nearest to it, so each counts once.
 *
 * @param      state  HSNAP_UNREACHABLE or HSNAP_POSSIBLE
 * @param[out] ret    written on success only; release with hsnap_leaks_deinit()
 * @return HSNAP_OK, HSNAP_NO_MEMORY
 *
 * Cost: O(nodes + edges of those blocks); 4 bytes a node and 40 a block of the state.
 * Source: Tarjan, Depth-first search and linear graph algorithms (1972), without recursion.
 */
HSNAP_CHECKED enum hsnap_code hsnap_leaks_init(const struct hsnap_snapshot *snapshot,
					       enum hsnap_state state, bool by_count,
					       struct hsnap_leaks *ret, struct hsnap_error *err);
void hsnap_leaks_deinit(struct hsnap_leaks *leaks);

#endif
