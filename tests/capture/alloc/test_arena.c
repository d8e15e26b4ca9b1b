/* SPDX-License-Identifier: MIT */
/* test_arena.c - tests capture/alloc/glibc/arena.c on made-up module data. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#include "capture/alloc/glibc/arena.h"

#define DATA 0x7f0000010000ull
#define HEAP_ARENA 0x7f1000000030ull
#define DATA_SIZE 16384
#define LOOP 0x7f2000000000ull
#define PLACE 2064 /* of the arena in the data */

/* `ring`: where the arena's next leads; 0 is nowhere, 1 the arena itself, 2 another one that leads
 * back, 3 another one that leads to nowhere. */
static const struct {
	const char *name;
	unsigned bins_offset, full, ring;
	bool module;
	size_t found;
	bool loop; /* behind it a pointer to memory that leads to itself, from every place */
} rows[] = {
	{ "glibc 2.36, alone", 112, 0, 1, true, 1 },
	{ "glibc 2.26", 104, 0, 1, true, 1 },
	{ "glibc 2.43: no fastbins", 24, 0, 1, true, 1 },
	{ "a glibc that is not known", 136, 0, 1, true, 1 },
	{ "a busy heap: three empty lists", 112, 124, 1, true, 1 },
	{ "two empty lists prove nothing", 112, 125, 1, true, 0 },
	{ "a ring of two", 112, 30, 2, true, 2 },
	{ "a ring that does not close", 112, 0, 3, true, 0 },
	{ "no ring: some array of list heads", 112, 0, 0, true, 0 },
	{ "no module is known", 112, 0, 1, false, 1 },
	{ "what stands behind it leads round and round", 112, 30, 2, true, 2, true },
};

static void put(uint8_t *bytes, uint64_t at, uint64_t value)
{
	memcpy(bytes + at, &value, sizeof(value));
}

static void put_bins(uint8_t *bytes, uint64_t address, uint64_t at, unsigned full)
{
	for (unsigned i = 0; i < 127; i++) {
		uint64_t place = at + i * 16u, link = i < full ? 0x555500001000ull + i * 64u : address + place - 16;
		put(bytes, place, link);
		put(bytes, place + 8, link);
	}
}

static struct hsnap_target *make(size_t row)
{
	static uint8_t data[DATA_SIZE], other[DATA_SIZE];
	uint64_t base = DATA + PLACE, next = PLACE + rows[row].bins_offset + 2032 + 16;
	static const uint64_t links[] = { 0, 1, HEAP_ARENA, HEAP_ARENA };
	put_bins(data, DATA, PLACE + rows[row].bins_offset, rows[row].full);
	put(data, next, rows[row].ring == 1 ? base : links[rows[row].ring]);
	put(other, 0, HEAP_ARENA);
	put(other, HEAP_ARENA % 4096 + rows[row].bins_offset + 2032 + 16, rows[row].ring == 2 ? base : 0);
	static uint8_t loop[DATA_SIZE];
	for (size_t i = 0; i < sizeof(loop); i += 8)
		put(loop, i, LOOP);
	put(data, next + 48, rows[row].loop ? LOOP : 0);
	struct hsnap_target *target = hsnap_image_create();
	cr_assert(target && hsnap_image_add(target, LOOP, loop, sizeof(loop), HSNAP_PROT_READ | HSNAP_PROT_WRITE, ""));
	cr_assert(hsnap_image_add(target, DATA, data, sizeof(data), HSNAP_PROT_READ | HSNAP_PROT_WRITE, "/lib/libc.so.6"));
	cr_assert(hsnap_image_add(target, HEAP_ARENA & ~4095ull, other, sizeof(other), HSNAP_PROT_READ | HSNAP_PROT_WRITE, ""));
	for (size_t i = 0; i < target->mappings.num; i++)
		if (target->mappings.items[i].start == DATA)
			target->mappings.items[i].module = rows[row].module;
	return target;
}

ParameterizedTestParameters(arena, found_by_its_lists_and_its_ring)
{
	static size_t indices[sizeof(rows) / sizeof(*rows)];
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, sizeof(rows) / sizeof(*rows));
}

ParameterizedTest(size_t *row, arena, found_by_its_lists_and_its_ring)
{
	struct hsnap_target *target = make(*row);
	struct hsnap_glibc_arenas arenas = { 0 };
	const unsigned offset = rows[*row].bins_offset;
	cr_assert(hsnap_glibc_arenas_find(target, &arenas));
	cr_expect_eq(arenas.num, rows[*row].found, "%s: %zu found", rows[*row].name, arenas.num);
	for (size_t i = 0; i < arenas.num; i++) {
		const struct hsnap_glibc_arena *arena = &arenas.items[i];
		uint64_t start = i ? HEAP_ARENA : DATA + PLACE;
		cr_expect_eq(arena->start, start, "%s: starts at %lx", rows[*row].name, arena->start);
		cr_expect_eq(arena->end, start + offset + 2032 + 16 + 40, "%s", rows[*row].name);
		cr_expect_eq(arena->bins, start + offset, "%s", rows[*row].name);
		cr_expect_eq(arena->fastbins, offset > 24 ? start + offset - 96 : 0, "%s", rows[*row].name);
		cr_expect_eq(arena->main, !i, "%s", rows[*row].name);
	}
	hsnap_vec_deinit(&arenas);
	hsnap_target_close(target);
}
