/* SPDX-License-Identifier: MIT */
/* copy.c - the way of freezing that every kernel allows: stop, copy in bulk, go. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "capture/freeze/freeze.h"
#include "capture/freeze/plan.h"
#include "capture/freeze/refuse.h"
#include "capture/freeze/step.h"
#include "capture/freeze/stop.h"
#include "capture/target/live.h"
#include "snapshot/base/cleanup.h"

#define PIECE ((size_t)512 << 10) /* stays in the second-level cache: 5 GB/s against 4 at 16 MiB */
#define MAX_PIECES 256            /* ranges in one call */
#define PAGE ((size_t)4096)
#define MAX_LATE 12               /* attempts that wait 20 ms each for a thread that does not stop */
#define MAX_AGAIN 4               /* attempts that outgrew their buffers */

struct work {
	pid_t pid;
	struct hsnap_plan plan;
	struct hsnap_files files;
	struct hsnap_copy copy;
	struct hsnap_kernel *kernel;
	uint64_t lost;
};

/* Up to one piece of ranges from `at` on; returns its bytes. */
static size_t gather(const struct hsnap_plan *plan, size_t *range, uint64_t *at, struct iovec *pieces, int *num)
{
	size_t bytes = 0;
	for (*num = 0; *num < MAX_PIECES && *range < plan->num && bytes < PIECE;) {
		uint64_t left = plan->ranges[*range].end - *at;
		size_t take = left < PIECE - bytes ? (size_t)left : PIECE - bytes;
		pieces[(*num)++] = (struct iovec){ (void *)(uintptr_t)*at, take };
		bytes += take;
		*at += take;
		if (*at == plan->ranges[*range].end && ++*range < plan->num)
			*at = plan->ranges[*range].start;
	}
	return bytes;
}

/* What was read of the pieces is noted; a page that could not be read is passed over. */
static enum hsnap_stop_end read_pieces(struct work *work, struct iovec *pieces, int num)
{
	struct hsnap_copy *copy = &work->copy;
	while (num) {
		struct iovec to = { copy->buffer + copy->used, copy->size - copy->used };
		ssize_t n = process_vm_readv(work->pid, &to, 1, pieces, (unsigned long)num, 0);
		if (n < 0 && errno == ESRCH)
			return HSNAP_STOP_GONE;
		size_t got = n < 0 ? 0 : (size_t)n;
		for (; num && got >= pieces->iov_len; num--, pieces++) {
			got -= pieces->iov_len;
			if (!hsnap_copy_add(copy, (uint64_t)(uintptr_t)pieces->iov_base, pieces->iov_len))
				return HSNAP_STOP_AGAIN;
		}
		if (!num)
			break;
		if (got && !hsnap_copy_add(copy, (uint64_t)(uintptr_t)pieces->iov_base, got))
			return HSNAP_STOP_AGAIN;
		size_t skip = got + (PAGE - got % PAGE);
		work->lost += PAGE - got % PAGE;
		pieces->iov_base = (uint8_t *)pieces->iov_base + skip;
		pieces->iov_len -= skip;
		if (!pieces->iov_len)
			num--, pieces++;
	}
	return HSNAP_STOP_DONE;
}

static enum hsnap_stop_end copy_ranges(struct work *work, const struct hsnap_stop *stop)
{
	const struct hsnap_plan *plan = &work->plan;
	struct iovec pieces[MAX_PIECES];
	size_t range = 0;
	uint64_t at = plan->num ? plan->ranges[0].start : 0;
	while (range < plan->num) {
		int num;
		gather(plan, &range, &at, pieces, &num);
		enum hsnap_stop_end end = read_pieces(work, pieces, num);
		if (end)
			return end;
		if (hsnap_stop_is_interrupted(stop))
			return HSNAP_STOP_INTERRUPTED;
		hsnap_step("copying");
	}
	return HSNAP_STOP_DONE;
}

/* All that is done while the target stands still. */
static enum hsnap_stop_end copy_in_stop(void *context, const struct hsnap_stop *stop)
{
	struct work *work = context;
	if (!hsnap_plan_list(&work->plan))
		return work->plan.num ? HSNAP_STOP_AGAIN : HSNAP_STOP_GONE;
	if (work->plan.bytes > work->copy.size || work->plan.num > work->copy.max_extents)
		return HSNAP_STOP_AGAIN;
	hsnap_kernel_read(work->kernel);
	return copy_ranges(work, stop);
}

