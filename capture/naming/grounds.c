/* SPDX-License-Identifier: MIT */
/*
 * grounds.c - what each block's name rests on, for the snapshot to keep.
 *
 * Few blocks differ in it from all others of their type: a block has the number of an
 * entry in a table.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/naming/claims.h"
#include "capture/naming/convert.h"
#include "snapshot/base/cleanup.h"

struct keeper {
	struct hsnap_work *work;
	struct hsnap_convert *convert;
	struct hsnap_keymap index;              /* {evidence and conflicts, others} → entry */
	uint32_t plain[HSNAP_NUM_EVIDENCE];     /* the entries of what nothing else was said of; 0: not yet */
	struct hsnap_key last;                  /* the one before, as neighbours are often alike */
	uint32_t last_entry;
	hsnap_string *rules;                    /* one a rule of the user's: its place, 0: not yet; NULL without rules */
	uint64_t cut;                           /* blocks whose grounds have no room */
};

static void keeper_deinit(struct keeper *keeper)
{
	hsnap_keymap_deinit(&keeper->index);
	free(keeper->rules);
}

static hsnap_type_id type_of(struct hsnap_convert *convert, const struct hsnap_loser *loser)
{
	if (loser->form == HSNAP_FORM_ONE)
		return hsnap_convert_name(convert, loser->type);
	return hsnap_convert_run(convert, loser->type, 0);
}

/* The claims of a set, the strongest first; false: out of memory. */
static bool add_others(struct keeper *keeper, uint16_t set, struct hsnap_grounds *grounds)
{
	struct hsnap_work *work = keeper->work;
	struct hsnap_other others[HSNAP_MOST_LOSERS];
	grounds->more = set == HSNAP_LOSERS_UNKEPT;
	for (; set && set != HSNAP_LOSERS_UNKEPT; set = work->losers.sets.items[set - 1].rest) {
		const struct hsnap_loser *loser = &work->losers.sets.items[set - 1].last;
		if (!loser->type) {
			grounds->more = true;
			continue;
		}
		struct hsnap_other other = { .type = type_of(keeper->convert, loser), .evidence = loser->evidence,
					     .verdict = loser->verdict };
		if (!other.type)
			return false;
		uint32_t at = grounds->num_others++;
		for (; at && others[at - 1].evidence < other.evidence; at--)
			others[at] = others[at - 1];
		others[at] = other;
	}
	if (!grounds->num_others)
		return true;
	grounds->first_other = (uint32_t)work->snapshot->others.num;
	for (uint32_t i = 0; i < grounds->num_others; i++)
		if (!hsnap_vec_push(&work->snapshot->others, others[i]))
			return false;
	return true;
}

static hsnap_string text_of_rule(struct keeper *keeper, uint32_t rule)
{
	const struct hsnap_rules *rules = keeper->work->user->bounds.rules;
	char place[512];
	if (!keeper->rules[rule]) {
		hsnap_rule_place(rules, &rules->rules.items[rule], place, sizeof(place));
		keeper->rules[rule] = hsnap_strings_add(&keeper->work->snapshot->strings, place);
	}
	return keeper->rules[rule];
}

/* 1 + the rule of the user's that says what the block is, or 0. */
static uint32_t rule_of(const struct hsnap_work *work, uint32_t b)
{
	uint8_t evidence = work->claims[b].evidence;
	return work->user && (evidence == HSNAP_EVIDENCE_USER || evidence == HSNAP_EVIDENCE_FOLLOWED) ? work->user->marks[b].rule : 0;
}

/* 0: out of memory; UINT32_MAX: no room. */
static uint32_t make_entry(struct keeper *keeper, const struct hsnap_claim *claim, uint32_t rule)
{
	struct hsnap_snapshot *snapshot = keeper->work->snapshot;
	struct hsnap_grounds grounds = { .evidence = claim->evidence, .conflicts = claim->conflicts,
					 .rule = rule ? text_of_rule(keeper, rule - 1) : 0 };
	if (snapshot->grounds.num == HSNAP_MAX_GROUNDS)
		return UINT32_MAX;
	if (grounds.rule == HSNAP_NO_STRING || !add_others(keeper, claim->others, &grounds) || !hsnap_vec_push(&snapshot->grounds, grounds))
		return 0;
	return (uint32_t)snapshot->grounds.num - 1;
}

static uint32_t entry_of(struct keeper *keeper, const struct hsnap_claim *claim, uint32_t rule)
{
	struct hsnap_key key = { (uint64_t)rule << 16 | (uint64_t)claim->evidence << 8 | claim->conflicts, claim->others };
	if (!claim->conflicts && !claim->others && !rule) {
		uint32_t *plain = &keeper->plain[claim->evidence];
		if (!*plain)
			*plain = make_entry(keeper, claim, 0);
		return *plain;
	}
	if (keeper->last_entry && key.a == keeper->last.a && key.b == keeper->last.b)
		return keeper->last_entry;
	bool is_new;
	uint32_t *entry = hsnap_keymap_at(&keeper->index, key, &is_new);
	if (!entry)
		return 0;
	if (is_new)
		*entry = make_entry(keeper, claim, rule);
	keeper->last = key;
	keeper->last_entry = *entry;
	return *entry;
}

static enum hsnap_code say_what_was_cut(const struct keeper *keeper, struct hsnap_error *err)
{
	struct hsnap_snapshot *snapshot = keeper->work->snapshot;
	if (!keeper->cut)
		return HSNAP_OK;
	hsnap_string note = hsnap_strings_addf(&snapshot->strings, "what %llu names rest on was not kept: it differs too much",
					       (unsigned long long)keeper->cut);
	if (note == HSNAP_NO_STRING || !hsnap_vec_push(&snapshot->notes, note))
		return hsnap_no_memory(err);
	return HSNAP_OK;
}

enum hsnap_code hsnap_keep_grounds(struct hsnap_work *work, struct hsnap_convert *convert, struct hsnap_error *err)
{
	hsnap_auto(keeper_deinit) struct keeper keeper = { .work = work, .convert = convert };
	struct hsnap_graph *graph = &work->snapshot->graph;
	enum hsnap_code code = hsnap_graph_alloc_grounds(graph, err);
	if (code)
		return code;
	if (work->user)
		keeper.rules = calloc(work->user->bounds.rules->rules.num, sizeof(*keeper.rules));
	if (!hsnap_vec_push(&work->snapshot->grounds, (struct hsnap_grounds){ 0 }) || (work->user && !keeper.rules))
		return hsnap_no_memory(err);
	for (uint32_t b = 0; b < work->num_blocks; b++) {
		uint32_t entry = entry_of(&keeper, &work->claims[b], rule_of(work, b));
		if (!entry)
			return hsnap_no_memory(err);
		if (entry == UINT32_MAX)
			keeper.cut++;
		else
			graph->grounds[hsnap_first_block(graph) + b] = (uint16_t)entry;
	}
	return say_what_was_cut(&keeper, err);
}
