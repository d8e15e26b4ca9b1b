/* SPDX-License-Identifier: MIT */
/*
 * plan.h - which pages of a process are worth copying.
 *
 * Pages that the process wrote itself: anonymous pages of private mappings
 * (also where they are read-only by now), and what is present of shared
 * writable ones.  Absent pages are never touched; pages that are still the
 * file's come from the file.
 */
#ifndef HSNAP_CAPTURE_FREEZE_PLAN_H
#define HSNAP_CAPTURE_FREEZE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/proc/proc.h"
#include "capture/target/files.h"
#include "snapshot/base/error.h"

struct hsnap_range {
	uint64_t start, end;
};

struct hsnap_plan {
	int maps, pagemap; /* descriptors; pagemap -1: not there */
	bool scan;         /* PAGEMAP_SCAN (Linux 6.7) works */
	const struct hsnap_files *files; /* of those marked, everything is copied; borrowed */
	char *text;        /* maps as last read, terminated */
	size_t room;
	struct hsnap_range *ranges; /* in order of address */
	size_t num, max;   /* num > max: there was not enough room */
	uint64_t bytes;    /* in all ranges, also those without room */
	uint64_t skipped;  /* bytes of mappings too large to look at without PAGEMAP_SCAN */
};

/* HSNAP_OK, HSNAP_REFUSED, HSNAP_NO_MEMORY */
HSNAP_CHECKED enum hsnap_code hsnap_plan_open(struct hsnap_plan *plan, const struct hsnap_proc *proc,
					      pid_t pid, struct hsnap_error *err);
void hsnap_plan_close(struct hsnap_plan *plan);

/* Room for what there is now and a quarter more. */
HSNAP_CHECKED bool hsnap_plan_grow(struct hsnap_plan *plan);

/* Read maps and list the ranges; allocates nothing.  false: not enough room, or no process. */
bool hsnap_plan_list(struct hsnap_plan *plan);

#endif
