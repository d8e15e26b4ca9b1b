/* SPDX-License-Identifier: MIT */
/*
 * steps.h - instructions, as far as following one value through them needs to know.
 *
 * Registers are numbered as in capture/target/regs.h.  x86_64.c is the one that decodes.
 */
#ifndef HSNAP_CAPTURE_SYMBOLS_STEPS_H
#define HSNAP_CAPTURE_SYMBOLS_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/target/regs.h"

#define HSNAP_STEP_REGS HSNAP_REG_PC /* general registers */
#define HSNAP_STEP_NONE 255

enum hsnap_step_kind {
	HSNAP_STEP_OTHER,   /* changes the registers in `writes`, in ways that do not matter */
	HSNAP_STEP_MOVE,    /* to = from */
	HSNAP_STEP_LOAD,    /* to = a word at `memory` */
	HSNAP_STEP_STORE,   /* a word at `memory` = from */
	HSNAP_STEP_ADDRESS, /* to = memory's own address */
	HSNAP_STEP_CALL,    /* target: 0 where it is not in the instruction, but perhaps at `memory` */
	HSNAP_STEP_RETURN,
	HSNAP_STEP_JUMP,
	HSNAP_STEP_BRANCH,  /* goes on, or to target */
};

struct hsnap_step_memory {
	uint8_t base, index; /* HSNAP_STEP_NONE: none; HSNAP_REG_PC: relative, displacement is the address */
	uint8_t scale;
	int64_t displacement;
};

struct hsnap_step {
	enum hsnap_step_kind kind;
	uint64_t address, next; /* of this instruction and of the one behind it */
	uint64_t target;
	uint8_t to, from;
	struct hsnap_step_memory memory;
	uint32_t writes;    /* bit n: register n gets a new value (also `to`) */
	bool sp_known;      /* the stack pointer changes by sp_change */
	int64_t sp_change;
};

/* What a call leaves unchanged is not in here. */
#define HSNAP_STEP_CLOBBERED ((1u << 0) | (1u << 1) | (1u << 2) | (1u << 4) | (1u << 5) | (0xfu << 8))

struct hsnap_decoder;
struct hsnap_decoder *hsnap_decoder_create(void); /* NULL: no memory */
void hsnap_decoder_destroy(struct hsnap_decoder *decoder);
/* The instruction at `address`, whose bytes are handed in; false: none that is known. */
bool hsnap_decoder_step(struct hsnap_decoder *decoder, const uint8_t *bytes, size_t left, uint64_t address,
			struct hsnap_step *ret);

#endif
