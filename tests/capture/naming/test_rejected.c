/* SPDX-License-Identifier: MIT */
/*
 * test_rejected.c - ways to a name that were tried and gave wrong ones (docs/naming.md, "What is never done").
 *
 * Each test has a heap on which the rejected way would find a name, and wants that none is
 * found, or that the right one stays.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "world.h"

/* struct Item { struct Item *next; struct Item **prev; }: a list as in sys/queue.h. */
static hsnap_dtype_id make_item(struct world *w)
{
	hsnap_dtype_id item = world_type(w, "Item", STRUCT, 16), pointer = world_pointer(w, item);
	MEMBERS(w, item, { "next", 0, pointer }, { "prev", 8, world_pointer(w, pointer) });
	return item;
}

/* A struct of a bare name in a module's file and line. */
static hsnap_dtype_id make_list(struct world *w, const char *unit, uint32_t line, uint32_t module, hsnap_dtype_id first)
{
	hsnap_dtype_id list = world_type(w, "list", STRUCT, 16);
	w->symbols.types.items[list].unit = world_string(w, unit);
	w->symbols.types.items[list].line = line;
	w->symbols.types.items[list].module = module;
	MEMBERS(w, list, { "first", 0, world_pointer(w, first) });
	return list;
}

Test(rejected, a_type_by_its_bare_name_across_units_and_modules)
{
	static const struct {
		const char *unit;
		uint32_t line, module;
		const char *rows; /* of a block that pointers to both lead to */
	} others[] = {
		{ "other.c", 7, 1, "2 list inferred" },
		{ "list.h", 8, 1, "2 list inferred" },
		{ "other.c", 7, 2, "2 list inferred" },
		{ "list.h", 8, 2, "2 list inferred" },
		{ "list.h", 7, 2, "2 list proved" }, /* one header in two modules: it is one type */
	};
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		cr_assert(hsnap_vec_push(&w->symbols.modules, (struct hsnap_dmodule){ .has_types = true }));
		hsnap_dtype_id own = make_list(w, "list.h", 7, 1, t.node);
		hsnap_dtype_id other = make_list(w, others[i].unit, others[i].line, others[i].module, t.node);
		world_variable(w, "g_own", WORLD_DATA, world_pointer(w, own));
		world_variable(w, "g_other", WORLD_DATA + 8, world_pointer(w, other));
		world_variable(w, "g_more", WORLD_DATA + 16, world_pointer(w, own));
		world_variable(w, "g_most", WORLD_DATA + 24, world_pointer(w, other));
		uint64_t a = world_block(w, 16, 0), b = world_block(w, 16, 0);
		world_set(w, WORLD_DATA, a);
		world_set(w, WORLD_DATA + 8, a);
		world_set(w, WORLD_DATA + 16, b);
		world_set(w, WORLD_DATA + 24, b);
		world_name(w);
		cr_expect_str_eq(world_rows(w), others[i].rows, "row %zu: %s", i, w->text);
		world_destroy(w);
	}
}

/* A type that is only declared is not the one that another unit or module defines under that name. */
Test(rejected, a_declaration_by_another_definitions_name)
{
	for (uint32_t module = 1; module <= 2; module++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		cr_assert(hsnap_vec_push(&w->symbols.modules, (struct hsnap_dmodule){ .has_types = true }));
		make_list(w, "other.c", 7, module, t.node);
		hsnap_dtype_id declared = world_type(w, "list", HSNAP_DTYPE_INCOMPLETE, 0);
		world_variable(w, "g_list", WORLD_DATA, world_pointer(w, declared));
		world_set(w, WORLD_DATA, world_block(w, 16, 0));
		world_name(w);
		cr_expect_str_eq(world_rows(w), "1 16 bytes in g_list label", "module %u: %s", module, w->text);
		world_destroy(w);
	}
}

/* Numbers, tags and what is not set yet stand where pointers are declared. */
Test(rejected, a_veto_by_words_that_are_no_pointers)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	world_variable(w, "g", WORLD_DATA, t.node_pointer);
	uint64_t node = world_block(w, 32, 0), other = world_block(w, 24, 0);
	world_set(w, WORLD_DATA, node);
	world_set(w, node, 0x1234);
	world_set(w, node + 8, 0xffffffffffffffff);
	world_set(w, node + 16, other + 3);
	world_set(w, node + 24, other);
	world_name(w);
	cr_expect_str_eq(world_grounds(w), "1 Node pointer; 2 - none");
	world_destroy(w);
}

