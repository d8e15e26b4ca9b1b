/* SPDX-License-Identifier: MIT */
/* nodes_write.c - a chunk of nodes to its five columns. */
#include <string.h>

#include "snapshot/format/columns.h"

/*
 * The two tables of a chunk, of kinds and of patterns, are our own: each node is looked up in both.
 * With uthash tests/bench/bench_format.c took 0.40 s of processor time to write 2 million blocks
 * with edges instead of 0.32, and without edges 0.17 instead of 0.13.
 */
#define TABLE_MASK (2 * HSNAP_CHUNK_NODES - 1)

/* The most bytes that a node can take in each column. */
#define KIND_BYTES (3 + 5 + 5 + 3 + 1 + 1 + 10 + 10)
#define SIZE_BYTES (1 + 10 + 10)
#define ADDRESS_BYTES (1 + 10)
#define EPOCH_BYTES 3
#define SLOTS_BYTES (1 + 10 + 10 * HSNAP_FEW_EDGES)

static uint64_t slack_of(const struct hsnap_graph *graph, hsnap_node_id node)
{
	if (graph->size[node] != HSNAP_SIZE_BIG)
		return graph->slack[node];
	return hsnap_node_usable(graph, node) - hsnap_node_size(graph, node);
}

static uint32_t find_kind(const struct hsnap_graph *graph, struct hsnap_node_scratch *scratch, hsnap_node_id node)
{
	hsnap_type_id type = graph->type[node];
	uint32_t site = graph->site[node];
	uint16_t grounds = graph->grounds ? graph->grounds[node] : 0;
	uint8_t flags = graph->flags[node];
	uint32_t hash = (type * 0x9e3779b1u) ^ (site * 0x85ebca6bu) ^ ((uint32_t)(grounds << 8 | flags) * 0xc2b2ae35u);
	for (uint32_t at = (hash ^ hash >> 15) & TABLE_MASK;; at = (at + 1) & TABLE_MASK) {
		uint32_t found = scratch->table[at];
		if (!found) {
			scratch->kinds[scratch->num_kinds] =
				(struct hsnap_kind){ .type = type, .site = site, .grounds = grounds, .flags = flags,
						     .fixed = true, .size = hsnap_node_size(graph, node), .slack = slack_of(graph, node) };
			scratch->table[at] = ++scratch->num_kinds;
			return scratch->num_kinds - 1;
		}
		const struct hsnap_kind *kind = &scratch->kinds[found - 1];
		if (kind->type == type && kind->site == site && kind->grounds == grounds && kind->flags == flags)
			return found - 1;
	}
}

/* Which kinds there are, of which node is which, and whose sizes vary. */
static void find_kinds(const struct hsnap_graph *graph, struct hsnap_node_scratch *scratch, hsnap_node_id first,
		       uint32_t num)
{
	memset(scratch->table, 0, sizeof(scratch->table));
	scratch->num_kinds = 0;
	for (uint32_t i = 0; i < num; i++) {
		uint32_t k = find_kind(graph, scratch, first + i);
		struct hsnap_kind *kind = &scratch->kinds[k];
		scratch->kind_of[i] = k;
		if (kind->fixed && (kind->size != hsnap_node_size(graph, first + i) ||
				    kind->slack != slack_of(graph, first + i)))
			kind->fixed = false;
	}
}

static uint8_t *put_kind(uint8_t *out, const struct hsnap_kind *kind)
{
	*out++ = 0;
	out = hsnap_put_varint(out, kind->type);
	out = hsnap_put_varint(out, kind->site);
	out = hsnap_put_varint(out, kind->grounds);
	*out++ = kind->flags;
	*out++ = kind->fixed;
	if (kind->fixed) {
		out = hsnap_put_varint(out, kind->size);
		out = hsnap_put_varint(out, kind->slack);
	}
	return out;
}

