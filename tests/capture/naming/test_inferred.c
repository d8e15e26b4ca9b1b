/* SPDX-License-Identifier: MIT */
/* test_inferred.c - names from a block's kin: its call site, the list through it, others that fit better. */
#include <criterion/criterion.h>

#include "world.h"

/* --- consensus --- */

struct site {
	unsigned named, unnamed; /* nodes, and blocks of the same call site that nothing leads to */
	unsigned others;         /* of another type, from the same site */
	uint64_t size;           /* of the unnamed */
	bool wild;               /* whose first word leads nowhere */
	const char *rows;
};

static void make_site(struct world *w, const struct site *site)
{
	struct basics t = make_basics(w);
	uint32_t stack = STACK(w, WORLD_TEXT + 0x35);
	hsnap_dtype_id other = world_type(w, "Other", STRUCT, 32);
	MEMBERS(w, other, { "n", 0, t.number });
	world_variable(w, "g_nodes", WORLD_DATA, t.node_pointer);
	world_variable(w, "g_others", WORLD_DATA + 0x100, world_array(w, world_pointer(w, other), 64));
	uint64_t last = 0;
	for (unsigned i = 0; i < site->named; i++) {
		uint64_t node = world_block(w, 32, stack);
		world_set(w, node, last);
		last = node;
	}
	world_set(w, WORLD_DATA, last);
	for (unsigned i = 0; i < site->others; i++)
		world_set(w, WORLD_DATA + 0x100 + 8 * i, world_block(w, 32, stack));
	for (unsigned i = 0; i < site->unnamed; i++)
		world_set(w, world_block(w, site->size, stack), site->wild ? 0x123456789a : 0);
}

Test(inferred, a_call_sites_blocks_are_alike)
{
	static const struct site rows[] = {
		{ 3, 2, 0, 32, false, "3 Node proved; 2 Node inferred unreachable" },
		{ 2, 2, 0, 32, false, "2 32 bytes from app+0x34 label unreachable; 2 Node proved" },
		{ 38, 1, 2, 32, false, "38 Node proved; 2 Other proved; 1 Node inferred unreachable" },
		{ 19, 1, 2, 32, false, "19 Node proved; 2 Other proved; 1 32 bytes from app+0x34 label unreachable" },
		{ 3, 1, 0, 40, false, "3 Node proved; 1 40 bytes from app+0x34 label unreachable" },
		{ 3, 1, 0, 32, true, "3 Node proved; 1 32 bytes from app+0x34 label unreachable" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		make_site(w, &rows[i]);
		world_name(w);
		cr_expect_str_eq(world_rows(w), rows[i].rows, "row %zu: %s", i, w->text);
		world_destroy(w);
	}
}

Test(inferred, pages_that_begin_with_an_item_agree_on_nothing)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	uint32_t stack = STACK(w, WORLD_TEXT + 0x35);
	hsnap_dtype_id item = world_type(w, "Item", STRUCT, 8);
	MEMBERS(w, item, { "n", 0, t.number }, { "data", 8, world_array(w, t.byte, 0) });
	w->symbols.types.items[item].flags |= HSNAP_DTYPE_FLEXIBLE;
	world_variable(w, "g_items", WORLD_DATA, world_array(w, world_pointer(w, item), 4));
	for (unsigned i = 0; i < 3; i++)
		world_set(w, WORLD_DATA + 8 * i, world_block(w, 4096, stack));
	world_block(w, 4096, stack);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "3 Item proved; 1 4096 bytes from app+0x34 label unreachable");
	world_destroy(w);
}

Test(inferred, what_a_site_tells_is_followed_and_no_surer)
{
	struct world *w = world_create();
	struct site site = { 3, 1, 0, 32, false, NULL };
	make_site(w, &site);
	uint64_t more = world_block(w, 32, 0);
	world_set(w, w->heap.blocks.items[3].address, more);
	world_name(w);
	cr_expect(strstr(world_grounds(w), "4 Node consensus; 5 Node followed"), "%s", w->text);
	world_destroy(w);
}

/* --- container_of --- */

struct list {
	unsigned num;
	uint64_t block, offset; /* size of the blocks, and where the nodes stand in them */
	unsigned elsewhere;     /* so many have it 8 bytes farther */
	bool pool;              /* a second node in each block */
	unsigned wild;          /* so many have a name that leads nowhere */
	bool rival;             /* another type has a node there: of 72 bytes */
	bool twin;              /* likewise, of 64 */
	bool unnamed, pointed;  /* Item has no name; a pointer to one is there in the program */
	const char *rows;
};

