/* SPDX-License-Identifier: MIT */
/* cmd_diff.c - which types grew from the first snapshot to the last. */
#include <stdlib.h>
#include <string.h>

#include "cli/diff_view.h"
#include "cli/names.h"
#include "cli/report.h"
#include "cli/input.h"
#include "snapshot/base/cleanup.h"

struct sources {
	struct hsnap_input *items;
	size_t num;
};

static void free_sources(struct sources *sources)
{
	for (size_t i = 0; sources->items && i < sources->num; i++)
		hsnap_input_deinit(&sources->items[i]);
	free(sources->items);
}

static int open_one(const struct hsnap_options *options, const char *path, struct hsnap_input *ret)
{
	struct hsnap_error err;
	int status = hsnap_input_open(options, path, HSNAP_LOAD_TABLE, ret);
	if (status == HSNAP_GO_ON && options->expand && hsnap_snapshot_expand_rows(ret->snapshot, &err))
		status = hsnap_report(&err, HSNAP_DOING_OTHER);
	return status;
}

static int open_all(const struct hsnap_options *options, struct sources *sources)
{
	sources->num = (size_t)options->num_args;
	sources->items = calloc(sources->num, sizeof(*sources->items));
	int status = sources->items ? HSNAP_GO_ON : HSNAP_EXIT_OTHER;
	for (size_t i = 0; status == HSNAP_GO_ON && i < sources->num; i++)
		status = open_one(options, options->args[i], &sources->items[i]);
	return status;
}

static int compare(const struct hsnap_options *options, const struct sources *sources)
{
	hsnap_auto(hsnap_freep) const struct hsnap_snapshot **snapshots = calloc(sources->num, sizeof(*snapshots));
	hsnap_auto(hsnap_freep) const char **paths = calloc(sources->num, sizeof(*paths));
	struct hsnap_error err;
	if (!snapshots || !paths) {
		hsnap_fail(&err, HSNAP_NO_MEMORY, 0, "out of memory");
		return hsnap_report(&err, HSNAP_DOING_OTHER);
	}
	int status = HSNAP_EXIT_DONE;
	for (size_t i = 0; i < sources->num; i++) {
		snapshots[i] = sources->items[i].snapshot;
		paths[i] = sources->items[i].path;
		if (hsnap_input_status(options, snapshots[i]))
			status = HSNAP_EXIT_PARTIAL;
	}
	hsnap_auto(hsnap_diff_deinit) struct hsnap_diff diff = { 0 };
	enum hsnap_diff_order order = options->by == HSNAP_BY_COUNT ? HSNAP_DIFF_BY_COUNT : HSNAP_DIFF_BY_BYTES;
	if (hsnap_diff_init(snapshots, sources->num, order, &diff, &err))
		return hsnap_report(&err, HSNAP_DOING_OTHER);
	struct hsnap_emit emit;
	hsnap_emit_open(&emit, options);
	struct hsnap_diff_view view = { &emit, &diff, snapshots, paths };
	if (!(emit.format == HSNAP_AS_TEXT ? hsnap_diff_print(&view) : hsnap_diff_emit(&view)))
		emit.out.failed = true;
	return hsnap_emit_close(&emit, status);
}

int hsnap_cmd_diff(int argc, char **argv)
{
	struct hsnap_options options;
	int status = hsnap_options_parse(argc, argv, &options);
	if (status != HSNAP_GO_ON)
		return status;
	hsnap_auto(free_sources) struct sources sources = { 0 };
	status = open_all(&options, &sources);
	return status == HSNAP_GO_ON ? compare(&options, &sources) : status;
}
