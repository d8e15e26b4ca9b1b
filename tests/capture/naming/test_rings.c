/* SPDX-License-Identifier: MIT */
/* test_rings.c - objects that lists run through: what links there and back tells of them, and what only looks like it. */
#include <criterion/criterion.h>
#include <string.h>

#include "world.h"

#define HEAD WORLD_DATA
#define SECOND (WORLD_DATA + 0x100)
#define MANY 6

struct types {
	struct basics basics;
	hsnap_dtype_id link, pointer, item, other;
};

/* Link { next, prev }; Item { link at `first`, link at `second` if it is not 0, a text at its end } of `size` bytes. */
static hsnap_dtype_id make_item(struct world *w, struct types *t, const char *name, uint64_t size, uint64_t first, uint64_t second)
{
	hsnap_dtype_id item = world_type(w, name, STRUCT, size);
	struct world_member members[] = { { "link", first, t->link, 0 }, { "text", size - 8, t->basics.byte_pointer, 0 },
					  { "more", second, t->link, 0 } };
	world_members(w, item, second ? 3 : 2, members);
	return item;
}

static struct types make_types(struct world *w)
{
	struct types t = { .basics = make_basics(w) };
	t.link = world_type(w, "Link", STRUCT, 16);
	t.pointer = world_pointer(w, t.link);
	MEMBERS(w, t.link, { "next", 0, t.pointer }, { "prev", 8, t.pointer });
	world_variable(w, "g_list", HEAD, t.link);
	world_variable(w, "g_second", SECOND, t.link);
	world_set(w, HEAD, HEAD);
	world_set(w, HEAD + 8, HEAD);
	world_set(w, SECOND, SECOND);
	world_set(w, SECOND + 8, SECOND);
	return t;
}

static uint64_t word(struct world *w, uint64_t at)
{
	uint64_t value;
	memcpy(&value, at >= WORLD_HEAP ? w->heap_bytes + (at - WORLD_HEAP) : w->data + (at - WORLD_DATA), sizeof(value));
	return value;
}

static void add(struct world *w, uint64_t head, uint64_t node)
{
	uint64_t last = word(w, head + 8);
	world_set(w, node, head);
	world_set(w, node + 8, last);
	world_set(w, last, node);
	world_set(w, head + 8, node);
}

static uint64_t add_block(struct world *w, uint64_t size)
{
	uint64_t block = world_block(w, size, 0);
	world_set(w, block + size - 8, world_block(w, 100, 0));
	return block;
}

static bool has(struct world *w, const char *rows)
{
	return strstr(world_rows(w), rows);
}

Test(rings, an_object_on_two_lists_is_told_by_both)
{
	struct world *w = world_create();
	struct types t = make_types(w);
	make_item(w, &t, "Item", 96, 16, 48);
	for (int i = 0; i < MANY; i++) {
		uint64_t block = add_block(w, 96);
		add(w, HEAD, block + 16);
		if (i % 2)
			add(w, SECOND, block + 48);
	}
	world_name(w);
	cr_expect(has(w, "6 Item inferred"), "%s", w->text);
	world_destroy(w);
}

Test(rings, a_link_may_be_the_first_member)
{
	struct world *w = world_create();
	struct types t = make_types(w);
	make_item(w, &t, "Item", 64, 0, 0);
	for (int i = 0; i < MANY; i++)
		add(w, HEAD, add_block(w, 64));
	world_name(w);
	cr_expect(has(w, "6 Item inferred"), "%s", w->text);
	world_destroy(w);
}

Test(rings, lists_of_one_size_are_judged_one_by_one)
{
	for (int together = 0; together < 2; together++) {
		struct world *w = world_create();
		struct types t = make_types(w);
		make_item(w, &t, "Item", 96, 16, 0);
		make_item(w, &t, "Other", 96, 48, 0);
		for (int i = 0; i < MANY; i++) {
			add(w, HEAD, add_block(w, 96) + 16);
			add(w, together ? HEAD : SECOND, add_block(w, 96) + 48);
		}
		world_name(w);
		cr_expect_eq(has(w, "6 Item inferred"), !together, "%s", w->text);
		cr_expect_eq(has(w, "6 Other inferred"), !together, "%s", w->text);
		world_destroy(w);
	}
}

