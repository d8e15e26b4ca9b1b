/* SPDX-License-Identifier: MIT */
/* test_wrappers.c - objects behind the header of a malloc of the program's own. */
#include <criterion/criterion.h>

#include "world.h"

#define MANY 48 /* blocks: enough for a share */

/* How a program makes its blocks, and what it keeps in front of them. */
struct way {
	uint64_t header;
	bool tells;      /* the header's last word is the size behind it */
	bool few;        /* no more than a quarter of them does */
	bool one_size;   /* of all blocks */
	bool starts;     /* pointers lead to the block and not behind the header */
	unsigned others; /* of MANY blocks: those of somebody else, without a header */
};

/* A list of nodes, each with a text; of whose blocks some are older than the way. */
static void make_list(struct world *w, const struct basics *t, const struct way *way, uint32_t stack)
{
	world_variable(w, "g_nodes", WORLD_DATA, t->node_pointer);
	uint64_t last = 0;
	for (unsigned i = 0; i < MANY / 2; i++) {
		uint64_t header = i < way->others / 2 ? 0 : way->header, text = way->one_size ? 32 : 20 + i % 6 * 16;
		uint64_t node = world_block(w, header + 32, stack), key = world_block(w, header + text, stack);
		if (header && way->tells && !(way->few && i % 4)) {
			world_set(w, node + header - 8, 32);
			world_set(w, key + header - 8, text);
		}
		uint64_t to = way->starts ? 0 : header;
		world_set(w, node + to, last);
		world_set(w, node + to + 8, key + to);
		last = node + to;
	}
	world_set(w, WORLD_DATA, last);
}

static bool all_named(struct world *w)
{
	const char *rows = world_rows(w);
	return strstr(rows, "24 Node proved") && strstr(rows, "24 char[] in Node.key proved") && !strstr(rows, "label") &&
	       !strstr(rows, "unknown");
}

Test(wrappers, objects_begin_behind_headers)
{
	static const struct {
		const char *name;
		struct way way;
		bool requested, stacks, named;
	} rows[] = {
		{ "no header", { 0 }, true, false, true },
		{ "8 bytes, the size", { 8, .tells = true }, true, false, true },
		{ "8 bytes, the size, as glibc rounds it", { 8, .tells = true }, false, false, true },
		{ "16 bytes, the size", { 16, .tells = true }, true, false, true },
		{ "16 bytes, the size, as glibc rounds it", { 16, .tells = true }, false, false, true },
		{ "something else than the size", { 8 }, true, false, true },
		{ "a quarter is somebody else's; headers tell", { 8, .tells = true, .others = MANY / 4 }, true, false, true },
		{ "a quarter is somebody else's; headers do not tell", { 8, .others = MANY / 4 }, true, false, false },
		{ "a quarter is somebody else's; few headers tell, by chance", { 8, .tells = true, .few = true, .others = MANY / 4 },
		  true, false, false },
		{ "all of one size: a list's nodes may be like that", { 8, .one_size = true }, true, false, false },
		{ "pointers to the block itself", { 8, .tells = true, .starts = true }, true, false, false },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		w->heap.requested_known = rows[i].requested;
		make_list(w, &t, &rows[i].way, 0);
		world_name(w);
		cr_expect_eq(all_named(w), rows[i].named, "%s: %s", rows[i].name, w->text);
		world_destroy(w);
	}
}

Test(wrappers, one_call_of_malloc_may_have_headers_and_another_none)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	struct way with = { 8, .tells = false };
	uint32_t wrapped = STACK(w, WORLD_TEXT + 0x15, WORLD_TEXT + 0x35), plain = STACK(w, WORLD_TEXT + 0x25);
	world_pc(w, WORLD_TEXT + 0x15, "xmalloc");
	world_pc(w, WORLD_TEXT + 0x25, "make_node");
	world_pc(w, WORLD_TEXT + 0x35, "make_node");
	make_list(w, &t, &with, wrapped);
	world_variable(w, "g_others", WORLD_DATA + 8, t.node_pointer);
	uint64_t last = 0;
	for (unsigned i = 0; i < MANY; i++) {
		uint64_t node = world_block(w, 32, plain);
		world_set(w, node, last);
		last = node;
	}
	world_set(w, WORLD_DATA + 8, last);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "72 Node proved; 24 char[] in Node.key proved");
	world_destroy(w);
}

Test(wrappers, edges_count_from_the_object_and_the_header_holds_too)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	struct way way = { 16, .tells = true };
	make_list(w, &t, &way, 0);
	uint64_t held = world_block(w, 60, 0);
	world_set(w, w->heap.blocks.items[0].address, held);
	world_name(w);
	cr_expect(strstr(world_edges(w), " 1+8>2 1+4294967295>49? "), "%s", w->text);
	cr_expect(strstr(w->text, "g_nodes+0>47 "), "%s", w->text);
	world_destroy(w);
}

