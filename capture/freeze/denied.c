/* SPDX-License-Identifier: MIT */
/*
 * denied.c - the kernel said no: which of its many rules it was, and the cure that suits the place we are in.
 *
 * Source: Linux 6.1 kernel/ptrace.c __ptrace_may_access, security/commoncap.c cap_ptrace_access_check,
 * security/yama/yama_lsm.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

#include "capture/freeze/refuse.h"
#include "snapshot/base/cleanup.h"

#define CAPABILITY_PTRACE 19
#define SECCOMP_FILTER 2
#define ALL_IDS 4294967295u /* the length of uid_map's one line outside of all user namespaces */

/* ---- where we are ---- */

enum place { ON_HOST, IN_DOCKER, IN_KUBERNETES };

static bool has_file(const struct hsnap_proc *proc, const char *path)
{
	hsnap_auto(hsnap_closefdp) int fd = hsnap_proc_open(proc, O_PATH, "%s", path);
	return fd >= 0;
}

/* What the runtimes leave behind: marks of their own, and names of cgroups and of mounts. */
static enum place find_place(const struct hsnap_proc *proc)
{
	hsnap_auto(hsnap_freep) char *cgroups = hsnap_proc_read(proc, "proc/self/cgroup");
	hsnap_auto(hsnap_freep) char *mounts = hsnap_proc_read(proc, "proc/self/mountinfo");
	if (has_file(proc, "var/run/secrets/kubernetes.io") || (cgroups && strstr(cgroups, "/kubepods")) ||
	    (mounts && strstr(mounts, "/kubelet/pods/")))
		return IN_KUBERNETES;
	if (has_file(proc, ".dockerenv") || has_file(proc, "run/.containerenv") ||
	    (cgroups && strstr(cgroups, "/docker/")))
		return IN_DOCKER;
	return ON_HOST;
}

static enum hsnap_code hint_capability(const struct hsnap_proc *proc, uint64_t pid, struct hsnap_error *err)
{
	switch (find_place(proc)) {
	case IN_KUBERNETES:
		return hsnap_hint(err, HSNAP_REFUSED, "needs CAP_SYS_PTRACE: kubectl debug -it POD --image=IMAGE "
				  "--target=CONTAINER --profile=general, or root on the node");
	case IN_DOCKER:
		return hsnap_hint(err, HSNAP_REFUSED, "needs CAP_SYS_PTRACE: docker run --pid=container:NAME "
				  "--cap-add SYS_PTRACE IMAGE heapsnap take ..., or root on the host");
	default:
		return hsnap_hint(err, HSNAP_REFUSED, "needs CAP_SYS_PTRACE: sudo heapsnap take -p %" PRIu64, pid);
	}
}

/* ---- the rules ---- */

static uint64_t yama_scope(const struct hsnap_proc *proc)
{
	hsnap_auto(hsnap_freep) char *text = hsnap_proc_read(proc, "proc/sys/kernel/yama/ptrace_scope");
	return text ? strtoull(text, NULL, 10) : 0;
}

/* With a filter, asking for nobody is answered by the filter and not with "no such process". */
static bool is_ptrace_filtered(const struct hsnap_proc_status *own)
{
	return own->seccomp == SECCOMP_FILTER && ptrace(PTRACE_SEIZE, INT_MAX, NULL, NULL) && errno != ESRCH;
}

static bool in_user_namespace(const struct hsnap_proc *proc)
{
	hsnap_auto(hsnap_freep) char *map = hsnap_proc_read(proc, "proc/self/uid_map");
	uint64_t from, to, num;
	return map && (sscanf(map, "%" SCNu64 " %" SCNu64 " %" SCNu64, &from, &to, &num) != 3 || num != ALL_IDS);
}

struct label {
	char text[64];
};