/* Room for what there is now and some more; refused where that could harm the target. */
static enum hsnap_code make_room(struct work *work, const struct hsnap_freeze_options *options, unsigned again,
				 struct hsnap_error *err)
{
	if (!hsnap_plan_grow(&work->plan))
		return hsnap_fail(err, HSNAP_REFUSED, 0, "exited while it was being captured");
	uint64_t spare = (work->plan.bytes / 32 + ((uint64_t)4 << 20)) << (2 * again);
	uint64_t size = work->plan.bytes + spare;
	hsnap_copy_deinit(&work->copy);
	enum hsnap_code code = hsnap_refuse_need(options->proc, work->plan.bytes, err);
	if (code)
		return code;
	if (size < work->plan.bytes || size > SIZE_MAX / 2 ||
	    !hsnap_copy_init(&work->copy, (size_t)size, work->plan.max, options->scratch))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for a copy of %llu MiB",
				  (unsigned long long)(size >> 20));
	return HSNAP_OK;
}

static const char *state_name(char state)
{
	switch (state) {
	case 'D': return "uninterruptible, in the kernel";
	case 'R': return "running";
	case 'S': return "sleeping";
	default: return "unknown";
	}
}

static enum hsnap_code refuse_late(const struct hsnap_proc *proc, const struct hsnap_stop *stop,
				   struct hsnap_error *err)
{
	struct hsnap_proc_status status = { 0 };
	if (!hsnap_proc_status(proc, stop->late, &status))
		strcpy(status.comm, "?");
	hsnap_fail(err, HSNAP_REFUSED, 0, "thread %d (%s) does not stop: it is in state %c (%s)", stop->late,
		   status.comm, stop->late_state, state_name(stop->late_state));
	return hsnap_hint(err, HSNAP_REFUSED, "try again when it has done what it waits for: cat /proc/%d/task/%d/stack",
			  stop->pid, stop->late);
}

static enum hsnap_code explain(const struct hsnap_proc *proc, const struct hsnap_stop *stop,
			       enum hsnap_stop_end end, struct hsnap_error *err)
{
	switch (end) {
	case HSNAP_STOP_DONE: return HSNAP_OK;
	case HSNAP_STOP_LATE: return refuse_late(proc, stop, err);
	case HSNAP_STOP_AGAIN:
		return hsnap_fail(err, HSNAP_REFUSED, 0, "it grows faster than room can be made for a copy");
	case HSNAP_STOP_GONE: return hsnap_fail(err, HSNAP_REFUSED, 0, "exited while it was being captured");
	case HSNAP_STOP_DENIED: return hsnap_refuse_denied(proc, stop->denied, stop->sys_errno, err);
	case HSNAP_STOP_FOREIGN:
		return hsnap_fail(err, HSNAP_REFUSED, 0, "it runs 32-bit code, which this version cannot read");
	case HSNAP_STOP_NO_MEMORY: return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	case HSNAP_STOP_INTERRUPTED: return hsnap_fail(err, HSNAP_INTERRUPTED, 0, "interrupted");
	}
	return hsnap_fail(err, HSNAP_REFUSED, 0, "it could not be stopped");
}

/* Stop, and again with more patience or more room where that can help. */
static enum hsnap_code stop_until_copied(struct work *work, const struct hsnap_freeze_options *options,
					 struct hsnap_stop *stop, uint32_t *attempts, struct hsnap_error *err)
{
	unsigned late = 0, again = 0;
	for (;;) {
		work->copy.used = work->copy.num_extents = 0;
		work->lost = 0;
		++*attempts;
		enum hsnap_stop_end end = hsnap_stop_once(stop);
		if (end == HSNAP_STOP_LATE && ++late < MAX_LATE) {
			/* A parent in vfork() waits for its child's exec; give it ever more time. */
			nanosleep(&(struct timespec){ .tv_nsec = 5000000L * (1 + (long)late) }, NULL);
		} else if (end == HSNAP_STOP_AGAIN && ++again < MAX_AGAIN) {
			enum hsnap_code code = make_room(work, options, again, err);
			if (code)
				return code;
		} else {
			return explain(options->proc, stop, end, err);
		}
		if (hsnap_stop_is_interrupted(stop))
			return hsnap_fail(err, HSNAP_INTERRUPTED, 0, "interrupted");
	}
}

