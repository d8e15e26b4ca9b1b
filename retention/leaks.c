/* SPDX-License-Identifier: MIT */
/* leaks.c - structures that nothing reaches: their heads, and what hangs on them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "retention/paths.h"
#include "retention/scc.h"
#include "retention/walk.h"
#include "snapshot/base/cleanup.h"

#define LONGEST_VIA 400 /* bytes of a way that is told from its start */

void hsnap_leaks_deinit(struct hsnap_leaks *leaks)
{
	hsnap_strings_deinit(&leaks->strings);
	hsnap_vec_deinit(&leaks->groups);
	hsnap_vec_deinit(&leaks->drags);
	*leaks = (struct hsnap_leaks){ 0 };
}

/* Some blocks summed: where they hang, or the heads themselves. */
struct sum {
	uint64_t count, bytes, least, most;
};

static void add_block(struct sum *sum, uint64_t size)
{
	if (!sum->count || size < sum->least)
		sum->least = size;
	if (size > sum->most)
		sum->most = size;
	sum->count++;
	sum->bytes += size;
}

/* What the blocks of one shape come to. */
struct tally {
	struct sum entered, repeated;
	uint32_t most_repeats;
	struct hsnap_vias vias; /* of the repeated hops */
	uint32_t group;
	hsnap_string way;       /* member paths from the head to here, in a row */
};

struct work {
	const struct hsnap_snapshot *snapshot;
	bool by_count;
	struct hsnap_heads heads;
	struct hsnap_paths paths;
	struct hsnap_walk walk;
	struct hsnap_leaks leaks;
	uint32_t *place_of; /* of each node reached, + 1 */
	struct tally *tallies; /* one a shape */
};

static void free_work(struct work *work)
{
	hsnap_vec_deinit(&work->heads);
	free(work->place_of);
	free(work->tallies);
	hsnap_paths_deinit(&work->paths);
	hsnap_walk_deinit(&work->walk);
	hsnap_leaks_deinit(&work->leaks);
}

static enum hsnap_code find_paths(struct work *work, enum hsnap_state state, struct hsnap_error *err)
{
	const struct hsnap_graph *graph = &work->snapshot->graph;
	enum hsnap_code code = hsnap_heads_find(graph, state, &work->heads, err);
	if (code)
		return code;
	hsnap_auto(hsnap_freep) hsnap_node_id *starts = calloc(work->heads.num + 1, sizeof(*starts));
	if (!starts)
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the leaks");
	for (size_t i = 0; i < work->heads.num; i++)
		starts[i] = work->heads.items[i].node;
	return hsnap_paths_from(graph, starts, (uint32_t)work->heads.num, state, &work->paths, err);
}

/* Heads of one type and one call site begin the same shape. */
static uint32_t begin_at_head(struct work *work, hsnap_node_id node)
{
	const struct hsnap_graph *graph = &work->snapshot->graph;
	hsnap_string key = hsnap_strings_addf(&work->leaks.strings, "%u", graph->site[node]);
	if (key == HSNAP_NO_STRING)
		return HSNAP_NO_PLACE;
	hsnap_shape_id shape = hsnap_shapes_begin(&work->walk.shapes, key, graph->type[node], false, false);
	return hsnap_walk_begin(&work->walk, node, shape);
}

static bool walk_structures(struct work *work)
{
	const struct hsnap_graph *graph = &work->snapshot->graph;
	work->place_of = calloc(graph->num_nodes, sizeof(*work->place_of));
	if (!work->place_of)
		return false;
	for (uint32_t i = 0; i < work->paths.num_reached; i++) {
		hsnap_node_id node = work->paths.order[i], parent = work->paths.to[node].parent;
		uint32_t edge = work->paths.to[node].edge;
		uint32_t place = parent ? hsnap_walk_take(&work->walk, work->place_of[parent] - 1, edge,
							  graph->edge_to[edge] & HSNAP_EDGE_WEAK)
					: begin_at_head(work, node);
		if (place == HSNAP_NO_PLACE)
			return false;
		work->place_of[node] = place + 1;
	}
	return true;
}

