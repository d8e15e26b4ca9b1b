/* SPDX-License-Identifier: MIT */
/*
 * test_refuse.c - each reason not to capture a process, and its cure, on recorded trees.
 *
 * A machine has one kernel and one cgroup version; Yama, hidden processes and small containers are
 * shown to the code as folders.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/freeze/refuse.h"
#include "tests/capture/support/forbid.h"
#include "tests/capture/support/tree.h"

#define NGINX(state, more) \
	"Name:\tnginx\nState:\t" state "\nTgid:\t812\nPPid:\t1\n" more "\nUid:\t33\t33\t33\t33\n" \
	"VmSize:\t  9000 kB\nThreads:\t1\nGid:\t33\t33\t33\t33\nCapPrm:\t0000000000000000\n"
#define OURS_GID(uid, gid, caps) \
	"Name:\theapsnap\nState:\tR\nUid:\t" uid "\t0\t0\t0\nGid:\t" gid "\t0\t0\t0\nCapEff:\t" caps "\n"
#define OURS(uid, caps) OURS_GID(uid, "33", caps)
#define NO_CAPS "0000000000000000"
#define PTRACE_CAP "0000000000080000"
#define HOST_IDS { "proc/self/uid_map", "         0          0 4294967295\n" }
#define SUDO "needs CAP_SYS_PTRACE: sudo heapsnap take -p 812"
#define DOCKER \
	"needs CAP_SYS_PTRACE: docker run --pid=container:NAME --cap-add SYS_PTRACE IMAGE heapsnap take ..., or root on the host"
#define KUBERNETES \
	"needs CAP_SYS_PTRACE: kubectl debug -it POD --image=IMAGE --target=CONTAINER --profile=general, or root on the node"
#define OUTSIDE "run heapsnap as root on the host, outside of any container"

struct file {
	const char *path, *text;
};

static const struct {
	const char *name;
	int denied; /* errno of the kernel's refusal; 0: found out early */
	struct file files[6];
	const char *message, *hint;
} rows[] = {
	{ "gone", 0, { { "proc/1/status", "" } }, "no such process", "" },
	{ "hidden or just gone", ESRCH, { { "proc/1/status", "" } }, "exited while it was being captured", "" },
	{ "zombie", 0,
	  { { "proc/812/status", "Name:\tnginx\nState:\tZ (zombie)\nTgid:\t812\nPPid:\t7\nThreads:\t1\n" },
	    { "proc/7/status", "Name:\tinit\nState:\tS\n" } },
	  "it has exited (a zombie that init, pid 7, has not collected)", "" },
	{ "main thread ended", 0,
	  { { "proc/812/status", "Name:\tjava\nState:\tZ (zombie)\nTgid:\t812\nPPid:\t7\nThreads:\t23\n" } },
	  "its main thread has ended while others run on: this version cannot take that", "" },
	{ "kernel thread", 0,
	  { { "proc/812/status", "Name:\tkworker/0:1\nState:\tI (idle)\nTgid:\t812\nPPid:\t2\nThreads:\t1\n" } },
	  "it is a kernel thread and has no heap", "" },
	{ "in the middle of its exit", 0,
	  { { "proc/812/status", "Name:\tls\nState:\tR (running)\nTgid:\t812\nPPid:\t9\nThreads:\t1\n" } },
	  "it is about to exit", "" },
	{ "a thread", 0, { { "proc/812/status", "Name:\tw\nState:\tS\nTgid:\t800\nVmSize:\t1 kB\nThreads:\t2\n" } },
	  "it is a thread of process 800", "heapsnap take -p 800" },
	{ "traced", 0,
	  { { "proc/812/status", NGINX("t (tracing stop)", "TracerPid:\t77") },
	    { "proc/77/status", "Name:\tstrace\nState:\tS\nTgid:\t76\n" } },
	  "it is already traced by strace (pid 76)", "a process has one tracer at a time: end strace first (kill 76)" },
	{ "traced meanwhile", EPERM,
	  { { "proc/812/status", NGINX("t (tracing stop)", "TracerPid:\t77") } },
	  "it is already traced by ? (pid 77)", "a process has one tracer at a time: end ? first (kill 77)" },
	{ "32-bit", 0, { { "proc/812/status", NGINX("S", "TracerPid:\t0") }, { "proc/812/exe", "\177ELF\1\1\1.........." } },
	  "it is a 32-bit program, which this version cannot read", "" },
	{ "nothing against it", 0,
	  { { "proc/812/status", NGINX("S", "TracerPid:\t0") }, { "proc/812/exe", "\177ELF\2\1\1.........." } }, NULL, NULL },
	{ "another user's", EACCES,
	  { { "proc/812/status", NGINX("S", "TracerPid:\t0") }, { "proc/self/status", OURS("1000", NO_CAPS) } },
	  "not permitted: it runs as uid 33, we as uid 1000",
	  SUDO },
	{ "Yama 1", EPERM,
	  { { "proc/812/status", NGINX("S", "TracerPid:\t0") }, { "proc/self/status", OURS("33", NO_CAPS) },
	    { "proc/sys/kernel/yama/ptrace_scope", "1\n" } },
	  "not permitted: kernel.yama.ptrace_scope is 1",
	  SUDO },
	{ "Yama 2", EPERM,
	  { { "proc/812/status", NGINX("S", "TracerPid:\t0") }, { "proc/self/status", OURS("33", NO_CAPS) },
	    { "proc/sys/kernel/yama/ptrace_scope", "2\n" } },
	  "not permitted: kernel.yama.ptrace_scope is 2",
	  SUDO },
	{ "Yama 3, root as well", EPERM,
	  { { "proc/812/status", NGINX("S", "TracerPid:\t0") }, { "proc/self/status", OURS("0", PTRACE_CAP) },
	    { "proc/sys/kernel/yama/ptrace_scope", "3\n" } },
	  "not permitted: kernel.yama.ptrace_scope is 3: nobody may attach",
	  "set kernel.yama.ptrace_scope to 2 or less in /etc/sysctl.d and restart the machine" },
	{ "not dumpable", EPERM,
	  { { "proc/812/status", NGINX("S", "TracerPid:\t0") }, { "proc/self/status", OURS("33", NO_CAPS) } },
	  "not permitted: it is not dumpable (set-user-id, capabilities or prctl)",
	  SUDO },
	{ "Yama 1, in a container of Docker", EPERM,
	  { { "proc/812/status", NGINX("S", "TracerPid:\t0") }, { "proc/self/status", OURS("33", NO_CAPS) },
	    { "proc/sys/kernel/yama/ptrace_scope", "1\n" }, { ".dockerenv", "" } },
	  "not permitted: kernel.yama.ptrace_scope is 1", DOCKER },
	{ "another user's, in a pod", EACCES,
	  { { "proc/812/status", NGINX("S", "TracerPid:\t0") }, { "proc/self/status", OURS("1000", NO_CAPS) },
	    { "proc/self/cgroup", "0::/kubepods/burstable/pod1/c1\n" } },
	  "not permitted: it runs as uid 33, we as uid 1000", KUBERNETES },
	{ "another user's, in a pod with a cgroup namespace", EACCES,
	  { { "proc/812/status", NGINX("S", "TracerPid:\t0") }, { "proc/self/status", OURS("1000", NO_CAPS) },
	    { "proc/self/cgroup", "0::/\n" },
	    { "proc/self/mountinfo", "9 8 8:1 /var/lib/kubelet/pods/1/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw\n" } },
	  "not permitted: it runs as uid 33, we as uid 1000", KUBERNETES },
	{ "another group's", EPERM,
	  { { "proc/812/status", NGINX("S", "TracerPid:\t0") }, { "proc/self/status", OURS_GID("33", "34", NO_CAPS) } },
	  "not permitted: it runs with gid 33, we with gid 34", SUDO },
	{ "Yama 2 with the capability, but outside of our user namespace", EPERM,
	  { { "proc/812/status", NGINX("S", "TracerPid:\t0") }, { "proc/self/status", OURS("0", PTRACE_CAP) },
	    { "proc/sys/kernel/yama/ptrace_scope", "2\n" }, { "proc/self/uid_map", "         0       1000          1\n" } },
	  "not permitted: it is not of our user namespace, which our CAP_SYS_PTRACE is limited to", OUTSIDE },
	{ "more capabilities than we", EPERM,
	  { { "proc/812/status", "CapPrm:\t0000000000000400\n" NGINX("S", "TracerPid:\t0") },
	    { "proc/self/status", OURS("33", NO_CAPS) } },
	  "not permitted: it has capabilities that we lack", SUDO },
	{ "AppArmor, as root", EACCES,
	  { { "proc/812/status", NGINX("S", "TracerPid:\t0") }, { "proc/self/status", OURS("0", PTRACE_CAP) }, HOST_IDS,
	    { "proc/self/attr/current", "docker-default (enforce)\n" }, { "proc/812/attr/current", "unconfined\n" } },
	  "not permitted by AppArmor: it runs as 'unconfined', we as 'docker-default (enforce)'",
	  "docker run --security-opt apparmor=unconfined ..., or run heapsnap as root on the host" },
	{ "AppArmor, and its profile cannot be read", EACCES,
	  { { "proc/812/status", NGINX("S", "TracerPid:\t0") }, { "proc/self/status", OURS("0", PTRACE_CAP) }, HOST_IDS,
	    { "proc/self/attr/current", "docker-default (enforce)\n" } },
	  "not permitted by AppArmor: it runs as '?', we as 'docker-default (enforce)'",
	  "docker run --security-opt apparmor=unconfined ..., or run heapsnap as root on the host" },
	{ "SELinux, both of one domain", EACCES,
	  { { "proc/812/status", NGINX("S", "TracerPid:\t0") }, { "proc/self/status", OURS("0", PTRACE_CAP) }, HOST_IDS,
	    { "proc/self/attr/current", "system_u:system_r:container_t:s0:c1,c2" },
	    { "proc/812/attr/current", "system_u:system_r:container_t:s0:c1,c2" } },
	  "not permitted by SELinux: it runs as 'system_u:system_r:container_t:s0:c1,c2', we as "
	  "'system_u:system_r:container_t:s0:c1,c2'",
	  "setsebool deny_ptrace off, or run heapsnap unconfined as root on the host" },
	{ "a security module that does not tell", EPERM,
	  { { "proc/812/status", NGINX("S", "TracerPid:\t0") }, { "proc/self/status", OURS("0", PTRACE_CAP) }, HOST_IDS,
	    { "proc/self/attr/current", "unconfined\n" }, { "proc/812/attr/current", "unconfined\n" } },
	  "not permitted, though we have CAP_SYS_PTRACE: a security module forbids it",
	  "the kernel's log may tell which: dmesg | tail" },
	{ "hidden, as it seems, but nothing hides", ESRCH,
	  { { "proc/self/mountinfo", "20 1 0:5 / /proc rw - proc proc rw,hidepid=off\n" } },
	  "exited while it was being captured", "" },
	{ "an odd refusal", EIO, { { "proc/812/status", NGINX("S", "TracerPid:\t0") } },
	  "the kernel refuses: Input/output error", "" },
};

