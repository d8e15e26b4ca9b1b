/* SPDX-License-Identifier: MIT */
/*
 * regs.h - the registers of one frame, numbered as DWARF numbers them.
 *
 * This header and the .c files that include it under capture/unwind and
 * capture/symbols are all that knows which CPU it is (x86-64 System V psABI 1.0,
 * figure 3.36: 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, 8-15, 16 return address).
 */
#ifndef HSNAP_CAPTURE_TARGET_REGS_H
#define HSNAP_CAPTURE_TARGET_REGS_H

#include <stdint.h>

#define HSNAP_NUM_REGS 17
#define HSNAP_REG_RESULT 0 /* where a function leaves the pointer it returns */
#define HSNAP_REG_FRAME 6
#define HSNAP_REG_SP 7
#define HSNAP_REG_PC 16
#define HSNAP_RED_ZONE 128 /* bytes below the stack pointer that a leaf function may use */

struct hsnap_regs {
	uint64_t value[HSNAP_NUM_REGS];
	uint32_t valid; /* bit n: value[n] is known in this frame */
};

#endif