Test(rejected, a_type_that_is_larger_than_the_block)
{
	static const uint64_t sizes[] = { 1, 8, 24, 31 };
	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(*sizes); i++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		world_variable(w, "g", WORLD_DATA, t.node_pointer);
		world_set(w, WORLD_DATA, world_block(w, sizes[i / 2], 0));
		w->heap.requested_known = i % 2;
		if (i % 2 == 0) {
			w->heap.blocks.items[0].usable = sizes[i / 2];
			w->heap.blocks.items[0].requested = sizes[i / 2];
		}
		world_name(w);
		cr_expect_str_eq(world_grounds(w), "1 - none (Node pointer size)", "%llu bytes: %s",
				 (unsigned long long)sizes[i / 2], w->text);
		world_destroy(w);
	}
}

/* le_prev and stqh_last lead to a field inside a struct, often the first one. */
Test(rejected, an_array_out_of_a_pointer_into_a_struct)
{
	struct world *w = world_create();
	make_basics(w);
	hsnap_dtype_id item = make_item(w), head = world_type(w, "Head", STRUCT, 16);
	MEMBERS(w, head, { "first", 0, world_pointer(w, item) }, { "last", 8, world_pointer(w, world_pointer(w, item)) });
	world_variable(w, "g_last", WORLD_DATA, world_pointer(w, world_pointer(w, item)));
	world_variable(w, "g_head", WORLD_DATA + 16, head);
	uint64_t a = world_block(w, 16, 0), b = world_block(w, 16, 0);
	world_set(w, WORLD_DATA, a); /* seen before any Item */
	world_set(w, WORLD_DATA + 16, a);
	world_set(w, WORLD_DATA + 24, b);
	world_set(w, a, b);
	world_set(w, a + 8, WORLD_DATA + 16);
	world_set(w, b + 8, a);
	world_name(w);
	cr_expect_str_eq(world_grounds(w), "1 Item pointer; 2 Item pointer");
	world_destroy(w);
}

/* The same where the struct has no debug info: its words must all agree before it is an array. */
Test(rejected, an_array_out_of_a_pointer_into_a_struct_that_nobody_knows)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	world_variable(w, "g_last", WORLD_DATA, world_pointer(w, t.node_pointer));
	uint64_t unknown = world_block(w, 32, 0), node = world_block(w, 32, 0);
	world_set(w, WORLD_DATA, unknown);
	world_set(w, unknown, node);
	world_set(w, unknown + 8, 42); /* a number of the struct's own */
	world_name(w);
	cr_expect_str_eq(world_grounds(w), "1 - none (Node *[] pointer look); 2 - none");
	world_destroy(w);
}

Test(rejected, a_pool_named_by_its_first_object)
{
	static const struct {
		uint64_t size;
		bool requested_known, whole; /* whole: the page is a multiple of its objects */
		const char *grounds;
	} rows[] = {
		{ 4104, true, false, "1 - none (Node pointer size)" },
		{ 4120, false, false, "1 - none (Node pointer size)" },
		{ 4096, true, true, "1 - none (Node[] run look)" },
		{ 4104, false, true, "1 - none (Node[] run look)" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		world_variable(w, "g_page", WORLD_DATA, t.node_pointer);
		uint64_t page = world_block(w, rows[i].size, 0);
		world_set(w, WORLD_DATA, page);
		world_set(w, page, page + 64);
		world_set(w, page + 32, 0x1000001); /* what the pool's free list or another object has there */
		w->heap.requested_known = rows[i].requested_known;
		if (!rows[i].requested_known)
			w->heap.blocks.items[0].requested = w->heap.blocks.items[0].usable;
		world_name(w);
		cr_expect_str_eq(world_grounds(w), rows[i].grounds, "row %zu: %s", i, w->text);
		world_destroy(w);
	}
}

Test(rejected, an_arm_of_a_union)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id window = world_type(w, "Window", STRUCT, 40), arms = world_type(w, "", HSNAP_DTYPE_UNION, 8);
	hsnap_dtype_id expr = world_type(w, "Expr", STRUCT, 16);
	MEMBERS(w, window, { "owner", 0, t.node_pointer });
	MEMBERS(w, arms, { "pTab", 0, t.node_pointer }, { "pWin", 0, world_pointer(w, window) });
	MEMBERS(w, expr, { "op", 0, t.number }, { "y", 8, arms });
	world_variable(w, "g_expr", WORLD_DATA, world_pointer(w, expr));
	world_variable(w, "g_arms", WORLD_DATA + 8, arms);
	uint64_t e = world_block(w, 16, 0), table = world_block(w, 32, 0), win = world_block(w, 40, 0);
	world_set(w, WORLD_DATA, e);
	world_set(w, e + 8, win);
	world_set(w, WORLD_DATA + 8, table);
	world_name(w);
	cr_expect_str_eq(world_grounds(w), "1 Expr pointer; 2 - none; 3 - none");
	world_destroy(w);
}

