/* SPDX-License-Identifier: MIT */
/* child.h - starting programs in a test and talking to them. */
#ifndef HSNAP_TESTS_CAPTURE_SUPPORT_CHILD_H
#define HSNAP_TESTS_CAPTURE_SUPPORT_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int in, out; /* its stdin, and its stdout with stderr */
};

/* Start a program; the arguments end in NULL.  Fails the test when that is not possible. */
struct child child_start(const char *program, ...) __attribute__((sentinel));
/* The same with a variable of the environment ("NAME=value"), as an unused user where `nobody`. */
struct child child_start_as(bool nobody, const char *variable, const char *program, const char *const *arguments);
/* Start one that says READY, and wait for that. */
struct child child_start_ready(const char *program, const char *const *arguments);
/* Wait for a line that starts so; the whole line is left in `line`.  false: the output ended before. */
bool child_expect(struct child *child, const char *start, char *line, size_t size);
/* Close its stdin and wait for its end; returns the exit status, or 128 + the signal. */
int child_finish(struct child *child);
/* Its end, without closing anything first. */
int child_wait(struct child *child);
void child_kill(struct child *child);

void sleep_ms(long ms);

#endif
