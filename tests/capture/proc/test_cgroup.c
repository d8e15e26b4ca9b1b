/* SPDX-License-Identifier: MIT */
/*
 * test_cgroup.c - how much room there is, on recorded trees of both versions and in a real cgroup.
 *
 * A machine has one version of the memory controller; the other, and containers, are shown to the
 * code as folders.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/capture/support/cgroup.h"
#include "tests/capture/support/tree.h"

#define MIB ((uint64_t)1 << 20)
#define MEMINFO "MemTotal:       8388608 kB\nMemFree:  100 kB\nMemAvailable:    1048576 kB\n"
#define V2(id, parent, top, point) #id " " #parent " 0:26 " top " " point " rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1(id, parent, top, point) #id " " #parent " 0:32 " top " " point " rw,relatime - cgroup cgroup rw,memory\n"
#define ROOT_MOUNT "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"

#define G64 "67108864\n"
#define G96 "100663296\n"
#define G128 "134217728\n"
#define G160 "167772160\n"
#define G200 "209715200\n"
#define G256 "268435456\n"
#define G512 "536870912\n"
#define NO_LIMIT_1 "9223372036854771712\n"

struct file {
	const char *path, *text;
};

static const struct {
	const char *name;
	struct file files[12];
	uint64_t left, limit; /* MiB */
	bool cgroup;
} rows[] = {
	{ "the machine alone", { { "proc/meminfo", MEMINFO } }, 1024, 8192, false },
	{ "a machine that promises no more than it has",
	  { { "proc/meminfo", MEMINFO "CommitLimit: 4194304 kB\nCommitted_AS: 3670016 kB\n" },
	    { "proc/sys/vm/overcommit_memory", "2\n" } }, 512, 4096, false },
	{ "a machine that promises more",
	  { { "proc/meminfo", MEMINFO "CommitLimit: 4194304 kB\nCommitted_AS: 9670016 kB\n" },
	    { "proc/sys/vm/overcommit_memory", "0\n" } }, 1024, 8192, false },
	{ "version 2: memory.max of our own",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "0::/pod/c\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V2(30, 22, "/", "/sys/fs/cgroup") },
	    { "sys/fs/cgroup/pod/c/memory.max", G256 }, { "sys/fs/cgroup/pod/c/memory.current", G200 },
	    { "sys/fs/cgroup/pod/memory.max", "max\n" }, { "sys/fs/cgroup/pod/memory.current", G200 } }, 56, 256, true },
	{ "version 2: clean inactive file pages are room, dirty ones are not",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "0::/c\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V2(30, 22, "/", "/sys/fs/cgroup") },
	    { "sys/fs/cgroup/c/memory.max", G256 }, { "sys/fs/cgroup/c/memory.current", G200 },
	    { "sys/fs/cgroup/c/memory.stat",
	      "anon 1\nfile 1\nfile_dirty 8388608\nfile_writeback 2097152\ninactive_file 67108864\nactive_file 999999999\n" } },
	  110, 256, true },
	{ "version 2: nothing but dirty pages",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "0::/c\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V2(30, 22, "/", "/sys/fs/cgroup") },
	    { "sys/fs/cgroup/c/memory.max", G256 }, { "sys/fs/cgroup/c/memory.current", G200 },
	    { "sys/fs/cgroup/c/memory.stat", "file_dirty 100663296\nfile_writeback 0\ninactive_file 67108864\n" } },
	  56, 256, true },
	{ "version 2: memory.high brakes before memory.max kills",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "0::/c\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V2(30, 22, "/", "/sys/fs/cgroup") },
	    { "sys/fs/cgroup/c/memory.max", G256 }, { "sys/fs/cgroup/c/memory.high", G160 },
	    { "sys/fs/cgroup/c/memory.current", G128 } }, 32, 160, true },
	{ "version 2: memory.high without memory.max",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "0::/c\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V2(30, 22, "/", "/sys/fs/cgroup") },
	    { "sys/fs/cgroup/c/memory.max", "max\n" }, { "sys/fs/cgroup/c/memory.high", G160 },
	    { "sys/fs/cgroup/c/memory.current", G128 } }, 32, 160, true },
	{ "version 2: beyond the limit",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "0::/c\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V2(30, 22, "/", "/sys/fs/cgroup") },
	    { "sys/fs/cgroup/c/memory.max", G64 }, { "sys/fs/cgroup/c/memory.current", G96 } }, 0, 64, true },
	{ "version 2: the slice far above us",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "0::/kube.slice/pod.slice/cri.scope\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V2(30, 22, "/", "/sys/fs/cgroup") },
	    { "sys/fs/cgroup/kube.slice/memory.max", G256 }, { "sys/fs/cgroup/kube.slice/memory.current", G200 },
	    { "sys/fs/cgroup/kube.slice/pod.slice/memory.max", G512 },
	    { "sys/fs/cgroup/kube.slice/pod.slice/memory.current", G96 },
	    { "sys/fs/cgroup/kube.slice/pod.slice/cri.scope/memory.max", "max\n" },
	    { "sys/fs/cgroup/kube.slice/pod.slice/cri.scope/memory.current", G96 } }, 56, 256, true },
	{ "version 2: swap is no room",
	  { { "proc/meminfo", MEMINFO "SwapFree: 8388608 kB\n" }, { "proc/self/cgroup", "0::/c\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V2(30, 22, "/", "/sys/fs/cgroup") },
	    { "sys/fs/cgroup/c/memory.max", G256 }, { "sys/fs/cgroup/c/memory.current", G200 },
	    { "sys/fs/cgroup/c/memory.swap.max", "max\n" }, { "sys/fs/cgroup/c/memory.swap.current", "0\n" } }, 56, 256, true },
	{ "a namespace of cgroups: our own is the root",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "0::/\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V2(30, 22, "/", "/sys/fs/cgroup") },
	    { "sys/fs/cgroup/memory.max", G256 }, { "sys/fs/cgroup/memory.current", G200 } }, 56, 256, true },
	{ "a namespace of cgroups, deeper inside",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "0::/init\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V2(30, 22, "/", "/sys/fs/cgroup") },
	    { "sys/fs/cgroup/init/memory.max", "max\n" }, { "sys/fs/cgroup/init/memory.current", G64 },
	    { "sys/fs/cgroup/memory.max", G256 }, { "sys/fs/cgroup/memory.current", G200 } }, 56, 256, true },
	{ "the machine's own tree mounted in a namespace: all that is sure is its top",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "0::/\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V2(30, 22, "/../..", "/sys/fs/cgroup") },
	    { "sys/fs/cgroup/memory.max", G256 }, { "sys/fs/cgroup/memory.current", G200 } }, 56, 256, true },
	{ "… and our own besides",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "0::/\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V2(30, 22, "/../..", "/host/sys/fs/cgroup") V2(31, 22, "/", "/sys/fs/cgroup") },
	    { "host/sys/fs/cgroup/memory.max", G512 }, { "host/sys/fs/cgroup/memory.current", G200 },
	    { "sys/fs/cgroup/memory.max", G256 }, { "sys/fs/cgroup/memory.current", G200 } }, 56, 256, true },
	{ "moved out of the namespace: what is mounted is not above us",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "0::/../other\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V2(30, 22, "/", "/sys/fs/cgroup") },
	    { "sys/fs/cgroup/memory.max", G256 }, { "sys/fs/cgroup/memory.current", G200 },
	    { "sys/fs/cgroup/other/memory.max", G64 }, { "sys/fs/cgroup/other/memory.current", G64 } }, 1024, 8192, false },
	{ "moved out, and mounted from above",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "0::/../other\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V2(30, 22, "/..", "/sys/fs/cgroup") },
	    { "sys/fs/cgroup/memory.max", "max\n" }, { "sys/fs/cgroup/memory.current", G200 },
	    { "sys/fs/cgroup/other/memory.max", G96 }, { "sys/fs/cgroup/other/memory.current", G64 } }, 32, 96, true },
	{ "a folder of another cgroup, bound here",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "0::/docker/abc\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V2(30, 22, "/docker/ab", "/sys/fs/cgroup") },
	    { "sys/fs/cgroup/memory.max", G256 }, { "sys/fs/cgroup/memory.current", G200 } }, 1024, 8192, false },
	{ "our own folder, bound to a place with a blank in its name",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "0::/docker/abc/x\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V2(30, 22, "/docker/abc", "/a\\040b\\134c") },
	    { "a b\\c/memory.max", G256 }, { "a b\\c/memory.current", G200 },
	    { "a b\\c/x/memory.max", G512 }, { "a b\\c/x/memory.current", G64 } }, 56, 256, true },
	{ "a mount that another one covers",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "0::/pod/c\n" },
	    { "proc/self/mountinfo",
	      ROOT_MOUNT V2(30, 22, "/", "/sys/fs/cgroup") V2(31, 30, "/pod/c", "/sys/fs/cgroup") },
	    { "sys/fs/cgroup/memory.max", G256 }, { "sys/fs/cgroup/memory.current", G200 },
	    { "sys/fs/cgroup/pod/c/memory.max", G64 }, { "sys/fs/cgroup/pod/c/memory.current", G64 } }, 56, 256, true },
	{ "a cgroup that was removed under us: the levels above still count",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "0::/pod/c (deleted)\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V2(30, 22, "/", "/sys/fs/cgroup") },
	    { "sys/fs/cgroup/pod/memory.max", G256 }, { "sys/fs/cgroup/pod/memory.current", G200 } }, 56, 256, true },
	{ "version 1: our own, mounted from there down",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "5:cpu,cpuacct:/\n4:memory:/docker/abc\n0::/\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V1(35, 22, "/docker/abc", "/sys/fs/cgroup/memory") },
	    { "sys/fs/cgroup/memory/memory.limit_in_bytes", G256 },
	    { "sys/fs/cgroup/memory/memory.usage_in_bytes", G200 },
	    { "sys/fs/cgroup/memory/memory.stat",
	      "cache 0\ninactive_file 1\ntotal_inactive_file 52428800\ntotal_dirty 2097152\ntotal_writeback 0\n" } },
	  104, 256, true },
	{ "version 1: memory and swap together",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "4:memory:/a\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V1(35, 22, "/", "/sys/fs/cgroup/memory") },
	    { "sys/fs/cgroup/memory/a/memory.limit_in_bytes", G256 },
	    { "sys/fs/cgroup/memory/a/memory.usage_in_bytes", G96 },
	    { "sys/fs/cgroup/memory/a/memory.memsw.limit_in_bytes", G256 },
	    { "sys/fs/cgroup/memory/a/memory.memsw.usage_in_bytes", G200 } }, 56, 256, true },
	{ "version 1: a level above",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "4:memory:/a/b/c\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V1(35, 22, "/", "/sys/fs/cgroup/memory") },
	    { "sys/fs/cgroup/memory/memory.use_hierarchy", "1\n" },
	    { "sys/fs/cgroup/memory/a/memory.use_hierarchy", "1\n" },
	    { "sys/fs/cgroup/memory/a/memory.limit_in_bytes", G256 },
	    { "sys/fs/cgroup/memory/a/memory.usage_in_bytes", G200 },
	    { "sys/fs/cgroup/memory/a/b/c/memory.limit_in_bytes", NO_LIMIT_1 },
	    { "sys/fs/cgroup/memory/a/b/c/memory.usage_in_bytes", G64 } }, 56, 256, true },
	{ "version 1: a level above that does not count us",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "4:memory:/a/b\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V1(35, 22, "/", "/sys/fs/cgroup/memory") },
	    { "sys/fs/cgroup/memory/a/memory.use_hierarchy", "0\n" },
	    { "sys/fs/cgroup/memory/a/memory.limit_in_bytes", G256 },
	    { "sys/fs/cgroup/memory/a/memory.usage_in_bytes", G200 },
	    { "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", G512 },
	    { "sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", G96 } }, 416, 512, true },
	{ "both: memory is version 1's, the unified tree has none",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "4:memory:/a\n1:name=systemd:/u\n0::/u\n" },
	    { "proc/self/mountinfo",
	      ROOT_MOUNT V2(29, 22, "/", "/sys/fs/cgroup/unified") V1(35, 22, "/", "/sys/fs/cgroup/memory") },
	    { "sys/fs/cgroup/memory/a/memory.limit_in_bytes", G256 },
	    { "sys/fs/cgroup/memory/a/memory.usage_in_bytes", G200 },
	    { "sys/fs/cgroup/unified/u/cgroup.procs", "1\n" } }, 56, 256, true },
	{ "both: memory is version 2's",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "1:name=systemd:/u\n0::/u\n" },
	    { "proc/self/mountinfo", ROOT_MOUNT V2(29, 22, "/", "/sys/fs/cgroup/unified") },
	    { "sys/fs/cgroup/unified/u/memory.max", G256 },
	    { "sys/fs/cgroup/unified/u/memory.current", G200 } }, 56, 256, true },
	{ "lines that make no sense",
	  { { "proc/meminfo", MEMINFO }, { "proc/self/cgroup", "0\n:\n0:\n0::\nx::/\n" },
	    { "proc/self/mountinfo", "30\n31 22 0:26 /\n32 22 0:26 / /x - cgroup2\n - \n" },
	    { "memory.max", G64 }, { "memory.current", G64 } }, 1024, 8192, false },
};

