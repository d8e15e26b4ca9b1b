/* SPDX-License-Identifier: MIT */
/* test_indices.c - boost::multi_index as it stands in memory, whole, torn and hostile. */
#include <criterion/criterion.h>
#include <string.h>

#include "world.h"

#define DETAIL "boost::multi_index::detail::"
#define ARGUMENTS(w, type, ...) \
	world_arguments((w), (type), sizeof((const hsnap_dtype_id[]){ __VA_ARGS__ }) / sizeof(hsnap_dtype_id), \
			(const hsnap_dtype_id[]){ __VA_ARGS__ })

/* Words of a node: the value's two, the ring's, the tree's. */
enum { TEXT, NUMBER, PRIOR, NEXT, PARENT, LEFT, RIGHT, NUM_WORDS };
#define RING (8 * PRIOR)
#define TREE (8 * PARENT)

/* Of an index: what links lead to, and the base of nodes that has it. */
static hsnap_dtype_id make_part(struct world *w, const char *impl, const char *trampoline, hsnap_dtype_id number)
{
	bool tree = number;
	hsnap_dtype_id links = world_type(w, impl, STRUCT, tree ? 24 : 16), link = world_pointer(w, links);
	if (tree)
		MEMBERS(w, links, { "parentcolor_", 0, number }, { "left_", 8, link }, { "right_", 16, link });
	else
		MEMBERS(w, links, { "prior_", 0, link }, { "next_", 8, link });
	hsnap_dtype_id part = world_type(w, trampoline, STRUCT, tree ? 24 : 16);
	MEMBERS(w, part, { "", 0, links, HSNAP_DMEMBER_BASE });
	return part;
}

/* The header's holder of a container of struct Page { Text *text; unsigned long n; } with a tree and a ring. */
static hsnap_dtype_id make_container(struct world *w)
{
	hsnap_dtype_id number = world_type(w, "unsigned long", HSNAP_DTYPE_SCALAR, 8);
	hsnap_dtype_id small = world_type(w, "unsigned char", HSNAP_DTYPE_SCALAR, 1);
	hsnap_dtype_id text = world_type(w, "Text", STRUCT, 24);
	MEMBERS(w, text, { "n", 0, number });
	hsnap_dtype_id page = world_type(w, "Page", STRUCT, 16);
	MEMBERS(w, page, { "text", 0, world_pointer(w, text) }, { "n", 8, number });
	hsnap_dtype_id value = world_type(w, DETAIL "pod_value_holder<Page>", STRUCT, 16);
	ARGUMENTS(w, value, page);
	MEMBERS(w, value, { "space", 0, world_array(w, small, 16) });
	hsnap_dtype_id base = world_type(w, DETAIL "index_node_base<Page, std::allocator<Page> >", STRUCT, 16);
	MEMBERS(w, base, { "", 0, value, HSNAP_DMEMBER_BASE });
	hsnap_dtype_id ring = make_part(w, DETAIL "sequenced_index_node_impl<A>", DETAIL "sequenced_index_node_trampoline<A>", 0);
	hsnap_dtype_id tree = make_part(w, DETAIL "ordered_index_node_impl<P, A>", DETAIL "ordered_index_node_trampoline<P, A>", number);
	const char *inner = DETAIL "sequenced_index_node<" DETAIL "index_node_base<Page, std::allocator<Page> > >";
	hsnap_dtype_id sequenced = world_type(w, inner, STRUCT, TREE);
	MEMBERS(w, sequenced, { "", 0, base, HSNAP_DMEMBER_BASE }, { "", RING, ring, HSNAP_DMEMBER_BASE });
	hsnap_dtype_id node = world_type(w, DETAIL "ordered_index_node<P, " DETAIL "sequenced_index_node<" DETAIL
					 "index_node_base<Page, std::allocator<Page> > > >", STRUCT, 8 * NUM_WORDS);
	MEMBERS(w, node, { "", 0, sequenced, HSNAP_DMEMBER_BASE }, { "", TREE, tree, HSNAP_DMEMBER_BASE });
	hsnap_dtype_id holder = world_type(w, DETAIL "header_holder<Node *, Container>", STRUCT, 8);
	MEMBERS(w, holder, { "member", 0, world_pointer(w, node) });
	return holder;
}

enum { HEADER, ROOT, CHILD, NUM_NODES };

/* Two nodes: one the root, the other left of it; what the header's value would be is left over. */
static void fill(struct world *w, uint64_t nodes[NUM_NODES])
{
	for (int i = 0; i < NUM_NODES; i++)
		nodes[i] = world_block(w, 8 * NUM_WORDS, 0);
	uint64_t header = nodes[HEADER], root = nodes[ROOT], child = nodes[CHILD];
	const uint64_t words[NUM_NODES][NUM_WORDS] = {
		{ world_block(w, 24, 0), 0, child + RING, root + RING, root + TREE, child + TREE, root + TREE },
		{ world_block(w, 24, 0), 1, header + RING, child + RING, (header + TREE) | 1, child + TREE, 0 },
		{ world_block(w, 24, 0), 2, root + RING, header + RING, root + TREE, 0, 0 },
	};
	for (int i = 0; i < NUM_NODES; i++)
		for (int k = 0; k < NUM_WORDS; k++)
			world_set(w, nodes[i] + 8 * (uint64_t)k, words[i][k]);
	world_set(w, WORLD_DATA, header);
}