/* Sum the blocks of each shape; heads apart from what repeats their type. */
static bool tally_shapes(struct work *work)
{
	work->tallies = calloc(work->walk.shapes.items.num + 1, sizeof(*work->tallies));
	if (!work->tallies)
		return false;
	for (size_t i = 0; i < work->walk.places.num; i++) {
		const struct hsnap_place *place = &work->walk.places.items[i];
		struct tally *tally = &work->tallies[place->shape];
		bool repeated = place->repeats > 0;
		add_block(repeated ? &tally->repeated : &tally->entered, hsnap_node_size(&work->snapshot->graph, place->node));
		if (!repeated)
			continue;
		hsnap_vias_add(&tally->vias, place->via);
		if (place->repeats > tally->most_repeats)
			tally->most_repeats = place->repeats;
	}
	return true;
}

/* The way to a shape: its parent's and its own hop; a long one loses its start. */
static hsnap_string add_to_way(struct work *work, hsnap_string way, hsnap_string via)
{
	char text[2 * LONGEST_VIA + 1024];
	struct hsnap_strings *strings = &work->leaks.strings;
	int len = snprintf(text, sizeof(text), "%s%s", hsnap_str(strings, way), hsnap_str(strings, via));
	size_t used = len < 0 ? 0 : (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1;
	if (used <= LONGEST_VIA)
		return hsnap_strings_add(strings, text);
	char *tail = text + used - LONGEST_VIA;
	memcpy(tail, "...", 3);
	return hsnap_strings_add(strings, tail);
}

static bool add_drag(struct work *work, hsnap_shape_id shape, const struct sum *sum, hsnap_string way, uint32_t max)
{
	const struct hsnap_shape *item = &work->walk.shapes.items.items[shape];
	if (!sum->count)
		return true;
	struct hsnap_drag drag = { .via = way, .type = item->type, .weak = item->weak || item->weak_inside, .max = max,
				   .count = sum->count, .bytes = sum->bytes, .least = sum->least, .most = sum->most };
	struct hsnap_leak_group *group = &work->leaks.groups.items[work->tallies[shape].group];
	group->count += sum->count;
	group->bytes += sum->bytes;
	group->num_drags++;
	return way != HSNAP_NO_STRING && hsnap_vec_push(&work->leaks.drags, drag);
}

static bool begin_group(struct work *work, hsnap_shape_id shape)
{
	const struct hsnap_shape *item = &work->walk.shapes.items.items[shape];
	struct tally *tally = &work->tallies[shape];
	struct hsnap_leak_group group = { .type = item->type, .heads = tally->entered.count,
					  .head_bytes = tally->entered.bytes, .count = tally->entered.count,
					  .bytes = tally->entered.bytes, .least = tally->entered.least,
					  .most = tally->entered.most };
	tally->group = (uint32_t)work->leaks.groups.num;
	return hsnap_vec_push(&work->leaks.groups, group);
}

/* A shape's parent has a lower number, so its group and way are known before. */
static bool make_groups(struct work *work)
{
	for (hsnap_shape_id s = 0; s < work->walk.shapes.items.num; s++) {
		const struct hsnap_shape *item = &work->walk.shapes.items.items[s];
		struct tally *tally = &work->tallies[s];
		if (item->parent == HSNAP_NO_SHAPE) {
			if (!begin_group(work, s))
				return false;
		} else {
			tally->group = work->tallies[item->parent].group;
			tally->way = add_to_way(work, work->tallies[item->parent].way, item->via);
			if (tally->way == HSNAP_NO_STRING)
				return false;
		}
		if (item->parent != HSNAP_NO_SHAPE && !add_drag(work, s, &tally->entered, tally->way, 0))
			return false;
		if (!tally->repeated.count)
			continue;
		hsnap_string joined = hsnap_vias_join(&tally->vias, &work->leaks.strings);
		if (joined == HSNAP_NO_STRING ||
		    !add_drag(work, s, &tally->repeated, add_to_way(work, tally->way, joined), tally->most_repeats))
			return false;
	}
	return true;
}

/* Site and cycle come from the heads; the group's drags are brought together in the next step. */
static void describe_groups(struct work *work)
{
	for (size_t i = 0; i < work->heads.num; i++) {
		const struct hsnap_head *head = &work->heads.items[i];
		const struct hsnap_place *place = &work->walk.places.items[work->place_of[head->node] - 1];
		struct hsnap_leak_group *group = &work->leaks.groups.items[work->tallies[place->shape].group];
		group->site = work->snapshot->graph.site[head->node];
		group->cycle |= head->cycle;
	}
}

static int compare_sums(const struct work *work, uint64_t left_bytes, uint64_t left_count, uint64_t right_bytes,
			uint64_t right_count)
{
	int by_bytes = (left_bytes < right_bytes) - (left_bytes > right_bytes);
	int by_count = (left_count < right_count) - (left_count > right_count);
	if (work->by_count)
		return by_count ? by_count : by_bytes;
	return by_bytes ? by_bytes : by_count;
}

struct keyed_drag {
	struct hsnap_drag drag;
	uint32_t group, number;
};

static int compare_drags(const void *a, const void *b, void *context)
{
	const struct keyed_drag *left = a, *right = b;
	if (left->group != right->group)
		return left->group < right->group ? -1 : 1;
	int order = compare_sums(context, left->drag.bytes, left->drag.count, right->drag.bytes, right->drag.count);
	return order ? order : (left->number > right->number) - (left->number < right->number);
}

/* Drags were made in order of shapes: bring each group's together, greatest first. */
static bool sort_drags(struct work *work)
{
	struct hsnap_leaks *leaks = &work->leaks;
	hsnap_auto(hsnap_freep) struct keyed_drag *keyed = calloc(leaks->drags.num + 1, sizeof(*keyed));
	if (!keyed)
		return false;
	uint32_t number = 0;
	for (hsnap_shape_id s = 0; s < work->walk.shapes.items.num; s++) {
		uint32_t own = (work->walk.shapes.items.items[s].parent != HSNAP_NO_SHAPE && work->tallies[s].entered.count) +
			       (work->tallies[s].repeated.count > 0);
		for (; own; own--, number++)
			keyed[number] = (struct keyed_drag){ leaks->drags.items[number], work->tallies[s].group, number };
	}
	if (number)
		qsort_r(keyed, number, sizeof(*keyed), compare_drags, work);
	for (uint32_t i = 0; i < number; i++) {
		leaks->drags.items[i] = keyed[i].drag;
		if (!i || keyed[i].group != keyed[i - 1].group)
			leaks->groups.items[keyed[i].group].first_drag = i;
	}
	return true;
}

static int compare_groups(const void *a, const void *b, void *context)
{
	const struct hsnap_leak_group *left = a, *right = b;
	int order = compare_sums(context, left->bytes, left->count, right->bytes, right->count);
	if (!order)
		order = (left->type > right->type) - (left->type < right->type);
	return order ? order : (left->site > right->site) - (left->site < right->site);
}

static void sum_up(struct work *work)
{
	struct hsnap_leaks *leaks = &work->leaks;
	if (leaks->groups.num)
		qsort_r(leaks->groups.items, leaks->groups.num, sizeof(*leaks->groups.items), compare_groups, work);
	for (size_t i = 0; i < leaks->groups.num; i++) {
		leaks->count += leaks->groups.items[i].count;
		leaks->bytes += leaks->groups.items[i].bytes;
		leaks->heads += leaks->groups.items[i].heads;
	}
}

enum hsnap_code hsnap_leaks_init(const struct hsnap_snapshot *snapshot, enum hsnap_state state,
				 bool by_count, struct hsnap_leaks *ret, struct hsnap_error *err)
{
	hsnap_auto(free_work) struct work work = { .snapshot = snapshot, .by_count = by_count };
	work.walk.shapes.snapshot = snapshot;
	work.walk.shapes.strings = &work.leaks.strings;
	enum hsnap_code code = find_paths(&work, state, err);
	if (code)
		return code;
	if (!walk_structures(&work) || !tally_shapes(&work) || !make_groups(&work) || !sort_drags(&work))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the leaks");
	describe_groups(&work);
	sum_up(&work);
	*ret = work.leaks;
	work.leaks = (struct hsnap_leaks){ 0 };
	return HSNAP_OK;
}