ParameterizedTestParameters(cgroup, headroom)
{
	static size_t index[sizeof(rows) / sizeof(*rows)];
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, sizeof(rows) / sizeof(*rows));
}

ParameterizedTest(size_t *row, cgroup, headroom)
{
	struct hsnap_proc proc;
	tree_create(&proc);
	for (size_t i = 0; i < sizeof(rows->files) / sizeof(*rows->files) && rows[*row].files[i].path; i++)
		tree_write(&proc, rows[*row].files[i].path, rows[*row].files[i].text);
	struct hsnap_headroom room = hsnap_proc_headroom(&proc);
	cr_expect_eq(room.left, rows[*row].left * MIB, "%s: %llu bytes left", rows[*row].name,
		     (unsigned long long)room.left);
	cr_expect_eq(room.limit, rows[*row].limit * MIB, "%s: of %llu", rows[*row].name, (unsigned long long)room.limit);
	cr_expect_eq(room.cgroup, rows[*row].cgroup, "%s", rows[*row].name);
	tree_destroy(&proc);
}

Test(cgroup, nothing_is_known)
{
	struct hsnap_proc proc;
	tree_create(&proc);
	struct hsnap_headroom room = hsnap_proc_headroom(&proc);
	cr_expect_eq(room.limit, UINT64_MAX);
	cr_expect_eq(room.left, UINT64_MAX);
	tree_destroy(&proc);
}

