/* SPDX-License-Identifier: MIT */
/* test_pools.c - which blocks are pools, and which of their places hold objects. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#include "world.h"

/* A page of `size` bytes, and pointers to objects in it at the offsets. */
struct row {
	const char *name;
	uint64_t item, page;     /* bytes */
	bool flexible;
	const char *places;      /* offsets in the page of the items that pointers lead to */
	const char *others;      /* likewise of objects of another type of the same size */
	const char *rows;        /* of the page */
	bool base;               /* a larger type begins with an item */
};

static const struct row rows[] = {
	{ "four are enough", 64, 1048, false, "0 64 128 192", "", "pool of item in g_items[*]" },
	{ "three are not", 64, 1048, false, "0 64 192", "", "1048 bytes in g_items[*]" },
	{ "behind a header of the page's", 64, 1048, false, "24 88 216 344", "", "pool of item in g_items[*]" },
	{ "far from each other", 64, 4096, false, "128 512 1024 4032", "", "pool of item in g_items[*]" },
	{ "rounded up to 16 bytes", 72, 1048, false, "0 80 240 320", "", "pool of item in g_items[*]" },
	{ "rounded up to 64 bytes", 72, 1048, false, "0 128 256 896", "", "pool of item in g_items[*]" },
	{ "part of something larger", 24, 1048, false, "0 72 144 216", "", "pool of item in g_items[*]" },
	{ "too far from each other for its size", 24, 1048, false, "0 40 80 120", "", "1048 bytes in g_items[*]" },
	{ "not one distance", 64, 1048, false, "0 64 136 192", "", "1048 bytes in g_items[*]" },
	{ "they overlap", 64, 1048, false, "0 32 64 96", "", "1048 bytes in g_items[*]" },
	{ "two types, place about", 64, 1048, false, "0 128 256 384", "64 192 320 448", "1048 bytes in g_items[*]" },
	{ "two types at one place each", 64, 1048, false, "0 64 128 192", "0 64 128 192", "1048 bytes in g_items[*]" },
	{ "two types, one across the other", 64, 1048, false, "0 64 128 192 256 320", "32", "1048 bytes in g_items[*]" },
	{ "flexible, as far apart as the class has it", 16, 1024, true, "0 96 192 288", "", "pool of item in g_items[*]" },
	{ "flexible, but few of many", 16, 4096, true, "0 1056 2016 3936", "", "4096 bytes in g_items[*]" },
	{ "flexible, of all sizes", 16, 1048, true, "0 32 40 96 184 200 240 320", "", "1048 bytes in g_items[*]" },
	{ "small, here and there", 16, 1048, false, "0 64 128 256", "", "pool of item in g_items[*]" },
	{ "what others begin with, here and there", 16, 1048, false, "0 64 128 256", "", "1048 bytes in g_items[*]", true },
	{ "what others begin with, at every other place", 16, 1048, false, "0 32 64 96 128", "", "1048 bytes in g_items[*]", true },
	{ "what others begin with, side by side", 16, 1048, false, "0 16 48 64", "", "pool of item in g_items[*]", true },
};

ParameterizedTestParameters(pools, found)
{
	static size_t index[sizeof(rows) / sizeof(*rows)];
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, sizeof(rows) / sizeof(*rows));
}

/* Pointers to the places stand in the array. */
static void set_pointers(struct world *w, uint64_t array, uint64_t page, const char *places)
{
	char *end;
	for (; *places; places = *end ? end + 1 : end, array += 8)
		world_set(w, array, page + strtoull(places, &end, 10));
}

ParameterizedTest(size_t *number, pools, found)
{
	const struct row *row = &rows[*number];
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id item = world_type(w, "item", STRUCT, row->item), other = world_type(w, "other", STRUCT, row->item);
	hsnap_dtype_id tail = world_array(w, t.byte, 0);
	MEMBERS(w, item, { "num", 0, t.number }, { "owner", 8, t.node_pointer }, { "bytes", row->item, tail });
	MEMBERS(w, other, { "owner", 0, t.node_pointer }, { "num", 8, t.number });
	if (row->base)
		MEMBERS(w, world_type(w, "larger", STRUCT, row->item + 16), { "item", 0, item }, { "more", row->item, t.number });
	w->symbols.types.items[item].flags = row->flexible ? HSNAP_DTYPE_FLEXIBLE : 0;
	world_variable(w, "g_items", WORLD_DATA, world_array(w, world_pointer(w, item), 16));
	world_variable(w, "g_others", WORLD_DATA + 128, world_array(w, world_pointer(w, other), 16));
	uint64_t page = world_block(w, row->page, 0);
	set_pointers(w, WORLD_DATA, page, row->places);
	set_pointers(w, WORLD_DATA + 128, page, row->others);
	world_name(w);
	cr_expect(strstr(world_rows(w), row->rows), "%s: want %s, got %s", row->name, row->rows, w->text);
	world_destroy(w);
}

