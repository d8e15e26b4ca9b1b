/* SPDX-License-Identifier: MIT */
/* test_names.c - what typed pointers and places name, and the traps that must not; test_sizes.c has what sizes say. */
#include <criterion/criterion.h>

#include "world.h"

Test(names, a_typed_variable_names_what_hangs_on_it)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	world_variable(w, "g_list", WORLD_DATA + 16, t.node_pointer);
	uint64_t first = world_block(w, 32, 0), second = world_block(w, 32, 0);
	uint64_t key = world_block(w, 11, 0), value = world_block(w, 48, 0);
	world_set(w, WORLD_DATA + 16, first);
	world_set(w, first, second);
	world_set(w, second + 8, key);
	world_set(w, second + 16, value);
	world_set(w, second + 24, first);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "2 Node proved; 1 48 bytes in Node.value label; 1 char[] in Node.key proved");
	/* Pointers are strong, void * too; a number that looks like one is weak. */
	cr_expect_str_eq(world_edges(w), "g_list+0>1 1+0>2 2+8>3 2+16>4 2+24>1?");
	const struct hsnap_graph *g = &w->snapshot->graph;
	cr_expect_eq(g->roots.items[0].kind, HSNAP_ROOT_GLOBAL);
	cr_expect_eq(g->address[1], WORLD_DATA + 16);
	cr_expect_str_eq(hsnap_text(w->snapshot, g->roots.items[0].source), "app.c:7");
	cr_expect_str_eq(hsnap_text(w->snapshot, w->snapshot->types.items[g->type[1]].name), "Node *");
	char path[64];
	cr_expect(hsnap_member_path(w->snapshot, g->type[2], 16, path, sizeof(path)));
	cr_expect_str_eq(path, ".value");
	world_destroy(w);
}

Test(names, two_types_of_one_name_stay_two)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	for (unsigned i = 0; i < 2; i++) {
		hsnap_dtype_id entry = world_type(w, "entry", STRUCT, 16 + 16 * i);
		w->symbols.types.items[entry].unit = world_string(w, i ? "routes.c" : "cache.c");
		MEMBERS(w, entry, { "next", 0, world_pointer(w, entry) }, { "n", 8, t.number });
		world_variable(w, i ? "g_b" : "g_a", WORLD_DATA + 8 * i, world_pointer(w, entry));
		world_set(w, WORLD_DATA + 8 * i, world_block(w, 16 + 16 * i, 0));
	}
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 entry proved; 1 entry proved");
	const struct hsnap_row *rows = w->snapshot->rows.items;
	cr_expect_str_eq(hsnap_text(w->snapshot, w->snapshot->types.items[rows[0].type].unit), "routes.c");
	cr_expect_str_eq(hsnap_text(w->snapshot, w->snapshot->types.items[rows[1].type].unit), "cache.c");
	world_destroy(w);
}

Test(names, arms_of_a_union_are_not_pushed)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id arms = world_type(w, "", HSNAP_DTYPE_UNION, 8), expr = world_type(w, "Expr", STRUCT, 16);
	MEMBERS(w, arms, { "node", 0, t.node_pointer }, { "n", 0, t.number });
	MEMBERS(w, expr, { "op", 0, t.number }, { "y", 8, arms });
	world_variable(w, "g_expr", WORLD_DATA, world_pointer(w, expr));
	uint64_t e = world_block(w, 16, 0), other = world_block(w, 32, 0);
	world_set(w, WORLD_DATA, e);
	world_set(w, e + 8, other);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 32 bytes in Expr.y.node label; 1 Expr proved");
	cr_expect_str_eq(world_edges(w), "g_expr+0>1 1+8>2?");
	world_destroy(w);
}

Test(names, an_incomplete_type_names_nothing)
{
	struct world *w = world_create();
	make_basics(w);
	hsnap_dtype_id handle = world_type(w, "Handle", HSNAP_DTYPE_INCOMPLETE, 0);
	world_variable(w, "g_handle", WORLD_DATA, world_pointer(w, handle));
	world_set(w, WORLD_DATA, world_block(w, 32, 0));
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 32 bytes in g_handle label");
	world_destroy(w);
}

Test(names, a_leaked_block_names_what_hangs_on_it)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	world_pc(w, WORLD_TEXT + 16, "node_new");
	world_result(w, t.node, false);
	world_pc(w, WORLD_TEXT + 32, "copy");
	world_result(w, t.byte, false);
	uint64_t node = world_block(w, 32, STACK(w, WORLD_TEXT + 16));
	world_set(w, node + 8, world_block(w, 20, STACK(w, WORLD_TEXT + 32)));
	world_block(w, 21, STACK(w, WORLD_TEXT + 32));
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 Node exact unreachable; 1 char[] from copy label unreachable; "
			 "1 char[] in Node.key proved unreachable");
	world_destroy(w);
}