/* Another process's, as it is seen from where we are. */
Test(cgroup, of_another_process)
{
	static const struct {
		const char *path; /* its own in proc/812/cgroup */
		uint64_t left, limit; /* MiB; 0: not known */
	} seen[] = {
		{ "0::/pod/c\n", 56, 256 },         /* below what is mounted */
		{ "0::/\n", 1024, 8192 },           /* at the top: the machine's */
		{ "0::/elsewhere\n", 1024, 8192 },  /* without limits */
		{ "0::/../neighbour\n", 0, 0 },     /* in another container */
	};
	for (size_t i = 0; i < sizeof(seen) / sizeof(*seen); i++) {
		struct hsnap_proc proc;
		tree_create(&proc);
		tree_write(&proc, "proc/meminfo", MEMINFO);
		tree_write(&proc, "proc/self/mountinfo", ROOT_MOUNT V2(30, 22, "/", "/sys/fs/cgroup"));
		tree_write(&proc, "proc/self/cgroup", "0::/us\n");
		tree_write(&proc, "sys/fs/cgroup/us/memory.max", G64);
		tree_write(&proc, "sys/fs/cgroup/us/memory.current", G64);
		tree_write(&proc, "sys/fs/cgroup/pod/c/memory.max", G256);
		tree_write(&proc, "sys/fs/cgroup/pod/c/memory.current", G200);
		tree_write(&proc, "proc/812/cgroup", seen[i].path);
		struct hsnap_headroom room = hsnap_proc_headroom_of(&proc, 812);
		cr_expect_eq(room.left, seen[i].limit ? seen[i].left * MIB : UINT64_MAX, "%s: %lu", seen[i].path, room.left);
		cr_expect_eq(room.limit, seen[i].limit ? seen[i].limit * MIB : UINT64_MAX, "%s", seen[i].path);
		tree_destroy(&proc);
	}
}

