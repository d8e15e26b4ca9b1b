/* SPDX-License-Identifier: MIT */
/* forecast.c - predicted pauses, what stands against each way, and the choice among them. */
#include "capture/freeze/forecast.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "capture/freeze/freeze.h"
#include "capture/freeze/obstacle.h"
#include "capture/freeze/plan.h"
#include "capture/freeze/refuse.h"
#include "capture/freeze/team.h"
#include "snapshot/base/cleanup.h"

#define GIB ((double)(1 << 30))
#define NO_MATTER ((uint64_t)64 << 20) /* so little is copied at once whatever the rate: it is not measured */
#define CAUTIOUS_RATE 4000000000u
#define MS 1000000u

/* Measured: docs/pause.md. */
#define STOP_NS 100000.0         /* one thread, stopped and let go */
#define THREAD_NS 25000.0        /* each more */
#define LIST_NS 300000.0         /* the page map, a GiB of pages that are there */
#define FORK_NS 30000000.0       /* page tables, a GiB in pages of 4 KiB */
#define FORK_HUGE_NS 1000000.0   /* a GiB in pages of 2 MiB */
#define SOFT_NS 14000000.0       /* the page map before Linux 6.7, an entry at a time, a GiB of pages that are there */
#define DIRTY_NS 100000.0        /* some hundred pages: what a busy server writes in one round */

static const char *const names[HSNAP_NUM_FREEZE_MODES] = { "auto", "copy", "precopy", "clone" };

uint64_t hsnap_forecast_pause(const struct hsnap_forecast *forecast, enum hsnap_freeze_mode mode)
{
	double bytes = (double)forecast->bytes, shared = (double)forecast->shared, huge = (double)forecast->huge;
	double copy_ns = 1e9 / (double)forecast->copy_rate; /* a byte */
	if (huge > bytes - shared)
		huge = bytes - shared;
	double ns = STOP_NS + (forecast->scan ? LIST_NS : SOFT_NS) * bytes / GIB + THREAD_NS * (double)(forecast->threads ? forecast->threads - 1 : 0);
	switch (mode) {
	case HSNAP_FREEZE_PRECOPY:
		ns += DIRTY_NS;
		break;
	case HSNAP_FREEZE_CLONE:
		ns += FORK_NS * (bytes - shared - huge) / GIB + FORK_HUGE_NS * huge / GIB +
		      shared * 1e9 / (double)forecast->one_rate;
		break;
	default:
		ns += bytes * copy_ns;
		break;
	}
	return ns < 1e18 ? (uint64_t)ns : (uint64_t)1e18;
}

typedef enum hsnap_code obstacle(const struct hsnap_freeze_options *options, const struct hsnap_forecast *forecast,
				 struct hsnap_error *err);
static obstacle *const obstacles[HSNAP_NUM_FREEZE_MODES] = {
	[HSNAP_FREEZE_PRECOPY] = hsnap_precopy_obstacle, [HSNAP_FREEZE_CLONE] = hsnap_clone_obstacle,
};

static uint64_t whole_ms(uint64_t ns)
{
	return ns / MS + (ns % MS != 0);
}

/* What an error says becomes what stands against a way. */
static void set_obstacle(struct hsnap_forecast_way *way, const struct hsnap_error *why)
{
	way->possible = false;
	snprintf(way->why_not, sizeof(way->why_not), "%.*s", (int)sizeof(way->why_not) - 1, why->message);
	snprintf(way->cure, sizeof(way->cure), "%.*s", (int)sizeof(way->cure) - 1, why->hint);
}

/* Opening mem is asking the kernel, Yama included, whether we might attach: nothing is attached. */
static bool find_permission(const struct hsnap_freeze_options *options, struct hsnap_error *why)
{
	hsnap_auto(hsnap_closefdp) int fd = hsnap_proc_open(options->proc, O_RDONLY, "proc/%d/mem", options->pid);
	if (fd >= 0)
		return true;
	hsnap_refuse_denied(options->proc, options->pid, errno, why);
	return false;
}

