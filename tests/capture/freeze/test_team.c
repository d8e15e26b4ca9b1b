/* SPDX-License-Identifier: MIT */
/* test_team.c - helpers that come, are too late, or are slow; what they copy is what one alone copies. */
#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/freeze/freeze.h"
#include "capture/freeze/team.h"

#define PAGE ((size_t)4096)

TestSuite(team, .timeout = 60);

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

static bool has_processors(void)
{
	cpu_set_t set;
	return !sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) > 1;
}

static void be_on_one_processor(void)
{
	cpu_set_t set, one;
	cr_assert(!sched_getaffinity(0, sizeof(set), &set));
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &set))
			CPU_SET(i, &one);
	cr_assert(!sched_setaffinity(0, sizeof(one), &one));
}

static struct hsnap_team *team_or_skip(void)
{
	struct hsnap_team *team = has_processors() ? hsnap_team_create() : NULL;
	if (!team)
		cr_skip_test("there is one processor only");
	return team;
}

struct counting {
	atomic_int next, done, inside, most;
	int num;
	long ms; /* that a piece takes */
	atomic_bool closed, late;
};

static void count(void *context)
{
	struct counting *counting = context;
	int inside = atomic_fetch_add(&counting->inside, 1) + 1;
	if (inside > counting->most)
		counting->most = inside;
	if (counting->closed)
		counting->late = true;
	while (atomic_fetch_add(&counting->next, 1) < counting->num) {
		if (counting->ms)
			sleep_ms(counting->ms);
		atomic_fetch_add(&counting->done, 1);
	}
	atomic_fetch_sub(&counting->inside, 1);
}

/* Each piece once, by several at the same time, over and over and for one user after the other. */
Test(team, several_works_one_after_the_other)
{
	struct hsnap_team *team = team_or_skip();
	unsigned helped = 0;
	for (int i = 0; i < 2000; i++) {
		struct counting counting = { .num = i % 7, .ms = i % 100 ? 0 : 2 };
		hsnap_team_open(team, count, &counting);
		count(&counting);
		while (!hsnap_team_close(team))
			sched_yield();
		cr_assert_eq(counting.done, counting.num);
		cr_assert_eq(counting.inside, 0);
		helped += counting.most > 1;
		counting.closed = true;
		sched_yield();
		cr_assert(!counting.late, "somebody came after it was closed");
	}
	cr_expect(helped, "nobody ever helped"); /* on a busy machine not each time */
	hsnap_team_destroy(team);
}

/* Closed, it says at once that somebody is at work; nothing new is begun until he is done, or by destroying. */
Test(team, who_is_slow_is_known_to_be_at_work)
{
	struct hsnap_team *team = team_or_skip();
	struct counting slow = { .num = 1, .ms = 300 }, other = { .num = 1000 };
	hsnap_team_open(team, count, &slow);
	while (!slow.inside)
		sleep_ms(1);
	cr_expect(!hsnap_team_close(team));
	hsnap_team_open(team, count, &other);
	count(&other);
	cr_expect_eq(other.done, 1000);
	cr_expect_eq(other.most, 1, "a new work was begun beside the old one");
	cr_expect_eq(slow.done, 0);
	hsnap_team_destroy(team);
	cr_expect_eq(slow.done, 1, "it was not waited for");
}

Test(team, one_processor_goes_without)
{
	be_on_one_processor();
	struct counting counting = { .num = 5 };
	cr_expect_null(hsnap_team_create());
	hsnap_team_open(NULL, count, &counting);
	cr_expect_eq(counting.next, 0);
	cr_expect(hsnap_team_close(NULL));
	hsnap_team_destroy(NULL);
}

#define SPARSE ((size_t)96 << 20)
#define SECRETS 50 /* of one to four pages each */

static size_t secret_at(size_t n)
{
	return (n * 300 + 7) * PAGE;
}

