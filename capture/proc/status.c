/* SPDX-License-Identifier: MIT */
/* status.c - /proc/PID/status and stat. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "capture/proc/proc.h"
#include "snapshot/base/cleanup.h"

/* The kernel writes a newline or backslash of a name as an escape, so "Name:" is one line. */
static void read_comm(const char *text, char *comm, size_t size)
{
	comm[0] = '\0';
	if (!strncmp(text, "Name:\t", 6)) {
		size_t len = strcspn(text + 6, "\n");
		snprintf(comm, size, "%.*s", (int)(len < size ? len : size - 1), text + 6);
	}
}

bool hsnap_proc_status_of(const struct hsnap_proc *proc, const char *who, struct hsnap_proc_status *ret)
{
	hsnap_auto(hsnap_freep) char *text = hsnap_proc_read(proc, "proc/%s/status", who);
	if (!text)
		return false;
	*ret = (struct hsnap_proc_status){ 0 };
	read_comm(text, ret->comm, sizeof(ret->comm));
	const char *state = strstr(text, "\nState:\t");
	if (!state) {
		errno = EINVAL;
		return false;
	}
	ret->state = state[8];
	hsnap_proc_field(text, "Tgid", 10, &ret->tgid);
	hsnap_proc_field(text, "PPid", 10, &ret->parent);
	hsnap_proc_field(text, "TracerPid", 10, &ret->tracer);
	hsnap_proc_field(text, "Uid", 10, &ret->uid);
	const char *uid = strstr(text, "\nUid:\t");
	if (!uid || sscanf(uid + 6, "%*u %lu", &ret->effective_uid) != 1)
		ret->effective_uid = ret->uid;
	hsnap_proc_field(text, "Gid", 10, &ret->gid);
	hsnap_proc_field(text, "Threads", 10, &ret->threads);
	hsnap_proc_field(text, "Seccomp", 10, &ret->seccomp);
	hsnap_proc_field(text, "CapEff", 16, &ret->effective_caps);
	hsnap_proc_field(text, "CapPrm", 16, &ret->permitted_caps);
	hsnap_proc_field(text, "SigBlk", 16, &ret->blocked);
	hsnap_proc_field(text, "SigIgn", 16, &ret->ignored);
	hsnap_proc_field(text, "SigCgt", 16, &ret->caught);
	ret->has_memory = hsnap_proc_field(text, "VmSize", 10, &(uint64_t){ 0 });
	hsnap_proc_field(text, "VmRSS", 10, &ret->rss);
	hsnap_proc_field(text, "RssAnon", 10, &ret->rss_anon);
	hsnap_proc_field(text, "VmSwap", 10, &ret->swap);
	ret->rss *= 1024;
	ret->rss_anon *= 1024;
	ret->swap *= 1024;
	return true;
}

bool hsnap_proc_status(const struct hsnap_proc *proc, pid_t pid, struct hsnap_proc_status *ret)
{
	char who[16];
	snprintf(who, sizeof(who), "%d", pid);
	return hsnap_proc_status_of(proc, who, ret);
}

uint64_t hsnap_proc_start_time(const struct hsnap_proc *proc, pid_t pid)
{
	hsnap_auto(hsnap_freep) char *text = hsnap_proc_read(proc, "proc/%d/stat", pid);
	/* The name may hold anything, blanks and brackets too: fields are counted from its last bracket. */
	const char *at = text ? strrchr(text, ')') : NULL;
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}
