/* SPDX-License-Identifier: MIT */
/*
 * forecast.h - what each way of freezing would cost, and what stands against it: found out by
 * looking alone.  The choice that HSNAP_FREEZE_AUTO makes is made of it.
 */
#ifndef HSNAP_CAPTURE_FREEZE_FORECAST_H
#define HSNAP_CAPTURE_FREEZE_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/freeze/mode.h"
#include "capture/proc/proc.h"
#include "snapshot/base/error.h"

struct hsnap_freeze_options;

struct hsnap_forecast_way {
	bool possible;      /* as far as can be known without trying */
	uint64_t pause_ns;  /* predicted; more where it writes much meanwhile */
	uint64_t growth;    /* bytes by which the target may grow until it has been read */
	char why_not[1024]; /* "" where it is possible */
	char cure[1024];    /* what would make it possible, or ""; begins with an option or a command */
};

struct hsnap_forecast {
	char comm[64];
	uint64_t rss, swap;  /* bytes */
	uint64_t threads;
	uint64_t bytes;      /* to be copied */
	uint64_t shared;     /* of these: in shared mappings, which a clone does not have */
	uint64_t huge;       /* bytes in huge pages: those written to meanwhile are split by precopy and clone */
	uint64_t need;       /* bytes of memory that a take uses at the most */
	uint64_t copy_rate;  /* bytes a second, by as many processors as a copy has */
	uint64_t one_rate;   /* by one: what a clone does not have is copied by one */
	bool scan;           /* the kernel has PAGEMAP_SCAN: Linux 6.7 */
	enum hsnap_freeze_mode asked;
	uint64_t max_pause_ns; /* 0: without end */
	struct hsnap_headroom ours, theirs; /* of the cgroups and the machine */
	struct hsnap_forecast_way ways[HSNAP_NUM_FREEZE_MODES]; /* [HSNAP_FREEZE_AUTO] is unused */
	enum hsnap_freeze_mode chosen; /* what would be done; AUTO: nothing */
};

/**
 * Look at a process.  It is neither stopped nor traced nor read.
 *
 * @return HSNAP_OK, also where no way is possible; HSNAP_REFUSED: gone, or nothing to be captured
 * Cost: a look at its page map, 0.3 ms a GiB from Linux 6.7 on; about 30 ms and 48 MiB to measure
 * this machine's rate of copying, where options->copy_rate does not tell.
 */
HSNAP_CHECKED enum hsnap_code hsnap_forecast_make(const struct hsnap_freeze_options *options,
						  struct hsnap_forecast *ret, struct hsnap_error *err);

/* Choose among the ways that are possible: clone only where it was asked for. */
void hsnap_forecast_choose(struct hsnap_forecast *forecast);
/* A way was tried, held it still for so long and did not go: the choice among those that are left,
 * whose pauses count with that. */
void hsnap_forecast_rule_out(struct hsnap_forecast *forecast, enum hsnap_freeze_mode mode, uint64_t spent_ns,
			     const struct hsnap_error *why);

/* How long a process of that size would be held still, in ns. */
uint64_t hsnap_forecast_pause(const struct hsnap_forecast *forecast, enum hsnap_freeze_mode mode);

/* HSNAP_OK where a way was chosen.  Else HSNAP_REFUSED: why none is to be gone, and the ways on with
 * their price. */
HSNAP_CHECKED enum hsnap_code hsnap_forecast_refuse(const struct hsnap_forecast *forecast, struct hsnap_error *err);

struct hsnap_team;

/* Bytes a second at which this machine copies from another process, measured on our own memory.  `team` may be
 * NULL: one processor. */
uint64_t hsnap_copy_rate(struct hsnap_team *team);

#endif
