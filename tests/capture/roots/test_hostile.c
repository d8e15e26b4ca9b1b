/* SPDX-License-Identifier: MIT */
/* test_hostile.c - thread and loader structures of a target that lies. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <elf.h>

#include "capture/roots/glibc.h"
#include "capture/roots/roots.h"
#include "capture/roots/spans.h"

#define PAGE 4096u
#define DYNAMIC 0x10000u
#define DEBUG 0x20000u
#define MAPS 0x30000u
#define STACK 0x40000u
#define POINTER (STACK + 0x800)

/* An executable with thread-locals, one link_map, and a thread on a stack of one page. */
static struct hsnap_target *make_target(uint64_t next_map, uint64_t table)
{
	struct hsnap_target *target = hsnap_image_create();
	uint64_t dynamic[] = { DT_DEBUG, DEBUG, DT_NULL, 0 }, debug[] = { 1, MAPS };
	uint64_t map[] = { 0, 0, DYNAMIC, next_map, 0 }, stack[PAGE / 8] = { 0 };
	stack[0x800 / 8] = stack[0x810 / 8] = POINTER;
	stack[0x808 / 8] = table;
	unsigned prot = HSNAP_PROT_READ | HSNAP_PROT_WRITE;
	cr_assert(hsnap_image_add(target, DYNAMIC, dynamic, sizeof(dynamic), prot, "/bin/x"));
	cr_assert(hsnap_image_add(target, DEBUG, debug, sizeof(debug), prot, ""));
	cr_assert(hsnap_image_add(target, MAPS, map, sizeof(map), prot, ""));
	cr_assert(hsnap_image_add(target, STACK, stack, sizeof(stack), prot, ""));
	struct hsnap_target_module module = {
		.start = DYNAMIC, .end = DYNAMIC + sizeof(dynamic), .main = true, .dynamic = DYNAMIC,
		.tls_size = 64, .tls_id = 7,
	};
	struct hsnap_thread thread = { .tid = 1, .thread_pointer = POINTER };
	thread.regs.value[HSNAP_REG_SP] = STACK + 0x100;
	thread.regs.valid = 1u << HSNAP_REG_SP;
	cr_assert(hsnap_image_add_module(target, &module) && hsnap_vec_push(&target->threads, thread));
	return target;
}

Test(hostile, a_ring_of_link_maps_ends)
{
	uint64_t maps[100];
	struct hsnap_target *target = make_target(MAPS, 0);
	cr_expect_eq(hsnap_glibc_link_maps(target, maps, 100), 100);
	hsnap_target_close(target);
	target = make_target(UINT64_MAX - 3, 0);
	cr_expect_eq(hsnap_glibc_link_maps(target, maps, 100), 2);
	hsnap_target_close(target);
}

static const struct {
	const char *name;
	uint64_t table, words[6]; /* at STACK + 0x200: the number of slots stands before the table */
	uint64_t id, want;        /* 0: no block */
} tables[] = {
	{ "a block", STACK + 0x210, { 2, 0, 0, 0, 0x111, 0 }, 1, 0x111 },
	{ "no table", 0, { 0 }, 1, 0 },
	{ "a table nowhere", 0xdeadbeef000, { 0 }, 1, 0 },
	{ "a table at the end of everything", UINT64_MAX - 7, { 0 }, 1, 0 },
	{ "too few slots", STACK + 0x210, { 1, 0, 0, 0, 1, 1 }, 2, 0 },
	{ "more slots than there can be", STACK + 0x210, { UINT64_MAX, 0, 0, 0, 0x111, 0 }, 1, 0 },
	{ "not made yet", STACK + 0x210, { 2, 0, 0, 0, UINT64_MAX, 0 }, 1, 0 },
};

ParameterizedTestParameters(hostile, tables)
{
	static size_t index[sizeof(tables) / sizeof(*tables)];
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, sizeof(tables) / sizeof(*tables));
}

ParameterizedTest(size_t *row, hostile, tables)
{
	struct hsnap_target *target = make_target(0, tables[*row].table);
	uint8_t *bytes = (uint8_t *)(uintptr_t)hsnap_target_view(target, STACK + 0x200, 48);
	__builtin_memcpy(bytes, tables[*row].words, sizeof(tables[*row].words));
	struct hsnap_target_module module = { .tls_size = 64, .tls_id = tables[*row].id };
	uint64_t block = 0;
	bool found = hsnap_glibc_tls_block(target, &target->threads.items[0], &module, &block);
	cr_expect_eq(found ? block : 0, tables[*row].want, "%s: 0x%lx", tables[*row].name, block);
	hsnap_target_close(target);
}

