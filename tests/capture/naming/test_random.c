/* SPDX-License-Identifier: MIT */
/*
 * test_random.c - debug info and memory that make no sense: what comes out must hold together.
 *
 * Types obey what symbols.h promises (indices in range, containment without
 * cycles) and nothing else.  Each seed is a world of its own.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "world.h"

#define WORLDS 300
#define TYPES 40

static uint64_t state;

static uint64_t random_below(uint64_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % limit;
}

static const char *random_name(void)
{
	static const char *const names[] = {
		"", "Node", "std::_Vector_base<Node, std::allocator<Node> >", "std::__cxx11::basic_string<char>",
		"std::_Hashtable<A, B, std::__detail::_Hashtable_traits<true> >", "std::__detail::_Hash_node<B, true>",
		"std::__detail::_Hash_node_base", "std::_Rb_tree<A, B>", "std::_Rb_tree_node<B>", "std::_List_node<B>",
		"__gnu_cxx::__aligned_buffer<B>", "std::function<void()>", "std::_Sp_counted_ptr_inplace<B, C>", "x<y<<,>",
	};
	return names[random_below(sizeof(names) / sizeof(*names))];
}

static uint64_t random_size(void)
{
	static const uint64_t sizes[] = { 0, 1, 4, 7, 8, 16, 24, 24, 32, 32, 40, 48, 56, 56, 64, 400, 4096, 1u << 20, UINT64_MAX, UINT64_MAX / 2 };
	return sizes[random_below(sizeof(sizes) / sizeof(*sizes))];
}

static void add_type(struct world *w)
{
	static const enum hsnap_dtype_kind often[] = { HSNAP_DTYPE_STRUCT, HSNAP_DTYPE_POINTER };
	enum hsnap_dtype_kind kind = random_below(3) ? often[random_below(2)]
						     : (enum hsnap_dtype_kind)random_below(HSNAP_NUM_DTYPE_KINDS);
	hsnap_dtype_id earlier = (hsnap_dtype_id)w->symbols.types.num;
	bool usual = random_below(2);
	uint64_t size = usual ? 8 * (1 + random_below(8)) : random_size();
	hsnap_dtype_id id = world_type(w, random_name(), kind, kind == HSNAP_DTYPE_POINTER ? 8 : size);
	struct hsnap_dtype *type = &w->symbols.types.items[id];
	type->flags = (uint8_t)random_below(16);
	type->line = (uint32_t)random_below(3);
	if (kind == HSNAP_DTYPE_POINTER)
		type->target = (hsnap_dtype_id)random_below(TYPES);
	if (kind == HSNAP_DTYPE_ARRAY) {
		type->target = (hsnap_dtype_id)random_below(earlier);
		type->count = random_size();
	}
	if (kind != HSNAP_DTYPE_STRUCT && kind != HSNAP_DTYPE_UNION)
		return;
	struct world_member members[6];
	size_t num = random_below(6);
	uint64_t offset = 0;
	for (size_t m = 0; m < num; m++) {
		members[m] = (struct world_member){ .name = random_below(3) ? "m" : "", .offset = offset,
						    .type = (hsnap_dtype_id)random_below(earlier),
						    .flags = random_below(4) ? 0 : (uint32_t)random_below(16) };
		offset += random_below(20) ? 8 * random_below(3) : random_size() / 8;
	}
	world_members(w, id, num, members);
	const hsnap_dtype_id arguments[] = { (hsnap_dtype_id)random_below(earlier), (hsnap_dtype_id)random_below(earlier) };
	world_arguments(w, id, random_below(3), arguments);
}

static uint64_t random_word(const struct world *w)
{
	switch (random_below(5)) {
	case 0:
		return 0;
	case 1:
		return state;
	case 2:
		return WORLD_DATA + random_below(WORLD_SIZE);
	default:
		break;
	}
	const struct hsnap_block *block = &w->heap.blocks.items[random_below(w->heap.blocks.num)];
	return block->address + (random_below(3) ? 0 : random_below(block->usable + 16));
}

static void fill_memory(struct world *w)
{
	for (uint32_t b = 0; b < 60; b++)
		world_block(w, random_below(4) ? 8 * (1 + random_below(12)) : 1 + random_below(300),
			    (uint32_t)random_below(w->heap.stacks.num));
	for (size_t b = 0; b < w->heap.blocks.num; b++) {
		struct hsnap_block *block = &w->heap.blocks.items[b];
		if (!random_below(10)) {
			block->flags = HSNAP_BLOCK_NO_RECORD;
			block->requested = block->usable;
		}
		for (uint64_t at = 0; at + 8 <= block->usable; at += 8)
			world_set(w, block->address + at, random_word(w));
	}
	for (uint64_t at = 0; at < 2048; at += 8)
		world_set(w, WORLD_DATA + at, random_word(w));
}

static void make_world(struct world *w)
{
	for (int i = 1; i < TYPES; i++)
		add_type(w);
	for (uint64_t i = 0; i < 6; i++) {
		world_pc(w, WORLD_TEXT + 16 * (i + 1), random_below(3) ? "make" : "std::_Function_base::_Base_manager<Node>::x")
			->returns_result = random_below(2);
		w->symbols.frames.items[i].allocates = random_below(4) ? 0 : (hsnap_dtype_id)random_below(TYPES);
		for (uint64_t r = random_below(4); r; r--)
			world_result(w, (hsnap_dtype_id)random_below(TYPES), false);
	}
	for (uint64_t i = 0; i < 8; i++) {
		const uint64_t pcs[] = { WORLD_TEXT + 16 * (1 + random_below(7)), WORLD_TEXT + 16 * (1 + random_below(7)), 0 };
		world_stack(w, pcs);
	}
	for (int i = 0; i < 30; i++)
		world_variable(w, "g", WORLD_DATA + 8 * random_below(256), (hsnap_dtype_id)random_below(TYPES));
	fill_memory(w);
}

/* All indices in range, sums that add up, edges in order. */
static void check_world(const struct world *w, uint64_t seed)
{
	const struct hsnap_snapshot *s = w->snapshot;
	const struct hsnap_graph *g = &s->graph;
	uint64_t count = 0; /* of blocks in rows */
	for (size_t i = 0; i < s->rows.num; i++)
		count += s->rows.items[i].count;
	cr_assert_eq(count, w->heap.blocks.num, "seed %llu", (unsigned long long)seed);
	for (size_t i = 0; i < s->types.num; i++) {
		const struct hsnap_type *t = &s->types.items[i];
		cr_assert(t->element < s->types.num && t->module < s->modules.num);
		cr_assert((uint64_t)t->first_member + t->num_members <= s->members.num);
	}
	for (size_t i = 0; i < s->members.num; i++)
		cr_assert(s->members.items[i].type < s->types.num);
	for (hsnap_node_id n = 0; n < g->num_nodes; n++) {
		cr_assert(g->type[n] < s->types.num && g->first_edge[n] <= g->first_edge[n + 1]);
		for (uint32_t e = g->first_edge[n]; e < g->first_edge[n + 1]; e++) {
			hsnap_node_id to = g->edge_to[e] & ~HSNAP_EDGE_WEAK;
			cr_assert(to < g->num_nodes && to >= hsnap_first_block(g));
			cr_assert(e == g->first_edge[n] || g->edge_offset[e] > g->edge_offset[e - 1]);
			cr_assert(hsnap_is_root(g, n) || g->edge_offset[e] + 8 <= hsnap_node_usable(g, n));
		}
	}
	cr_assert_eq(g->first_edge[g->num_nodes], g->num_edges);
}

Test(random, nonsense_holds_together)
{
	uint64_t named = 0;
	for (uint64_t seed = 1; seed <= WORLDS; seed++) {
		state = seed * 0x9e3779b97f4a7c15u;
		struct world *w = world_create();
		make_world(w);
		world_name(w);
		check_world(w, seed);
		for (int c = HSNAP_INFERRED; c < HSNAP_NUM_CONFIDENCES; c++)
			named += w->snapshot->facts.bytes_by_confidence[c];
		world_destroy(w);
	}
	cr_expect_gt(named, (uint64_t)WORLDS * 100, "too little had a name for this to test anything");
}
