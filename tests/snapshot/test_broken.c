/* SPDX-License-Identifier: MIT */
/* test_broken.c - graphs that must not be written, so that nobody has to read them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "snapshot/base/cleanup.h"
#include "snapshot/base/pages.h"
#include "tests/support/folder.h"
#include "tests/support/graph_text.h"

static void no_change(struct hsnap_snapshot *s) { (void)s; }
static void type_in_itself(struct hsnap_snapshot *s) { s->members.items[0].type = type_from_text(s, "Outer"); }
static void array_of_itself(struct hsnap_snapshot *s)
{
	hsnap_type_id array = type_from_text(s, "Inner[]");
	s->types.items[array].element = array;
}
static void member_type(struct hsnap_snapshot *s) { s->members.items[0].type = (hsnap_type_id)s->types.num; }
static void member_range(struct hsnap_snapshot *s) { s->types.items[type_from_text(s, "Outer")].num_members += 5; }
static void element_of_struct(struct hsnap_snapshot *s) { s->types.items[type_from_text(s, "Outer")].element = 1; }
static void kind_of_type(struct hsnap_snapshot *s) { s->types.items[1].kind = HSNAP_NUM_TYPE_KINDS; }
static void module_of_type(struct hsnap_snapshot *s) { s->types.items[1].module = 9; }
static void no_types(struct hsnap_snapshot *s) { s->types.num = 0; }
static void no_stacks(struct hsnap_snapshot *s) { s->stacks.num = 0; }
static void row_type(struct hsnap_snapshot *s) { s->rows.items[0].type = 999; }
static void frame_range(struct hsnap_snapshot *s) { s->stacks.items[1].first_frame = UINT32_MAX; }
static void frame_that_decides(struct hsnap_snapshot *s) { s->stacks.items[1].decider = s->stacks.items[1].num_frames + 1; }
static void frame_module(struct hsnap_snapshot *s) { s->frames.items[0].module = 9; }
static void root_kind(struct hsnap_snapshot *s) { s->graph.roots.items[0].kind = HSNAP_NUM_ROOT_KINDS; }
static void block_type(struct hsnap_snapshot *s) { s->graph.type[2] = 999; }
static void block_site(struct hsnap_snapshot *s) { s->graph.site[2] = 999; }
static void block_flags(struct hsnap_snapshot *s) { s->graph.flags[2] = 0x18; }
static void block_order(struct hsnap_snapshot *s) { s->graph.address[3] = 1; }
static void block_end(struct hsnap_snapshot *s) { s->graph.address[4] = UINT64_MAX - 1; }
static void edge_target(struct hsnap_snapshot *s) { s->graph.edge_to[1] = s->graph.num_nodes; }
static void edge_to_super_root(struct hsnap_snapshot *s) { s->graph.edge_to[1] = HSNAP_EDGE_WEAK; }
static void edge_order(struct hsnap_snapshot *s) { s->graph.edge_offset[1] = 4000; }
static void edge_first(struct hsnap_snapshot *s) { s->graph.first_edge[3] = 0; }
static void edge_end(struct hsnap_snapshot *s) { s->graph.first_edge[s->graph.num_nodes]++; }
static void half_loaded(struct hsnap_snapshot *s) { s->graph.num_roots++; }
static void no_column(struct hsnap_snapshot *s) { s->graph.epoch = NULL; }
static void no_first_edges(struct hsnap_snapshot *s) { s->graph.first_edge = NULL; }
static void block_size(struct hsnap_snapshot *s)
{
	cr_assert(hsnap_vec_push(&s->graph.big, (struct hsnap_big){ .node = 4, .size = INT64_MAX, .slack = 1 }));
	s->graph.size[4] = HSNAP_SIZE_BIG;
}
static void too_many(struct hsnap_snapshot *s)
{
	s->graph.num_blocks = HSNAP_MAX_NODES;
	s->graph.num_nodes = 1 + s->graph.num_roots + s->graph.num_blocks;
}
static void add_types(struct hsnap_snapshot *s, uint32_t num, uint32_t num_members)
{
	for (uint32_t i = 0; i < num; i++)
		cr_assert(hsnap_vec_push(&s->types, (struct hsnap_type){ .kind = HSNAP_TYPE_STRUCT, .num_members = num_members }));
}
static void shared_members(struct hsnap_snapshot *s) { add_types(s, 70, (uint32_t)s->members.num); }
/* Each of them an array of the next. */
static void deep_types(struct hsnap_snapshot *s)
{
	hsnap_type_id first = (hsnap_type_id)s->types.num;
	add_types(s, 5000, 0);
	for (hsnap_type_id id = first; id < first + 4999; id++) {
		s->types.items[id].kind = HSNAP_TYPE_ARRAY;
		s->types.items[id].element = id + 1;
	}
}

