/* SPDX-License-Identifier: MIT */
/* inject.c - finding a thread, stopping it, giving it back. */
#include "capture/freeze/inject.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "capture/freeze/apart.h"
#include "capture/freeze/refuse.h"
#include "capture/freeze/signals.h"
#include "capture/freeze/step.h"
#include "snapshot/base/cleanup.h"

#define LOOK_NS 5000000u        /* after that it is asked why a thread does not stop */
#define MAX_WAIT_NS 2000000000u
#define PATIENCE_NS 250000000u  /* for one to be had */
#define POLL_NS 100000
#define PAUSE_NS 2000000
#define MAX_TRIES 64            /* threads stopped in vain */

struct attempt {
	struct hsnap_injection *injection;
	uint64_t ignored;
	unsigned tries;
	bool done, denied;
	bool stuck; /* one was asked to stop and did not */
	int sys_errno;
	pid_t denied_tid;
	enum hsnap_loan loan; /* of the last that was not to be had */
};

enum promise { NO_PROMISE, RUNS, SLEEPS };

/* futex(2): these wait, with a time-out where the fourth argument is not NULL. */
static bool has_timeout(uint64_t operation, uint64_t timeout)
{
	switch (operation & 0x7f) {
	case 0:  /* FUTEX_WAIT */
	case 9:  /* FUTEX_WAIT_BITSET */
	case 11: /* FUTEX_WAIT_REQUEUE_PI */
		return timeout != 0;
	default:
		return false;
	}
}

/* Would it stand well?  /proc/PID/task/TID/syscall says so without a stop: "running", or the number
 * of the call and its arguments, in hexadecimal, or "-1". */
static enum promise look_at(const struct hsnap_lender *lender, pid_t tid)
{
	hsnap_auto(hsnap_freep) char *stat = hsnap_proc_read(lender->proc, "proc/%d/task/%d/stat", lender->pid, tid);
	const char *end = stat ? strrchr(stat, ')') : NULL;
	if (!end || !end[1] || !strchr("RS", end[2]))
		return NO_PROMISE;
	hsnap_auto(hsnap_freep) char *text = hsnap_proc_read(lender->proc, "proc/%d/task/%d/syscall", lender->pid,
							     tid);
	long number;
	uint64_t arguments[4] = { 0 };
	if (!text || end[2] == 'R' ||
	    sscanf(text, "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64, &number, &arguments[0], &arguments[1],
		   &arguments[2], &arguments[3]) < 5)
		return RUNS;
	switch (number) {
	case SYS_clock_nanosleep: /* to an hour (TIMER_ABSTIME) it can be made again, for a while it cannot */
		return arguments[1] & 1 ? SLEEPS : NO_PROMISE;
	case SYS_nanosleep:
	case SYS_restart_syscall:
		return NO_PROMISE;
	case SYS_poll:
		return (int32_t)arguments[2] < 0 ? SLEEPS : NO_PROMISE;
	case SYS_futex:
		return has_timeout(arguments[1], arguments[3]) ? NO_PROMISE : SLEEPS;
	default:
		return SLEEPS;
	}
}

/*
 * On a busy machine a thread may wait for a processor before it can stop: it must be met all the
 * same, to mend its call.  What stands in the kernel for long (D) makes no call that a stop can
 * break: it is let go when our thread ends.
 */
static bool await_stop(const struct attempt *a, struct hsnap_tracee *tracee)
{
	const struct hsnap_lender *lender = a->injection->lender;
	uint64_t began = hsnap_now(CLOCK_MONOTONIC), looked = began;
	for (uint64_t now = began; now - began < MAX_WAIT_NS; now = hsnap_now(CLOCK_MONOTONIC)) {
		if (hsnap_tracee_meet(tracee, a->ignored) != EAGAIN)
			return tracee->state == HSNAP_TRACEE_STOPPED;
		struct hsnap_proc_status status = { 0 };
		if (now - looked > LOOK_NS) {
			if (hsnap_proc_status(lender->proc, tracee->tid, &status) && status.state == 'D')
				break;
			looked = now;
		}
		hsnap_apart_nap(POLL_NS);
	}
	return false;
}

