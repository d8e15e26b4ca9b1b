/* SPDX-License-Identifier: MIT */
/* cmd_leaks.c - what no root reaches. */
#include "cli/input.h"
#include "cli/leaks_view.h"
#include "cli/report.h"
#include "cli/resolve.h"
#include "snapshot/base/cleanup.h"

/* Who asks where the greatest leak comes from asks for its type. */
static void say_next(const struct hsnap_leaks_view *view)
{
	if (!view->leaks->groups.num)
		return;
	hsnap_auto(hsnap_freep) char *name = hsnap_unique_name(view->snapshot, view->leaks->groups.items[0].type);
	struct hsnap_line command = { 0 };
	hsnap_line_add(&command, "heapsnap why ");
	hsnap_line_add_quoted(&command, name ? name : "");
	hsnap_line_add(&command, " ");
	hsnap_add_input(&command, view->emit->options, view->path);
	hsnap_emit_next(view->emit, hsnap_line_text(&command));
	hsnap_line_deinit(&command);
}

static int answer(const struct hsnap_options *options, const struct hsnap_input *input)
{
	hsnap_auto(hsnap_leaks_deinit) struct hsnap_leaks leaks = { 0 }, possible = { 0 };
	struct hsnap_error err;
	bool by_count = options->by == HSNAP_BY_COUNT;
	if (hsnap_leaks_init(input->snapshot, HSNAP_UNREACHABLE, by_count, &leaks, &err) ||
	    hsnap_leaks_init(input->snapshot, HSNAP_POSSIBLE, by_count, &possible, &err))
		return hsnap_report(&err, HSNAP_DOING_OTHER);
	struct hsnap_emit emit;
	hsnap_emit_open(&emit, options);
	struct hsnap_leaks_view view = { &emit, input->path, input->snapshot, &leaks, &possible };
	if (emit.format == HSNAP_AS_TEXT)
		hsnap_leaks_print(&view);
	else
		hsnap_leaks_emit(&view);
	say_next(&view);
	int status = hsnap_input_status(options, input->snapshot);
	if (options->fail_on_leak && leaks.count)
		status = HSNAP_EXIT_GATE;
	return hsnap_emit_close(&emit, status);
}

int hsnap_cmd_leaks(int argc, char **argv)
{
	struct hsnap_options options;
	int status = hsnap_options_parse(argc, argv, &options);
	if (status != HSNAP_GO_ON)
		return status;
	hsnap_auto(hsnap_input_deinit) struct hsnap_input input = { 0 };
	status = hsnap_input_open(&options, options.args[0], HSNAP_LOAD_EDGES, &input);
	return status == HSNAP_GO_ON ? answer(&options, &input) : status;
}
