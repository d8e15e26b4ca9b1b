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

#include "capture/freeze/sweep.h"
#include "capture/proc/proc.h"
#include "capture/target/files.h"
#include "snapshot/base/error.h"

struct hsnap_range {
	uint64_t start, end;
};

/* What is known of pages since they were copied before. */
enum hsnap_plan_pages {
	HSNAP_PAGES_UNWATCHED, /* nothing */
	HSNAP_PAGES_WRITTEN,   /* they were written to, or are new */
	HSNAP_PAGES_CLEAN,     /* they are as they were */
};

struct hsnap_plan {
	int maps, pagemap; /* descriptors; pagemap -1: not there */
	bool scan;         /* PAGEMAP_SCAN (Linux 6.7) works */
	bool soft_dirty;   /* where it does not, the soft-dirty bits tell what was written */
	bool changes;      /* of a stopped process with a userfaultfd: look for what changed alone, which is quick */
	struct hsnap_sweep *sweep; /* to help with that; may be NULL; borrowed */
	/* May be set: told of all pages that are to be copied, in order of address. */
	void (*visit)(void *context, uint64_t start, uint64_t end, enum hsnap_plan_pages pages);
	void *context;
	uint64_t ends_at;  /* monotonic ns: a list that takes longer is given up; 0: any time */
	const struct hsnap_files *files; /* of those marked, everything is copied; borrowed */
	char *text;        /* maps as last read, terminated */
	size_t room;
	struct hsnap_range *ranges; /* in order of address */
	size_t num, max;   /* num > max: there was not enough room */
	uint64_t bytes;    /* in all ranges, also those without room */
	uint64_t shared;   /* of these bytes: in shared mappings */
	uint64_t skipped;  /* bytes of mappings too large to look at without PAGEMAP_SCAN */
};

/* HSNAP_OK, HSNAP_REFUSED, HSNAP_NO_MEMORY */
HSNAP_CHECKED enum hsnap_code hsnap_plan_open(struct hsnap_plan *plan, const struct hsnap_proc *proc,
					      pid_t pid, struct hsnap_error *err);
void hsnap_plan_close(struct hsnap_plan *plan);

/* Room for what there is now and a quarter more. */
HSNAP_CHECKED bool hsnap_plan_grow(struct hsnap_plan *plan);

/* Is it worth while to have a userfaultfd tell which pages of the mapping are written to? */
bool hsnap_plan_can_watch(const struct hsnap_plan *plan, const struct hsnap_maps_line *line);

/* For a sweep that is to help. */
size_t hsnap_plan_chunks(const struct hsnap_plan *plan);

/* Visit what is there of a part of a mapping without a file. */
bool hsnap_plan_scan(struct hsnap_plan *plan, uint64_t start, uint64_t end);

/* Read maps and list the ranges; allocates nothing.  false: not enough room or time, or no
 * process. */
bool hsnap_plan_list(struct hsnap_plan *plan);

#endif