ParameterizedTestParameters(refuse, reasons)
{
	static size_t index[sizeof(rows) / sizeof(*rows)];
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, sizeof(rows) / sizeof(*rows));
}

ParameterizedTest(size_t *row, refuse, reasons)
{
	struct hsnap_proc proc;
	struct hsnap_error err = { 0 };
	tree_create(&proc);
	tree_write(&proc, "proc/self/comm", "heapsnap\n");
	for (size_t i = 0; i < 6 && rows[*row].files[i].path; i++)
		tree_write(&proc, rows[*row].files[i].path, rows[*row].files[i].text);
	enum hsnap_code code = rows[*row].denied ? hsnap_refuse_denied(&proc, 812, rows[*row].denied, &err)
						 : hsnap_refuse_early(&proc, 812, &err);
	cr_expect_eq(code, rows[*row].message ? HSNAP_REFUSED : HSNAP_OK, "%s", rows[*row].name);
	cr_expect_str_eq(err.message, rows[*row].message ? rows[*row].message : "", "%s: %s", rows[*row].name,
			 err.message);
	cr_expect_str_eq(err.hint, rows[*row].hint ? rows[*row].hint : "", "%s: %s", rows[*row].name, err.hint);
	tree_destroy(&proc);
}

Test(refuse, itself)
{
	struct hsnap_proc proc;
	struct hsnap_error err = { 0 };
	cr_assert_eq(hsnap_proc_init(&proc, "/", NULL), HSNAP_OK);
	cr_expect_eq(hsnap_refuse_early(&proc, getpid(), &err), HSNAP_REFUSED);
	cr_expect_str_eq(err.message, "it is heapsnap itself");
	hsnap_proc_deinit(&proc);
}

