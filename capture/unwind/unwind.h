/* SPDX-License-Identifier: MIT */
/*
 * unwind.h - who called whom, by the call-frame information in .eh_frame.
 *
 * One stepper for two users.  The agent asks for small rules (return address and
 * frame pointer only) inside the process that it walks; capture steps through
 * stopped threads with all registers.  Nothing here allocates, locks or calls libc
 * but for memcpy, and every byte that is read may be hostile: all counts are bounded,
 * all reads go through a callback that checks.
 *
 * Source: DWARF 5 section 6.4; Linux Standard Base 5.0 core, 10.6 (.eh_frame, .eh_frame_hdr);
 * x86-64 psABI 1.0 section 3.7 and figure 3.36 (register numbers).
 */
#ifndef HSNAP_CAPTURE_UNWIND_UNWIND_H
#define HSNAP_CAPTURE_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/target/regs.h"

/* The memory of the process.  Copies up to len bytes, returns how many could be had. */
struct hsnap_unwind_memory {
	size_t (*read)(void *self, uint64_t address, void *to, size_t len);
	void *self;
};

/* Where a module's table of functions is. */
struct hsnap_unwind_module {
	uint64_t start, end;   /* of its code: only these PCs are looked up */
	uint64_t eh_frame_hdr; /* address */
};

enum hsnap_unwind_result {
	HSNAP_UNWIND_OK,
	HSNAP_UNWIND_END,     /* the outermost frame: nobody called it */
	HSNAP_UNWIND_NO_INFO, /* no call-frame information for this PC, or none that is understood */
	HSNAP_UNWIND_BAD,     /* it leads astray: unreadable memory, or a stack that does not grow */
};

/* ---- rows: what the information says of one PC ---- */

enum hsnap_rule_kind {
	HSNAP_RULE_DEFAULT, /* nothing said: the same for registers that a call preserves */
	HSNAP_RULE_UNDEFINED,
	HSNAP_RULE_SAME,
	HSNAP_RULE_AT,      /* saved at CFA + value */
	HSNAP_RULE_IS,      /* it is CFA + value */
	HSNAP_RULE_REGISTER, /* it is in register `value` */
	HSNAP_RULE_AT_EXPRESSION, /* saved where the expression says; value is the expression's address */
	HSNAP_RULE_IS_EXPRESSION,
};

struct hsnap_unwind_row {
	uint8_t kind[HSNAP_NUM_REGS]; /* enum hsnap_rule_kind */
	int64_t value[HSNAP_NUM_REGS];
	bool cfa_is_expression;
	uint8_t cfa_register;
	int64_t cfa_offset;           /* of an expression: its address */
	bool signal_frame;            /* the caller was interrupted: its PC is where it stands */
	uint64_t function;            /* start of the function that holds the PC */
};

/* The row for `pc`, which must lie inside the function (a return address less one). */
enum hsnap_unwind_result hsnap_unwind_row(const struct hsnap_unwind_memory *memory,
					  const struct hsnap_unwind_module *module, uint64_t pc,
					  struct hsnap_unwind_row *ret);

/* ---- frames: all registers ---- */

struct hsnap_unwind_frame {
	struct hsnap_regs regs; /* of the function in this frame, at regs' PC */
	bool exact_pc;          /* PC is where it stands; else it is a return address */
	uint64_t cfa;           /* canonical frame address; 0: not known (the last frame) */
};

/**
 * From a frame to its caller's.  Sets frame->cfa; on HSNAP_UNWIND_OK also *ret.
 * @param frame  regs.valid must have the PC and the stack pointer
 */
enum hsnap_unwind_result hsnap_unwind_step(const struct hsnap_unwind_memory *memory,
					   const struct hsnap_unwind_module *module,
					   struct hsnap_unwind_frame *frame,
					   struct hsnap_unwind_frame *ret);

/* Run the DWARF expression (its length, then its operations) at `address`, with `first` pushed unless
 * it is NULL.
 * false: it is not understood, or reads what cannot be read. */
bool hsnap_unwind_expression(const struct hsnap_unwind_memory *memory, uint64_t address,
			     const struct hsnap_regs *regs, const uint64_t *first, uint64_t *ret);

/* ---- small rules: return address and frame pointer ---- */

enum hsnap_small_kind {
	HSNAP_SMALL_STOP,  /* the walk ends here */
	HSNAP_SMALL_SP,    /* CFA = stack pointer + cfa_offset */
	HSNAP_SMALL_FRAME, /* CFA = frame pointer + cfa_offset */
	HSNAP_SMALL_DEREF, /* CFA = the word at frame pointer - cfa_offset (a realigned stack) */
};

/* The return address is at CFA - 8 in all of them. */
struct hsnap_small_rule {
	uint8_t kind;         /* enum hsnap_small_kind */
	uint8_t frame_words;  /* the caller's frame pointer is at CFA - 8 * this, or HSNAP_SMALL_… */
	uint32_t cfa_offset;  /* a multiple of 8, at most HSNAP_SMALL_MAX_OFFSET */
};
#define HSNAP_SMALL_UNCHANGED 0 /* the frame pointer is the caller's own */
#define HSNAP_SMALL_AT_FRAME 1  /* the caller's stands where the frame pointer points */
#define HSNAP_SMALL_MAX_OFFSET (8191 * 8)

/* Always gives a rule; HSNAP_SMALL_STOP where a small one does not do. */
struct hsnap_small_rule hsnap_unwind_small(const struct hsnap_unwind_memory *memory,
					   const struct hsnap_unwind_module *module, uint64_t pc);

/* Of up to `most` functions spread over the module, how many keep a frame pointer in their middle;
 * *ret_looked: how many were looked at. */
unsigned hsnap_unwind_count_framed(const struct hsnap_unwind_memory *memory,
				   const struct hsnap_unwind_module *module, unsigned most,
				   unsigned *ret_looked);

#endif