Test(names, pointers_that_disagree_leave_a_doubt)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id page = world_type(w, "Page", STRUCT, 32);
	MEMBERS(w, page, { "name", 0, t.byte_pointer });
	uint64_t block = world_block(w, 32, 0);
	world_variable(w, "g_node", WORLD_DATA, t.node_pointer);
	world_variable(w, "g_page", WORLD_DATA + 8, world_pointer(w, page));
	world_set(w, WORLD_DATA, block);
	world_set(w, WORLD_DATA + 8, block);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 Node inferred");
	world_destroy(w);
}

Test(names, the_outer_of_two_types_that_share_their_start)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id outer = world_type(w, "Outer", STRUCT, 32);
	MEMBERS(w, outer, { "node", 0, t.node });
	uint64_t block = world_block(w, 32, 0);
	world_variable(w, "g_node", WORLD_DATA, t.node_pointer);
	world_variable(w, "g_outer", WORLD_DATA + 8, world_pointer(w, outer));
	world_set(w, WORLD_DATA, block);
	world_set(w, WORLD_DATA + 8, block);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 Outer proved");
	world_destroy(w);
}

Test(names, thread_locals_and_locals_are_roots)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	struct hsnap_root_area tls = { .kind = HSNAP_ROOT_THREAD_LOCAL, .address = WORLD_TLS + 0x100, .size = 0x100, .thread = 1 };
	struct hsnap_root_area stack = { .kind = HSNAP_ROOT_STACK, .address = WORLD_STACK, .size = 0x400, .thread = 1 };
	cr_assert(hsnap_vec_push(&w->roots.areas, tls) && hsnap_vec_push(&w->roots.areas, stack));
	world_variable(w, "t_cache", 0x40, t.node_pointer);
	w->symbols.variables.items[0].thread_local_ = true;
	struct hsnap_root_frame frame = { .low = WORLD_STACK + 0x100, .cfa = WORLD_STACK + 0x180, .exact_pc = true };
	frame.regs.value[HSNAP_REG_PC] = WORLD_TEXT + 64;
	frame.regs.value[3] = world_block(w, 32, 0);
	frame.regs.valid = 1u << HSNAP_REG_PC | 1u << 3;
	cr_assert(hsnap_vec_push(&w->roots.frames, frame));
	world_pc(w, WORLD_TEXT + 64, "serve")->num_locals = 2;
	const struct hsnap_dlocal locals[] = {
		{ .name = world_string(w, "node"), .function = world_string(w, "serve"), .type = t.node_pointer,
		  .place = HSNAP_PLACE_REGISTER, .number = 3 },
		{ .name = world_string(w, "text"), .function = world_string(w, "serve"), .type = t.byte_pointer,
		  .place = HSNAP_PLACE_CFA, .offset = -16 },
	};
	for (size_t i = 0; i < 2; i++)
		cr_assert(hsnap_vec_push(&w->symbols.locals, locals[i]));
	world_set(w, WORLD_TLS + 0x200 - 0x100 + 0x40, world_block(w, 32, 0));
	world_set(w, WORLD_STACK + 0x170, world_block(w, 77, 0));
	world_set(w, WORLD_STACK + 0x108, world_block(w, 40, 0));
	world_set(w, WORLD_STACK + 0x308, world_block(w, 41, 0));
	world_name(w);
	cr_expect_str_eq(world_edges(w), "node+0>1 t_cache+0>2 +8>4? text+0>3 +392>5?");
	cr_expect_str_eq(world_rows(w), "1 char[] in text of serve proved; 2 Node proved; "
			 "1 41 bytes in a stack label; 1 40 bytes in the stack of serve label");
	const struct hsnap_root *roots = w->snapshot->graph.roots.items;
	static const struct {
		enum hsnap_root_kind kind;
		const char *function, *thread;
	} want[] = {
		{ HSNAP_ROOT_STACK, "serve", "main" }, { HSNAP_ROOT_THREAD_LOCAL, "", "main" },
		{ HSNAP_ROOT_STACK, "serve", "main" }, { HSNAP_ROOT_STACK, "serve", "main" },
		{ HSNAP_ROOT_STACK, "", "main" },
	};
	cr_assert_eq(w->snapshot->graph.num_roots, sizeof(want) / sizeof(*want));
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		cr_expect_eq(roots[i].kind, want[i].kind, "root %zu", i);
		cr_expect_str_eq(hsnap_text(w->snapshot, roots[i].function), want[i].function);
		cr_expect_str_eq(hsnap_text(w->snapshot, roots[i].thread), want[i].thread);
	}
	world_destroy(w);
}

