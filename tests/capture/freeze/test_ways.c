/* SPDX-License-Identifier: MIT */
/* test_ways.c - processes in every state, by every way: taken or refused for a reason, and unharmed. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/freeze/freeze.h"
#include "tests/capture/freeze/patient.h"

static struct hsnap_proc proc;

static void set_up(void)
{
	cr_assert_eq(hsnap_proc_init(&proc, "/", NULL), HSNAP_OK);
	cr_assert_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
}

TestSuite(ways, .init = set_up, .timeout = 300);

/* As a user asks for them; "auto" is the first. */
static const char *const names[HSNAP_NUM_FREEZE_MODES] = { "auto", "copy", "precopy", "clone" };

#define EACH_WAY(test) \
	ParameterizedTestParameters(ways, test) \
	{ \
		static size_t modes[HSNAP_NUM_FREEZE_MODES]; \
		for (size_t i = 0; i < HSNAP_NUM_FREEZE_MODES; i++) \
			modes[i] = i; \
		return cr_make_param_array(size_t, modes, HSNAP_NUM_FREEZE_MODES); \
	} \
	ParameterizedTest(size_t *mode, ways, test)

/* A machine may not have a way; what it has not is told, and auto finds another. */
static enum hsnap_code freeze_once(pid_t pid, size_t mode, struct hsnap_frozen *frozen, struct hsnap_error *err)
{
	*err = (struct hsnap_error){ 0 };
	enum hsnap_code code = hsnap_freeze(&(struct hsnap_freeze_options){
		.proc = &proc, .pid = pid, .scratch = -1, .mode = (enum hsnap_freeze_mode)mode, .max_pause_ns = 2000000000u,
	}, frozen, err);
	if (mode == HSNAP_FREEZE_PRECOPY && code && strstr(err->message, "cannot watch what it writes"))
		cr_skip_test("no precopy on this kernel: %s", err->message);
	if (!code && mode != HSNAP_FREEZE_AUTO)
		cr_expect_str_eq(frozen->mode, names[mode]);
	return code;
}

/* It was taken, and is let go. */
static void expect_taken(pid_t pid, size_t mode, const char *state)
{
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	cr_assert_eq(freeze_once(pid, mode, &frozen, &err), HSNAP_OK, "%s, %s: %s", names[mode], state, err.message);
	cr_expect_eq(frozen.lost, 0);
	hsnap_frozen_deinit(&frozen);
	struct hsnap_proc_status status = { 0 };
	cr_assert(hsnap_proc_status(&proc, pid, &status));
	cr_expect_eq(status.tracer, 0, "%s, %s: it is still held", names[mode], state);
}

static void expect_refused(pid_t pid, size_t mode, const char *message)
{
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	enum hsnap_code code = freeze_once(pid, mode, &frozen, &err);
	cr_expect(code == HSNAP_REFUSED || code == HSNAP_UNSUPPORTED, "%s: %d", names[mode], code);
	cr_expect(strstr(err.message, message), "%s: %s", names[mode], err.message);
}

/* The patient noticed nothing; SIGSTOP itself makes some calls fail, which is not ours to mend. */
static void expect_unharmed(struct child *patient, size_t mode, bool was_stopped)
{
	char line[256];
	close(patient->in);
	patient->in = -1;
	cr_assert(child_expect(patient, "eintr", line, sizeof(line)), "%s: it did not go on: %s", names[mode], line);
	cr_expect(strstr(line, " wrong 0 lost 0 descriptors 0 children 0 "), "%s: %s", names[mode], line);
	cr_expect(was_stopped || !strncmp(line, "eintr 0 ", 8), "%s: %s", names[mode], line);
	cr_expect_eq(child_wait(patient), 0, "%s", names[mode]);
}

EACH_WAY(busy)
{
	struct child patient = start_patient("busy", "16");
	for (int i = 0; i < 8; i++)
		expect_taken(patient.pid, *mode, "busy");
	expect_unharmed(&patient, *mode, false);
}

EACH_WAY(never_asleep)
{
	struct child patient = start_patient("spinner", NULL);
	for (int i = 0; i < 8; i++)
		expect_taken(patient.pid, *mode, "spinner");
	expect_unharmed(&patient, *mode, false);
}

/* It stays stopped.  No call can be made in it, so but for copying it is refused; auto copies. */
EACH_WAY(stopped)
{
	struct child patient = start_patient("busy", "1");
	kill(patient.pid, SIGSTOP);
	cr_assert_eq(waitpid(patient.pid, NULL, WUNTRACED), patient.pid);
	if (*mode == HSNAP_FREEZE_PRECOPY || *mode == HSNAP_FREEZE_CLONE)
		expect_refused(patient.pid, *mode, "no thread can be borrowed");
	else
		expect_taken(patient.pid, *mode, "stopped");
	sleep_ms(30);
	struct hsnap_proc_status status = { 0 };
	cr_expect(hsnap_proc_status(&proc, patient.pid, &status) && status.state == 'T', "%s: it runs", names[*mode]);
	cr_expect_eq(waitpid(patient.pid, NULL, WUNTRACED | WNOHANG), 0, "%s: its parent was told again", names[*mode]);
	kill(patient.pid, SIGCONT);
	expect_unharmed(&patient, *mode, true);
}

