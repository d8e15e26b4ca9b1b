/* SPDX-License-Identifier: MIT */
/* test_freeze.c - a process that is frozen, over and over and in every state, goes on unharmed. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/freeze/freeze.h"
#include "capture/freeze/plan.h"
#include "capture/freeze/signals.h"
#include "capture/freeze/tracee.h"
#include "capture/target/scratch.h"
#include "tests/capture/freeze/patient.h"

static struct hsnap_proc proc;

static void set_up(void)
{
	cr_assert_eq(hsnap_proc_init(&proc, "/", NULL), HSNAP_OK);
}

TestSuite(freeze, .init = set_up, .timeout = 60);

/* "58 0x…": the call in which a thread stands; -1: it runs. */
static long call_of(pid_t pid, const char *tid)
{
	char *text = hsnap_proc_read(&proc, "proc/%d/task/%s/syscall", pid, tid);
	char *end;
	long call = text ? strtol(text, &end, 10) : -1;
	if (text && end == text)
		call = -1;
	free(text);
	return call;
}

/* Until one of its threads stands in its vfork: a thread may be in state D for other reasons, too. */
static void await_vfork(pid_t pid)
{
	for (int left = 2000; left; left--, sleep_ms(1)) {
		char path[64];
		snprintf(path, sizeof(path), "/proc/%d/task", pid);
		DIR *tasks = opendir(path);
		cr_assert(tasks);
		bool found = false;
		for (struct dirent *task; !found && (task = readdir(tasks));)
			found = task->d_name[0] != '.' && call_of(pid, task->d_name) == SYS_vfork;
		closedir(tasks);
		if (found)
			return;
	}
	cr_assert_fail("it never stood in its vfork");
}

/* The patient noticed nothing at all. */
static void expect_unharmed(struct child *patient, const char *when)
{
	char line[256];
	close(patient->in);
	patient->in = -1;
	cr_assert(child_expect(patient, "eintr", line, sizeof(line)), "%s: it did not go on: %s", when, line);
	cr_expect(!strncmp(line, "eintr 0 wrong 0 lost 0 descriptors 0 children 0 ", 47), "%s: %s", when, line);
	cr_expect_eq(child_wait(patient), 0, "%s", when);
}

static int scratch = -1; /* where a test's copies go; -1: to memory */

static enum hsnap_code freeze_once(pid_t pid, struct hsnap_frozen *frozen, struct hsnap_error *err)
{
	*err = (struct hsnap_error){ 0 };
	return hsnap_freeze_copy(&(struct hsnap_freeze_options){ .proc = &proc, .pid = pid, .scratch = scratch }, frozen, err);
}

/* From now on to a file in the build folder, which is on a disk. */
static void use_scratch(void)
{
	struct hsnap_error err;
	if (hsnap_scratch_open(SCRATCH_FOLDER, &scratch, &err))
		cr_skip_test("%s", err.message);
}

Test(freeze, a_busy_process_notices_nothing)
{
	struct child patient = start_patient("busy", "16");
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	for (int i = 0; i < 40; i++) {
		cr_assert_eq(freeze_once(patient.pid, &frozen, &err), HSNAP_OK, "%s", err.message);
		cr_expect_eq(frozen.target->threads.num, 8);
		cr_expect_eq(frozen.target->threads.items[0].tid, (uint32_t)patient.pid);
		cr_expect_eq(frozen.lost, 0);
		cr_expect_gt(frozen.copied, (uint64_t)16 << 20);
		cr_expect_gt(frozen.pause_ns, 0);
		hsnap_frozen_deinit(&frozen);
		sleep_ms(7);
	}
	expect_unharmed(&patient, "40 takes");
}

