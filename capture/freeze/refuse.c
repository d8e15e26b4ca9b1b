/* SPDX-License-Identifier: MIT */
/* refuse.c - reasons and cures. */
#include "capture/freeze/refuse.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/target/scratch.h"
#include "snapshot/base/cleanup.h"

#define KTHREADD 2
#define MIN_NEED ((uint64_t)32 << 20) /* what a take of the smallest process uses */

static enum hsnap_code refuse_tracer(const struct hsnap_proc *proc, uint64_t tracer, struct hsnap_error *err)
{
	struct hsnap_proc_status status = { 0 };
	if (!hsnap_proc_status(proc, (pid_t)tracer, &status))
		strcpy(status.comm, "?");
	/* The tracer may be a thread; what can be ended is its process. */
	uint64_t pid = status.tgid ? status.tgid : tracer;
	hsnap_fail(err, HSNAP_REFUSED, 0, "it is already traced by %s (pid %" PRIu64 ")", status.comm, pid);
	return hsnap_hint(err, HSNAP_REFUSED, "a process has one tracer at a time: end %s first (kill %" PRIu64 ")",
			  status.comm, pid);
}

static enum hsnap_code refuse_zombie(const struct hsnap_proc *proc, const struct hsnap_proc_status *status,
				     struct hsnap_error *err)
{
	if (status->threads > 1)
		return hsnap_fail(err, HSNAP_REFUSED, 0,
				  "its main thread has ended while others run on: this version cannot take that");
	struct hsnap_proc_status parent = { 0 };
	if (!hsnap_proc_status(proc, (pid_t)status->parent, &parent))
		return hsnap_fail(err, HSNAP_REFUSED, 0, "it has exited (a zombie)");
	return hsnap_fail(err, HSNAP_REFUSED, 0, "it has exited (a zombie that %s, pid %" PRIu64 ", has not collected)",
			  parent.comm, status->parent);
}

static bool is_32_bit(const struct hsnap_proc *proc, pid_t pid)
{
	hsnap_auto(hsnap_closefdp) int fd = hsnap_proc_open(proc, O_RDONLY, "proc/%d/exe", pid);
	unsigned char ident[EI_NIDENT];
	return fd >= 0 && pread(fd, ident, sizeof(ident), 0) == sizeof(ident) &&
	       !memcmp(ident, ELFMAG, SELFMAG) && ident[EI_CLASS] == ELFCLASS32;
}

enum hsnap_code hsnap_refuse_early(const struct hsnap_proc *proc, pid_t pid, struct hsnap_error *err)
{
	struct hsnap_proc_status status;
	enum hsnap_code code = hsnap_refuse_proc(proc, err);
	if (code)
		return code;
	if (!hsnap_proc_status(proc, pid, &status)) {
		bool gone = errno == ENOENT || errno == ESRCH;
		if (gone && !hsnap_refuse_hidden(proc, pid, err))
			return hsnap_fail(err, HSNAP_REFUSED, 0, "no such process");
		return gone ? HSNAP_REFUSED : hsnap_refuse_denied(proc, pid, errno, err);
	}
	if (pid == getpid())
		return hsnap_fail(err, HSNAP_REFUSED, 0, "it is heapsnap itself");
	if (status.tgid && status.tgid != (uint64_t)pid) {
		hsnap_fail(err, HSNAP_REFUSED, 0, "it is a thread of process %" PRIu64, status.tgid);
		return hsnap_hint(err, HSNAP_REFUSED, "heapsnap take -p %" PRIu64, status.tgid);
	}
	if (status.state == 'Z' || status.state == 'X')
		return refuse_zombie(proc, &status, err);
	if (!status.has_memory) {
		bool kernel = pid == KTHREADD || status.parent == KTHREADD;
		return hsnap_fail(err, HSNAP_REFUSED, 0, kernel ? "it is a kernel thread and has no heap"
								: "it is about to exit");
	}
	if (status.tracer)
		return refuse_tracer(proc, status.tracer, err);
	if (is_32_bit(proc, pid))
		return hsnap_fail(err, HSNAP_REFUSED, 0, "it is a 32-bit program, which this version cannot read");
	return HSNAP_OK;
}

