/* SPDX-License-Identifier: MIT */
/* inject.h - one thread of a running process is stopped for a moment to make calls for us. */
#ifndef HSNAP_CAPTURE_FREEZE_INJECT_H
#define HSNAP_CAPTURE_FREEZE_INJECT_H

#include <stdint.h>

#include "capture/freeze/borrow.h"
#include "snapshot/base/error.h"

struct hsnap_injection {
	/* Asked for. */
	const struct hsnap_lender *lender;
	const volatile int *interrupted; /* may be NULL */
	/* Called once, in a thread of its own, while a thread is borrowed: makes its calls and keeps
	 * what they answered.  Must neither allocate nor print. */
	void (*work)(void *context, struct hsnap_borrowed *borrowed);
	void *context;

	/* Answered. */
	uint64_t pause_ns; /* of the longest stop: interrupt to release */
	uint64_t spent_ns; /* of all stops together */
};

/**
 * Stop one thread that can be borrowed, the others run on; do the work; let it go.
 *
 * A thread that sleeps in a call which can simply be made again is preferred; for one that leaves
 * a call which cannot, it is waited a quarter of a second.
 *
 * @return HSNAP_OK: the work was done, for what its calls answered; HSNAP_UNSUPPORTED, nothing was
 *         done; HSNAP_REFUSED, HSNAP_INTERRUPTED, HSNAP_NO_MEMORY
 */
HSNAP_CHECKED enum hsnap_code hsnap_inject(struct hsnap_injection *injection, struct hsnap_error *err);

#endif
