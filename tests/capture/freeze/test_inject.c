/* SPDX-License-Identifier: MIT */
/* test_inject.c - a process that has made calls for us goes on as if nothing had been. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/freeze/inject.h"
#include "capture/proc/proc.h"
#include "tests/capture/freeze/patient.h"

TestSuite(inject, .timeout = 60);

/* The patient noticed nothing; `descriptors` of ours may have stayed. */
static void expect_unharmed(struct child *patient, int descriptors, const char *when)
{
	char line[256];
	int left = -1;
	close(patient->in);
	patient->in = -1;
	cr_assert(child_expect(patient, "eintr", line, sizeof(line)), "%s: it did not go on: %s", when, line);
	cr_expect_eq(sscanf(line, "eintr 0 wrong 0 lost 0 descriptors %d children 0 ", &left), 1, "%s: %s", when, line);
	cr_expect(left >= 0 && left <= descriptors, "%s: %s", when, line);
	cr_expect_eq(child_wait(patient), 0, "%s", when);
}

/* Exit status of an injector, and its first line. */
static int inject(pid_t pid, const char *times, const char *suspend, char *line, size_t size)
{
	char number[16];
	snprintf(number, sizeof(number), "%d", pid);
	struct child injector = child_start(INJECTOR, number, times, suspend, NULL);
	line[0] = '\0';
	child_expect(&injector, "", line, size);
	return child_wait(&injector);
}

/* Threads that sleep in every way, and one that never does. */
static const char *const modes[] = { "busy", "spinner" };

ParameterizedTestParameters(inject, goes_on)
{
	static size_t index[sizeof(modes) / sizeof(*modes)];
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, sizeof(modes) / sizeof(*modes));
}

ParameterizedTest(size_t *row, inject, goes_on)
{
	char line[256], expected[64];
	struct child patient = start_patient(modes[*row], "1");
	cr_expect_eq(inject(patient.pid, "50", NULL, line, sizeof(line)), 0, "%s", line);
	snprintf(expected, sizeof(expected), "parent %d opened 1 closed 0 ", getpid());
	cr_expect(!strncmp(line, expected, strlen(expected)), "%s", line);
	expect_unharmed(&patient, 0, modes[*row]);
}

/* At each of its steps, and of the calls one of each kind: how many descriptors may then be left. */
static const struct {
	const char *step;
	int descriptors;
} steps[] = {
	{ "lone-seized", 0 }, { "lone-stopped", 0 }, { "framed", 0 },
	{ "ask-set", 0 }, { "ask-masked", 0 }, { "ask-entered", 0 }, { "ask-returned", 0 },
	{ "open-set", 1 }, { "open-masked", 1 }, { "open-entered", 1 }, { "open-returned", 1 },
	{ "close-set", 0 }, { "close-masked", 0 }, { "close-entered", 0 }, { "close-returned", 0 },
	{ "called", 0 }, { "unmasked", 0 }, { "given-back", 0 }, { "lone-released", 0 },
};

ParameterizedTestParameters(inject, killed_at_a_step)
{
	static size_t index[2 * sizeof(steps) / sizeof(*steps)];
	for (size_t i = 0; i < sizeof(index) / sizeof(*index); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, sizeof(index) / sizeof(*index));
}

ParameterizedTest(size_t *row, inject, killed_at_a_step)
{
	const size_t step = *row / 2;
	char variable[64], pid[16], line[256];
	struct child patient = start_patient(modes[*row % 2], "1");
	snprintf(variable, sizeof(variable), "HEAPSNAP_STEP=%s", steps[step].step);
	snprintf(pid, sizeof(pid), "%d", patient.pid);
	for (int i = 0; i < 3; i++) {
		struct child injector = child_start_as(false, variable, INJECTOR_STEPS, (const char *const[]){ pid, "1", NULL });
		cr_assert(child_expect(&injector, "step", line, sizeof(line)), "step %s is never reached: %s",
			  steps[step].step, line);
		sleep_ms(15);
		child_kill(&injector);
		sleep_ms(10);
	}
	expect_unharmed(&patient, 3 * steps[step].descriptors, steps[step].step);
}

Test(inject, a_sandbox_is_not_called_into)
{
	char line[256];
	struct child patient = start_patient("sandbox", NULL);
	cr_expect_eq(inject(patient.pid, "1", NULL, line, sizeof(line)), 4);
	cr_expect_str_eq(line, "no system call can be made in it: it has a seccomp filter");
	/* Lifted for the moment where that is permitted; else nothing is done. */
	int status = inject(patient.pid, "3", "suspend", line, sizeof(line));
	if (geteuid())
		cr_expect(status == 4 && strstr(line, "its seccomp filter cannot be lifted"), "%s", line);
	else
		cr_expect(!status && strstr(line, " opened 1 closed 0 "), "%s", line);
	close(patient.in);
	patient.in = -1;
	cr_expect(child_expect(&patient, "fine", line, sizeof(line)));
	cr_expect_eq(child_wait(&patient), 0);
}

