/* SPDX-License-Identifier: MIT */
/* check.c - indices in range, orders kept, no type within itself. */
#include "snapshot/format/check.h"

#include <stdlib.h>

#include "snapshot/base/cleanup.h"
#include "snapshot/format/layout.h"

#define SHARED_MEMBERS 64u /* types that may share one member, on the average: bounds the search for cycles */

static const char *check_modules(const struct hsnap_snapshot *snapshot)
{
	return snapshot->modules.num ? NULL : "there is no module 0";
}

/* An array or pointer of itself, by whatever way round.  mark: 0 not seen, 1 in this walk, 2 done. */
static bool endless_element(const struct hsnap_snapshot *snapshot, uint8_t *mark, hsnap_type_id start)
{
	const struct hsnap_type *types = snapshot->types.items;
	hsnap_type_id id = start;
	while (!mark[id] && types[id].element) {
		mark[id] = 1;
		id = types[id].element;
	}
	bool endless = mark[id] == 1;
	for (id = start; mark[id] == 1; id = types[id].element)
		mark[id] = 2;
	return endless;
}

static const char *check_types(const struct hsnap_snapshot *snapshot, uint8_t *mark)
{
	if (!snapshot->types.num || snapshot->types.items[0].kind != HSNAP_TYPE_UNKNOWN)
		return "type 0 is not the unknown one";
	for (size_t i = 0; i < snapshot->types.num; i++) {
		const struct hsnap_type *type = &snapshot->types.items[i];
		bool derived = type->kind == HSNAP_TYPE_ARRAY || type->kind == HSNAP_TYPE_POINTER || type->kind == HSNAP_TYPE_LABEL;
		if (type->kind >= HSNAP_NUM_TYPE_KINDS)
			return "a type's kind is out of range";
		if (type->module >= snapshot->modules.num)
			return "a type's module is out of range";
		if (type->element >= snapshot->types.num || (type->element && !derived))
			return "a type's element is out of range";
	}
	for (size_t i = 0; i < snapshot->types.num; i++)
		if (endless_element(snapshot, mark, (hsnap_type_id)i))
			return "a type is an array or pointer of itself";
	return NULL;
}

static const char *check_rows(const struct hsnap_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->rows.num; i++)
		if (snapshot->rows.items[i].type >= snapshot->types.num ||
		    snapshot->rows.items[i].state >= HSNAP_NUM_STATES)
			return "a row's type or state is out of range";
	for (size_t i = 0; i < snapshot->item_rows.num; i++) {
		const struct hsnap_item_row *row = &snapshot->item_rows.items[i];
		if (row->pool >= snapshot->types.num || row->type >= snapshot->types.num || row->state >= HSNAP_NUM_STATES ||
		    row->confidence >= HSNAP_NUM_CONFIDENCES)
			return "a row of objects in pools is out of range";
	}
	return NULL;
}

/* Each number is at most the address space, and so are all parts in sum: whoever adds them up cannot
 * overflow. */
static bool sane_numbers(const uint64_t *const *numbers, size_t num, bool may_be_unknown)
{
	for (size_t i = 0; i < num; i++)
		if (*numbers[i] > HSNAP_ACCOUNT_MAX && !(may_be_unknown && *numbers[i] == HSNAP_NOT_KNOWN))
			return false;
	return true;
}

static bool sane_arena(const struct hsnap_account_arena *arena)
{
	const uint64_t *const numbers[] = { &arena->system, &arena->walked, &arena->free, &arena->free_resident,
					    &arena->cached, &arena->top, &arena->biggest_free };
	return arena->kind < HSNAP_NUM_ARENA_KINDS && sane_numbers(numbers, sizeof(numbers) / sizeof(*numbers), false);
}

static bool sane_parts(const struct hsnap_snapshot *snapshot)
{
	uint64_t size = 0, resident = 0, count = 0;
	for (size_t i = 0; i < snapshot->account_parts.num; i++) {
		const struct hsnap_account_part *part = &snapshot->account_parts.items[i];
		const uint64_t *const numbers[] = { &part->size, &part->resident, &part->count };
		if (part->kind >= HSNAP_NUM_PART_KINDS || !sane_numbers(numbers, 3, false))
			return false;
		size += part->size;
		resident += part->resident;
		count += part->count;
		if (size > HSNAP_ACCOUNT_MAX || resident > HSNAP_ACCOUNT_MAX || count > HSNAP_ACCOUNT_MAX)
			return false;
	}
	return true;
}

