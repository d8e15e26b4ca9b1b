/* SPDX-License-Identifier: MIT */
/* test_roots.c - whoever holds a block is found, in real processes; who only held it once is not. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capture/alloc/glibc/arena.h"
#include "capture/freeze/freeze.h"
#include "capture/roots/roots.h"
#include "tests/capture/support/child.h"

#define NOTHING HSNAP_NUM_ROOT_KINDS
#define USABLE 72 /* bytes of a block: its last eight are the head of the next chunk */

static const struct {
	const char *mode;
	enum hsnap_root_kind kind; /* NOTHING: it must not be found anywhere */
	const char *name;          /* of the area or value; NULL: does not matter */
} rows[] = {
	{ "global", HSNAP_ROOT_STATIC, "" },
	{ "static", HSNAP_ROOT_STATIC, "" },
	{ "initialised", HSNAP_ROOT_STATIC, "" },
	{ "thread-local", HSNAP_ROOT_THREAD_LOCAL, "" },
	{ "thread-local of a thread", HSNAP_ROOT_THREAD_LOCAL, "" },
	{ "thread-local struct", HSNAP_ROOT_THREAD_LOCAL, "" },
	{ "thread-local of a library", HSNAP_ROOT_THREAD_LOCAL, "" },
	{ "key", HSNAP_ROOT_THREAD_LOCAL, "pthread keys" },
	{ "epoll", HSNAP_ROOT_KERNEL, NULL },
	{ "timer", HSNAP_ROOT_KERNEL, "timer 0" },
	{ "pool", HSNAP_ROOT_MAPPING, "mapping of 1 MiB" },
	{ "shared", HSNAP_ROOT_MAPPING, "mapping of 1 MiB (zero)" },
	{ "fibre", HSNAP_ROOT_MAPPING, NULL },
	{ "handler", HSNAP_ROOT_STACK, NULL },
	{ "register", HSNAP_ROOT_REGISTER, "r12" },
	{ "stack", HSNAP_ROOT_STACK, NULL },
	{ "stack of a thread", HSNAP_ROOT_STACK, NULL },
	{ "stack of an ended thread", NOTHING, NULL },
	{ "dead stack", NOTHING, NULL },
};

/* A heap of one block; all of the mapping around it is the allocator's. */
static void make_heap(struct hsnap_heap *heap, const struct hsnap_target *target, uint64_t block)
{
	const struct hsnap_mapping *mapping = hsnap_target_mapping(target, block);
	cr_assert(mapping);
	*heap = (struct hsnap_heap){ 0 };
	cr_assert(hsnap_vec_push(&heap->blocks, (struct hsnap_block){ .address = block, .usable = USABLE, .requested = 64 }));
	cr_assert(hsnap_vec_push(&heap->regions, (struct hsnap_region){ mapping->start, mapping->end }));
	struct hsnap_glibc_arenas arenas = { 0 };
	cr_assert(hsnap_glibc_arenas_find(target, &arenas) && arenas.num && arenas.items[0].main);
	cr_assert(hsnap_vec_push(&heap->regions, (struct hsnap_region){ arenas.items[0].start, arenas.items[0].end }));
	hsnap_vec_deinit(&arenas);
}

/* What holds the block: counts all, and looks for one of that kind and name. */
struct found {
	size_t num;
	bool wanted;
	char text[512];
};

static void note(struct found *found, size_t row, enum hsnap_root_kind kind, const char *name)
{
	size_t len = strlen(found->text);
	found->num++;
	found->wanted |= kind == rows[row].kind && (!rows[row].name || !strcmp(rows[row].name, name));
	snprintf(found->text + len, sizeof(found->text) - len, " %s '%s'", hsnap_root_kind_name(kind), name);
}

static void look_for(const struct hsnap_target *target, const struct hsnap_roots *roots, uint64_t block, size_t row,
		     struct found *found)
{
	for (size_t i = 0; i < roots->areas.num; i++) {
		const struct hsnap_root_area *area = &roots->areas.items[i];
		cr_expect_eq(area->weak, area->kind == HSNAP_ROOT_MAPPING);
		for (uint64_t at = (area->address + 7) & ~(uint64_t)7; at + 8 <= area->address + area->size; at += 8) {
			uint64_t word;
			if (hsnap_target_word(target, at, &word) && word - block < USABLE)
				note(found, row, area->kind, hsnap_str(&roots->strings, area->name));
		}
	}
	for (size_t i = 0; i < roots->values.num; i++)
		if (roots->values.items[i].value - block < USABLE)
			note(found, row, roots->values.items[i].kind,
			     hsnap_str(&roots->strings, roots->values.items[i].name));
}

/* No byte may be a root of two kinds: a strong one would make the weak one meaningless. */
static void expect_disjoint(const struct hsnap_roots *roots)
{
	for (size_t i = 0; i < roots->areas.num; i++)
		for (size_t k = 0; k < i; k++) {
			const struct hsnap_root_area *a = &roots->areas.items[i], *b = &roots->areas.items[k];
			cr_expect(a->address + a->size <= b->address || b->address + b->size <= a->address,
				  "%s '%s' %lx+%lx and %s '%s' %lx+%lx overlap", hsnap_root_kind_name(a->kind),
				  hsnap_str(&roots->strings, a->name), a->address, a->size, hsnap_root_kind_name(b->kind),
				  hsnap_str(&roots->strings, b->name), b->address, b->size);
		}
}

ParameterizedTestParameters(roots, holders)
{
	static size_t index[sizeof(rows) / sizeof(*rows)];
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, sizeof(rows) / sizeof(*rows));
}

ParameterizedTest(size_t *row, roots, holders, .timeout = 30)
{
	char line[128];
	struct hsnap_proc proc;
	struct hsnap_frozen frozen;
	struct hsnap_heap heap;
	struct hsnap_roots roots;
	struct hsnap_error err = { 0 };
	struct child holders = child_start(HOLDERS, rows[*row].mode, LIBRARY, NULL);
	cr_assert(child_expect(&holders, "BLOCK ", line, sizeof(line)), "%s", rows[*row].mode);
	uint64_t block = strtoull(line + 6, NULL, 16);
	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	cr_assert_eq(hsnap_proc_init(&proc, "/", NULL), HSNAP_OK);
	cr_assert_eq(hsnap_freeze_copy(&(struct hsnap_freeze_options){ .proc = &proc, .pid = holders.pid, .scratch = -1 }, &frozen, &err), HSNAP_OK, "%s", err.message);
	make_heap(&heap, frozen.target, block);
	cr_assert_eq(hsnap_roots_find(frozen.target, &frozen.kernel, &heap, &roots, &err), HSNAP_OK, "%s", err.message);

	struct found found = { 0 };
	look_for(frozen.target, &roots, block, *row, &found);
	if (rows[*row].kind == NOTHING)
		cr_expect_eq(found.num, 0, "%s: held by%s", rows[*row].mode, found.text);
	else
		cr_expect(found.wanted, "%s: held by%s", rows[*row].mode, found.num ? found.text : " nothing");
	expect_disjoint(&roots);
	cr_expect_geq(roots.searched_modules, 3);
	cr_expect_geq(roots.searched_tls, 2);
	hsnap_roots_deinit(&roots);
	hsnap_heap_deinit(&heap);
	hsnap_frozen_deinit(&frozen);
	hsnap_proc_deinit(&proc);
	cr_expect_eq(child_finish(&holders), 0);
}
