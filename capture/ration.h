/* SPDX-License-Identifier: MIT */
/*
 * ration.h - giving up before our own memory becomes the target's danger.
 *
 * The need is predicted before anything is done; but others in our cgroup grow too, the target first
 * of all, and a prediction is one.  So a thread looks at what every limit above us leaves, the more
 * often the less that is.  When it comes to the last of it, our copy of what lies on a disk anyway
 * goes first; then the budget is closed: everything fails as when memory has run out, and the target,
 * if it is held at all, is let go at once.
 */
#ifndef HSNAP_CAPTURE_RATION_H
#define HSNAP_CAPTURE_RATION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/proc/proc.h"
#include "snapshot/base/error.h"

struct hsnap_target;

struct hsnap_ration {
	const struct hsnap_proc *proc;
	const volatile int *interrupted; /* the caller's; may be NULL */
	volatile int halt;               /* stop: that one, or no more room */
	uint64_t margin;                 /* bytes that are left to others in any case */
	pthread_mutex_t lock;            /* of what follows */
	pthread_cond_t ends;
	const struct hsnap_target *target; /* whose pages may be on a disk; NULL: not yet */
	uint64_t relieved_at;            /* monotonic ns */
	bool ending, given_up;
	struct hsnap_headroom room;      /* when it gave up */
	uint64_t used;                   /* our own memory then, in bytes */
	pthread_t thread;
	bool started;
};

/* Begin to watch; where no thread can be made, only what is asked for in large pieces is.  The
 * budget of snapshot/base/budget.h is this ration's until its end. */
void hsnap_ration_begin(struct hsnap_ration *ration, const struct hsnap_proc *proc, const volatile int *interrupted);
/* Once there is a target; until the end. */
void hsnap_ration_relieve(struct hsnap_ration *ration, const struct hsnap_target *target);
void hsnap_ration_end(struct hsnap_ration *ration);

/* After the end: what became of `code`.  HSNAP_REFUSED with the figures where it is a failure of
 * which the ration is the reason. */
enum hsnap_code hsnap_ration_explain(const struct hsnap_ration *ration, enum hsnap_code code, bool scratch,
				    struct hsnap_error *err);

#endif