static const char *check_account(const struct hsnap_snapshot *snapshot)
{
	const struct hsnap_account *account = &snapshot->account;
	const uint64_t *const told[] = {
		&account->rss, &account->rss_anon, &account->rss_file, &account->rss_shmem, &account->swap, &account->huge,
		&account->cgroup_limit, &account->cgroup_use, &account->cgroup_swap,
	};
	const uint64_t *const counted[] = {
		&account->heap_resident, &account->live_resident, &account->live_resident_usable, &account->live_swapped,
		&account->free, &account->free_resident, &account->free_count, &account->biggest_free,
	};
	if (!account->known)
		return snapshot->account_arenas.num || snapshot->account_parts.num ? "parts of an account that is not there"
										     : NULL;
	if (!sane_numbers(told, sizeof(told) / sizeof(*told), true) ||
	    !sane_numbers(counted, sizeof(counted) / sizeof(*counted), false) || !sane_parts(snapshot))
		return "a number of the memory account is out of range";
	for (size_t i = 0; i < snapshot->account_arenas.num; i++)
		if (!sane_arena(&snapshot->account_arenas.items[i]))
			return "a number of an arena is out of range";
	return NULL;
}

static const char *check_members(const struct hsnap_snapshot *snapshot)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < snapshot->types.num; i++) {
		const struct hsnap_type *type = &snapshot->types.items[i];
		sum += type->num_members;
		if (type->num_members && ((uint64_t)type->first_member + type->num_members > snapshot->members.num))
			return "a type's members are out of range";
	}
	if (sum > (uint64_t)SHARED_MEMBERS * snapshot->members.num)
		return "types share their members";
	for (size_t i = 0; i < snapshot->members.num; i++)
		if (snapshot->members.items[i].type >= snapshot->types.num)
			return "a member's type is out of range";
	return NULL;
}

struct visit {
	hsnap_type_id type;
	uint32_t next; /* the part to be looked at next */
};

/* The part of a type that lies within it; false: there are no more. */
static bool part_of(const struct hsnap_snapshot *snapshot, struct visit *visit, hsnap_type_id *ret)
{
	const struct hsnap_type *type = &snapshot->types.items[visit->type];
	uint32_t i = visit->next++;
	if (i < type->num_members) {
		*ret = snapshot->members.items[type->first_member + i].type;
		return true;
	}
	*ret = type->element;
	return i == type->num_members && type->kind == HSNAP_TYPE_ARRAY;
}

/* Depth first with a stack of our own.  mark: 0 not seen, 1 on the stack, 2 done. */
static const char *visit_parts(const struct hsnap_snapshot *snapshot, struct visit *stack, uint8_t *mark,
			       hsnap_type_id start)
{
	size_t depth = 0;
	stack[depth++] = (struct visit){ .type = start };
	mark[start] = 1;
	while (depth) {
		hsnap_type_id part;
		if (!part_of(snapshot, &stack[depth - 1], &part)) {
			mark[stack[--depth].type] = 2;
			continue;
		}
		if (mark[part] == 1)
			return "a type contains itself";
		if (mark[part])
			continue;
		if (depth == HSNAP_MAX_NESTING)
			return "types are nested too deeply";
		mark[part] = 1;
		stack[depth++] = (struct visit){ .type = part };
	}
	return NULL;
}

static const char *check_nesting(const struct hsnap_snapshot *snapshot, struct visit *stack, uint8_t *mark)
{
	for (size_t i = 0; i < snapshot->types.num; i++) {
		const char *wrong = mark[i] ? NULL : visit_parts(snapshot, stack, mark, (hsnap_type_id)i);
		if (wrong)
			return wrong;
	}
	return NULL;
}

static const char *check_stacks(const struct hsnap_snapshot *snapshot)
{
	if (!snapshot->stacks.num)
		return "there is no stack 0";
	for (size_t i = 0; i < snapshot->stacks.num; i++) {
		const struct hsnap_stack *stack = &snapshot->stacks.items[i];
		if (stack->num_frames && (uint64_t)stack->first_frame + stack->num_frames > snapshot->frames.num)
			return "a stack's frames are out of range";
		if (stack->decider > stack->num_frames)
			return "the frame that decides for a stack is out of range";
	}
	for (size_t i = 0; i < snapshot->frames.num; i++)
		if (snapshot->frames.items[i].module >= snapshot->modules.num)
			return "a frame's module is out of range";
	return NULL;
}