/* Link { next, prev }; Item { Number id; char *name; Link link; …} of 64 bytes; g_list points to the first link. */
static void make_items(struct world *w, const struct list *list)
{
	struct basics t = make_basics(w);
	hsnap_dtype_id link = world_type(w, "Link", STRUCT, 16), pointer = world_pointer(w, link);
	MEMBERS(w, link, { "next", 0, pointer }, { "prev", 8, pointer });
	hsnap_dtype_id item = world_type(w, list->unnamed ? "" : "Item", STRUCT, 64);
	MEMBERS(w, item, { "id", 0, t.number }, { "name", 8, t.byte_pointer }, { "link", 16, link });
	if (list->pointed)
		world_pointer(w, item);
	if (list->rival || list->twin) {
		hsnap_dtype_id rival = world_type(w, "Rival", STRUCT, list->twin ? 64 : 72);
		MEMBERS(w, rival, { "id", 0, t.number }, { "link", 16, link });
	}
	world_variable(w, "g_list", WORLD_DATA, pointer);
	uint64_t last = 0;
	for (unsigned i = 0; i < list->num; i++) {
		uint64_t block = world_block(w, list->block, 0), name = world_block(w, 100, 0);
		uint64_t node = block + list->offset + (i < list->elsewhere ? 8 : 0);
		world_set(w, node, last);
		if (list->pool) {
			world_set(w, node + 8, node + 24);
			world_set(w, node + 24, last);
		}
		if (list->offset == 16 && !list->elsewhere)
			world_set(w, block + 8, i < list->wild ? 0x123456789a : name);
		last = node;
	}
	world_set(w, WORLD_DATA, last);
}

Test(inferred, a_node_in_the_middle_tells_what_it_is_the_middle_of)
{
	static const struct {
		const char *name;
		struct list list;
		unsigned items; /* that are named */
	} rows[] = {
		{ "one type has it there", { .num = 6, .block = 64, .offset = 16 }, 6 },
		{ "too few", { .num = 2, .block = 64, .offset = 16 }, 0 },
		{ "no type has it there", { .num = 6, .block = 64, .offset = 24 }, 0 },
		{ "one has it, of another size", { .num = 6, .block = 96, .offset = 16 }, 0 },
		{ "not always there", { .num = 6, .block = 64, .offset = 16, .elsewhere = 2 }, 0 },
		{ "several in a block", { .num = 6, .block = 64, .offset = 16, .pool = true }, 0 },
		{ "names that lead nowhere", { .num = 6, .block = 64, .offset = 16, .wild = 3 }, 0 },
		{ "two have it, of two sizes; one's pointers are used", { .num = 6, .block = 64, .offset = 16, .rival = true }, 6 },
		{ "two of two sizes, without pointers to show", { .num = 6, .block = 72, .offset = 16, .rival = true }, 0 },
		{ "two have it, of one size", { .num = 6, .block = 64, .offset = 16, .twin = true }, 0 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		make_items(w, &rows[i].list);
		world_name(w);
		const char *found = strstr(world_rows(w), "6 Item inferred");
		cr_expect_eq(found ? 6 : 0, rows[i].items, "%s: %s", rows[i].name, w->text);
		cr_expect_eq(strstr(w->text, " Item ") || strstr(w->text, " Rival "), !!rows[i].items, "%s: %s",
			     rows[i].name, w->text);
		world_destroy(w);
	}
}

/* Static data of a generated file has one struct after the other, which are of any size. */
Test(inferred, what_only_variables_have_is_in_no_block)
{
	for (int pointed = 0; pointed < 2; pointed++) {
		const struct list list = { .num = 6, .block = 64, .offset = 16, .unnamed = true, .pointed = pointed };
		struct world *w = world_create();
		make_items(w, &list);
		world_name(w);
		cr_expect_eq(!!strstr(world_rows(w), "6 anonymous struct"), pointed, "%d: %s", pointed, w->text);
		world_destroy(w);
	}
}

/* --- 16 bytes more than usual --- */

struct odds {
	unsigned usual, odd, others; /* nodes of 32 bytes; in blocks of 16 more; in blocks of 48 more */
	bool derived;                /* a type of 48 begins with a node */
	bool requested;              /* the size asked for is known */
	const char *rows;
};

Test(inferred, what_malloc_did_not_split_off_is_no_other_type)
{
	static const struct odds rows[] = {
		{ 40, 2, 0, false, false, "42 Node proved" },
		{ 40, 2, 0, true, false, "40 Node proved; 2 56 bytes in g_nodes[*] label" },
		{ 40, 2, 1, false, false, "40 Node proved; 2 56 bytes in g_nodes[*] label; 1 88 bytes in g_nodes[*] label" },
		{ 7, 1, 0, false, false, "7 Node proved; 1 56 bytes in g_nodes[*] label" },
		{ 40, 2, 0, false, true, "40 Node proved; 2 48 bytes in g_nodes[*] label" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		w->heap.requested_known = rows[i].requested;
		world_variable(w, "g_nodes", WORLD_DATA, world_array(w, t.node_pointer, 64));
		if (rows[i].derived)
			MEMBERS(w, world_type(w, "Derived", STRUCT, 48), { "node", 0, t.node }, { "n", 32, t.number });
		uint64_t last = 0;
		for (unsigned n = 0; n < rows[i].usual; n++) {
			uint64_t node = world_block(w, 32, 0);
			world_set(w, node, last);
			last = node;
		}
		for (unsigned n = 0; n < rows[i].odd + rows[i].others; n++)
			world_set(w, WORLD_DATA + 8 + 8 * n, world_block(w, n < rows[i].odd ? 48 : 80, 0));
		world_set(w, WORLD_DATA, last);
		for (size_t b = 0; b < w->heap.blocks.num && !rows[i].requested; b++)
			w->heap.blocks.items[b].requested = UINT64_MAX;
		world_name(w);
		cr_expect_str_eq(world_rows(w), rows[i].rows, "row %zu: %s", i, w->text);
		world_destroy(w);
	}
}
