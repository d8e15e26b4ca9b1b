/* SPDX-License-Identifier: MIT */
/*
 * freeze.h - holding a process still and taking a private copy of it.
 */
#ifndef HSNAP_CAPTURE_FREEZE_FREEZE_H
#define HSNAP_CAPTURE_FREEZE_FREEZE_H

#include <stdint.h>
#include <sys/types.h>

#include "capture/proc/kernel.h"
#include "capture/proc/proc.h"
#include "capture/target/target.h"
#include "snapshot/base/error.h"

struct hsnap_frozen {
	struct hsnap_target *target;
	struct hsnap_kernel kernel;
	const char *mode;      /* "copy" */
	uint64_t pause_ns;     /* first interrupt to last release */
	uint64_t released_at;  /* ns since the epoch */
	uint64_t copied, lost; /* bytes; lost ones could not be read, or were too many to look at */
	uint32_t attempts;     /* 1: the first stop did it */
};

/**
 * Stop the process once, copy the pages that it wrote, and let it go.
 *
 * The need for memory is predicted first; nothing is allocated, printed or
 * thought about while it stands still.  Whatever happens to this process, the
 * target goes on: it is never written to.
 *
 * @return HSNAP_OK, HSNAP_REFUSED with the reason and the cure, HSNAP_INTERRUPTED, HSNAP_NO_MEMORY
 */
HSNAP_CHECKED enum hsnap_code hsnap_freeze_copy(const struct hsnap_proc *proc, pid_t pid,
						const volatile int *interrupted,
						struct hsnap_frozen *ret, struct hsnap_error *err);
void hsnap_frozen_deinit(struct hsnap_frozen *frozen);

#endif