Test(names, arrays_inside_variables_and_structs_are_walked)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id table = world_type(w, "Table", STRUCT, 8 + 1000 * 8 + 64);
	MEMBERS(w, table, { "n", 0, t.number }, { "slots", 8, world_array(w, t.node_pointer, 1000) },
		{ "nodes", 8008, world_array(w, t.node, 2) });
	world_variable(w, "g_table", WORLD_DATA, table);
	uint64_t node = world_block(w, 32, 0), other = world_block(w, 32, 0);
	world_set(w, WORLD_DATA + 8 + 999 * 8, node);
	world_set(w, WORLD_DATA + 8008 + 32, other);
	world_set(w, WORLD_DATA + 8008 + 40, world_block(w, 99, 0));
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 char[] in Table.nodes[*].key proved; 2 Node proved");
	cr_expect_str_eq(world_edges(w), "g_table+8000>1 g_table+8040>2 g_table+8048>3");
	world_destroy(w);
}

Test(names, hostile_types_end)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	/* A pointer to itself; members that overlap, doubling their number at each level. */
	hsnap_dtype_id loop = world_pointer(w, 0);
	w->symbols.types.items[loop].target = loop;
	world_variable(w, "g_loop", WORLD_DATA, loop);
	hsnap_dtype_id inner = t.node_pointer;
	for (int level = 0; level < 60; level++) {
		hsnap_dtype_id outer = world_type(w, "Deep", STRUCT, 16);
		MEMBERS(w, outer, { "a", 0, inner }, { "b", 0, inner });
		inner = outer;
	}
	world_variable(w, "g_deep", WORLD_DATA + 16, inner);
	world_variable(w, "g_end", WORLD_DATA + WORLD_SIZE - 8, t.node);
	uint64_t a = world_block(w, 16, 0);
	world_set(w, WORLD_DATA, a);
	world_set(w, a, a);
	world_set(w, WORLD_DATA + 16, a);
	world_name(w);
	cr_expect_eq(w->snapshot->graph.num_blocks, 1);
	world_destroy(w);
}

Test(names, what_lies_between_small_members_is_no_pointer)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id flag = world_type(w, "bool", HSNAP_DTYPE_SCALAR, 1), half = world_type(w, "int", HSNAP_DTYPE_SCALAR, 4);
	hsnap_dtype_id arms = world_type(w, "", HSNAP_DTYPE_UNION, 8), page = world_type(w, "Page", STRUCT, 56);
	MEMBERS(w, arms, { "p", 0, t.node_pointer }, { "n", 0, half });
	MEMBERS(w, page, { "open", 0, flag }, { "a", 8, half }, { "b", 12, half }, { "n", 16, t.number },
		{ "text", 24, world_array(w, t.byte, 12) }, { "arms", 40, arms });
	world_variable(w, "g_page", WORLD_DATA, world_pointer(w, page));
	uint64_t block = world_block(w, 56, 0), other = world_block(w, 24, 0);
	world_set(w, WORLD_DATA, block);
	for (uint64_t at = 0; at < 56; at += 8)
		world_set(w, block + at, other);
	world_name(w);
	cr_expect_str_eq(world_edges(w), "g_page+0>1 1+16>2? 1+24>2? 1+40>2?");
	world_destroy(w);
}