/* Words that could not be more like a Node's, and nobody who says that it is one. */
Test(rejected, a_type_by_its_shape)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	world_variable(w, "g", WORLD_DATA, t.node_pointer);
	world_variable(w, "g_any", WORLD_DATA + 8, t.void_pointer);
	uint64_t node = world_block(w, 32, 0), alike = world_block(w, 32, 0), key = world_block(w, 9, 0), next = world_block(w, 9, 0);
	world_set(w, WORLD_DATA, node);
	world_set(w, WORLD_DATA + 8, alike);
	world_set(w, node + 8, key);
	world_set(w, alike, node);
	world_set(w, alike + 8, next);
	world_write(w, next, "a text", 7);
	world_set(w, alike + 24, 77);
	world_name(w);
	cr_expect_str_eq(world_grounds(w), "1 Node pointer; 2 - none; 3 char[] pointer; 4 - none");
	world_destroy(w);
}

/* The low bits say that it is something else: sds keys, dictEntryNoValue. */
Test(rejected, a_type_through_a_tagged_pointer)
{
	for (uint64_t tag = 1; tag < 8; tag++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		world_variable(w, "g", WORLD_DATA, t.node_pointer);
		world_variable(w, "g_table", WORLD_DATA + 8, world_pointer(w, t.node_pointer));
		uint64_t node = world_block(w, 32, 0), table = world_block(w, 16, 0);
		world_set(w, WORLD_DATA, node | tag);
		world_set(w, WORLD_DATA + 8, table);
		world_set(w, table, node | tag);
		world_name(w);
		cr_expect_str_eq(world_grounds(w), "1 - none; 2 - none (Node *[] pointer look)", "tag %llu: %s",
				 (unsigned long long)tag, w->text);
		world_destroy(w);
	}
}

/* Most of what a member leads to, of one size, is known to be of a type: the rest need not be. */
Test(rejected, what_most_blocks_of_a_member_and_size_are)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id robj = world_type(w, "robj", STRUCT, 16);
	MEMBERS(w, robj, { "kind", 0, t.number }, { "ptr", 8, t.void_pointer });
	world_variable(w, "g_nodes", WORLD_DATA, world_array(w, t.node_pointer, 20));
	world_variable(w, "g_objects", WORLD_DATA + 256, world_array(w, world_pointer(w, robj), 20));
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t node = world_block(w, 32, 0), value = world_block(w, 16, 0);
		world_set(w, WORLD_DATA + 8 * i, node);
		world_set(w, node + 16, value);
		if (i < 12)
			world_set(w, WORLD_DATA + 256 + 8 * i, value);
		else
			world_write(w, value, "a string, short", 16);
	}
	world_name(w);
	cr_expect_str_eq(world_rows(w), "20 Node proved; 12 robj proved; 8 16 bytes in Node.value label");
	world_destroy(w);
}

Test(rejected, a_name_from_the_size_alone)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id only = world_type(w, "TheOnlyOneOf777", STRUCT, 777);
	MEMBERS(w, only, { "text", 0, t.byte_pointer });
	world_variable(w, "g_any", WORLD_DATA, t.void_pointer);
	world_set(w, WORLD_DATA, world_block(w, 777, 0));
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 777 bytes in g_any label");
	world_destroy(w);
}

/* A `char *` that objects of any kind are kept in: what begins with numbers or links, and has blocks' addresses, is no text. */
Test(rejected, bytes_that_hold_blocks)
{
	static const struct {
		const char *begin; /* of the block that it leads to, zeros behind; then comes a block's address */
		uint64_t requested;
		const char *rows;
	} blocks[] = {
		{ "\t", 32, "1 32 bytes in Node.key label" },
		{ "ab", 32, "1 32 bytes in Node.key label" },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff", 32, "1 32 bytes in Node.key label" },
		{ "abc", 32, "1 char[] in Node.key proved" },
		{ "a longer", 32, "1 char[] in Node.key proved" },
		{ "\xc3\xa4hren", 32, "1 char[] in Node.key proved" },
	};
	for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		world_variable(w, "g", WORLD_DATA, t.node_pointer);
		uint64_t node = world_block(w, 32, 0), kept = world_block(w, blocks[i].requested, 0);
		world_set(w, WORLD_DATA, node);
		world_set(w, node + 8, kept);
		world_write(w, kept, blocks[i].begin, strlen(blocks[i].begin));
		world_set(w, kept + 24, node);
		world_name(w);
		cr_expect(strstr(world_rows(w), blocks[i].rows), "row %zu: %s", i, w->text);
		world_destroy(w);
	}
}

