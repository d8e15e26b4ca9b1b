/* SPDX-License-Identifier: MIT */
/* test_forecast.c - predictions, what stands against a way, and the choice; nobody is touched. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/freeze/forecast.h"
#include "capture/freeze/freeze.h"
#include "tests/capture/support/child.h"
#include "tests/capture/support/tree.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define MS ((uint64_t)1000000)

/* A forecast of three ways: what stands against each ("" nothing), and its cure. */
static const struct {
	const char *name;
	enum hsnap_freeze_mode asked;
	const char *copy[2], *precopy[2], *clone[2];
	enum hsnap_freeze_mode chosen;
	const char *message, *hint;
} choices[] = {
	{ "all can be had", HSNAP_FREEZE_AUTO, { "" }, { "" }, { "" }, HSNAP_FREEZE_PRECOPY, "", "" },
	{ "no precopy", HSNAP_FREEZE_AUTO, { "" }, { "old kernel" }, { "" }, HSNAP_FREEZE_COPY, "", "" },
	{ "too long without precopy", HSNAP_FREEZE_AUTO, { "too long", "--max-pause 900" },
	  { "it runs under a filter", "--suspend-seccomp" }, { "" }, HSNAP_FREEZE_AUTO,
	  "too long; no precopy: it runs under a filter",
	  "--max-pause 900, --freeze=clone (about 31 ms, and it grows by what it writes meanwhile), --suspend-seccomp" },
	{ "too long, and no clone either", HSNAP_FREEZE_AUTO, { "too long", "--max-pause 900" }, { "old kernel", "" },
	  { "no room", "raise the limit" }, HSNAP_FREEZE_AUTO, "too long; no precopy: old kernel", "--max-pause 900" },
	{ "a clone is never chosen unasked", HSNAP_FREEZE_AUTO, { "too long", "--max-pause 900" }, { "old kernel", "" },
	  { "" }, HSNAP_FREEZE_AUTO, "too long; no precopy: old kernel",
	  "--max-pause 900, --freeze=clone (about 31 ms, and it grows by what it writes meanwhile)" },
	{ "not permitted", HSNAP_FREEZE_AUTO, { "not permitted", "sudo" }, { "not permitted", "sudo" },
	  { "not permitted", "sudo" }, HSNAP_FREEZE_AUTO, "not permitted", "sudo" },
	{ "copy was asked for and is too long", HSNAP_FREEZE_COPY, { "too long", "--max-pause 900" }, { "" }, { "" },
	  HSNAP_FREEZE_AUTO, "too long",
	  "--max-pause 900, --freeze=clone (about 31 ms, and it grows by what it writes meanwhile)" },
	{ "precopy was asked for", HSNAP_FREEZE_PRECOPY, { "" }, { "old kernel", "" }, { "" }, HSNAP_FREEZE_AUTO,
	  "old kernel", "" },
	{ "clone was asked for", HSNAP_FREEZE_CLONE, { "" }, { "" }, { "" }, HSNAP_FREEZE_CLONE, "", "" },
	{ "clone was asked for in vain", HSNAP_FREEZE_CLONE, { "" }, { "" }, { "no room", "raise the limit" },
	  HSNAP_FREEZE_AUTO, "no room", "raise the limit" },
};

ParameterizedTestParameters(forecast, choices)
{
	static size_t index[sizeof(choices) / sizeof(*choices)];
	for (size_t i = 0; i < sizeof(choices) / sizeof(*choices); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, sizeof(choices) / sizeof(*choices));
}