/* ---- arrays ---- */

/* A block that 16 items fill, by who keeps it; pointers lead to some of the items. */
struct kept {
	const char *name;
	const char *places;      /* as above */
	bool run, member, bytes; /* a variable leads to the first of several, a member of something does; one leads to bytes */
	bool array, pool;        /* what it is */
};

static const struct kept kept_rows[] = {
	{ "a variable has it", "64 128 192 256", true, false, false, true, false },
	{ "a member has it", "64 128 192 256", false, true, false, true, false },
	{ "only a table leads to the first, too", "0 64 128 192", false, false, false, false, true },
	{ "to whoever has it it is bytes", "0 64 128 192", false, false, true, false, true },
	{ "a variable leads to the first, but it is bytes", "64 128 192 256", true, false, true, false, true },
	{ "at every other place, and a variable has it", "128 256 384 512", true, false, false, true, false },
	{ "few lead into it", "64 128", false, false, true, false, false },
};

/* What an item leads to changes: `back` to the first of them, which is not all of its block. */
static void name_kept(const struct kept *row, bool back, char *text, size_t size)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id item = world_type(w, "item", STRUCT, 64), owner = world_type(w, "owner", STRUCT, 24);
	MEMBERS(w, item, { "next", 0, world_pointer(w, item) }, { "node", 8, t.node_pointer });
	MEMBERS(w, owner, { "num", 0, t.number }, { "array", 16, world_pointer(w, item) });
	world_variable(w, "g_items", WORLD_DATA, world_array(w, world_pointer(w, item), 16));
	world_variable(w, "g_array", WORLD_DATA + 128, world_pointer(w, item));
	world_variable(w, "g_owner", WORLD_DATA + 136, world_pointer(w, owner));
	world_variable(w, "g_bytes", WORLD_DATA + 144, t.byte_pointer);
	uint64_t page = world_block(w, 1024, 0), holder = world_block(w, 24, 0);
	set_pointers(w, WORLD_DATA, page, row->places);
	world_set(w, WORLD_DATA + 128, row->run ? page : 0);
	world_set(w, WORLD_DATA + 136, holder);
	world_set(w, holder + 16, row->member ? page : 0);
	world_set(w, WORLD_DATA + 144, row->bytes ? page : 0);
	world_set(w, page + 64, back ? page : 0);
	world_name(w);
	snprintf(text, size, "%s", world_rows(w));
	world_destroy(w);
}

Test(pools, or_arrays)
{
	for (size_t i = 0; i < sizeof(kept_rows) / sizeof(*kept_rows); i++) {
		const struct kept *row = &kept_rows[i];
		char text[512];
		for (int back = 0; back < 2; back++) {
			name_kept(row, back, text, sizeof(text));
			cr_expect_eq(!!strstr(text, "1 item[] inferred"), row->array, "%s, %d: %s", row->name, back, text);
			cr_expect_eq(!!strstr(text, "1 pool of item in "), row->pool, "%s, %d: %s", row->name, back, text);
		}
	}
}

/* ---- lists of free objects ---- */

struct freed {
	const char *name;
	const char *free;  /* numbers of places in order of the list, 16 in each of two pages */
	uint64_t end;      /* where the last leads: 0, or 1 + a number */
	bool pointer;      /* the type has a pointer where the list's links are */
	bool stray;        /* a third page is on the list that no slab leads to */
	bool two;          /* a second list of the same owner */
	const char *rows;
};

#define FREE "1 2 3 17 18 19 20 21"

static const struct freed freed_rows[] = {
	{ "what is not free is in use, but for what is blank", FREE, 0, false, false, false, "2 pool of Ctx in Slab.objects inferred 21 seen" },
	{ "seven are no list", "1 2 3 17 18 19 20", 0, false, false, false, "2 char[] in Slab.objects proved" },
	{ "without an end", FREE, 3, false, false, false, "2 char[] in Slab.objects proved" },
	{ "into a place between", FREE, 1001, false, false, false, "2 char[] in Slab.objects proved" },
	{ "of a type that begins with a pointer", FREE, 0, true, false, false, "2 char[] in Slab.objects proved" },
	{ "into a page of nobody", FREE, 0, false, true, false, "2 char[] in Slab.objects proved" },
	{ "two lists of one owner", FREE, 0, false, false, true, "2 char[] in Slab.objects proved" },
};