static void expect_what_was_there(void)
{
	/* A child of our own image: its memory is known to us. */
	uint64_t *words = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t *shared = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *sparse = mmap(NULL, (size_t)64 << 30, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (size_t i = 0; i < (1 << 20) / 8; i += 1)
		words[i] = i % 1024 < 512 ? i * 3 : words[i];
	shared[3] = 4711;
	sparse[(size_t)40 << 30] = 7;
	mprotect(words, 4096, PROT_READ);
	pid_t pid = fork();
	if (!pid) {
		shared[4] = shared[3]; /* only what a process has touched is in its page table */
		for (;;)
			pause();
	}
	while (!*(volatile uint64_t *)&shared[4])
		sleep_ms(1);
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	cr_assert_eq(freeze_once(pid, &frozen, &err), HSNAP_OK, "%s", err.message);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);

	uint64_t word, start, end;
	for (size_t i = 0; i < (1 << 20) / 8; i += 509) {
		cr_assert(hsnap_target_word(frozen.target, (uint64_t)(uintptr_t)&words[i], &word));
		cr_assert_eq(word, words[i], "word %zu", i);
	}
	cr_expect(hsnap_target_word(frozen.target, (uint64_t)(uintptr_t)&shared[3], &word) && word == 4711);
	uint64_t far = (uint64_t)(uintptr_t)sparse + ((uint64_t)40 << 30);
	cr_expect(hsnap_target_word(frozen.target, far, &word) && word == 7);
	cr_expect(hsnap_target_word(frozen.target, far + 8192, &word) && word == 0, "an absent page is zero");
	cr_assert(hsnap_target_next_run(frozen.target, (uint64_t)(uintptr_t)sparse, &start, &end));
	cr_expect(start == far && end == far + 4096, "absent pages were copied");
	cr_expect_lt(frozen.copied, (uint64_t)64 << 20);

	/* Text was never written to: it comes from the file. */
	uint64_t text = (uint64_t)(uintptr_t)&freeze_once;
	unsigned char bytes[64];
	cr_expect_null(hsnap_target_view(frozen.target, text, sizeof(bytes)));
	cr_assert_eq(hsnap_target_read(frozen.target, text, bytes, sizeof(bytes), &err), HSNAP_OK, "%s", err.message);
	cr_expect_arr_eq(bytes, (void *)(uintptr_t)text, sizeof(bytes));
	const struct hsnap_target_module *module = hsnap_target_module(frozen.target, text);
	cr_assert(module && module->main && module->build_id_size == 20 && module->eh_frame_hdr && module->dynamic);
	int fd = frozen.target->ops->open_module(frozen.target->self, module);
	cr_expect(fd >= 0 && read(fd, bytes, 4) == 4 && !memcmp(bytes, "\177ELF", 4));
	close(fd);
	fd = frozen.target->ops->open_path(frozen.target->self, "/bin/sh");
	cr_expect(fd >= 0);
	close(fd);
	cr_expect_eq(frozen.target->ops->open_path(frozen.target->self, "/dev/null"), -1, "a device was opened");
	hsnap_frozen_deinit(&frozen);
}

Test(freeze, what_was_copied_is_what_was_there)
{
	expect_what_was_there();
}

Test(freeze, what_was_copied_to_a_disk_is_what_was_there)
{
	use_scratch();
	expect_what_was_there();
}

Test(freeze, a_busy_process_notices_nothing_of_a_disk)
{
	struct child patient = start_patient("busy", "48");
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	use_scratch();
	for (int i = 0; i < 10; i++) {
		cr_assert_eq(freeze_once(patient.pid, &frozen, &err), HSNAP_OK, "%s", err.message);
		cr_expect_gt(frozen.copied, (uint64_t)48 << 20);
		hsnap_frozen_deinit(&frozen);
	}
	expect_unharmed(&patient, "10 takes to a disk");
}

Test(freeze, two_hundred_sleepers)
{
	struct child patient = start_patient("sleepers", "200");
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	cr_assert_eq(freeze_once(patient.pid, &frozen, &err), HSNAP_OK, "%s", err.message);
	cr_expect_eq(frozen.target->threads.num, 201);
	hsnap_frozen_deinit(&frozen);
	cr_expect_eq(child_finish(&patient), 0);
}

Test(freeze, threads_that_come_and_go)
{
	struct child patient = start_patient("spawner", NULL);
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	for (int i = 0; i < 30; i++) {
		cr_assert_eq(freeze_once(patient.pid, &frozen, &err), HSNAP_OK, "take %d: %s", i, err.message);
		cr_expect_geq(frozen.target->threads.num, 3);
		hsnap_frozen_deinit(&frozen);
	}
	cr_expect_eq(child_finish(&patient), 0);
}

static char state_of(pid_t pid)
{
	struct hsnap_proc_status status = { 0 };
	return hsnap_proc_status(&proc, pid, &status) ? status.state : '?';
}

