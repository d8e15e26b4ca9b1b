/* SPDX-License-Identifier: MIT */
/* stop.c - one attempt: seize all, interrupt all, wait, work, release. */
#include "capture/freeze/stop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>

#include "capture/freeze/apart.h"
#include "capture/freeze/signals.h"
#include "capture/freeze/step.h"
#include "snapshot/base/cleanup.h"

#define DEADLINE_NS 20000000u /* longer than any thread takes that can stop at all */
#define MAX_QUEUED 4          /* doublings of it on a busy machine: see hsnap_stop.queued */
#define THREAD_NS 25000u      /* each has to be asked, and gets a processor after the others */
#define POLL_NS 20000
#define RELEASE_NS 20000u     /* a thread: letting go of 200 sleepers takes 3.3 to 3.8 ms */
#define PATIENCE_NS 2000000000u
#define SPARE_TRACEES 64      /* threads that may appear while nothing must be allocated */
#define MAX_LISTINGS 100

struct attempt {
	struct hsnap_stop *stop;
	int task;           /* /proc/PID/task */
	uint64_t ignored;   /* signals that end in nothing: bit n - 1 */
	bool window;        /* the first interrupt was sent */
	size_t listed;      /* tracee that is the next in the list of threads, if nothing has changed */
	uint64_t began;
	enum hsnap_stop_end end;
};

/* The list is in the order in which they were seized, but for those that are gone: so it is looked
 * for from where the last one was found on. */
static bool has_tracee(struct attempt *a, pid_t tid)
{
	const struct hsnap_stop *stop = a->stop;
	for (size_t i = 0, at = a->listed; i < stop->tracees.num; i++, at++) {
		at = at < stop->tracees.num ? at : 0;
		if (stop->tracees.items[at].tid == tid) {
			a->listed = at + 1;
			return true;
		}
	}
	return false;
}

/* A thread born of one that we hold is ours from birth: seizing it again is not permitted. */
static bool is_ours(const struct attempt *a, pid_t tid)
{
	struct hsnap_proc_status status;
	return hsnap_proc_status(a->stop->proc, tid, &status) && status.tracer == (uint64_t)gettid();
}

static enum hsnap_stop_end seize(struct attempt *a, pid_t tid, bool *ret_new)
{
	struct hsnap_stop *stop = a->stop;
	if (has_tracee(a, tid))
		return HSNAP_STOP_DONE;
	if (a->window ? stop->tracees.num == stop->tracees.capacity
		      : !hsnap_vec_reserve(&stop->tracees, SPARE_TRACEES))
		return a->window ? HSNAP_STOP_AGAIN : HSNAP_STOP_NO_MEMORY;
	if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACECLONE)) {
		int error = errno;
		if (error == ESRCH)
			return HSNAP_STOP_DONE;
		if (!is_ours(a, tid)) {
			struct hsnap_proc_status status;
			if (tid != stop->pid && (!hsnap_proc_status(stop->proc, tid, &status) || status.state == 'Z' ||
						 status.state == 'X'))
				return HSNAP_STOP_DONE; /* it was about to end */
			stop->sys_errno = error;
			stop->denied = tid;
			return HSNAP_STOP_DENIED;
		}
	}
	stop->tracees.items[stop->tracees.num++] = (struct hsnap_tracee){ .tid = tid };
	*ret_new = true;
	return HSNAP_STOP_DONE;
}

/* One look at the list of threads; readdir() would allocate. */
static enum hsnap_stop_end seize_listed(struct attempt *a, bool *ret_new)
{
	_Alignas(struct dirent64) char buffer[16384];
	*ret_new = false;
	if (lseek(a->task, 0, SEEK_SET) < 0)
		return HSNAP_STOP_GONE;
	for (;;) {
		long n = syscall(SYS_getdents64, a->task, buffer, sizeof(buffer));
		if (n < 0)
			return HSNAP_STOP_GONE;
		if (!n)
			return HSNAP_STOP_DONE;
		for (long at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(buffer + at);
			at += entry->d_reclen;
			pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
			enum hsnap_stop_end end = tid > 0 ? seize(a, tid, ret_new) : HSNAP_STOP_DONE;
			if (end)
				return end;
		}
	}
}

