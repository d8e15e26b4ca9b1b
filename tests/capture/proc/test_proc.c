/* SPDX-License-Identifier: MIT */
/* test_proc.c - what /proc says, also where it says it badly. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/proc/kernel.h"
#include "capture/proc/proc.h"
#include "capture/target/target.h"
#include "tests/capture/support/tree.h"

enum { R = HSNAP_PROT_READ, W = HSNAP_PROT_WRITE, X = HSNAP_PROT_EXEC, S = HSNAP_PROT_SHARED };

static const struct {
	const char *line; /* NULL path: no line comes out */
	uint64_t start, end, offset, inode;
	uint8_t prot;
	bool deleted;
	const char *path;
} lines[] = {
	{ "5621a4026000-5621a4027000 r-xp 00001000 fe:00 11658769                   /usr/bin/a b", 0x5621a4026000,
	  0x5621a4027000, 0x1000, 11658769, R | X, false, "/usr/bin/a b" },
	{ "7f50f703b000-7f50f7048000 rw-p 00000000 00:00 0 ", 0x7f50f703b000, 0x7f50f7048000, 0, 0, R | W, false, "" },
	{ "7f50f703b000-7f50f7048000 rw-s 00000000 00:01 1029 /dev/zero (deleted)", 0x7f50f703b000, 0x7f50f7048000, 0,
	  1029, R | W | S, true, "/dev/zero" },
	{ "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]", 0xffffffffff600000,
	  0xffffffffff601000, 0, 0, X, false, "[vsyscall]" },
	{ "1000-2000 r--p 0 0:0 0 (deleted)", 0x1000, 0x2000, 0, 0, R, false, "(deleted)" },
	{ "2000-1000 r--p 00000000 00:00 0 /x", .path = NULL },
	{ "1000-1000 r--p 00000000 00:00 0 /x", .path = NULL },
	{ "10000000000000000-20000000000000000 r--p 00000000 00:00 0 /x", .path = NULL },
	{ "1000-2000", .path = NULL },
	{ "1000-2000 r--p", .path = NULL },
	{ "1000-2000 r--p 0000", .path = NULL },
	{ "1000-2000 r--p 00000000 00:00", .path = NULL },
	{ "1000-2000 r--p 00000000 00:00 x", .path = NULL },
	{ "-2000 r--p 00000000 00:00 1 /x", .path = NULL },
	{ "nonsense", .path = NULL },
};

ParameterizedTestParameters(proc, maps)
{
	static size_t index[sizeof(lines) / sizeof(*lines)];
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, sizeof(lines) / sizeof(*lines));
}

ParameterizedTest(size_t *row, proc, maps)
{
	char text[512];
	struct hsnap_maps_line line;
	snprintf(text, sizeof(text), "%s\n3000-4000 rw-p 00000000 00:00 0 [last]\n", lines[*row].line);
	const char *at = text;
	if (lines[*row].path) {
		cr_assert(hsnap_maps_next(&at, &line), "%s", lines[*row].line);
		cr_expect(line.start == lines[*row].start && line.end == lines[*row].end);
		cr_expect(line.offset == lines[*row].offset && line.inode == lines[*row].inode);
		cr_expect(line.prot == lines[*row].prot && line.deleted == lines[*row].deleted);
		cr_expect(hsnap_maps_is(&line, "") == !lines[*row].path[0] && line.path_len == strlen(lines[*row].path) &&
			  !memcmp(line.path, lines[*row].path, line.path_len));
	}
	/* What cannot be read is passed over; what follows is read all the same. */
	cr_assert(hsnap_maps_next(&at, &line), "after %s", lines[*row].line);
	cr_expect(hsnap_maps_is(&line, "[last]"));
	cr_expect(!hsnap_maps_next(&at, &line));
}

Test(proc, maps_cut_at_every_byte)
{
	static const char whole[] = "5621a4026000-5621a4027000 r-xp 00001000 fe:00 11658769  /usr/bin/a (deleted)";
	for (size_t len = 0; len < sizeof(whole); len++) {
		char *text = strndup(whole, len); /* its end is watched by the sanitizer */
		const char *at = text;
		struct hsnap_maps_line line;
		while (hsnap_maps_next(&at, &line))
			cr_expect_leq(line.path + line.path_len, text + len);
		free(text);
	}
}