/* Its filter ends it at any call that it does not know: none of ours is made. */
EACH_WAY(in_a_sandbox)
{
	struct child patient = start_patient("sandbox", NULL);
	char line[64];
	if (*mode == HSNAP_FREEZE_PRECOPY || *mode == HSNAP_FREEZE_CLONE)
		expect_refused(patient.pid, *mode, "seccomp filter");
	else
		expect_taken(patient.pid, *mode, "sandbox");
	close(patient.in);
	patient.in = -1;
	cr_expect(child_expect(&patient, "fine", line, sizeof(line)), "%s", names[*mode]);
	cr_expect_eq(child_wait(&patient), 0);
}

EACH_WAY(two_hundred_sleepers)
{
	struct child patient = start_patient("sleepers", "200");
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	cr_assert_eq(freeze_once(patient.pid, *mode, &frozen, &err), HSNAP_OK, "%s: %s", names[*mode], err.message);
	cr_expect_eq(frozen.target->threads.num, 201);
	hsnap_frozen_deinit(&frozen);
	cr_expect_eq(child_finish(&patient), 0);
}

EACH_WAY(threads_that_come_and_go)
{
	struct child patient = start_patient("spawner", NULL);
	for (int i = 0; i < 8; i++)
		expect_taken(patient.pid, *mode, "spawner");
	cr_expect_eq(child_finish(&patient), 0);
}

#define HOGS 24

