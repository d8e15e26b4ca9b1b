/* SPDX-License-Identifier: MIT */
/* child.c - fork, exec, pipes. */
#include "tests/capture/support/child.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define UNUSED_USER 64123
#define MAX_ARGUMENTS 8

static void become_nobody(void)
{
	if (setgroups(0, NULL) || setgid(UNUSED_USER) || setuid(UNUSED_USER))
		_exit(127);
}

struct child child_start_as(bool nobody, const char *variable, const char *program, const char *const *arguments)
{
	int in[2], out[2];
	const char *all[MAX_ARGUMENTS + 2] = { program };
	for (int i = 0; i < MAX_ARGUMENTS && arguments[i]; i++)
		all[i + 1] = arguments[i];
	cr_assert(!pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC));
	pid_t pid = fork();
	cr_assert(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(out[1], 2);
		if (variable)
			putenv(strdup(variable));
		if (nobody)
			become_nobody();
		execv(program, (char *const *)all);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	return (struct child){ .pid = pid, .in = in[1], .out = out[0] };
}

struct child child_start(const char *program, ...)
{
	const char *arguments[MAX_ARGUMENTS + 1] = { NULL };
	va_list args;
	va_start(args, program);
	for (int i = 0; i < MAX_ARGUMENTS && (arguments[i] = va_arg(args, const char *)); i++)
		;
	va_end(args);
	return child_start_as(false, NULL, program, arguments);
}

bool child_expect(struct child *child, const char *start, char *line, size_t size)
{
	size_t used = 0;
	char byte;
	while (read(child->out, &byte, 1) == 1) {
		if (byte != '\n') {
			if (used < size - 1)
				line[used++] = byte;
			continue;
		}
		line[used] = '\0';
		if (!strncmp(line, start, strlen(start)))
			return true;
		used = 0;
	}
	line[used] = '\0';
	return false;
}

int child_wait(struct child *child)
{
	int status = 0;
	while (waitpid(child->pid, &status, 0) < 0)
		;
	if (child->in >= 0)
		close(child->in);
	close(child->out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int child_finish(struct child *child)
{
	close(child->in);
	child->in = -1;
	return child_wait(child);
}

void child_kill(struct child *child)
{
	kill(child->pid, SIGKILL);
	child_wait(child);
}

struct child child_start_ready(const char *program, const char *const *arguments)
{
	char line[256];
	struct child child = child_start_as(false, NULL, program, arguments);
	cr_assert(child_expect(&child, "READY", line, sizeof(line)));
	return child;
}

void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L }, NULL);
}
