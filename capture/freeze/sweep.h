/* SPDX-License-Identifier: MIT */
/*
 * sweep.h - the page tables of a stopped process are gone through by several processors at once.
 *
 * 0.7 ms a GiB by one: in a stop that is most of the time.  Whoever comes first takes a chunk; what a helper has
 * not done in time, the caller does himself.
 */
#ifndef HSNAP_CAPTURE_FREEZE_SWEEP_H
#define HSNAP_CAPTURE_FREEZE_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "capture/freeze/team.h"
#include "capture/proc/scan.h"

struct hsnap_sweep;

/* For at most so many chunks; what it needs is there from now on.  NULL: there is nobody to help, or no memory,
 * and it goes on without. */
struct hsnap_sweep *hsnap_sweep_create(int pagemap, size_t chunks);
void hsnap_sweep_destroy(struct hsnap_sweep *sweep);

/* How many chunks a range makes; 0: too small or too big to be shared out. */
size_t hsnap_sweep_chunks(uint64_t start, uint64_t end);

/* First what is to be done, in order of address (what is too much is left out), then do it: each
 * chunk is scanned as `model` says. */
void hsnap_sweep_clear(struct hsnap_sweep *sweep);
void hsnap_sweep_add(struct hsnap_sweep *sweep, uint64_t start, uint64_t end);
void hsnap_sweep_begin(struct hsnap_sweep *sweep, const struct hsnap_scan_arg *model);

/* What was found from `start` on, and *end where the scan of it ended; -1: nobody looked, and somebody
 * may have from *end on, if that was further than where the next chunk begins. */
int hsnap_sweep_found(struct hsnap_sweep *sweep, uint64_t start, const struct hsnap_page_region **ret, uint64_t *end);

#endif