Test(freeze, a_stopped_process_stays_stopped)
{
	struct child patient = start_patient("busy", "1");
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	kill(patient.pid, SIGSTOP);
	cr_assert_eq(waitpid(patient.pid, NULL, WUNTRACED), patient.pid);
	cr_assert_eq(freeze_once(patient.pid, &frozen, &err), HSNAP_OK, "%s", err.message);
	hsnap_frozen_deinit(&frozen);
	sleep_ms(50);
	cr_expect_eq(state_of(patient.pid), 'T', "it runs");
	cr_expect_eq(waitpid(patient.pid, NULL, WUNTRACED | WNOHANG), 0, "its parent was told of a stop again");
	kill(patient.pid, SIGCONT);
	char line[256];
	close(patient.in);
	patient.in = -1;
	cr_assert(child_expect(&patient, "eintr", line, sizeof(line)));
	/* SIGSTOP itself makes some calls return EINTR; nothing else may be wrong. */
	cr_expect(strstr(line, " wrong 0 lost 0 descriptors 0 children 0 "), "%s", line);
	cr_expect_eq(child_wait(&patient), 0);
}

Test(freeze, a_vfork_is_waited_for_in_vain_and_then_taken)
{
	/* Longer than it takes to begin on a busy machine, shorter than it is tried again. */
	struct child patient = start_patient("vfork", "400");
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	await_vfork(patient.pid);
	cr_assert_eq(freeze_once(patient.pid, &frozen, &err), HSNAP_OK, "%s", err.message);
	cr_expect_gt(frozen.attempts, 1, "it was stopped in the middle of a vfork");
	hsnap_frozen_deinit(&frozen);
	char line[256];
	cr_assert(child_expect(&patient, "READY", line, sizeof(line)));
	expect_unharmed(&patient, "vfork");
}

Test(freeze, a_long_vfork_is_refused_and_let_go)
{
	struct child patient = start_patient("vfork", "2500");
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	await_vfork(patient.pid);
	cr_assert_eq(freeze_once(patient.pid, &frozen, &err), HSNAP_REFUSED);
	cr_expect(strstr(err.message, "does not stop: it is in state D"), "%s", err.message);
	cr_expect(strstr(err.hint, "try again"), "%s", err.hint);
	struct hsnap_proc_status status = { 0 };
	cr_assert(hsnap_proc_status(&proc, patient.pid, &status));
	cr_expect_eq(status.tracer, 0, "it is still held");
	char line[256];
	cr_assert(child_expect(&patient, "READY", line, sizeof(line)));
	expect_unharmed(&patient, "a vfork of 2.5 s");
}

Test(freeze, a_sandbox_is_left_alone)
{
	struct child patient = start_patient("sandbox", NULL);
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	char line[64];
	cr_assert_eq(freeze_once(patient.pid, &frozen, &err), HSNAP_OK, "%s", err.message);
	hsnap_frozen_deinit(&frozen);
	close(patient.in);
	patient.in = -1;
	cr_expect(child_expect(&patient, "fine", line, sizeof(line)));
	cr_expect_eq(child_wait(&patient), 0);
}

Test(freeze, an_interrupt_lets_go)
{
	struct child patient = start_patient("busy", "64");
	struct hsnap_frozen frozen;
	struct hsnap_error err = { 0 };
	volatile int interrupt_now = 1;
	cr_assert_eq(hsnap_freeze_copy(&(struct hsnap_freeze_options){ .proc = &proc, .pid = patient.pid, .scratch = -1, .interrupted = &interrupt_now }, &frozen, &err), HSNAP_INTERRUPTED);
	struct hsnap_proc_status status = { 0 };
	cr_assert(hsnap_proc_status(&proc, patient.pid, &status));
	cr_expect_eq(status.tracer, 0);
	expect_unharmed(&patient, "an interrupted take");
}