/* An array keeps what was freed, and a block of that size is another's now: a number of the type is a block's address there. */
Test(rejected, what_an_array_no_longer_counts)
{
	for (int stale = 0; stale <= 1; stale++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		world_variable(w, "g_stack", WORLD_DATA, world_pointer(w, t.node_pointer));
		uint64_t array = world_block(w, 32, 0), first = world_block(w, 32, 0), second = world_block(w, 32, 0);
		world_set(w, WORLD_DATA, array);
		world_set(w, array, first);
		world_set(w, array + 8, second);
		world_set(w, second + 24, stale ? first : 7); /* its hash */
		world_name(w);
		cr_expect_str_eq(world_rows(w), stale ? "2 32 bytes behind g_stack label; 1 32 bytes in g_stack label"
						       : "2 Node proved; 1 Node *[] proved", "%s", w->text);
		world_destroy(w);
	}
}

/* A member whose type is only declared in that module has a size that nobody knows: what it holds is no leak. */
Test(rejected, no_pointer_in_what_is_only_declared)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id tree = world_type(w, "Tree", HSNAP_DTYPE_INCOMPLETE, 0), map = world_type(w, "Map", STRUCT, 32);
	MEMBERS(w, map, { "number", 0, t.number }, { "tree", 8, tree });
	world_variable(w, "g_map", WORLD_DATA, world_pointer(w, map));
	uint64_t block = world_block(w, 32, 0);
	world_set(w, WORLD_DATA, block);
	world_set(w, block + 16, world_block(w, 64, 0));
	world_name(w);
	cr_expect_str_eq(world_edges(w), "g_map+0>1 1+16>2?");
	world_destroy(w);
}

/*
 * A variable still holds a Message's address, which was freed, and the block is a text by now.  What the rest of its words
 * lead to is nothing by that either.
 */
Test(rejected, what_a_stale_pointer_says_of_a_text)
{
	static const struct {
		const char *text;    /* at the block's start, zeros behind */
		bool is_kept;        /* a `char *` that lasts leads there, too */
		bool points;         /* the type begins with a pointer, and not with two numbers */
		const char *grounds; /* of the block, and of what its last word leads to */
	} rows[] = {
		{ "value4", true, false, "3 char[] pointer (Message pointer look); 4 - none (Node pointer)" },
		{ "a text that is longer", true, false, "3 char[] pointer (Message pointer look); 4 - none (Node pointer)" },
		{ "value4", true, true, "3 char[] pointer (Message pointer look); 4 - none (Node pointer)" },
		{ "value4", false, false, "3 Message pointer; 4 Node pointer" },
		{ "ABCD", true, false, "3 Message pointer; 4 Node pointer" }, /* a magic number's, or time(): its pointer bears it out */
		{ "ABCD*", true, false, "3 Message pointer; 4 Node pointer" },
		{ "value4\x01", true, false, "3 Message pointer; 4 Node pointer" },
		{ "value4\xff", true, true, "3 Message pointer; 4 Node pointer" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		hsnap_dtype_id half = world_type(w, "unsigned int", HSNAP_DTYPE_SCALAR, 4), message = world_type(w, "Message", STRUCT, 48);
		if (rows[i].points)
			MEMBERS(w, message, { "next", 0, world_pointer(w, message) }, { "node", 40, t.node_pointer });
		else
			MEMBERS(w, message, { "count", 0, half }, { "group", 4, half }, { "node", 40, t.node_pointer });
		world_variable(w, "g_last", WORLD_DATA, world_pointer(w, message));
		world_variable(w, "g_node", WORLD_DATA + 8, t.node_pointer);
		uint64_t keeper = world_block(w, 32, 0), known = world_block(w, 32, 0), text = world_block(w, 48, 0);
		uint64_t behind = world_block(w, 32, 0);
		world_set(w, WORLD_DATA, text);
		world_set(w, WORLD_DATA + 8, keeper);
		world_set(w, keeper, known);
		world_set(w, keeper + 8, rows[i].is_kept ? text : 0);
		world_write(w, text, rows[i].text, strlen(rows[i].text));
		world_set(w, text + 40, behind);
		world_name(w);
		const char *grounds = strstr(world_grounds(w), "3 ");
		cr_expect_str_eq(grounds ? grounds : "", rows[i].grounds, "row %zu: %s", i, w->text);
		world_destroy(w);
	}
}

/* A type that begins with characters holds text by right; what another place leads to as well stays. */
Test(rejected, no_text_in_what_may_hold_it)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id named = world_type(w, "Named", STRUCT, 40), stale = world_type(w, "Stale", STRUCT, 40);
	MEMBERS(w, named, { "name", 0, world_array(w, t.byte, 32) }, { "node", 32, t.node_pointer });
	MEMBERS(w, stale, { "number", 0, t.number }, { "node", 32, t.node_pointer });
	world_variable(w, "g_named", WORLD_DATA, world_pointer(w, named));
	world_variable(w, "g_text", WORLD_DATA + 8, t.byte_pointer);
	world_variable(w, "g_stale", WORLD_DATA + 16, world_pointer(w, stale));
	world_variable(w, "g_other", WORLD_DATA + 24, t.byte_pointer);
	uint64_t object = world_block(w, 40, 0), text = world_block(w, 40, 0), node = world_block(w, 32, 0);
	world_set(w, WORLD_DATA, object);
	world_set(w, WORLD_DATA + 8, object);
	world_set(w, WORLD_DATA + 16, text);
	world_set(w, WORLD_DATA + 24, text);
	world_write(w, object, "a name of its own", 18);
	world_write(w, text, "some text of somebody's", 24);
	world_set(w, object + 32, node);
	world_set(w, text + 32, node);
	world_name(w);
	cr_expect_str_eq(world_grounds(w), "1 Named pointer; 2 char[] pointer (Stale pointer look); 3 Node pointer");
	world_destroy(w);
}