/* Of a process that is there: hidden is what /proc does not show, with one option or another. */
Test(refuse, hidden)
{
	static const char *const options[] = { "hidepid=2", "hidepid=invisible", "hidepid=1,gid=7", "hidepid=ptraceable" };
	for (size_t i = 0; i < 4; i++) {
		struct hsnap_proc proc;
		struct hsnap_error err = { 0 };
		char mounts[128], hint[128];
		tree_create(&proc);
		snprintf(mounts, sizeof(mounts), "20 1 0:5 / /proc rw - proc proc rw,%s\n", options[i]);
		snprintf(hint, sizeof(hint), "needs CAP_SYS_PTRACE: sudo heapsnap take -p %d", getppid());
		tree_write(&proc, "proc/self/mountinfo", mounts);
		cr_expect_eq(hsnap_refuse_early(&proc, getppid(), &err), HSNAP_REFUSED);
		cr_expect_str_eq(err.message,
				 "not permitted: it is there, and /proc does not show it (mounted with hidepid)");
		cr_expect_str_eq(err.hint, hint);
		cr_expect_eq(hsnap_refuse_denied(&proc, getppid(), ESRCH, &err), HSNAP_REFUSED);
		cr_expect(strstr(err.message, "hidepid"), "%s", err.message);
		cr_expect_eq(hsnap_refuse_early(&proc, 0x7ffffff0, &err), HSNAP_REFUSED);
		cr_expect_str_eq(err.message, "no such process");
		tree_destroy(&proc);
	}
}