static uint8_t *put_size(uint8_t *out, struct hsnap_slack_guess *guess, uint64_t size, uint64_t slack)
{
	uint64_t *guessed = hsnap_guess_slack(guess, size);
	if (*guessed == slack)
		return hsnap_put_varint(out, size + 1);
	*guessed = slack;
	*out++ = 0;
	out = hsnap_put_varint(out, size);
	return hsnap_put_varint(out, slack);
}

static void encode_kinds(const struct hsnap_graph *graph, struct hsnap_node_scratch *scratch, hsnap_node_id first,
			 uint32_t num, struct hsnap_buffer *kinds, struct hsnap_buffer *sizes)
{
	uint8_t *kind_at = hsnap_buffer_room(kinds, (size_t)num * KIND_BYTES);
	uint8_t *size_at = hsnap_buffer_room(sizes, (size_t)num * SIZE_BYTES);
	if (!kind_at || !size_at)
		return;
	struct hsnap_slack_guess guess = { 0 };
	uint32_t known = 0;
	for (uint32_t i = 0; i < num; i++) {
		uint32_t k = scratch->kind_of[i];
		const struct hsnap_kind *kind = &scratch->kinds[k];
		if (k == known) {
			kind_at = put_kind(kind_at, kind);
			known++;
		} else {
			kind_at = hsnap_put_varint(kind_at, k + 1);
		}
		if (!kind->fixed)
			size_at = put_size(size_at, &guess, hsnap_node_size(graph, first + i), slack_of(graph, first + i));
	}
	kinds->num = (size_t)(kind_at - kinds->bytes);
	sizes->num = (size_t)(size_at - sizes->bytes);
}

static void encode_addresses(const struct hsnap_graph *graph, hsnap_node_id first, uint32_t num,
			     struct hsnap_buffer *out)
{
	uint8_t *at = hsnap_buffer_room(out, (size_t)num * ADDRESS_BYTES);
	if (!at)
		return;
	uint64_t end = 0;
	for (hsnap_node_id node = first; node < first + num; node++) {
		uint64_t address = graph->address[node], expected = (end + 15) & ~(uint64_t)15;
		if (address >= expected && !((address - expected) & 15)) {
			at = hsnap_put_varint(at, (address - expected) / 16 << 1);
		} else {
			*at++ = 1;
			at = hsnap_put_varint(at, hsnap_zigzag((int64_t)(address - end)));
		}
		end = address + hsnap_node_usable(graph, node);
	}
	out->num = (size_t)(at - out->bytes);
}

/* Nothing at all where no time is known. */
static void encode_epochs(const struct hsnap_graph *graph, hsnap_node_id first, uint32_t num,
			  struct hsnap_buffer *out)
{
	uint8_t *at = hsnap_buffer_room(out, (size_t)num * EPOCH_BYTES);
	if (!at)
		return;
	uint16_t last = 0, any = 0;
	for (hsnap_node_id node = first; node < first + num; node++) {
		uint16_t epoch = graph->epoch[node];
		at = hsnap_put_varint(at, (uint16_t)hsnap_zigzag((int16_t)(uint16_t)(epoch - last)));
		last = epoch;
		any |= epoch;
	}
	out->num = any ? (size_t)(at - out->bytes) : 0;
}

/* A node's pattern, or what the table has of it. */
struct pattern {
	uint32_t edge, num, weak, hash;
};

static struct pattern pattern_of(const struct hsnap_graph *graph, hsnap_node_id node, uint32_t kind)
{
	struct pattern pattern = { .edge = graph->first_edge[node], .hash = kind * 0x9e3779b1u };
	pattern.num = graph->first_edge[node + 1] - pattern.edge;
	for (uint32_t i = 0; i < pattern.num && pattern.num <= HSNAP_FEW_EDGES; i++) {
		pattern.weak |= (graph->edge_to[pattern.edge + i] >> 31) << i;
		pattern.hash = (pattern.hash ^ graph->edge_offset[pattern.edge + i]) * 0x85ebca6bu;
		pattern.hash ^= pattern.hash >> 13;
	}
	pattern.hash = (pattern.hash ^ pattern.weak ^ pattern.num << 24) * 0xc2b2ae35u;
	pattern.hash ^= pattern.hash >> 15;
	return pattern;
}

