/* SPDX-License-Identifier: MIT */
/* test_behind.c - blocks that no declared pointer leads to are called by where they hang. */
#include <criterion/criterion.h>

#include "world.h"

/* g_nodes → Node, whose .value leads to a block of 100 bytes: the head of what is not known. */
static uint64_t make_payload(struct world *w, struct basics *t)
{
	*t = make_basics(w);
	world_variable(w, "g_nodes", WORLD_DATA, t->node_pointer);
	uint64_t node = world_block(w, 32, 0), payload = world_block(w, 100, 0);
	world_set(w, WORLD_DATA, node);
	world_set(w, node + 16, payload);
	return payload;
}

Test(behind, all_that_a_payload_leads_to_is_behind_it)
{
	struct world *w = world_create();
	struct basics t;
	uint64_t at = make_payload(w, &t);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t next = world_block(w, 200, 0);
		world_set(w, at + 96 - 96 % 8 - 8, next);
		at = next;
	}
	world_name(w);
	cr_expect_str_eq(world_rows(w), "3 200 bytes behind Node.value label; 1 100 bytes in Node.value label; 1 Node proved");
	world_destroy(w);
}

Test(behind, the_nearest_place_counts_and_a_stale_one_last)
{
	struct world *w = world_create();
	struct basics t;
	uint64_t payload = make_payload(w, &t), far = world_block(w, 200, 0), near = world_block(w, 300, 0);
	struct hsnap_root_area stack = { .kind = HSNAP_ROOT_STACK, .address = WORLD_STACK, .size = 0x400, .thread = 1 };
	cr_assert(hsnap_vec_push(&w->roots.areas, stack));
	world_variable(w, "g_number", WORLD_DATA + 8, world_array(w, t.number, 2));
	world_set(w, payload, far);
	world_set(w, far, near);
	world_set(w, WORLD_DATA + 16, near); /* a number that is an address */
	world_set(w, WORLD_STACK + 8, far);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 300 bytes in g_number[*] label; 1 200 bytes behind Node.value label; "
			 "1 100 bytes in Node.value label; 1 Node proved");
	world_destroy(w);
}

Test(behind, bytes_lead_on_when_nothing_else_does)
{
	struct world *w = world_create();
	struct basics t;
	uint64_t payload = make_payload(w, &t), text = world_block(w, 64, 0);
	uint64_t far = world_block(w, 200, 0), stale = world_block(w, 300, 0);
	world_set(w, w->heap.blocks.items[0].address + 8, text);
	world_write(w, text, "a text", 6);
	world_set(w, text + 8, far);
	world_set(w, text + 16, stale);
	world_set(w, payload, far);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 300 bytes behind Node.key label; 1 200 bytes behind Node.value label; "
			 "1 100 bytes in Node.value label; 1 char[] in Node.key proved; 1 Node proved");
	world_destroy(w);
}

/* A buffer of stdin's, with a word in it from before: what a stack holds is not behind it. */
Test(behind, text_comes_after_a_stack)
{
	struct world *w = world_create();
	struct basics t;
	make_payload(w, &t);
	uint64_t text = world_block(w, 64, 0), held = world_block(w, 200, 0);
	struct hsnap_root_area stack = { .kind = HSNAP_ROOT_STACK, .address = WORLD_STACK, .size = 0x400, .thread = 1 };
	cr_assert(hsnap_vec_push(&w->roots.areas, stack));
	world_set(w, w->heap.blocks.items[0].address + 8, text);
	world_write(w, text, "a text", 6);
	world_set(w, text + 8, held);
	world_set(w, WORLD_STACK + 8, held);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 200 bytes in a stack label; 1 100 bytes in Node.value label; "
			 "1 char[] in Node.key proved; 1 Node proved");
	world_destroy(w);
}

Test(behind, a_call_site_comes_before_what_leads_there)
{
	struct world *w = world_create();
	struct basics t;
	uint64_t payload = make_payload(w, &t);
	uint64_t made = world_block(w, 200, STACK(w, WORLD_TEXT + 0x35)), old = world_block(w, 300, 0);
	world_set(w, payload, made);
	world_set(w, made, old);
	world_name(w);
	cr_expect_str_eq(world_rows(w), "1 300 bytes behind what app+0x34 made label; 1 200 bytes from app+0x34 label; "
			 "1 100 bytes in Node.value label; 1 Node proved");
	world_destroy(w);
}

Test(behind, elements_of_a_run_and_of_a_tail_are_one_place)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id arms = world_type(w, "", HSNAP_DTYPE_UNION, 8), list = world_type(w, "List", STRUCT, 8);
	MEMBERS(w, arms, { "any", 0, t.void_pointer });
	MEMBERS(w, list, { "num", 0, t.number }, { "items", 8, world_array(w, arms, 0) });
	w->symbols.types.items[list].flags |= HSNAP_DTYPE_FLEXIBLE;
	world_variable(w, "g_list", WORLD_DATA, world_pointer(w, list));
	uint64_t block = world_block(w, 8 + 40 * 8, 0);
	world_set(w, WORLD_DATA, block);
	for (unsigned i = 0; i < 40; i++)
		world_set(w, block + 8 + i * 8, world_block(w, 50, 0));
	world_name(w);
	cr_expect_str_eq(world_rows(w), "40 50 bytes in List.items[*].any label; 1 List proved");
	world_destroy(w);
}

Test(behind, what_nothing_leads_to_has_rows_by_size)
{
	struct world *w = world_create();
	w->without_symbols = true;
	for (unsigned i = 0; i < 40; i++)
		world_block(w, 24 + i * 16, 0);
	for (unsigned i = 0; i < 3; i++)
		world_block(w, 56, 0);
	world_name(w);
	cr_expect(strstr(world_rows(w), "4 56 bytes unknown unreachable"), "%s", w->text);
	cr_expect_eq(w->snapshot->rows.num, 40);
	for (unsigned i = 0; i < 17; i++)
		world_block(w, 1040 + i * 16, 0);
	world_name(w);
	cr_expect(strstr(world_rows(w), "17 bytes unknown unreachable"), "%s", w->text);
	cr_expect_eq(w->snapshot->rows.num, 41);
	world_destroy(w);
}