/* By the numbers of another /proc somebody else would be stopped. */
Test(refuse, proc_of_another_namespace)
{
	struct hsnap_proc proc;
	struct hsnap_error err = { 0 };
	char message[128];
	tree_create(&proc);
	cr_expect_eq(hsnap_refuse_early(&proc, 812, &err), HSNAP_REFUSED);
	cr_expect_str_eq(err.message, "/proc is not mounted");
	cr_expect_str_eq(err.hint, "mount -t proc proc /proc");
	tree_write(&proc, "proc/812/status", NGINX("S", "TracerPid:\t0"));
	tree_write(&proc, "proc/version", "Linux version 6.1.0\n");
	cr_expect_eq(hsnap_refuse_early(&proc, 812, &err), HSNAP_REFUSED);
	cr_expect_str_eq(err.message, "/proc is of another PID namespace, where we are not");
	cr_assert_eq(symlinkat("4711", proc.root, "proc/self"), 0);
	cr_expect_eq(hsnap_refuse_early(&proc, 812, &err), HSNAP_REFUSED);
	snprintf(message, sizeof(message), "/proc is of another PID namespace, where we are 4711 and not %d", getpid());
	cr_expect_str_eq(err.message, message);
	cr_expect_neq(err.hint[0], '\0');
	snprintf(message, sizeof(message), "%d", getpid());
	cr_assert(!unlinkat(proc.root, "proc/self", 0) && !symlinkat(message, proc.root, "proc/self"));
	cr_expect_eq(hsnap_refuse_early(&proc, 812, &err), HSNAP_OK, "%s", err.message);
	tree_destroy(&proc);
}

/* Docker before 19.03, and whoever copied its profile. */
Test(refuse, ptrace_is_filtered)
{
	struct hsnap_proc proc;
	struct hsnap_error err = { 0 };
	tree_create(&proc);
	tree_write(&proc, "proc/812/status", NGINX("S", "TracerPid:\t0"));
	tree_write(&proc, "proc/self/status", "Seccomp:\t2\n" OURS("33", NO_CAPS));
	cr_expect_eq(hsnap_refuse_denied(&proc, 812, EPERM, &err), HSNAP_REFUSED);
	cr_expect(strstr(err.message, "dumpable"), "a filter that lets ptrace through is not to blame: %s", err.message);
	forbid(SYS_ptrace, EPERM);
	cr_expect_eq(hsnap_refuse_denied(&proc, 812, EPERM, &err), HSNAP_REFUSED);
	cr_expect_str_eq(err.message, "not permitted: a seccomp filter forbids us ptrace");
	cr_expect(strstr(err.hint, "--cap-add SYS_PTRACE"), "%s", err.hint);
	tree_destroy(&proc);
}

