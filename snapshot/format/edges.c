/* SPDX-License-Identifier: MIT */
/* edges.c - a chunk of edges to its three columns and back. */
#include <string.h>

#include "snapshot/format/columns.h"
#include "snapshot/format/varint.h"

enum { STEPS, TARGETS, OFFSETS };

hsnap_node_id hsnap_edge_source(const struct hsnap_graph *graph, uint64_t edge)
{
	uint32_t low = 0, high = graph->num_nodes;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (graph->first_edge[middle] <= edge)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The edges of one node that lie in the chunk. */
struct piece {
	hsnap_node_id node;
	uint64_t from, to;
	uint32_t slot; /* of the first */
	bool many;     /* the node's offsets are in OFFSETS */
};

static struct piece piece_of(const struct hsnap_graph *graph, hsnap_node_id node, uint64_t edge, uint64_t end)
{
	uint64_t first = graph->first_edge[node], next = graph->first_edge[node + 1];
	return (struct piece){ .node = node, .from = edge, .to = next < end ? next : end,
			       .slot = (uint32_t)(edge - first), .many = next - first > HSNAP_FEW_EDGES };
}

/* ---- writing ---- */

static uint32_t zigzag32(uint32_t difference)
{
	return difference << 1 ^ (uint32_t)-(difference >> 31);
}

static enum hsnap_step choose_step(const struct hsnap_target_guess *guess, hsnap_node_id node, uint32_t slot,
				   uint32_t target, uint32_t *ret_value)
{
	if (target == hsnap_guess_from(guess, node, slot) + guess->distance)
		return HSNAP_STEP_ALIKE;
	if (target == guess->target)
		return HSNAP_STEP_SAME;
	uint32_t near = zigzag32(target - node), after = zigzag32(target - guess->target);
	*ret_value = near;
	if (near <= UINT8_MAX)
		return HSNAP_STEP_NEAR_1;
	if (near <= UINT16_MAX && after > UINT8_MAX)
		return HSNAP_STEP_NEAR_2;
	*ret_value = after;
	if (after <= UINT8_MAX)
		return HSNAP_STEP_AFTER_1;
	if (after <= UINT16_MAX)
		return HSNAP_STEP_AFTER_2;
	*ret_value = target;
	return target < 1u << 24 ? HSNAP_STEP_TO_3 : HSNAP_STEP_TO_4;
}

static const uint8_t step_bytes[HSNAP_NUM_STEPS] = { 0, 0, 1, 1, 2, 2, 3, 4 };

void hsnap_edges_encode(const struct hsnap_graph *graph, struct hsnap_target_guesses *guesses,
			uint64_t first, uint32_t num, struct hsnap_buffer out[HSNAP_EDGE_COLUMNS])
{
	for (int c = 0; c < HSNAP_EDGE_COLUMNS; c++)
		out[c].num = 0;
	uint8_t *steps = hsnap_buffer_room(&out[STEPS], (num + 1) / 2);
	uint8_t *at = hsnap_buffer_room(&out[TARGETS], (size_t)num * 4);
	uint8_t *offset_at = hsnap_buffer_room(&out[OFFSETS], (size_t)num * 10);
	if (!steps || !at || !offset_at)
		return;
	memset(guesses, 0, sizeof(*guesses));
	memset(steps, 0, (num + 1) / 2);
	uint64_t edge = first, end = first + num;
	for (hsnap_node_id node = hsnap_edge_source(graph, first); edge < end; node++) {
		struct piece piece = piece_of(graph, node, edge, end);
		uint64_t expected = 0;
		for (; edge < piece.to; edge++, piece.slot++) {
			uint32_t target = graph->edge_to[edge] & ~HSNAP_EDGE_WEAK, value = 0;
			struct hsnap_target_guess *guess = hsnap_guess_target(guesses, graph->type[node], piece.slot);
			enum hsnap_step step = choose_step(guess, node, piece.slot, target, &value);
			steps[(edge - first) / 2] |= (uint8_t)(step << ((edge - first) & 1) * 4);
			for (uint8_t i = 0; i < step_bytes[step]; i++)
				*at++ = (uint8_t)(value >> i * 8);
			guess->distance = target - hsnap_guess_from(guess, node, piece.slot);
			guess->target = target;
			if (!piece.many)
				continue;
			uint32_t offset = graph->edge_offset[edge];
			bool weak = graph->edge_to[edge] & HSNAP_EDGE_WEAK;
			offset_at = hsnap_put_varint(offset_at, hsnap_place_code(offset, expected, weak));
			expected = (uint64_t)offset + 8;
		}
	}
	out[STEPS].num = (num + 1) / 2;
	out[TARGETS].num = (size_t)(at - out[TARGETS].bytes);
	out[OFFSETS].num = (size_t)(offset_at - out[OFFSETS].bytes);
}

/* ---- reading ---- */

/* The next `len` bytes, least first; one load where four bytes are left. */
static inline uint32_t next_little(struct input *in, uint8_t len)
{
	static const uint32_t masks[] = { 0, 0xff, 0xffff, 0xffffff, 0xffffffff };
	uint32_t value = 0;
	if (in->end - in->at >= 4) {
		memcpy(&value, in->at, 4);
		in->at += len;
		return value & masks[len];
	}
	if (in->end - in->at < len) {
		in->bad = true;
		return 0;
	}
	for (uint8_t i = 0; i < len; i++)
		value |= (uint32_t)*in->at++ << i * 8;
	return value;
}

static inline uint32_t unzigzag32(uint32_t code)
{
	return code >> 1 ^ (uint32_t)-(code & 1);
}

static inline uint32_t next_target(struct input *in, uint8_t step, const struct hsnap_target_guess *guess,
				   uint32_t from, hsnap_node_id node)
{
	uint32_t value = next_little(in, step_bytes[step]);
	switch (step) {
	case HSNAP_STEP_ALIKE:
		return from + guess->distance;
	case HSNAP_STEP_SAME:
		return guess->target;
	case HSNAP_STEP_NEAR_1:
	case HSNAP_STEP_NEAR_2:
		return node + unzigzag32(value);
	case HSNAP_STEP_AFTER_1:
	case HSNAP_STEP_AFTER_2:
		return guess->target + unzigzag32(value);
	default:
		return value;
	}
}

/* Offset and weak bit of one edge of a node with many. */
static const char *read_offset(struct hsnap_graph *graph, struct input *in, uint64_t edge, uint64_t *expected,
			       uint32_t *last, uint32_t *ret_weak)
{
	uint64_t code = next_varint(in), offset = hsnap_place_offset(code, *expected);
	if (offset > UINT32_MAX || offset < *last)
		return "edges are not in order of their offsets";
	graph->edge_offset[edge] = *last = (uint32_t)offset;
	*expected = offset + 8;
	*ret_weak = code & 1 ? HSNAP_EDGE_WEAK : 0;
	return NULL;
}

const char *hsnap_edges_decode(struct hsnap_graph *graph, struct hsnap_target_guesses *guesses,
			       uint64_t first, uint32_t num, struct hsnap_bytes in[HSNAP_EDGE_COLUMNS],
			       unsigned *ret_column)
{
	*ret_column = STEPS;
	if (hsnap_bytes_left(&in[STEPS]) != (num + 1) / 2)
		return "it does not fit the number of edges";
	const uint8_t *steps = in[STEPS].at;
	struct input targets = input_of(&in[TARGETS]), offsets = input_of(&in[OFFSETS]);
	memset(guesses, 0, sizeof(*guesses));
	uint64_t edge = first, end = first + num;
	for (hsnap_node_id node = hsnap_edge_source(graph, first); edge < end; node++) {
		struct piece piece = piece_of(graph, node, edge, end);
		hsnap_type_id type = graph->type[node];
		uint64_t expected = 0;
		uint32_t last = 0;
		for (; edge < piece.to; edge++, piece.slot++) {
			uint8_t step = steps[(edge - first) / 2] >> ((edge - first) & 1) * 4 & 15;
			*ret_column = STEPS;
			if (step >= HSNAP_NUM_STEPS)
				return "a step has no meaning";
			struct hsnap_target_guess *guess = hsnap_guess_target(guesses, type, piece.slot);
			uint32_t from = hsnap_guess_from(guess, node, piece.slot);
			uint32_t target = next_target(&targets, step, guess, from, node);
			*ret_column = TARGETS;
			if (target - 1 >= graph->num_nodes - 1)
				return targets.bad ? "it ends too soon" : "an edge leads nowhere";
			guess->distance = target - from;
			guess->target = target;
			uint32_t weak = graph->edge_to[edge] & HSNAP_EDGE_WEAK;
			*ret_column = OFFSETS;
			const char *wrong = piece.many ? read_offset(graph, &offsets, edge, &expected, &last, &weak) : NULL;
			if (wrong)
				return wrong;
			graph->edge_to[edge] = target | weak;
		}
	}
	*ret_column = TARGETS;
	if (targets.bad || targets.at != targets.end)
		return targets.bad ? "it ends too soon" : "bytes are left over";
	*ret_column = OFFSETS;
	return offsets.bad ? "it ends too soon" : offsets.at != offsets.end ? "bytes are left over" : NULL;
}
