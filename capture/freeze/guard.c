/* SPDX-License-Identifier: MIT */
/* guard.c - standing by, and asking for a child that has ended. */
#include "capture/freeze/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/freeze/apart.h"
#include "capture/freeze/inject.h"
#include "capture/freeze/step.h"
#include "snapshot/base/cleanup.h"

#define PARENT 4       /* fields of stat */
#define EXIT_SIGNAL 38
#define LOOK_NS 500000000u      /* for a child that we were not told of */
#define PATIENCE_NS 30000000000u
#define PAUSE_NS 5000000
#define CALL_CLOSE_RANGE 436 /* Linux 5.9 */
#define MAX_DESCRIPTORS 4096 /* before that: no more than are likely */

struct asking {
	uint64_t child; /* as the target numbers it */
	int64_t answer;
};

/* The n-th field of stat; the name may hold anything. */
static int64_t stat_field(const char *text, int n)
{
	const char *at = text ? strrchr(text, ')') : NULL;
	for (int field = 2; at && field < n; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoll(at, NULL, 10) : -1;
}

static bool is_child(const struct hsnap_freeze_options *options, pid_t pid, bool ended)
{
	hsnap_auto(hsnap_freep) char *stat = hsnap_proc_read(options->proc, "proc/%d/stat", pid);
	const char *end = stat ? strrchr(stat, ')') : NULL;
	return end && stat_field(stat, PARENT) == options->pid && !stat_field(stat, EXIT_SIGNAL) &&
	       (!ended || !strncmp(end, ") Z", 3));
}

/* The last number of the line is that in the innermost namespace, which is the target's. */
static uint64_t number_within(const struct hsnap_freeze_options *options, pid_t child)
{
	hsnap_auto(hsnap_freep) char *status = hsnap_proc_read(options->proc, "proc/%d/status", child);
	const char *line = status ? strstr(status, "\nNSpid:") : NULL;
	if (!line)
		return (uint64_t)child;
	const char *end = line + 1 + strcspn(line + 1, "\n"), *number = end;
	while (number > line && number[-1] >= '0' && number[-1] <= '9')
		number--;
	return strtoull(number, NULL, 10);
}

static void ask(void *context, struct hsnap_borrowed *borrowed)
{
	struct asking *asking = context;
	asking->answer = hsnap_borrowed_call(borrowed, "wait", SYS_wait4,
					     (uint64_t[6]){ asking->child, 0, WNOHANG | __WALL });
}

enum hsnap_code hsnap_reap(const struct hsnap_freeze_options *options, pid_t child, uint64_t patience_ns,
			   struct hsnap_error *err)
{
	struct hsnap_lender lender;
	struct asking asking = { .child = number_within(options, child) };
	struct hsnap_injection injection = { .lender = &lender, .work = ask, .context = &asking };
	enum hsnap_code code = HSNAP_OK;
	for (uint64_t began = hsnap_now(CLOCK_MONOTONIC); is_child(options, child, true);) {
		code = hsnap_lender_init(&lender, options->proc, options->pid, options->suspend_seccomp, err);
		if (!code)
			code = hsnap_inject(&injection, err);
		hsnap_lender_deinit(&lender);
		if (!is_child(options, child, true))
			return HSNAP_OK;
		if (hsnap_now(CLOCK_MONOTONIC) - began > patience_ns)
			return code ? code : hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "it does not ask for its child");
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	}
	return HSNAP_OK;
}

/* Its children of the kind that ours are. */
static bool list_children(const struct hsnap_freeze_options *options, struct hsnap_proc_ids *ret)
{
	struct hsnap_proc_ids all = { 0 };
	bool done = hsnap_proc_list(options->proc, &all, "proc");
	for (size_t i = 0; done && i < all.num; i++)
		if (is_child(options, all.items[i], false))
			done = hsnap_vec_push(ret, all.items[i]);
	hsnap_vec_deinit(&all);
	return done;
}

