/* SPDX-License-Identifier: MIT */
/*
 * kernel.h - what the kernel keeps for a process and hands back to it: epoll user data, timer values.
 *
 * For many C servers the pointer in an epoll set is all that holds a connection.
 */
#ifndef HSNAP_CAPTURE_PROC_KERNEL_H
#define HSNAP_CAPTURE_PROC_KERNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/proc/proc.h"
#include "snapshot/base/vec.h"

enum hsnap_kernel_kind { HSNAP_KERNEL_EPOLL, HSNAP_KERNEL_TIMERS };

struct hsnap_kernel_list {
	uint8_t kind; /* enum hsnap_kernel_kind */
	int number;   /* of the epoll descriptor in the target */
	int file;     /* ours, of its text */
	char *before; /* as it was before the stop */
	char *text;   /* as it was in the stop; cut where it had grown very much */
	size_t room;
};

struct hsnap_kernel {
	struct hsnap_vec(struct hsnap_kernel_list) lists;
};

/* Find the lists, read them once, make room; false: out of memory. */
HSNAP_CHECKED bool hsnap_kernel_prepare(struct hsnap_kernel *kernel, const struct hsnap_proc *proc, pid_t pid);
/* Read them again; allocates nothing. */
void hsnap_kernel_read(struct hsnap_kernel *kernel);
void hsnap_kernel_deinit(struct hsnap_kernel *kernel);

/* One value out of a text.  `at` moves on; `id` is the watched descriptor or the timer's number. */
bool hsnap_kernel_next(enum hsnap_kernel_kind kind, const char **at, uint64_t *id, uint64_t *value);

#endif