#define NODE "boost::multi_index_container<Page>::node"

Test(indices, nodes_have_values_and_the_header_has_none)
{
	struct world *w = world_create();
	uint64_t nodes[NUM_NODES];
	world_variable(w, "g_pages", WORLD_DATA, make_container(w));
	fill(w, nodes);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "3 " NODE " proved; 2 Text proved; 1 24 bytes unknown unreachable");
	world_destroy(w);
}

/* A node that an iterator leads to may be the header: only its container knows, and here there is none. */
Test(indices, a_node_without_its_container_has_a_name_and_no_value)
{
	struct world *w = world_create();
	uint64_t nodes[NUM_NODES];
	hsnap_dtype_id holder = make_container(w);
	world_variable(w, "g_at", WORLD_DATA, w->symbols.members.items[hsnap_dtype(&w->symbols, holder)->first_member].type);
	fill(w, nodes);
	world_name(w);
	cr_expect(strstr(world_rows(w), "1 " NODE " proved") && !strstr(w->text, "Text proved"), "%s", w->text);
	world_destroy(w);
}

Test(indices, an_empty_container_has_a_header)
{
	struct world *w = world_create();
	world_variable(w, "g_pages", WORLD_DATA, make_container(w));
	uint64_t header = world_block(w, 8 * NUM_WORDS, 0), dead = world_block(w, 24, 0);
	const uint64_t words[NUM_WORDS] = { dead, 0, header + RING, header + RING, 0, header + TREE, header + TREE };
	for (int k = 0; k < NUM_WORDS; k++)
		world_set(w, header + 8 * (uint64_t)k, words[k]);
	world_set(w, WORLD_DATA, header);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 " NODE " proved; 1 24 bytes unknown unreachable");
	world_destroy(w);
}

/* One word that is not as it should be: of `node`, the one with this number, to `to` and so many bytes on. */
static const struct {
	const char *name;
	int node, word, to;
	uint64_t plus;
} torn[] = {
	{ "the root has another parent", ROOT, PARENT, CHILD, TREE },
	{ "the root is the header", HEADER, PARENT, HEADER, TREE },
	{ "no root, but nodes", HEADER, PARENT, NUM_NODES, 0 },
	{ "another node is the first", HEADER, LEFT, ROOT, TREE },
	{ "another node is the last", HEADER, RIGHT, CHILD, TREE },
	{ "a tree that goes round", CHILD, LEFT, ROOT, TREE },
	{ "a child of its own", ROOT, LEFT, ROOT, TREE },
	{ "a child elsewhere", ROOT, LEFT, CHILD, TREE + 8 },
	{ "a ring without a way back", CHILD, PRIOR, CHILD, RING },
	{ "a ring without the header", CHILD, NEXT, ROOT, RING },
	{ "a ring that ends", CHILD, NEXT, NUM_NODES, 0 },
	{ "a ring that leads out of the heap", ROOT, NEXT, NUM_NODES, 0x123450 },
};

Test(indices, a_container_that_is_torn_leads_nowhere)
{
	for (size_t i = 0; i < sizeof(torn) / sizeof(*torn); i++) {
		struct world *w = world_create();
		uint64_t nodes[NUM_NODES + 1] = { 0 };
		world_variable(w, "g_pages", WORLD_DATA, make_container(w));
		fill(w, nodes);
		world_set(w, nodes[torn[i].node] + 8 * (uint64_t)torn[i].word, nodes[torn[i].to] + torn[i].plus);
		world_name(w);
		cr_expect(!strstr(world_rows(w), NODE) && !strstr(w->text, "Text"), "%s: %s", torn[i].name, w->text);
		world_destroy(w);
	}
}

Test(indices, a_header_stands_at_the_start_of_a_block_of_its_size)
{
	for (int way = 0; way < 3; way++) {
		struct world *w = world_create();
		uint64_t nodes[NUM_NODES];
		world_variable(w, "g_pages", WORLD_DATA, make_container(w));
		uint64_t large = world_block(w, 400, 0);
		fill(w, nodes);
		memcpy(w->heap_bytes + (large - WORLD_HEAP), w->heap_bytes + (nodes[HEADER] - WORLD_HEAP), 8 * NUM_WORDS);
		world_set(w, WORLD_DATA, way == 0 ? large : way == 1 ? nodes[HEADER] + 8 : 0x1234);
		world_name(w);
		cr_expect_not(strstr(world_rows(w), NODE), "%d: %s", way, w->text);
		world_destroy(w);
	}
}

/* As many as there is room for may say that one header is theirs: one has it. */
Test(indices, a_header_is_one_containers)
{
	struct world *w = world_create();
	uint64_t nodes[NUM_NODES];
	hsnap_dtype_id holder = make_container(w);
	world_variable(w, "g_pages", WORLD_DATA, holder);
	world_variable(w, "g_others", WORLD_DATA + 8, world_array(w, holder, 3));
	fill(w, nodes);
	for (uint64_t i = 1; i < 4; i++)
		world_set(w, WORLD_DATA + 8 * i, nodes[HEADER]);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "3 " NODE " proved; 2 Text proved; 1 24 bytes unknown unreachable");
	world_destroy(w);
}
