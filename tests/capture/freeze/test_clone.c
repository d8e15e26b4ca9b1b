/* SPDX-License-Identifier: MIT */
/* test_clone.c - a child of the process is read, and nobody is the wiser. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/freeze/freeze.h"
#include "capture/freeze/pieces.h"
#include "capture/freeze/unforked.h"
#include "tests/capture/freeze/patient.h"

#define PAGE 4096

static struct hsnap_proc proc;

static void set_up(void)
{
	cr_assert_eq(hsnap_proc_init(&proc, "/", NULL), HSNAP_OK);
	cr_assert_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
}

TestSuite(clone, .init = set_up, .timeout = 60);

static enum hsnap_code freeze_once(pid_t pid, struct hsnap_frozen *frozen, struct hsnap_error *err)
{
	*err = (struct hsnap_error){ 0 };
	return hsnap_freeze_clone(&(struct hsnap_freeze_options){ .proc = &proc, .pid = pid, .scratch = -1 }, frozen, err);
}

/* The children of a process as its threads list them, ended ones too. */
static bool has_children(pid_t pid)
{
	struct hsnap_proc_ids tids = { 0 };
	bool found = false;
	cr_assert(hsnap_proc_list(&proc, &tids, "proc/%d/task", pid));
	for (size_t i = 0; i < tids.num; i++) {
		char *children = hsnap_proc_read(&proc, "proc/%d/task/%d/children", pid, tids.items[i]);
		found |= children && *children;
		free(children);
	}
	hsnap_vec_deinit(&tids);
	return found;
}

/* Once whoever stands by has done its work.  Orphaned by a killed freezer, it is our child. */
static bool comes_to_have_none(pid_t pid)
{
	struct hsnap_proc_ids all = { 0 };
	cr_assert(hsnap_proc_list(&proc, &all, "proc"));
	for (size_t i = 0; i < all.num; i++) {
		struct hsnap_proc_status status = { 0 };
		if (all.items[i] != pid && hsnap_proc_status(&proc, all.items[i], &status) &&
		    status.parent == (uint64_t)getpid())
			cr_expect_eq(waitpid(all.items[i], NULL, __WALL), all.items[i]);
	}
	hsnap_vec_deinit(&all);
	return !has_children(pid);
}

/* The patient noticed nothing at all. */
static void expect_unharmed(struct child *patient, const char *when)
{
	char line[256];
	cr_expect(comes_to_have_none(patient->pid), "%s: it has a child", when);
	close(patient->in);
	patient->in = -1;
	cr_assert(child_expect(patient, "eintr", line, sizeof(line)), "%s: it did not go on: %s", when, line);
	cr_expect(!strncmp(line, "eintr 0 wrong 0 lost 0 descriptors 0 children 0 ", 47), "%s: %s", when, line);
	cr_expect_eq(child_wait(patient), 0, "%s", when);
}

static const char *const modes[] = { "busy", "spinner" };

ParameterizedTestParameters(clone, goes_on_unharmed)
{
	static size_t index[sizeof(modes) / sizeof(*modes)];
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, sizeof(modes) / sizeof(*modes));
}

ParameterizedTest(size_t *row, clone, goes_on_unharmed)
{
	struct child patient = start_patient(modes[*row], "24");
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	for (int i = 0; i < 15; i++) {
		cr_assert_eq(freeze_once(patient.pid, &frozen, &err), HSNAP_OK, "%s: %s", modes[*row], err.message);
		cr_expect_str_eq(frozen.mode, "clone");
		cr_expect_str_eq(frozen.note, "");
		cr_expect_eq(frozen.target->threads.num, *row ? 1 : 8);
		cr_expect_eq(frozen.lost, 0, "%lu", frozen.lost);
		if (!*row)
			cr_expect_geq(frozen.copied, (uint64_t)24 << 20);
		cr_expect(!has_children(patient.pid), "%s, take %d", modes[*row], i);
		hsnap_frozen_deinit(&frozen);
		sleep_ms(3);
	}
	expect_unharmed(&patient, modes[*row]);
}

/* ---- what is copied ---- */

#define FRONT_PAGES 4096

static struct memory {
	uint64_t *shared, *wiped, *kept, *front; /* front: one number a page, counted up page by page without pause */
} memory;

static uint64_t *map_pages(size_t pages, int flags)
{
	uint64_t *words = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
	cr_assert_neq(words, MAP_FAILED);
	madvise(words, pages * PAGE, MADV_NOHUGEPAGE);
	return words;
}