static bool same_pattern(const struct hsnap_graph *graph, const struct hsnap_slots *slots,
			 const struct pattern *pattern)
{
	return slots->hash == pattern->hash && slots->num == pattern->num && slots->weak == pattern->weak &&
	       !memcmp(&graph->edge_offset[slots->edge], &graph->edge_offset[pattern->edge],
		       pattern->num * sizeof(*graph->edge_offset));
}

static uint8_t *put_places(uint8_t *at, const struct hsnap_graph *graph, const struct pattern *pattern)
{
	uint64_t expected = 0;
	for (uint32_t i = 0; i < pattern->num; i++) {
		uint32_t offset = graph->edge_offset[pattern->edge + i];
		at = hsnap_put_varint(at, hsnap_place_code(offset, expected, pattern->weak >> i & 1));
		expected = (uint64_t)offset + 8;
	}
	return at;
}

/* The kind's pattern like this one, or NULL: then it is added, unless the kind has enough. */
static const struct hsnap_slots *find_slots(const struct hsnap_graph *graph, struct hsnap_node_scratch *scratch,
					    uint32_t k, const struct pattern *pattern)
{
	struct hsnap_kind *kind = &scratch->kinds[k];
	uint32_t at = pattern->hash & TABLE_MASK;
	for (; scratch->table[at]; at = (at + 1) & TABLE_MASK) {
		const struct hsnap_slots *slots = &scratch->slots[scratch->table[at]];
		/* `next` holds the kind here: writing needs no list. */
		if (slots->next == k && same_pattern(graph, slots, pattern))
			return slots;
	}
	if (kind->num_slots == HSNAP_MAX_SLOTS)
		return NULL;
	scratch->table[at] = ++scratch->num_slots;
	scratch->slots[scratch->num_slots] =
		(struct hsnap_slots){ .edge = pattern->edge, .weak = pattern->weak, .hash = pattern->hash, .next = k,
				      .num = (uint8_t)pattern->num, .rank = (uint8_t)++kind->num_slots };
	return NULL;
}

static void encode_slots(const struct hsnap_graph *graph, struct hsnap_node_scratch *scratch, hsnap_node_id first,
			 uint32_t num, struct hsnap_buffer *out)
{
	memset(scratch->table, 0, sizeof(scratch->table));
	scratch->num_slots = 0;
	for (uint32_t i = 0; i < num; i++) {
		uint8_t *at = hsnap_buffer_room(out, SLOTS_BYTES);
		if (!at)
			return;
		struct pattern pattern = pattern_of(graph, first + i, scratch->kind_of[i]);
		bool few = pattern.num <= HSNAP_FEW_EDGES;
		const struct hsnap_slots *slots =
			few ? find_slots(graph, scratch, scratch->kind_of[i], &pattern) : NULL;
		*at++ = slots ? slots->rank : 0;
		if (!slots)
			at = hsnap_put_varint(at, pattern.num);
		if (!slots && few)
			at = put_places(at, graph, &pattern);
		out->num = (size_t)(at - out->bytes);
	}
}

void hsnap_nodes_encode(const struct hsnap_graph *graph, struct hsnap_node_scratch *scratch,
			hsnap_node_id first, uint32_t num, struct hsnap_buffer out[HSNAP_NODE_COLUMNS])
{
	for (int c = 0; c < HSNAP_NODE_COLUMNS; c++)
		out[c].num = 0;
	find_kinds(graph, scratch, first, num);
	encode_kinds(graph, scratch, first, num, &out[0], &out[1]);
	encode_addresses(graph, first, num, &out[2]);
	encode_epochs(graph, first, num, &out[3]);
	if (graph->first_edge)
		encode_slots(graph, scratch, first, num, &out[4]);
}
