/* SPDX-License-Identifier: MIT */
/* unforked.h - what of a process's private memory a child of it does not have. */
#ifndef HSNAP_CAPTURE_FREEZE_UNFORKED_H
#define HSNAP_CAPTURE_FREEZE_UNFORKED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/freeze/plan.h"
#include "capture/proc/proc.h"
#include "snapshot/base/vec.h"

struct hsnap_unforked {
	struct hsnap_vec(struct hsnap_range) ranges; /* MADV_DONTFORK, MADV_WIPEONFORK; in order of address */
	bool faults;   /* it, or somebody for it, handles faults of its memory: userfaultfd */
};

/* As it is now; nothing is known where the kernel does not tell.  false: out of memory.
 * Cost: a walk over its page tables, 10 ms a GiB, beside the running process. */
HSNAP_CHECKED bool hsnap_unforked_find(struct hsnap_unforked *unforked, const struct hsnap_proc *proc, pid_t pid);
/* What /proc/PID/smaps says. */
HSNAP_CHECKED bool hsnap_unforked_parse(struct hsnap_unforked *unforked, const char *smaps);
void hsnap_unforked_deinit(struct hsnap_unforked *unforked);
bool hsnap_unforked_has(const struct hsnap_unforked *unforked, uint64_t address);

#endif
