/* SPDX-License-Identifier: MIT */
/* test_memory.c - the memory of a process, also where a filter forbids process_vm_readv. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/proc/memory.h"
#include "tests/capture/support/forbid.h"

#define PAGE 4096

static uint8_t *pages; /* three of them in the child, the middle one cannot be read */
static pid_t child;

static void make_child(void)
{
	pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(pages, MAP_FAILED);
	for (int i = 0; i < 3 * PAGE; i++)
		pages[i] = (uint8_t)(i * 7 / 3);
	int ready[2];
	cr_assert_eq(pipe(ready), 0);
	child = fork();
	cr_assert_geq(child, 0);
	if (!child) {
		munmap(pages + PAGE, PAGE);
		close(ready[0]);
		close(ready[1]);
		for (;;)
			pause();
	}
	char byte;
	close(ready[1]);
	cr_assert_eq(read(ready[0], &byte, 1), 0);
	close(ready[0]);
}

static void end_child(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void expect_reads(bool filtered)
{
	static uint8_t got[3 * PAGE];
	struct hsnap_proc proc;
	struct hsnap_memory memory;
	cr_assert_eq(hsnap_proc_init(&proc, "/", NULL), HSNAP_OK);
	hsnap_memory_init(&memory, &proc, child);
	cr_expect_eq(memory.file >= 0, filtered);

	/* Two places into three. */
	struct iovec from[2] = { { pages + 100, 1000 }, { pages + 2 * PAGE, 2000 } };
	struct iovec to[3] = { { got, 700 }, { got + 700, 700 }, { got + 1400, 1600 } };
	cr_expect_eq(hsnap_memory_read(&memory, to, 3, from, 2), 3000);
	cr_expect(!memcmp(got, pages + 100, 1000) && !memcmp(got + 1000, pages + 2 * PAGE, 2000));
	/* No room for all of it. */
	cr_expect_eq(hsnap_memory_read(&memory, to, 2, from, 2), 1400);
	/* Up to what is not there, and there. */
	struct iovec over = { pages + PAGE - 10, 20 }, hole = { pages + PAGE, 20 }, one = { got, sizeof(got) };
	cr_expect_eq(hsnap_memory_read(&memory, &one, 1, &over, 1), 10);
	cr_expect(!memcmp(got, pages + PAGE - 10, 10));
	cr_expect(hsnap_memory_read(&memory, &one, 1, &hole, 1) == -1 && errno == EFAULT, "%s", strerror(errno));
	end_child();
	cr_expect(hsnap_memory_read(&memory, &one, 1, &over, 1) == -1 && errno == ESRCH, "%s", strerror(errno));
	hsnap_memory_deinit(&memory);
	hsnap_proc_deinit(&proc);
}

TestSuite(memory, .init = make_child);

Test(memory, by_the_call)
{
	expect_reads(false);
}

Test(memory, by_the_file_where_the_call_is_forbidden)
{
	forbid(SYS_process_vm_readv, EPERM);
	expect_reads(true);
}

Test(memory, by_the_file_where_the_call_is_unknown)
{
	forbid(SYS_process_vm_readv, ENOSYS);
	expect_reads(true);
}
