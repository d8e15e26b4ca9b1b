/* SPDX-License-Identifier: MIT */
/* random_graph.c - see random_graph.h. */
#include "tests/support/random_graph.h"

#include <stdlib.h>

static void need(bool done)
{
	if (!done)
		abort();
}

uint64_t random_next(struct random *random)
{
	random->state ^= random->state >> 12;
	random->state ^= random->state << 25;
	random->state ^= random->state >> 27;
	return random->state * 0x2545f4914f6cdd1du;
}

uint64_t random_below(struct random *random, uint64_t bound)
{
	return bound ? random_next(random) % bound : 0;
}

/* Of any magnitude up to max; 0 and max themselves are frequent. */
static uint64_t any(struct random *random, uint64_t max)
{
	switch (random_below(random, 8)) {
	case 0:
		return 0;
	case 1:
		return max;
	default:;
		uint64_t value = random_next(random) >> random_below(random, 64);
		return value <= max ? value : value % (max + 1);
	}
}

static hsnap_string text(struct hsnap_snapshot *s, struct random *random, const char *what)
{
	if (!random_below(random, 5))
		return 0;
	return hsnap_strings_addf(&s->strings, "%s_%llu", what, (unsigned long long)random_below(random, 50));
}

static void make_facts(struct hsnap_snapshot *s, struct random *random)
{
	struct hsnap_facts *facts = &s->facts;
	uint64_t *const numbers[] = { &facts->pid, &facts->start_time, &facts->taken_at, &facts->pause_ns,
				      &facts->elapsed_ns, &facts->epoch_start, &facts->rss, &facts->swap,
				      &facts->overruns, &facts->allocated_bytes, &facts->allocated_count,
				      &facts->freed_bytes, &facts->freed_count };
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		*numbers[i] = any(random, UINT64_MAX);
	facts->comm = text(s, random, "comm");
	facts->exe = text(s, random, "/usr/bin/exe");
	facts->source = text(s, random, "source");
	facts->basis = (uint8_t)random_below(random, 2);
	facts->num_threads = (uint32_t)any(random, UINT32_MAX);
	for (uint64_t i = random_below(random, 4); i; i--)
		need(hsnap_vec_push(&s->partial_reasons, text(s, random, "because")));
	for (uint64_t i = random_below(random, 4); i; i--)
		need(hsnap_vec_push(&s->notes, text(s, random, "note that")));
}

/* Types hold only types of a smaller number, so that none holds itself. */
static void make_types(struct hsnap_snapshot *s, struct random *random, uint32_t num)
{
	for (uint32_t i = 1; i < 4; i++)
		need(hsnap_vec_push(&s->modules, (struct hsnap_module){
			.path = text(s, random, "/lib/module"), .build_id = text(s, random, "b1d"),
			.base = any(random, UINT64_MAX), .main = i == 1, .has_types = random_below(random, 2) }));
	for (uint32_t i = 1; i < num; i++) {
		struct hsnap_type type = {
			.name = text(s, random, "Type"), .full_name = text(s, random, "ns::Type"),
			.holder = text(s, random, "in Type.member"), .unit = text(s, random, "src/file.c"),
			.line = (uint32_t)any(random, UINT32_MAX), .module = (uint32_t)random_below(random, 4),
			.kind = (uint8_t)random_below(random, HSNAP_NUM_TYPE_KINDS), .size = any(random, UINT64_MAX),
		};
		if (type.kind == HSNAP_TYPE_ARRAY || type.kind == HSNAP_TYPE_POINTER || type.kind == HSNAP_TYPE_LABEL)
			type.element = (hsnap_type_id)random_below(random, i);
		type.num_members = (uint32_t)random_below(random, 5);
		if (type.num_members)
			type.first_member = (uint32_t)s->members.num;
		for (uint32_t m = 0; m < type.num_members; m++)
			need(hsnap_vec_push(&s->members, (struct hsnap_member){
				.name = text(s, random, "member"), .offset = any(random, UINT64_MAX),
				.type = (hsnap_type_id)random_below(random, i) }));
		need(hsnap_vec_push(&s->types, type));
	}
}