/* Until the list shows nobody new: whoever we hold cannot make a thread that is not held. */
static enum hsnap_stop_end seize_all(struct attempt *a)
{
	bool found_new = true;
	for (int i = 0; found_new; i++) {
		enum hsnap_stop_end end = seize_listed(a, &found_new);
		if (end)
			return end;
		if (i >= MAX_LISTINGS)
			return HSNAP_STOP_AGAIN;
	}
	return a->stop->tracees.num ? HSNAP_STOP_DONE : HSNAP_STOP_GONE;
}

/* See who has stopped by now; `late` is one that has not. */
static enum hsnap_stop_end collect_stops(struct attempt *a, pid_t *late)
{
	struct hsnap_stop *stop = a->stop;
	for (size_t i = 0; i < stop->tracees.num; i++) {
		struct hsnap_tracee *tracee = &stop->tracees.items[i];
		if (tracee->state != HSNAP_TRACEE_RUNS || !tracee->asked)
			continue;
		int error = hsnap_tracee_meet(tracee, a->ignored);
		if (error == ENOEXEC)
			return HSNAP_STOP_FOREIGN;
		if (error && !*late)
			*late = tracee->tid;
	}
	return HSNAP_STOP_DONE;
}

/* They have had that many times the time that all take. */
static bool is_late(const struct attempt *a, unsigned times)
{
	uint64_t deadline = ((uint64_t)DEADLINE_NS << a->stop->queued) + THREAD_NS * (uint64_t)a->stop->tracees.num;
	return hsnap_now(CLOCK_MONOTONIC) - a->began > times * deadline;
}

/* Ask everybody, then see who has stopped, until all have or the deadline is over. */
static enum hsnap_stop_end interrupt_all(struct attempt *a)
{
	struct hsnap_stop *stop = a->stop;
	for (size_t i = 0; i < stop->tracees.num; i++) {
		struct hsnap_tracee *tracee = &stop->tracees.items[i];
		if (tracee->asked)
			continue;
		tracee->asked = true;
		if (ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL) && errno == ESRCH)
			tracee->state = HSNAP_TRACEE_GONE;
	}
	for (;;) {
		pid_t late = 0;
		uint64_t began = hsnap_now(CLOCK_MONOTONIC);
		enum hsnap_stop_end end = collect_stops(a, &late);
		if (end || !late)
			return end;
		if (is_late(a, 1) || hsnap_stop_is_over(stop)) {
			stop->late = late;
			return HSNAP_STOP_LATE;
		}
		/* They need a processor to get to their stop: of thousands, looking alone would take one. */
		uint64_t took = hsnap_now(CLOCK_MONOTONIC) - began;
		nanosleep(&(struct timespec){ .tv_nsec = took > POLL_NS ? (long)(took % DEADLINE_NS) : POLL_NS }, NULL);
	}
}

bool hsnap_stop_is_over(const struct hsnap_stop *stop)
{
	return stop->ends_at && hsnap_now(CLOCK_MONOTONIC) >= stop->ends_at;
}

/* What is left of the longest pause, less what letting go takes. */
static void set_end(const struct attempt *a)
{
	struct hsnap_stop *stop = a->stop;
	stop->ends_at = 0;
	if (!stop->max_pause_ns)
		return;
	uint64_t left = stop->max_pause_ns > stop->spent_ns ? stop->max_pause_ns - stop->spent_ns : 0;
	uint64_t release = stop->tracees.num * RELEASE_NS;
	stop->ends_at = a->began + left - (release < left / 2 ? release : left / 2);
}

/* Every thread is stopped, those included that appeared while we were at it. */
static enum hsnap_stop_end stop_all(struct attempt *a)
{
	a->window = true;
	a->began = hsnap_now(CLOCK_MONOTONIC);
	set_end(a);
	bool found_new = true;
	while (found_new) {
		enum hsnap_stop_end end = interrupt_all(a);
		if (end)
			return end;
		hsnap_step("interrupted");
		end = seize_listed(a, &found_new);
		if (end)
			return end;
		if (is_late(a, 2))
			return HSNAP_STOP_AGAIN;
	}
	if (hsnap_stop_is_interrupted(a->stop))
		return HSNAP_STOP_INTERRUPTED;
	for (size_t i = 0; i < a->stop->tracees.num; i++)
		if (a->stop->tracees.items[i].state == HSNAP_TRACEE_STOPPED)
			return HSNAP_STOP_DONE;
	return HSNAP_STOP_GONE;
}

