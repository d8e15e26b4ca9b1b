/* SPDX-License-Identifier: MIT */
/*
 * guard.h - no trace of a child that the target was made to have.
 *
 * A child that ends leaves an entry (a zombie) until its parent asks for it, which the program will
 * not do, for it knows of none.  So the parent is borrowed once more to ask.  While such a child
 * may be there, a process of ours stands by that does it when we are killed; killed both at once
 * (a whole cgroup), the entry stays until the target ends.  It holds no memory.
 */
#ifndef HSNAP_CAPTURE_FREEZE_GUARD_H
#define HSNAP_CAPTURE_FREEZE_GUARD_H

#include <sys/types.h>

#include "capture/freeze/freeze.h"
#include "snapshot/base/error.h"

struct hsnap_guard {
	int socket; /* -1: there is none */
	pid_t pid;
};

/* HSNAP_OK, HSNAP_NO_MEMORY.  Before there is much memory to be shared. */
HSNAP_CHECKED enum hsnap_code hsnap_guard_start(struct hsnap_guard *guard, const struct hsnap_freeze_options *options,
						struct hsnap_error *err);
/* The child is there, or (0) no more: allocates nothing. */
void hsnap_guard_tell(const struct hsnap_guard *guard, pid_t child);
/* All is well: it ends. */
void hsnap_guard_end(struct hsnap_guard *guard);

/* Have the target ask for its child, which has ended; it is tried for so long.  HSNAP_OK, also where
 * the target is gone; else no thread was to be had that could. */
HSNAP_CHECKED enum hsnap_code hsnap_reap(const struct hsnap_freeze_options *options, pid_t child, uint64_t patience_ns,
					 struct hsnap_error *err);

#endif