static void *count_up(void *unused)
{
	for (volatile uint64_t round = 1;; round++)
		for (size_t i = 0; i < FRONT_PAGES; i++)
			((volatile uint64_t *)memory.front)[i * PAGE / 8] = round;
	return unused;
}

/* A process of our own image, with a thread that writes and one that waits. */
static pid_t start_writer(int *ready)
{
	int ends[2];
	char byte;
	memory.shared = map_pages(4, MAP_SHARED);
	cr_assert_eq(pipe(ends), 0);
	pid_t pid = fork();
	if (!pid) {
		pthread_t thread;
		memory.wiped = memory.shared; /* told through the shared pages, for they are its own */
		memory.front = map_pages(FRONT_PAGES, MAP_PRIVATE);
		memory.kept = map_pages(4, MAP_PRIVATE);
		memory.wiped = map_pages(4, MAP_PRIVATE);
		memory.kept[1024] = 1234;
		memory.wiped[1024] = 5678;
		memory.shared[1024] = 4711;
		madvise(memory.kept, 4 * PAGE, MADV_DONTFORK);
		madvise(memory.wiped, 4 * PAGE, MADV_WIPEONFORK);
		memcpy(memory.shared, &memory, sizeof(memory));
		pthread_create(&thread, NULL, count_up, NULL);
		usleep(20000);
		if (write(ends[1], "", 1) != 1)
			_exit(1);
		for (;;)
			(void)!read(ends[0], &byte, 0), pause();
	}
	cr_assert_eq(read(ends[0], &byte, 1), 1);
	*ready = ends[0];
	struct memory told;
	memcpy(&told, memory.shared, sizeof(told));
	memory = told;
	return pid;
}

static uint64_t word_of(const struct hsnap_frozen *frozen, const uint64_t *address)
{
	uint64_t word = 0;
	cr_expect(hsnap_target_word(frozen->target, (uint64_t)(uintptr_t)address, &word), "%p", (const void *)address);
	return word;
}

