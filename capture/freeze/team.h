/* SPDX-License-Identifier: MIT */
/*
 * team.h - the page tables of a stopped process are gone through by several processors at once.
 *
 * 0.7 ms a GiB by one: in a stop that is most of the time.  Helpers wait until there is work, take
 * chunks as they come, and are never waited for: what they have not done, the caller does himself.
 */
#ifndef HSNAP_CAPTURE_FREEZE_TEAM_H
#define HSNAP_CAPTURE_FREEZE_TEAM_H

#include <stddef.h>
#include <stdint.h>

#include "capture/proc/scan.h"

struct hsnap_team;

/* For at most so many chunks; what it needs is there from now on.  NULL: there is one processor only,
 * or no memory, and it goes on without. */
struct hsnap_team *hsnap_team_create(int pagemap, size_t chunks);
void hsnap_team_destroy(struct hsnap_team *team);

/* How many chunks a range makes; 0: too small or too big to be shared out. */
size_t hsnap_team_chunks(uint64_t start, uint64_t end);

/* First what is to be done, in order of address (what is too much is left out), then do it: each
 * chunk is scanned as `model` says. */
void hsnap_team_clear(struct hsnap_team *team);
void hsnap_team_add(struct hsnap_team *team, uint64_t start, uint64_t end);
void hsnap_team_scan(struct hsnap_team *team, const struct hsnap_scan_arg *model);

/* What was found from `start` on, and *end where the scan of it ended; -1: nobody looked, and somebody
 * may have from *end on, if that was further than where the next chunk begins. */
int hsnap_team_found(struct hsnap_team *team, uint64_t start, const struct hsnap_page_region **ret, uint64_t *end);

#endif
