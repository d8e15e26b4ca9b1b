/* SPDX-License-Identifier: MIT */
/*
 * fuzz_unwind.c - call-frame information of anybody's making.
 *
 * Input: PC less BASE (4 bytes), stack pointer less BASE (4 bytes), one byte of flags (1: the PC is where
 * it stands), then memory from BASE on, which begins with .eh_frame_hdr.  Holds: a step ends; it is
 * the same when taken again; the caller's frame lies above, but for a signal's; a small rule says
 * what the whole row says.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/unwind/unwind.h"
#include "tests/fuzz/fuzz.h"

#define BASE 0x10000000u
#define HEAD 9u

struct memory {
	const uint8_t *bytes;
	size_t size;
};

static size_t read_memory(void *self, uint64_t address, void *to, size_t len)
{
	const struct memory *memory = self;
	if (address < BASE || address - BASE >= memory->size)
		return 0;
	size_t left = memory->size - (size_t)(address - BASE);
	size_t n = len < left ? len : left;
	memcpy(to, memory->bytes + (address - BASE), n);
	return n;
}

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_small(const struct hsnap_unwind_memory *memory, const struct hsnap_unwind_module *module,
			uint64_t pc)
{
	struct hsnap_unwind_row row;
	struct hsnap_small_rule rule = hsnap_unwind_small(memory, module, pc);
	if (rule.kind == HSNAP_SMALL_STOP)
		return;
	memset(&row, 0, sizeof(row));
	require(hsnap_unwind_row(memory, module, pc, &row) == HSNAP_UNWIND_OK && !row.signal_frame);
	require(row.kind[HSNAP_REG_PC] == HSNAP_RULE_AT && row.value[HSNAP_REG_PC] == -8);
	require(rule.cfa_offset % 8 == 0 && rule.cfa_offset <= HSNAP_SMALL_MAX_OFFSET);
	if (rule.kind == HSNAP_SMALL_DEREF)
		require(row.cfa_is_expression);
	else
		require(!row.cfa_is_expression && (int64_t)rule.cfa_offset == row.cfa_offset &&
			row.cfa_register == (rule.kind == HSNAP_SMALL_SP ? HSNAP_REG_SP : HSNAP_REG_FRAME));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int32_t pc, sp;
	if (size < HEAD)
		return 0;
	memcpy(&pc, bytes, sizeof(pc));
	memcpy(&sp, bytes + 4, sizeof(sp));
	struct memory fake = { bytes + HEAD, size - HEAD };
	struct hsnap_unwind_memory memory = { read_memory, &fake };
	struct hsnap_unwind_module module = { .start = 0, .end = UINT64_MAX, .eh_frame_hdr = BASE };
	struct hsnap_unwind_frame frame, again, caller, caller_again;
	memset(&frame, 0, sizeof(frame));
	frame.exact_pc = bytes[8] & 1;
	frame.regs.valid = (1u << HSNAP_NUM_REGS) - 1;
	for (unsigned i = 0; i < HSNAP_NUM_REGS; i++)
		frame.regs.value[i] = BASE + (uint64_t)(int64_t)sp + 8 * i;
	frame.regs.value[HSNAP_REG_SP] = BASE + (uint64_t)(int64_t)sp;
	frame.regs.value[HSNAP_REG_PC] = BASE + (uint64_t)(int64_t)pc;
	unsigned looked;
	require(hsnap_unwind_count_framed(&memory, &module, 16, &looked) <= looked && looked <= 16);
	for (unsigned depth = 0; depth < 32; depth++) {
		again = frame;
		check_small(&memory, &module, frame.regs.value[HSNAP_REG_PC]);
		enum hsnap_unwind_result result = hsnap_unwind_step(&memory, &module, &frame, &caller);
		require(hsnap_unwind_step(&memory, &module, &again, &caller_again) == result && again.cfa == frame.cfa);
		if (result)
			return 0;
		require(caller.regs.valid == caller_again.regs.valid);
		require(caller.exact_pc || frame.cfa > frame.regs.value[HSNAP_REG_SP]);
		frame = caller;
	}
	return 0;
}