Test(clone, of_one_moment_and_whole)
{
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	int ready;
	pid_t pid = start_writer(&ready);
	for (int i = 0; i < 5; i++) {
		cr_assert_eq(freeze_once(pid, &frozen, &err), HSNAP_OK, "%s", err.message);
		cr_expect_eq(frozen.lost, 0, "%lu", frozen.lost);
		cr_expect_eq(word_of(&frozen, &memory.shared[1024]), 4711);
		cr_expect_eq(word_of(&frozen, &memory.kept[1024]), 1234, "MADV_DONTFORK");
		cr_expect_eq(word_of(&frozen, &memory.wiped[1024]), 5678, "MADV_WIPEONFORK");
		/* The front runs over the pages while they are read: at one moment it stands at one place. */
		int steps = 0;
		uint64_t first = word_of(&frozen, memory.front), last = first;
		for (size_t page = 1; page < FRONT_PAGES; page++) {
			uint64_t word = word_of(&frozen, &memory.front[page * PAGE / 8]);
			steps += word != last;
			cr_expect(word == first || word == first - 1, "page %zu: %lu after %lu", page, word, first);
			last = word;
		}
		cr_expect_leq(steps, 1);
		hsnap_frozen_deinit(&frozen);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* What was not known to be kept from a child is told as lost, and never as zeros. */
Test(clone, what_the_child_lacks_is_lost)
{
	struct hsnap_unforked known = { 0 };
	struct hsnap_range ranges[] = { { 0x1000, 0x3000 }, { 0x5000, 0x9000 } };
	char maps[] = "1000-2000 rw-p 00000000 00:00 0 \n2000-3000 rw-s 00000000 00:01 5 /x\n5000-7000 rw-p 00000000 00:00 0 \n"
		      "7000-9000 rw-p 00000000 00:00 0 \n";
	struct hsnap_plan plan = { .text = maps, .ranges = ranges, .num = 2, .max = 2 };
	cr_assert(hsnap_unforked_parse(&known, "5000-7000 rw-p 00000000 00:00 0 \nSize: 8 kB\nVmFlags: rd wr mr mw me dc ac \n"
					       "7000-9000 rw-p 00000000 00:00 0 \nVmFlags: rd wr mr mw me ac \n"));
	cr_expect(!known.faults && known.ranges.num == 1);
	static const struct {
		uint64_t start, end, at;
		bool forked;
	} want[] = { { 0x1000, 0x2000, 0, true }, { 0x2000, 0x3000, 0x1000, false }, { 0x5000, 0x7000, 0x2000, false },
		     { 0x7000, 0x9000, 0x4000, true } };
	struct hsnap_pieces pieces = hsnap_pieces_of(&plan, &known);
	size_t num = 0;
	for (struct hsnap_piece piece; hsnap_pieces_next(&pieces, &piece); num++) {
		cr_assert_lt(num, sizeof(want) / sizeof(*want));
		cr_expect(piece.start == want[num].start && piece.end == want[num].end && piece.at == want[num].at &&
			  piece.forked == want[num].forked, "%zu: %lx-%lx at %zx", num, piece.start, piece.end, piece.at);
	}
	cr_expect_eq(num, sizeof(want) / sizeof(*want));
	hsnap_unforked_deinit(&known);
	cr_assert(hsnap_unforked_parse(&known, "1-2 rw-p\nVmFlags: rd um\n1-\nVmFlags:\nVmFlags: dc"));
	cr_expect(known.faults);
	hsnap_unforked_deinit(&known);

	struct hsnap_lost lost = { 0 };
	cr_assert(hsnap_vec_reserve(&lost, 1));
	lost.capacity = 2;
	lost.items = realloc(lost.items, 2 * sizeof(*lost.items));
	hsnap_lost_add(&lost, 0x1000, 0x2000);
	hsnap_lost_add(&lost, 0x2000, 0x3000);
	hsnap_lost_add(&lost, 0x5000, 0x6000);
	hsnap_lost_add(&lost, 0x8000, 0x9000); /* no room: from 0x6000 on */
	static const struct {
		uint64_t at, end;
		bool good;
	} looks[] = { { 0, 0x1000, true }, { 0x1000, 0x3000, false }, { 0x2fff, 0x3000, false }, { 0x3000, 0x5000, true },
		      { 0x5000, 0x9000, false }, { 0x9000, 0xa000, true } };
	for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++) {
		uint64_t end = 0xa000;
		bool good = hsnap_lost_next(&lost, looks[i].at, &end);
		cr_expect(good == looks[i].good && end == looks[i].end, "at %lx: %d to %lx", looks[i].at, good, end);
	}
	hsnap_vec_deinit(&lost);
}

/* In seconds it would not be, if each line were read by what looks for the end of the text first. */
Test(clone, very_many_mappings_are_looked_at_in_time, .timeout = 15)
{
	struct hsnap_unforked known = { 0 };
	enum { MANY = 65000 }; /* 9 MB */
	char *text = malloc(MANY * 160), *end = text;
	for (uint64_t i = 1; i <= MANY; i++)
		end += sprintf(end, "%lx000-%lx000 rw-p 00000000 00:00 0 \nSize: 4 kB\nRss: 4 kB\nAnonymous: 4 kB\nVmFlags: rd wr%s\n",
			       2 * i, 2 * i + 1, i % 2 ? " dc" : "");
	cr_assert(hsnap_unforked_parse(&known, text));
	cr_expect_eq(known.ranges.num, MANY / 2);
	cr_expect(hsnap_unforked_has(&known, 0x2000) && !hsnap_unforked_has(&known, 0x4000));
	hsnap_unforked_deinit(&known);
	free(text);
}

/* ---- killed ---- */

static const char *const steps[] = {
	"before-seize", "seized", "interrupted", "stopped", "framed", "clone-set", "clone-masked", "clone-entered",
	"clone-returned", "child-told", "child-tied", "called", "unmasked", "given-back", "before-release",
	"first-released", "released", "child-left", "reading", "child-read", "child-ended", "lone-seized", "lone-stopped",
	"wait-set", "wait-masked", "wait-entered", "wait-returned", "lone-released",
};

ParameterizedTestParameters(clone, killed_at_a_step)
{
	static size_t index[2 * sizeof(steps) / sizeof(*steps)];
	for (size_t i = 0; i < sizeof(index) / sizeof(*index); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, sizeof(index) / sizeof(*index));
}

ParameterizedTest(size_t *row, clone, killed_at_a_step)
{
	const char *step = steps[*row / 2], *mode = modes[*row % 2];
	char variable[64], pid[16], line[256];
	struct child patient = start_patient(mode, "4");
	snprintf(variable, sizeof(variable), "HEAPSNAP_STEP=%s", step);
	snprintf(pid, sizeof(pid), "%d", patient.pid);
	for (int i = 0; i < 2; i++) {
		struct child freezer = child_start_as(false, variable, FREEZER_STEPS, (const char *const[]){ pid, "/", "clone", NULL });
		cr_assert(child_expect(&freezer, "", line, sizeof(line)) && !strncmp(line, "step", 4),
			  "%s, %s: never reached: %s", mode, step, line);
		sleep_ms(15);
		child_kill(&freezer);
		cr_expect(comes_to_have_none(patient.pid), "%s, %s: its child stays", mode, step);
	}
	expect_unharmed(&patient, step);
}

/* What it closes is closed, though a child of it is there. */
Test(clone, the_child_holds_nothing_open)
{
	char pid[16], line[256];
	struct child shell = child_start("/bin/sh", "-c", "echo READY; read x; exec >&- 2>&-; read x", NULL);
	cr_assert(child_expect(&shell, "READY", line, sizeof(line)));
	snprintf(pid, sizeof(pid), "%d", shell.pid);
	struct child freezer = child_start_as(false, "HEAPSNAP_STEP=child-left", FREEZER_STEPS,
					      (const char *const[]){ pid, "/", "clone", NULL });
	cr_assert(child_expect(&freezer, "step", line, sizeof(line)), "%s", line);
	cr_expect(has_children(shell.pid));
	cr_assert_eq(write(shell.in, "\n", 1), 1);
	cr_expect(!child_expect(&shell, "nothing", line, sizeof(line)), "the end of its output is not seen");
	child_kill(&freezer);
	cr_expect(comes_to_have_none(shell.pid));
	cr_expect_eq(child_finish(&shell), 1);
}

/* Its child, once that has ended; a program that goes on without it must not share anything with it. */
static bool comes_to_end(pid_t pid)
{
	for (int i = 0; i < 400; i++, sleep_ms(5)) {
		char *text = hsnap_proc_read(&proc, "proc/%d/task/%d/children", pid, pid);
		struct hsnap_proc_status status = { 0 };
		bool ended = text && (!atoi(text) || !hsnap_proc_status(&proc, atoi(text), &status) || status.state == 'Z');
		free(text);
		if (ended)
			return true;
	}
	return false;
}

/* What the program had open is closed at its end, and not when its child has been read. */
Test(clone, the_child_does_not_outlive_the_program)
{
	static const char *const ways[] = { "echo READY; read x", "echo READY; read x; exec sleep 20" };
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		char pid[16], line[256];
		struct child shell = child_start("/bin/sh", "-c", ways[i], NULL);
		cr_assert(child_expect(&shell, "READY", line, sizeof(line)));
		snprintf(pid, sizeof(pid), "%d", shell.pid);
		struct child freezer = child_start_as(false, "HEAPSNAP_STEP=reading", FREEZER_STEPS,
						      (const char *const[]){ pid, "/", "clone", NULL });
		cr_assert(child_expect(&freezer, "step", line, sizeof(line)), "%s", line);
		cr_expect(has_children(shell.pid));
		cr_assert_eq(write(shell.in, "\n", 1), 1);
		if (i)
			cr_expect(comes_to_end(shell.pid), "its child holds open what it had");
		else
			cr_expect(!child_expect(&shell, "nothing", line, sizeof(line)), "the end of its output is not seen");
		child_kill(&freezer);
		if (i)
			child_kill(&shell);
		else
			child_wait(&shell);
	}
}

