/* SPDX-License-Identifier: MIT */
/* test_sites.c - what the call site of an allocation names, and where it must not. */
#include <criterion/criterion.h>

#include "world.h"

/* Sites: what the variable points to, which sizes the live blocks have, what they are called. */
enum pointee { VOID, BYTE, NODE, NODE_POINTER, TABLE, TWO, NUMBER };

Test(sites, the_variable_at_the_call_site)
{
	static const struct {
		const char *name;
		enum pointee pointee;
		uint64_t sizes[3];
		const char *rows;
	} rows[] = {
		{ "equal", NODE, { 32, 32 }, "2 Node exact unreachable" },
		{ "multiples, one of them single", NODE, { 32, 96 }, "2 Node[] exact unreachable" },
		{ "always the same multiple", NODE, { 96, 96 }, "2 Node[] inferred unreachable" },
		{ "a head and what is behind it, by its size", NODE, { 64, 96 }, "2 Node[] inferred unreachable" },
		{ "always the same multiple, of pointers", NODE_POINTER, { 64, 64 }, "2 Node *[] exact unreachable" },
		{ "neither", NODE, { 32, 40 }, "1 40 bytes from make label unreachable; 1 32 bytes from make label unreachable" },
		{ "pointers", NODE_POINTER, { 8, 64 }, "2 Node *[] exact unreachable" },
		{ "flexible", TABLE, { 8, 48 }, "2 Table exact unreachable" },
		{ "void", VOID, { 32 }, "1 32 bytes from make label unreachable" },
		{ "bytes", BYTE, { 32, 33 }, "2 char[] from make label unreachable" },
		{ "numbers", NUMBER, { 32, 64 }, "2 unsigned long[] from make exact unreachable" },
		{ "two of one size", TWO, { 32 }, "1 32 bytes from make label unreachable" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		hsnap_dtype_id table = world_type(w, "Table", STRUCT, 8), other = world_type(w, "Other", STRUCT, 32);
		w->symbols.types.items[table].flags = HSNAP_DTYPE_FLEXIBLE;
		MEMBERS(w, table, { "num", 0, t.number }, { "nodes", 8, world_array(w, t.node_pointer, 0) });
		const hsnap_dtype_id pointees[] = { 0, t.byte, t.node, t.node_pointer, table, t.node, t.number };
		world_pc(w, WORLD_TEXT + 16, "make");
		world_result(w, pointees[rows[i].pointee], rows[i].pointee == VOID);
		if (rows[i].pointee == TWO)
			world_result(w, other, false);
		uint32_t stack = STACK(w, WORLD_TEXT + 16, WORLD_TEXT + 32);
		for (size_t s = 0; rows[i].sizes[s]; s++)
			world_block(w, rows[i].sizes[s], stack);
		world_name(w);
		cr_expect_str_eq(world_rows(w), rows[i].rows, "%s: %s", rows[i].name, w->text);
		world_destroy(w);
	}
}

/* A `char *` at the call site, and blocks of which some point to others. */
Test(sites, bytes_that_point_are_no_text)
{
	static const struct {
		size_t blocks, pointing;
		bool numbers; /* something else takes the result, too */
		const char *rows;
	} rows[] = {
		{ 4, 0, false, "4 char[] from make inferred unreachable" },
		{ 4, 0, true, "4 char[] from make label unreachable" },
		{ 3, 0, false, "3 char[] from make label unreachable" },
		{ 4, 1, false, "4 char[] from make label unreachable" },
		{ 4, 2, false, "4 64 bytes from make label unreachable" },
		{ 3, 3, false, "3 char[] from make label unreachable" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		world_pc(w, WORLD_TEXT + 16, "make");
		world_result(w, t.byte, false);
		if (rows[i].numbers)
			world_result(w, world_type(w, "odd", STRUCT, 48), false);
		uint32_t stack = STACK(w, WORLD_TEXT + 16);
		uint64_t last = world_block(w, 64, stack);
		for (size_t n = 1; n < rows[i].blocks; n++)
			world_block(w, 64, stack);
		for (size_t n = 0; n < rows[i].pointing; n++)
			world_set(w, w->heap.blocks.items[n].address + 16, last);
		world_name(w);
		cr_expect_str_eq(world_rows(w), rows[i].rows, "row %zu: %s", i, w->text);
		world_destroy(w);
	}
}

/* A pool for objects that have no pointers themselves: others' pointers know of them. */
Test(sites, bytes_with_an_object_in_them_are_none)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	world_pc(w, WORLD_TEXT + 16, "make");
	world_result(w, t.byte, false);
	uint32_t stack = STACK(w, WORLD_TEXT + 16);
	hsnap_dtype_id plain = world_type(w, "plain", STRUCT, 16);
	MEMBERS(w, plain, { "a", 0, t.number }, { "b", 8, t.number });
	world_variable(w, "g_plain", WORLD_DATA, world_array(w, world_pointer(w, plain), 4));
	for (unsigned n = 0; n < 4; n++)
		world_set(w, WORLD_DATA + 8 * n, n ? world_block(w, 64, stack) : world_block(w, 64, stack) + 32);
	world_name(w);
	cr_expect(strstr(world_rows(w), "1 char[] from make label"), "%s", w->text);
	world_destroy(w);
}

Test(sites, a_wrapper_hands_on_its_result)
{
	static const struct {
		bool returns_result;
		const char *rows;
	} rows[] = {
		{ true, "1 Node exact unreachable" },
		{ false, "1 32 bytes from first label unreachable" },
	};
	for (size_t i = 0; i < 2; i++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		world_pc(w, WORLD_TEXT + 16, "first")->returns_result = rows[i].returns_result;
		world_result(w, 0, true);
		world_pc(w, WORLD_TEXT + 32, "node_new");
		world_result(w, t.node, false);
		world_block(w, 32, STACK(w, WORLD_TEXT + 16, WORLD_TEXT + 32));
		world_name(w);
		cr_expect_str_eq(world_rows(w), rows[i].rows, "row %zu: %s", i, w->text);
		world_destroy(w);
	}
}

Test(sites, a_site_that_knows_only_the_start_of_what_it_made)
{
	static const struct {
		uint64_t second; /* what stands where a second object's pointer would */
		const char *rows;
	} rows[] = {
		{ 0x1234, "1 64 bytes from make label unreachable" },
		{ 0, "1 Head[] inferred unreachable" },
	};
	for (size_t i = 0; i < 2; i++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		hsnap_dtype_id head = world_type(w, "Head", STRUCT, 16);
		MEMBERS(w, head, { "kind", 0, t.number }, { "owner", 8, t.void_pointer });
		world_pc(w, WORLD_TEXT + 16, "make");
		world_result(w, head, false);
		world_set(w, world_block(w, 64, STACK(w, WORLD_TEXT + 16)) + 24, rows[i].second);
		world_name(w);
		cr_expect_str_eq(world_rows(w), rows[i].rows, "row %zu: %s", i, w->text);
		world_destroy(w);
	}
}

/* struct Derived { struct Head head; … }, made by who only knows Head, and how large it is to be. */
Test(sites, a_base_that_is_allocated_by_the_size_of_what_is_derived)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id head = world_type(w, "Head", STRUCT, 16), derived = world_type(w, "Derived", STRUCT, 32);
	MEMBERS(w, head, { "kind", 0, t.number }, { "next", 8, world_pointer(w, head) });
	MEMBERS(w, derived, { "head", 0, head }, { "x", 16, t.number }, { "y", 24, t.number });
	world_variable(w, "g", WORLD_DATA, world_pointer(w, derived));
	world_pc(w, WORLD_TEXT + 16, "make");
	world_result(w, head, false);
	world_set(w, WORLD_DATA, world_block(w, 32, STACK(w, WORLD_TEXT + 16)));
	world_block(w, 32, STACK(w, WORLD_TEXT + 16));
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 Derived proved; 1 Head[] inferred unreachable");
	world_destroy(w);
}

