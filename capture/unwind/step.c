/* SPDX-License-Identifier: MIT */
/* step.c - from a frame to its caller's, with all registers. */
#include "capture/unwind/unwind.h"

/* Registers that a function must hand back as it got them: rbx, rbp, r12 to r15. */
#define PRESERVED ((1u << 3) | (1u << 6) | (0xfu << 12))

static bool read_word(const struct hsnap_unwind_memory *memory, uint64_t address, uint64_t *ret)
{
	return memory->read(memory->self, address, ret, sizeof(*ret)) == sizeof(*ret);
}

static bool find_cfa(const struct hsnap_unwind_memory *memory, const struct hsnap_unwind_row *row,
		     const struct hsnap_regs *regs, uint64_t *ret)
{
	if (row->cfa_is_expression)
		return hsnap_unwind_expression(memory, (uint64_t)row->cfa_offset, regs, NULL, ret);
	if (!(regs->valid >> row->cfa_register & 1))
		return false;
	*ret = regs->value[row->cfa_register] + (uint64_t)row->cfa_offset;
	return true;
}

/* Register `n` of the caller; false: it cannot be told. */
static bool recover(const struct hsnap_unwind_memory *memory, const struct hsnap_unwind_row *row, unsigned n,
		    const struct hsnap_regs *regs, uint64_t cfa, uint64_t *ret)
{
	int64_t value = row->value[n];
	uint64_t at;
	switch ((enum hsnap_rule_kind)row->kind[n]) {
	case HSNAP_RULE_DEFAULT:
		if (!(PRESERVED >> n & 1))
			return false;
		__attribute__((fallthrough));
	case HSNAP_RULE_SAME:
		*ret = regs->value[n];
		return regs->valid >> n & 1;
	case HSNAP_RULE_UNDEFINED:
		return false;
	case HSNAP_RULE_AT:
		return read_word(memory, cfa + (uint64_t)value, ret);
	case HSNAP_RULE_IS:
		*ret = cfa + (uint64_t)value;
		return true;
	case HSNAP_RULE_REGISTER:
		if (value < 0 || value >= HSNAP_NUM_REGS)
			return false;
		*ret = regs->value[value];
		return regs->valid >> value & 1;
	case HSNAP_RULE_AT_EXPRESSION:
		return hsnap_unwind_expression(memory, (uint64_t)value, regs, &cfa, &at) && read_word(memory, at, ret);
	case HSNAP_RULE_IS_EXPRESSION:
		return hsnap_unwind_expression(memory, (uint64_t)value, regs, &cfa, ret);
	}
	return false;
}

enum hsnap_unwind_result hsnap_unwind_step(const struct hsnap_unwind_memory *memory,
					   const struct hsnap_unwind_module *module,
					   struct hsnap_unwind_frame *frame, struct hsnap_unwind_frame *ret)
{
	const struct hsnap_regs *regs = &frame->regs;
	const uint32_t needed = 1u << HSNAP_REG_PC | 1u << HSNAP_REG_SP;
	struct hsnap_unwind_row row;
	frame->cfa = 0;
	if ((regs->valid & needed) != needed)
		return HSNAP_UNWIND_BAD;
	uint64_t pc = regs->value[HSNAP_REG_PC], cfa;
	/* A call may be a function's last instruction: the address behind it is the next one's. */
	enum hsnap_unwind_result result = hsnap_unwind_row(memory, module, frame->exact_pc ? pc : pc - 1, &row);
	if (result)
		return result;
	if (!find_cfa(memory, &row, regs, &cfa))
		return HSNAP_UNWIND_BAD;
	/* A signal handler may run on a stack of its own, which may lie anywhere. */
	if (cfa <= regs->value[HSNAP_REG_SP] && !row.signal_frame)
		return HSNAP_UNWIND_BAD;
	frame->cfa = cfa;
	struct hsnap_unwind_frame caller = { .exact_pc = row.signal_frame };
	for (unsigned n = 0; n < HSNAP_NUM_REGS; n++)
		if (recover(memory, &row, n, regs, cfa, &caller.regs.value[n]))
			caller.regs.valid |= 1u << n;
	if (row.kind[HSNAP_REG_SP] == HSNAP_RULE_DEFAULT) {
		caller.regs.value[HSNAP_REG_SP] = cfa;
		caller.regs.valid |= 1u << HSNAP_REG_SP;
	}
	if (row.kind[HSNAP_REG_PC] == HSNAP_RULE_UNDEFINED)
		return HSNAP_UNWIND_END;
	if (!(caller.regs.valid >> HSNAP_REG_PC & 1))
		return HSNAP_UNWIND_BAD;
	if (!caller.regs.value[HSNAP_REG_PC])
		return HSNAP_UNWIND_END;
	*ret = caller;
	return HSNAP_UNWIND_OK;
}