static const char *check_grounds(const struct hsnap_snapshot *snapshot)
{
	if (snapshot->grounds.num > HSNAP_MAX_GROUNDS)
		return "there are too many grounds of names";
	for (size_t i = 0; i < snapshot->grounds.num; i++) {
		const struct hsnap_grounds *grounds = &snapshot->grounds.items[i];
		if (grounds->evidence >= HSNAP_NUM_EVIDENCE ||
		    (grounds->num_others && (uint64_t)grounds->first_other + grounds->num_others > snapshot->others.num))
			return "the grounds of a name are out of range";
	}
	for (size_t i = 0; i < snapshot->others.num; i++) {
		const struct hsnap_other *other = &snapshot->others.items[i];
		if (other->type >= snapshot->types.num || other->evidence >= HSNAP_NUM_EVIDENCE ||
		    other->verdict >= HSNAP_NUM_VERDICTS)
			return "a claim is out of range";
	}
	return NULL;
}

/* The places of a pool's objects rise, and none lies beyond what a size can be. */
static const char *check_items(const struct hsnap_graph *graph, const struct hsnap_pool *pool)
{
	const uint32_t *places = graph->items.items + pool->first_item;
	uint64_t end;
	for (uint32_t i = 1; i < pool->num_items; i++)
		if (places[i] <= places[i - 1])
			return "the objects of a pool are not in order";
	if (__builtin_mul_overflow(pool->stride, places[pool->num_items - 1], &end) ||
	    __builtin_add_overflow(end, pool->first, &end) || __builtin_add_overflow(end, pool->size, &end) ||
	    __builtin_add_overflow(end, pool->header, &end) || end > INT64_MAX)
		return "the objects of a pool are out of range";
	return NULL;
}

static const char *check_pools(const struct hsnap_snapshot *snapshot)
{
	const struct hsnap_graph *graph = &snapshot->graph;
	uint64_t items = 0;
	for (size_t i = 0; i < graph->pools.num; i++) {
		const struct hsnap_pool *pool = &graph->pools.items[i];
		if (pool->type >= snapshot->types.num || pool->evidence >= HSNAP_NUM_EVIDENCE || !pool->size ||
		    pool->size > pool->stride || !pool->num_items)
			return "a pool is out of range";
		if (pool->node <= (i ? pool[-1].node : graph->roots.num))
			return "the pools are not in order of their blocks";
		if (pool->first_item != items || pool->num_items > graph->items.num - items)
			return "the objects of a pool are missing";
		items += pool->num_items;
		const char *wrong = check_items(graph, pool);
		if (wrong)
			return wrong;
	}
	return items == graph->items.num ? NULL : "there are objects of no pool";
}

static const char *check_roots(const struct hsnap_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->graph.roots.num; i++)
		if (snapshot->graph.roots.items[i].kind >= HSNAP_NUM_ROOT_KINDS ||
		    snapshot->graph.roots.items[i].module >= snapshot->modules.num)
			return "a root's kind or module is out of range";
	return NULL;
}

const char *hsnap_check_table(const struct hsnap_snapshot *snapshot, bool members, bool *ret_no_memory)
{
	hsnap_auto(hsnap_freep) uint8_t *mark = calloc(snapshot->types.num + 1, 2);
	hsnap_auto(hsnap_freep) struct visit *stack = calloc(HSNAP_MAX_NESTING, sizeof(*stack));
	*ret_no_memory = !mark || !stack;
	if (*ret_no_memory)
		return "out of memory";
	const char *wrong = check_modules(snapshot);
	wrong = wrong ? wrong : check_types(snapshot, mark);
	wrong = wrong ? wrong : check_rows(snapshot);
	wrong = wrong ? wrong : check_account(snapshot);
	if (wrong || !members)
		return wrong;
	wrong = check_members(snapshot);
	wrong = wrong ? wrong : check_nesting(snapshot, stack, mark + snapshot->types.num);
	wrong = wrong ? wrong : check_stacks(snapshot);
	wrong = wrong ? wrong : check_grounds(snapshot);
	wrong = wrong ? wrong : check_pools(snapshot);
	return wrong ? wrong : check_roots(snapshot);
}

bool hsnap_sane_flags(uint8_t flags)
{
	return !(flags & 0x80) && (flags & HSNAP_FLAG_CONFIDENCE) < HSNAP_NUM_CONFIDENCES &&
	       (flags & HSNAP_FLAG_STATE) >> HSNAP_FLAG_STATE_SHIFT < HSNAP_NUM_STATES;
}

bool hsnap_sane_grounds(uint64_t grounds, size_t num)
{
	return !grounds || grounds < num;
}

bool hsnap_sane_size(uint64_t size, uint64_t slack)
{
	return size <= INT64_MAX && slack <= INT64_MAX - size;
}

