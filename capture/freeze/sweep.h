/* SPDX-License-Identifier: MIT */
/*
 * sweep.h - the page tables of a stopped process are gone through by several processors at once.
 *
 * 0.8 ms a GiB by one, 0.5 the short way (sweep.c): in a stop that is most of the time.  Whoever comes first takes a
 * chunk; what a helper has not done in time, the caller does himself.
 */
#ifndef HSNAP_CAPTURE_FREEZE_SWEEP_H
#define HSNAP_CAPTURE_FREEZE_SWEEP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/freeze/team.h"
#include "capture/proc/scan.h"

struct hsnap_sweep;

/* For at most so many chunks; what it needs is there from now on.  NULL: there is nobody to help, or no memory,
 * and it goes on without. */
struct hsnap_sweep *hsnap_sweep_create(pid_t pid, int pagemap, size_t chunks);
void hsnap_sweep_destroy(struct hsnap_sweep *sweep);

/* How many chunks a range makes; 0: too small or too big to be shared out. */
size_t hsnap_sweep_chunks(uint64_t start, uint64_t end);

/* Pages that were written to, and those that are absent: what is asked of every chunk. */
extern const struct hsnap_scan_arg hsnap_sweep_changes;

/* First what is to be done, in order of address (what is too much is left out), then do it. */
void hsnap_sweep_clear(struct hsnap_sweep *sweep);
void hsnap_sweep_add(struct hsnap_sweep *sweep, uint64_t start, uint64_t end);
void hsnap_sweep_begin(struct hsnap_sweep *sweep);

/* What was found from `start` on, and *end where the scan of it ended; -1: nobody looked, and somebody
 * may have from *end on, if that was further than where the next chunk begins. */
int hsnap_sweep_found(struct hsnap_sweep *sweep, uint64_t start, const struct hsnap_page_region **ret, uint64_t *end);

#endif
