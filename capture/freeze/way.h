/* SPDX-License-Identifier: MIT */
/*
 * way.h - what every way of freezing begins and ends with.
 *
 * In this order: begin, room, stop (as often as the way wants), finish; end in any case.
 */
#ifndef HSNAP_CAPTURE_FREEZE_WAY_H
#define HSNAP_CAPTURE_FREEZE_WAY_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/freeze/freeze.h"
#include "capture/freeze/plan.h"
#include "capture/freeze/stop.h"
#include "capture/proc/memory.h"
#include "capture/target/copy.h"
#include "capture/target/files.h"

#define HSNAP_WAY_PARTS 256 /* ranges that are read in one call */

struct hsnap_way {
	const struct hsnap_freeze_options *options;
	struct hsnap_frozen *ret; /* filled by and by */
	struct hsnap_plan plan;
	struct hsnap_files files;
	struct hsnap_memory memory;
	struct hsnap_copy copy;
	struct hsnap_stop stop; /* its work and context are the way's own to set */
	/* Before every further stop, where it is set: `again` counts those that outgrew their room, 0 is
	 * another reason.  Else hsnap_way_room() is called for such. */
	enum hsnap_code (*renew)(struct hsnap_way *way, unsigned again, struct hsnap_error *err);
	bool at_once;     /* set after the beginning: the copy is filled in order, in one stop */
	uint64_t headers; /* AT_PHDR */
	uint64_t lost;    /* bytes that could not be read */
};

/* Look before anything is done: refusals, descriptors, files, a list of the pages.  Zeroes *ret. */
HSNAP_CHECKED enum hsnap_code hsnap_way_begin(struct hsnap_way *way, const struct hsnap_freeze_options *options,
					      struct hsnap_frozen *ret, struct hsnap_error *err);
/* List the pages and make room for them and some more, the more the greater `again`; what was
 * copied before is gone.  Refused where the room could harm the target. */
HSNAP_CHECKED enum hsnap_code hsnap_way_room(struct hsnap_way *way, unsigned again, struct hsnap_error *err);
/* Stop and do the work, and again with more patience or more room where that can help; in sum it is
 * not held longer than options->max_pause_ns. */
HSNAP_CHECKED enum hsnap_code hsnap_way_stop(struct hsnap_way *way, struct hsnap_error *err);
/* In the stop: list what there is, by stop.ends_at.  What stands against it otherwise. */
enum hsnap_stop_end hsnap_way_list(struct hsnap_way *way);
/* The same of a list that has failed. */
enum hsnap_stop_end hsnap_way_unlisted(const struct hsnap_way *way);
/* Make the target of what was copied.  `mode` is static text. */
HSNAP_CHECKED enum hsnap_code hsnap_way_finish(struct hsnap_way *way, const char *mode, struct hsnap_error *err);
/* Release all but *ret, and that too where `code` is a failure; returns the code. */
enum hsnap_code hsnap_way_end(struct hsnap_way *way, enum hsnap_code code);

#endif