Test(names, one_header_in_two_modules)
{
	static const struct {
		uint32_t lines[3]; /* of struct Page in modules 1, 2 and 2 again; 0: not there */
		const char *rows;
	} rows[] = {
		{ { 7, 7 }, "1 char[] in Page.text proved; 2 Page proved" },
		{ { 7, 8 }, "1 char[] in Page.text proved; 1 Page proved; 1 Page proved" },
		{ { 7, 7, 7 }, "1 char[] in Page.text proved; 1 Page proved; 1 Page proved" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		uint64_t pages[2] = { world_block(w, 16, 0), world_block(w, 16, 0) };
		for (uint32_t m = 0; m < 3 && rows[i].lines[m]; m++) {
			struct basics t = make_basics(w);
			hsnap_dtype_id page = world_type(w, "Page", STRUCT, 16);
			w->symbols.types.items[page].line = rows[i].lines[m];
			w->symbols.types.items[page].unit = world_string(w, m ? "lib/page.h" : "/src/app/page.h");
			w->symbols.types.items[page].module = m ? 2 : 1;
			w->symbols.types.items[t.byte].module = m ? 2 : 1;
			MEMBERS(w, page, { "text", 0, t.byte_pointer });
			if (m < 2)
				world_variable(w, "g", WORLD_DATA + 8 * m, world_pointer(w, page));
		}
		cr_assert(hsnap_vec_push(&w->symbols.modules, (struct hsnap_dmodule){ .has_types = true }));
		world_set(w, WORLD_DATA, pages[0]);
		world_set(w, WORLD_DATA + 8, pages[1]);
		world_set(w, pages[1], world_block(w, 99, 0));
		world_name(w);
		cr_expect_str_eq(world_rows(w), rows[i].rows, "row %zu: %s", i, w->text);
		world_destroy(w);
	}
}

Test(names, who_borrows_is_not_the_holder)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id page = world_type(w, "Page", STRUCT, 16), book = world_type(w, "Book", STRUCT, 24);
	MEMBERS(w, page, { "title", 0, t.byte_pointer }, { "next", 8, world_pointer(w, page) });
	MEMBERS(w, book, { "title", 0, t.byte_pointer }, { "note", 8, t.void_pointer }, { "next", 16, world_pointer(w, book) });
	world_variable(w, "g_page", WORLD_DATA, world_pointer(w, page));
	world_variable(w, "g_book", WORLD_DATA + 8, world_pointer(w, book));
	world_pc(w, WORLD_TEXT + 16, "copy");
	uint32_t stack = STACK(w, WORLD_TEXT + 16);
	uint64_t pages[3], last = 0;
	for (int i = 0; i < 3; i++) { /* at lower addresses than any book */
		pages[i] = world_block(w, 16, 0);
		world_set(w, pages[i] + 8, last);
		last = pages[i];
	}
	world_set(w, WORLD_DATA, last);
	last = 0;
	for (int i = 0; i < 3; i++) {
		uint64_t one = world_block(w, 24, 0), title = world_block(w, 30, stack);
		world_set(w, one, title);
		world_set(w, one + 8, title);
		world_set(w, one + 16, last);
		last = one;
		if (i == 1) /* all pages show the second book */
			for (int p = 0; p < 3; p++)
				world_set(w, pages[p], title);
	}
	world_set(w, WORLD_DATA + 8, last);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "3 char[] in Book.title proved; 3 Book proved; 3 Page proved");
	world_destroy(w);
}

Test(names, a_tagged_pointer_is_weak_and_names_nothing)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	world_variable(w, "g_node", WORLD_DATA, t.node_pointer);
	uint64_t node = world_block(w, 32, 0), tagged = world_block(w, 32, 0), text = world_block(w, 40, 0);
	world_set(w, WORLD_DATA, node);
	world_set(w, node, tagged | 1);
	world_set(w, node + 8, text + 5); /* the middle of a text is no tag */
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 40 bytes in Node.key label; 1 32 bytes in Node.next label; 1 Node proved");
	cr_expect_str_eq(world_edges(w), "g_node+0>1 1+0>2? 1+8>3");
	world_destroy(w);
}

Test(names, a_text_behind_its_header)
{
	static const struct {
		uint64_t key, value; /* offsets of the pointers */
		const char *rows;
	} rows[] = {
		{ 5, 99, "1 50 bytes in Node.key label; 1 Node proved" },
		{ 5, 0, "1 50 bytes in Node.value label; 1 Node proved" },
		{ 0, 5, "1 char[] in Node.key proved; 1 Node proved" },
		{ 40, 99, "1 50 bytes from copy label; 1 Node proved" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		world_pc(w, WORLD_TEXT + 16, "copy");
		world_variable(w, "g_node", WORLD_DATA, t.node_pointer);
		uint64_t node = world_block(w, 32, 0), text = world_block(w, 50, STACK(w, WORLD_TEXT + 16));
		world_set(w, WORLD_DATA, node);
		world_set(w, node + 8, text + rows[i].key);
		world_set(w, node + 16, text + rows[i].value);
		world_name(w);
		cr_expect_str_eq(world_rows(w), rows[i].rows, "row %zu: %s", i, w->text);
		world_destroy(w);
	}
}

/* One area for what the file backs, the next for the rest of .bss. */
Test(names, a_variable_across_two_areas)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	world_variable(w, "g_table", WORLD_DATA + 0xff8, world_array(w, t.node_pointer, 2));
	struct hsnap_root_area rest = w->roots.areas.items[0];
	w->roots.areas.items[0].size = 0x1000;
	rest.address += 0x1000;
	rest.size -= 0x1000;
	cr_assert(hsnap_vec_push(&w->roots.areas, rest));
	world_set(w, WORLD_DATA + 0xff8, world_block(w, 32, 0));
	world_set(w, WORLD_DATA + 0x1000, world_block(w, 32, 0));
	world_name(w);
	cr_expect_str_eq(world_rows(w), "2 Node proved");
	cr_expect_str_eq(world_edges(w), "g_table+0>1 g_table+8>2");
	world_destroy(w);
}

