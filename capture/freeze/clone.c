/* SPDX-License-Identifier: MIT */
/*
 * clone.c - stop, fork, go: a child that never runs is read at leisure.
 *
 * One of the held threads is borrowed for clone(2).  The child shares the table of descriptors, so
 * that nothing which the program closes stays open through it, and has an exit signal of none, so
 * that nobody is told of its end.  It is traced from birth, is killed when we are (and ends by
 * itself before that is so: its stack leads it into exit_group), and never runs an instruction of
 * the program.
 *
 * Pages are shared with it until the target writes to them.  So it is read through /proc/PID/mem:
 * process_vm_readv would make a copy of each page in the child, and in the target's cgroup.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "capture/freeze/borrow.h"
#include "capture/freeze/freeze.h"
#include "capture/freeze/growth.h"
#include "capture/freeze/guard.h"
#include "capture/freeze/pieces.h"
#include "capture/freeze/step.h"
#include "capture/freeze/unforked.h"
#include "capture/freeze/way.h"
#include "snapshot/base/cleanup.h"

#define READ ((size_t)1 << 20)
#define PAGE ((size_t)4096)
#define SPARE_LOST 4096           /* ranges that cannot be read, while nothing is to be allocated */
#define BIRTH_NS 2000000000u
#define REAP_NS 5000000000u

/* Why it is not, or was not, to be read. */
enum failure { FINE, NO_LOAN, NO_CHILD, NO_ROOM, NO_THREAD, INTERRUPTED, UNREADABLE, LEFT };

struct clone_work {
	struct hsnap_way way;
	struct hsnap_lender lender;
	struct hsnap_unforked unforked;
	struct hsnap_guard guard;
	struct hsnap_lost lost[2];  /* of the target, of the child */
	pid_t child;                /* 0: none */
	enum failure failure;
	enum hsnap_loan loan;
	int sys_errno;
	struct hsnap_headroom room; /* of the target: before, and when it was given up */
};

/* ---- while the target stands still ---- */

/* What the child will not have, from the target itself, and before the child is there. */
static enum hsnap_stop_end copy_unforked(struct clone_work *work, const struct hsnap_stop *stop)
{
	struct hsnap_pieces pieces = hsnap_pieces_of(&work->way.plan, &work->unforked);
	for (struct hsnap_piece piece; hsnap_pieces_next(&pieces, &piece);) {
		if (piece.forked)
			continue;
		for (uint64_t at = piece.start; at < piece.end;) {
			if (hsnap_stop_is_over(stop))
				return HSNAP_STOP_LONG;
			size_t size = piece.end - at < READ ? (size_t)(piece.end - at) : READ;
			struct iovec to = { work->way.copy.buffer + piece.at + (at - piece.start), size };
			struct iovec from = { (void *)(uintptr_t)at, size };
			ssize_t n = hsnap_memory_read(&work->way.memory, &to, 1, &from, 1);
			if (n < 0 && errno != EFAULT && errno != ENOMEM)
				return HSNAP_STOP_GONE;
			at += n < 0 ? 0 : (uint64_t)n;
			if (n == (ssize_t)size)
				continue;
			uint64_t next = (at & ~(uint64_t)(PAGE - 1)) + PAGE;
			hsnap_lost_add(&work->lost[0], at, next);
			at = next;
		}
	}
	return HSNAP_STOP_DONE;
}

/* It is ours, dies with us, and is to be killed before anybody else. */
static bool tie_child(struct clone_work *work)
{
	if (!hsnap_tracee_await_born(work->child, BIRTH_NS) ||
	    ptrace(PTRACE_SETOPTIONS, work->child, NULL, (void *)PTRACE_O_EXITKILL))
		return false;
	hsnap_step("child-tied");
	(void)hsnap_proc_write(work->way.options->proc, "1000", "proc/%d/oom_score_adj", work->child);
	return true;
}