Test(sites, labels_climb_out_of_wrappers)
{
	struct world *w = world_create();
	world_pc(w, WORLD_TEXT + 16, "dup_text")->returns_result = true;
	world_pc(w, WORLD_TEXT + 32, "parse_line");
	world_pc(w, WORLD_TEXT + 48, "PyMem_Malloc");
	world_pc(w, WORLD_TEXT + 64, "zrealloc");
	world_pc(w, WORLD_TEXT + 80, "__strdup");
	world_block(w, 64, STACK(w, WORLD_TEXT + 16, WORLD_TEXT + 32));
	world_block(w, 48, STACK(w, WORLD_TEXT + 48, WORLD_TEXT + 32));
	world_block(w, 32, STACK(w, WORLD_TEXT + 64));
	world_block(w, 24, STACK(w, WORLD_TEXT + 80, WORLD_TEXT + 32));
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 64 bytes from parse_line label unreachable; "
			 "1 48 bytes from parse_line label unreachable; 1 32 bytes from zrealloc label unreachable; "
			 "1 24 bytes from parse_line label unreachable");
	world_destroy(w);
}

Test(sites, the_call_site_is_believed_before_a_pointer)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id page = world_type(w, "Page", STRUCT, 32);
	MEMBERS(w, page, { "name", 0, t.byte_pointer });
	world_pc(w, WORLD_TEXT + 16, "page_new");
	world_result(w, page, false);
	world_variable(w, "g", WORLD_DATA, t.node_pointer);
	world_set(w, WORLD_DATA, world_block(w, 32, STACK(w, WORLD_TEXT + 16)));
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 Page exact");
	world_destroy(w);
}

Test(sites, what_a_struct_pointer_cannot_be_is_called_by_its_site)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	world_pc(w, WORLD_TEXT + 16, "make");
	world_variable(w, "g", WORLD_DATA, t.node_pointer);
	world_variable(w, "g_any", WORLD_DATA + 8, t.void_pointer);
	uint32_t stack = STACK(w, WORLD_TEXT + 16);
	world_set(w, WORLD_DATA, world_block(w, 40, stack));
	world_set(w, WORLD_DATA + 8, world_block(w, 39, stack));
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 40 bytes from make label; 1 39 bytes in g_any label");
	world_destroy(w);
}
