/* SPDX-License-Identifier: MIT */
/* cmd_why.c - who keeps a type's blocks, or one block, alive. */
#include <stdlib.h>
#include <string.h>

#include "cli/explain_view.h"
#include "cli/input.h"
#include "cli/report.h"
#include "cli/why_view.h"
#include "snapshot/base/cleanup.h"

#define MOST_COMMANDS 20 /* that an ambiguous TYPE is answered with */

static void list_candidates(const struct hsnap_options *options, const struct hsnap_input *source,
			    const struct hsnap_resolution *resolution)
{
	for (size_t i = 0; i < resolution->candidates.num && i < MOST_COMMANDS; i++) {
		hsnap_auto(hsnap_freep) char *name = hsnap_unique_name(source->snapshot, resolution->candidates.items[i]);
		struct hsnap_line line = { 0 }, escaped = { 0 };
		hsnap_line_add(&line, "heapsnap why ");
		hsnap_line_add_quoted(&line, name ? name : "");
		hsnap_line_add(&line, " ");
		hsnap_add_input(&line, options, source->path);
		hsnap_line_add_escaped(&escaped, hsnap_line_text(&line), HSNAP_TEXT_UTF8);
		fprintf(stderr, "  %s\n", hsnap_line_text(&escaped));
		hsnap_line_deinit(&line);
		hsnap_line_deinit(&escaped);
	}
	if (resolution->candidates.num > MOST_COMMANDS)
		fprintf(stderr, "  and %zu more\n", resolution->candidates.num - MOST_COMMANDS);
}

static int say_what_it_is(const struct hsnap_options *options, enum hsnap_resolved answer, const struct hsnap_input *source,
		   const struct hsnap_resolution *resolution)
{
	const char *asked = options->args[0];
	switch (answer) {
	case HSNAP_RESOLVED:
		return HSNAP_GO_ON;
	case HSNAP_RESOLVED_NO_MEMORY:
		hsnap_wrong_use(NULL, "look for the type: out of memory");
		return HSNAP_EXIT_OTHER;
	case HSNAP_RESOLVED_AMBIGUOUS:
		hsnap_wrong_use(NULL, "tell which type '%s' is: %zu have it in their name", asked, resolution->candidates.num);
		break;
	case HSNAP_RESOLVED_NOTHING:
		hsnap_wrong_use(NULL, "find the type '%s' in %s%s", asked, source->path,
				resolution->candidates.num ? "; the nearest are" : ": it has no types");
		break;
	}
	list_candidates(options, source, resolution);
	return HSNAP_EXIT_USAGE;
}

/* One name may be of several types: they are answered together, and how to ask for one is said. */
static void say_together(const struct hsnap_options *options, const struct hsnap_input *source,
			 const struct hsnap_resolution *resolution)
{
	if (resolution->num_wanted < 2 || resolution->by_pattern || options->quiet)
		return;
	hsnap_say("'%s' is the name of %zu types, taken together; for one alone:", options->args[0], resolution->num_wanted);
	struct hsnap_resolution each = { 0 };
	for (hsnap_type_id id = 0; id < source->snapshot->types.num; id++)
		if (resolution->wanted[id] && !hsnap_vec_push(&each.candidates, id))
			break;
	list_candidates(options, source, &each);
	hsnap_resolution_deinit(&each);
}

/* The block at an address; 0 where there is none. */
static hsnap_node_id find_block(const struct hsnap_input *source, const char *asked, uint64_t address)
{
	hsnap_node_id node = hsnap_graph_find(&source->snapshot->graph, address);
	if (node != HSNAP_NO_NODE)
		return node;
	hsnap_wrong_use(NULL, "find %s in %s: no live block contains it", asked, source->path);
	return 0;
}