/* The same of an array of pointers, for which the block of a freed Message was made anew. */
Test(rejected, what_a_stale_pointer_says_of_an_array)
{
	static const struct {
		uint64_t size;
		bool points;     /* the type begins with a pointer, and not with two numbers */
		uint64_t second; /* word of the block; the first is an address, the last is null */
		const char *grounds;
	} rows[] = {
		{ 24, false, 0, "1 char *[] pointer (Message pointer look)" },
		{ 24, false, 1, "1 Message pointer; " }, /* no array is so */
		{ 28, false, 0, "1 - none (Message pointer look)" }, /* no array either, but up to its null */
		{ 24, true, 0, "1 Message pointer; " }, /* a link, as le_prev leads to */
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		hsnap_dtype_id half = world_type(w, "unsigned int", HSNAP_DTYPE_SCALAR, 4);
		hsnap_dtype_id message = world_type(w, "Message", STRUCT, rows[i].size);
		if (rows[i].points)
			MEMBERS(w, message, { "text", 0, t.byte_pointer });
		else
			MEMBERS(w, message, { "count", 0, half }, { "group", 4, half });
		world_variable(w, "g_last", WORLD_DATA, world_pointer(w, message));
		world_variable(w, "g_words", WORLD_DATA + 8, world_pointer(w, t.byte_pointer));
		uint64_t words = world_block(w, rows[i].size, 0), word = world_block(w, 9, 0);
		world_set(w, WORLD_DATA, words);
		world_set(w, WORLD_DATA + 8, words);
		world_set(w, words, word);
		world_set(w, words + 8, rows[i].second);
		world_write(w, word, "a word", 7);
		world_name(w);
		cr_expect(!strncmp(world_grounds(w), rows[i].grounds, strlen(rows[i].grounds)), "row %zu: %s", i, w->text);
		world_destroy(w);
	}
}

/* Either may be stale, and nothing tells which: numbers are as good as bytes.  An address among them tells of objects. */
Test(rejected, an_object_that_may_as_well_be_bytes)
{
	static const struct {
		bool is_kept, holds;
		const char *grounds;
	} rows[] = {
		{ true, false, "1 - none (Counts pointer look; char[] pointer look)" },
		{ false, false, "1 Counts pointer" },
		{ true, true, "1 Counts pointer" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		hsnap_dtype_id counts = world_type(w, "Counts", STRUCT, 24);
		MEMBERS(w, counts, { "good", 0, t.number }, { "bad", 8, t.number }, { "next", 16, world_pointer(w, counts) });
		world_variable(w, "g_last", WORLD_DATA, world_pointer(w, counts));
		world_variable(w, "g_bits", WORLD_DATA + 8, t.byte_pointer);
		uint64_t block = world_block(w, 24, 0);
		world_set(w, WORLD_DATA, block);
		world_set(w, WORLD_DATA + 8, rows[i].is_kept ? block : 0);
		world_set(w, block, 0x101010101010100);
		world_set(w, block + 16, rows[i].holds ? block : 0);
		world_name(w);
		const char *grounds = world_grounds(w);
		cr_expect(!strncmp(grounds, rows[i].grounds, strlen(rows[i].grounds)), "row %zu: %s", i, w->text);
		world_destroy(w);
	}
}
