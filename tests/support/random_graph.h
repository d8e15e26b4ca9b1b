/* SPDX-License-Identifier: MIT */
/* random_graph.h - snapshots with all that is allowed in one, by a seed. */
#ifndef HSNAP_TESTS_SUPPORT_RANDOM_GRAPH_H
#define HSNAP_TESTS_SUPPORT_RANDOM_GRAPH_H

#include "snapshot/snapshot.h"

/* xorshift64*: the same numbers everywhere. */
struct random {
	uint64_t state; /* not 0 */
};

uint64_t random_next(struct random *random);
/* Less than `bound`; 0 for 0. */
uint64_t random_below(struct random *random, uint64_t bound);

/* What the values are like. */
enum random_style {
	RANDOM_HEAP, /* as an allocator and programs make them */
	RANDOM_WILD, /* anything in range, the greatest values too */
};

struct random_shape {
	uint64_t seed;
	enum random_style style;
	uint32_t num_roots, num_blocks, num_types, num_stacks;
	uint32_t num_edges; /* about as many; 0: a graph with edges none */
	uint32_t crowd;     /* not 0: one block has this many edges besides */
	bool no_edges;      /* a graph without columns of edges */
	bool no_account;
};

/* For hsnap_snapshot_destroy(); ends the program where memory is short. */
struct hsnap_snapshot *random_snapshot(const struct random_shape *shape);

#endif
