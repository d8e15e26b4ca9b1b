/* SPDX-License-Identifier: MIT */
/* stop.c - one attempt: seize all, interrupt all, wait, work, release. */
#include "capture/freeze/stop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "capture/freeze/step.h"
#include "snapshot/base/cleanup.h"

#define DEADLINE_NS 20000000u /* longer than any thread takes that can stop at all */
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
	uint64_t began;
	enum hsnap_stop_end end;
};

static uint64_t now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct hsnap_tracee *find_tracee(struct hsnap_stop *stop, pid_t tid)
{
	for (size_t i = stop->tracees.num; i--;)
		if (stop->tracees.items[i].tid == tid)
			return &stop->tracees.items[i];
	return NULL;
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
	if (find_tracee(stop, tid))
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

/* Is a signal waiting that will run a handler, stop or end the thread once it goes on? */
static bool signal_waits(const struct attempt *a, pid_t tid)
{
	uint64_t blocked = 0;
	if (ptrace(PTRACE_GETSIGMASK, tid, (void *)sizeof(blocked), &blocked))
		return true;
	static const uint32_t queues[] = { 0, PTRACE_PEEKSIGINFO_SHARED };
	for (size_t q = 0; q < 2; q++) {
		siginfo_t infos[16];
		struct __ptrace_peeksiginfo_args args = { .flags = queues[q], .nr = 16 };
		for (long n; (n = ptrace(PTRACE_PEEKSIGINFO, tid, &args, infos)) > 0; args.off += (uint64_t)n)
			for (long i = 0; i < n; i++) {
				unsigned bit = (unsigned)infos[i].si_signo - 1;
				if (bit < 64 && !((blocked | a->ignored) >> bit & 1))
					return true;
			}
	}
	return false;
}

/*
 * A call that only our stop made fail is made again.  This is done at once and not at the release,
 * so that it has been done when we are killed in between.
 */
static void mend_call(const struct attempt *a, struct hsnap_tracee *tracee)
{
	if (!hsnap_cpu_broke_call(&tracee->cpu) || signal_waits(a, tracee->tid))
		return;
	hsnap_cpu again = hsnap_cpu_rewound(&tracee->cpu);
	tracee->rewound = !hsnap_cpu_set(tracee->tid, &again);
}

static enum hsnap_stop_end note_stop(const struct attempt *a, struct hsnap_tracee *tracee, const siginfo_t *info)
{
	if (info->si_code != CLD_TRAPPED && info->si_code != CLD_STOPPED) {
		tracee->state = HSNAP_TRACEE_GONE;
		return HSNAP_STOP_DONE;
	}
	tracee->state = HSNAP_TRACEE_STOPPED;
	int event = info->si_status >> 8, signal = info->si_status & 0x7f;
	if (!event)
		tracee->signal = signal;
	int error = hsnap_cpu_get(tracee->tid, &tracee->cpu);
	if (error == ENOEXEC)
		return HSNAP_STOP_FOREIGN;
	if (error)
		tracee->state = HSNAP_TRACEE_GONE; /* killed between its stop and now */
	else if (event == PTRACE_EVENT_STOP && signal == SIGTRAP)
		mend_call(a, tracee); /* a stop by SIGSTOP fails such calls with or without us */
	return HSNAP_STOP_DONE;
}

/* See who has stopped by now; `late` is one that has not. */
static enum hsnap_stop_end collect_stops(struct attempt *a, pid_t *late)
{
	struct hsnap_stop *stop = a->stop;
	for (size_t i = 0; i < stop->tracees.num; i++) {
		struct hsnap_tracee *tracee = &stop->tracees.items[i];
		if (tracee->state != HSNAP_TRACEE_RUNS || !tracee->asked)
			continue;
		/* The report is left where it is (WNOWAIT): once it is taken, a signal met at the stop
		 * would be lost if we were killed before we hand it back. */
		siginfo_t info = { 0 };
		if (waitid(P_PID, (id_t)tracee->tid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL)) {
			tracee->state = HSNAP_TRACEE_GONE;
		} else if (info.si_pid) {
			enum hsnap_stop_end end = note_stop(a, tracee, &info);
			if (end)
				return end;
		} else if (!*late) {
			*late = tracee->tid;
		}
	}
	return HSNAP_STOP_DONE;
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
		enum hsnap_stop_end end = collect_stops(a, &late);
		if (end || !late)
			return end;
		if (now(CLOCK_MONOTONIC) - a->began > DEADLINE_NS || hsnap_stop_is_over(stop)) {
			stop->late = late;
			return HSNAP_STOP_LATE;
		}
		nanosleep(&(struct timespec){ .tv_nsec = POLL_NS }, NULL);
	}
}