/* What is to be copied, and whether the kernel has PAGEMAP_SCAN. */
static enum hsnap_code list_pages(const struct hsnap_freeze_options *options, struct hsnap_forecast *ret,
				  struct hsnap_error *err)
{
	struct hsnap_plan plan;
	enum hsnap_code code = hsnap_plan_open(&plan, options->proc, options->pid, err);
	if (code)
		return code;
	bool listed = hsnap_plan_grow(&plan);
	ret->bytes = plan.bytes;
	ret->shared = plan.shared;
	ret->scan = plan.scan;
	hsnap_plan_close(&plan);
	return listed ? HSNAP_OK : hsnap_fail(err, HSNAP_REFUSED, 0, "exited while it was being looked at");
}

/* Of a process that we may not look into there is what status tells. */
static void fill_sizes(const struct hsnap_freeze_options *options, const struct hsnap_proc_status *status,
		       struct hsnap_forecast *ret)
{
	memcpy(ret->comm, status->comm, sizeof(ret->comm));
	ret->rss = status->rss;
	ret->swap = status->swap;
	ret->threads = status->threads;
	ret->bytes = status->rss_anon + status->swap;
	hsnap_auto(hsnap_freep) char *smaps = hsnap_proc_read(options->proc, "proc/%d/smaps_rollup", options->pid);
	if (smaps && hsnap_proc_field(smaps, "AnonHugePages", 10, &ret->huge))
		ret->huge *= 1024;
}

void hsnap_forecast_choose(struct hsnap_forecast *ret)
{
	enum hsnap_freeze_mode asked = ret->asked;
	static const enum hsnap_freeze_mode order[] = { HSNAP_FREEZE_PRECOPY, HSNAP_FREEZE_COPY };
	ret->chosen = HSNAP_FREEZE_AUTO;
	if (asked != HSNAP_FREEZE_AUTO) {
		if (ret->ways[asked].possible)
			ret->chosen = asked;
		return;
	}
	for (size_t i = 0; i < sizeof(order) / sizeof(*order) && ret->chosen == HSNAP_FREEZE_AUTO; i++)
		if (ret->ways[order[i]].possible)
			ret->chosen = order[i];
}

static void check_pause(struct hsnap_forecast *ret, enum hsnap_freeze_mode mode)
{
	struct hsnap_forecast_way *way = &ret->ways[mode];
	if (!way->possible || !ret->max_pause_ns || way->pause_ns <= ret->max_pause_ns)
		return;
	uint64_t ms = whole_ms(way->pause_ns);
	way->possible = false;
	snprintf(way->why_not, sizeof(way->why_not), "%s would hold it still for about %" PRIu64 " ms: --max-pause is %"
		 PRIu64, names[mode], ms, ret->max_pause_ns / MS);
	/* Half as much again, in round figures: the prediction is one. */
	snprintf(way->cure, sizeof(way->cure), "--max-pause %" PRIu64, (ms * 3 / 2 + 99) / 100 * 100);
}

/* Measuring takes memory itself, which may be the target's last. */
static bool is_worth_measuring(const struct hsnap_forecast *forecast)
{
	return forecast->bytes >= NO_MATTER && forecast->need <= forecast->ours.left;
}

/* To a scratch file one processor copies. */
static void measure_rates(const struct hsnap_freeze_options *options, struct hsnap_forecast *forecast)
{
	forecast->copy_rate = forecast->one_rate = options->copy_rate ? options->copy_rate : CAUTIOUS_RATE;
	if (options->copy_rate || !is_worth_measuring(forecast))
		return;
	struct hsnap_team *team = options->scratch < 0 ? hsnap_team_create() : NULL;
	forecast->one_rate = hsnap_copy_rate(NULL);
	forecast->copy_rate = team ? hsnap_copy_rate(team) : forecast->one_rate;
	hsnap_team_destroy(team);
}