Test(rings, a_head_in_an_object_of_the_same_size_is_no_node)
{
	struct world *w = world_create();
	struct types t = make_types(w);
	make_item(w, &t, "Item", 96, 16, 0);
	make_item(w, &t, "Owner", 96, 48, 0);
	world_variable(w, "g_there", WORLD_DATA + 0x200, t.pointer);
	uint64_t head = add_block(w, 96) + 48;
	world_set(w, WORLD_DATA + 0x200, head);
	world_set(w, head, head);
	world_set(w, head + 8, head);
	for (int i = 0; i < MANY; i++)
		add(w, head, add_block(w, 96) + 16);
	world_name(w);
	cr_expect(has(w, "6 Item inferred") && !has(w, "Owner"), "%s", w->text);
	world_destroy(w);
}

/* What has left a list still leads to where that was. */
Test(rings, where_no_link_leads_back_there_is_none)
{
	for (int linked = 0; linked < 2; linked++) {
		struct world *w = world_create();
		struct types t = make_types(w);
		hsnap_dtype_id item = make_item(w, &t, "Item", 96, 16, 0);
		make_item(w, &t, "Other", 64, 32, 0);
		world_variable(w, "g_items", WORLD_DATA + 0x200, world_array(w, world_pointer(w, item), MANY));
		for (int i = 0; i < MANY; i++) {
			uint64_t block = add_block(w, 96), other = add_block(w, 64);
			world_set(w, WORLD_DATA + 0x200 + 8u * (unsigned)i, block);
			if (linked) {
				add(w, HEAD, block + 16);
				add(w, HEAD, other + 32);
			} else {
				world_set(w, block + 16, other + 32);
			}
			add(w, SECOND, world_block(w, 40, 0) + 16); /* links that are linked there are */
			add(w, SECOND, world_block(w, 40, 0) + 16);
		}
		world_name(w);
		cr_expect_eq(has(w, "6 Other inferred"), linked, "%s", w->text);
		cr_expect_eq(has(w, "Other"), linked, "%s", w->text);
		world_destroy(w);
	}
}

/* hlist: a head of one pointer, nodes with one to where they are pointed to from. */
Test(rings, chains_with_a_pointer_back_to_the_pointer)
{
	for (int good = 0; good < 2; good++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		hsnap_dtype_id node = world_type(w, "HNode", STRUCT, 16), pointer = world_pointer(w, node);
		MEMBERS(w, node, { "next", 0, pointer }, { "pprev", 8, world_pointer(w, pointer) });
		hsnap_dtype_id head = world_type(w, "HHead", STRUCT, 8), item = world_type(w, "Entry", STRUCT, 64);
		MEMBERS(w, head, { "first", 0, pointer });
		MEMBERS(w, item, { "key", 0, t.byte_pointer }, { "node", 16, node }, { "n", 32, t.number });
		world_variable(w, "g_table", WORLD_DATA, world_pointer(w, head));
		uint64_t table = world_block(w, 4 * 8, 0);
		world_set(w, WORLD_DATA, table);
		for (unsigned i = 0; i < MANY; i++) {
			uint64_t block = world_block(w, 64, 0), at = block + 16, bucket = table + i % 4 * 8, first = word(w, bucket);
			world_set(w, block, world_block(w, 40, 0));
			world_set(w, at, first);
			world_set(w, at + 8, good ? bucket : table + 24);
			if (first)
				world_set(w, first + 8, at);
			world_set(w, bucket, at);
		}
		world_name(w);
		cr_expect_eq(has(w, "6 Entry inferred"), good, "%s", w->text);
		cr_expect(has(w, "HHead[] proved"), "%s", w->text);
		world_destroy(w);
	}
}

/* Each type has the next one eight times, at one place: a tree of as many looks as nobody has time for. */
Test(rings, members_that_overlap_cost_no_more_than_others, .timeout = 30)
{
	struct world *w = world_create();
	struct types t = make_types(w);
	hsnap_dtype_id inner = world_type(w, "Last", STRUCT, 96);
	make_item(w, &t, "Item", 96, 16, 0);
	for (int depth = 0; depth < 14; depth++) {
		struct world_member members[8];
		for (int m = 0; m < 8; m++)
			members[m] = (struct world_member){ "m", 0, inner, 0 };
		hsnap_dtype_id outer = world_type(w, "Outer", STRUCT, 96);
		world_members(w, outer, 8, members);
		inner = outer;
	}
	for (int i = 0; i < MANY; i++)
		add(w, HEAD, add_block(w, 96) + 16);
	world_name(w);
	cr_expect(has(w, "6 Item inferred"), "%s", w->text);
	world_destroy(w);
}