ParameterizedTest(size_t *row, forecast, choices)
{
	struct hsnap_forecast forecast = { .asked = choices[*row].asked };
	struct hsnap_error err = { 0 };
	for (enum hsnap_freeze_mode mode = HSNAP_FREEZE_COPY; mode < HSNAP_NUM_FREEZE_MODES; mode++) {
		const char *const *against = mode == HSNAP_FREEZE_COPY ? choices[*row].copy
				     : mode == HSNAP_FREEZE_PRECOPY ? choices[*row].precopy : choices[*row].clone;
		struct hsnap_error why = { 0 };
		strcpy(why.message, against[0]);
		strcpy(why.hint, against[1] ? against[1] : "");
		forecast.ways[mode] = (struct hsnap_forecast_way){ .possible = true, .pause_ns = 31 * MS - 1 };
		hsnap_forecast_rule_out(&forecast, mode, 0, &why);
		forecast.ways[mode].possible = !against[0][0];
	}
	hsnap_forecast_choose(&forecast);
	cr_expect_eq(forecast.chosen, choices[*row].chosen, "%s: %d", choices[*row].name, forecast.chosen);
	enum hsnap_code code = hsnap_forecast_refuse(&forecast, &err);
	cr_expect_eq(code, choices[*row].message[0] ? HSNAP_REFUSED : HSNAP_OK, "%s", choices[*row].name);
	cr_expect_str_eq(err.message, choices[*row].message, "%s: %s", choices[*row].name, err.message);
	cr_expect_str_eq(err.hint, choices[*row].hint, "%s: %s", choices[*row].name, err.hint);
}

/* What a way that was given up held it still for counts with the next one's pause. */
Test(forecast, what_was_spent_counts)
{
	for (uint64_t spent = 0; spent <= 4 * MS; spent += 4 * MS) {
		struct hsnap_forecast forecast = { .max_pause_ns = 100 * MS };
		struct hsnap_error why = { .message = "did not converge" }, err = { 0 };
		for (enum hsnap_freeze_mode mode = HSNAP_FREEZE_COPY; mode < HSNAP_NUM_FREEZE_MODES; mode++)
			forecast.ways[mode] = (struct hsnap_forecast_way){ .possible = true, .pause_ns = 97 * MS };
		hsnap_forecast_rule_out(&forecast, HSNAP_FREEZE_PRECOPY, spent, &why);
		cr_expect_eq(forecast.chosen, spent ? HSNAP_FREEZE_AUTO : HSNAP_FREEZE_COPY, "%lu", spent);
		cr_expect_eq(hsnap_forecast_refuse(&forecast, &err), spent ? HSNAP_REFUSED : HSNAP_OK);
		cr_expect_str_eq(err.message, spent ? "copy would hold it still for about 101 ms: --max-pause is 100; "
						       "no precopy: did not converge" : "");
	}
}

Test(forecast, pauses_are_of_the_measured_size)
{
	static const struct {
		enum hsnap_freeze_mode mode;
		uint64_t bytes, huge, threads, least_us, most_us, shared;
		bool old; /* no PAGEMAP_SCAN: the page map is read entry by entry in the stop */
	} pauses[] = {
		{ HSNAP_FREEZE_COPY, GIB, 0, 1, 200000, 230000 },       /* at 5 GB/s */
		{ HSNAP_FREEZE_COPY, 4 * GIB, 0, 1, 800000, 920000 },
		{ HSNAP_FREEZE_COPY, 0, 0, 201, 3000, 7000 },           /* 200 sleepers */
		{ HSNAP_FREEZE_PRECOPY, GIB, 0, 3, 400, 1000 },
		{ HSNAP_FREEZE_PRECOPY, 4 * GIB, 0, 3, 1000, 2000 },
		{ HSNAP_FREEZE_CLONE, GIB, 0, 3, 18000, 40000 },
		{ HSNAP_FREEZE_CLONE, GIB, GIB, 3, 600, 4300 },
		{ HSNAP_FREEZE_CLONE, GIB, 2 * GIB, 3, 600, 4300 },     /* more huge pages than are copied */
		{ HSNAP_FREEZE_CLONE, GIB, 0, 3, 110000, 140000, GIB / 2 }, /* half of it is copied in the stop */
		{ HSNAP_FREEZE_CLONE, GIB, GIB, 3, 200000, 230000, GIB },
		{ HSNAP_FREEZE_COPY, UINT64_MAX, 0, UINT64_MAX, 1000000, UINT64_MAX },
		{ HSNAP_FREEZE_PRECOPY, GIB, 0, 3, 14000, 15000, .old = true },
		{ HSNAP_FREEZE_PRECOPY, 4 * GIB, 0, 3, 56000, 58000, .old = true },
		{ HSNAP_FREEZE_COPY, GIB, 0, 1, 214000, 244000, .old = true },
		{ HSNAP_FREEZE_CLONE, GIB, 0, 3, 32000, 54000, .old = true },
	};
	for (size_t i = 0; i < sizeof(pauses) / sizeof(*pauses); i++) {
		struct hsnap_forecast forecast = {
			.bytes = pauses[i].bytes, .shared = pauses[i].shared, .huge = pauses[i].huge,
			.threads = pauses[i].threads, .copy_rate = 5000000000u, .one_rate = 5000000000u, .scan = !pauses[i].old,
		};
		uint64_t us = hsnap_forecast_pause(&forecast, pauses[i].mode) / 1000;
		cr_expect(us >= pauses[i].least_us && us <= pauses[i].most_us, "row %zu: %lu us", i, us);
	}
	uint64_t rate = hsnap_copy_rate(NULL);
	cr_expect(rate > 100000000u && rate < 1000000000000u, "this machine copies %lu bytes a second", rate);
}

