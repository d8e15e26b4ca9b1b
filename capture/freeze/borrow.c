/* SPDX-License-Identifier: MIT */
/* borrow.c - frame, calls, and everything as it was. */
#include "capture/freeze/borrow.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "capture/freeze/apart.h"
#include "capture/freeze/step.h"
#include "capture/target/target.h"
#include "snapshot/base/cleanup.h"

#define CALL_NS 10000000000u  /* nothing that we have done takes so long */
#define POLL_NS 100000
#define MAX_STACK ((uint64_t)8 << 20)
#define MAX_CODE ((size_t)64 << 20)
#define LINE 256 /* longer than each line of a status that matters */
#define SYSCALL_STOP (SIGTRAP | 0x80)
#define OPTION_SUSPEND_SECCOMP (1 << 21) /* linux/ptrace.h */
#define GET_RSEQ 0x420f     /* Linux 5.13 */
#define GET_DISPATCH 0x4211 /* Linux 6.4 */

static bool peek(pid_t pid, uint64_t address, void *to, size_t size)
{
	struct iovec local = { to, size }, remote = { (void *)(uintptr_t)address, size };
	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* The C library's code, or that of a program which has it inside. */
static bool may_have_gate(const struct hsnap_maps_line *line, bool libraries)
{
	if (!(line->prot & HSNAP_PROT_EXEC) || line->prot & HSNAP_PROT_WRITE || !line->inode ||
	    line->end - line->start > MAX_CODE)
		return false;
	const char *name = memrchr(line->path, '/', line->path_len);
	size_t len = name ? line->path_len - (size_t)(name + 1 - line->path) : 0;
	static const char *const starts[] = { "libc.so", "libc-2.", "ld-musl-", "libc.musl-" };
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (len > strlen(starts[i]) && !memcmp(name + 1, starts[i], strlen(starts[i])))
			return true;
	return !libraries;
}

/* In the C library; where there is none, in the program that has it inside: the first file mapped. */
static bool find_gate(struct hsnap_lender *lender)
{
	for (int round = 0; round < 2; round++) {
		const char *at = lender->maps;
		uint64_t device = 0, inode = 0;
		for (struct hsnap_maps_line line; hsnap_maps_next(&at, &line);) {
			if (!inode && line.inode)
				device = line.device, inode = line.inode;
			if (!may_have_gate(&line, !round) || (round && (line.device != device || line.inode != inode)))
				continue;
			size_t size = (size_t)(line.end - line.start);
			hsnap_auto(hsnap_freep) uint8_t *code = malloc(size);
			if (code && peek(lender->pid, line.start, code, size))
				hsnap_cpu_find_gate(&lender->gate, code, size, line.start);
			if (lender->gate.call && lender->gate.leave)
				return true;
		}
	}
	return false;
}

/*
 * What a thread's status forbids.  Read piece by piece, for nothing is to be allocated, and before the
 * lines that matter is one of all its groups, of which there may be 65,536.
 */
static enum hsnap_loan read_status(const struct hsnap_lender *lender, pid_t tid)
{
	char text[4096];
	hsnap_auto(hsnap_closefdp) int fd = hsnap_proc_open(lender->proc, O_RDONLY, "proc/%d/task/%d/status",
							    lender->pid, tid);
	ssize_t n;
	size_t used = 0;
	bool any = false, filtered = false, shadow = false;
	while ((n = read(fd, text + used, sizeof(text) - 1 - used)) > 0) {
		used += (size_t)n;
		text[used] = '\0';
		uint64_t seccomp = 0;
		const char *features = strstr(text, "\nx86_Thread_features:");
		shadow |= features && memmem(features + 1, strcspn(features + 1, "\n"), "shstk", 5);
		filtered |= hsnap_proc_field(text, "Seccomp", 10, &seccomp) && seccomp;
		any = true;
		/* The last line goes on in the next piece; of one that is too long, only its end is kept. */
		const char *last = memrchr(text, '\n', used);
		size_t keep = last && last > text ? used - (size_t)(last - text) : used < LINE ? used : LINE;
		memmove(text, text + used - keep, keep);
		used = keep;
	}
	if (n < 0 || !any)
		return HSNAP_LOAN_GONE;
	return shadow ? HSNAP_LOAN_SHADOW_STACK
	       : filtered && !lender->suspend_seccomp ? HSNAP_LOAN_SECCOMP
						      : HSNAP_LOAN_FINE;
}

enum hsnap_code hsnap_loan_fail(struct hsnap_error *err, enum hsnap_loan loan)
{
	static const char *const reasons[] = {
		[HSNAP_LOAN_FINE] = "it could not be made",
		[HSNAP_LOAN_NOT_NOW] = "no thread can be borrowed: all wait in calls that cannot be begun again",
		[HSNAP_LOAN_NO_STACK] = "no thread can be borrowed: none is on a stack of its own with room below",
		[HSNAP_LOAN_SECCOMP] = "it has a seccomp filter",
		[HSNAP_LOAN_NOT_LIFTED] = "its seccomp filter cannot be lifted",
		[HSNAP_LOAN_SHADOW_STACK] = "it has a shadow stack",
		[HSNAP_LOAN_DISPATCH] = "its system calls are handled by its own code",
		[HSNAP_LOAN_STATE] = "its processor has registers that this version cannot restore",
		[HSNAP_LOAN_GONE] = "exited while it was being captured, or became another program",
	};
	hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "no system call can be made in it: %s", reasons[loan]);
	if (loan == HSNAP_LOAN_GONE)
		return hsnap_fail(err, HSNAP_REFUSED, 0, "%s", reasons[loan]);
	if (loan == HSNAP_LOAN_SECCOMP)
		return hsnap_hint(err, HSNAP_UNSUPPORTED, "--suspend-seccomp lifts it for that moment; --freeze=copy needs no call");
	if (loan == HSNAP_LOAN_NOT_LIFTED)
		return hsnap_hint(err, HSNAP_UNSUPPORTED,
				  "needs CAP_SYS_ADMIN, a kernel with CONFIG_CHECKPOINT_RESTORE, and no filter on heapsnap itself; "
				  "--freeze=copy needs no call");
	return hsnap_hint(err, HSNAP_UNSUPPORTED, "--freeze=copy needs no call");
}