/* Block 2 has a claim besides its own. */
static void grounds(struct hsnap_snapshot *s)
{
	cr_assert(hsnap_vec_push(&s->grounds, (struct hsnap_grounds){ 0 }));
	cr_assert(hsnap_vec_push(&s->grounds, (struct hsnap_grounds){ .evidence = HSNAP_EVIDENCE_SITE, .num_others = 1 }));
	cr_assert(hsnap_vec_push(&s->others, (struct hsnap_other){ .type = 1, .evidence = HSNAP_EVIDENCE_POINTER }));
	cr_assert_eq(hsnap_graph_alloc_grounds(&s->graph, NULL), HSNAP_OK);
	s->graph.grounds[2] = 1;
}
static void block_grounds(struct hsnap_snapshot *s) { grounds(s), s->graph.grounds[2] = 2; }
static void no_grounds(struct hsnap_snapshot *s)
{
	grounds(s);
	hsnap_pages_free(s->graph.grounds, s->graph.num_nodes, sizeof(*s->graph.grounds));
	s->graph.grounds = NULL;
}
static void evidence_of_grounds(struct hsnap_snapshot *s) { grounds(s), s->grounds.items[1].evidence = HSNAP_NUM_EVIDENCE; }
static void range_of_others(struct hsnap_snapshot *s) { grounds(s), s->grounds.items[1].first_other = UINT32_MAX; }
static void type_of_claim(struct hsnap_snapshot *s) { grounds(s), s->others.items[0].type = 999; }
static void evidence_of_claim(struct hsnap_snapshot *s) { grounds(s), s->others.items[0].evidence = HSNAP_NUM_EVIDENCE; }
static void verdict_of_claim(struct hsnap_snapshot *s) { grounds(s), s->others.items[0].verdict = HSNAP_NUM_VERDICTS; }

/* Of c, 80 bytes: objects of 8 at 0, 16 and 64; a leads to the second. */
static void pools(struct hsnap_snapshot *s)
{
	struct hsnap_graph *graph = &s->graph;
	hsnap_node_id c = hsnap_first_block(graph) + 2;
	struct hsnap_pool pool = { .node = c, .type = 1, .stride = 16, .size = 8, .num_items = 3 };
	cr_assert(hsnap_vec_push(&graph->pools, pool) && hsnap_vec_push(&graph->items, 0) && hsnap_vec_push(&graph->items, 1) &&
		  hsnap_vec_push(&graph->items, 4) && hsnap_vec_push(&graph->edge_items, 2));
	cr_assert(hsnap_vec_push(&s->item_rows, (struct hsnap_item_row){ .pool = 1, .type = 1, .count = 3 }));
}
#define POOL s->graph.pools.items[0]
static void pool_type(struct hsnap_snapshot *s) { pools(s), POOL.type = 999; }
static void pool_evidence(struct hsnap_snapshot *s) { pools(s), POOL.evidence = HSNAP_NUM_EVIDENCE; }
static void pool_size(struct hsnap_snapshot *s) { pools(s), POOL.size = 17; }
static void pool_no_size(struct hsnap_snapshot *s) { pools(s), POOL.size = 0; }
static void pool_stride(struct hsnap_snapshot *s) { pools(s), POOL.stride = 20; }
static void pool_far(struct hsnap_snapshot *s) { pools(s), POOL.stride = UINT64_MAX / 4; }
static void pool_first(struct hsnap_snapshot *s) { pools(s), POOL.first = 9; }
static void pool_header(struct hsnap_snapshot *s) { pools(s), POOL.header = 9; }
static void pool_of_root(struct hsnap_snapshot *s) { pools(s), POOL.node = 1; }
static void pool_of_nothing(struct hsnap_snapshot *s) { pools(s), POOL.node = 99; }
static void pool_twice(struct hsnap_snapshot *s)
{
	pools(s);
	POOL.num_items = 2;
	struct hsnap_pool more = POOL;
	more.first_item = 2;
	more.num_items = 1;
	cr_assert(hsnap_vec_push(&s->graph.pools, more));
}
static void pool_empty(struct hsnap_snapshot *s) { pools(s), POOL.num_items = 0; }
static void pool_items(struct hsnap_snapshot *s) { pools(s), POOL.num_items = 4; }
static void pool_few_items(struct hsnap_snapshot *s) { pools(s), POOL.num_items = 2; }
static void pool_first_item(struct hsnap_snapshot *s) { pools(s), POOL.first_item = 1; }
static void item_order(struct hsnap_snapshot *s) { pools(s), s->graph.items.items[2] = 1; }
static void edge_item(struct hsnap_snapshot *s) { pools(s), s->graph.edge_items.items[0] = 4; }
static void edge_item_missing(struct hsnap_snapshot *s) { pools(s), s->graph.edge_items.num = 0; }
static void edge_item_more(struct hsnap_snapshot *s) { pools(s); cr_assert(hsnap_vec_push(&s->graph.edge_items, 0)); }
static void item_row_type(struct hsnap_snapshot *s) { pools(s), s->item_rows.items[0].type = 999; }
static void item_row_pool(struct hsnap_snapshot *s) { pools(s), s->item_rows.items[0].pool = 999; }
static void item_row_state(struct hsnap_snapshot *s) { pools(s), s->item_rows.items[0].state = HSNAP_NUM_STATES; }
static void item_row_sure(struct hsnap_snapshot *s) { pools(s), s->item_rows.items[0].confidence = HSNAP_NUM_CONFIDENCES; }

