/* SPDX-License-Identifier: MIT */
/* test_sizes.c - what a block's size lets it be: one object, a run, an array, a head with a tail, a page of something. */
#include <criterion/criterion.h>

#include "world.h"

/* What a declared pointer to a 32-byte struct makes of a block of some size. */
Test(sizes, the_size_must_fit)
{
	static const struct {
		uint64_t size;
		bool requested_known;
		const char *rows;
	} rows[] = {
		{ 32, true, "1 Node proved" },
		{ 96, true, "1 Node[] inferred" },
		{ 40, true, "1 40 bytes in g label" },
		{ 24, true, "1 24 bytes in g label" },
		{ 31, true, "1 31 bytes in g label" },
		{ 40, false, "1 Node proved" },
		{ 24, false, "1 24 bytes in g label" },
		{ 56, false, "1 56 bytes in g label" },
		{ 104, false, "1 Node[] inferred" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		world_variable(w, "g", WORLD_DATA, t.node_pointer);
		world_set(w, WORLD_DATA, world_block(w, rows[i].size, 0));
		w->heap.requested_known = rows[i].requested_known;
		if (!rows[i].requested_known)
			w->heap.blocks.items[0].requested = w->heap.blocks.items[0].usable;
		world_name(w);
		cr_expect_str_eq(world_rows(w), rows[i].rows, "row %zu: %s", i, w->text);
		world_destroy(w);
	}
}

Test(sizes, a_flexible_tail_takes_what_is_left)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id table = world_type(w, "Table", STRUCT, 8);
	w->symbols.types.items[table].flags = HSNAP_DTYPE_FLEXIBLE;
	MEMBERS(w, table, { "num", 0, t.number }, { "nodes", 8, world_array(w, t.node_pointer, 0) });
	world_variable(w, "g_table", WORLD_DATA, world_pointer(w, table));
	uint64_t block = world_block(w, 8 + 5 * 8, 0), node = world_block(w, 32, 0);
	world_set(w, WORLD_DATA, block);
	world_set(w, block + 8 + 4 * 8, node);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 Table proved; 1 Node proved");
	cr_expect_str_eq(world_edges(w), "g_table+0>1 1+40>2");
	char path[64];
	cr_expect(hsnap_member_path(w->snapshot, w->snapshot->graph.type[2], 40, path, sizeof(path)));
	cr_expect_str_eq(path, ".nodes[*]");
	world_destroy(w);
}

Test(sizes, an_array_of_pointers_is_one_only_if_every_word_agrees)
{
	static const struct {
		const char *name;
		int bad; /* what stands in the last word: 0 null, 1 a node, 2 a number, 3 the inside of a node, 4 a tagged pointer */
		const char *rows;
	} rows[] = {
		{ "null", 0, "1 Node *[] proved; 1 Node proved" },
		{ "a node", 1, "1 Node *[] proved; 1 Node proved" },
		{ "a number", 2, "1 64 bytes in g_table label; 1 32 bytes from Nowhere label" },
		{ "inside", 3, "1 64 bytes in g_table label; 1 32 bytes from Nowhere label" },
		{ "tagged", 4, "1 64 bytes in g_table label; 1 32 bytes from Nowhere label" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		world_variable(w, "g_table", WORLD_DATA, world_pointer(w, t.node_pointer));
		world_pc(w, WORLD_TEXT + 8, "Nowhere");
		uint64_t table = world_block(w, 64, 0), node = world_block(w, 32, STACK(w, WORLD_TEXT + 8));
		const uint64_t words[] = { 0, node, 12345, node + 8, node + 1 };
		world_set(w, WORLD_DATA, table);
		world_set(w, table + 24, node);
		world_set(w, table + 56, words[rows[i].bad]);
		world_name(w);
		cr_expect_str_eq(world_rows(w), rows[i].rows, "%s: %s", rows[i].name, w->text);
		world_destroy(w);
	}
}

Test(sizes, a_pointer_into_a_struct_makes_no_array_of_it)
{
	/* struct Item { struct Item *next; struct Item **prev; }: prev leads to the next field of the one before. */
	struct world *w = world_create();
	make_basics(w);
	hsnap_dtype_id item = world_type(w, "Item", STRUCT, 16), pointer = world_pointer(w, item);
	MEMBERS(w, item, { "next", 0, pointer }, { "prev", 8, world_pointer(w, pointer) });
	world_variable(w, "g_first", WORLD_DATA, pointer);
	uint64_t a = world_block(w, 16, 0), b = world_block(w, 16, 0), c = world_block(w, 16, 0);
	world_set(w, WORLD_DATA, a);
	world_set(w, a, b);
	world_set(w, b, c);
	world_set(w, a + 8, WORLD_DATA);
	world_set(w, b + 8, a);
	world_set(w, c + 8, b);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "3 Item proved");
	world_destroy(w);
}

Test(sizes, a_page_of_objects_is_not_its_first_object)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	world_variable(w, "g", WORLD_DATA, t.node_pointer);
	uint64_t page = world_block(w, 4096 + 8, 0);
	world_set(w, WORLD_DATA, page);
	world_set(w, page, page + 32);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 4104 bytes in g label");
	world_destroy(w);
}