enum hsnap_code hsnap_refuse_denied(const struct hsnap_proc *proc, pid_t tid, int sys_errno,
				    struct hsnap_error *err)
{
	struct hsnap_proc_status status;
	bool seen = sys_errno != ESRCH && sys_errno != ENOENT && hsnap_proc_status(proc, tid, &status);
	if (!seen && hsnap_refuse_hidden(proc, tid, err))
		return HSNAP_REFUSED;
	if (!seen)
		return hsnap_fail(err, HSNAP_REFUSED, 0, "exited while it was being captured");
	if (status.state == 'Z' || status.state == 'X')
		return refuse_zombie(proc, &status, err);
	if (status.tracer)
		return refuse_tracer(proc, status.tracer, err);
	if (sys_errno == EPERM || sys_errno == EACCES || sys_errno == ENOSYS) /* the last from filters alone */
		return hsnap_refuse_permission(proc, &status, err);
	return hsnap_fail(err, HSNAP_REFUSED, 0, "the kernel refuses: %s", strerror(sys_errno));
}

uint64_t hsnap_refuse_needed(uint64_t bytes, bool scratch)
{
	uint64_t work = scratch ? bytes / 4 * 3 : bytes / 2, copy = scratch ? 0 : bytes;
	uint64_t need = bytes > UINT64_MAX / 2 ? UINT64_MAX : copy + work;
	return need < MIN_NEED ? MIN_NEED : need;
}

static uint64_t whole_mib(uint64_t bytes)
{
	return (bytes >> 20) + (bytes % (1 << 20) != 0);
}

enum hsnap_code hsnap_refuse_hint(const struct hsnap_headroom *room, bool scratch, struct hsnap_error *err)
{
	return hsnap_hint(err, HSNAP_REFUSED, "%s%s", room->cgroup
			  ? "take it from outside (the node, an ephemeral container)" : "free memory or add swap first",
			  scratch ? "" : ", or work on disk: --scratch DIR");
}

static enum hsnap_code refuse_memory(const struct hsnap_proc *proc, uint64_t need, const char *what, bool scratch,
				     struct hsnap_error *err)
{
	struct hsnap_headroom room = hsnap_proc_headroom(proc);
	if (room.limit == UINT64_MAX || need <= room.left)
		return HSNAP_OK;
	hsnap_fail(err, HSNAP_REFUSED, 0, "needs %" PRIu64 " MiB%s, this %s has %" PRIu64 " of %" PRIu64 " MiB left",
		   whole_mib(need), what, room.cgroup ? "cgroup" : "machine", room.left >> 20, room.limit >> 20);
	return hsnap_refuse_hint(&room, scratch, err);
}

enum hsnap_code hsnap_refuse_need(const struct hsnap_proc *proc, uint64_t bytes, int scratch,
				  struct hsnap_error *err)
{
	bool on_disk = scratch >= 0;
	enum hsnap_code code = refuse_memory(proc, hsnap_refuse_needed(bytes, on_disk),
					     on_disk ? " beside the scratch file" : "", on_disk, err);
	uint64_t disk = !code && on_disk ? hsnap_scratch_left(scratch) : UINT64_MAX;
	if (code || bytes <= disk)
		return code;
	hsnap_fail(err, HSNAP_REFUSED, 0, "needs %" PRIu64 " MiB of disk, the scratch folder has %" PRIu64 " MiB left",
		   whole_mib(bytes), disk >> 20);
	return hsnap_hint(err, HSNAP_REFUSED, "name a folder with more room: --scratch DIR");
}

enum hsnap_code hsnap_refuse_rest(const struct hsnap_proc *proc, uint64_t need, bool scratch,
				  struct hsnap_error *err)
{
	return refuse_memory(proc, need, " more", scratch, err);
}
