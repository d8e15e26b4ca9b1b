/* SPDX-License-Identifier: MIT */
/*
 * naming.c - the order of it all.
 *
 * Roots are cut into variables first; then claims are gathered (enum hsnap_evidence
 * says which is believed), then pushed on from named place to named place; only
 * then are words scanned, since a name tells which of them are pointers.
 */
#include "capture/naming/naming.h"

#include <stdlib.h>

#include "capture/naming/claims.h"
#include "capture/naming/holders.h"
#include "capture/naming/landings.h"
#include "capture/naming/pools.h"
#include "capture/naming/work.h"
#include "capture/naming/wrappers.h"
#include "snapshot/base/cleanup.h"
#include "snapshot/base/pages.h"

#define LEAST_POOL 1024u /* bytes */

static void work_deinit(struct hsnap_work *work)
{
	hsnap_block_index_deinit(&work->index);
	hsnap_pages_free(work->headers, work->num_blocks, sizeof(*work->headers));
	hsnap_pages_free(work->claims, work->num_blocks, sizeof(*work->claims));
	hsnap_losers_deinit(&work->losers);
	hsnap_vec_deinit(&work->bodies);
	free(work->as_bytes);
	free(work->as_text);
	free(work->undecided);
	free(work->as_run);
	hsnap_parts_deinit(&work->parts);
	hsnap_vec_deinit(&work->stale);
	hsnap_slabs_deinit(work);
	hsnap_vec_deinit(&work->holders);
	hsnap_vec_deinit(&work->segments);
	hsnap_vec_deinit(&work->root_edges);
	hsnap_keymap_deinit(&work->heads);
	free(work->linked);
	hsnap_keymap_deinit(&work->larger);
	hsnap_pages_free(work->body_of, work->num_blocks, sizeof(*work->body_of));
	for (size_t i = 0; work->layouts && i < work->symbols->types.num; i++) {
		free(work->layouts[i].strong);
		free(work->layouts[i].aligned);
		free(work->layouts[i].possible);
		hsnap_vec_deinit(&work->layouts[i].packed);
		hsnap_vec_deinit(&work->layouts[i].regions);
	}
	free(work->layouts);
	free(work->aliases);
	hsnap_plans_deinit(&work->plans);
	hsnap_classes_deinit(&work->classes);
	hsnap_tags_deinit(&work->tags);
	if (work->user) {
		hsnap_bounds_deinit(&work->user->bounds);
		hsnap_pages_free(work->user->marks, work->num_blocks, sizeof(*work->user->marks));
		hsnap_pages_free(work->user->owned, work->num_blocks, sizeof(*work->user->owned));
		free(work->user->counts);
	}
}

/* What the rules mean here.  Without debug info they mean nothing, and that is said. */
static enum hsnap_code prepare_user(struct hsnap_work *work, struct hsnap_user *user, const struct hsnap_rules *rules,
				    struct hsnap_symbols *symbols, struct hsnap_error *err)
{
	work->user = user;
	if (!symbols) {
		hsnap_fail(err, HSNAP_REFUSED, 0, "--types is of no use: no debug info could be read");
		return hsnap_hint(err, HSNAP_REFUSED, "leave --types out");
	}
	return hsnap_bounds_init(&user->bounds, rules, work->target, symbols, err);
}

/* By all that is looked at: blocks and roots. */
static uint64_t most_steps(const struct hsnap_work *work)
{
	uint64_t bytes = 0;
	for (uint32_t b = 0; b < work->num_blocks; b++)
		bytes += work->heap->blocks.items[b].usable;
	for (size_t i = 0; i < work->roots->areas.num; i++)
		bytes += work->roots->areas.items[i].size;
	return hsnap_user_most_steps(bytes);
}

static bool prepare_marks(struct hsnap_work *work)
{
	struct hsnap_user *user = work->user;
	if (!user)
		return true;
	work->plans.bounds = &user->bounds;
	user->marks = hsnap_pages_alloc(work->num_blocks, sizeof(*user->marks));
	user->counts = calloc(user->bounds.rules->rules.num + 1, sizeof(*user->counts));
	if (user->bounds.owners.num)
		user->owned = hsnap_pages_alloc(work->num_blocks, sizeof(*user->owned));
	user->steps = user->most_steps = most_steps(work);
	return user->marks && user->counts && (user->owned || !user->bounds.owners.num);
}

static enum hsnap_code prepare(struct hsnap_work *work, struct hsnap_error *err)
{
	work->claims = hsnap_pages_alloc(work->num_blocks, sizeof(*work->claims));
	work->body_of = hsnap_pages_alloc(work->num_blocks, sizeof(*work->body_of));
	work->linked = calloc(work->num_blocks / 64 + 1, sizeof(*work->linked));
	work->as_bytes = calloc(work->num_blocks / 64 + 1, sizeof(*work->as_bytes));
	work->as_text = calloc(work->num_blocks / 64 + 1, sizeof(*work->as_text));
	work->undecided = calloc(work->num_blocks / 64 + 1, sizeof(*work->undecided));
	work->as_run = calloc(work->num_blocks / 64 + 1, sizeof(*work->as_run));
	if (!work->claims || !work->body_of || !work->linked || !work->as_bytes || !work->as_text || !work->undecided || !work->as_run ||
	    !prepare_marks(work) || !hsnap_vec_push(&work->holders, (struct hsnap_holder){ 0 }))
		return hsnap_no_memory(err);
	work->aliases = work->symbols ? hsnap_find_aliases(&work->plans) : NULL;
	return work->symbols && !work->aliases ? hsnap_no_memory(err) : HSNAP_OK;
}