Test(sizes, a_larger_struct_is_not_a_run_of_what_it_begins_with)
{
	static const struct {
		bool pointers; /* has the small struct any? */
		uint64_t second; /* what stands where the second one's pointer would */
		bool known; /* a struct of the block's size begins with it */
		const char *rows;
	} rows[] = {
		{ true, 0x1234, false, "1 64 bytes in g label" },
		{ true, 0, false, "1 Head[] inferred" },
		{ true, 0, true, "1 64 bytes in g label" },
		{ false, 0x1234, false, "1 Head[] inferred" },
		{ false, 0x1234, true, "1 64 bytes in g label" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		hsnap_dtype_id head = world_type(w, "Head", STRUCT, 16);
		MEMBERS(w, head, { "kind", 0, t.number }, { "owner", 8, rows[i].pointers ? t.void_pointer : t.number });
		hsnap_dtype_id whole = world_type(w, "Whole", STRUCT, rows[i].known ? 64 : 80);
		MEMBERS(w, whole, { "head", 0, head }, { "rest", 16, t.number });
		world_variable(w, "g", WORLD_DATA, world_pointer(w, head));
		uint64_t block = world_block(w, 64, 0);
		world_set(w, WORLD_DATA, block);
		world_set(w, block + 24, rows[i].second);
		world_name(w);
		cr_expect_str_eq(world_rows(w), rows[i].rows, "row %zu: %s", i, w->text);
		world_destroy(w);
	}
}

/* What the allocator maps by itself ends with its page: the rest is no object. */
Test(sizes, a_mapped_run_ends_before_its_page)
{
	for (unsigned pointers = 0; pointers < 2; pointers++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		hsnap_dtype_id event = world_type(w, "Event", STRUCT, 48);
		MEMBERS(w, event, { "fd", 0, t.number }, { "owner", 8, pointers ? t.node_pointer : t.number });
		world_variable(w, "g_events", WORLD_DATA, world_pointer(w, event));
		struct hsnap_block block = { .address = WORLD_HEAP + 0x100010, .usable = 0x28ff0, .requested = 0x28ff0 };
		cr_assert(hsnap_vec_push(&w->heap.blocks, block));
		world_set(w, WORLD_DATA, block.address);
		w->heap.requested_known = false;
		world_name(w);
		cr_expect_str_eq(world_rows(w), pointers ? "1 Event[] inferred" : "1 167920 bytes in g_events label", "%s", w->text);
		world_destroy(w);
	}
}

/* An array that was enlarged: its room and how many there are stand beside the pointer, what is behind is anything. */
Test(sizes, an_array_of_pointers_need_not_be_full)
{
	static const struct {
		const char *what;
		uint64_t room, used, size;
		const char *rows, *edges;
	} rows[] = {
		{ "as two numbers say", 8, 4, 64, "4 Node proved; 1 Node *[] proved; 1 32 bytes in g_items[*] label", "g_items+0>1 1+0>2 1+8>3 1+16>4 1+24>5 1+48>6?" },
		{ "by the capacity alone", 8, 0, 64, "5 32 bytes behind g_items label; 1 64 bytes in g_items label", NULL },
		{ "more than there are", 8, 6, 64, "5 32 bytes behind g_items label; 1 64 bytes in g_items label", NULL },
		{ "too few", 8, 3, 64, "5 32 bytes behind g_items label; 1 64 bytes in g_items label", NULL },
		{ "another room", 6, 4, 64, "5 32 bytes behind g_items label; 1 64 bytes in g_items label", NULL },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		world_variable(w, "g_items", WORLD_DATA + 32, world_pointer(w, t.node_pointer));
		uint64_t array = world_block(w, rows[i].size, 0);
		world_set(w, WORLD_DATA + 32, array);
		world_set(w, WORLD_DATA + 40, rows[i].used);
		world_set(w, WORLD_DATA + 48, rows[i].room);
		for (unsigned k = 0; k < 4; k++)
			world_set(w, array + 8 * k, world_block(w, 32, 0));
		world_set(w, array + 32, 0x1616161616161616);
		world_set(w, array + 48, world_block(w, 32, 0)); /* left over */
		world_name(w);
		cr_expect(i || !strcmp(world_edges(w), rows[i].edges), "%s: %s", rows[i].what, w->text);
		cr_expect_str_eq(world_rows(w), rows[i].rows, "%s: %s", rows[i].what, w->text);
		world_destroy(w);
	}
}

/* glibc maps whole pages for a large request: up to a page more than was asked for, and one object still. */
Test(sizes, a_large_object_has_pages_of_its_own)
{
	static const struct {
		uint64_t address, size, usable;
		const char *rows;
	} rows[] = {
		{ 0x20000010, 204784, 204784, "1 Large proved" },
		{ 0x20000010, 200700, 204784, "1 Large proved" },
		{ 0x20000010, 200688, 204784, "1 204784 bytes in g label" },
		{ 0x20000020, 200700, 204784, "1 204784 bytes in g label" },
		{ 0x20000010, 60000, 61424, "1 61424 bytes in g label" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		make_basics(w);
		world_variable(w, "g", WORLD_DATA, world_pointer(w, world_type(w, "Large", STRUCT, rows[i].size)));
		world_set(w, WORLD_DATA, rows[i].address);
		struct hsnap_block block = { .address = rows[i].address, .usable = rows[i].usable, .requested = rows[i].usable };
		cr_assert(hsnap_vec_push(&w->heap.blocks, block));
		w->heap.requested_known = false;
		world_name(w);
		cr_expect_str_eq(world_rows(w), rows[i].rows, "row %zu: %s", i, w->text);
		world_destroy(w);
	}
}

Test(sizes, numbers_must_fill_their_block)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	world_variable(w, "g_full", WORLD_DATA, world_pointer(w, t.number));
	world_variable(w, "g_odd", WORLD_DATA + 8, world_pointer(w, t.number));
	world_set(w, WORLD_DATA, world_block(w, 24, 0));
	world_set(w, WORLD_DATA + 8, world_block(w, 17, 0));
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 unsigned long[] in g_full proved; 1 17 bytes in g_odd label");
	world_destroy(w);
}