static void make_stacks(struct hsnap_snapshot *s, struct random *random, uint32_t num)
{
	for (uint32_t i = 1; i < num; i++) {
		struct hsnap_stack stack = { .num_frames = (uint32_t)random_below(random, 6) };
		if (stack.num_frames)
			stack.first_frame = (uint32_t)s->frames.num;
		stack.decider = (uint32_t)random_below(random, stack.num_frames + 1);
		stack.taker = text(s, random, "variable");
		for (uint32_t f = 0; f < stack.num_frames; f++)
			need(hsnap_vec_push(&s->frames, (struct hsnap_frame){
				.function = text(s, random, "function"), .source = text(s, random, "file.c:12"),
				.module = (uint32_t)random_below(random, 4), .offset = any(random, UINT64_MAX) }));
		need(hsnap_vec_push(&s->stacks, stack));
	}
}

/* Grounds 0 says nothing; their others lie anywhere. */
static void make_grounds(struct hsnap_snapshot *s, struct random *random, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++)
		need(hsnap_vec_push(&s->others, (struct hsnap_other){
			.type = (hsnap_type_id)random_below(random, s->types.num),
			.evidence = (uint8_t)random_below(random, HSNAP_NUM_EVIDENCE),
			.verdict = (uint8_t)random_below(random, HSNAP_NUM_VERDICTS) }));
	for (uint32_t i = 0; i < num; i++) {
		struct hsnap_grounds grounds = { .evidence = (uint8_t)random_below(random, HSNAP_NUM_EVIDENCE),
						 .conflicts = (uint8_t)any(random, UINT8_MAX), .more = random_below(random, 2), .rule = text(s, random, "mine.types:3") };
		grounds.first_other = (uint32_t)random_below(random, num);
		grounds.num_others = (uint32_t)random_below(random, num - grounds.first_other + 1);
		if (!grounds.num_others)
			grounds.first_other = 0;
		need(hsnap_vec_push(&s->grounds, grounds));
	}
}

static uint8_t any_flags(struct random *random)
{
	return (uint8_t)(random_below(random, HSNAP_NUM_CONFIDENCES) |
			 random_below(random, HSNAP_NUM_STATES) << HSNAP_FLAG_STATE_SHIFT |
			 random_below(random, 4) * HSNAP_FLAG_NO_RECORD);
}

static void set_wild(struct hsnap_snapshot *s, struct random *random, hsnap_node_id node, uint64_t *address)
{
	struct hsnap_graph *graph = &s->graph;
	bool root = node < hsnap_first_block(graph);
	uint64_t size = any(random, INT64_MAX / 2), slack = any(random, 2ull << random_below(random, 61));
	graph->site[node] = (uint32_t)random_below(random, s->stacks.num);
	graph->epoch[node] = (uint16_t)any(random, UINT16_MAX);
	graph->type[node] = (hsnap_type_id)random_below(random, s->types.num);
	graph->grounds[node] = (uint16_t)(random_below(random, 20) ? graph->type[node] % s->grounds.num
								   : random_below(random, s->grounds.num));
	graph->flags[node] = any_flags(random);
	if (!root && size + slack > UINT64_MAX - *address)
		size = slack = 0;
	need(hsnap_node_set_size(graph, node, size, size + slack));
	if (root) {
		graph->address[node] = any(random, UINT64_MAX);
		return;
	}
	graph->address[node] = *address;
	uint64_t gap = any(random, 1ull << random_below(random, 60));
	*address = gap > UINT64_MAX - *address ? UINT64_MAX : *address + gap;
}

/* A few kinds, sizes rounded up as glibc does, an address behind the other. */
static void set_heap(struct hsnap_snapshot *s, struct random *random, hsnap_node_id node, uint64_t *address)
{
	struct hsnap_graph *graph = &s->graph;
	uint64_t pick = random_below(random, s->types.num), kind = random_below(random, pick + 1);
	uint64_t size = kind % 3 ? 16 + kind * 8 : 1 + random_below(random, 100);
	uint64_t usable = ((size + 8 + 15) & ~15ull) - 8;
	graph->type[node] = (hsnap_type_id)kind;
	graph->site[node] = (uint32_t)(kind % s->stacks.num);
	graph->grounds[node] = (uint16_t)((kind + !random_below(random, 8)) % s->grounds.num);
	graph->flags[node] = HSNAP_PROVED;
	if (node < hsnap_first_block(graph))
		usable = size;
	graph->address[node] = *address;
	need(hsnap_node_set_size(graph, node, size, usable));
	*address += usable + 8 + (random_below(random, 20) ? 0 : 16 * random_below(random, 100));
}

