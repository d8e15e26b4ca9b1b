/* SPDX-License-Identifier: MIT */
/* test_grounds.c - what a name rests on is kept, with the claims that did not win; doubt spreads. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "capture/naming/losers.h"
#include "snapshot/graph/evidence.h"
#include "world.h"

Test(grounds, who_says_so_and_who_says_otherwise)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id page = world_type(w, "Page", STRUCT, 32), big = world_type(w, "Big", STRUCT, 64);
	hsnap_dtype_id half = world_type(w, "Half", STRUCT, 16);
	MEMBERS(w, page, { "name", 0, t.byte_pointer });
	MEMBERS(w, big, { "name", 0, t.byte_pointer });
	MEMBERS(w, half, { "next", 0, world_pointer(w, half) });
	world_pc(w, WORLD_TEXT + 16, "node_new");
	world_result(w, t.node, false);
	uint64_t made = world_block(w, 32, STACK(w, WORLD_TEXT + 16)), next = world_block(w, 32, 0), found = world_block(w, 32, 0),
		 odd = world_block(w, 40, 0);
	world_variable(w, "g_page", WORLD_DATA, world_pointer(w, page));
	world_variable(w, "g_node", WORLD_DATA + 8, t.node_pointer);
	world_variable(w, "g_other", WORLD_DATA + 16, world_pointer(w, page));
	world_variable(w, "g_big", WORLD_DATA + 24, world_pointer(w, big));
	world_variable(w, "g_odd", WORLD_DATA + 32, t.node_pointer);
	world_variable(w, "g_half", WORLD_DATA + 40, world_pointer(w, half));
	world_variable(w, "g_next", WORLD_DATA + 48, t.node_pointer);
	world_variable(w, "g_same", WORLD_DATA + 56, world_pointer(w, page));
	world_set(w, WORLD_DATA, made);
	world_set(w, WORLD_DATA + 8, found);
	world_set(w, WORLD_DATA + 16, found);
	world_set(w, WORLD_DATA + 24, found);
	world_set(w, WORLD_DATA + 48, next);
	world_set(w, WORLD_DATA + 56, next);
	world_set(w, WORLD_DATA + 32, odd);
	world_set(w, WORLD_DATA + 40, odd);
	world_name(w);
	cr_expect_str_eq(world_grounds(w), "1 Node site (Page pointer); 2 Node pointer, 1 conflict (Page pointer); "
			 "3 Node pointer, 1 conflict (Big pointer size; Page pointer); "
			 "4 - none (Half pointer size; Node pointer size)");
	cr_expect_eq(w->snapshot->graph.grounds[1], 0, "roots rest on nothing");
	world_destroy(w);
}

/* What loses against what is surer, and what looks wrong. */
Test(grounds, runs_that_do_not_look_like_it)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	world_variable(w, "g", WORLD_DATA, t.node_pointer);
	world_variable(w, "g_table", WORLD_DATA + 8, world_pointer(w, t.node_pointer));
	uint64_t run = world_block(w, 64, 0), table = world_block(w, 24, 0);
	world_set(w, WORLD_DATA, run);
	world_set(w, run + 32, 0x1234); /* no Node at this `next` */
	world_set(w, WORLD_DATA + 8, table);
	world_set(w, table, 12345);
	world_name(w);
	cr_expect_str_eq(world_grounds(w), "1 - none (Node[] run look); 2 - none (Node *[] pointer look)");
	world_destroy(w);
}

Test(grounds, blocks_that_are_alike_share_them)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id page = world_type(w, "Page", STRUCT, 32);
	MEMBERS(w, page, { "name", 0, t.byte_pointer });
	world_variable(w, "g_nodes", WORLD_DATA, world_array(w, t.node_pointer, 500));
	world_variable(w, "g_pages", WORLD_DATA + 4000, world_array(w, world_pointer(w, page), 500));
	for (unsigned i = 0; i < 500; i++) {
		uint64_t block = world_block(w, 32, 0);
		world_set(w, WORLD_DATA + 8 * i, block);
		if (i % 2)
			world_set(w, WORLD_DATA + 4000 + 8 * i, block);
	}
	world_name(w);
	/* Of nothing, plain nodes, contested ones. */
	cr_expect_eq(w->snapshot->grounds.num, 3);
	cr_expect_eq(w->snapshot->others.num, 1);
	world_destroy(w);
}