Test(freeze, a_stop_that_outlives_its_limit_is_let_go)
{
	struct child patient = start_patient("busy", "256");
	struct hsnap_frozen frozen;
	struct hsnap_error err = { 0 };
	cr_assert_eq(hsnap_freeze_copy(&(struct hsnap_freeze_options){ .proc = &proc, .pid = patient.pid, .scratch = -1, .max_pause_ns = 5000000 }, &frozen, &err), HSNAP_REFUSED);
	cr_expect(strstr(err.message, "not done, so it was let go: --max-pause is 5"), "%s", err.message);
	cr_expect(strstr(err.hint, "--max-pause 10 "), "%s", err.hint);
	struct hsnap_proc_status status = { 0 };
	cr_assert(hsnap_proc_status(&proc, patient.pid, &status));
	cr_expect_eq(status.tracer, 0);
	expect_unharmed(&patient, "a take that was given up");
}

Test(freeze, a_process_that_dies_meanwhile)
{
	static const char *const reasons[] = {
		"copied", "exited while it was being captured", "no such process", "it has exited (a zombie", "it is about to exit",
	};
	for (int i = 0; i < 12; i++) {
		char pid[16], line[256] = "";
		struct child patient = start_patient("filler", "96");
		snprintf(pid, sizeof(pid), "%d", patient.pid);
		/* By a program of its own: we are the patient's parent, and collect its end. */
		struct child freezer = child_start(FREEZER, pid, NULL);
		sleep_ms(4 * i);
		kill(patient.pid, SIGKILL);
		cr_assert(child_expect(&freezer, "", line, sizeof(line)));
		bool known = false;
		for (size_t r = 0; r < sizeof(reasons) / sizeof(*reasons); r++)
			known |= !strncmp(line, reasons[r], strlen(reasons[r]));
		cr_expect(known, "killed after %d ms: %s", 4 * i, line);
		int status = child_wait(&freezer);
		cr_expect_eq(status, strncmp(line, "copied", 6) ? 3 : 0);
		cr_expect_eq(child_wait(&patient), 128 + SIGKILL);
	}
}

Test(freeze, an_ended_main_thread_is_refused)
{
	struct child patient = start_patient("orphan", NULL);
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	sleep_ms(30);
	cr_assert_eq(freeze_once(patient.pid, &frozen, &err), HSNAP_REFUSED);
	cr_expect(strstr(err.message, "its main thread has ended"), "%s", err.message);
	/* The kernel says no to whoever tries all the same; that is explained likewise. */
	cr_expect_eq(ptrace(PTRACE_SEIZE, patient.pid, NULL, NULL), -1);
	cr_expect_eq(child_finish(&patient), 0);
}

Test(freeze, a_traced_process_is_refused)
{
	struct child patient = start_patient("busy", "1");
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	char expected[64];
	cr_assert_eq(ptrace(PTRACE_SEIZE, patient.pid, NULL, NULL), 0);
	cr_assert_eq(freeze_once(patient.pid, &frozen, &err), HSNAP_REFUSED);
	snprintf(expected, sizeof(expected), "(pid %d)", getpid());
	cr_expect(strstr(err.message, "it is already traced by ") && strstr(err.message, expected), "%s", err.message);
	cr_expect(strstr(err.hint, "end "), "%s", err.hint);
	ptrace(PTRACE_INTERRUPT, patient.pid, NULL, NULL);
	cr_assert_eq(waitpid(patient.pid, NULL, __WALL), patient.pid);
	ptrace(PTRACE_DETACH, patient.pid, NULL, NULL);

	/* One of its threads being traced is enough. */
	struct hsnap_proc_ids tids = { 0 };
	cr_assert(hsnap_proc_list(&proc, &tids, "proc/%d/task", patient.pid));
	pid_t tid = tids.items[tids.num - 1];
	hsnap_vec_deinit(&tids);
	cr_assert_eq(ptrace(PTRACE_SEIZE, tid, NULL, NULL), 0);
	cr_assert_eq(freeze_once(patient.pid, &frozen, &err), HSNAP_REFUSED);
	cr_expect(strstr(err.message, "it is already traced by ") && strstr(err.message, expected), "%s", err.message);
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	cr_assert_eq(waitpid(tid, NULL, __WALL), tid);
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
	cr_assert_eq(freeze_once(patient.pid, &frozen, &err), HSNAP_OK, "%s", err.message);
	hsnap_frozen_deinit(&frozen);
	cr_expect_eq(child_finish(&patient), 0);
}

