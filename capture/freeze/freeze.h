/* SPDX-License-Identifier: MIT */
/*
 * freeze.h - holding a process still and taking a private copy of it.
 */
#ifndef HSNAP_CAPTURE_FREEZE_FREEZE_H
#define HSNAP_CAPTURE_FREEZE_FREEZE_H

#include <stdint.h>
#include <sys/types.h>

#include "capture/freeze/mode.h"
#include "capture/proc/kernel.h"
#include "capture/proc/proc.h"
#include "capture/target/target.h"
#include "snapshot/base/error.h"

struct hsnap_freeze_options {
	const struct hsnap_proc *proc;
	pid_t pid;
	enum hsnap_freeze_mode mode;
	uint64_t max_pause_ns;   /* a stop that outlives it is released and given up; 0: without end */
	uint64_t copy_rate;      /* bytes a second that predictions go by; 0: this machine's, measured */
	uint64_t spent_ns, longest_ns; /* it was held still before, by a way that was given up: counted with this */
	bool suspend_seccomp;    /* its filter may be lifted for the moment of an injected call */
	int scratch;             /* an unlinked file that the pages go to, or -1: memory; borrowed */
	const volatile int *interrupted; /* may be NULL */
	/* For tests: called when all has been copied, while it still stands still.  May be NULL. */
	void (*witness)(void *context);
	void *witness_context;
};

struct hsnap_frozen {
	struct hsnap_target *target;
	struct hsnap_kernel kernel;
	const char *mode;      /* "copy", "precopy", "clone"; "" of a core */
	uint64_t pause_ns;     /* first interrupt to last release; of several stops the longest; also where it failed */
	uint64_t spent_ns;     /* of all stops together; also where it failed */
	uint64_t released_at;  /* ns since the epoch */
	uint64_t copied, lost; /* bytes; lost ones could not be read, or were too many to look at */
	uint32_t attempts;     /* 1: the first stop did it */
	char note[1056];       /* why not by the better way: "precopy did not converge: …"; or "" */
};

/**
 * Make a private copy of the process at one moment, by the way asked for or the best there is.
 *
 * The need for memory is predicted first; nothing is allocated, printed or thought about while it
 * stands still.  Whatever happens to this process, the target goes on: no byte of its live memory
 * is written.
 *
 * @return HSNAP_OK, HSNAP_REFUSED with the reason and the cure, HSNAP_INTERRUPTED, HSNAP_NO_MEMORY
 */
HSNAP_CHECKED enum hsnap_code hsnap_freeze(const struct hsnap_freeze_options *options,
					   struct hsnap_frozen *ret, struct hsnap_error *err);

/* One way each; besides the above HSNAP_UNSUPPORTED: kernel, sandbox or target do not bear it, the
 * message says why, and nothing was done to the target. */
HSNAP_CHECKED enum hsnap_code hsnap_freeze_copy(const struct hsnap_freeze_options *options,
						struct hsnap_frozen *ret, struct hsnap_error *err);
HSNAP_CHECKED enum hsnap_code hsnap_freeze_precopy(const struct hsnap_freeze_options *options,
						   struct hsnap_frozen *ret, struct hsnap_error *err);
HSNAP_CHECKED enum hsnap_code hsnap_freeze_clone(const struct hsnap_freeze_options *options,
						 struct hsnap_frozen *ret, struct hsnap_error *err);
void hsnap_frozen_deinit(struct hsnap_frozen *frozen);

#endif