static int answer(const struct hsnap_options *options, struct hsnap_why_view *view)
{
	struct hsnap_error err;
	struct hsnap_emit emit;
	struct hsnap_paths paths;
	struct hsnap_why why;
	bool text = !options->json && !options->csv;
	struct hsnap_why_what what = {
		.types = view->resolution ? view->resolution->wanted : NULL,
		.node = view->node,
		.by_count = options->by == HSNAP_BY_COUNT,
		.most_paths = text ? hsnap_top(options, 10) : SIZE_MAX,
	};
	if (hsnap_paths_init(&view->snapshot->graph, &paths, &err))
		return hsnap_report(&err, HSNAP_DOING_OTHER);
	enum hsnap_code code = hsnap_why_init(view->snapshot, &paths, &what, &why, &err);
	hsnap_paths_deinit(&paths);
	if (code)
		return hsnap_report(&err, HSNAP_DOING_OTHER);
	hsnap_emit_open(&emit, options);
	view->emit = &emit;
	view->why = &why;
	if (text)
		hsnap_why_print(view);
	else
		hsnap_why_emit(view);
	hsnap_why_deinit(&why);
	return hsnap_emit_close(&emit, hsnap_input_status(options, view->snapshot));
}

/* What the name of the block at the address rests on. */
static int explain(const struct hsnap_options *options, const struct hsnap_input *source, uint64_t address)
{
	struct hsnap_error err;
	struct hsnap_emit emit;
	struct hsnap_explanation explanation;
	hsnap_node_id node = find_block(source, options->args[0], address);
	if (!node)
		return HSNAP_EXIT_USAGE;
	if (hsnap_explain(source->snapshot, node, &explanation, &err))
		return hsnap_report(&err, HSNAP_DOING_OTHER);
	hsnap_emit_open(&emit, options);
	struct hsnap_explain_view view = { .emit = &emit, .path = source->path, .snapshot = source->snapshot,
					   .address = address, .explanation = &explanation };
	if (!options->json && !options->csv)
		hsnap_explain_print(&view);
	else
		hsnap_explain_emit(&view);
	hsnap_explanation_deinit(&explanation);
	return hsnap_emit_close(&emit, hsnap_input_status(options, source->snapshot));
}

/* What was asked for, then the answer. */
static int look_up(const struct hsnap_options *options, const struct hsnap_input *source)
{
	struct hsnap_why_view view = { .path = source->path, .snapshot = source->snapshot, .asked = options->args[0] };
	struct hsnap_error err;
	uint64_t address;
	if (hsnap_graph_expand(&source->snapshot->graph, &err))
		return hsnap_report(&err, HSNAP_DOING_OTHER);
	if (hsnap_parse_address(view.asked, &address)) {
		view.node = find_block(source, view.asked, address);
		view.in_pools = view.node && hsnap_pool_block(&source->snapshot->graph, view.node) != view.node;
		return view.node ? answer(options, &view) : HSNAP_EXIT_USAGE;
	}
	hsnap_auto(hsnap_resolution_deinit) struct hsnap_resolution resolution = { 0 };
	int status = say_what_it_is(options, hsnap_resolve(source->snapshot, view.asked, &resolution), source, &resolution);
	if (status != HSNAP_GO_ON)
		return status;
	say_together(options, source, &resolution);
	view.resolution = &resolution;
	for (size_t i = 0; i < source->snapshot->graph.pools.num; i++)
		if (resolution.wanted[source->snapshot->graph.pools.items[i].type])
			view.in_pools += source->snapshot->graph.pools.items[i].num_items;
	return answer(options, &view);
}

int hsnap_cmd_why(int argc, char **argv)
{
	struct hsnap_options options;
	int status = hsnap_options_parse(argc, argv, &options);
	if (status != HSNAP_GO_ON)
		return status;
	if (!*options.args[0])
		return hsnap_wrong_use("heapsnap why --help", "why: TYPE is empty");
	uint64_t address = 0;
	if (options.explain && !hsnap_parse_address(options.args[0], &address))
		return hsnap_wrong_use("heapsnap why --help", "why: --explain wants the address of a block, 0x…, not '%s'",
				       options.args[0]);
	hsnap_auto(hsnap_input_deinit) struct hsnap_input source = { 0 };
	unsigned load = HSNAP_LOAD_EDGES | HSNAP_LOAD_MEMBERS | (options.explain ? HSNAP_LOAD_GROUNDS : 0);
	status = hsnap_input_open(&options, options.args[1], load, &source);
	if (status != HSNAP_GO_ON)
		return status;
	return options.explain ? explain(&options, &source, address) : look_up(&options, &source);
}