enum hsnap_code hsnap_forecast_make(const struct hsnap_freeze_options *options, struct hsnap_forecast *ret,
				    struct hsnap_error *err)
{
	struct hsnap_proc_status status = { 0 };
	struct hsnap_error why = { 0 };
	*ret = (struct hsnap_forecast){ .asked = options->mode, .max_pause_ns = options->max_pause_ns };
	enum hsnap_code code = hsnap_refuse_early(options->proc, options->pid, err);
	if (code)
		return code;
	if (!hsnap_proc_status(options->proc, options->pid, &status))
		return hsnap_refuse_denied(options->proc, options->pid, errno, err);
	fill_sizes(options, &status, ret);
	bool permitted = find_permission(options, &why);
	if (permitted && (code = list_pages(options, ret, err)))
		return code;
	ret->need = hsnap_refuse_needed(ret->bytes, options->scratch >= 0);
	ret->ours = hsnap_proc_headroom(options->proc);
	ret->theirs = hsnap_proc_headroom_of(options->proc, options->pid);
	measure_rates(options, ret);
	if (permitted)
		permitted = !hsnap_refuse_need(options->proc, ret->bytes, options->scratch, &why);
	for (enum hsnap_freeze_mode mode = HSNAP_FREEZE_COPY; mode < HSNAP_NUM_FREEZE_MODES; mode++) {
		struct hsnap_forecast_way *way = &ret->ways[mode];
		way->possible = true;
		way->pause_ns = hsnap_forecast_pause(ret, mode);
		struct hsnap_error against = { 0 };
		if (!permitted)
			set_obstacle(way, &why);
		else if (obstacles[mode] && obstacles[mode](options, ret, &against))
			set_obstacle(way, &against);
		check_pause(ret, mode);
	}
	ret->ways[HSNAP_FREEZE_CLONE].growth = ret->bytes - ret->shared;
	hsnap_forecast_choose(ret);
	return HSNAP_OK;
}

void hsnap_forecast_rule_out(struct hsnap_forecast *forecast, enum hsnap_freeze_mode mode, uint64_t spent_ns,
			     const struct hsnap_error *why)
{
	set_obstacle(&forecast->ways[mode], why);
	for (enum hsnap_freeze_mode other = HSNAP_FREEZE_COPY; other < HSNAP_NUM_FREEZE_MODES; other++) {
		forecast->ways[other].pause_ns += other == mode ? 0 : spent_ns;
		check_pause(forecast, other);
	}
	hsnap_forecast_choose(forecast);
}

enum hsnap_code hsnap_forecast_refuse(const struct hsnap_forecast *forecast, struct hsnap_error *err)
{
	const struct hsnap_forecast_way *copy = &forecast->ways[HSNAP_FREEZE_COPY];
	const struct hsnap_forecast_way *precopy = &forecast->ways[HSNAP_FREEZE_PRECOPY];
	const struct hsnap_forecast_way *clone = &forecast->ways[HSNAP_FREEZE_CLONE];
	const struct hsnap_forecast_way *asked = &forecast->ways[forecast->asked];
	if (forecast->chosen != HSNAP_FREEZE_AUTO)
		return HSNAP_OK;
	if (forecast->asked != HSNAP_FREEZE_AUTO && forecast->asked != HSNAP_FREEZE_COPY) {
		hsnap_fail(err, HSNAP_REFUSED, 0, "%s", asked->why_not);
		return hsnap_hint(err, HSNAP_REFUSED, "%s", asked->cure);
	}
	bool all_alike = !strcmp(copy->why_not, precopy->why_not);
	bool say_precopy = forecast->asked == HSNAP_FREEZE_AUTO && !all_alike;
	hsnap_fail(err, HSNAP_REFUSED, 0, "%s%s%s", copy->why_not, say_precopy ? "; no precopy: " : "",
		   say_precopy ? precopy->why_not : "");
	if (all_alike)
		return hsnap_hint(err, HSNAP_REFUSED, "%s", copy->cure);
	char other[160] = "";
	if (clone->possible)
		snprintf(other, sizeof(other), ", --freeze=clone (about %" PRIu64 " ms, and it grows by what it writes meanwhile)",
			 whole_ms(clone->pause_ns));
	return hsnap_hint(err, HSNAP_REFUSED, "%s%s%s%s", copy->cure, other, say_precopy && precopy->cure[0] ? ", " : "",
			  say_precopy ? precopy->cure : "");
}