/* The line of its groups comes first in its status, and may be longer than any room for the whole. */
Test(inject, a_sandbox_with_many_groups_is_not_called_into)
{
	if (geteuid())
		cr_skip_test("needs root, to be in many groups");
	static gid_t groups[3000];
	char line[256];
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
		groups[i] = 1000000000u + (gid_t)i;
	cr_assert_eq(setgroups(sizeof(groups) / sizeof(*groups), groups), 0);
	struct child patient = start_patient("sandbox", NULL);
	cr_expect_eq(inject(patient.pid, "1", NULL, line, sizeof(line)), 4);
	cr_expect_str_eq(line, "no system call can be made in it: it has a seccomp filter");
	close(patient.in);
	patient.in = -1;
	cr_expect(child_expect(&patient, "fine", line, sizeof(line)));
	cr_expect_eq(child_wait(&patient), 0);
}

Test(inject, sleepers_that_cannot_begin_again_are_left_alone)
{
	char line[256];
	struct child patient = start_patient("sleepers", "3");
	/* Its main thread reads. */
	cr_expect_eq(inject(patient.pid, "1", NULL, line, sizeof(line)), 0, "%s", line);
	cr_expect_eq(child_finish(&patient), 0);
	struct child sleeper = child_start("/bin/sleep", "20", NULL);
	char *comm = NULL;
	struct hsnap_proc proc;
	cr_assert_eq(hsnap_proc_init(&proc, "/", NULL), HSNAP_OK);
	for (int left = 2000; left && !(comm && !strcmp(comm, "sleep\n")); left--) {
		sleep_ms(5);
		free(comm);
		comm = hsnap_proc_read(&proc, "proc/%d/comm", sleeper.pid);
	}
	free(comm);
	hsnap_proc_deinit(&proc);
	sleep_ms(50);
	cr_expect_eq(inject(sleeper.pid, "1", NULL, line, sizeof(line)), 4);
	cr_expect(strstr(line, "all wait in calls that cannot be begun again"), "%s", line);
	child_kill(&sleeper);
}

static void note_call(void *context, struct hsnap_borrowed *borrowed)
{
	*(bool *)context = true;
	(void)hsnap_borrowed_call(borrowed, "ask", SYS_getppid, (uint64_t[6]){ 0 });
}

/* So looks to us one that has become another program since. */
Test(inject, nothing_is_called_where_other_code_is_by_now)
{
	struct hsnap_proc proc;
	struct hsnap_error err = { 0 };
	struct child patient = start_patient("busy", "1");
	cr_assert_eq(hsnap_proc_init(&proc, "/", &err), HSNAP_OK);
	for (int i = 0; i < 2; i++) {
		bool called = false;
		struct hsnap_lender lender;
		struct hsnap_injection injection = { .lender = &lender, .work = note_call, .context = &called };
		cr_assert_eq(hsnap_lender_init(&lender, &proc, patient.pid, false, &err), HSNAP_OK);
		*(i ? &lender.gate.leave : &lender.gate.call) += 1;
		cr_expect_eq(hsnap_inject(&injection, &err), HSNAP_REFUSED);
		cr_expect(!called);
		hsnap_lender_deinit(&lender);
	}
	hsnap_proc_deinit(&proc);
	expect_unharmed(&patient, 0, "other code");
}

/* So sleeps Python: it can be borrowed, though its only thread does nothing else. */
Test(inject, a_sleeper_to_a_moment_is_borrowed)
{
	char line[256];
	struct child sleeper = start_patient("until", "1500");
	sleep_ms(50);
	cr_expect_eq(inject(sleeper.pid, "20", NULL, line, sizeof(line)), 0, "%s", line);
	cr_assert(child_expect(&sleeper, "error", line, sizeof(line)));
	cr_expect_str_eq(line, "error 0 early 0");
	cr_expect_eq(child_wait(&sleeper), 0);
}

Test(inject, a_stopped_process_is_left_alone)
{
	char line[256];
	struct child patient = start_patient("busy", "1");
	kill(patient.pid, SIGSTOP);
	cr_assert_eq(waitpid(patient.pid, NULL, WUNTRACED), patient.pid);
	cr_expect_eq(inject(patient.pid, "1", NULL, line, sizeof(line)), 4, "%s", line);
	cr_expect_eq(waitpid(patient.pid, NULL, WCONTINUED | WNOHANG), 0);
	child_kill(&patient);
}