/* Everybody's turn on the patient's processor comes after some 0.1 s. */
static void crowd_out(pid_t patient, pid_t hogs[HOGS])
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	cr_assert_eq(sched_setaffinity(patient, sizeof(one), &one), 0);
	for (int i = 0; i < HOGS; i++) {
		hogs[i] = fork();
		cr_assert_geq(hogs[i], 0);
		if (hogs[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sched_setaffinity(0, sizeof(one), &one);
		for (;;)
			;
	}
}

/* It does not stop because it does not run: the next attempt gives it more time. */
Test(ways, that_wait_for_a_processor)
{
	pid_t hogs[HOGS];
	struct child patient = start_patient("spinner", NULL);
	crowd_out(patient.pid, hogs);
	for (int i = 0; i < 4; i++)
		expect_taken(patient.pid, HSNAP_FREEZE_COPY, "crowded out");
	for (int i = 0; i < HOGS; i++) {
		kill(hogs[i], SIGKILL);
		cr_expect_eq(waitpid(hogs[i], NULL, 0), hogs[i]);
	}
	expect_unharmed(&patient, HSNAP_FREEZE_COPY, false);
}

/* A parent in vfork() does not stop until its child has gone on: it is waited for, or refused. */
EACH_WAY(in_a_vfork)
{
	struct child patient = start_patient("vfork", "200");
	char line[256];
	sleep_ms(30);
	expect_taken(patient.pid, *mode, "vfork");
	cr_assert(child_expect(&patient, "READY", line, sizeof(line)));
	expect_unharmed(&patient, *mode, false);
}

EACH_WAY(whose_main_thread_has_ended)
{
	struct child patient = start_patient("orphan", NULL);
	sleep_ms(30);
	expect_refused(patient.pid, *mode, "its main thread has ended");
	cr_expect_eq(child_finish(&patient), 0);
}

EACH_WAY(traced)
{
	struct child patient = start_patient("busy", "1");
	cr_assert_eq(ptrace(PTRACE_SEIZE, patient.pid, NULL, NULL), 0);
	expect_refused(patient.pid, *mode, "it is already traced by ");
	ptrace(PTRACE_INTERRUPT, patient.pid, NULL, NULL);
	cr_assert_eq(waitpid(patient.pid, NULL, __WALL), patient.pid);
	ptrace(PTRACE_DETACH, patient.pid, NULL, NULL);
	expect_taken(patient.pid, *mode, "no more traced");
	cr_expect_eq(child_finish(&patient), 0);
}

/* Asleep where a call of it goes on by what the kernel remembers: no call can be made in it. */
/* Until it has become /bin/sleep, and is in its call. */
static void await_sleep(pid_t pid)
{
	struct hsnap_proc_status status = { 0 };
	for (int left = 2000; left && !(hsnap_proc_status(&proc, pid, &status) && !strcmp(status.comm, "sleep") &&
					status.state == 'S'); left--)
		sleep_ms(5);
}

EACH_WAY(in_a_long_sleep)
{
	struct child sleeper = child_start("/bin/sleep", "30", NULL);
	await_sleep(sleeper.pid);
	if (*mode == HSNAP_FREEZE_PRECOPY || *mode == HSNAP_FREEZE_CLONE)
		expect_refused(sleeper.pid, *mode, "calls that cannot be begun again");
	else
		expect_taken(sleeper.pid, *mode, "asleep");
	child_kill(&sleeper);
}

/* The first process of a PID namespace, whose numbers there are others. */
EACH_WAY(in_a_namespace_of_its_own)
{
	char line[256];
	struct child first = child_start("/usr/bin/unshare", "-p", "-f", PATIENT, "busy", "4", NULL);
	if (!child_expect(&first, "READY", line, sizeof(line)))
		cr_skip_test("no PID namespace can be made: %s", line);
	char *children = hsnap_proc_read(&proc, "proc/%d/task/%d/children", first.pid, first.pid);
	pid_t pid = children ? atoi(children) : 0;
	free(children);
	cr_assert_gt(pid, 0);
	for (int i = 0; i < 3; i++)
		expect_taken(pid, *mode, "in a PID namespace");
	expect_unharmed(&first, *mode, false);
}

/* It dies at any moment of the take. */
EACH_WAY(that_dies_meanwhile)
{
	for (int i = 0; i < 6; i++) {
		char pid[16], line[256] = "";
		struct child patient = start_patient("filler", "48");
		snprintf(pid, sizeof(pid), "%d", patient.pid);
		struct child freezer = child_start(FREEZER, pid, "/", *mode ? names[*mode] : "copy", NULL);
		sleep_ms(5 * i);
		kill(patient.pid, SIGKILL);
		cr_assert(child_expect(&freezer, "", line, sizeof(line)));
		int status = child_wait(&freezer);
		cr_expect_eq(status, strncmp(line, "copied", 6) ? 3 : 0, "%s: %d after %s", names[*mode], status, line);
		cr_expect_eq(child_wait(&patient), 128 + SIGKILL);
	}
}

/* Whoever stands by when a clone is killed becomes our child, and has done its work when it ends. */
static void await_orphans(pid_t patient)
{
	struct hsnap_proc_ids all = { 0 };
	cr_assert(hsnap_proc_list(&proc, &all, "proc"));
	for (size_t i = 0; i < all.num; i++) {
		struct hsnap_proc_status status = { 0 };
		if (all.items[i] != patient && hsnap_proc_status(&proc, all.items[i], &status) &&
		    status.parent == (uint64_t)getpid())
			cr_expect_eq(waitpid(all.items[i], NULL, __WALL), all.items[i]);
	}
	hsnap_vec_deinit(&all);
}

/* Heapsnap is killed at any moment of the take: 20 times, or 200 in ./test --all. */
EACH_WAY(killed_at_random_moments)
{
	const char *all = getenv("HEAPSNAP_TEST_ALL"), *name = *mode ? names[*mode] : "copy";
	int kills = all && !strcmp(all, "yes") ? 200 : 20, descriptors = -1;
	char pid[16], line[256];
	if (*mode == HSNAP_FREEZE_AUTO)
		cr_skip_test("auto is one of the others");
	struct child patient = start_patient("busy", "32");
	snprintf(pid, sizeof(pid), "%d", patient.pid);
	srand(4711);
	for (int i = 0; i < kills; i++) {
		struct child freezer = child_start(FREEZER, pid, "/", name, NULL);
		nanosleep(&(struct timespec){ .tv_nsec = rand() % 60 * 1000000L + rand() % 1000000 }, NULL);
		child_kill(&freezer);
		await_orphans(patient.pid);
	}
	/* Between our request to stop and the stop there is no mending of a call if we are killed: these
	 * may have failed with EINTR, once a kill.  Nothing else may have happened, but for an idle
	 * descriptor that precopy left. */
	close(patient.in);
	patient.in = -1;
	cr_assert(child_expect(&patient, "eintr", line, sizeof(line)), "%s: %s", name, line);
	const char *rest = strstr(line, " wrong 0 lost 0 descriptors ");
	cr_expect(rest && sscanf(rest, " wrong 0 lost 0 descriptors %d children 0 ", &descriptors) == 1, "%s: %s", name, line);
	cr_expect(descriptors >= 0 && descriptors <= (*mode == HSNAP_FREEZE_PRECOPY ? kills : 0), "%s: %s", name, line);
	cr_expect_eq(atoi(line + strlen("eintr ")) > kills, 0, "%s: %s", name, line);
	cr_expect_eq(child_wait(&patient), 0);
}
