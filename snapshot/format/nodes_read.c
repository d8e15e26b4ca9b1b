/* SPDX-License-Identifier: MIT */
/* nodes_read.c - the five columns of a chunk of nodes to the graph's. */
#include "snapshot/format/check.h"
#include "snapshot/format/columns.h"
#include "snapshot/format/varint.h"

enum { KINDS, SIZES, ADDRESSES, EPOCHS, SLOTS };

static const char *const short_text = "it ends too soon";
static const char *const long_text = "bytes are left over";

static const char *finished(const struct input *in)
{
	return in->bad ? short_text : in->at != in->end ? long_text : NULL;
}

static bool define_kind(struct input *in, const struct hsnap_nodes_job *job, struct hsnap_kind *kind)
{
	uint64_t type = next_varint(in), site = next_varint(in), grounds = next_varint(in);
	*kind = (struct hsnap_kind){ .type = (hsnap_type_id)type, .site = (uint32_t)site, .grounds = (uint16_t)grounds };
	kind->flags = next_byte(in);
	uint8_t fixed = next_byte(in);
	kind->fixed = fixed;
	if (fixed) {
		kind->size = next_varint(in);
		kind->slack = next_varint(in);
	}
	return !in->bad && type < job->num_types && site < job->num_sites &&
	       hsnap_sane_grounds(grounds, job->num_grounds) && fixed <= 1 && hsnap_sane_flags(kind->flags) && hsnap_sane_size(kind->size, kind->slack);
}

static bool read_size(struct input *in, struct hsnap_slack_guess *guess, uint64_t *size, uint64_t *slack)
{
	uint64_t code = next_varint(in);
	*size = code ? code - 1 : next_varint(in);
	uint64_t *guessed = hsnap_guess_slack(guess, *size);
	if (!code)
		*guessed = next_varint(in);
	*slack = *guessed;
	return hsnap_sane_size(*size, *slack);
}

static bool set_size(struct hsnap_graph *graph, struct hsnap_nodes_job *job, hsnap_node_id node, uint64_t size,
		     uint64_t slack)
{
	if (size < HSNAP_SIZE_BIG && slack <= UINT8_MAX) {
		graph->size[node] = (uint32_t)size;
		graph->slack[node] = (uint8_t)slack;
		return true;
	}
	graph->size[node] = HSNAP_SIZE_BIG;
	job->no_memory = !hsnap_vec_push(&job->big, (struct hsnap_big){ .node = node, .size = size, .slack = slack });
	return !job->no_memory;
}

static const char *decode_kinds(struct hsnap_graph *graph, struct hsnap_node_scratch *scratch,
				struct hsnap_nodes_job *job, struct hsnap_bytes in[HSNAP_NODE_COLUMNS],
				unsigned *ret_column)
{
	struct input kinds = input_of(&in[KINDS]), sizes = input_of(&in[SIZES]);
	struct hsnap_slack_guess guess = { 0 };
	scratch->num_kinds = 0;
	*ret_column = KINDS;
	for (uint32_t i = 0; i < job->num; i++) {
		hsnap_node_id node = job->first + i;
		uint64_t k = next_varint(&kinds);
		if (k > scratch->num_kinds)
			return "a kind was not defined before";
		if (!k) {
			k = ++scratch->num_kinds;
			if (!define_kind(&kinds, job, &scratch->kinds[k - 1]))
				return kinds.bad ? short_text : "a type, call site, its grounds, a size or flag is out of range";
		}
		const struct hsnap_kind *kind = &scratch->kinds[k - 1];
		scratch->kind_of[i] = (uint32_t)k - 1;
		graph->type[node] = kind->type;
		graph->site[node] = kind->site;
		graph->flags[node] = kind->flags;
		if (graph->grounds)
			graph->grounds[node] = kind->grounds;
		uint64_t size = kind->size, slack = kind->slack;
		if (!kind->fixed && !read_size(&sizes, &guess, &size, &slack)) {
			*ret_column = SIZES;
			return "a size is out of range";
		}
		if (!set_size(graph, job, node, size, slack))
			return "out of memory";
	}
	const char *wrong = finished(&kinds);
	if (wrong)
		return wrong;
	*ret_column = SIZES;
	return finished(&sizes);
}

static const char *decode_addresses(struct hsnap_graph *graph, struct hsnap_nodes_job *job, struct hsnap_bytes *bytes)
{
	struct input in = input_of(bytes);
	uint64_t end = 0, last = 0;
	size_t big = 0;
	for (hsnap_node_id node = job->first; node < job->first + job->num; node++) {
		uint64_t code = next_varint(&in), address, usable = (uint64_t)graph->size[node] + graph->slack[node];
		if (!(code & 1))
			address = ((end + 15) & ~(uint64_t)15) + (code >> 1) * 16;
		else if (code == 1)
			address = end + (uint64_t)hsnap_unzigzag(next_varint(&in));
		else
			return "a gap has no meaning";
		if (graph->size[node] == HSNAP_SIZE_BIG) {
			usable = job->big.items[big].size + job->big.items[big].slack;
			big++;
		}
		graph->address[node] = address;
		end = address + usable;
		if (node <= graph->num_roots)
			continue;
		if (address < last || end < address)
			return "blocks are not in order of address";
		last = address;
	}
	job->last_address = last;
	return finished(&in);
}