/* "docker-default (enforce)" of AppArmor, "system_u:system_r:container_t:s0" of SELinux; "" where there is none. */
static struct label read_label(const struct hsnap_proc *proc, const char *who)
{
	struct label label = { "" };
	hsnap_auto(hsnap_freep) char *text = hsnap_proc_read(proc, "proc/%s/attr/current", who);
	if (text)
		snprintf(label.text, sizeof(label.text), "%.*s", (int)strcspn(text, "\n"), text);
	return label;
}

/* Two labels that differ are the best guess at a denial that nothing else explains. */
static bool refuse_label(const struct hsnap_proc *proc, uint64_t pid, struct hsnap_error *err)
{
	char who[16];
	snprintf(who, sizeof(who), "%d", (int)pid);
	struct label ours = read_label(proc, "self"), its = read_label(proc, who);
	if (!strcmp(ours.text, its.text) && (!*ours.text || !strcmp(ours.text, "unconfined")))
		return false;
	bool selinux = strchr(ours.text, ':') || strchr(its.text, ':');
	/* SELinux lets its own kind be traced unless it is told not to; AppArmor needs a rule for that, too. */
	hsnap_fail(err, HSNAP_REFUSED, 0, "not permitted by %s: it runs as '%s', we as '%s'", selinux ? "SELinux" : "AppArmor",
		   *its.text ? its.text : "?", *ours.text ? ours.text : "?");
	if (selinux)
		hsnap_hint(err, HSNAP_REFUSED, "setsebool deny_ptrace off, or run heapsnap unconfined as root on the host");
	else
		hsnap_hint(err, HSNAP_REFUSED, "docker run --security-opt apparmor=unconfined ..., or run heapsnap as root on the host");
	return true;
}

/* The kernel gives the folder of a process that is not dumpable to root. */
static bool is_dumpable(const struct hsnap_proc *proc, const struct hsnap_proc_status *status)
{
	struct stat st;
	hsnap_auto(hsnap_closefdp) int fd = hsnap_proc_open(proc, O_PATH, "proc/%d", (int)status->tgid);
	return fd >= 0 && !fstat(fd, &st) && st.st_uid == status->effective_uid;
}

static enum hsnap_code refuse_scope(uint64_t scope, struct hsnap_error *err)
{
	hsnap_fail(err, HSNAP_REFUSED, 0, "not permitted: kernel.yama.ptrace_scope is %" PRIu64 "%s", scope,
		   scope >= 3 ? ": nobody may attach" : "");
	return hsnap_hint(err, HSNAP_REFUSED,
			  "set kernel.yama.ptrace_scope to 2 or less in /etc/sysctl.d and restart the machine");
}

/* We have the capability, and that is not enough. */
static enum hsnap_code refuse_capable(const struct hsnap_proc *proc, uint64_t pid, struct hsnap_error *err)
{
	if (in_user_namespace(proc)) {
		hsnap_fail(err, HSNAP_REFUSED, 0,
			   "not permitted: it is not of our user namespace, which our CAP_SYS_PTRACE is limited to");
		return hsnap_hint(err, HSNAP_REFUSED, "run heapsnap as root on the host, outside of any container");
	}
	if (refuse_label(proc, pid, err))
		return HSNAP_REFUSED;
	hsnap_fail(err, HSNAP_REFUSED, 0, "not permitted, though we have CAP_SYS_PTRACE: a security module forbids it");
	return hsnap_hint(err, HSNAP_REFUSED, "the kernel's log may tell which: dmesg | tail");
}

