/* SPDX-License-Identifier: MIT */
/* test_program.c - roots that the program names, and what lies around the objects of its pools. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "capture/roots/roots.h"

#define DATA 0x600000u
#define HEAP 0x10000000u
#define SIZE 0x4000u

static struct world {
	struct hsnap_target *target;
	struct hsnap_heap heap;
	struct hsnap_roots roots;
	uint64_t data[SIZE / 8], chunks[SIZE / 8];
	char text[2048];
} w;

static void init(void)
{
	memset(&w, 0, sizeof(w));
	w.target = hsnap_image_create();
	cr_assert(w.target);
}

static void deinit(void)
{
	hsnap_roots_deinit(&w.roots);
	hsnap_heap_deinit(&w.heap);
	hsnap_target_close(w.target);
}

static void add_block(uint64_t address, uint64_t size)
{
	struct hsnap_block block = { .address = address, .usable = size, .requested = size };
	cr_assert(hsnap_vec_push(&w.heap.blocks, block));
}

static void add_root(uint64_t start, uint64_t end, const char *name)
{
	struct hsnap_named_root root = { start, end, hsnap_strings_add(&w.heap.texts, name) };
	cr_assert(hsnap_vec_push(&w.heap.named_roots, root));
}

static void add_rest(uint64_t start, uint64_t end, bool header)
{
	if (!w.heap.pools.num)
		cr_assert(hsnap_vec_push(&w.heap.pools, hsnap_strings_add(&w.heap.texts, "cells")));
	cr_assert(hsnap_vec_push(&w.heap.rests, (struct hsnap_rest){ start, end, 0, header }));
}

/* "NAME START+SIZE" of each area that has a name, "NAME =VALUE" of each value. */
static const char *found(void)
{
	struct hsnap_error err;
	size_t used = 0;
	cr_assert(hsnap_image_add(w.target, DATA, w.data, SIZE, HSNAP_PROT_READ | HSNAP_PROT_WRITE, "") &&
		  hsnap_image_add(w.target, HEAP, w.chunks, SIZE, HSNAP_PROT_READ | HSNAP_PROT_WRITE, "[heap]"));
	cr_assert(hsnap_vec_push(&w.heap.regions, (struct hsnap_region){ HEAP, HEAP + SIZE }));
	cr_assert_eq(hsnap_roots_find(w.target, NULL, &w.heap, &w.roots, &err), HSNAP_OK);
	for (size_t i = 0; i < w.roots.areas.num; i++) {
		const struct hsnap_root_area *area = &w.roots.areas.items[i];
		used += (size_t)snprintf(w.text + used, sizeof(w.text) - used, "%s%s%s %lx+%lx", used ? "; " : "",
					 hsnap_str(&w.roots.strings, area->name), area->weak ? "?" : "", (unsigned long)area->address,
					 (unsigned long)area->size);
	}
	for (size_t i = 0; i < w.roots.values.num; i++)
		used += (size_t)snprintf(w.text + used, sizeof(w.text) - used, "%s%s =%lx", used ? "; " : "",
					 hsnap_str(&w.roots.strings, w.roots.values.items[i].name), (unsigned long)w.roots.values.items[i].value);
	return w.text;
}

TestSuite(program, .init = init, .fini = deinit);

Test(program, a_mapping_has_its_name)
{
	add_root(DATA + 0x100, DATA + 0x200, "table");
	cr_expect_str_eq(found(), "table 600100+100; mapping of 16 KiB? 600000+100; mapping of 16 KiB? 600200+3e00");
}

Test(program, a_block_is_held)
{
	add_block(HEAP + 0x10, 0x100);
	add_root(HEAP + 0x40, HEAP + 0x50, "within");
	add_root(HEAP + 0x100, HEAP + 0x200, "beyond its end");
	add_root(HEAP + 0x300, HEAP + 0x400, "no block");
	cr_expect_str_eq(found(), "mapping of 16 KiB? 600000+4000; within =10000040; beyond its end =10000100");
}

Test(program, overlapping_and_nowhere)
{
	add_root(0x1000, 0x2000, "nowhere");
	add_root(DATA, DATA + 0x1000, "first");
	add_root(DATA + 0x800, DATA + 0x1800, "second");
	add_root(DATA + 0x900, DATA + 0xa00, "third");
	add_root(DATA + SIZE - 8, ((uint64_t)1 << 47) - 1, "to the end");
	cr_expect_str_eq(found(), "first 600000+1000; second 601000+800; to the end 603ff8+8; mapping of 16 KiB? 601800+27f8");
}

Test(program, a_slabs_header_holds_and_its_free_places_may)
{
	add_block(HEAP + 0x800, 0x40);
	add_rest(HEAP + 0x10, HEAP + 0x40, true);
	add_rest(HEAP + 0x44, HEAP + 0x100, false);
	add_rest(HEAP + 0x200, HEAP + 0x300, false);
	add_rest(HEAP + SIZE - 4, HEAP + SIZE + 0x1000, false);
	w.chunks[0x18 / 8] = HEAP + 0x800;
	w.chunks[0x20 / 8] = HEAP + 0x900; /* no block */
	w.chunks[0x50 / 8] = HEAP + 0x83f;
	w.chunks[0x68 / 8] = HEAP + 0x808;
	w.chunks[0x80 / 8] = HEAP + 0x840; /* its end */
	cr_expect_str_eq(found(), "pool cells 10000018+8; pool cells? 10000050+20; mapping of 16 KiB? 600000+4000");
}