static const char *decode_epochs(struct hsnap_graph *graph, const struct hsnap_nodes_job *job,
				 struct hsnap_bytes *bytes)
{
	if (!hsnap_bytes_left(bytes))
		return NULL; /* all 0 */
	struct input in = input_of(bytes);
	uint16_t last = 0;
	for (hsnap_node_id node = job->first; node < job->first + job->num; node++) {
		uint64_t code = next_varint(&in);
		if (code > UINT16_MAX)
			return "an epoch is out of range";
		last = (uint16_t)(last + (uint16_t)hsnap_unzigzag(code));
		graph->epoch[node] = last;
	}
	return finished(&in);
}

/* A pattern spelled out, into the columns of edges from `edge` on. */
static const char *read_places(struct hsnap_graph *graph, struct input *in, uint64_t edge, uint32_t num,
			       uint32_t *ret_weak)
{
	uint64_t expected = 0, last = 0;
	for (uint32_t i = 0; i < num; i++) {
		uint64_t code = next_varint(in), offset = hsnap_place_offset(code, expected);
		if (offset > UINT32_MAX || offset < last)
			return "edges are not in order of their offsets";
		*ret_weak |= (uint32_t)(code & 1) << i;
		graph->edge_offset[edge + i] = (uint32_t)offset;
		last = offset;
		expected = offset + 8;
	}
	return NULL;
}

static void set_weak(struct hsnap_graph *graph, uint64_t edge, uint32_t weak)
{
	for (; weak; weak &= weak - 1)
		graph->edge_to[edge + (uint64_t)__builtin_ctz(weak)] = HSNAP_EDGE_WEAK;
}

static void add_slots(struct hsnap_node_scratch *scratch, struct hsnap_kind *kind, struct hsnap_slots slots)
{
	if (kind->num_slots == HSNAP_MAX_SLOTS)
		return;
	uint32_t index = ++scratch->num_slots;
	scratch->slots[index] = slots;
	if (kind->num_slots++)
		scratch->slots[kind->last_slots].next = index;
	else
		kind->first_slots = index;
	kind->last_slots = index;
}

/* A node whose pattern was not met before.  *ret_num: how many edges it has. */
static const char *new_slots(struct hsnap_graph *graph, struct hsnap_node_scratch *scratch, struct hsnap_kind *kind,
			     struct input *in, uint64_t edge, uint64_t left, uint64_t *ret_num)
{
	uint64_t num = next_varint(in);
	*ret_num = num;
	if (num > left)
		return "it has more edges than the index says";
	if (num > HSNAP_FEW_EDGES)
		return NULL;
	struct hsnap_slots slots = { .edge = (uint32_t)edge, .num = (uint8_t)num };
	const char *wrong = read_places(graph, in, edge, slots.num, &slots.weak);
	if (wrong)
		return wrong;
	set_weak(graph, edge, slots.weak);
	add_slots(scratch, kind, slots);
	return NULL;
}

static const char *decode_slots(struct hsnap_graph *graph, struct hsnap_node_scratch *scratch,
				const struct hsnap_nodes_job *job, struct hsnap_bytes *bytes)
{
	struct input in = input_of(bytes);
	uint64_t edge = job->first_edge, end = edge + job->num_edges;
	scratch->num_slots = 0;
	for (uint32_t i = 0; i < job->num; i++) {
		struct hsnap_kind *kind = &scratch->kinds[scratch->kind_of[i]];
		graph->first_edge[job->first + i] = (uint32_t)edge;
		uint64_t rank = next_varint(&in), num = 0;
		if (rank > kind->num_slots)
			return "a pattern was not defined before";
		if (!rank) {
			const char *wrong = new_slots(graph, scratch, kind, &in, edge, end - edge, &num);
			if (wrong)
				return wrong;
			edge += num;
			continue;
		}
		uint32_t index = kind->first_slots;
		while (--rank)
			index = scratch->slots[index].next;
		const struct hsnap_slots *slots = &scratch->slots[index];
		if (slots->num > end - edge)
			return "it has more edges than the index says";
		for (uint32_t j = 0; j < slots->num; j++)
			graph->edge_offset[edge + j] = graph->edge_offset[slots->edge + j];
		set_weak(graph, edge, slots->weak);
		edge += slots->num;
	}
	if (edge != end)
		return "it has fewer edges than the index says";
	return finished(&in);
}

const char *hsnap_nodes_decode(struct hsnap_graph *graph, struct hsnap_node_scratch *scratch,
			       struct hsnap_nodes_job *job, struct hsnap_bytes in[HSNAP_NODE_COLUMNS],
			       unsigned *ret_column)
{
	const char *wrong = decode_kinds(graph, scratch, job, in, ret_column);
	if (wrong)
		return wrong;
	*ret_column = ADDRESSES;
	wrong = decode_addresses(graph, job, &in[ADDRESSES]);
	if (wrong)
		return wrong;
	*ret_column = EPOCHS;
	wrong = decode_epochs(graph, job, &in[EPOCHS]);
	if (wrong || !job->edges)
		return wrong;
	*ret_column = SLOTS;
	return decode_slots(graph, scratch, job, &in[SLOTS]);
}
