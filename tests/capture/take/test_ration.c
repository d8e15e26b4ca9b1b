/* SPDX-License-Identifier: MIT */
/* test_ration.c - in a real cgroup memory ends for us before it ends for all. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/ration.h"
#include "snapshot/base/budget.h"
#include "snapshot/base/pages.h"
#include "snapshot/base/vec.h"
#include "tests/capture/support/cgroup.h"
#include "tests/capture/support/tree.h"

#define MIB ((size_t)1 << 20)
#define LIMIT (96 * MIB)

enum { GOOD, NOT_HALTED, NOT_EXPLAINED, NEVER_ENDED, NOT_OPEN, TOO_EARLY, NO_CGROUP };

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L }, NULL);
}

/* In small pieces, which nobody is asked for: what stops it is the thread that looks. */
static size_t fill_small(void)
{
	size_t got = 0;
	for (void *page; got < 4 * LIMIT && (page = hsnap_pages_alloc(64, 4096)); got += 64 * 4096) {
		memset(page, 1, 64 * (size_t)4096);
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
	return got;
}

static size_t fill_vector(void)
{
	struct hsnap_vec(uint64_t) vec = { 0 };
	while (vec.num < 4 * LIMIT / 8 && hsnap_vec_push(&vec, 1)) {
	}
	return vec.num * 8;
}

/* Others in the cgroup grow: a child that knows nothing of budgets. */
static size_t fill_others(void)
{
	pid_t pid = fork();
	if (!pid) {
		hsnap_budget_watch(NULL, NULL);
		for (size_t got = 0; got < LIMIT - 3 * MIB; got += MIB) {
			char *page = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			memset(page, 1, MIB);
			sleep_ms(1);
		}
		for (;;)
			pause();
	}
	/* One page after the other, until none is given any more. */
	for (int i = 0; i < 5000 && hsnap_pages_alloc(1, 4096); i++)
		sleep_ms(1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return LIMIT - 3 * MIB;
}

static int grow(size_t (*fill)(void))
{
	struct hsnap_proc proc;
	struct hsnap_ration ration;
	struct hsnap_error err = { 0 };
	if (hsnap_proc_init(&proc, "/", NULL))
		return NO_CGROUP;
	hsnap_ration_begin(&ration, &proc, NULL);
	size_t got = fill();
	if (got >= 4 * LIMIT)
		return NEVER_ENDED;
	if (got < LIMIT / 2)
		return TOO_EARLY;
	int halted = ration.halt;
	hsnap_ration_end(&ration);
	if (!halted)
		return NOT_HALTED;
	if (hsnap_ration_explain(&ration, HSNAP_NO_MEMORY, false, &err) != HSNAP_REFUSED ||
	    strncmp(err.message, "gave up with ", 13) || !strstr(err.message, " MiB in use, this cgroup has ") ||
	    !strstr(err.message, " of 96 MiB left") || !strstr(err.hint, "--scratch DIR"))
		return NOT_EXPLAINED;
	return hsnap_pages_alloc(1, 4096) ? GOOD : NOT_OPEN;
}

static void expect_end(size_t (*fill)(void))
{
	struct cgroup cgroup;
	if (!cgroup_create(&cgroup, LIMIT))
		cr_skip_test("no memory cgroup can be made here");
	pid_t pid = fork();
	if (!pid)
		_exit(cgroup_enter(&cgroup) ? grow(fill) : NO_CGROUP);
	int status;
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	unsigned long long kills = cgroup_kills(&cgroup);
	cgroup_remove(&cgroup);
	cr_assert(WIFEXITED(status), "killed by signal %d", WTERMSIG(status));
	cr_expect_eq(WEXITSTATUS(status), GOOD, "it ended as %d", WEXITSTATUS(status));
	cr_expect_eq(kills, 0, "the kernel killed");
}

Test(ration, many_small_pieces)
{
	expect_end(fill_small);
}

Test(ration, one_that_doubles)
{
#if defined(__SANITIZE_ADDRESS__)
	cr_skip_test("the sanitizer's realloc() copies, and keeps both for a while");
#endif
	expect_end(fill_vector);
}

Test(ration, others_that_grow)
{
	expect_end(fill_others);
}

Test(ration, an_interrupt_is_handed_on)
{
	struct hsnap_proc proc;
	struct hsnap_ration ration;
	volatile int interrupted = 0;
	cr_assert_eq(hsnap_proc_init(&proc, "/", NULL), HSNAP_OK);
	hsnap_ration_begin(&ration, &proc, &interrupted);
	sleep_ms(30);
	cr_expect_eq(ration.halt, 0);
	interrupted = 1;
	for (int i = 0; i < 5000 && !ration.halt; i++)
		sleep_ms(1);
	cr_expect_eq(ration.halt, 1);
	hsnap_ration_end(&ration);
	cr_expect_eq(hsnap_ration_explain(&ration, HSNAP_INTERRUPTED, false, NULL), HSNAP_INTERRUPTED);
	hsnap_proc_deinit(&proc);
}

Test(ration, without_limits_it_is_not_there)
{
	struct hsnap_proc proc;
	struct hsnap_ration ration;
	tree_create(&proc);
	hsnap_ration_begin(&ration, &proc, NULL);
	void *pages = hsnap_pages_alloc(64, MIB);
	cr_expect(pages);
	hsnap_pages_free(pages, 64, MIB);
	hsnap_ration_end(&ration);
	cr_expect_eq(ration.halt, 0);
	cr_expect_eq(hsnap_ration_explain(&ration, HSNAP_NO_MEMORY, false, NULL), HSNAP_NO_MEMORY);
	tree_destroy(&proc);
}
