/* SPDX-License-Identifier: MIT */
/* refuse.h - saying clearly, and before any harm, why a process is not to be captured. */
#ifndef HSNAP_CAPTURE_FREEZE_REFUSE_H
#define HSNAP_CAPTURE_FREEZE_REFUSE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/proc/proc.h"
#include "snapshot/base/error.h"

/* What can be known before touching it: gone, zombie, kernel thread, traced, itself, 32-bit.
 * HSNAP_OK or HSNAP_REFUSED. */
HSNAP_CHECKED enum hsnap_code hsnap_refuse_early(const struct hsnap_proc *proc, pid_t pid,
						 struct hsnap_error *err);

/* The kernel said no (EPERM, EACCES, …) for a process or one of its threads: find out why.
 * Always HSNAP_REFUSED. */
enum hsnap_code hsnap_refuse_denied(const struct hsnap_proc *proc, pid_t tid, int sys_errno,
				    struct hsnap_error *err);

/* Of the above for EPERM and EACCES, where the process is there and whole.  Always HSNAP_REFUSED. */
enum hsnap_code hsnap_refuse_permission(const struct hsnap_proc *proc, const struct hsnap_proc_status *status,
					struct hsnap_error *err);
/* It is there, but not in /proc, which is mounted with hidepid: true, and *err says so. */
bool hsnap_refuse_hidden(const struct hsnap_proc *proc, pid_t pid, struct hsnap_error *err);
/* There is no thread to be had.  HSNAP_NO_MEMORY, or HSNAP_REFUSED where a filter forbids it. */
enum hsnap_code hsnap_refuse_thread(int sys_errno, struct hsnap_error *err);
/* Is /proc there, and of our own PID namespace?  By the numbers of another one we would stop somebody else. */
HSNAP_CHECKED enum hsnap_code hsnap_refuse_proc(const struct hsnap_proc *proc, struct hsnap_error *err);

/*
 * What a take of so many bytes uses at the most, in bytes of memory: the copy, unless it goes to a
 * scratch file, and the work on it.
 *
 * How many blocks there are is not known before the walk.  The work takes 52 bytes a block beside the
 * copy, and 78 without one, which is given back as the graph grows (measured: docs/performance.md): a
 * half and three quarters of blocks of 104 bytes, heads included.  Of smaller ones it takes more;
 * hsnap_refuse_rest() finds that out once they are counted.
 */
uint64_t hsnap_refuse_needed(uint64_t bytes, bool scratch);

/* Do the bytes to be copied, and the work on them, fit beside the target?  `scratch`: the file that
 * the copy goes to, or -1: memory.  HSNAP_OK or HSNAP_REFUSED. */
HSNAP_CHECKED enum hsnap_code hsnap_refuse_need(const struct hsnap_proc *proc, uint64_t bytes, int scratch,
						struct hsnap_error *err);
/* The same in the midst of it: is there room for so many bytes of memory more? */
HSNAP_CHECKED enum hsnap_code hsnap_refuse_rest(const struct hsnap_proc *proc, uint64_t need, bool scratch,
						struct hsnap_error *err);
/* The ways on for who has too little room; HSNAP_REFUSED. */
enum hsnap_code hsnap_refuse_hint(const struct hsnap_headroom *room, bool scratch, struct hsnap_error *err);

#endif