/* What only a doubtful place leads to is doubtful; what a sure one leads to as well is not, in whatever order. */
Test(grounds, doubt_goes_with_the_pointers)
{
	for (int sure_first = 0; sure_first < 2; sure_first++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		uint64_t run = world_block(w, 96, 0), only = world_block(w, 32, 0), both = world_block(w, 32, 0),
			 below = world_block(w, 32, 0), key = world_block(w, 11, 0);
		world_variable(w, "g_run", WORLD_DATA + 8 * sure_first, t.node_pointer);
		world_variable(w, "g_both", WORLD_DATA + 8 * !sure_first, t.node_pointer);
		world_set(w, WORLD_DATA + 8 * sure_first, run);
		world_set(w, WORLD_DATA + 8 * !sure_first, both);
		world_set(w, run, only);
		world_set(w, run + 32, both);
		world_set(w, both, below);
		world_set(w, only + 8, key);
		world_name(w);
		cr_expect_str_eq(world_grounds(w), "1 Node[] run; 2 Node followed; 3 Node pointer; 4 Node pointer; "
				 "5 char[] followed", "%d: %s", sure_first, w->text);
		world_destroy(w);
	}
}

/* Where each of several objects leads to what it should they are as sure as one is. */
Test(grounds, a_run_whose_pointers_are_all_in_use_is_sure)
{
	for (unsigned used = 1; used <= 2; used++) {
		struct world *w = world_create();
		struct basics t = make_basics(w);
		world_variable(w, "g_run", WORLD_DATA, t.node_pointer);
		uint64_t run = world_block(w, 64, 0);
		world_set(w, WORLD_DATA, run);
		for (unsigned i = 0; i < used; i++)
			world_set(w, run + 32 * i, world_block(w, 32, 0));
		world_name(w);
		cr_expect_str_eq(world_grounds(w), used == 2 ? "1 Node[] pointer; 2 Node pointer; 3 Node pointer"
							     : "1 Node[] run; 2 Node followed", "%s", w->text);
		world_destroy(w);
	}
}

/* Arrays of pointers come last: what a doubtful place led to is walked again when a sure one does. */
Test(grounds, what_turns_out_to_be_sure_clears_what_hangs_on_it)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	uint64_t run = world_block(w, 64, 0), node = world_block(w, 32, 0), below = world_block(w, 32, 0), table = world_block(w, 16, 0);
	world_variable(w, "g_run", WORLD_DATA, t.node_pointer);
	world_variable(w, "g_table", WORLD_DATA + 8, world_pointer(w, t.node_pointer));
	world_set(w, WORLD_DATA, run);
	world_set(w, WORLD_DATA + 8, table);
	world_set(w, run, node);
	world_set(w, node, below);
	world_set(w, table + 8, node);
	world_name(w);
	cr_expect_str_eq(world_grounds(w), "1 Node[] run; 2 Node pointer; 3 Node pointer; 4 Node *[] pointer");
	world_destroy(w);
}

/* A claim that is contested only after its block was walked: by what an array of pointers holds. */
Test(grounds, doubt_spreads_from_what_is_contested_late)
{
	struct world *w = world_create();
	struct basics t = make_basics(w);
	hsnap_dtype_id page = world_type(w, "Page", STRUCT, 32), hook = world_type(w, "Hook", STRUCT, 16);
	MEMBERS(w, page, { "name", 0, t.byte_pointer });
	MEMBERS(w, hook, { "page", 8, world_pointer(w, page) });
	uint64_t head = world_block(w, 32, 0), second = world_block(w, 32, 0), third = world_block(w, 32, 0),
		 kept = world_block(w, 32, 0), hooked = world_block(w, 16, 0), hooks = world_block(w, 8, 0);
	world_variable(w, "g_node", WORLD_DATA, t.node_pointer);
	world_variable(w, "g_hooks", WORLD_DATA + 8, world_pointer(w, world_pointer(w, hook)));
	world_variable(w, "g_kept", WORLD_DATA + 16, t.node_pointer);
	world_set(w, WORLD_DATA, head);
	world_set(w, WORLD_DATA + 8, hooks);
	world_set(w, hooks, hooked);
	world_set(w, WORLD_DATA + 16, kept);
	world_set(w, head, second);
	world_set(w, second, third);
	world_set(w, third, kept);
	world_set(w, hooked + 8, head);
	world_name(w);
	cr_expect_str_eq(world_grounds(w), "1 Node pointer, 1 conflict (Page pointer); 2 Node followed; 3 Node followed; "
			 "4 Node pointer; 5 Hook pointer; 6 Hook *[] pointer");
	cr_expect_str_eq(world_rows(w), "4 Node proved; 1 Hook proved; 1 Hook *[] proved");
	world_destroy(w);
}

