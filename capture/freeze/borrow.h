/* SPDX-License-Identifier: MIT */
/*
 * borrow.h - a held thread makes system calls for us and is given back as it was.
 *
 * Should this process be killed in the middle, the thread restores itself: while it is ours it
 * stands on a return address that leads into rt_sigreturn(2), on top of the frame of a signal with
 * all its registers and its signal mask.  That frame lies below the red zone of its stack, where
 * the kernel itself would lay one; no other byte of the target is written.
 *
 * Signals are blocked in the thread meanwhile: they reach it when it is itself again, or another
 * thread.  With its seccomp filter lifted there is one risk more: killed before its call is over,
 * the call meets the filter.
 *
 * Source: sigreturn(2), ptrace(2); Linux kernel/signal.c (ptrace_stop, restore_altstack).
 */
#ifndef HSNAP_CAPTURE_FREEZE_BORROW_H
#define HSNAP_CAPTURE_FREEZE_BORROW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/freeze/cpu.h"
#include "capture/freeze/tracee.h"
#include "capture/proc/proc.h"
#include "snapshot/base/error.h"

/* A process whose threads can be borrowed. */
struct hsnap_lender {
	const struct hsnap_proc *proc;
	pid_t pid;
	bool suspend_seccomp;
	struct hsnap_cpu_gate gate;
	char *maps; /* where its stacks are */
};

/* Look at it, before any stop.  HSNAP_OK, HSNAP_UNSUPPORTED with the reason, HSNAP_REFUSED,
 * HSNAP_NO_MEMORY. */
HSNAP_CHECKED enum hsnap_code hsnap_lender_init(struct hsnap_lender *lender, const struct hsnap_proc *proc, pid_t pid,
						bool suspend_seccomp, struct hsnap_error *err);
void hsnap_lender_deinit(struct hsnap_lender *lender);

/* Why a thread is not borrowed. */
enum hsnap_loan {
	HSNAP_LOAN_FINE,
	HSNAP_LOAN_NOT_NOW,      /* in the middle of something: another thread, or later */
	HSNAP_LOAN_NO_STACK,     /* not on a stack of its own with room below */
	HSNAP_LOAN_SECCOMP,      /* it has a filter, and that is not to be lifted */
	HSNAP_LOAN_NOT_LIFTED,   /* the kernel does not lift it: needs CAP_SYS_ADMIN and CONFIG_CHECKPOINT_RESTORE */
	HSNAP_LOAN_SHADOW_STACK, /* it has one: rt_sigreturn would end it */
	HSNAP_LOAN_DISPATCH,     /* its own code handles its system calls */
	HSNAP_LOAN_STATE,        /* registers that no frame restores */
	HSNAP_LOAN_GONE,
};
/* HSNAP_UNSUPPORTED with that reason, and the way on. */
enum hsnap_code hsnap_loan_fail(struct hsnap_error *err, enum hsnap_loan loan);

struct hsnap_borrowed {
	const struct hsnap_lender *lender;
	pid_t tid;
	hsnap_cpu goes_on;   /* as it is to be given back */
	uint64_t mask;       /* its signals */
	uint64_t stack;      /* for the calls */
	uint64_t exit_stack; /* whoever is made by clone(2) with this stack ends at once */
	pid_t child;         /* made by the last call and seized, as we number it; 0: none */
	bool masked, lost;   /* lost: it left our hands, and restores itself */
};

/* Take a thread that stands at our interrupt; allocates nothing. */
enum hsnap_loan hsnap_borrow(struct hsnap_borrowed *borrowed, const struct hsnap_lender *lender,
			     const struct hsnap_tracee *tracee);
/**
 * Make a call.
 *
 * @param name  of the call, for the steps that tests stop at
 * @return what it returned, -errno where it failed; -ECHILD: the thread left our hands
 */
int64_t hsnap_borrowed_call(struct hsnap_borrowed *borrowed, const char *name, long number,
			    const uint64_t arguments[6]);
/* It stands at our interrupt again, with the registers and signals it had.  false: it is gone, or
 * left our hands: it is not to be released. */
bool hsnap_give_back(struct hsnap_borrowed *borrowed);

#endif