static void account(struct hsnap_snapshot *s)
{
	s->account = (struct hsnap_account){ .known = true, .rss = HSNAP_NOT_KNOWN };
	cr_assert(hsnap_vec_push(&s->account_parts, (struct hsnap_account_part){ .resident = HSNAP_ACCOUNT_MAX }));
	cr_assert(hsnap_vec_push(&s->account_arenas, (struct hsnap_account_arena){ .kind = HSNAP_ARENA_MAIN }));
}
static void rss_of_account(struct hsnap_snapshot *s) { account(s), s->account.rss = HSNAP_ACCOUNT_MAX + 1; }
static void live_not_known(struct hsnap_snapshot *s) { account(s), s->account.live_resident = HSNAP_NOT_KNOWN; }
static void sum_of_parts(struct hsnap_snapshot *s)
{
	account(s);
	cr_assert(hsnap_vec_push(&s->account_parts, (struct hsnap_account_part){ .resident = 1 }));
}
static void kind_of_part(struct hsnap_snapshot *s) { account(s), s->account_parts.items[0].kind = HSNAP_NUM_PART_KINDS; }
static void kind_of_arena(struct hsnap_snapshot *s) { account(s), s->account_arenas.items[0].kind = HSNAP_NUM_ARENA_KINDS; }
static void system_of_arena(struct hsnap_snapshot *s) { account(s), s->account_arenas.items[0].system = UINT64_MAX; }
static void no_account(struct hsnap_snapshot *s) { account(s), s->account.known = false; }

