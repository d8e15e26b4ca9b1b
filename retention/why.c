/* SPDX-License-Identifier: MIT */
/* why.c - the paths to the blocks that are asked about, merged by shape. */
#include <stdlib.h>
#include <string.h>

#include "retention/retention.h"
#include "retention/walk.h"
#include "snapshot/base/cleanup.h"
#include "snapshot/base/pages.h"

void hsnap_why_deinit(struct hsnap_why *why)
{
	hsnap_strings_deinit(&why->strings);
	hsnap_vec_deinit(&why->paths);
	hsnap_vec_deinit(&why->steps);
	hsnap_vec_deinit(&why->sites);
	*why = (struct hsnap_why){ 0 };
}

/* One shape at whose end blocks asked for stand. */
struct ending {
	hsnap_shape_id shape;
	uint64_t count, bytes;
	uint32_t first, num; /* into targets */
};

struct work {
	const struct hsnap_snapshot *snapshot;
	const struct hsnap_paths *paths;
	const struct hsnap_why_what *what;
	struct hsnap_walk walk;
	struct hsnap_why why;
	uint32_t *place_of; /* of each node, less HSNAP_NO_PLACE: 0 = not on a path, 1 = yes, else place + 2 */
	struct hsnap_vec(struct ending) endings;
	struct hsnap_vec(uint32_t) targets; /* places, grouped by ending */
	uint32_t *stamps; /* of each place: 1 + the ending that last counted it */
};

static void free_work(struct work *work)
{
	hsnap_pages_free(work->place_of, work->snapshot->graph.num_nodes, sizeof(*work->place_of));
	hsnap_pages_free(work->stamps, work->walk.places.num, sizeof(*work->stamps));
	hsnap_vec_deinit(&work->endings);
	hsnap_vec_deinit(&work->targets);
	hsnap_walk_deinit(&work->walk);
	hsnap_why_deinit(&work->why);
}

static bool is_wanted(const struct work *work, hsnap_node_id node)
{
	return work->what->types ? work->what->types[work->snapshot->graph.type[node]] : node == work->what->node;
}

static bool count_site(struct work *work, hsnap_node_id node, uint32_t *sum_of_site)
{
	uint32_t site = work->snapshot->graph.site[node];
	uint64_t size = hsnap_node_size(&work->snapshot->graph, node);
	work->why.unreachable_count++;
	work->why.unreachable_bytes += size;
	if (!sum_of_site[site]) {
		if (!hsnap_vec_push(&work->why.sites, (struct hsnap_site_sum){ .site = site, .sample = node }))
			return false;
		sum_of_site[site] = (uint32_t)work->why.sites.num;
	}
	struct hsnap_site_sum *sum = &work->why.sites.items[sum_of_site[site] - 1];
	sum->count++;
	sum->bytes += size;
	return true;
}

/* Mark what lies on the way to the blocks asked for, and sum those that have none. */
static bool mark_ways(struct work *work)
{
	const struct hsnap_graph *graph = &work->snapshot->graph;
	hsnap_auto(hsnap_freep) uint32_t *sum_of_site = calloc(work->snapshot->stacks.num + 1, sizeof(*sum_of_site));
	if (!sum_of_site)
		return false;
	for (hsnap_node_id node = hsnap_first_block(graph); node < graph->num_nodes; node++) {
		if (!is_wanted(work, node))
			continue;
		work->why.count++;
		work->why.bytes += hsnap_node_size(graph, node);
		if (work->paths->to[node].parent == HSNAP_NO_NODE) {
			if (!count_site(work, node, sum_of_site))
				return false;
			continue;
		}
		for (hsnap_node_id at = node; at && !work->place_of[at]; at = work->paths->to[at].parent)
			work->place_of[at] = 1;
	}
	return true;
}

/* Roots that differ in nothing but their address are one. */
static hsnap_string root_key(struct work *work, const struct hsnap_root *root)
{
	return hsnap_strings_addf(&work->why.strings, "%u %d %u %u %u %u %u", root->kind, root->weak, root->name,
				  root->source, root->function, root->thread, root->module);
}

static uint32_t begin_at_root(struct work *work, hsnap_node_id node)
{
	const struct hsnap_root *root = &work->snapshot->graph.roots.items[node - 1];
	hsnap_string key = root_key(work, root);
	if (key == HSNAP_NO_STRING)
		return HSNAP_NO_PLACE;
	hsnap_shape_id shape =
		hsnap_shapes_begin(&work->walk.shapes, key, work->snapshot->graph.type[node], root->weak, true);
	return hsnap_walk_begin(&work->walk, node, shape);
}

/* Give every marked node its place, parents first. */
static bool walk_ways(struct work *work)
{
	const struct hsnap_graph *graph = &work->snapshot->graph;
	for (uint32_t i = 0; i < work->paths->num_reached; i++) {
		hsnap_node_id node = work->paths->order[i];
		if (!work->place_of[node])
			continue;
		uint32_t place;
		if (hsnap_is_root(graph, node)) {
			place = begin_at_root(work, node);
		} else {
			uint32_t edge = work->paths->to[node].edge, parent = work->place_of[work->paths->to[node].parent];
			place = hsnap_walk_take(&work->walk, parent - 2, edge, graph->edge_to[edge] & HSNAP_EDGE_WEAK);
		}
		if (place == HSNAP_NO_PLACE)
			return false;
		work->place_of[node] = place + 2;
	}
	return true;
}

