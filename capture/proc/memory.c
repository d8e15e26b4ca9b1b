/* SPDX-License-Identifier: MIT */
/* memory.c - process_vm_readv, and the same through a file. */
#include "capture/proc/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "snapshot/base/cleanup.h"

/* Asked of ourselves, which nothing but a filter can forbid. */
static bool is_forbidden(void)
{
	char from = 1, to = 0;
	struct iovec remote = { &from, 1 }, local = { &to, 1 };
	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != 1;
}

void hsnap_memory_init(struct hsnap_memory *memory, const struct hsnap_proc *proc, pid_t pid)
{
	*memory = (struct hsnap_memory){ .pid = pid, .file = -1 };
	if (is_forbidden())
		memory->file = hsnap_proc_open(proc, O_RDONLY, "proc/%d/mem", pid);
}

void hsnap_memory_deinit(struct hsnap_memory *memory)
{
	hsnap_closefdp(&memory->file);
	memory->file = -1;
}

/* The file answers 0 for a process that is gone, and EIO for an address that is not mapped. */
static ssize_t read_file(int file, const struct iovec *to, size_t num_to, const struct iovec *from, size_t num_from)
{
	size_t done = 0, room = num_to ? to->iov_len : 0;
	for (; num_from; from++, num_from--) {
		for (size_t at = 0; at < from->iov_len;) {
			for (; !room && num_to; num_to--, to++)
				room = num_to > 1 ? to[1].iov_len : 0;
			size_t len = from->iov_len - at < room ? from->iov_len - at : room;
			if (!len)
				return (ssize_t)done;
			ssize_t n = pread(file, (char *)to->iov_base + (to->iov_len - room), len,
					  (off_t)((uintptr_t)from->iov_base + at));
			if (n <= 0 && done)
				return (ssize_t)done;
			if (n <= 0) {
				errno = n ? EFAULT : ESRCH;
				return -1;
			}
			at += (size_t)n;
			done += (size_t)n;
			room -= (size_t)n;
		}
	}
	return (ssize_t)done;
}

ssize_t hsnap_memory_read(const struct hsnap_memory *memory, const struct iovec *to, size_t num_to,
			  const struct iovec *from, size_t num_from)
{
	if (memory->file >= 0)
		return read_file(memory->file, to, num_to, from, num_from);
	return process_vm_readv(memory->pid, to, num_to, from, num_from, 0);
}