/* ---- sets of claims ---- */

static struct hsnap_loser loser(unsigned type, enum hsnap_evidence evidence)
{
	return (struct hsnap_loser){ .type = type, .form = 1, .evidence = (uint8_t)evidence };
}

/* "1 pointer, 2 site, more" */
static const char *set_text(const struct hsnap_losers *sets, uint16_t set, char text[128])
{
	char rest[128];
	text[0] = '\0';
	if (!set || set == HSNAP_LOSERS_UNKEPT)
		return set ? "unkept" : "";
	const struct hsnap_loser_set *item = &sets->sets.items[set - 1];
	set_text(sets, item->rest, rest);
	if (item->last.type)
		snprintf(text, 128, "%.90s%s%u %s", rest, rest[0] ? ", " : "", item->last.type,
			 hsnap_evidence_name((enum hsnap_evidence)item->last.evidence));
	else
		snprintf(text, 128, "%.90s%smore", rest, rest[0] ? ", " : "");
	return text;
}

Test(losers, sets_are_kept_once_and_end_somewhere)
{
	struct hsnap_losers sets = { 0 };
	char text[128];
	bool is_new;
	uint16_t one = hsnap_losers_add(&sets, 0, loser(7, HSNAP_EVIDENCE_POINTER), &is_new);
	cr_expect(is_new);
	cr_expect_eq(hsnap_losers_add(&sets, one, loser(7, HSNAP_EVIDENCE_ALIAS), &is_new), one);
	cr_expect(!is_new, "it is told of already, and stronger");
	uint16_t two = hsnap_losers_add(&sets, one, loser(3, HSNAP_EVIDENCE_ALIAS), &is_new);
	uint16_t other = hsnap_losers_add(&sets, 0, loser(3, HSNAP_EVIDENCE_ALIAS), &is_new);
	cr_expect_eq(hsnap_losers_add(&sets, other, loser(7, HSNAP_EVIDENCE_POINTER), &is_new), two, "in whatever order");
	cr_expect_str_eq(set_text(&sets, two, text), "3 alias, 7 pointer");
	cr_expect_eq(hsnap_losers_remove(&sets, two, 3, 1), one);
	cr_expect_eq(hsnap_losers_remove(&sets, two, 3, 2), two, "of another form");
	uint16_t full = two;
	for (unsigned type = 10; type < 12; type++)
		full = hsnap_losers_add(&sets, full, loser(type, HSNAP_EVIDENCE_RUN), &is_new);
	cr_expect_str_eq(set_text(&sets, full, text), "3 alias, 7 pointer, 10 run, 11 run");
	uint16_t past = hsnap_losers_add(&sets, full, loser(12, HSNAP_EVIDENCE_RUN), &is_new);
	cr_expect_str_eq(set_text(&sets, past, text), "3 alias, 7 pointer, 10 run, 11 run, more");
	cr_expect_eq(hsnap_losers_add(&sets, past, loser(13, HSNAP_EVIDENCE_RUN), &is_new), past);
	cr_expect(!is_new);
	past = hsnap_losers_add(&sets, past, loser(14, HSNAP_EVIDENCE_SITE), &is_new);
	cr_expect_str_eq(set_text(&sets, past, text), "3 alias, 7 pointer, 11 run, 14 site, more", "%s", text);
	hsnap_losers_deinit(&sets);
}

Test(losers, more_sets_than_there_is_room_for)
{
	struct hsnap_losers sets = { 0 };
	bool is_new;
	uint16_t last = 0, first = hsnap_losers_add(&sets, 0, loser(1, HSNAP_EVIDENCE_POINTER), &is_new);
	for (unsigned type = 2; type < 70000; type++)
		last = hsnap_losers_add(&sets, 0, loser(type, HSNAP_EVIDENCE_POINTER), &is_new);
	cr_expect_eq(last, HSNAP_LOSERS_UNKEPT);
	cr_expect_eq(hsnap_losers_add(&sets, last, loser(1, HSNAP_EVIDENCE_POINTER), &is_new), HSNAP_LOSERS_UNKEPT);
	cr_expect_eq(hsnap_losers_remove(&sets, last, 1, 1), HSNAP_LOSERS_UNKEPT);
	cr_expect_eq(hsnap_losers_add(&sets, 0, loser(1, HSNAP_EVIDENCE_POINTER), &is_new), first, "the old ones are there");
	hsnap_losers_deinit(&sets);
}
