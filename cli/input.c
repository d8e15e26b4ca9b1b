/* SPDX-License-Identifier: MIT */
/* input.c - open the one snapshot that a command is about. */
#include "cli/input.h"

#include <stdlib.h>
#include <string.h>

#include "cli/live.h"
#include "cli/report.h"

void hsnap_input_deinit(struct hsnap_input *source)
{
	free(source->path);
	hsnap_snapshot_destroy(source->snapshot);
	*source = (struct hsnap_input){ 0 };
}

static int out_of_memory(const struct hsnap_options *options)
{
	hsnap_wrong_use(NULL, "%s: out of memory", options->command->name);
	return HSNAP_EXIT_OTHER;
}

/* A live process in place of a file; the snapshot is written nowhere. */
static int open_live(const struct hsnap_options *options, const char *path, struct hsnap_input *ret)
{
	char name[32];
	if (path)
		return hsnap_wrong_use("leave one of them out", "%s: -p and the snapshot '%s' exclude each other",
				       options->command->name, path);
	snprintf(name, sizeof(name), "pid %llu", (unsigned long long)options->pid);
	ret->path = strdup(name);
	return ret->path ? hsnap_live_take(options, &ret->snapshot) : out_of_memory(options);
}

static int open_file(const struct hsnap_options *options, const char *path, unsigned load, struct hsnap_input *ret)
{
	int status = HSNAP_GO_ON;
	if (path)
		ret->path = strdup(path);
	else
		status = hsnap_find_newest(options, &ret->path);
	if (status != HSNAP_GO_ON)
		return status;
	if (!ret->path)
		return out_of_memory(options);
	struct hsnap_error err;
	if (hsnap_snapshot_read(ret->path, load, &ret->snapshot, &err))
		return hsnap_report(&err, HSNAP_DOING_READ);
	return HSNAP_GO_ON;
}

/* What types are is decided when a snapshot is taken. */
static int wrong_types(const struct hsnap_options *options)
{
	struct hsnap_line hint = { 0 };
	hsnap_line_addf(&hint, "heapsnap take -p PID --types ");
	hsnap_line_add_quoted(&hint, options->types[0]);
	int status = hsnap_wrong_use(hsnap_line_text(&hint), "%s: --types is of -p PID, and not of a snapshot that is there",
				     options->command->name);
	hsnap_line_deinit(&hint);
	return status;
}

int hsnap_input_open(const struct hsnap_options *options, const char *path, unsigned load,
		     struct hsnap_input *ret)
{
	*ret = (struct hsnap_input){ 0 };
	if (options->types[0] && !options->pid)
		return wrong_types(options);
	int status = options->pid ? open_live(options, path, ret) : open_file(options, path, load, ret);
	if (status != HSNAP_GO_ON)
		hsnap_input_deinit(ret);
	return status;
}

int hsnap_input_status(const struct hsnap_options *options, const struct hsnap_snapshot *snapshot)
{
	return snapshot->partial_reasons.num && !options->allow_partial ? HSNAP_EXIT_PARTIAL : HSNAP_EXIT_DONE;
}

bool hsnap_same_process(const struct hsnap_snapshot *a, const struct hsnap_snapshot *b)
{
	/* A core does not tell when its process was started. */
	bool same_start = a->facts.start_time == b->facts.start_time || !a->facts.start_time || !b->facts.start_time;
	return a->facts.pid == b->facts.pid && same_start &&
	       !strcmp(hsnap_text(a, a->facts.comm), hsnap_text(b, b->facts.comm));
}

void hsnap_add_input(struct hsnap_line *to, const struct hsnap_options *options, const char *path)
{
	if (options->pid)
		hsnap_line_addf(to, "-p %llu", (unsigned long long)options->pid);
	else
		hsnap_line_add_quoted(to, path);
}