static void end_child(struct clone_work *work)
{
	kill(work->child, SIGKILL);
	while (waitpid(work->child, NULL, __WALL) < 0 && errno == EINTR)
		;
}

static enum failure make_child(struct clone_work *work, struct hsnap_borrowed *borrowed)
{
	int64_t answer = hsnap_borrowed_call(borrowed, "clone", SYS_clone,
					     (uint64_t[6]){ CLONE_FILES, borrowed->exit_stack });
	work->child = borrowed->child;
	if (!work->child) {
		work->sys_errno = answer < 0 ? (int)-answer : ECHILD;
		return NO_CHILD;
	}
	hsnap_guard_tell(&work->guard, work->child);
	hsnap_step("child-told");
	if (tie_child(work))
		return FINE;
	work->sys_errno = errno;
	end_child(work);
	return NO_CHILD;
}

/* By whichever thread stands so that it can. */
static enum failure fork_target(struct clone_work *work, const struct hsnap_stop *stop)
{
	struct hsnap_borrowed borrowed;
	work->loan = HSNAP_LOAN_NOT_NOW;
	for (size_t i = 0; i < stop->tracees.num; i++) {
		struct hsnap_tracee *tracee = &stop->tracees.items[i];
		enum hsnap_loan loan = hsnap_borrow(&borrowed, &work->lender, tracee);
		if (loan && loan != HSNAP_LOAN_GONE)
			work->loan = loan;
		if (loan)
			continue;
		enum failure failure = make_child(work, &borrowed);
		if (!hsnap_give_back(&borrowed))
			tracee->rewound = false; /* its frame restores it */
		return failure;
	}
	return NO_LOAN;
}

static enum hsnap_stop_end clone_in_stop(void *context, const struct hsnap_stop *stop)
{
	struct clone_work *work = context;
	struct hsnap_way *way = &work->way;
	work->failure = FINE;
	work->lost[0].num = 0;
	enum hsnap_stop_end end = hsnap_way_list(way);
	if (end)
		return end;
	if (way->plan.bytes > way->copy.size)
		return HSNAP_STOP_AGAIN;
	hsnap_kernel_read(&way->ret->kernel);
	end = copy_unforked(work, stop);
	if (!end && hsnap_stop_is_over(stop))
		end = HSNAP_STOP_LONG;
	if (end)
		return end;
	if (way->options->witness)
		way->options->witness(way->options->witness_context);
	work->failure = fork_target(work, stop);
	if (work->failure == NO_LOAN)
		return work->loan > HSNAP_LOAN_NO_STACK ? HSNAP_STOP_FAILED : HSNAP_STOP_LATER;
	return work->failure ? HSNAP_STOP_FAILED : HSNAP_STOP_DONE;
}

/* ---- while it runs again ---- */

static enum failure read_forked(struct clone_work *work, int mem, const struct hsnap_piece *piece, uint64_t start,
				uint64_t end)
{
	for (uint64_t at = start; at < end;) {
		if (hsnap_stop_is_interrupted(&work->way.stop))
			return INTERRUPTED;
		size_t size = end - at < READ ? (size_t)(end - at) : READ;
		ssize_t n = pread(mem, work->way.copy.buffer + piece->at + (at - piece->start), size, (off_t)at);
		if (!n || (n < 0 && errno == ESRCH))
			return UNREADABLE; /* somebody has killed it */
		at += n < 0 ? 0 : (uint64_t)n;
		if (n > 0)
			continue;
		uint64_t next = (at & ~(uint64_t)(PAGE - 1)) + PAGE;
		hsnap_lost_add(&work->lost[1], at, next);
		at = next;
	}
	return FINE;
}