/* The build folder may be closed to others: what runs as another user is copied to where it is not. */
static const char *open_copy(const char *program, char *path, size_t size)
{
	snprintf(path, size, "/tmp/hsnap-test-%d-%s", getpid(), strrchr(program, '/') + 1);
	char command[1024];
	snprintf(command, sizeof(command), "cp '%s' '%s' && chmod 755 '%s'", program, path, path);
	cr_assert_eq(system(command), 0);
	return path;
}

Test(freeze, without_the_right_to)
{
	if (geteuid())
		cr_skip_test("needs root, to become somebody else");
	char freezer[256], patient_path[256], pid[16], line[256];
	open_copy(FREEZER, freezer, sizeof(freezer));
	open_copy(PATIENT, patient_path, sizeof(patient_path));

	struct child patient = start_patient("busy", "1");
	snprintf(pid, sizeof(pid), "%d", patient.pid);
	struct child nobody = child_start_as(true, NULL, freezer, (const char *const[]){ pid, NULL });
	cr_expect(child_expect(&nobody, "not permitted: it runs as uid 0, we as uid 64123", line, sizeof(line)), "%s", line);
	cr_expect(child_expect(&nobody, "hint: needs CAP_SYS_PTRACE: ", line, sizeof(line)), "%s", line);
	cr_expect_eq(child_wait(&nobody), 3);
	expect_unharmed(&patient, "a refused take");

	/* Its own process an ordinary user may take, where no Yama forbids it. */
	patient = child_start_as(true, NULL, patient_path, (const char *const[]){ "busy", "1", NULL });
	cr_assert(child_expect(&patient, "READY", line, sizeof(line)));
	snprintf(pid, sizeof(pid), "%d", patient.pid);
	nobody = child_start_as(true, NULL, freezer, (const char *const[]){ pid, NULL });
	child_expect(&nobody, "", line, sizeof(line));
	if (access("/proc/sys/kernel/yama/ptrace_scope", F_OK)) {
		cr_expect(!strncmp(line, "copied", 6) && strstr(line, " lost 0 threads 8 modules "), "%s", line);
		cr_expect_eq(child_wait(&nobody), 0);
	} else {
		child_wait(&nobody);
	}
	expect_unharmed(&patient, "a take by its own user");
	unlink(freezer);
	unlink(patient_path);
}

/* The library of a process can be replaced or gone by the time it is looked at. */
Test(freeze, a_deleted_executable_is_still_read)
{
	char path[256];
	open_copy(PATIENT, path, sizeof(path));
	for (int as_nobody = 0; as_nobody < (geteuid() ? 1 : 2); as_nobody++) {
		char line[256], pid[16], freezer[256], command[1100];
		struct child patient = child_start_as(as_nobody, NULL, path, (const char *const[]){ "busy", "1", NULL });
		cr_assert(child_expect(&patient, "READY", line, sizeof(line)));
		/* In its place stands another program. */
		snprintf(command, sizeof(command), "mv '%s' '%s.old' && cp /bin/true '%s' && rm '%s.old'", path, path, path, path);
		cr_assert_eq(system(command), 0);
		snprintf(pid, sizeof(pid), "%d", patient.pid);
		open_copy(FREEZER, freezer, sizeof(freezer));
		struct child taker = child_start_as(as_nobody, NULL, freezer, (const char *const[]){ pid, "/", NULL });
		cr_expect(child_expect(&taker, "copied", line, sizeof(line)), "%s", line);
		cr_expect(strstr(line, "text good"), "as %s: %s", as_nobody ? "nobody" : "root", line);
		cr_expect_eq(child_wait(&taker), 0);
		expect_unharmed(&patient, "deleted");
		unlink(freezer);
		open_copy(PATIENT, path, sizeof(path));
	}
	unlink(path);
}

static const char *const steps[] = {
	"before-seize", "seized", "interrupted", "stopped", "copying", "before-release", "first-released", "released",
};

ParameterizedTestParameters(freeze, killed_at_a_step)
{
	static size_t index[sizeof(steps) / sizeof(*steps)];
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, sizeof(steps) / sizeof(*steps));
}

