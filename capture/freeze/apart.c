/* SPDX-License-Identifier: MIT */
/* apart.c - signals masked, then a thread. */
#include "capture/freeze/apart.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

bool hsnap_apart(void *(*run)(void *), void *argument)
{
	/* Ctrl-Z would hold the target for as long as it holds us; and the thread that holds it must
	 * not be the one that runs handlers. */
	sigset_t stops, all, before, meanwhile;
	sigemptyset(&stops);
	sigaddset(&stops, SIGTSTP);
	sigaddset(&stops, SIGTTIN);
	sigaddset(&stops, SIGTTOU);
	sigaddset(&stops, SIGCHLD); /* for hsnap_apart_nap(), and for nobody else */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_t thread;
	int error = pthread_create(&thread, NULL, run, argument);
	sigorset(&meanwhile, &before, &stops);
	pthread_sigmask(SIG_SETMASK, &meanwhile, NULL);
	if (!error)
		pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return !error;
}

void hsnap_apart_hurry(void)
{
	struct sched_param param = { .sched_priority = 1 };
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &param))
		(void)setpriority(PRIO_PROCESS, (id_t)gettid(), -20); /* not permitted: then without */
	(void)prctl(PR_SET_TIMERSLACK, 1UL); /* short waits are short: else each takes 50 us more */
}

void hsnap_apart_rest(void)
{
	struct sched_param param = { .sched_priority = 0 };
	(void)pthread_setschedparam(pthread_self(), SCHED_OTHER, &param);
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), 0);
}

void hsnap_apart_give_way(void)
{
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), 10);
}

void hsnap_apart_nap(long ns)
{
	sigset_t child;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	(void)sigtimedwait(&child, NULL, &(struct timespec){ .tv_nsec = ns });
}