#define V1_FILES(folder, limit, use, both) \
	{ folder "/memory.limit_in_bytes", limit }, { folder "/memory.usage_in_bytes", use }, \
	{ folder "/memory.memsw.usage_in_bytes", both }
#define V1_MOUNT V1(31, 22, "/", "/sys/fs/cgroup/memory")
#define V2_MOUNT V2(30, 22, "/", "/sys/fs/cgroup")

/* Limit and use beside which a process's own memory is shown: MiB, -1: not known or none. */
static const struct {
	const char *name, *mounts, *path;
	struct file files[9];
	int64_t limit, use, swap;
} uses[] = {
	{ "its own limit", V2_MOUNT, "0::/pod/c\n",
	  { { "sys/fs/cgroup/pod/c/memory.max", G256 }, { "sys/fs/cgroup/pod/c/memory.current", G200 },
	    { "sys/fs/cgroup/pod/c/memory.swap.current", G64 } }, 256, 200, 64 },
	{ "a lower one above it", V2_MOUNT, "0::/pod/c\n",
	  { { "sys/fs/cgroup/pod/c/memory.max", G512 }, { "sys/fs/cgroup/pod/c/memory.current", G96 },
	    { "sys/fs/cgroup/pod/memory.max", G256 }, { "sys/fs/cgroup/pod/memory.current", G128 } }, 256, 128, -1 },
	{ "no limit: what its own uses", V2_MOUNT, "0::/pod/c\n",
	  { { "sys/fs/cgroup/pod/c/memory.max", "max\n" }, { "sys/fs/cgroup/pod/c/memory.current", G96 },
	    { "sys/fs/cgroup/pod/memory.max", "max\n" }, { "sys/fs/cgroup/pod/memory.current", G128 } }, -1, 96, -1 },
	{ "version 1", V1_MOUNT, "4:memory:/c\n", { V1_FILES("sys/fs/cgroup/memory/c", G256, G128, G160) }, 256, 128, 32 },
	{ "version 1 without a limit", V1_MOUNT, "4:memory:/c\n",
	  { V1_FILES("sys/fs/cgroup/memory/c", NO_LIMIT_1, G128, G128) }, -1, 128, 0 },
	{ "the root of version 1 is everybody's", V1_MOUNT V2_MOUNT, "4:memory:/\n0::/init.scope\n",
	  { V1_FILES("sys/fs/cgroup/memory", NO_LIMIT_1, G512, G512) }, -1, -1, -1 },
	{ "the root of a container has a limit", V1_MOUNT, "4:memory:/\n",
	  { V1_FILES("sys/fs/cgroup/memory", G256, G128, G128) }, 256, 128, 0 },
	{ "not to be seen from here", V2_MOUNT, "0::/../neighbour\n", { { "sys/fs/cgroup/memory.max", G64 } }, -1, -1, -1 },
};