/* Stop it, and use it if it stands well. */
static void try_thread(struct attempt *a, pid_t tid)
{
	struct hsnap_injection *injection = a->injection;
	struct hsnap_tracee tracee = { .tid = tid };
	struct hsnap_borrowed borrowed;
	/* Whoever it makes is not ours: nobody here would let it go. */
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		if (errno != ESRCH) {
			a->denied = true;
			a->sys_errno = errno;
			a->denied_tid = tid;
		}
		return;
	}
	a->tries++;
	hsnap_step("lone-seized");
	uint64_t began = hsnap_now(CLOCK_MONOTONIC);
	bool stands = !ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) && await_stop(a, &tracee);
	hsnap_step("lone-stopped");
	a->loan = stands ? hsnap_borrow(&borrowed, injection->lender, &tracee) : HSNAP_LOAN_NOT_NOW;
	if (!a->loan) {
		injection->work(injection->context, &borrowed);
		a->done = true;
		if (!hsnap_give_back(&borrowed))
			tracee.rewound = false; /* its frame restores it */
	}
	a->stuck = tracee.state == HSNAP_TRACEE_RUNS;
	if (tracee.state == HSNAP_TRACEE_STOPPED)
		hsnap_tracee_release(&tracee, a->ignored);
	uint64_t pause = hsnap_now(CLOCK_MONOTONIC) - began;
	injection->spent_ns += pause;
	if (pause > injection->pause_ns)
		injection->pause_ns = pause;
	hsnap_step("lone-released");
}

/* Another thread, or later, may do. */
static bool is_final(const struct attempt *a)
{
	return a->done || a->denied || a->stuck || a->tries >= MAX_TRIES || a->loan > HSNAP_LOAN_NO_STACK ||
	       (a->injection->interrupted && *a->injection->interrupted);
}

static void try_all(struct attempt *a, const struct hsnap_proc_ids *tids)
{
	for (int want = SLEEPS; want >= RUNS; want--)
		for (size_t i = 0; i < tids->num && !is_final(a); i++)
			if (look_at(a->injection->lender, tids->items[i]) == (enum promise)want)
				try_thread(a, tids->items[i]);
}

static void *run_attempt(void *argument)
{
	struct attempt *a = argument;
	const struct hsnap_lender *lender = a->injection->lender;
	struct hsnap_proc_ids tids = { 0 };
	hsnap_apart_hurry();
	a->ignored = hsnap_signals_ignored(lender->proc, lender->pid);
	for (uint64_t began = hsnap_now(CLOCK_MONOTONIC); !is_final(a);) {
		if (!hsnap_proc_list(lender->proc, &tids, "proc/%d/task", lender->pid)) {
			a->loan = HSNAP_LOAN_GONE;
			break;
		}
		try_all(a, &tids);
		if (hsnap_now(CLOCK_MONOTONIC) - began > PATIENCE_NS)
			break;
		if (!is_final(a))
			nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	}
	hsnap_vec_deinit(&tids);
	return NULL;
}

enum hsnap_code hsnap_inject(struct hsnap_injection *injection, struct hsnap_error *err)
{
	struct attempt attempt = { .injection = injection, .loan = HSNAP_LOAN_NOT_NOW };
	const struct hsnap_lender *lender = injection->lender;
	injection->pause_ns = injection->spent_ns = 0;
	if (!hsnap_apart(run_attempt, &attempt))
		return hsnap_refuse_thread(errno, err);
	if (attempt.done)
		return HSNAP_OK;
	if (attempt.denied)
		return hsnap_refuse_denied(lender->proc, attempt.denied_tid, attempt.sys_errno, err);
	if (injection->interrupted && *injection->interrupted)
		return hsnap_fail(err, HSNAP_INTERRUPTED, 0, "interrupted");
	return hsnap_loan_fail(err, attempt.loan);
}