/* What was never touched of a large variable is in no area: at its beginning, in its middle, at its end. */
Test(names, a_variable_with_pages_that_were_never_touched)
{
	static const struct {
		uint64_t starts[2], sizes[2];
		bool first, second; /* which pointers there are */
		const char *edges;
	} rows[] = {
		{ { 0x1000, 0x4000 }, { 0x1000, 0x1000 }, true, true, "g_table+2048>1 g_table+14336>2" },
		{ { 0x1000 }, { 0x4000 }, true, true, "g_table+2048>1 g_table+14336>2" },
		{ { 0x4000 }, { 0x2000 }, false, true, "g_table+14336>2" },
		{ { 0x1000 }, { 0x1000 }, true, false, "g_table+2048>1" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		struct hsnap_root_area area = w->roots.areas.items[0];
		world_variable(w, "g_table", WORLD_DATA + 0x1000, world_array(w, t.node_pointer, 0x4000 / 8));
		w->roots.areas.num = 0;
		for (size_t a = 0; a < 2 && rows[i].sizes[a]; a++) {
			area.address = WORLD_DATA + rows[i].starts[a];
			area.size = rows[i].sizes[a];
			cr_assert(hsnap_vec_push(&w->roots.areas, area));
		}
		uint64_t one = world_block(w, 32, 0), two = world_block(w, 32, 0);
		if (rows[i].first)
			world_set(w, WORLD_DATA + 0x1800, one);
		if (rows[i].second)
			world_set(w, WORLD_DATA + 0x4800, two);
		world_name(w);
		cr_expect_str_eq(world_edges(w), rows[i].edges, "row %zu: got %s", i, w->text);
		world_destroy(w);
	}
}

/* `char` is of whichever module was read first. */
Test(names, bytes_are_of_the_module_of_their_holder)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	w->symbols.types.items[t.byte].module = 0;
	w->symbols.types.items[t.node].module = 1;
	world_variable(w, "g", WORLD_DATA, t.node_pointer);
	uint64_t node = world_block(w, 32, 0);
	world_set(w, WORLD_DATA, node);
	world_set(w, node + 8, world_block(w, 99, 0));
	world_name(w);
	cr_assert_str_eq(world_rows(w), "1 char[] in Node.key proved; 1 Node proved");
	cr_expect_eq(w->snapshot->types.items[w->snapshot->rows.items[0].type].module, 1);
	world_destroy(w);
}

/* struct { char c; char *text; int n; } without gaps: in a block, in runs, in a variable. */
Test(names, pointers_of_packed_structs_hold)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id packed = world_type(w, "Packed", STRUCT, 13);
	MEMBERS(w, packed, { "c", 0, t.byte }, { "text", 1, t.byte_pointer });
	world_variable(w, "g", WORLD_DATA, world_pointer(w, packed));
	world_variable(w, "g_run", WORLD_DATA + 8, world_pointer(w, packed));
	world_variable(w, "g_own", WORLD_DATA + 16, packed);
	uint64_t one = world_block(w, 13, 0), run = world_block(w, 3 * 13, 0);
	world_set(w, WORLD_DATA, one);
	world_set(w, WORLD_DATA + 8, run);
	world_set(w, one + 1, world_block(w, 10, 0));
	for (unsigned i = 0; i < 3; i++)
		world_set(w, run + 13 * i + 1, world_block(w, 10, 0));
	world_set(w, WORLD_DATA + 17, world_block(w, 10, 0));
	world_name(w);
	cr_expect_str_eq(world_rows(w), "5 char[] in Packed.text proved; 1 Packed[] inferred; 1 Packed proved");
	cr_expect_str_eq(world_edges(w), "g+0>1 g_run+0>2 g_own+1>7 1+1>3 2+1>4 2+14>5 2+27>6");
	world_destroy(w);
}