static int compare_endings(const void *a, const void *b, void *context)
{
	const struct work *work = context;
	const struct ending *left = a, *right = b;
	int by_bytes = (left->bytes < right->bytes) - (left->bytes > right->bytes);
	int by_count = (left->count < right->count) - (left->count > right->count);
	int order = work->what->by_count ? by_count : by_bytes;
	if (!order)
		order = work->what->by_count ? by_bytes : by_count;
	return order ? order : (left->shape > right->shape) - (left->shape < right->shape);
}

/* Gather the blocks asked for by the shape where they stand, and rank the shapes. */
static bool gather_endings(struct work *work)
{
	const struct hsnap_graph *graph = &work->snapshot->graph;
	size_t num_shapes = work->walk.shapes.items.num;
	hsnap_auto(hsnap_freep) struct ending *of_shape = calloc(num_shapes + 1, sizeof(*of_shape));
	if (!of_shape)
		return false;
	for (size_t i = 0; i < work->walk.places.num; i++) {
		const struct hsnap_place *place = &work->walk.places.items[i];
		if (hsnap_is_root(graph, place->node) || !is_wanted(work, place->node))
			continue;
		of_shape[place->shape].count++;
		of_shape[place->shape].bytes += hsnap_node_size(graph, place->node);
		of_shape[place->shape].num++;
	}
	uint32_t first = 0;
	for (size_t s = 0; s < num_shapes; s++) {
		of_shape[s].shape = (hsnap_shape_id)s;
		of_shape[s].first = first;
		first += of_shape[s].num;
		if (of_shape[s].num && !hsnap_vec_push(&work->endings, of_shape[s]))
			return false;
		of_shape[s].num = 0;
	}
	if (!hsnap_vec_reserve(&work->targets, first))
		return false;
	work->targets.num = first;
	for (size_t i = 0; i < work->walk.places.num; i++) {
		const struct hsnap_place *place = &work->walk.places.items[i];
		if (hsnap_is_root(graph, place->node) || !is_wanted(work, place->node))
			continue;
		struct ending *ending = &of_shape[place->shape];
		work->targets.items[ending->first + ending->num++] = (uint32_t)i;
	}
	if (work->endings.num)
		qsort_r(work->endings.items, work->endings.num, sizeof(*work->endings.items), compare_endings, work);
	return true;
}

/* Everything about one shape on one path. */
struct rung {
	hsnap_shape_id shape;
	uint64_t entered, all; /* blocks without and with repeated hops */
	uint64_t items_entered, items;
	uint32_t min, max;     /* repeats on the way to the targets */
	hsnap_string entered_via;
	struct hsnap_vias vias; /* of repeated hops */
};

static uint64_t items_of(const struct work *work, hsnap_node_id node)
{
	const struct hsnap_snapshot *snapshot = work->snapshot;
	const struct hsnap_type *type = &snapshot->types.items[snapshot->graph.type[node]];
	uint64_t each = type->kind == HSNAP_TYPE_ARRAY ? snapshot->types.items[type->element].size : 0;
	return each && !hsnap_is_root(&snapshot->graph, node) ? hsnap_node_size(&snapshot->graph, node) / each : 0;
}

/* Count the places of a path that no other target of it has counted. */
static void count_places(struct work *work, const struct ending *ending, uint32_t stamp, struct rung *rungs)
{
	const struct hsnap_place *places = work->walk.places.items;
	const struct hsnap_shape *shapes = work->walk.shapes.items.items;
	uint32_t last = shapes[ending->shape].depth;
	for (uint32_t t = 0; t < ending->num; t++) {
		uint32_t at = work->targets.items[ending->first + t];
		for (; at != HSNAP_NO_PLACE && work->stamps[at] != stamp; at = places[at].parent) {
			work->stamps[at] = stamp;
			uint32_t depth = shapes[places[at].shape].depth;
			struct rung *rung = &rungs[depth];
			if (depth > last || rung->shape != places[at].shape)
				continue; /* inside of what is folded */
			uint64_t items = items_of(work, places[at].node);
			rung->all++;
			rung->items += items;
			if (places[at].repeats) {
				hsnap_vias_add(&rung->vias, places[at].via);
				continue;
			}
			rung->entered++;
			rung->items_entered += items;
			rung->entered_via = places[at].via;
		}
	}
}