/* What the target had and the child has.  A page that it has not was kept from it. */
static enum failure read_pieces(struct clone_work *work, int mem, const struct hsnap_plan *childs)
{
	struct hsnap_pieces pieces = hsnap_pieces_of(&work->way.plan, &work->unforked);
	size_t range = 0;
	for (struct hsnap_piece piece; hsnap_pieces_next(&pieces, &piece);) {
		uint64_t at = piece.start;
		while (piece.forked && at < piece.end) {
			while (range < childs->num && childs->ranges[range].end <= at)
				range++;
			uint64_t start = range < childs->num ? childs->ranges[range].start : piece.end;
			if (start > at) {
				uint64_t to = start < piece.end ? start : piece.end;
				hsnap_lost_add(&work->lost[1], at, to);
				at = to;
				continue;
			}
			uint64_t end = childs->ranges[range].end < piece.end ? childs->ranges[range].end : piece.end;
			enum failure failure = read_forked(work, mem, &piece, at, end);
			if (failure)
				return failure;
			at = end;
			hsnap_step("reading");
		}
	}
	return FINE;
}

static enum failure read_child(struct clone_work *work)
{
	const struct hsnap_proc *proc = work->way.options->proc;
	struct hsnap_plan childs;
	struct hsnap_error why;
	if (hsnap_plan_open(&childs, proc, work->child, &why))
		return UNREADABLE;
	childs.files = &work->way.files;
	hsnap_auto(hsnap_closefdp) int mem = hsnap_proc_open(proc, O_RDONLY, "proc/%d/mem", work->child);
	enum failure failure = mem < 0 || !hsnap_plan_grow(&childs) ? UNREADABLE : read_pieces(work, mem, &childs);
	hsnap_plan_close(&childs);
	return failure;
}

static void read_and_end(void *context)
{
	struct clone_work *work = context;
	hsnap_step("child-left");
	work->lost[1].num = 0;
	struct hsnap_growth growth;
	if (!hsnap_growth_watch(&growth, work->way.options->proc, work->way.stop.pid, work->child,
				hsnap_growth_reserve(&work->room))) {
		work->failure = NO_THREAD;
	} else {
		work->failure = read_child(work);
		hsnap_growth_end(&growth);
		if (growth.over) {
			work->failure = NO_ROOM;
			work->room = growth.room;
		} else if (growth.left) {
			work->failure = LEFT;
		}
	}
	hsnap_step("child-read");
	end_child(work);
	hsnap_step("child-ended");
}

/* ---- before and after ---- */

static enum hsnap_code explain_child(const struct clone_work *work, struct hsnap_error *err)
{
	switch (work->sys_errno) {
	case EAGAIN:
		hsnap_fail(err, HSNAP_REFUSED, 0, "it may not have another process: %s", strerror(work->sys_errno));
		return hsnap_hint(err, HSNAP_REFUSED, "raise pids.max of its cgroup or its RLIMIT_NPROC, or another --freeze");
	case ENOMEM:
		hsnap_fail(err, HSNAP_REFUSED, 0, "there is not the memory for a child of it: %s", strerror(work->sys_errno));
		return hsnap_hint(err, HSNAP_REFUSED, "vm.overcommit_memory=2 promises all of it twice: another --freeze");
	default:
		hsnap_fail(err, HSNAP_REFUSED, 0, "no child of it could be made: %s", strerror(work->sys_errno));
		return hsnap_hint(err, HSNAP_REFUSED, "another --freeze");
	}
}

static enum hsnap_code explain(const struct clone_work *work, struct hsnap_error *err)
{
	switch (work->failure) {
	case FINE: return HSNAP_OK;
	case NO_LOAN: return hsnap_loan_fail(err, work->loan);
	case NO_CHILD: return explain_child(work, err);
	case INTERRUPTED: return hsnap_fail(err, HSNAP_INTERRUPTED, 0, "interrupted");
	case NO_THREAD: return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	case UNREADABLE: return hsnap_fail(err, HSNAP_REFUSED, 0, "its child ended before it was read");
	case LEFT: return hsnap_fail(err, HSNAP_REFUSED, 0, "exited while it was being captured, or became another program");
	case NO_ROOM: break;
	}
	hsnap_fail(err, HSNAP_REFUSED, 0, "it wrote so much meanwhile that its %s had %" PRIu64 " of %" PRIu64
		   " MiB left, so the child was ended", work->room.cgroup ? "cgroup" : "machine", work->room.left >> 20,
		   work->room.limit >> 20);
	return hsnap_hint(err, HSNAP_REFUSED, "raise its limit for a moment, or another --freeze");
}