enum hsnap_code hsnap_lender_init(struct hsnap_lender *lender, const struct hsnap_proc *proc, pid_t pid,
				  bool suspend_seccomp, struct hsnap_error *err)
{
	*lender = (struct hsnap_lender){ .proc = proc, .pid = pid, .suspend_seccomp = suspend_seccomp };
	enum hsnap_loan loan = read_status(lender, pid);
	if (loan)
		return hsnap_loan_fail(err, loan);
	lender->maps = hsnap_proc_read(proc, "proc/%d/maps", pid);
	if (!lender->maps)
		return hsnap_loan_fail(err, HSNAP_LOAN_GONE);
	if (!find_gate(lender)) {
		hsnap_fail(err, HSNAP_UNSUPPORTED, 0,
			   "no system call can be made in it: there is no C library whose code is known");
		return hsnap_hint(err, HSNAP_UNSUPPORTED, "--freeze=copy needs no call");
	}
	return HSNAP_OK;
}

void hsnap_lender_deinit(struct hsnap_lender *lender)
{
	free(lender->maps);
	*lender = (struct hsnap_lender){ 0 };
}

/*
 * Is what lies below its stack pointer dead?  So it is on the main thread's stack, and on one that a
 * C library made: in one mapping with the thread's control block and below that.  A fibre's stack, a
 * signal stack or a goroutine's may lie amid live data.
 */
static bool is_own_stack(const struct hsnap_lender *lender, const struct hsnap_tracee *tracee, uint64_t lowest)
{
	struct hsnap_regs regs;
	uint64_t block, self, stack;
	hsnap_cpu_to_regs(&tracee->cpu, &regs, &block);
	stack = regs.value[HSNAP_REG_SP];
	const char *at = lender->maps;
	for (struct hsnap_maps_line line; hsnap_maps_next(&at, &line);) {
		if (stack <= line.start || stack > line.end)
			continue;
		if (lowest < line.start || line.inode || !(line.prot & HSNAP_PROT_WRITE) || line.prot & HSNAP_PROT_SHARED)
			return false;
		if (hsnap_maps_is(&line, "[stack]"))
			return tracee->tid == lender->pid;
		return block > stack && block < line.end && block - stack <= MAX_STACK &&
		       peek(lender->pid, block, &self, sizeof(self)) && self == block;
	}
	return false;
}

/*
 * In a restartable sequence?  Moved out of one and in again, it would not be told that others ran
 * meanwhile.  linux/rseq.h: the sequence's descriptor is pointed to at offset 8.
 */
