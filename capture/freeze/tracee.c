/* SPDX-License-Identifier: MIT */
/* tracee.c - what a stop found, and giving it back. */
#include "capture/freeze/tracee.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "capture/freeze/apart.h"
#include "capture/freeze/signals.h"

#define BIRTH_NS 20000000u /* later it is let go when our thread ends */

/*
 * A call that only our stop made fail is made again.  This is done at once and not at the release,
 * so that it has been done when we are killed in between.
 */
static void mend_call(struct hsnap_tracee *tracee, uint64_t ignored)
{
	if (!hsnap_cpu_broke_call(&tracee->cpu) || hsnap_signals_wait(tracee->tid, ignored))
		return;
	hsnap_cpu again = hsnap_cpu_rewound(&tracee->cpu);
	tracee->rewound = !hsnap_cpu_set(tracee->tid, &again);
}

static int note_stop(struct hsnap_tracee *tracee, const siginfo_t *info, uint64_t ignored)
{
	if (info->si_code != CLD_TRAPPED && info->si_code != CLD_STOPPED) {
		tracee->state = HSNAP_TRACEE_GONE;
		return 0;
	}
	tracee->state = HSNAP_TRACEE_STOPPED;
	int event = info->si_status >> 8, signal = info->si_status & 0x7f;
	if (!event)
		tracee->signal = signal;
	unsigned long born = 0;
	if (event == PTRACE_EVENT_CLONE && !ptrace(PTRACE_GETEVENTMSG, tracee->tid, NULL, &born))
		tracee->born = (pid_t)born;
	int error = hsnap_cpu_get(tracee->tid, &tracee->cpu);
	if (error == ENOEXEC)
		return ENOEXEC;
	if (error) {
		tracee->state = HSNAP_TRACEE_GONE; /* killed between its stop and now */
		return 0;
	}
	tracee->plain = event == PTRACE_EVENT_STOP && signal == SIGTRAP;
	/* A signal that ends in nothing is only told while there is a tracer.  A stop by SIGSTOP fails
	 * such calls with or without us. */
	if (tracee->plain || (tracee->signal && ignored >> (tracee->signal - 1) & 1))
		mend_call(tracee, ignored);
	return 0;
}

int hsnap_tracee_meet(struct hsnap_tracee *tracee, uint64_t ignored)
{
	/* The report is left where it is (WNOWAIT): once it is taken, a signal met at the stop would be
	 * lost if we were killed before we hand it back. */
	siginfo_t info = { 0 };
	if (waitid(P_PID, (id_t)tracee->tid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL)) {
		tracee->state = HSNAP_TRACEE_GONE;
		return 0;
	}
	return info.si_pid ? note_stop(tracee, &info, ignored) : EAGAIN;
}

hsnap_cpu hsnap_tracee_goes_on(const struct hsnap_tracee *tracee)
{
	return tracee->rewound ? hsnap_cpu_rewound(&tracee->cpu) : tracee->cpu;
}

void hsnap_tracee_release(struct hsnap_tracee *tracee, uint64_t ignored)
{
	/* A signal came meanwhile: with it the call fails of its own right, as programs expect that
	 * look at a flag of their handler then. */
	if (tracee->rewound && hsnap_signals_wait(tracee->tid, ignored))
		hsnap_cpu_set(tracee->tid, &tracee->cpu);
	ptrace(PTRACE_DETACH, tracee->tid, NULL, (void *)(intptr_t)tracee->signal);
	tracee->state = HSNAP_TRACEE_RELEASED;
}

bool hsnap_tracee_await_born(pid_t born, uint64_t ns)
{
	for (uint64_t began = hsnap_now(CLOCK_MONOTONIC); hsnap_now(CLOCK_MONOTONIC) - began < ns;) {
		siginfo_t info = { 0 };
		if (waitid(P_PID, (id_t)born, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL))
			return false;
		if (info.si_pid)
			return true;
		hsnap_apart_nap(20000);
	}
	errno = ETIMEDOUT;
	return false;
}

void hsnap_tracee_release_born(pid_t born)
{
	if (hsnap_tracee_await_born(born, BIRTH_NS))
		ptrace(PTRACE_DETACH, born, NULL, NULL);
}