/* In order of address; what could not be read is passed over. */
static void list_extents(struct clone_work *work)
{
	struct hsnap_copy *copy = &work->way.copy;
	struct hsnap_pieces pieces = hsnap_pieces_of(&work->way.plan, &work->unforked);
	copy->num_extents = 0;
	for (struct hsnap_piece piece; hsnap_pieces_next(&pieces, &piece);) {
		struct hsnap_lost *lost = &work->lost[piece.forked];
		for (uint64_t at = piece.start, end; at < piece.end; at = end) {
			end = piece.end;
			bool good = hsnap_lost_next(lost, at, &end);
			copy->used = piece.at + (size_t)(at - piece.start);
			if (!good || !hsnap_copy_add(copy, at, (size_t)(end - at)))
				work->way.lost += end - at;
		}
	}
	copy->used = (size_t)work->way.plan.bytes;
}

static enum hsnap_code prepare(struct clone_work *work, const struct hsnap_freeze_options *options,
			       struct hsnap_frozen *ret, struct hsnap_error *err)
{
	enum hsnap_code code = hsnap_way_begin(&work->way, options, ret, err);
	if (code)
		return code;
	if (!hsnap_unforked_find(&work->unforked, options->proc, options->pid) ||
	    !hsnap_vec_reserve(&work->lost[0], SPARE_LOST) || !hsnap_vec_reserve(&work->lost[1], SPARE_LOST))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	if (work->unforked.faults) {
		hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "faults of its memory are handled by userfaultfd, which a child would disturb");
		return hsnap_hint(err, HSNAP_UNSUPPORTED, "--freeze=copy");
	}
	code = hsnap_lender_init(&work->lender, options->proc, options->pid, options->suspend_seccomp, err);
	if (!code)
		code = hsnap_guard_start(&work->guard, options, err);
	if (!code)
		code = hsnap_way_room(&work->way, 0, err);
	work->room = hsnap_proc_headroom_of(options->proc, options->pid);
	return code;
}

/* The entry that it leaves is the target's to clear. */
static void clear_entry(struct clone_work *work)
{
	struct hsnap_frozen *ret = work->way.ret;
	struct hsnap_error why;
	if (!work->child || !hsnap_reap(work->way.options, work->child, REAP_NS, &why))
		return;
	snprintf(ret->note, sizeof(ret->note), "the entry of an ended child, pid %d, stays until it ends itself", work->child);
}

enum hsnap_code hsnap_freeze_clone(const struct hsnap_freeze_options *options, struct hsnap_frozen *ret,
				   struct hsnap_error *err)
{
	struct clone_work work = { .guard = { .socket = -1 } };
	enum hsnap_code code = prepare(&work, options, ret, err);
	work.way.stop.work = clone_in_stop;
	work.way.stop.after = read_and_end;
	work.way.stop.context = &work;
	if (!code) {
		code = hsnap_way_stop(&work.way, err);
		clear_entry(&work);
		if (work.failure)
			code = explain(&work, err);
	}
	hsnap_guard_end(&work.guard);
	if (!code) {
		list_extents(&work);
		code = hsnap_way_finish(&work.way, "clone", err);
	}
	hsnap_lender_deinit(&work.lender);
	hsnap_unforked_deinit(&work.unforked);
	hsnap_vec_deinit(&work.lost[0]);
	hsnap_vec_deinit(&work.lost[1]);
	return hsnap_way_end(&work.way, code);
}
