/* SPDX-License-Identifier: MIT */
/* way.c - looking before, room, retries, and the target made of what was copied. */
#include "capture/freeze/way.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capture/freeze/refuse.h"
#include "capture/target/live.h"
#include "snapshot/base/cleanup.h"

#define MAX_LATE 12  /* attempts that wait 20 ms each for a thread that does not stop */
#define MAX_AGAIN 4  /* attempts that outgrew their buffers */

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

enum hsnap_code hsnap_way_begin(struct hsnap_way *way, const struct hsnap_freeze_options *options,
				struct hsnap_frozen *ret, struct hsnap_error *err)
{
	const struct hsnap_proc *proc = options->proc;
	pid_t pid = options->pid;
	*ret = (struct hsnap_frozen){ 0 };
	*way = (struct hsnap_way){
		.options = options, .ret = ret, .files = { .root = -1 }, .plan = { .maps = -1, .pagemap = -1 },
		.copy = { .scratch = -1 }, .memory = { .file = -1 },
		.stop = { .proc = proc, .pid = pid, .interrupted = options->interrupted,
			  .max_pause_ns = options->max_pause_ns, .spent_ns = options->spent_ns,
			  .longest_ns = options->longest_ns },
	};
	enum hsnap_code code = hsnap_refuse_early(proc, pid, err);
	if (!code)
		code = hsnap_plan_open(&way->plan, proc, pid, err);
	if (code)
		return code;
	way->headers = headers_address(proc, pid);
	hsnap_memory_init(&way->memory, proc, pid);
	/* Of us two the one to be killed when memory runs out.  Always permitted; without it the
	 * prediction has to do. */
	(void)hsnap_proc_write(proc, "1000", "proc/self/oom_score_adj");
	hsnap_auto(hsnap_freep) char *maps = hsnap_proc_read_fd(way->plan.maps, NULL);
	if (!maps || !*maps)
		return hsnap_fail(err, HSNAP_REFUSED, 0, "exited while it was being captured");
	if (!hsnap_files_init(&way->files, proc, pid, maps) || !hsnap_kernel_prepare(&ret->kernel, proc, pid))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	way->plan.files = &way->files;
	return HSNAP_OK;
}

enum hsnap_code hsnap_way_room(struct hsnap_way *way, unsigned again, struct hsnap_error *err)
{
	const struct hsnap_freeze_options *options = way->options;
	struct hsnap_plan *plan = &way->plan;
	if (!hsnap_plan_grow(plan))
		return hsnap_fail(err, HSNAP_REFUSED, 0, "exited while it was being captured");
	uint64_t spare = (plan->bytes / 32 + ((uint64_t)4 << 20)) << (2 * again);
	uint64_t size = plan->bytes + spare;
	hsnap_copy_deinit(&way->copy);
	enum hsnap_code code = hsnap_refuse_need(options->proc, plan->bytes, options->scratch, err);
	if (code)
		return code;
	/* A range is an extent, and each piece that is read at a time may cut one in two. */
	size_t extents = plan->max + plan->max / HSNAP_WAY_PARTS + (size_t)(size / HSNAP_COPY_PIECE) + 1;
	bool done = size >= plan->bytes && size <= SIZE_MAX / 2 &&
		    hsnap_copy_init(&way->copy, (size_t)size, extents, options->scratch);
	/* The ring in front of a scratch file may have the memory that the graph needs later. */
	if (done && way->at_once)
		done = hsnap_copy_stage(&way->copy, plan->bytes / 3);
	if (!done && options->scratch >= 0 && errno != ENOMEM)
		return hsnap_fail(err, HSNAP_REFUSED, 0, "cannot make a scratch file of %" PRIu64 " MiB: %s", size >> 20,
				  strerror(errno));
	if (!done)
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for a copy of %" PRIu64 " MiB", size >> 20);
	return HSNAP_OK;
}

enum hsnap_stop_end hsnap_way_unlisted(const struct hsnap_way *way)
{
	if (hsnap_stop_is_over(&way->stop))
		return HSNAP_STOP_LONG;
	return way->plan.num ? HSNAP_STOP_AGAIN : HSNAP_STOP_GONE;
}

enum hsnap_stop_end hsnap_way_list(struct hsnap_way *way)
{
	way->plan.ends_at = way->stop.ends_at;
	bool listed = hsnap_plan_list(&way->plan);
	way->plan.ends_at = 0;
	return listed ? HSNAP_STOP_DONE : hsnap_way_unlisted(way);
}

