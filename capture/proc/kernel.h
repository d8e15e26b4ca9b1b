/* SPDX-License-Identifier: MIT */
/*
 * kernel.h - what the kernel keeps for a process: epoll user data and timer values, which it hands
 * back to it, and how it counts its memory.
 *
 * For many C servers the pointer in an epoll set is all that holds a connection.  What is counted
 * must be of the moment of the stop, or it would not add up with what is copied then.
 */
#ifndef HSNAP_CAPTURE_PROC_KERNEL_H
#define HSNAP_CAPTURE_PROC_KERNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/proc/pagemap.h"
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

struct hsnap_kernel_memory {
	int status;  /* /proc/PID/status */
	int pagemap; /* -1: not permitted */
	char *text;  /* of status as it was in the stop; "" until then, cut where it had grown very much */
	size_t room;
	/* Swapped pages in the stop, in order of address; without PAGEMAP_SCAN as they were just before. */
	struct hsnap_page_range *swapped;
	size_t num_swapped, max_swapped;
	/* The kernel's own object is copied whole, which makes its pages present: as it was before that. */
	uint64_t vdso_start, vdso_end;
	uint64_t vdso_present; /* bit n: its page n */
};

struct hsnap_kernel {
	struct hsnap_kernel_memory *memory; /* NULL: not to be had */
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