Test(cgroup, what_stands_beside_a_process)
{
	for (size_t i = 0; i < sizeof(uses) / sizeof(*uses); i++) {
		struct hsnap_proc proc;
		char mounts[1024];
		tree_create(&proc);
		snprintf(mounts, sizeof(mounts), "%s%s", ROOT_MOUNT, uses[i].mounts);
		tree_write(&proc, "proc/self/mountinfo", mounts);
		tree_write(&proc, "proc/812/cgroup", uses[i].path);
		for (size_t f = 0; uses[i].files[f].path; f++)
			tree_write(&proc, uses[i].files[f].path, uses[i].files[f].text);
		struct hsnap_cgroup got = hsnap_proc_cgroup(&proc, 812);
		const uint64_t want[] = { uses[i].limit < 0 ? UINT64_MAX : (uint64_t)uses[i].limit * MIB,
					  uses[i].use < 0 ? UINT64_MAX : (uint64_t)uses[i].use * MIB,
					  uses[i].swap < 0 ? UINT64_MAX : (uint64_t)uses[i].swap * MIB };
		cr_expect_eq(got.limit, want[0], "%s: limit %lu", uses[i].name, got.limit);
		cr_expect_eq(got.use, want[1], "%s: use %lu", uses[i].name, got.use);
		cr_expect_eq(got.swap, want[2], "%s: swap %lu", uses[i].name, got.swap);
		got = hsnap_proc_cgroup(&proc, 813);
		cr_expect(got.limit == UINT64_MAX && got.use == UINT64_MAX, "%s: of a process that is gone", uses[i].name);
		tree_destroy(&proc);
	}
}