static bool is_in_sequence(const struct hsnap_tracee *tracee, pid_t pid)
{
	struct {
		uint64_t area;
		uint32_t size, signature, flags, padding;
	} where = { 0 };
	struct {
		uint32_t version, flags;
		uint64_t start, length, abort;
	} sequence;
	uint64_t current;
	struct hsnap_regs regs;
	uint64_t thread_pointer;
	if (ptrace(GET_RSEQ, tracee->tid, (void *)sizeof(where), &where) < 0 || !where.area)
		return false;
	if (!peek(pid, where.area + 8, &current, sizeof(current)))
		return true;
	if (!current)
		return false;
	hsnap_cpu_to_regs(&tracee->cpu, &regs, &thread_pointer);
	return !peek(pid, current, &sequence, sizeof(sequence)) ||
	       regs.value[HSNAP_REG_PC] - sequence.start < sequence.length;
}

/* Are its instructions where they were?  It may have become another program since they were looked
 * for; from now on it cannot, without an end of this thread. */
static bool has_gate(const struct hsnap_lender *lender)
{
	uint8_t call[HSNAP_CPU_CALL_SIZE], leave[HSNAP_CPU_LEAVE_SIZE];
	struct hsnap_cpu_gate found = { 0 };
	if (!peek(lender->pid, lender->gate.call, call, sizeof(call)) ||
	    !peek(lender->pid, lender->gate.leave, leave, sizeof(leave)))
		return false;
	hsnap_cpu_find_gate(&found, call, sizeof(call), lender->gate.call);
	hsnap_cpu_find_gate(&found, leave, sizeof(leave), lender->gate.leave);
	return found.call == lender->gate.call && found.leave == lender->gate.leave;
}

static bool handles_own_calls(pid_t tid)
{
	struct {
		uint64_t mode, selector, offset, length;
	} config = { 0 };
	return ptrace(GET_DISPATCH, tid, (void *)sizeof(config), &config) >= 0 && config.mode;
}

static enum hsnap_loan lift_filter(const struct hsnap_lender *lender, pid_t tid)
{
	long options = PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD;
	if (lender->suspend_seccomp)
		options |= OPTION_SUSPEND_SECCOMP;
	if (!ptrace(PTRACE_SETOPTIONS, tid, NULL, (void *)options))
		return HSNAP_LOAN_FINE;
	return errno == ESRCH ? HSNAP_LOAN_GONE : HSNAP_LOAN_NOT_LIFTED;
}

enum hsnap_loan hsnap_borrow(struct hsnap_borrowed *borrowed, const struct hsnap_lender *lender,
			     const struct hsnap_tracee *tracee)
{
	*borrowed = (struct hsnap_borrowed){
		.lender = lender, .tid = tracee->tid, .goes_on = hsnap_tracee_goes_on(tracee),
	};
	if (tracee->state != HSNAP_TRACEE_STOPPED || !tracee->plain ||
	    hsnap_cpu_state(&borrowed->goes_on) == HSNAP_CPU_BOUND || is_in_sequence(tracee, lender->pid))
		return HSNAP_LOAN_NOT_NOW;
	enum hsnap_loan loan = read_status(lender, tracee->tid);
	if (!loan && !has_gate(lender))
		loan = HSNAP_LOAN_GONE;
	if (!loan && handles_own_calls(tracee->tid))
		loan = HSNAP_LOAN_DISPATCH;
	if (!loan && ptrace(PTRACE_GETSIGMASK, tracee->tid, (void *)sizeof(borrowed->mask), &borrowed->mask))
		loan = HSNAP_LOAN_GONE;
	if (loan)
		return loan;
	struct hsnap_cpu_frame frame;
	int error = hsnap_cpu_frame(tracee->tid, &borrowed->goes_on, borrowed->mask, &lender->gate, &frame);
	if (error)
		return error == ESRCH ? HSNAP_LOAN_GONE : error == EFAULT ? HSNAP_LOAN_NO_STACK : HSNAP_LOAN_STATE;
	if (!is_own_stack(lender, tracee, frame.start))
		return HSNAP_LOAN_NO_STACK;
	loan = lift_filter(lender, tracee->tid);
	if (loan)
		return loan;
	struct iovec local = { frame.bytes, frame.size }, remote = { (void *)(uintptr_t)frame.start, frame.size };
	if (process_vm_writev(lender->pid, &local, 1, &remote, 1, 0) != (ssize_t)frame.size)
		return HSNAP_LOAN_NO_STACK;
	borrowed->stack = frame.stack;
	borrowed->exit_stack = frame.exit_stack;
	hsnap_step("framed");
	return HSNAP_LOAN_FINE;
}