/* Whatever the stack pointer and the thread pointer are, areas stay inside of mappings. */
Test(hostile, pointers_from_nowhere)
{
	static const uint64_t values[] = {
		0, 1, 7, STACK - 1, STACK, STACK + 1, STACK + 120, STACK + PAGE - 1, STACK + PAGE, POINTER, UINT64_MAX,
		UINT64_MAX - 127, (uint64_t)1 << 63,
	};
	enum { NUM = sizeof(values) / sizeof(*values) };
	for (size_t i = 0; i < NUM * NUM; i++) {
		struct hsnap_target *target = make_target(0, 0);
		struct hsnap_heap heap = { 0 };
		struct hsnap_roots roots;
		target->threads.items[0].regs.value[HSNAP_REG_SP] = values[i % NUM];
		target->threads.items[0].thread_pointer = values[i / NUM];
		cr_assert_eq(hsnap_roots_find(target, NULL, &heap, &roots, NULL), HSNAP_OK);
		for (size_t k = 0; k < roots.areas.num; k++) {
			const struct hsnap_root_area *area = &roots.areas.items[k];
			const struct hsnap_mapping *mapping = hsnap_target_mapping(target, area->address);
			cr_expect(mapping && area->size && area->size <= mapping->end - area->address,
				  "sp 0x%lx, tp 0x%lx: 0x%lx+0x%lx", values[i % NUM], values[i / NUM], area->address,
				  area->size);
		}
		hsnap_roots_deinit(&roots);
		hsnap_target_close(target);
	}
}

/* However many threads claim a stack, each byte of it is gone through once, for who is at work innermost. */
Test(hostile, threads_on_one_stack)
{
	static const struct { uint64_t sp, pointer; } threads[] = {
		{ STACK + 0x400, POINTER }, { STACK + 0x400, POINTER }, { STACK + 0x200, 0 }, { STACK + 0xa00, STACK + 0xc00 },
		{ STACK + 0x300, POINTER + 8 },
	};
	struct hsnap_target *target = make_target(0, 0);
	struct hsnap_heap heap = { 0 };
	struct hsnap_roots roots;
	for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++) {
		struct hsnap_thread thread = { .tid = 2 + (uint32_t)i, .thread_pointer = threads[i].pointer };
		thread.regs.value[HSNAP_REG_SP] = threads[i].sp;
		thread.regs.valid = 1u << HSNAP_REG_SP;
		cr_assert(hsnap_vec_push(&target->threads, thread));
	}
	cr_assert_eq(hsnap_roots_find(target, NULL, &heap, &roots, NULL), HSNAP_OK);
	uint32_t owners[PAGE / 8] = { 0 };
	for (size_t i = 0; i < roots.areas.num; i++) {
		const struct hsnap_root_area *area = &roots.areas.items[i];
		for (uint64_t at = area->address; at < area->address + area->size; at += 8) {
			if (at < STACK || at >= STACK + PAGE)
				continue;
			cr_expect_eq(owners[(at - STACK) / 8], 0, "0x%lx is in two areas", at);
			owners[(at - STACK) / 8] = area->thread;
		}
	}
	for (uint64_t at = 0x80; at < PAGE; at += 8)
		cr_expect(owners[at / 8], "0x%lx is in none", at);
	cr_expect_eq(owners[0x90 / 8], 1);
	cr_expect_eq(owners[0x1f0 / 8], 4);
	cr_expect_eq(owners[0x290 / 8], 6);
	cr_expect_eq(owners[0x400 / 8], 2, "of equals the first");
	cr_expect_eq(owners[0xa00 / 8], 5);
	hsnap_roots_deinit(&roots);
	hsnap_target_close(target);
}

Test(hostile, spans_leave_gaps)
{
	struct hsnap_spans spans = { 0 };
	cr_assert(hsnap_spans_add(&spans, 30, 40) && hsnap_spans_add(&spans, 10, 20) && hsnap_spans_add(&spans, 15, 25) &&
		  hsnap_spans_add(&spans, 25, 27) && hsnap_spans_add(&spans, 50, 50) && hsnap_spans_add(&spans, 60, 55));
	hsnap_spans_sort(&spans);
	cr_assert_eq(spans.num, 2);
	static const struct { uint64_t start, end, gap_start, gap_end; } wants[] = {
		{ 0, 5, 0, 5 }, { 0, 100, 0, 10 }, { 12, 100, 27, 30 }, { 12, 27, 0, 0 }, { 35, 40, 0, 0 },
		{ 39, 41, 40, 41 }, { 40, UINT64_MAX, 40, UINT64_MAX }, { 28, 29, 28, 29 },
	};
	for (size_t i = 0; i < sizeof(wants) / sizeof(*wants); i++) {
		uint64_t start = wants[i].start, end = 0;
		bool found = hsnap_spans_gap(&spans, &start, wants[i].end, &end);
		cr_expect_eq(found, wants[i].gap_end != 0, "row %zu", i);
		if (found)
			cr_expect(start == wants[i].gap_start && end == wants[i].gap_end, "row %zu: %lu-%lu", i, start, end);
	}
	hsnap_vec_deinit(&spans);
}
