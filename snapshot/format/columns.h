/* SPDX-License-Identifier: MIT */
/*
 * columns.h - nodes and edges of the graph to chunks and back.
 *
 * Each function works on one chunk and shares nothing with those that work on
 * others, so they run on all cores.  What a code means is in FORMAT.md; what
 * writer and reader must do alike is in this header.  Private to
 * snapshot/format.
 */
#ifndef HSNAP_SNAPSHOT_FORMAT_COLUMNS_H
#define HSNAP_SNAPSHOT_FORMAT_COLUMNS_H

#include "snapshot/base/bytes.h"
#include "snapshot/format/chunk.h"
#include "snapshot/format/layout.h"
#include "snapshot/snapshot.h"

/* Columns of one chunk of nodes, or of edges, in the order of their sections. */
enum { HSNAP_NODE_COLUMNS = 5, HSNAP_EDGE_COLUMNS = 3 };

/* What nodes of one type, site, grounds and flags have in common, within a chunk. */
struct hsnap_kind {
	hsnap_type_id type;
	uint32_t site;
	uint16_t grounds;
	uint8_t flags;
	bool fixed; /* all are of this size and slack */
	uint64_t size, slack;
	uint32_t first_slots, last_slots, num_slots; /* list of patterns, by index; 0 = none */
};

/* Where the edges of a node stand in it: the pattern of an earlier node. */
struct hsnap_slots {
	uint32_t edge; /* the first edge of that node */
	uint32_t weak; /* a bit an edge */
	uint32_t next; /* in the kind's list */
	uint32_t hash;
	uint8_t num, rank;
};

/* One thread's tables for node chunks. */
struct hsnap_node_scratch {
	struct hsnap_kind kinds[HSNAP_CHUNK_NODES];
	uint32_t num_kinds;
	uint32_t kind_of[HSNAP_CHUNK_NODES];
	struct hsnap_slots slots[HSNAP_CHUNK_NODES + 1]; /* [0] unused */
	uint32_t num_slots;
	uint32_t table[2 * HSNAP_CHUNK_NODES]; /* writing: hash of kinds, then of patterns */
};

/* The slack that goes with a size is the same as the last time, as allocators round sizes up. */
struct hsnap_slack_guess {
	uint64_t slack[48];
};

static inline uint64_t *hsnap_guess_slack(struct hsnap_slack_guess *guess, uint64_t size)
{
	return &guess->slack[size < 32 ? size : 32 + (size & 15)];
}

/* How the target of an edge is coded: a nibble of STEPS, and so many bytes of TARGETS. */
enum hsnap_step {
	HSNAP_STEP_ALIKE,   /* as far from the node as the slot's last target was from its node */
	HSNAP_STEP_SAME,    /* the slot's last target */
	HSNAP_STEP_NEAR_1,  /* difference from the node */
	HSNAP_STEP_AFTER_1, /* difference from the slot's last target */
	HSNAP_STEP_NEAR_2,
	HSNAP_STEP_AFTER_2,
	HSNAP_STEP_TO_3,    /* the target itself */
	HSNAP_STEP_TO_4,
	HSNAP_NUM_STEPS,
};

#define HSNAP_GUESS_SLOTS 15u /* slots from this one on are taken for one: those of an array */

struct hsnap_target_guess {
	uint32_t target, distance;
};

struct hsnap_target_guesses {
	struct hsnap_target_guess slots[4096];
};

static inline struct hsnap_target_guess *hsnap_guess_target(struct hsnap_target_guesses *guesses,
							     hsnap_type_id type, uint32_t slot)
{
	uint32_t key = type << 4 | (slot < HSNAP_GUESS_SLOTS ? slot : HSNAP_GUESS_SLOTS);
	return &guesses->slots[key * 0x9e3779b1u >> 20];
}

/* From where HSNAP_STEP_ALIKE counts: in an array the last element's target. */
static inline uint32_t hsnap_guess_from(const struct hsnap_target_guess *guess, hsnap_node_id node, uint32_t slot)
{
	return slot < HSNAP_GUESS_SLOTS ? node : guess->target;
}

/* An edge's offset against the place behind the edge before it, and its weak bit. */
static inline uint64_t hsnap_place_code(uint32_t offset, uint64_t expected, bool weak)
{
	int64_t gap = (int64_t)(offset - expected);
	if (gap >= 0 && !(gap & 7))
		return (uint64_t)gap / 8 << 2 | weak;
	return hsnap_zigzag(gap) << 2 | 2 | weak;
}

/* The offset as 64 bits: the caller sees whether it fits. */
static inline uint64_t hsnap_place_offset(uint64_t code, uint64_t expected)
{
	return expected + (code & 2 ? (uint64_t)hsnap_unzigzag(code >> 2) : (code >> 2) * 8);
}

/* ---- writing: nodes [first, first + num), edges [first, first + num) ---- */

/* out: KINDS, SIZES, ADDRESSES, EPOCHS, SLOTS.  Check each for `full`. */
void hsnap_nodes_encode(const struct hsnap_graph *graph, struct hsnap_node_scratch *scratch,
			hsnap_node_id first, uint32_t num, struct hsnap_buffer out[HSNAP_NODE_COLUMNS]);
/* out: STEPS, TARGETS, OFFSETS. */
void hsnap_edges_encode(const struct hsnap_graph *graph, struct hsnap_target_guesses *guesses,
			uint64_t first, uint32_t num, struct hsnap_buffer out[HSNAP_EDGE_COLUMNS]);

/* ---- reading, into columns already allocated ---- */

/* What a chunk of nodes is to find, and what it leaves for the chunks around it. */
struct hsnap_nodes_job {
	hsnap_node_id first;
	uint32_t num;
	uint64_t first_edge, num_edges; /* as the index has it; num_edges 0 where edges are not loaded */
	bool edges;                     /* SLOTS are loaded */
	uint32_t num_types, num_sites, num_grounds;
	uint64_t last_address;          /* of the chunk's last block; 0: there is none */
	bool no_memory;
	struct hsnap_vec(struct hsnap_big) big;
};

/* What is wrong with a chunk; NULL: nothing.  *ret_column: which column it was. */
const char *hsnap_nodes_decode(struct hsnap_graph *graph, struct hsnap_node_scratch *scratch,
			       struct hsnap_nodes_job *job, struct hsnap_bytes in[HSNAP_NODE_COLUMNS],
			       unsigned *ret_column);
/* Needs first_edge and type of all nodes. */
const char *hsnap_edges_decode(struct hsnap_graph *graph, struct hsnap_target_guesses *guesses,
			       uint64_t first, uint32_t num, struct hsnap_bytes in[HSNAP_EDGE_COLUMNS],
			       unsigned *ret_column);

/* The node that edge `edge` goes out from: of the graph's nodes the last whose first edge is not after it. */
hsnap_node_id hsnap_edge_source(const struct hsnap_graph *graph, uint64_t edge);

#endif