static const struct {
	const char *name;
	void (*change)(struct hsnap_snapshot *s);
	const char *message; /* NULL: it is written */
} refusals[] = {
	{ "as it is", no_change, NULL },
	{ "a type in itself", type_in_itself, "a type contains itself" },
	{ "an array of itself", array_of_itself, "a type is an array or pointer of itself" },
	{ "type of a member", member_type, "a member's type is out of range" },
	{ "range of members", member_range, "a type's members are out of range" },
	{ "element of a struct", element_of_struct, "a type's element is out of range" },
	{ "kind of a type", kind_of_type, "a type's kind is out of range" },
	{ "module of a type", module_of_type, "a type's module is out of range" },
	{ "no types", no_types, "type 0 is not the unknown one" },
	{ "no stacks", no_stacks, "there is no stack 0" },
	{ "type of a row", row_type, "a row's type or state is out of range" },
	{ "range of frames", frame_range, "a stack's frames are out of range" },
	{ "frame that decides", frame_that_decides, "the frame that decides for a stack is out of range" },
	{ "module of a frame", frame_module, "a frame's module is out of range" },
	{ "kind of a root", root_kind, "a root's kind or module is out of range" },
	{ "type of a block", block_type, "a block's type or call site is out of range" },
	{ "site of a block", block_site, "a block's type or call site is out of range" },
	{ "flags of a block", block_flags, "a block's flags are out of range" },
	{ "order of blocks", block_order, "the blocks are not in order of address" },
	{ "end of a block", block_end, "a block's address is out of range" },
	{ "target of an edge", edge_target, "an edge leads nowhere" },
	{ "an edge to the super-root", edge_to_super_root, "an edge leads nowhere" },
	{ "order of edges", edge_order, "a block's edges are not in order of their offsets" },
	{ "order of first edges", edge_first, "the edges are not in order of their nodes" },
	{ "number of edges", edge_end, "the graph's counts of edges differ" },
	{ "a column that is missing", no_column, "the graph was not loaded whole" },
	{ "edges that are missing", no_first_edges, "the graph was not loaded whole" },
	{ "a size past all", block_size, "a block's size is out of range" },
	{ "too many blocks", too_many, "there are too many blocks" },
	{ "members that all types share", shared_members, "types share their members" },
	{ "types in types without end", deep_types, "types are nested too deeply" },
	{ "grounds of names", grounds, NULL },
	{ "grounds of a block", block_grounds, "a block's grounds are out of range" },
	{ "grounds that are missing", no_grounds, "the graph was not loaded whole" },
	{ "evidence of grounds", evidence_of_grounds, "the grounds of a name are out of range" },
	{ "range of claims", range_of_others, "the grounds of a name are out of range" },
	{ "type of a claim", type_of_claim, "a claim is out of range" },
	{ "evidence of a claim", evidence_of_claim, "a claim is out of range" },
	{ "verdict of a claim", verdict_of_claim, "a claim is out of range" },
	{ "pools", pools, NULL },
	{ "type of a pool", pool_type, "a pool is out of range" },
	{ "evidence of a pool", pool_evidence, "a pool is out of range" },
	{ "objects larger than their places", pool_size, "a pool is out of range" },
	{ "objects without a size", pool_no_size, "a pool is out of range" },
	{ "a pool without objects", pool_empty, "a pool is out of range" },
	{ "places beyond the block", pool_stride, "a pool's objects lie beyond its block" },
	{ "places past all", pool_far, "the objects of a pool are out of range" },
	{ "first place beyond the block", pool_first, "a pool's objects lie beyond its block" },
	{ "header of a pool", pool_header, "a pool's objects lie beyond its block" },
	{ "a root as a pool", pool_of_root, "the pools are not in order of their blocks" },
	{ "block of a pool", pool_of_nothing, "a pool's block is out of range" },
	{ "two pools in a block", pool_twice, "the pools are not in order of their blocks" },
	{ "objects that are missing", pool_items, "the objects of a pool are missing" },
	{ "objects of nobody", pool_few_items, "there are objects of no pool" },
	{ "first object", pool_first_item, "the objects of a pool are missing" },
	{ "order of objects", item_order, "the objects of a pool are not in order" },
	{ "an edge to no object", edge_item, "an edge leads to an object that is not there" },
	{ "no objects for edges", edge_item_missing, "an edge leads to an object that is not there" },
	{ "more objects for edges", edge_item_more, "there are more edges to objects than edges" },
	{ "type of a row of objects", item_row_type, "a row of objects in pools is out of range" },
	{ "pool of a row of objects", item_row_pool, "a row of objects in pools is out of range" },
	{ "state of a row of objects", item_row_state, "a row of objects in pools is out of range" },
	{ "confidence of a row of objects", item_row_sure, "a row of objects in pools is out of range" },
	{ "an account", account, NULL },
	{ "an RSS past all", rss_of_account, "a number of the memory account is out of range" },
	{ "live blocks not known", live_not_known, "a number of the memory account is out of range" },
	{ "parts past all in sum", sum_of_parts, "a number of the memory account is out of range" },
	{ "kind of a part", kind_of_part, "a number of the memory account is out of range" },
	{ "kind of an arena", kind_of_arena, "a number of an arena is out of range" },
	{ "bytes of an arena", system_of_arena, "a number of an arena is out of range" },
	{ "parts without an account", no_account, "parts of an account that is not there" },
	{ "number of roots", half_loaded, "the graph's counts of nodes differ" },
};

Test(broken, a_broken_graph_is_not_written, .init = folder_make, .fini = folder_remove)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
		hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){
			.types = "Outer=16{inner:Inner@0,next:Outer*@8} Inner=8{p:void*@0} Inner[]", .roots = "global:r",
			.stacks = "make(a.c:1)<main", .blocks = "a:Outer&1 b:Inner c:Inner[]/80", .edges = "r>a a>b a>c a>a" });
		const struct hsnap_graph saved = s->graph;
		refusals[i].change(s);
		struct hsnap_error err = { 0 };
		enum hsnap_code code = hsnap_snapshot_write(s, in_folder("broken.snap"), true, NULL, &err);
		cr_expect_eq(code, refusals[i].message ? HSNAP_UNSUPPORTED : HSNAP_OK, "%s: %s", refusals[i].name, err.message);
		if (refusals[i].message) {
			cr_expect(strstr(err.message, refusals[i].message), "%s: got '%s'", refusals[i].name, err.message);
			cr_expect_eq(folder_count(), 0, "%s: something was left", refusals[i].name);
		}
		remove(in_folder("broken.snap"));
		hsnap_vec_deinit(&s->graph.big);
		hsnap_vec_deinit(&s->graph.pools);
		hsnap_vec_deinit(&s->graph.items);
		hsnap_vec_deinit(&s->graph.edge_items);
		hsnap_pages_free(s->graph.grounds, saved.num_nodes, sizeof(*s->graph.grounds));
		s->graph = saved;
	}
}