/* Its next stop, as in the high bytes of a wait status; -1: it is gone, or does not stop. */
static int await_stop(pid_t tid)
{
	for (uint64_t began = hsnap_now(CLOCK_MONOTONIC); hsnap_now(CLOCK_MONOTONIC) - began < CALL_NS;) {
		siginfo_t info = { 0 };
		if (waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL))
			return -1;
		if (info.si_pid)
			return info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED ? info.si_status : -1;
		hsnap_apart_nap(POLL_NS);
	}
	return -1;
}

/*
 * Let it run to its next entry to or exit from a call, or, with PTRACE_CONT, to our interrupt.
 * Signals are blocked: but for SIGSTOP, which is handed on, nothing else stops it.
 */
static bool run_to(struct hsnap_borrowed *borrowed, int request, bool interrupt)
{
	intptr_t signal = 0;
	for (;;) {
		if (ptrace(request, borrowed->tid, NULL, (void *)signal))
			break;
		int status = await_stop(borrowed->tid), event = status < 0 ? 0 : status >> 8;
		if (status < 0)
			break;
		signal = 0;
		if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK) {
			unsigned long child = 0;
			ptrace(PTRACE_GETEVENTMSG, borrowed->tid, NULL, &child);
			borrowed->child = (pid_t)child;
		} else if (interrupt ? event == PTRACE_EVENT_STOP : status == SYSCALL_STOP) {
			return true;
		} else if (!event) {
			signal = status & 0x7f;
		}
	}
	borrowed->lost = true;
	return false;
}

int64_t hsnap_borrowed_call(struct hsnap_borrowed *borrowed, const char *name, long number,
			    const uint64_t arguments[6])
{
	const struct hsnap_cpu_gate *gate = &borrowed->lender->gate;
	hsnap_cpu cpu = hsnap_cpu_calling(&borrowed->goes_on, gate, borrowed->stack, number, arguments);
	borrowed->child = 0;
	if (borrowed->lost || hsnap_cpu_set(borrowed->tid, &cpu))
		return -ECHILD;
	hsnap_step_of(name, "set");
	/* Only now: before, nothing would open the signals again if we were killed. */
	uint64_t all = UINT64_MAX;
	if (!borrowed->masked && ptrace(PTRACE_SETSIGMASK, borrowed->tid, (void *)sizeof(all), &all))
		return -ECHILD;
	borrowed->masked = true;
	hsnap_step_of(name, "masked");
	if (!run_to(borrowed, PTRACE_SYSCALL, false))
		return -ECHILD;
	hsnap_step_of(name, "entered");
	if (!run_to(borrowed, PTRACE_SYSCALL, false) || hsnap_cpu_get(borrowed->tid, &cpu) ||
	    !hsnap_cpu_is_in(&cpu, gate, number)) {
		borrowed->lost = true;
		return -ECHILD;
	}
	hsnap_step_of(name, "returned");
	return hsnap_cpu_result(&cpu);
}

bool hsnap_give_back(struct hsnap_borrowed *borrowed)
{
	if (!borrowed->masked)
		return true; /* it never ran */
	/* Where the kernel looks for signals and makes calls again: only there are registers of the
	 * middle of a call taken up as they were. */
	if (borrowed->lost || ptrace(PTRACE_INTERRUPT, borrowed->tid, NULL, NULL) ||
	    !run_to(borrowed, PTRACE_CONT, true))
		return false;
	hsnap_step("called");
	/* In this order: until it has its registers, the frame would restore it. */
	if (ptrace(PTRACE_SETSIGMASK, borrowed->tid, (void *)sizeof(borrowed->mask), &borrowed->mask))
		return false;
	hsnap_step("unmasked");
	if (hsnap_cpu_set(borrowed->tid, &borrowed->goes_on))
		return false;
	ptrace(PTRACE_SETOPTIONS, borrowed->tid, NULL, (void *)PTRACE_O_TRACECLONE);
	hsnap_step("given-back");
	return true;
}