Test(proc, status_and_start_time)
{
	struct hsnap_proc proc;
	struct hsnap_proc_status status;
	tree_create(&proc);
	tree_write(&proc, "proc/7/status",
		   "Name:\ta b) Tgid:\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t7\nPPid:\t3\nTracerPid:\t9\n"
		   "Uid:\t1000\t1001\t1001\t1001\nGid:\t100\t101\t101\t101\nVmSize:\t 10 kB\nVmRSS:\t     8 kB\nRssAnon:\t 4 kB\nVmSwap:\t 2 kB\n"
		   "Threads:\t5\nCapPrm:\t0000000000000400\nSigIgn:\t0000000000001000\nSigCgt:\t0000000180014a07\nCapEff:\t000001ffffffffff\n"
		   "Seccomp:\t2\n");
	tree_write(&proc, "proc/7/stat",
		   "7 (a b) Tgid:) S 3 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 5 0 4711 99 98 18446744073709551615 1\n");
	cr_assert(hsnap_proc_status(&proc, 7, &status));
	cr_expect_str_eq(status.comm, "a b) Tgid:");
	cr_expect(status.state == 'S' && status.tgid == 7 && status.parent == 3 && status.tracer == 9);
	cr_expect(status.uid == 1000 && status.effective_uid == 1001 && status.threads == 5 && status.seccomp == 2);
	cr_expect(status.rss == 8192 && status.rss_anon == 4096 && status.swap == 2048 && status.has_memory);
	cr_expect(status.ignored == 0x1000 && status.caught == 0x180014a07u && status.effective_caps == 0x1ffffffffffu);
	cr_expect(status.gid == 100 && status.permitted_caps == 0x400);
	cr_expect_eq(hsnap_proc_start_time(&proc, 7), 4711);
	cr_expect_eq(hsnap_proc_start_time(&proc, 8), 0);
	cr_expect(!hsnap_proc_status(&proc, 8, &status) && errno == ENOENT);
	tree_write(&proc, "proc/9/status", "Name:\tx\n");
	cr_expect(!hsnap_proc_status(&proc, 9, &status), "a status without a state was taken");
	tree_destroy(&proc);
}

Test(proc, lists_and_links)
{
	struct hsnap_proc proc;
	struct hsnap_proc_ids ids = { 0 };
	char text[8];
	tree_create(&proc);
	tree_write(&proc, "proc/5/task/5/comm", "x\n");
	tree_write(&proc, "proc/5/task/17/comm", "y\n");
	tree_write(&proc, "proc/5/task/17x", "");
	tree_write(&proc, "proc/5/task/99999999999", "");
	cr_assert(hsnap_proc_list(&proc, &ids, "proc/%d/task", 5));
	cr_expect_eq(ids.num, 2);
	cr_expect_eq(ids.items[0] + ids.items[1], 22);
	cr_expect(!hsnap_proc_list(&proc, &ids, "proc/%d/task", 6));
	cr_assert(!symlinkat("abcdefg", proc.root, "proc/5/exe") && !symlinkat("abcdefgh", proc.root, "proc/5/cwd"));
	cr_expect(hsnap_proc_link(&proc, text, sizeof(text), "proc/%d/exe", 5));
	cr_expect_str_eq(text, "abcdefg");
	cr_expect(!hsnap_proc_link(&proc, text, sizeof(text), "proc/%d/cwd", 5), "a link was cut");
	hsnap_vec_deinit(&ids);
	tree_destroy(&proc);
}

Test(proc, kernel_lists)
{
	static const char epoll[] =
		"pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t1057\n"
		"tfd:        7 events:       19 data:     55d0c2a012a0  pos:0 ino:f sdev:9\n"
		"tfd:       11 events: 80000019 data:               b  pos:0 ino:f sdev:9\n"
		"tfd:       12 events";
	static const char timers[] =
		"ID: 0\nsignal: 10/000055d0c2a012a0\nnotify: signal/pid.4711\nClockID: 1\n"
		"ID: 3\nsignal: 0/0000000000000007\nnotify: none/pid.4711\nClockID: 0\n";
	uint64_t id, value;
	const char *at = epoll;
	cr_assert(hsnap_kernel_next(HSNAP_KERNEL_EPOLL, &at, &id, &value));
	cr_expect(id == 7 && value == 0x55d0c2a012a0);
	cr_assert(hsnap_kernel_next(HSNAP_KERNEL_EPOLL, &at, &id, &value));
	cr_expect(id == 11 && value == 11);
	cr_expect(!hsnap_kernel_next(HSNAP_KERNEL_EPOLL, &at, &id, &value), "half a line gave a value");
	at = timers;
	cr_assert(hsnap_kernel_next(HSNAP_KERNEL_TIMERS, &at, &id, &value));
	cr_expect(id == 0 && value == 0x55d0c2a012a0);
	cr_assert(hsnap_kernel_next(HSNAP_KERNEL_TIMERS, &at, &id, &value));
	cr_expect(id == 3 && value == 7);
	cr_expect(!hsnap_kernel_next(HSNAP_KERNEL_TIMERS, &at, &id, &value));
}
