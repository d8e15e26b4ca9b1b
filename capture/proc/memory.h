/* SPDX-License-Identifier: MIT */
/*
 * memory.h - bytes of a live process's memory: by process_vm_readv, or where a seccomp filter forbids
 * that (the default of old container runtimes), through /proc/PID/mem, which is slower.
 */
#ifndef HSNAP_CAPTURE_PROC_MEMORY_H
#define HSNAP_CAPTURE_PROC_MEMORY_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "capture/proc/proc.h"

struct hsnap_memory {
	pid_t pid;
	int file; /* /proc/PID/mem where it is needed, else -1 */
};

/* What cannot be opened shows in the reading. */
void hsnap_memory_init(struct hsnap_memory *memory, const struct hsnap_proc *proc, pid_t pid);
void hsnap_memory_deinit(struct hsnap_memory *memory);

/* As process_vm_readv: bytes read up to the first that could not be; -1 with errno (ESRCH: it is gone).
 * Allocates nothing. */
ssize_t hsnap_memory_read(const struct hsnap_memory *memory, const struct iovec *to, size_t num_to,
			  const struct iovec *from, size_t num_from);

#endif