enum hsnap_code hsnap_refuse_permission(const struct hsnap_proc *proc, const struct hsnap_proc_status *status,
					struct hsnap_error *err)
{
	uint64_t pid = status->tgid, scope = yama_scope(proc);
	struct hsnap_proc_status own = { 0 };
	if (!hsnap_proc_status_of(proc, "self", &own))
		own.uid = own.effective_uid = UINT64_MAX;
	if (scope >= 3)
		return refuse_scope(scope, err);
	if (is_ptrace_filtered(&own)) {
		hsnap_fail(err, HSNAP_REFUSED, 0, "not permitted: a seccomp filter forbids us ptrace");
		return hsnap_hint(err, HSNAP_REFUSED, "Docker before 19.03 does so: docker run --cap-add SYS_PTRACE "
				  "--pid=container:NAME IMAGE heapsnap take ..., or root on the host");
	}
	if (own.effective_caps >> CAPABILITY_PTRACE & 1)
		return refuse_capable(proc, pid, err);
	if (status->uid != own.uid)
		hsnap_fail(err, HSNAP_REFUSED, 0, "not permitted: it runs as uid %" PRIu64 ", we as uid %" PRIu64,
			   status->uid, own.uid);
	else if (status->gid != own.gid)
		hsnap_fail(err, HSNAP_REFUSED, 0, "not permitted: it runs with gid %" PRIu64 ", we with gid %" PRIu64,
			   status->gid, own.gid);
	else if (scope)
		hsnap_fail(err, HSNAP_REFUSED, 0, "not permitted: kernel.yama.ptrace_scope is %" PRIu64, scope);
	else if (status->permitted_caps & ~own.permitted_caps)
		hsnap_fail(err, HSNAP_REFUSED, 0, "not permitted: it has capabilities that we lack");
	else if (is_dumpable(proc, status) && refuse_label(proc, pid, err))
		return HSNAP_REFUSED;
	else
		hsnap_fail(err, HSNAP_REFUSED, 0, "not permitted: it is not dumpable (set-user-id, capabilities or prctl)");
	return hint_capability(proc, pid, err);
}

/* glibc from 2.34 takes no other answer to clone3 than ENOSYS for "try the old way". */
enum hsnap_code hsnap_refuse_thread(int sys_errno, struct hsnap_error *err)
{
	if (sys_errno != EPERM)
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "cannot start a thread: %s", strerror(sys_errno));
	hsnap_fail(err, HSNAP_REFUSED, 0, "a seccomp filter forbids us to start a thread (clone3)");
	return hsnap_hint(err, HSNAP_REFUSED, "Docker before 20.10.10 does so: --security-opt seccomp=unconfined, or root on the host");
}

/* ---- a /proc that does not show it ---- */

static bool is_hiding(const struct hsnap_proc *proc)
{
	hsnap_auto(hsnap_freep) char *mounts = hsnap_proc_read(proc, "proc/self/mountinfo");
	const char *option = mounts ? strstr(mounts, "hidepid=") : NULL;
	return option && strncmp(option, "hidepid=0", 9) && strncmp(option, "hidepid=off", 11);
}

bool hsnap_refuse_hidden(const struct hsnap_proc *proc, pid_t pid, struct hsnap_error *err)
{
	if (!is_hiding(proc) || (kill(pid, 0) && errno != EPERM))
		return false;
	hsnap_fail(err, HSNAP_REFUSED, 0, "not permitted: it is there, and /proc does not show it (mounted with hidepid)");
	hint_capability(proc, (uint64_t)pid, err);
	return true;
}

enum hsnap_code hsnap_refuse_proc(const struct hsnap_proc *proc, struct hsnap_error *err)
{
	char link[32];
	if (hsnap_proc_link(proc, link, sizeof(link), "proc/self")) {
		if (atoi(link) == getpid())
			return HSNAP_OK;
		hsnap_fail(err, HSNAP_REFUSED, 0, "/proc is of another PID namespace, where we are %s and not %d", link, getpid());
	} else if (errno != ENOENT) {
		return HSNAP_OK; /* tests have a folder of that name */
	} else if (!has_file(proc, "proc/version")) {
		hsnap_fail(err, HSNAP_REFUSED, 0, "/proc is not mounted");
		return hsnap_hint(err, HSNAP_REFUSED, "mount -t proc proc /proc");
	} else {
		hsnap_fail(err, HSNAP_REFUSED, 0, "/proc is of another PID namespace, where we are not");
	}
	return hsnap_hint(err, HSNAP_REFUSED, "mount -t proc proc /proc, or enter both: nsenter --target PID --mount --pid");
}