static enum hsnap_code refuse_disk(int sys_errno, struct hsnap_error *err)
{
	return hsnap_fail(err, HSNAP_REFUSED, 0, "cannot write the scratch file: %s", strerror(sys_errno));
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

static enum hsnap_code refuse_late(const struct hsnap_stop *stop, struct hsnap_error *err)
{
	struct hsnap_proc_status status = { 0 };
	if (!hsnap_proc_status(stop->proc, stop->late, &status))
		strcpy(status.comm, "?");
	hsnap_fail(err, HSNAP_REFUSED, 0, "thread %d (%s) does not stop: it is in state %c (%s)", stop->late,
		   status.comm, stop->late_state, state_name(stop->late_state));
	return hsnap_hint(err, HSNAP_REFUSED, "try again when it has done what it waits for: cat /proc/%d/task/%d/stack",
			  stop->pid, stop->late);
}

static enum hsnap_code refuse_long(const struct hsnap_stop *stop, struct hsnap_error *err)
{
	uint64_t ms = stop->max_pause_ns / 1000000;
	hsnap_fail(err, HSNAP_REFUSED, 0, "held still for %" PRIu64 " ms and not done, so it was let go: --max-pause is %"
		   PRIu64, stop->spent_ns / 1000000, ms);
	return hsnap_hint(err, HSNAP_REFUSED, "--max-pause %" PRIu64 " (it stands still for so long), or --freeze=clone "
			  "(it grows by what it writes meanwhile)", 2 * ms);
}

static enum hsnap_code explain(const struct hsnap_stop *stop, enum hsnap_stop_end end, struct hsnap_error *err)
{
	switch (end) {
	case HSNAP_STOP_DONE: return HSNAP_OK;
	case HSNAP_STOP_LATE: return refuse_late(stop, err);
	case HSNAP_STOP_LONG: return refuse_long(stop, err);
	case HSNAP_STOP_AGAIN:
		return hsnap_fail(err, HSNAP_REFUSED, 0, "it grows faster than room can be made for a copy");
	case HSNAP_STOP_GONE: return hsnap_fail(err, HSNAP_REFUSED, 0, "exited while it was being captured");
	case HSNAP_STOP_DENIED: return hsnap_refuse_denied(stop->proc, stop->denied, stop->sys_errno, err);
	case HSNAP_STOP_FOREIGN:
		return hsnap_fail(err, HSNAP_REFUSED, 0, "it runs 32-bit code, which this version cannot read");
	case HSNAP_STOP_DISK: return refuse_disk(stop->sys_errno, err);
	case HSNAP_STOP_NO_THREAD: return hsnap_refuse_thread(stop->sys_errno, err);
	case HSNAP_STOP_NO_MEMORY: return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	case HSNAP_STOP_LATER:
	case HSNAP_STOP_FAILED: break; /* the way has its own words for that */
	case HSNAP_STOP_INTERRUPTED: return hsnap_fail(err, HSNAP_INTERRUPTED, 0, "interrupted");
	}
	return hsnap_fail(err, HSNAP_REFUSED, 0, "it could not be stopped");
}

enum hsnap_code hsnap_way_stop(struct hsnap_way *way, struct hsnap_error *err)
{
	struct hsnap_stop *stop = &way->stop;
	unsigned late = 0, again = 0;
	for (;;) {
		++way->ret->attempts;
		enum hsnap_stop_end end = hsnap_stop_once(stop);
		bool left = !stop->max_pause_ns || stop->spent_ns < stop->max_pause_ns;
		if ((end == HSNAP_STOP_LATE || end == HSNAP_STOP_LATER) && left && ++late < MAX_LATE) {
			/* A parent in vfork() waits for its child's exec; give it ever more time. */
			nanosleep(&(struct timespec){ .tv_nsec = 5000000L * (1 + (long)late) }, NULL);
			enum hsnap_code code = way->renew ? way->renew(way, 0, err) : HSNAP_OK;
			if (code)
				return code;
		} else if (end == HSNAP_STOP_AGAIN && left && ++again < MAX_AGAIN) {
			enum hsnap_code code = way->renew ? way->renew(way, again, err) : hsnap_way_room(way, again, err);
			if (code)
				return code;
		} else {
			/* What stands in the kernel is worth telling; what only was not quick enough is not. */
			bool slow = end == HSNAP_STOP_AGAIN || (end == HSNAP_STOP_LATE && stop->late_state != 'D');
			return explain(stop, slow && !left ? HSNAP_STOP_LONG : end, err);
		}
		if (hsnap_stop_is_interrupted(stop))
			return hsnap_fail(err, HSNAP_INTERRUPTED, 0, "interrupted");
	}
}

/* The main thread first. */
static bool add_threads(struct hsnap_target *target, const struct hsnap_stop *stop)
{
	for (size_t i = 0; i < stop->tracees.num; i++) {
		const struct hsnap_tracee *tracee = &stop->tracees.items[i];
		if (tracee->state != HSNAP_TRACEE_RELEASED)
			continue;
		struct hsnap_thread thread = { .tid = (uint32_t)tracee->tid };
		hsnap_cpu_to_regs(&tracee->cpu, &thread.regs, &thread.thread_pointer);
		hsnap_auto(hsnap_freep) char *name = hsnap_proc_read(stop->proc, "proc/%d/task/%d/comm", stop->pid,
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

enum hsnap_code hsnap_way_finish(struct hsnap_way *way, const char *mode, struct hsnap_error *err)
{
	struct hsnap_frozen *ret = way->ret;
	ret->released_at = way->stop.released_at;
	ret->copied = 0;
	for (size_t i = 0; i < way->copy.num_extents; i++)
		ret->copied += way->copy.extents[i].end - way->copy.extents[i].start;
	ret->lost = way->lost + way->plan.skipped;
	ret->mode = mode;
	if (!hsnap_copy_finish(&way->copy))
		return refuse_disk(errno, err);
	enum hsnap_code code = hsnap_live_create(way->stop.pid, way->plan.text, way->headers, &way->copy, &way->files,
						 &ret->target, err);
	if (!code && !add_threads(ret->target, &way->stop))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the threads");
	return code;
}

enum hsnap_code hsnap_way_end(struct hsnap_way *way, enum hsnap_code code)
{
	hsnap_plan_close(&way->plan);
	hsnap_files_deinit(&way->files);
	hsnap_memory_deinit(&way->memory);
	hsnap_copy_deinit(&way->copy);
	if (code)
		hsnap_frozen_deinit(way->ret);
	way->ret->pause_ns = way->stop.longest_ns;
	way->ret->spent_ns = way->stop.spent_ns;
	hsnap_stop_deinit(&way->stop);
	return code;
}
