/* SPDX-License-Identifier: MIT */
/*
 * stop.h - stopping every thread of a process, doing one thing, letting it go.
 *
 * The stop is made by a thread of its own.  When that thread ends, for whatever
 * reason, the kernel lets go of what it still held: also of a thread that could
 * not be stopped in time, which nothing else can release, and also when this
 * process is killed.  No byte and no register of the target is changed but for
 * one thing: system calls that only the stop made fail are made again.
 */
#ifndef HSNAP_CAPTURE_FREEZE_STOP_H
#define HSNAP_CAPTURE_FREEZE_STOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/freeze/tracee.h"
#include "capture/proc/proc.h"
#include "snapshot/base/error.h"
#include "snapshot/base/vec.h"

/* What became of one attempt. */
enum hsnap_stop_end {
	HSNAP_STOP_DONE,
	HSNAP_STOP_LATE,    /* tracee `late` did not stop within the deadline */
	HSNAP_STOP_LONG,    /* it would have outlived max_pause_ns */
	HSNAP_STOP_AGAIN,   /* the work asked for another attempt, with more room */
	HSNAP_STOP_LATER,   /* the same, at a better moment */
	HSNAP_STOP_FAILED,  /* the work failed for a reason that it knows */
	HSNAP_STOP_GONE,    /* no such process any more */
	HSNAP_STOP_DENIED,  /* seizing failed: sys_errno */
	HSNAP_STOP_FOREIGN, /* a thread runs 32-bit code */
	HSNAP_STOP_DISK,    /* the work could not write its scratch file: sys_errno, which it sets */
	HSNAP_STOP_NO_THREAD, /* to do it in: sys_errno */
	HSNAP_STOP_NO_MEMORY,
	HSNAP_STOP_INTERRUPTED,
};

struct hsnap_stop {
	/* Asked for. */
	const struct hsnap_proc *proc;
	pid_t pid;
	const volatile int *interrupted; /* may be NULL */
	uint64_t max_pause_ns; /* in sum, over all attempts; 0: without end */
	/* Called while all threads are held.  Must neither allocate nor print.  HSNAP_STOP_DONE or
	 * the reason why not. */
	enum hsnap_stop_end (*work)(void *context, const struct hsnap_stop *stop);
	/* Called in the same thread, once the target runs again, where the work is done; may be NULL.
	 * What the work keeps hold of is let go when it returns. */
	void (*after)(void *context);
	void *context;

	/* Answered. */
	uint64_t ends_at;    /* monotonic ns: by then the work must be over, with time left to let go; 0: any time */
	uint64_t spent_ns;   /* held still so far, in all attempts */
	uint64_t longest_ns; /* in one of them */
	/* Attempts that waited in vain for a thread that only wanted a processor, up to a few: on a machine with
	 * ten threads to each of its processors a turn comes after some 40 ms, and the next attempt waits longer. */
	unsigned queued;
	struct hsnap_vec(struct hsnap_tracee) tracees;
	uint64_t pause_ns;   /* first interrupt to last release, of this attempt; 0: nobody was interrupted */
	uint64_t released_at; /* ns since the epoch */
	pid_t late;
	char late_state;     /* as in /proc/PID/stat, while it was waited for */
	pid_t denied;        /* thread that could not be seized; sys_errno says why */
	int sys_errno;
};

/* One attempt.  Returns when the target runs again, or never ran in vain. */
enum hsnap_stop_end hsnap_stop_once(struct hsnap_stop *stop);
void hsnap_stop_deinit(struct hsnap_stop *stop);

static inline bool hsnap_stop_is_interrupted(const struct hsnap_stop *stop)
{
	return stop->interrupted && *stop->interrupted;
}

/* The work is to end here with HSNAP_STOP_LONG: asked between pieces of it. */
bool hsnap_stop_is_over(const struct hsnap_stop *stop);

#endif