/* Recorded processes: one file each, "proc/812/" before its name. */
struct file {
	const char *path, *text;
};
#define STATUS(more) "Name:\tnginx\nState:\tS\nTgid:\t812\nPPid:\t1\nTracerPid:\t0\nUid:\t33\t33\t33\t33\nVmSize:\t 9 kB\n" \
	"VmRSS:\t 3072 kB\nRssAnon:\t 2048 kB\nVmSwap:\t 1024 kB\nThreads:\t7\n" more
#define OURS(more) "Name:\theapsnap\nState:\tR\nUid:\t0\t0\t0\t0\n" more
#define ALL_CAPS "CapEff:\t000001ffffffffff\n"
#define NO_CAPS "CapEff:\t0000000000000000\n"

static const struct {
	const char *name;
	struct file files[6];
	bool suspend;
	const char *copy, *precopy, *clone, *cure; /* why not; the cure is clone's */
} trees[] = {
	{ "an old kernel", { { "proc/812/mem", "" }, { "proc/812/status", STATUS("") } }, false,
	  "", "this kernel cannot tell which pages are written to: Linux 6.7 can, or CONFIG_MEM_SOFT_DIRTY", "", "" },
	{ "in a sandbox", { { "proc/812/mem", "" }, { "proc/812/status", STATUS("Seccomp:\t2\n") } }, false,
	  "", "this kernel cannot tell which pages are written to: Linux 6.7 can, or CONFIG_MEM_SOFT_DIRTY", "it runs under a seccomp filter",
	  "--suspend-seccomp (the filter is lifted for the moment of a call)" },
	{ "in a sandbox that may be lifted",
	  { { "proc/812/mem", "" }, { "proc/812/status", STATUS("Seccomp:\t2\n") }, { "proc/self/status", OURS(ALL_CAPS) } },
	  true, "", "this kernel cannot tell which pages are written to: Linux 6.7 can, or CONFIG_MEM_SOFT_DIRTY", "", "" },
	{ "in a sandbox, and we have no right to lift it",
	  { { "proc/812/mem", "" }, { "proc/812/status", STATUS("Seccomp:\t2\n") }, { "proc/self/status", OURS(NO_CAPS) } },
	  true, "", "this kernel cannot tell which pages are written to: Linux 6.7 can, or CONFIG_MEM_SOFT_DIRTY",
	  "lifting its seccomp filter is not permitted",
	  "needs CAP_SYS_ADMIN and no seccomp filter on heapsnap: the node's root" },
	{ "in a sandbox, and we in one of our own",
	  { { "proc/812/mem", "" }, { "proc/812/status", STATUS("Seccomp:\t2\n") },
	    { "proc/self/status", OURS(ALL_CAPS "Seccomp:\t2\n") } },
	  true, "", "this kernel cannot tell which pages are written to: Linux 6.7 can, or CONFIG_MEM_SOFT_DIRTY",
	  "its seccomp filter can only be lifted by who has none",
	  "needs CAP_SYS_ADMIN and no seccomp filter on heapsnap: the node's root" },
	{ "a namespace is to be made",
	  { { "proc/812/mem", "" }, { "proc/812/status", STATUS("") }, { "proc/812/ns/pid", "=pid:[4026531836]" },
	    { "proc/812/ns/pid_for_children", "=pid:[4026532221]" } }, false,
	  "", "this kernel cannot tell which pages are written to: Linux 6.7 can, or CONFIG_MEM_SOFT_DIRTY",
	  "its next child is to be the first of a PID namespace", "" },
	{ "no namespace is to be made",
	  { { "proc/812/mem", "" }, { "proc/812/status", STATUS("") }, { "proc/812/ns/pid", "=pid:[4026531836]" },
	    { "proc/812/ns/pid_for_children", "=pid:[4026531836]" } }, false,
	  "", "this kernel cannot tell which pages are written to: Linux 6.7 can, or CONFIG_MEM_SOFT_DIRTY", "", "" },
	{ "no room for a doubled target",
	  { { "proc/812/mem", "" }, { "proc/812/status", STATUS("") }, { "proc/meminfo", "MemTotal: 9999999 kB\nMemAvailable: 999999 kB\n" },
	    { "proc/812/cgroup", "0::/c\n" }, { "sys/fs/cgroup/c/memory.max", "4194304\n" },
	    { "sys/fs/cgroup/c/memory.current", "2097152\n" } }, false,
	  "", "this kernel cannot tell which pages are written to: Linux 6.7 can, or CONFIG_MEM_SOFT_DIRTY",
	  "it could grow by 3 MiB, its cgroup has 2 of 4 MiB left", "raise its limit for a moment, or another --freeze" },
	{ "no room for both",
	  { { "proc/812/mem", "" }, { "proc/812/status", STATUS("") },
	    { "proc/meminfo", "MemTotal: 65536 kB\nMemAvailable: 34816 kB\n" }, { "proc/812/cgroup", "0::/\n" } }, false,
	  "", "this kernel cannot tell which pages are written to: Linux 6.7 can, or CONFIG_MEM_SOFT_DIRTY",
	  "it could grow by 3 MiB, with heapsnap beside it, its machine has 34 of 64 MiB left", NULL },
	{ "too little memory",
	  { { "proc/812/mem", "" }, { "proc/812/status", STATUS("") },
	    { "proc/meminfo", "MemTotal: 65536 kB\nMemAvailable: 16384 kB\n" } }, false,
	  "needs 32 MiB, this machine has 16 of 64 MiB left", "needs 32 MiB, this machine has 16 of 64 MiB left",
	  "needs 32 MiB, this machine has 16 of 64 MiB left", NULL },
};