/* What the wrapper's own variable points to is the header. */
Test(wrappers, a_call_site_counts_from_the_function_that_wraps)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	struct way way = { 8, .tells = true };
	hsnap_dtype_id quote = world_type(w, "Quote", STRUCT, 88);
	MEMBERS(w, quote, { "n", 0, t.number });
	uint32_t nodes = STACK(w, WORLD_TEXT + 0x15, WORLD_TEXT + 0x35);
	uint32_t quotes = STACK(w, WORLD_TEXT + 0x15, WORLD_TEXT + 0x45);
	world_pc(w, WORLD_TEXT + 0x15, "xmalloc");
	world_result(w, t.number, false);
	world_pc(w, WORLD_TEXT + 0x35, "make_node");
	world_pc(w, WORLD_TEXT + 0x45, "make_quote");
	world_result(w, quote, false);
	make_list(w, &t, &way, nodes);
	for (unsigned i = 0; i < 3; i++)
		world_set(w, WORLD_DATA + 0x100 + 8 * i, world_block(w, 96, quotes) + 8);
	world_name(w);
	cr_expect(strstr(world_rows(w), "3 Quote exact"), "%s", w->text);
	world_destroy(w);
}

/* What stands in a block of so many bytes, in words: 'v' the vtable pointer of Cat (24 bytes), 'V' that of Dog (40), 'n' the
 * number 2, '.' nothing. */
static void write_words(struct world *w, uint64_t block, const char *words)
{
	for (; *words; words++, block += 8)
		if (*words != '.')
			world_set(w, block, *words == 'n' ? 2 : WORLD_RODATA + (*words == 'v' ? 256 : 512) + 16);
}

/* Blocks without a header stand among the others, and then it is the size that tells where the object begins. */
Test(wrappers, vtable_pointers_are_looked_for_behind_headers)
{
	static const struct {
		const char *name, *words;
		uint64_t size;
		const char *row;
		bool tells; /* the others' headers tell sizes, as this one does not */
	} rows[] = {
		{ "an object", "..v", 16 + 24, "1 Cat exact" },
		{ "of another size", "..v", 16 + 32, "1 48 bytes in g_other label" },
		{ "elements behind their number", "..nv..v", 16 + 8 + 48, "1 Cat[] exact" },
		{ "elements, one missing", "..nv..", 16 + 8 + 48, "1 72 bytes in g_other label" },
		{ "no header", "v", 24, "1 Cat exact" },
		{ "no header, and a member where one would end", "V.v", 40, "1 40 bytes in g_other label" },
		{ "a stale pointer in the header", "v.v", 16 + 24, "1 Cat exact" },
		{ "no header, since one would tell a size", "..v", 40, "1 40 bytes in g_other label", true },
		{ "a stale pointer in a header of somebody else", "v", 16 + 24, "1 40 bytes in g_other label" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		for (unsigned c = 0; c < 2; c++) {
			struct hsnap_dvtable vtable = { .address = WORLD_RODATA + 256 * (c + 1), .size = 48 };
			vtable.type = world_type(w, c ? "Dog" : "Cat", STRUCT, c ? 40 : 24);
			cr_assert(hsnap_vec_push(&w->symbols.vtables, vtable));
		}
		make_list(w, &t, &(struct way){ 16, .tells = rows[i].tells }, 0);
		world_variable(w, "g_other", WORLD_DATA + 8, t.void_pointer);
		uint64_t other = world_block(w, rows[i].size, 0);
		world_set(w, WORLD_DATA + 8, other + 16);
		write_words(w, other, rows[i].words);
		world_name(w);
		cr_expect(strstr(world_rows(w), rows[i].row), "%s: %s", rows[i].name, w->text);
		world_destroy(w);
	}
}

Test(wrappers, a_pointer_to_the_start_is_against_an_object_behind_a_header)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	struct hsnap_dvtable vtable = { .address = WORLD_RODATA + 256, .size = 48, .type = world_type(w, "Cat", STRUCT, 24) };
	cr_assert(hsnap_vec_push(&w->symbols.vtables, vtable));
	hsnap_dtype_id link = world_type(w, "Link", STRUCT, 40);
	MEMBERS(w, link, { "next", 0, world_pointer(w, link) }, { "cat", 16, vtable.type });
	make_list(w, &t, &(struct way){ 16 }, 0);
	world_variable(w, "g_link", WORLD_DATA + 8, world_pointer(w, link));
	uint64_t other = world_block(w, 40, 0);
	world_set(w, WORLD_DATA + 8, other);
	write_words(w, other, "..v");
	world_name(w);
	cr_expect(strstr(world_rows(w), "1 Link proved"), "%s", w->text);
	world_destroy(w);
}