static void make_nodes(struct hsnap_snapshot *s, struct random *random, const struct random_shape *shape)
{
	struct hsnap_graph *graph = &s->graph;
	need(!hsnap_graph_alloc_nodes(graph, shape->num_roots, shape->num_blocks, NULL));
	need(!hsnap_graph_alloc_grounds(graph, NULL));
	for (uint32_t r = 0; r < shape->num_roots; r++)
		need(hsnap_vec_push(&graph->roots, (struct hsnap_root){
			.kind = (uint8_t)random_below(random, HSNAP_NUM_ROOT_KINDS), .weak = random_below(random, 2),
			.name = text(s, random, "g_root"), .source = text(s, random, "root.c:3"),
			.function = text(s, random, "main"), .thread = text(s, random, "worker"),
			.module = (uint32_t)random_below(random, 4) }));
	uint64_t address = 0x555500000010;
	for (hsnap_node_id node = 1; node < graph->num_nodes; node++)
		(shape->style == RANDOM_WILD ? set_wild : set_heap)(s, random, node, &address);
}

static uint32_t any_target(const struct hsnap_graph *graph, struct random *random, hsnap_node_id node)
{
	int64_t near = (int64_t)node + (int64_t)random_below(random, 64) - 32;
	uint32_t target = random_below(random, 3) && near > 0 && near < graph->num_nodes
				  ? (uint32_t)near : 1 + (uint32_t)random_below(random, graph->num_nodes - 1);
	return target | (random_below(random, 4) ? 0 : HSNAP_EDGE_WEAK);
}

static void make_edges(struct hsnap_snapshot *s, struct random *random, const struct random_shape *shape)
{
	struct hsnap_graph *graph = &s->graph;
	if (graph->num_nodes < 2) {
		need(!hsnap_graph_alloc_edges(graph, 0, NULL));
		return;
	}
	struct hsnap_vec(uint32_t) degrees = { 0 };
	uint64_t each = 2 * (uint64_t)shape->num_edges / (graph->num_nodes - 1) + 1, total = 0;
	need(hsnap_vec_push(&degrees, 0));
	hsnap_node_id crowded = graph->num_nodes / 2 ? graph->num_nodes / 2 : 1;
	for (hsnap_node_id node = 1; node < graph->num_nodes; node++) {
		uint32_t degree = shape->num_edges ? (uint32_t)random_below(random, each + 1) : 0;
		if (degree && !random_below(random, 50))
			degree = (uint32_t)random_below(random, 40);
		if (node == crowded)
			degree += shape->crowd;
		need(hsnap_vec_push(&degrees, degree));
		total += degree;
	}
	need(!hsnap_graph_alloc_edges(graph, total, NULL));
	uint32_t edge = 0;
	for (hsnap_node_id node = 0; node < graph->num_nodes; node++) {
		graph->first_edge[node] = edge;
		uint64_t offset = 0;
		for (uint32_t i = 0; i < degrees.items[node]; i++, edge++) {
			graph->edge_to[edge] = any_target(graph, random, node);
			uint64_t step = shape->style == RANDOM_WILD ? any(random, UINT32_MAX) >> random_below(random, 24)
								     : 8 * random_below(random, 3);
			offset = offset + step > UINT32_MAX ? UINT32_MAX : offset + step;
			graph->edge_offset[edge] = (uint32_t)offset;
		}
	}
	graph->first_edge[graph->num_nodes] = edge;
	hsnap_vec_deinit(&degrees);
}