/* "=TEXT" is a link. */
static void put_file(const struct hsnap_proc *proc, const char *path, const char *text)
{
	tree_write(proc, path, text);
	if (text[0] != '=')
		return;
	unlinkat(proc->root, path, 0);
	cr_assert_eq(symlinkat(text + 1, proc->root, path), 0);
}

ParameterizedTestParameters(forecast, trees)
{
	static size_t index[sizeof(trees) / sizeof(*trees)];
	for (size_t i = 0; i < sizeof(trees) / sizeof(*trees); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, sizeof(trees) / sizeof(*trees));
}

ParameterizedTest(size_t *row, forecast, trees)
{
	struct hsnap_proc proc;
	struct hsnap_error err = { 0 };
	struct hsnap_forecast forecast;
	tree_create(&proc);
	tree_write(&proc, "proc/self/status", OURS(ALL_CAPS));
	tree_write(&proc, "proc/self/mountinfo", "30 22 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n");
	for (size_t i = 0; i < 6 && trees[*row].files[i].path; i++)
		put_file(&proc, trees[*row].files[i].path, trees[*row].files[i].text);
	tree_write(&proc, "proc/812/maps", "1000-301000 rw-p 00000000 00:00 0 \n400000-500000 rw-s 00000000 00:01 9 /dev/shm/x\n");
	tree_write(&proc, "proc/812/smaps_rollup", "1000-301000 ---p 0 0 0 [rollup]\nAnonHugePages:  2048 kB\n");
	struct hsnap_freeze_options options = {
		.proc = &proc, .pid = 812, .copy_rate = 1000000000u, .scratch = -1, .suspend_seccomp = trees[*row].suspend,
	};
	cr_assert_eq(hsnap_forecast_make(&options, &forecast, &err), HSNAP_OK, "%s: %s", trees[*row].name, err.message);
	cr_expect_str_eq(forecast.comm, "nginx");
	cr_expect(forecast.rss == 3 * MIB && forecast.swap == MIB && forecast.threads == 7 && forecast.bytes == 4 * MIB &&
		  forecast.shared == MIB && forecast.huge == 2 * MIB, "%s", trees[*row].name);
	cr_expect_eq(forecast.ways[HSNAP_FREEZE_CLONE].growth, 3 * MIB);
	cr_expect_str_eq(forecast.ways[HSNAP_FREEZE_COPY].why_not, trees[*row].copy, "%s", trees[*row].name);
	cr_expect_str_eq(forecast.ways[HSNAP_FREEZE_PRECOPY].why_not, trees[*row].precopy, "%s", trees[*row].name);
	cr_expect_str_eq(forecast.ways[HSNAP_FREEZE_CLONE].why_not, trees[*row].clone, "%s", trees[*row].name);
	if (trees[*row].cure)
		cr_expect_str_eq(forecast.ways[HSNAP_FREEZE_CLONE].cure, trees[*row].cure, "%s", trees[*row].name);

	/* A pause that is too long stands against a way as well: 4 ms at this rate. */
	options.max_pause_ns = 2 * MS;
	cr_assert_eq(hsnap_forecast_make(&options, &forecast, &err), HSNAP_OK);
	if (!trees[*row].copy[0]) {
		cr_expect_str_eq(forecast.ways[HSNAP_FREEZE_COPY].why_not,
				 "copy would hold it still for about 5 ms: --max-pause is 2");
		cr_expect_str_eq(forecast.ways[HSNAP_FREEZE_COPY].cure, "--max-pause 100");
	}
	tree_destroy(&proc);
}