/* Where the executable's program headers are: entry AT_PHDR (3) of the auxiliary vector. */
static uint64_t headers_address(const struct hsnap_proc *proc, pid_t pid)
{
	hsnap_auto(hsnap_closefdp) int fd = hsnap_proc_open(proc, 0, "proc/%d/auxv", pid);
	size_t len = 0;
	hsnap_auto(hsnap_freep) char *text = fd < 0 ? NULL : hsnap_proc_read_fd(fd, &len);
	for (size_t at = 0; text && at + 16 <= len; at += 16) {
		uint64_t pair[2];
		memcpy(pair, text + at, sizeof(pair));
		if (pair[0] == 3)
			return pair[1];
	}
	return 0;
}

/* The main thread first. */
static bool add_threads(struct hsnap_target *target, const struct hsnap_proc *proc, const struct hsnap_stop *stop)
{
	for (size_t i = 0; i < stop->tracees.num; i++) {
		const struct hsnap_tracee *tracee = &stop->tracees.items[i];
		if (tracee->state != HSNAP_TRACEE_RELEASED)
			continue;
		struct hsnap_thread thread = { .tid = (uint32_t)tracee->tid };
		hsnap_cpu_to_regs(&tracee->cpu, &thread.regs, &thread.thread_pointer);
		hsnap_auto(hsnap_freep) char *name = hsnap_proc_read(proc, "proc/%d/task/%d/comm", stop->pid,
								     tracee->tid);
		if (name) {
			name[strcspn(name, "\n")] = '\0';
			strncpy(thread.name, name, sizeof(thread.name) - 1);
		}
		if (!hsnap_vec_push(&target->threads, thread))
			return false;
		struct hsnap_thread *threads = target->threads.items;
		if (tracee->tid == stop->pid && target->threads.num > 1) {
			thread = threads[0];
			threads[0] = threads[target->threads.num - 1];
			threads[target->threads.num - 1] = thread;
		}
	}
	return true;
}

static enum hsnap_code freeze(struct work *work, const struct hsnap_freeze_options *options, struct hsnap_stop *stop,
			      struct hsnap_frozen *ret, struct hsnap_error *err)
{
	const struct hsnap_proc *proc = options->proc;
	enum hsnap_code code = hsnap_refuse_early(proc, stop->pid, err);
	if (!code)
		code = hsnap_plan_open(&work->plan, proc, stop->pid, err);
	if (code)
		return code;
	uint64_t headers = headers_address(proc, stop->pid);
	/* Of us two the one to be killed when memory runs out.  Always permitted; without it the
	 * prediction has to do. */
	(void)hsnap_proc_write(proc, "1000", "proc/self/oom_score_adj");
	hsnap_auto(hsnap_freep) char *maps = hsnap_proc_read_fd(work->plan.maps, NULL);
	if (!maps || !*maps)
		return hsnap_fail(err, HSNAP_REFUSED, 0, "exited while it was being captured");
	if (!hsnap_files_init(&work->files, proc, stop->pid, maps) ||
	    !hsnap_kernel_prepare(&ret->kernel, proc, stop->pid))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	work->plan.files = &work->files;
	code = make_room(work, options, 0, err);
	if (!code)
		code = stop_until_copied(work, options, stop, &ret->attempts, err);
	if (code)
		return code;
	ret->pause_ns = stop->pause_ns;
	ret->released_at = stop->released_at;
	ret->copied = work->copy.used;
	ret->lost = work->lost + work->plan.skipped;
	ret->mode = "copy";
	hsnap_copy_shrink(&work->copy);
	code = hsnap_live_create(stop->pid, work->plan.text, headers, &work->copy, &work->files, &ret->target, err);
	if (!code && !add_threads(ret->target, proc, stop))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the threads");
	return code;
}

enum hsnap_code hsnap_freeze_copy(const struct hsnap_freeze_options *options, struct hsnap_frozen *ret,
				  struct hsnap_error *err)
{
	*ret = (struct hsnap_frozen){ 0 };
	struct work work = {
		.pid = options->pid, .kernel = &ret->kernel, .files = { .root = -1 },
		.plan = { .maps = -1, .pagemap = -1 },
	};
	struct hsnap_stop stop = {
		.proc = options->proc, .pid = options->pid, .interrupted = options->interrupted, .work = copy_in_stop,
		.context = &work,
	};
	enum hsnap_code code = freeze(&work, options, &stop, ret, err);
	hsnap_plan_close(&work.plan);
	hsnap_files_deinit(&work.files);
	hsnap_copy_deinit(&work.copy);
	hsnap_stop_deinit(&stop);
	if (code)
		hsnap_frozen_deinit(ret);
	return code;
}