static int end_at_once(void *unused)
{
	(void)unused;
	return 0;
}

static void *read_on(void *end)
{
	char byte;
	while (read(*(int *)end, &byte, 1) < 0)
		;
	return NULL;
}

/* Makes processes without pause and counts those that have ended; its threads make the stop longer. */
static _Noreturn void beget(volatile uint64_t *ended)
{
	static char stack[65536];
	int ends[2];
	pthread_t thread;
	if (pipe(ends))
		_exit(1);
	for (int i = 0; i < 200; i++)
		pthread_create(&thread, NULL, read_on, &ends[0]);
	for (;; ++*ended) {
		pid_t pid = clone(end_at_once, stack + sizeof(stack), CLONE_VM, NULL);
		if (pid < 0 || waitpid(pid, NULL, __WALL) != pid)
			_exit(1);
	}
}

/* One that is born while the threads are being stopped is traced, but nobody's that is held. */
Test(clone, what_is_born_in_between_goes_its_way)
{
	volatile uint64_t *ended = map_pages(1, MAP_SHARED);
	pid_t pid = fork();
	if (!pid)
		beget(ended);
	char number[16], line[256];
	snprintf(number, sizeof(number), "%d", pid);
	while (!*ended)
		sleep_ms(1);
	for (int i = 0; i < 40; i++) {
		struct child freezer = child_start_as(false, "HEAPSNAP_STEP=child-left", FREEZER_STEPS,
						      (const char *const[]){ number, "/", "clone", NULL });
		cr_assert(child_expect(&freezer, "", line, sizeof(line)));
		uint64_t before = *ended;
		if (!strncmp(line, "step", 4))
			for (int left = 2000; left && *ended < before + 2; left--)
				sleep_ms(1);
		cr_expect(strncmp(line, "step", 4) || *ended >= before + 2, "take %d: it waits for its child", i);
		child_kill(&freezer);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- refused ---- */

Test(clone, without_room_for_a_process)
{
	if (geteuid())
		cr_skip_test("needs root, to become somebody else");
	char patient_path[256], command[1024], line[256];
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	snprintf(patient_path, sizeof(patient_path), "/tmp/hsnap-test-%d-patient", getpid());
	snprintf(command, sizeof(command), "cp '%s' '%s' && chmod 755 '%s'", PATIENT, patient_path, patient_path);
	cr_assert_eq(system(command), 0);
	snprintf(command, sizeof(command), "ulimit -p 1 && exec '%s' spinner", patient_path);
	struct child patient = child_start_as(true, NULL, "/bin/sh", (const char *const[]){ "-c", command, NULL });
	cr_assert(child_expect(&patient, "READY", line, sizeof(line)));
	cr_expect_eq(freeze_once(patient.pid, &frozen, &err), HSNAP_REFUSED);
	cr_expect(strstr(err.message, "it may not have another process: "), "%s", err.message);
	cr_expect(strstr(err.hint, "RLIMIT_NPROC"), "%s", err.hint);
	expect_unharmed(&patient, "no process");
	unlink(patient_path);
}

Test(clone, a_sandbox_is_left_alone)
{
	struct child patient = start_patient("sandbox", NULL);
	struct hsnap_frozen frozen;
	struct hsnap_error err;
	char line[64];
	cr_expect_eq(freeze_once(patient.pid, &frozen, &err), HSNAP_UNSUPPORTED);
	cr_expect(strstr(err.message, "it has a seccomp filter"), "%s", err.message);
	/* Lifted for the moment of a call, where that is permitted. */
	struct hsnap_freeze_options options = { .proc = &proc, .pid = patient.pid, .scratch = -1, .suspend_seccomp = true };
	if (!geteuid()) {
		cr_expect_eq(hsnap_freeze_clone(&options, &frozen, &err), HSNAP_OK, "%s", err.message);
		hsnap_frozen_deinit(&frozen);
		cr_expect(!has_children(patient.pid));
	}
	close(patient.in);
	patient.in = -1;
	cr_expect(child_expect(&patient, "fine", line, sizeof(line)));
	cr_expect_eq(child_wait(&patient), 0);
}

Test(clone, an_interrupt_ends_the_child)
{
	struct child patient = start_patient("busy", "8");
	struct hsnap_frozen frozen;
	struct hsnap_error err = { 0 };
	volatile int interrupt_now = 1;
	struct hsnap_freeze_options options = { .proc = &proc, .pid = patient.pid, .scratch = -1, .interrupted = &interrupt_now };
	cr_expect_eq(hsnap_freeze_clone(&options, &frozen, &err), HSNAP_INTERRUPTED);
	expect_unharmed(&patient, "interrupted");
}

Test(clone, a_stop_that_outlives_its_limit_makes_no_child)
{
	struct child patient = start_patient("busy", "1");
	struct hsnap_frozen frozen;
	struct hsnap_error err = { 0 };
	struct hsnap_freeze_options options = { .proc = &proc, .pid = patient.pid, .scratch = -1, .max_pause_ns = 1 };
	cr_expect_eq(hsnap_freeze_clone(&options, &frozen, &err), HSNAP_REFUSED);
	cr_expect(strstr(err.message, "let go"), "%s", err.message);
	expect_unharmed(&patient, "given up");
}