/* A folder in /proc that is the process's own shows that it is dumpable: then it is a security module. */
Test(refuse, dumpable_and_yet_refused)
{
	struct hsnap_proc proc;
	struct hsnap_error err = { 0 };
	if (geteuid())
		cr_skip_test("only root can give a folder away");
	tree_create(&proc);
	tree_write(&proc, "proc/812/status", NGINX("S", "TracerPid:\t0"));
	tree_write(&proc, "proc/self/status", OURS("33", NO_CAPS));
	tree_write(&proc, "proc/self/attr/current", "docker-default (enforce)\n");
	tree_write(&proc, "proc/812/attr/current", "other (enforce)\n");
	cr_expect_eq(hsnap_refuse_denied(&proc, 812, EPERM, &err), HSNAP_REFUSED);
	cr_expect(strstr(err.message, "dumpable"), "%s", err.message);
	cr_assert_eq(fchownat(proc.root, "proc/812", 33, 33, 0), 0);
	cr_expect_eq(hsnap_refuse_denied(&proc, 812, EPERM, &err), HSNAP_REFUSED);
	cr_expect_str_eq(err.message,
			 "not permitted by AppArmor: it runs as 'other (enforce)', we as 'docker-default (enforce)'");
	tree_destroy(&proc);
}

#define MIB ((uint64_t)1 << 20)
#define MEMINFO "MemTotal:       8388608 kB\nMemFree:  100 kB\nMemAvailable:    1048576 kB\n"
#define V2_MOUNT "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNT(top) "35 31 0:32 " top " /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"

static const struct {
	const char *name;
	uint64_t bytes;
	struct file files[9];
	const char *message; /* NULL: there is room */
} needs[] = {
	{ "the machine has room", 500 * MIB, { { "proc/meminfo", MEMINFO } }, NULL },
	{ "the machine has too little", 700 * MIB, { { "proc/meminfo", MEMINFO } },
	  "needs 1050 MiB, this machine has 1024 of 8192 MiB left" },
	{ "a small process has a need too", 1, { { "proc/meminfo", "MemTotal: 65536 kB\nMemAvailable: 16384 kB\n" } },
	  "needs 32 MiB, this machine has 16 of 64 MiB left" },
	{ "version 2, our own cgroup", 124153856,
	  { { "proc/meminfo", MEMINFO },
	    { "proc/self/cgroup", "0::/kubepods/pod1/c1\n" },
	    { "proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" V2_MOUNT },
	    { "sys/fs/cgroup/kubepods/pod1/c1/memory.max", "536870912\n" },
	    { "sys/fs/cgroup/kubepods/pod1/c1/memory.current", "446693376\n" },
	    { "sys/fs/cgroup/kubepods/pod1/c1/memory.stat", "anon 1\ninactive_file 10485760\nactive_file 99\n" } },
	  "needs 178 MiB, this cgroup has 96 of 512 MiB left" },
	{ "version 2, a level above us", 100 * MIB,
	  { { "proc/meminfo", MEMINFO },
	    { "proc/self/cgroup", "0::/pod/c1\n" },
	    { "proc/self/mountinfo", V2_MOUNT },
	    { "sys/fs/cgroup/pod/c1/memory.max", "max\n" },
	    { "sys/fs/cgroup/pod/c1/memory.current", "104857600\n" },
	    { "sys/fs/cgroup/pod/memory.max", "209715200\n" },
	    { "sys/fs/cgroup/pod/memory.current", "104857600\n" } },
	  "needs 150 MiB, this cgroup has 100 of 200 MiB left" },
	{ "version 2, no limit at all", 100 * MIB,
	  { { "proc/meminfo", MEMINFO },
	    { "proc/self/cgroup", "0::/pod\n" },
	    { "proc/self/mountinfo", V2_MOUNT },
	    { "sys/fs/cgroup/pod/memory.max", "max\n" },
	    { "sys/fs/cgroup/pod/memory.current", "104857600\n" } },
	  NULL },
	{ "version 2, in a namespace of its own", 100 * MIB,
	  { { "proc/meminfo", MEMINFO },
	    { "proc/self/cgroup", "0::/\n" },
	    { "proc/self/mountinfo", V2_MOUNT },
	    { "sys/fs/cgroup/memory.max", "209715200\n" },
	    { "sys/fs/cgroup/memory.current", "104857600\n" } },
	  "needs 150 MiB, this cgroup has 100 of 200 MiB left" },
	{ "version 1, mounted from our own cgroup down", 100 * MIB,
	  { { "proc/meminfo", MEMINFO },
	    { "proc/self/cgroup", "5:cpu,cpuacct:/\n4:memory:/docker/abc\n0::/\n" },
	    { "proc/self/mountinfo", V1_MOUNT("/docker/abc") },
	    { "sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n" },
	    { "sys/fs/cgroup/memory/memory.usage_in_bytes", "209715200\n" },
	    { "sys/fs/cgroup/memory/memory.stat", "cache 0\ntotal_inactive_file 52428800\n" } },
	  "needs 150 MiB, this cgroup has 106 of 256 MiB left" },
	{ "version 1, two levels up", 100 * MIB,
	  { { "proc/meminfo", MEMINFO },
	    { "proc/self/cgroup", "4:memory:/a/b/c\n" },
	    { "proc/self/mountinfo", V1_MOUNT("/") },
	    { "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "104857600\n" },
	    { "sys/fs/cgroup/memory/a/memory.usage_in_bytes", "209715200\n" },
	    { "sys/fs/cgroup/memory/a/b/c/memory.limit_in_bytes", "9223372036854771712\n" },
	    { "sys/fs/cgroup/memory/a/b/c/memory.usage_in_bytes", "1\n" } },
	  "needs 150 MiB, this cgroup has 0 of 100 MiB left" },
};

ParameterizedTestParameters(refuse, needs)
{
	static size_t index[sizeof(needs) / sizeof(*needs)];
	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, sizeof(needs) / sizeof(*needs));
}