static void release_stopped(struct attempt *a)
{
	bool first = true;
	for (size_t i = 0; i < a->stop->tracees.num; i++) {
		struct hsnap_tracee *tracee = &a->stop->tracees.items[i];
		if (tracee->state != HSNAP_TRACEE_STOPPED)
			continue;
		hsnap_tracee_release(tracee, a->ignored);
		if (first && !a->end)
			hsnap_step("first-released");
		first = false;
	}
	/* Not a thread of this process, or one that was not listed any more. */
	for (size_t i = 0; i < a->stop->tracees.num; i++) {
		struct hsnap_tracee *tracee = &a->stop->tracees.items[i];
		if (tracee->born && !has_tracee(a, tracee->born))
			hsnap_tracee_release_born(tracee->born);
		tracee->born = 0;
	}
}

static char state_of(const struct hsnap_stop *stop, pid_t tid)
{
	struct hsnap_proc_status status = { 0 };
	return hsnap_proc_status(stop->proc, tid, &status) ? status.state : '?';
}

/*
 * An attempt that is given up leaves threads that were asked to stop and have not.  On a busy
 * machine one may only wait for a processor: it is met and released when it stops, so that its call
 * is mended too.  What stands in the kernel for long (D) makes no call that a stop can break: it is
 * let go when our thread ends.  The others run already.
 */
static void release_late(struct attempt *a)
{
	for (uint64_t began = hsnap_now(CLOCK_MONOTONIC); hsnap_now(CLOCK_MONOTONIC) - began < PATIENCE_NS;) {
		pid_t late = 0;
		while (collect_stops(a, &late))
			;
		release_stopped(a);
		if (!late)
			return;
		bool hopeless = true;
		for (size_t i = 0; hopeless && i < a->stop->tracees.num; i++) {
			const struct hsnap_tracee *tracee = &a->stop->tracees.items[i];
			hopeless = tracee->state != HSNAP_TRACEE_RUNS || !tracee->asked ||
				   state_of(a->stop, tracee->tid) == 'D';
		}
		if (hopeless)
			return;
		nanosleep(&(struct timespec){ .tv_nsec = 20 * POLL_NS }, NULL);
	}
}

static void *run_attempt(void *argument)
{
	struct attempt *a = argument;
	struct hsnap_stop *stop = a->stop;
	hsnap_apart_hurry();
	a->ignored = hsnap_signals_ignored(stop->proc, stop->pid);
	hsnap_step("before-seize");
	a->end = seize_all(a);
	hsnap_step("seized");
	if (!a->end)
		a->end = stop_all(a);
	if (!a->end) {
		hsnap_step("stopped");
		a->end = stop->work(stop->context, stop);
		hsnap_step("before-release");
	}
	if (a->end == HSNAP_STOP_LATE) {
		stop->late_state = state_of(stop, stop->late);
		stop->queued += stop->late_state != 'D' && stop->queued < MAX_QUEUED;
	}
	release_stopped(a);
	stop->pause_ns = a->window ? hsnap_now(CLOCK_MONOTONIC) - a->began : 0;
	stop->spent_ns += stop->pause_ns;
	if (stop->pause_ns > stop->longest_ns)
		stop->longest_ns = stop->pause_ns;
	stop->released_at = hsnap_now(CLOCK_REALTIME);
	if (!a->end) /* else some may not have been met yet */
		hsnap_step("released");
	if (a->end && a->window)
		release_late(a);
	if (!a->end && stop->after) {
		hsnap_apart_rest();
		stop->after(stop->context);
	}
	return NULL;
}

enum hsnap_stop_end hsnap_stop_once(struct hsnap_stop *stop)
{
	struct attempt attempt = { .stop = stop, .end = HSNAP_STOP_NO_MEMORY };
	stop->tracees.num = 0;
	stop->pause_ns = 0;
	hsnap_auto(hsnap_closefdp) int task = hsnap_proc_open(stop->proc, O_RDONLY | O_DIRECTORY, "proc/%d/task",
							      stop->pid);
	if (task < 0)
		return errno == ENOENT ? HSNAP_STOP_GONE : HSNAP_STOP_NO_MEMORY;
	attempt.task = task;

	if (hsnap_apart(run_attempt, &attempt))
		return attempt.end;
	stop->sys_errno = errno;
	return HSNAP_STOP_NO_THREAD;
}

void hsnap_stop_deinit(struct hsnap_stop *stop)
{
	hsnap_vec_deinit(&stop->tracees);
}
