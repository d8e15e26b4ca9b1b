/* SPDX-License-Identifier: MIT */
/*
 * account.h - where the memory of a captured process is.
 *
 * What of it is resident is told by the copy where pages were copied (only those that were there
 * are), less what was swapped out at the stop; by the page map for the pages of files, right after
 * the stop, so that the stop is not longer for it.
 */
#ifndef HSNAP_CAPTURE_ACCOUNT_ACCOUNT_H
#define HSNAP_CAPTURE_ACCOUNT_ACCOUNT_H

#include "capture/account/pages.h"
#include "capture/alloc/heap.h"
#include "capture/proc/kernel.h"
#include "capture/target/target.h"
#include "snapshot/snapshot.h"

/* What must be looked at while the process is still there. */
struct hsnap_account_look {
	struct hsnap_pages resident; /* of the whole process, as at the stop */
	struct hsnap_pages swapped;
	bool files_known;           /* false: the page map told nothing; of files only written pages are in it */
	struct hsnap_cgroup cgroup;
};

/**
 * Look right after the stop; of a core any time.
 * @param proc    NULL: a core
 * @param kernel  as read in the stop; without memory (a core): all that the target holds is resident
 * @return HSNAP_OK, HSNAP_NO_MEMORY.  Cost: one pass over the page tables of mapped files.
 */
HSNAP_CHECKED enum hsnap_code hsnap_account_look(const struct hsnap_proc *proc, const struct hsnap_target *target,
						 const struct hsnap_kernel *kernel, struct hsnap_account_look *ret,
						 struct hsnap_error *err);
void hsnap_account_look_deinit(struct hsnap_account_look *look);

/**
 * Fill snapshot->account, account_arenas and account_parts, and the facts rss and swap where the
 * kernel told them in the stop.  The snapshot's basis must be set.
 *
 * Whatever the heap and the target hold, the numbers are within HSNAP_ACCOUNT_MAX.
 *
 * @return HSNAP_OK, HSNAP_NO_MEMORY.  Cost: O(blocks + free chunks + runs of pages).
 */
HSNAP_CHECKED enum hsnap_code hsnap_account_fill(const struct hsnap_target *target, const struct hsnap_heap *heap,
						 const struct hsnap_kernel *kernel, const struct hsnap_account_look *look,
						 struct hsnap_snapshot *snapshot, struct hsnap_error *err);

#endif