/* One that was not there before; 0: none. */
static pid_t find_child(const struct hsnap_freeze_options *options, const struct hsnap_proc_ids *before)
{
	struct hsnap_proc_ids now = { 0 };
	pid_t found = 0;
	if (!list_children(options, &now))
		now.num = 0;
	for (size_t i = 0; i < now.num && !found; i++) {
		bool known = false;
		for (size_t k = 0; k < before->num; k++)
			known |= before->items[k] == now.items[i];
		found = known ? 0 : now.items[i];
	}
	hsnap_vec_deinit(&now);
	return found;
}

/* We are dead.  The child dies with us, or ends by itself, a moment later. */
static void clear_up(const struct hsnap_freeze_options *options, const struct hsnap_proc_ids *before, pid_t child)
{
	uint64_t began = hsnap_now(CLOCK_MONOTONIC);
	while (!child && hsnap_now(CLOCK_MONOTONIC) - began < LOOK_NS) {
		child = find_child(options, before);
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	}
	while (child && is_child(options, child, false) && !is_child(options, child, true) &&
	       hsnap_now(CLOCK_MONOTONIC) - began < PATIENCE_NS)
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	struct hsnap_error why;
	if (child && hsnap_reap(options, child, PATIENCE_NS, &why))
		return; /* nobody is left to be told */
}

/* Nothing of ours is held open by it: a shell that reads our output must not wait for it. */
static void leave_all(int *socket, int *root)
{
	int kept[2] = { fcntl(*socket, F_DUPFD, 5), fcntl(*root, F_DUPFD, 5) };
	*socket = dup2(kept[0], 3);
	*root = dup2(kept[1], 4);
	if (syscall(CALL_CLOSE_RANGE, 5u, ~0u, 0))
		for (int fd = 5; fd < MAX_DESCRIPTORS; fd++)
			close(fd);
	for (int fd = 0; fd < 3; fd++) {
		close(fd);
		(void)open("/dev/null", O_RDWR);
	}
}

static _Noreturn void stand_by(const struct hsnap_freeze_options *options, const struct hsnap_proc_ids *before, int socket)
{
	struct hsnap_proc proc = *options->proc;
	struct hsnap_freeze_options own = *options;
	pid_t child = 0, told;
	own.proc = &proc;
	own.interrupted = NULL;
	hsnap_step_none();
	(void)prctl(PR_SET_NAME, "heapsnap-guard");
	leave_all(&socket, &proc.root);
	ssize_t n;
	while ((n = read(socket, &told, sizeof(told))) == (ssize_t)sizeof(told)) {
		if (told < 0)
			_exit(0);
		child = told;
	}
	clear_up(&own, before, child);
	_exit(0);
}

enum hsnap_code hsnap_guard_start(struct hsnap_guard *guard, const struct hsnap_freeze_options *options,
				  struct hsnap_error *err)
{
	struct hsnap_proc_ids before = { 0 };
	int ends[2];
	sigset_t all, mask;
	*guard = (struct hsnap_guard){ .socket = -1 };
	if (!list_children(options, &before) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
		hsnap_vec_deinit(&before);
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory, or of descriptors");
	}
	/* No signal ends it but one that nobody can block. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	pid_t pid = fork();
	if (!pid) {
		close(ends[0]);
		stand_by(options, &before, ends[1]);
	}
	sigprocmask(SIG_SETMASK, &mask, NULL);
	hsnap_vec_deinit(&before);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "cannot make a process: %s", strerror(errno));
	}
	*guard = (struct hsnap_guard){ .socket = ends[0], .pid = pid };
	return HSNAP_OK;
}

void hsnap_guard_tell(const struct hsnap_guard *guard, pid_t child)
{
	(void)send(guard->socket, &child, sizeof(child), MSG_NOSIGNAL); /* killed: then we are alone */
}

void hsnap_guard_end(struct hsnap_guard *guard)
{
	if (guard->socket < 0)
		return;
	hsnap_guard_tell(guard, -1);
	close(guard->socket);
	waitpid(guard->pid, NULL, 0);
	*guard = (struct hsnap_guard){ .socket = -1 };
}