/* Before Linux 6.7 the stop looks at 2 GiB of pages one by one: 28 ms, whatever it wrote. */
Test(forecast, old_kernels_read_the_page_map_in_the_stop)
{
	struct hsnap_proc proc;
	struct hsnap_error err = { 0 };
	struct hsnap_forecast forecast;
	tree_create(&proc);
	tree_write(&proc, "proc/self/status", OURS(ALL_CAPS));
	tree_write(&proc, "proc/812/mem", "");
	tree_write(&proc, "proc/812/status", STATUS(""));
	tree_write(&proc, "proc/812/maps", "40000000-c0000000 rw-p 00000000 00:00 0 \n");
	tree_write(&proc, "proc/meminfo", "MemTotal: 99999999 kB\nMemAvailable: 99999999 kB\n");
	struct hsnap_freeze_options options = { .proc = &proc, .pid = 812, .copy_rate = 10000000000u, .scratch = -1,
						.max_pause_ns = 240 * MS };
	cr_assert_eq(hsnap_forecast_make(&options, &forecast, &err), HSNAP_OK, "%s", err.message);
	uint64_t precopy = forecast.ways[HSNAP_FREEZE_PRECOPY].pause_ns, copy = forecast.ways[HSNAP_FREEZE_COPY].pause_ns;
	cr_expect(precopy >= 28 * MS && precopy < 29 * MS, "%lu ns", precopy);
	cr_expect(copy >= 242 * MS && copy < 244 * MS, "%lu ns", copy);
	/* So a limit that the bytes alone would keep is not kept. */
	cr_expect_str_eq(forecast.ways[HSNAP_FREEZE_COPY].why_not, "copy would hold it still for about 243 ms: --max-pause is 240");
	tree_destroy(&proc);
}

