/* SPDX-License-Identifier: MIT */
/* dry_run.c - the forecast of a take as text and JSON. */
#include "cli/dry_run.h"

#include <inttypes.h>
#include <string.h>

#include "capture/capture.h"
#include "cli/emit.h"
#include "cli/live.h"
#include "cli/report.h"

/* In the order in which they are to be wished for. */
static const struct {
	enum hsnap_freeze_mode mode;
	const char *name;
} ways[] = {
	{ HSNAP_FREEZE_PRECOPY, "precopy" }, { HSNAP_FREEZE_COPY, "copy" }, { HSNAP_FREEZE_CLONE, "clone" },
};
#define NUM_WAYS (sizeof(ways) / sizeof(*ways))

static const char *name_of(enum hsnap_freeze_mode mode)
{
	for (size_t i = 0; i < NUM_WAYS; i++)
		if (ways[i].mode == mode)
			return ways[i].name;
	return NULL;
}

static void print_room(struct hsnap_emit *emit, const struct hsnap_headroom *room, const char *whose)
{
	if (room->limit == UINT64_MAX)
		hsnap_printf(emit, "an unknown amount is left to %s", whose);
	else
		hsnap_printf(emit, "%s of %s are left to %s (%s)", hsnap_human((double)room->left).text,
			     hsnap_human((double)room->limit).text, whose, room->cgroup ? "cgroup" : "machine");
}

/* Looked at one after the other, what is left may have changed a little. */
static bool is_same_room(const struct hsnap_headroom *a, const struct hsnap_headroom *b)
{
	uint64_t apart = a->left > b->left ? a->left - b->left : b->left - a->left;
	return a->limit == b->limit && a->cgroup == b->cgroup && apart <= a->limit / 100;
}

static void print_forecast(struct hsnap_emit *emit, const struct hsnap_options *options,
			   const struct hsnap_forecast *forecast)
{
	struct hsnap_line name = { 0 };
	hsnap_line_add_escaped(&name, forecast->comm, emit->charset);
	hsnap_printf(emit, "%s (pid %" PRIu64 "): %s resident, %s; %s to be copied\n", hsnap_line_text(&name),
		     options->pid, hsnap_human((double)(forecast->rss + forecast->swap)).text,
		     hsnap_plural(forecast->threads, "thread").text, hsnap_human((double)forecast->bytes).text);
	hsnap_line_deinit(&name);
	hsnap_printf(emit, "memory: %s needed at the most; ", hsnap_human((double)forecast->need).text);
	if (is_same_room(&forecast->ours, &forecast->theirs)) {
		print_room(emit, &forecast->ours, "both");
	} else {
		print_room(emit, &forecast->ours, "heapsnap");
		hsnap_print(emit, "; ");
		print_room(emit, &forecast->theirs, "it");
	}
	hsnap_print(emit, "\n");
	if (forecast->huge)
		hsnap_printf(emit, "huge pages: %s; precopy and clone split those that it writes to meanwhile\n",
			     hsnap_human((double)forecast->huge).text);
	hsnap_print(emit, "\n Held still   Grows by up to   Way\n");
	for (size_t i = 0; i < NUM_WAYS; i++) {
		const struct hsnap_forecast_way *way = &forecast->ways[ways[i].mode];
		hsnap_printf(emit, "%11s   %14s   %s", hsnap_milliseconds(way->pause_ns).text,
			     way->growth ? hsnap_human((double)way->growth).text : "0", ways[i].name);
		if (!way->possible)
			hsnap_printf(emit, "%*s   not possible: %s", (int)(7 - strlen(ways[i].name)), "", way->why_not);
		hsnap_print(emit, "\n");
	}
	if (forecast->chosen != HSNAP_FREEZE_AUTO)
		hsnap_printf(emit, "it would be taken by %s\n", name_of(forecast->chosen));
	else
		hsnap_print(emit, "it would not be taken\n");
}

static void emit_room(struct hsnap_emit *emit, const char *key, const struct hsnap_headroom *room)
{
	if (room->limit == UINT64_MAX) {
		hsnap_emit_null(emit, key);
		return;
	}
	hsnap_emit_begin_object(emit, key);
	hsnap_emit_u64(emit, "left_bytes", room->left);
	hsnap_emit_u64(emit, "limit_bytes", room->limit);
	hsnap_emit_string(emit, "of", room->cgroup ? "cgroup" : "machine");
	hsnap_emit_end_object(emit);
}

static void emit_forecast(struct hsnap_emit *emit, const struct hsnap_options *options,
			  const struct hsnap_forecast *forecast)
{
	hsnap_emit_begin_object(emit, NULL);
	hsnap_emit_string(emit, "schema", "heapsnap.forecast/1");
	hsnap_emit_u64(emit, "pid", options->pid);
	hsnap_emit_string(emit, "comm", forecast->comm);
	hsnap_emit_u64(emit, "rss_bytes", forecast->rss);
	hsnap_emit_u64(emit, "swap_bytes", forecast->swap);
	hsnap_emit_u64(emit, "threads", forecast->threads);
	hsnap_emit_u64(emit, "copy_bytes", forecast->bytes);
	hsnap_emit_u64(emit, "huge_bytes", forecast->huge);
	hsnap_emit_u64(emit, "need_bytes", forecast->need);
	hsnap_emit_u64(emit, "copy_bytes_per_second", forecast->copy_rate);
	hsnap_emit_u64(emit, "max_pause_ns", forecast->max_pause_ns);
	emit_room(emit, "own_room", &forecast->ours);
	emit_room(emit, "target_room", &forecast->theirs);
	hsnap_emit_begin_array(emit, "ways");
	for (size_t i = 0; i < NUM_WAYS; i++) {
		const struct hsnap_forecast_way *way = &forecast->ways[ways[i].mode];
		hsnap_emit_begin_object(emit, NULL);
		hsnap_emit_string(emit, "freeze", ways[i].name);
		hsnap_emit_bool(emit, "possible", way->possible);
		hsnap_emit_u64(emit, "pause_ns", way->pause_ns);
		hsnap_emit_u64(emit, "growth_bytes", way->growth);
		hsnap_emit_string_or_null(emit, "why_not", way->why_not);
		hsnap_emit_string_or_null(emit, "cure", way->cure);
		hsnap_emit_end_object(emit);
	}
	hsnap_emit_end_array(emit);
	hsnap_emit_string_or_null(emit, "chosen", forecast->chosen ? name_of(forecast->chosen) : "");
	hsnap_emit_end_object(emit);
}

int hsnap_dry_run(const struct hsnap_options *options)
{
	struct hsnap_forecast forecast;
	struct hsnap_error err = { 0 };
	struct hsnap_emit emit;
	struct hsnap_options how = *options;
	how.no_pager = true;
	int status = hsnap_live_forecast(options, &forecast);
	if (status != HSNAP_GO_ON)
		return status;
	hsnap_emit_open(&emit, &how);
	if (options->json)
		emit_forecast(&emit, options, &forecast);
	else
		print_forecast(&emit, options, &forecast);
	status = hsnap_emit_close(&emit, HSNAP_EXIT_DONE);
	enum hsnap_code code = hsnap_forecast_refuse(&forecast, &err);
	if (!code || status)
		return status;
	hsnap_context(&err, code, "cannot take pid %" PRIu64 " (%s)", options->pid, forecast.comm);
	return hsnap_report(&err, HSNAP_DOING_CAPTURE);
}
