/* SPDX-License-Identifier: MIT */
/*
 * user_regs.h - from the kernel's layout of a thread's registers to ours: x86-64.
 *
 * ptrace hands them over in it, and a core's NT_PRSTATUS notes carry it.
 */
#ifndef HSNAP_CAPTURE_TARGET_USER_REGS_H
#define HSNAP_CAPTURE_TARGET_USER_REGS_H

#include <stdint.h>
#include <sys/user.h>

#include "capture/target/regs.h"

#define HSNAP_CODE_SEGMENT_32 0x23 /* cs of a thread that runs 32-bit code */

static inline void hsnap_user_regs_to_regs(const struct user_regs_struct *user, struct hsnap_regs *ret,
					   uint64_t *thread_pointer)
{
	*ret = (struct hsnap_regs){
		.value = { user->rax, user->rdx, user->rcx, user->rbx, user->rsi, user->rdi, user->rbp, user->rsp,
			   user->r8, user->r9, user->r10, user->r11, user->r12, user->r13, user->r14, user->r15,
			   user->rip },
		.valid = (1u << HSNAP_NUM_REGS) - 1,
	};
	*thread_pointer = user->fs_base;
}

#endif