/* Pages that are there, and that nobody else can read; 0: they are not to be had. */
static size_t map_secrets(uint8_t *sparse)
{
	size_t pages = 0;
	int fd = (int)syscall(SYS_memfd_secret, 0);
	if (fd < 0 || ftruncate(fd, 4 * PAGE))
		return 0;
	for (size_t i = 0; i < SECRETS; i++) {
		size_t size = (i % 4 + 1) * PAGE;
		if (mmap(sparse + secret_at(i), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			return 0;
		pages += size / PAGE;
	}
	close(fd);
	return pages;
}

/* A process that is stopped, with pages here and there. */
static pid_t start_target(uint8_t **ret_sparse, size_t *ret_secrets)
{
	uint8_t *sparse = mmap(NULL, SPARSE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert(sparse != MAP_FAILED && !madvise(sparse, SPARSE, MADV_NOHUGEPAGE));
	*ret_secrets = map_secrets(sparse);
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		uint64_t state = 88172645463325252u;
		for (size_t at = 0; at < SPARSE; at += PAGE) {
			state ^= state << 13, state ^= state >> 7, state ^= state << 17;
			/* Whole for two thirds; then runs of some pages. */
			if (at < SPARSE / 3 * 2 || state % 2)
				for (size_t i = 0; i < PAGE; i += 64)
					memcpy(sparse + at + i, &(uint64_t){ state + i }, 8);
		}
		raise(SIGSTOP);
		_exit(0);
	}
	int status;
	cr_assert(pid > 0 && waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	*ret_sparse = sparse;
	return pid;
}

static void freeze_or_fail(const struct hsnap_proc *proc, pid_t pid, struct hsnap_frozen *frozen)
{
	struct hsnap_error err = { 0 };
	struct hsnap_freeze_options options = { .proc = proc, .pid = pid, .scratch = -1 };
	cr_assert_eq(hsnap_freeze_copy(&options, frozen, &err), HSNAP_OK, "%s", err.message);
}

/* The same runs with the same bytes. */
static void expect_same(const struct hsnap_target *one, const struct hsnap_target *other)
{
	static uint8_t a[1 << 16], b[1 << 16];
	uint64_t start, end, start2, end2, at = 0;
	size_t runs = 0;
	while (hsnap_target_next_run(one, at, &start, &end)) {
		cr_assert(hsnap_target_next_run(other, at, &start2, &end2));
		cr_assert(start == start2 && end == end2, "run %zu: %lx-%lx, %lx-%lx", runs, start, end, start2, end2);
		for (uint64_t from = start; from < end; from += sizeof(a)) {
			size_t len = end - from < sizeof(a) ? end - from : sizeof(a);
			cr_assert(!hsnap_target_read(one, from, a, len, NULL) && !hsnap_target_read(other, from, b, len, NULL));
			cr_assert_arr_eq(a, b, len, "at %lx", from);
		}
		at = end;
		runs++;
	}
	cr_expect(!hsnap_target_next_run(other, at, &start2, &end2));
	cr_expect_gt(runs, 1500);
}

/* What is there is what the kernel gives of the stopped process, page by page; returns how many pages it does not. */
static size_t expect_true(const struct hsnap_target *target, pid_t pid, const uint8_t *sparse)
{
	static uint8_t ours[4096], theirs[4096];
	size_t secrets = 0;
	for (size_t page = 0; page < SPARSE / PAGE; page++) {
		uint64_t address = (uint64_t)(uintptr_t)sparse + page * PAGE, start, end;
		struct iovec to = { theirs, PAGE }, from = { (void *)(uintptr_t)address, PAGE };
		if (process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)PAGE) {
			cr_assert(!hsnap_target_read(target, address, ours, PAGE, NULL));
			cr_assert_arr_eq(ours, theirs, PAGE, "page %zu", page);
			continue;
		}
		secrets++;
		cr_expect(!hsnap_target_next_run(target, address, &start, &end) || start > address, "page %zu is there", page);
	}
	return secrets;
}

Test(team, a_copy_by_several_is_that_of_one)
{
	if (!has_processors())
		cr_skip_test("there is one processor only");
	uint8_t *sparse;
	size_t secrets;
	struct hsnap_proc proc;
	struct hsnap_frozen several, one;
	cr_assert_eq(hsnap_proc_init(&proc, "/", NULL), HSNAP_OK);
	pid_t pid = start_target(&sparse, &secrets);
	freeze_or_fail(&proc, pid, &several);
	cpu_set_t processors;
	cr_assert(!sched_getaffinity(0, sizeof(processors), &processors));
	be_on_one_processor();
	freeze_or_fail(&proc, pid, &one);
	cr_expect_eq(one.lost, secrets * PAGE, "%lu bytes lost, %zu pages are unreadable", one.lost, secrets);
	cr_expect_eq(several.lost, one.lost);
	for (int i = 0; i < 12; i++) { /* nothing of what a helper was at in the end is left out */
		cr_expect_eq(several.copied, one.copied);
		hsnap_frozen_deinit(&several);
		cr_assert(!sched_setaffinity(0, sizeof(processors), &processors));
		freeze_or_fail(&proc, pid, &several);
	}
	expect_same(one.target, several.target);
	cr_expect_eq(expect_true(several.target, pid, sparse), secrets);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	hsnap_frozen_deinit(&one);
	hsnap_frozen_deinit(&several);
	if (!secrets)
		cr_skip_test("the kernel has no memfd_secret: compared without places that cannot be read");
}