ParameterizedTest(size_t *row, freeze, killed_at_a_step)
{
	char variable[64], pid[16], line[256];
	struct child patient = start_patient("busy", "4");
	snprintf(variable, sizeof(variable), "HEAPSNAP_STEP=%s", steps[*row]);
	snprintf(pid, sizeof(pid), "%d", patient.pid);
	for (int i = 0; i < 3; i++) {
		struct child freezer = child_start_as(false, variable, FREEZER_STEPS, (const char *const[]){ pid, NULL });
		cr_assert(child_expect(&freezer, "step", line, sizeof(line)), "step %s is never reached", steps[*row]);
		sleep_ms(20);
		child_kill(&freezer);
		sleep_ms(20);
	}
	expect_unharmed(&patient, steps[*row]);
}

/* Waits for half a second in a call that a stop breaks; exit status 0: it was not broken. */
static void wait_for_nothing(int ready)
{
	struct epoll_event event;
	int fd = epoll_create1(0);
	(void)!write(ready, "", 1);
	_exit(epoll_wait(fd, &event, 1, 500) != 0);
}

/* For half a second, for what a ring will never tell; 77: there are no rings here. */
static void wait_for_ring(int ready)
{
	struct io_uring_params params = { 0 };
	struct __kernel_timespec limit = { .tv_nsec = 500000000 };
	struct io_uring_getevents_arg arg = { .ts = (uint64_t)(uintptr_t)&limit };
	int ring = (int)syscall(SYS_io_uring_setup, 8, &params);
	(void)!write(ready, "", 1);
	if (ring < 0 || !(params.features & IORING_FEAT_EXT_ARG))
		_exit(77);
	long n = syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &arg, sizeof(arg));
	_exit(n < 0 && errno == ETIME ? 0 : 1);
}

Test(freeze, whoever_waits_for_a_ring_goes_on_waiting)
{
	int ends[2], status;
	char byte;
	cr_assert_eq(pipe(ends), 0);
	pid_t pid = fork();
	if (!pid)
		wait_for_ring(ends[1]);
	cr_assert_eq(read(ends[0], &byte, 1), 1);
	sleep_ms(50);
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	if (!freeze_once(pid, &frozen, &err))
		hsnap_frozen_deinit(&frozen);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		cr_skip_test("no io_uring here");
	cr_expect(WIFEXITED(status) && !WEXITSTATUS(status), "%x", status);
}

/* SIGCHLD of a program that does not ask for it wakes nobody, but for a tracer. */
Test(freeze, an_ignored_signal_met_at_the_stop_breaks_no_call)
{
	int ends[2];
	char byte;
	cr_assert_eq(pipe(ends), 0);
	pid_t pid = fork();
	if (!pid)
		wait_for_nothing(ends[1]);
	cr_assert_eq(read(ends[0], &byte, 1), 1);
	sleep_ms(50);
	cr_assert_eq(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
	kill(pid, SIGCHLD);
	uint64_t ignored = hsnap_signals_ignored(&proc, pid);
	struct hsnap_tracee tracee = { .tid = pid };
	for (int left = 400; left && hsnap_tracee_meet(&tracee, ignored); left--)
		sleep_ms(1);
	cr_assert_eq(tracee.state, HSNAP_TRACEE_STOPPED);
	cr_expect_eq(tracee.signal, SIGCHLD);
	hsnap_tracee_release(&tracee, ignored);
	int status;
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect(WIFEXITED(status) && !WEXITSTATUS(status), "%x", status);
}

/* Each has to get to its stop: the time that a thread is waited for is theirs in sum. */
Test(freeze, thousands_of_threads)
{
	struct child patient = start_patient("sleepers", "3000");
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	cr_assert_eq(freeze_once(patient.pid, &frozen, &err), HSNAP_OK, "%s", err.message);
	cr_expect_eq(frozen.target->threads.num, 3001);
	hsnap_frozen_deinit(&frozen);
	cr_expect_eq(child_finish(&patient), 0);
}

/* Of very many mappings the list alone may take longer than it is to stand still. */
Test(freeze, a_list_is_given_up_in_time)
{
	struct hsnap_plan plan;
	struct hsnap_error err;
	cr_assert_eq(hsnap_plan_open(&plan, &proc, getpid(), &err), HSNAP_OK);
	cr_assert(hsnap_plan_grow(&plan));
	plan.ends_at = 1;
	cr_expect(!hsnap_plan_list(&plan));
	cr_expect_eq(plan.num, 0);
	plan.ends_at = UINT64_MAX;
	cr_expect(hsnap_plan_list(&plan));
	hsnap_plan_close(&plan);
}