bool hsnap_stop_is_over(const struct hsnap_stop *stop)
{
	return stop->ends_at && now(CLOCK_MONOTONIC) >= stop->ends_at;
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
	a->began = now(CLOCK_MONOTONIC);
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
		if (now(CLOCK_MONOTONIC) - a->began > 2 * DEADLINE_NS)
			return HSNAP_STOP_AGAIN;
	}
	if (hsnap_stop_is_interrupted(a->stop))
		return HSNAP_STOP_INTERRUPTED;
	for (size_t i = 0; i < a->stop->tracees.num; i++)
		if (a->stop->tracees.items[i].state == HSNAP_TRACEE_STOPPED)
			return HSNAP_STOP_DONE;
	return HSNAP_STOP_GONE;
}

static void release(const struct attempt *a, struct hsnap_tracee *tracee)
{
	/* A signal came meanwhile: with it the call fails of its own right, as programs expect that
	 * look at a flag of their handler then. */
	if (tracee->rewound && signal_waits(a, tracee->tid))
		hsnap_cpu_set(tracee->tid, &tracee->cpu);
	ptrace(PTRACE_DETACH, tracee->tid, NULL, (void *)(intptr_t)tracee->signal);
	tracee->state = HSNAP_TRACEE_RELEASED;
}

static void release_stopped(const struct attempt *a)
{
	bool first = true;
	for (size_t i = 0; i < a->stop->tracees.num; i++) {
		struct hsnap_tracee *tracee = &a->stop->tracees.items[i];
		if (tracee->state != HSNAP_TRACEE_STOPPED)
			continue;
		release(a, tracee);
		if (first && !a->end)
			hsnap_step("first-released");
		first = false;
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
	for (uint64_t began = now(CLOCK_MONOTONIC); now(CLOCK_MONOTONIC) - began < PATIENCE_NS;) {
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

/* The signals of which the target hears nothing, though the kernel queues them while it is traced. */
static void read_dispositions(struct attempt *a)
{
	struct hsnap_proc_status status = { 0 };
	if (!hsnap_proc_status(a->stop->proc, a->stop->pid, &status))
		return;
	static const int quiet[] = { SIGCHLD, SIGCONT, SIGURG, SIGWINCH };
	a->ignored = status.ignored;
	for (size_t i = 0; i < sizeof(quiet) / sizeof(*quiet); i++)
		if (!(status.caught >> (quiet[i] - 1) & 1))
			a->ignored |= (uint64_t)1 << (quiet[i] - 1);
}

/* Each thread that is let go would else take our place on the processor. */
static void raise_priority(void)
{
	struct sched_param param = { .sched_priority = 1 };
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &param))
		(void)setpriority(PRIO_PROCESS, (id_t)gettid(), -20); /* not permitted: then without */
}

static void *run_attempt(void *argument)
{
	struct attempt *a = argument;
	struct hsnap_stop *stop = a->stop;
	raise_priority();
	read_dispositions(a);
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
	if (a->end == HSNAP_STOP_LATE)
		stop->late_state = state_of(stop, stop->late);
	release_stopped(a);
	stop->pause_ns = a->window ? now(CLOCK_MONOTONIC) - a->began : 0;
	stop->spent_ns += stop->pause_ns;
	if (stop->pause_ns > stop->longest_ns)
		stop->longest_ns = stop->pause_ns;
	stop->released_at = now(CLOCK_REALTIME);
	hsnap_step("released");
	if (a->end && a->window)
		release_late(a);
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

	/* Ctrl-Z would hold the target for as long as it holds us; and the thread that holds it must
	 * not be the one that runs handlers. */
	sigset_t stops, all, before, meanwhile;
	sigemptyset(&stops);
	sigaddset(&stops, SIGTSTP);
	sigaddset(&stops, SIGTTIN);
	sigaddset(&stops, SIGTTOU);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_t thread;
	int error = pthread_create(&thread, NULL, run_attempt, &attempt);
	sigorset(&meanwhile, &before, &stops);
	pthread_sigmask(SIG_SETMASK, &meanwhile, NULL);
	if (!error)
		pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error ? HSNAP_STOP_NO_MEMORY : attempt.end;
}

void hsnap_stop_deinit(struct hsnap_stop *stop)
{
	hsnap_vec_deinit(&stop->tracees);
}