/* Where objects begin, and the classes that they say to have: those become types, before there are any tables of types. */
static enum hsnap_code look_into_blocks(struct hsnap_work *work, struct hsnap_symbols *symbols, struct hsnap_error *err)
{
	enum hsnap_code code = hsnap_block_index_init(&work->index, work->heap, err);
	if (code)
		return code;
	work->num_blocks = (uint32_t)work->heap->blocks.num;
	hsnap_naming_begin(work, "sites");
	code = hsnap_find_headers(work, err);
	hsnap_naming_begin(work, "classes");
	if (!code)
		code = hsnap_find_classes(work, symbols, err);
	return code ? code : hsnap_find_tags(work, symbols, err);
}

static const struct {
	const char *part; /* what it is a part of: as in docs/performance.md */
	enum hsnap_code (*run)(struct hsnap_work *work, struct hsnap_error *err);
} steps[] = {
	{ "roots", prepare }, { "roots", hsnap_copy_modules }, { "roots", hsnap_copy_stacks }, { "roots", hsnap_find_segments },
	{ "sites", hsnap_claim_sites }, { "classes", hsnap_claim_vtables },
	{ "classes", hsnap_claim_tags },
	{ "push", hsnap_push_types }, { "doubt", hsnap_spread_doubt },
	{ "scan", hsnap_make_layouts }, { "scan", hsnap_scan_roots }, { "scan", hsnap_name_segments },
	{ "holders", hsnap_find_holders }, { "holders", hsnap_user_notes }, { "scan", hsnap_scan_blocks }, { "labels", hsnap_assign_types },
};

static enum hsnap_code run(struct hsnap_work *work, struct hsnap_error *err)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		hsnap_naming_begin(work, steps[i].part);
		enum hsnap_code code = steps[i].run(work, err);
		if (code)
			return code;
	}
	return HSNAP_OK;
}

enum hsnap_code hsnap_name_and_connect(const struct hsnap_target *target, const struct hsnap_heap *heap,
				       const struct hsnap_roots *roots, struct hsnap_symbols *symbols,
				       const struct hsnap_rules *rules, struct hsnap_snapshot *snapshot, struct hsnap_error *err)
{
	return hsnap_name_watched(target, heap, roots, symbols, rules, NULL, snapshot, err);
}

enum hsnap_code hsnap_name_watched(const struct hsnap_target *target, const struct hsnap_heap *heap, const struct hsnap_roots *roots,
				   struct hsnap_symbols *symbols, const struct hsnap_rules *rules,
				   const struct hsnap_naming_watch *watch, struct hsnap_snapshot *snapshot, struct hsnap_error *err)
{
	struct hsnap_user user = { 0 };
	hsnap_auto(work_deinit) struct hsnap_work work = {
		.target = target, .heap = heap, .roots = roots, .symbols = symbols, .snapshot = snapshot,
		.watch = watch,
	};
	snapshot->facts.basis = heap->requested_known ? HSNAP_BASIS_REQUESTED : HSNAP_BASIS_USABLE;
	snapshot->facts.epoch_start = heap->epoch_start;
	enum hsnap_code code = rules && rules->rules.num ? prepare_user(&work, &user, rules, symbols, err) : HSNAP_OK;
	hsnap_naming_begin(&work, "roots");
	if (symbols)
		hsnap_hide_annotations(symbols);
	if (!code)
		code = look_into_blocks(&work, symbols, err);
	hsnap_naming_begin(&work, "plans");
	if (!code && symbols && !hsnap_know_glib(symbols, target))
		code = hsnap_no_memory(err);
	if (!code && !hsnap_plans_init(&work.plans, symbols))
		code = hsnap_no_memory(err);
	if (!code)
		code = run(&work, err);
	hsnap_naming_begin(&work, "summary");
	if (!code)
		code = hsnap_snapshot_mark(snapshot, err);
	if (!code)
		code = hsnap_snapshot_summarize(snapshot, err);
	return code;
}

/* Of the blocks that may be some allocator's own. */
static uint64_t pooled_bytes(const struct hsnap_heap *heap)
{
	uint64_t bytes = 0;
	for (size_t b = 0; b < heap->blocks.num; b++)
		bytes += heap->blocks.items[b].usable >= LEAST_POOL ? heap->blocks.items[b].usable : 0;
	return bytes;
}

uint64_t hsnap_naming_need(const struct hsnap_heap *heap, uint64_t copy)
{
	uint64_t num_blocks = heap->blocks.num, parts = hsnap_parts_need(pooled_bytes(heap));
	/* Claims, bodies, headers, what was tried and what is to be done: beside all of the copy.  Then claims, headers,
	 * nodes and two forms of the edges, of which one goes as the other comes. */
	uint64_t early = num_blocks * (12 + 4 + 1 + 2 * 4 + 4), late = num_blocks * (12 + 4 + 1 + 4 + 28 + 2 + 3 * 8 + 8);
	uint64_t later = late > copy ? late - copy : 0;
	return parts + (early > later ? early : later);
}
