/* SPDX-License-Identifier: MIT */
/*
 * growth.h - a child of the target is ended before the target's memory runs out because of it, and
 * when the target itself ends.
 *
 * While the child is there, each page that the target writes to is one more.  A thread of its own
 * looks at the room that is left, before others and every few milliseconds: the writer may be
 * quicker than whoever reads.
 *
 * The child shares the target's table of descriptors.  Once the target has left it, by its end or by
 * execve(2), the child alone would hold them open: a port that cannot be bound again, a pipe without
 * an end.
 */
#ifndef HSNAP_CAPTURE_FREEZE_GROWTH_H
#define HSNAP_CAPTURE_FREEZE_GROWTH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/proc/proc.h"
#include "snapshot/base/error.h"

struct hsnap_growth {
	const struct hsnap_proc *proc;
	pid_t pid, child;
	uint64_t reserve;           /* bytes: less must not be left */
	int target;                 /* a pidfd of it; -1: the kernel has none */
	bool shares;                /* the table of descriptors with the target's main thread */
	struct hsnap_headroom room; /* when it was ended */
	atomic_bool over;           /* the child was ended: there was too little room */
	atomic_bool left;           /* the same: the target has left it alone */
	atomic_bool done;
	pthread_t thread;
};

/* The child is one that the caller traces.  false: there is no thread to be had. */
HSNAP_CHECKED bool hsnap_growth_watch(struct hsnap_growth *growth, const struct hsnap_proc *proc, pid_t pid, pid_t child,
				      uint64_t reserve);
void hsnap_growth_end(struct hsnap_growth *growth);

/* How much is to be left of what there is now, in bytes. */
uint64_t hsnap_growth_reserve(const struct hsnap_headroom *room);

#endif