static hsnap_dtype_id make_pool_types(struct world *w, const struct basics *t, bool pointer)
{
	hsnap_dtype_id ctx = world_type(w, "Ctx", STRUCT, 32), slab = world_type(w, "Slab", STRUCT, 16);
	hsnap_dtype_id pool = world_type(w, "Pool", STRUCT, 24);
	MEMBERS(w, ctx, { "id", 0, pointer ? t->node_pointer : t->number }, { "state", 8, t->number });
	MEMBERS(w, slab, { "next", 0, world_pointer(w, slab) }, { "objects", 8, t->byte_pointer });
	MEMBERS(w, pool, { "free", 0, t->void_pointer }, { "slabs", 8, world_pointer(w, slab) }, { "other", 16, t->void_pointer });
	world_landing(w, pool, 0, ctx);
	world_landing(w, pool, 16, ctx);
	return pool;
}

/* Where the place of a number is. */
static uint64_t place_of(const uint64_t pages[3], uint64_t number)
{
	return number >= 1000 ? pages[0] + 8 : pages[number / 16] + number % 16 * 32;
}

static void link_list(struct world *w, uint64_t head, const uint64_t pages[3], const char *places, uint64_t end)
{
	char *rest;
	for (; *places; places = *rest ? rest + 1 : rest) {
		uint64_t at = place_of(pages, strtoull(places, &rest, 10));
		world_set(w, head, at);
		head = at;
	}
	world_set(w, head, end ? place_of(pages, end - 1) : 0);
}

Test(pools, that_know_their_free_objects)
{
	for (size_t i = 0; i < sizeof(freed_rows) / sizeof(*freed_rows); i++) {
		const struct freed *row = &freed_rows[i];
		struct world *w = world_create();
		struct basics t = make_basics(w);
		world_variable(w, "g_pool", WORLD_DATA, make_pool_types(w, &t, row->pointer));
		uint64_t slabs[2] = { world_block(w, 16, 0), world_block(w, 16, 0) };
		uint64_t pages[3] = { world_block(w, 516, 0), world_block(w, 516, 0), world_block(w, 516, 0) };
		world_set(w, WORLD_DATA + 8, slabs[0]);
		world_set(w, slabs[0], slabs[1]);
		for (unsigned p = 0; p < 2; p++)
			world_set(w, slabs[p] + 8, pages[p]);
		for (unsigned n = 0; n < 29; n++) /* the last three have never been handed out */
			world_set(w, place_of(pages, n) + 8, 0x1000 + n);
		link_list(w, WORLD_DATA, pages, row->free, row->end);
		if (row->stray)
			link_list(w, place_of(pages, 21), pages, "33", 0);
		if (row->two)
			link_list(w, WORLD_DATA + 16, pages, "4 5 6 7 8 9 10 11 12", 0);
		world_name(w);
		char text[sizeof(w->text) + 32];
		const struct hsnap_row *first = &w->snapshot->rows.items[0];
		snprintf(text, sizeof(text), "%s", world_rows(w));
		if (first->items)
			snprintf(text, sizeof(text), "%.*s %llu seen", (int)strcspn(w->text, ";"), w->text, (unsigned long long)first->items);
		cr_expect(!strncmp(text, row->rows, strlen(row->rows)), "%s: want %s, got %s", row->name, row->rows, text);
		world_destroy(w);
	}
}

/* Each of many heads leads into one list without an end: followed one by one to its bound, that would take minutes. */
Test(pools, many_lists_without_an_end, .timeout = 60)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	enum { HEADS = 2000 };
	hsnap_dtype_id pool = make_pool_types(w, &t, false);
	uint64_t heads = world_block(w, HEADS * 24, 0), page = world_block(w, 516, 0);
	world_variable(w, "g_pools", WORLD_DATA, world_pointer(w, world_array(w, pool, HEADS)));
	world_set(w, WORLD_DATA, heads);
	for (unsigned i = 0; i < HEADS; i++)
		world_set(w, heads + i * 24, page);
	world_set(w, page, page + 32);
	world_set(w, page + 32, page);
	world_name(w);
	cr_expect(!strstr(world_rows(w), "pool of Ctx"), "%s", w->text);
	world_destroy(w);
}