/* Of a process that we may not look into the reason is told, and the little that is known. */
Test(forecast, without_the_right_to)
{
	struct hsnap_proc proc;
	struct hsnap_error err = { 0 };
	struct hsnap_forecast forecast;
	tree_create(&proc);
	tree_write(&proc, "proc/812/status", STATUS(""));
	tree_write(&proc, "proc/self/status", "Name:\theapsnap\nState:\tR\nUid:\t1000\t0\t0\t0\n" NO_CAPS);
	cr_assert_eq(symlinkat("mem", proc.root, "proc/812/mem"), 0); /* root may open all but what leads to itself */
	struct hsnap_freeze_options options = { .proc = &proc, .pid = 812, .copy_rate = 1000000000u, .scratch = -1 };
	cr_assert_eq(hsnap_forecast_make(&options, &forecast, &err), HSNAP_OK);
	cr_expect_eq(forecast.bytes, 3 * MIB);
	cr_expect_eq(forecast.chosen, HSNAP_FREEZE_AUTO);
	cr_expect_eq(hsnap_forecast_refuse(&forecast, &err), HSNAP_REFUSED);
	cr_expect_str_eq(err.message, "the kernel refuses: Too many levels of symbolic links");
	tree_destroy(&proc);
}

/* In a process that dies of ptrace() and of reading anybody else. */
static int forecast_in_a_sandbox(pid_t pid, struct hsnap_forecast *forecast)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kill, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(*filter), .filter = filter };
	struct hsnap_proc proc;
	if (hsnap_proc_init(&proc, "/", NULL) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 2;
	struct hsnap_freeze_options options = { .proc = &proc, .pid = pid, .copy_rate = 4000000000u, .scratch = -1 };
	if (hsnap_forecast_make(&options, forecast, NULL))
		return 3;
	return forecast->bytes >= 96 * MIB && forecast->bytes < 128 * MIB && forecast->threads == 1 ? 0 : 4;
}

Test(forecast, nobody_is_touched)
{
	char line[64];
	struct child patient = child_start(PATIENT, "filler", "96", NULL);
	cr_assert(child_expect(&patient, "READY", line, sizeof(line)));
	pid_t looker = fork();
	if (!looker) {
		struct hsnap_forecast forecast;
		_exit(forecast_in_a_sandbox(patient.pid, &forecast));
	}
	int status;
	cr_assert_eq(waitpid(looker, &status, 0), looker);
	cr_expect(WIFEXITED(status) && !WEXITSTATUS(status), "status %x", (unsigned)status);
	cr_expect_eq(child_finish(&patient), 0);
}

/* The whole way: a copy that would take too long is not begun, by auto neither. */
Test(forecast, a_long_pause_is_not_begun)
{
	char line[64];
	struct hsnap_proc proc;
	struct hsnap_frozen frozen;
	struct hsnap_error err = { 0 };
	struct child patient = child_start(PATIENT, "sandbox", NULL);
	cr_assert(child_expect(&patient, "READY", line, sizeof(line)));
	cr_assert_eq(hsnap_proc_init(&proc, "/", NULL), HSNAP_OK);
	struct hsnap_freeze_options options = {
		.proc = &proc, .pid = patient.pid, .scratch = -1, .copy_rate = 1000, .max_pause_ns = 100 * MS,
	};
	cr_expect_eq(hsnap_freeze(&options, &frozen, &err), HSNAP_REFUSED);
	cr_expect(strstr(err.message, "copy would hold it still for about ") && strstr(err.message, "no precopy: "), "%s",
		  err.message);
	cr_expect(!strncmp(err.hint, "--max-pause ", 12), "%s", err.hint);
	options.max_pause_ns = 0;
	cr_expect_eq(hsnap_freeze(&options, &frozen, &err), HSNAP_OK, "%s", err.message);
	cr_expect_str_eq(frozen.mode, "copy");
	cr_expect_str_eq(frozen.note, "no precopy: it runs under a seccomp filter");
	hsnap_frozen_deinit(&frozen);
	close(patient.in);
	patient.in = -1;
	cr_expect(child_expect(&patient, "fine", line, sizeof(line)));
	cr_expect_eq(child_wait(&patient), 0);
	hsnap_proc_deinit(&proc);
}
