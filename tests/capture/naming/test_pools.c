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