const char *hsnap_check_graph(const struct hsnap_snapshot *snapshot)
{
	const struct hsnap_graph *graph = &snapshot->graph;
	uint64_t nodes = (uint64_t)graph->num_roots + graph->num_blocks;
	if (graph->roots.num != graph->num_roots || (nodes && graph->num_nodes != nodes + 1))
		return "the graph's counts of nodes differ";
	if (nodes + 1 > HSNAP_MAX_NODES)
		return "there are too many blocks";
	if (nodes && (!graph->address || !graph->size || !graph->slack || !graph->type || !graph->site ||
		      !graph->epoch || !graph->flags))
		return "the graph was not loaded whole";
	if (nodes && snapshot->grounds.num && !graph->grounds)
		return "the graph was not loaded whole";
	if (!graph->first_edge)
		return graph->num_edges ? "the graph was not loaded whole" : NULL;
	if (!graph->num_nodes || graph->first_edge[0] || graph->first_edge[1] || graph->num_edges >= UINT32_MAX ||
	    graph->first_edge[graph->num_nodes] != graph->num_edges)
		return "the graph's counts of edges differ";
	return NULL;
}

/* An edge to the block of a pool: *at is the number of those so far. */
static bool sane_edge_item(const struct hsnap_graph *graph, uint32_t edge_to, size_t *at)
{
	const struct hsnap_pool *pool = hsnap_pool_of(graph, edge_to & ~HSNAP_EDGE_WEAK);
	if (!pool)
		return true;
	return *at < graph->edge_items.num && graph->edge_items.items[(*at)++] <= pool->num_items;
}

const char *hsnap_check_pools(const struct hsnap_snapshot *snapshot)
{
	const struct hsnap_graph *graph = &snapshot->graph;
	size_t at = 0;
	for (size_t i = 0; i < graph->pools.num; i++) {
		const struct hsnap_pool *pool = &graph->pools.items[i];
		const uint32_t *places = graph->items.items + pool->first_item;
		if (pool->node >= graph->num_nodes)
			return "a pool's block is out of range";
		if (pool->header + pool->first + pool->stride * places[pool->num_items - 1] + pool->size >
		    hsnap_node_usable(graph, pool->node))
			return "a pool's objects lie beyond its block";
	}
	for (uint64_t e = 0; graph->pools.num && graph->first_edge && e < graph->num_edges; e++)
		if (!sane_edge_item(graph, graph->edge_to[e], &at))
			return "an edge leads to an object that is not there";
	return at == graph->edge_items.num ? NULL : "there are more edges to objects than edges";
}

static const char *check_node(const struct hsnap_snapshot *snapshot, hsnap_node_id node)
{
	const struct hsnap_graph *graph = &snapshot->graph;
	uint64_t size = hsnap_node_size(graph, node), slack = hsnap_node_usable(graph, node) - size;
	if (graph->type[node] >= snapshot->types.num || graph->site[node] >= snapshot->stacks.num)
		return "a block's type or call site is out of range";
	if (graph->grounds && !hsnap_sane_grounds(graph->grounds[node], snapshot->grounds.num))
		return "a block's grounds are out of range";
	if (!hsnap_sane_flags(graph->flags[node]))
		return "a block's flags are out of range";
	if (!hsnap_sane_size(size, slack))
		return "a block's size is out of range";
	if (graph->first_edge && (graph->first_edge[node] > graph->first_edge[node + 1] ||
				  graph->first_edge[node + 1] > graph->num_edges))
		return "the edges are not in order of their nodes";
	if (hsnap_is_root(graph, node))
		return NULL;
	if (graph->address[node] + size + slack < graph->address[node])
		return "a block's address is out of range";
	if (node > hsnap_first_block(graph) && graph->address[node] < graph->address[node - 1])
		return "the blocks are not in order of address";
	return NULL;
}

const char *hsnap_check_nodes(const struct hsnap_snapshot *snapshot, hsnap_node_id first, uint32_t num)
{
	for (hsnap_node_id node = first; node < first + num; node++) {
		const char *wrong = check_node(snapshot, node);
		if (wrong)
			return wrong;
	}
	return NULL;
}

const char *hsnap_check_edges(const struct hsnap_snapshot *snapshot, hsnap_node_id first, uint32_t num)
{
	const struct hsnap_graph *graph = &snapshot->graph;
	for (hsnap_node_id node = first; node < first + num; node++) {
		uint32_t last = 0;
		for (uint32_t e = graph->first_edge[node]; e < graph->first_edge[node + 1]; e++) {
			uint32_t target = graph->edge_to[e] & ~HSNAP_EDGE_WEAK;
			if (!target || target >= graph->num_nodes)
				return "an edge leads nowhere";
			if (graph->edge_offset[e] < last)
				return "a block's edges are not in order of their offsets";
			last = graph->edge_offset[e];
		}
	}
	return NULL;
}
