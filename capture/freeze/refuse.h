/* SPDX-License-Identifier: MIT */
/* refuse.h - saying clearly, and before any harm, why a process is not to be captured. */
#ifndef HSNAP_CAPTURE_FREEZE_REFUSE_H
#define HSNAP_CAPTURE_FREEZE_REFUSE_H

#include <sys/types.h>

#include "capture/proc/proc.h"
#include "snapshot/base/error.h"

/* What can be known before touching it: gone, zombie, kernel thread, traced, itself, 32-bit.
 * HSNAP_OK or HSNAP_REFUSED. */
HSNAP_CHECKED enum hsnap_code hsnap_refuse_early(const struct hsnap_proc *proc, pid_t pid,
						 struct hsnap_error *err);

/* The kernel said no (EPERM, EACCES, …) for a process or one of its threads: find out why.
 * Always HSNAP_REFUSED. */
enum hsnap_code hsnap_refuse_denied(const struct hsnap_proc *proc, pid_t tid, int sys_errno,
				    struct hsnap_error *err);

/* Do the bytes to be copied, and the work on them, fit beside the target?
 * HSNAP_OK or HSNAP_REFUSED. */
HSNAP_CHECKED enum hsnap_code hsnap_refuse_need(const struct hsnap_proc *proc, uint64_t bytes,
						struct hsnap_error *err);

#endif