/* Objects in some of the blocks, at some of the places that there is room for. */
static void make_pools(struct hsnap_snapshot *s, struct random *random)
{
	struct hsnap_graph *graph = &s->graph;
	for (hsnap_node_id node = hsnap_first_block(graph); node < graph->num_nodes; node++) {
		uint64_t room = hsnap_node_usable(graph, node);
		struct hsnap_pool pool = { .node = node, .type = (hsnap_type_id)random_below(random, s->types.num),
					   .evidence = (uint8_t)random_below(random, HSNAP_NUM_EVIDENCE),
					   .first_item = (uint32_t)graph->items.num };
		if (room < 16 || random_below(random, 3))
			continue;
		pool.header = (uint8_t)random_below(random, 9);
		pool.size = 1 + random_below(random, 4);
		pool.stride = pool.size + any(random, (room - pool.header - pool.size) / 3);
		pool.first = random_below(random, room - pool.header - pool.size + 1);
		for (uint64_t place = 0, at = pool.header + pool.first; at + pool.size <= room && place < 50; place++, at += pool.stride) {
			if (place && random_below(random, 2))
				continue;
			need(hsnap_vec_push(&graph->items, (uint32_t)place));
			pool.num_items++;
		}
		need(hsnap_vec_push(&graph->pools, pool));
	}
	for (uint64_t e = 0; graph->first_edge && e < graph->num_edges; e++) {
		const struct hsnap_pool *pool = hsnap_pool_of(graph, graph->edge_to[e] & ~HSNAP_EDGE_WEAK);
		if (pool)
			need(hsnap_vec_push(&graph->edge_items, (uint32_t)random_below(random, pool->num_items + 1)));
	}
}

static uint64_t any_number(struct random *random, bool may_be_unknown)
{
	if (may_be_unknown && !random_below(random, 4))
		return HSNAP_NOT_KNOWN;
	return random_below(random, 8) ? random_below(random, (uint64_t)1 << (random_below(random, 50) + 1)) : HSNAP_ACCOUNT_MAX;
}

static void make_account(struct hsnap_snapshot *s, struct random *random)
{
	struct hsnap_account *account = &s->account;
	uint64_t *const told[] = { &account->rss, &account->rss_anon, &account->rss_file, &account->rss_shmem, &account->swap,
				   &account->huge, &account->cgroup_limit, &account->cgroup_use, &account->cgroup_swap };
	uint64_t *const counted[] = { &account->heap_resident, &account->live_resident, &account->live_resident_usable,
				      &account->live_swapped, &account->free, &account->free_resident, &account->free_count,
				      &account->biggest_free };
	account->known = true;
	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++)
		*told[i] = any_number(random, true);
	for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++)
		*counted[i] = any_number(random, false);
	for (uint64_t i = random_below(random, 20) + 1; i--;)
		need(hsnap_vec_push(&s->account_arenas, (struct hsnap_account_arena){
			.address = any(random, UINT64_MAX), .kind = (uint8_t)random_below(random, HSNAP_NUM_ARENA_KINDS),
			.locked = random_below(random, 2), .system = any_number(random, false), .walked = any_number(random, false),
			.free = any_number(random, false), .free_resident = any_number(random, false),
			.cached = any_number(random, false), .top = any_number(random, false),
			.biggest_free = any_number(random, false) }));
	for (uint64_t i = random_below(random, 20) + 1; i--;)
		need(hsnap_vec_push(&s->account_parts, (struct hsnap_account_part){
			.kind = (uint8_t)random_below(random, HSNAP_NUM_PART_KINDS), .name = text(s, random, "/usr/lib/part"),
			.count = random_below(random, 99), .size = any_number(random, false) / 32,
			.resident = any_number(random, false) / 32 }));
}

struct hsnap_snapshot *random_snapshot(const struct random_shape *shape)
{
	struct random random = { .state = shape->seed * 0x9e3779b97f4a7c15u + 1 };
	struct hsnap_snapshot *s = hsnap_snapshot_create();
	need(s);
	make_facts(s, &random);
	make_types(s, &random, shape->num_types);
	make_stacks(s, &random, shape->num_stacks);
	make_grounds(s, &random, shape->num_types);
	make_nodes(s, &random, shape);
	if (!shape->no_edges)
		make_edges(s, &random, shape);
	make_pools(s, &random);
	need(!hsnap_snapshot_summarize(s, NULL));
	if (!shape->no_account)
		make_account(s, &random);
	return s;
}
