/* SPDX-License-Identifier: MIT */
/*
 * watch.h - learning which pages a running process writes to, by a userfaultfd of its own.
 *
 * A borrowed thread opens the descriptor; we take a copy of it and the thread closes its own: all
 * else is done from our side.  Present pages are write-protected (never absent ones: a marker for
 * each would grow the page tables, which the target's cgroup pays); the first write to a page takes
 * its protection off inside the kernel and goes on, nobody is asked.  When the descriptor is
 * closed, also by our end, all protection is gone.  At worst, killed between its two calls, one idle
 * close-on-exec descriptor stays in the target.
 *
 * Not seen: what the kernel itself writes through pages that were pinned before (fixed buffers of
 * io_uring, O_DIRECT, RDMA).
 *
 * Source: userfaultfd(2), Documentation/admin-guide/mm/pagemap.rst; WP_ASYNC is of Linux 6.7.
 */
#ifndef HSNAP_CAPTURE_FREEZE_WATCH_H
#define HSNAP_CAPTURE_FREEZE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/freeze/freeze.h"
#include "capture/freeze/plan.h"
#include "capture/proc/scan.h"
#include "snapshot/base/error.h"

struct hsnap_watch {
	int descriptor, pagemap; /* ours; borrowed */
	uint64_t pause_ns;       /* of the stop that it took, of several the longest */
	uint64_t spent_ns;       /* of all of them */
};

/* Have the process open it.  HSNAP_OK, HSNAP_UNSUPPORTED with the reason: nothing was done, or
 * nothing is left of it; HSNAP_REFUSED, HSNAP_INTERRUPTED, HSNAP_NO_MEMORY. */
HSNAP_CHECKED enum hsnap_code hsnap_watch_open(struct hsnap_watch *watch, const struct hsnap_freeze_options *options,
					       int pagemap, struct hsnap_error *err);
/* Watch the mappings of a text of maps that are worth it.  HSNAP_UNSUPPORTED: the process has a
 * userfaultfd of its own on one. */
HSNAP_CHECKED enum hsnap_code hsnap_watch_mappings(struct hsnap_watch *watch, const struct hsnap_plan *plan,
						   const char *maps, struct hsnap_error *err);
/**
 * Protect what was written to, or is new, of the watched private pages in [start, end).
 *
 * @return how many regions of it were protected, at most `max`; -1: it does not work
 * @param ret_end  how far it came
 */
int hsnap_watch_protect(struct hsnap_watch *watch, uint64_t start, uint64_t end, struct hsnap_page_region *regions,
			int max, uint64_t *ret_end);
void hsnap_watch_close(struct hsnap_watch *watch);

#endif