/* ---- a cgroup of this machine ---- */

/* What is left before and after 32 MiB are written to, told through a pipe. */
static void use_memory(const struct cgroup *cgroup, int to)
{
	struct hsnap_proc proc;
	uint64_t left[2] = { 0 }, limit = 0;
	if (cgroup_enter(cgroup) && !hsnap_proc_init(&proc, "/", NULL)) {
		left[0] = hsnap_proc_headroom(&proc).left;
		char *pages = mmap(NULL, 32 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (pages != MAP_FAILED)
			memset(pages, 1, 32 * MIB);
		struct hsnap_headroom room = hsnap_proc_headroom(&proc);
		left[1] = room.left;
		limit = room.limit;
	}
	dprintf(to, "%llu %llu %llu\n", (unsigned long long)left[0], (unsigned long long)left[1], (unsigned long long)limit);
	_exit(0);
}

Test(cgroup, a_real_one_is_seen_from_inside)
{
	struct cgroup cgroup;
	if (!cgroup_create(&cgroup, 96 * MIB))
		cr_skip_test("no memory cgroup can be made here");
	int pipe_fds[2];
	cr_assert_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (!pid)
		use_memory(&cgroup, pipe_fds[1]);
	close(pipe_fds[1]);
	FILE *from = fdopen(pipe_fds[0], "r");
	unsigned long long before, after, limit;
	int num = fscanf(from, "%llu %llu %llu", &before, &after, &limit);
	fclose(from);
	waitpid(pid, NULL, 0);
	cgroup_remove(&cgroup);
	cr_assert_eq(num, 3);
	cr_expect_eq(limit, 96 * MIB, "the limit is %llu", limit);
	cr_expect(before <= 96 * MIB && before > 80 * MIB, "%llu were left before", before);
	/* The kernel charges by batches of some pages a core. */
	cr_expect(before - after > 30 * MIB && before - after < 36 * MIB, "%llu, then %llu were left", before, after);
}