ParameterizedTest(size_t *row, refuse, needs)
{
	struct hsnap_proc proc;
	struct hsnap_error err = { 0 };
	tree_create(&proc);
	for (size_t i = 0; i < 9 && needs[*row].files[i].path; i++)
		tree_write(&proc, needs[*row].files[i].path, needs[*row].files[i].text);
	enum hsnap_code code = hsnap_refuse_need(&proc, needs[*row].bytes, -1, &err);
	cr_expect_eq(code, needs[*row].message ? HSNAP_REFUSED : HSNAP_OK, "%s: %s", needs[*row].name, err.message);
	cr_expect_str_eq(err.message, needs[*row].message ? needs[*row].message : "", "%s: %s", needs[*row].name,
			 err.message);
	cr_expect_eq(!err.hint[0], !needs[*row].message, "%s: %s", needs[*row].name, err.hint);
	tree_destroy(&proc);
}

Test(refuse, with_a_scratch_file_the_copy_needs_disk_and_no_memory)
{
	struct hsnap_proc proc;
	struct hsnap_error err = { 0 };
	char path[] = "/tmp/hsnap-refuse-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);
	cr_assert(fd >= 0);
	unlink(path);
	tree_create(&proc);
	tree_write(&proc, "proc/meminfo", "MemTotal: 262144 kB\nMemAvailable: 65536 kB\n");
	cr_expect_eq(hsnap_refuse_need(&proc, 80 * MIB, fd, &err), HSNAP_OK, "%s", err.message);
	cr_expect_eq(hsnap_refuse_need(&proc, 100 * MIB, fd, &err), HSNAP_REFUSED);
	cr_expect_str_eq(err.message, "needs 75 MiB beside the scratch file, this machine has 64 of 256 MiB left");
	cr_expect_str_eq(err.hint, "free memory or add swap first");
	cr_expect_eq(hsnap_refuse_need(&proc, 140 * MIB, -1, &err), HSNAP_REFUSED);
	cr_expect_str_eq(err.hint, "free memory or add swap first, or work on disk: --scratch DIR");
	cr_expect_eq(hsnap_refuse_rest(&proc, 65 * MIB, false, &err), HSNAP_REFUSED);
	cr_expect_str_eq(err.message, "needs 65 MiB more, this machine has 64 of 256 MiB left");
	cr_expect_eq(hsnap_refuse_rest(&proc, 64 * MIB, false, &err), HSNAP_OK);
	tree_write(&proc, "proc/meminfo", "MemTotal: 4611686018427387904 kB\nMemAvailable: 4611686018427387 kB\n");
	cr_expect_eq(hsnap_refuse_need(&proc, (uint64_t)1 << 60, fd, &err), HSNAP_REFUSED);
	cr_expect(strstr(err.message, "needs 1099511627776 MiB of disk, the scratch folder has "), "%s", err.message);
	cr_expect_str_eq(err.hint, "name a folder with more room: --scratch DIR");
	tree_destroy(&proc);
	close(fd);
}