/* Least and most repeats of each step, over the targets. */
static void measure_repeats(const struct work *work, const struct ending *ending, struct rung *rungs)
{
	const struct hsnap_place *places = work->walk.places.items;
	const struct hsnap_shape *shapes = work->walk.shapes.items.items;
	for (uint32_t t = 0; t < ending->num; t++) {
		uint32_t at = work->targets.items[ending->first + t];
		for (; at != HSNAP_NO_PLACE; at = places[at].entered) {
			struct rung *rung = &rungs[shapes[places[at].shape].depth];
			if (places[at].repeats < rung->min)
				rung->min = places[at].repeats;
			if (places[at].repeats > rung->max)
				rung->max = places[at].repeats;
		}
	}
}

/* The step of a rung and, where hops are folded, a second one for those. */
static bool add_steps(struct work *work, struct rung *rung)
{
	const struct hsnap_shape *shape = &work->walk.shapes.items.items[rung->shape];
	struct hsnap_step step = { .via = rung->entered_via, .type = shape->type, .weak = shape->weak,
				   .count = rung->entered, .items = rung->items_entered };
	if (!shape->weak_fold && shape->parent != HSNAP_NO_SHAPE && !hsnap_vec_push(&work->why.steps, step))
		return false;
	if (!rung->max)
		return true;
	step.via = hsnap_vias_join(&rung->vias, &work->why.strings);
	step.count = rung->all;
	step.items = rung->items;
	step.weak = shape->weak_fold || shape->weak_inside;
	step.folded = true;
	step.min = rung->min;
	step.max = rung->max;
	return step.via != HSNAP_NO_STRING && hsnap_vec_push(&work->why.steps, step);
}

static bool describe(struct work *work, const struct ending *ending, uint32_t stamp, struct hsnap_path *path)
{
	const struct hsnap_shape *shapes = work->walk.shapes.items.items;
	uint32_t num = shapes[ending->shape].depth + 1;
	hsnap_auto(hsnap_freep) struct rung *rungs = calloc(num, sizeof(*rungs));
	if (!rungs)
		return false;
	for (hsnap_shape_id shape = ending->shape; shape != HSNAP_NO_SHAPE; shape = shapes[shape].parent) {
		rungs[shapes[shape].depth].shape = shape;
		rungs[shapes[shape].depth].min = UINT32_MAX;
	}
	count_places(work, ending, stamp, rungs);
	measure_repeats(work, ending, rungs);
	path->num_roots = rungs[0].all;
	path->first_step = (uint32_t)work->why.steps.num;
	for (uint32_t i = 1; i < num; i++)
		if (!add_steps(work, &rungs[i]))
			return false;
	path->num_steps = (uint32_t)work->why.steps.num - path->first_step;
	return true;
}

/* The first root, in order of the paths, where the ending's paths begin. */
static uint32_t root_of(const struct work *work, const struct ending *ending)
{
	uint32_t at = work->targets.items[ending->first];
	while (work->walk.places.items[at].entered != HSNAP_NO_PLACE)
		at = work->walk.places.items[at].entered;
	return work->walk.places.items[at].node - 1;
}

static bool make_paths(struct work *work)
{
	const struct hsnap_shape *shapes = work->walk.shapes.items.items;
	size_t num_places = work->walk.places.num;
	work->stamps = hsnap_pages_alloc(num_places, sizeof(*work->stamps));
	if (!work->stamps)
		return false;
	for (size_t i = 0; i < work->endings.num; i++) {
		const struct ending *ending = &work->endings.items[i];
		struct hsnap_path path = { .root = root_of(work, ending), .count = ending->count, .bytes = ending->bytes };
		path.sample = work->walk.places.items[work->targets.items[ending->first]].node;
		for (hsnap_shape_id shape = ending->shape; shape != HSNAP_NO_SHAPE; shape = shapes[shape].parent)
			path.weak |= shapes[shape].weak || shapes[shape].weak_inside;
		if (i < work->what->most_paths && !describe(work, ending, (uint32_t)i + 1, &path))
			return false;
		if (!hsnap_vec_push(&work->why.paths, path))
			return false;
	}
	return true;
}

static int compare_sites(const void *a, const void *b)
{
	const struct hsnap_site_sum *left = a, *right = b;
	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? 1 : -1;
	return (left->site > right->site) - (left->site < right->site);
}

enum hsnap_code hsnap_why_init(const struct hsnap_snapshot *snapshot, const struct hsnap_paths *paths,
			       const struct hsnap_why_what *what, struct hsnap_why *ret,
			       struct hsnap_error *err)
{
	struct work work = { .snapshot = snapshot, .paths = paths, .what = what };
	work.walk.shapes.snapshot = snapshot;
	work.walk.shapes.strings = &work.why.strings;
	work.walk.shapes.exact_offsets = !what->types;
	work.place_of = hsnap_pages_alloc(snapshot->graph.num_nodes, sizeof(*work.place_of));
	bool ok = work.place_of && mark_ways(&work) && walk_ways(&work) && gather_endings(&work) && make_paths(&work);
	if (ok) {
		if (work.why.sites.num)
			qsort(work.why.sites.items, work.why.sites.num, sizeof(*work.why.sites.items), compare_sites);
		*ret = work.why;
		work.why = (struct hsnap_why){ 0 };
	}
	free_work(&work);
	return ok ? HSNAP_OK : hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the paths");
}
