/* SPDX-License-Identifier: MIT */
/* x86_64.c - instructions of x86-64, through capstone; all that knows this CPU's code is in here. */
#include <capstone/capstone.h>
#include <stdlib.h>

#include "capture/symbols/steps.h"

struct hsnap_decoder {
	csh handle;
	cs_insn *insn;
};

struct hsnap_decoder *hsnap_decoder_create(void)
{
	struct hsnap_decoder *decoder = calloc(1, sizeof(*decoder));
	if (!decoder)
		return NULL;
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &decoder->handle) != CS_ERR_OK) {
		free(decoder);
		return NULL;
	}
	cs_option(decoder->handle, CS_OPT_DETAIL, CS_OPT_ON);
	decoder->insn = cs_malloc(decoder->handle);
	if (!decoder->insn) {
		hsnap_decoder_destroy(decoder);
		return NULL;
	}
	return decoder;
}

void hsnap_decoder_destroy(struct hsnap_decoder *decoder)
{
	if (!decoder)
		return;
	if (decoder->insn)
		cs_free(decoder->insn, 1);
	cs_close(&decoder->handle);
	free(decoder);
}

/* DWARF's number of a register or of the one that it is a part of. */
static uint8_t register_number(unsigned reg)
{
	switch (reg) {
#define NAMES(number, a, b, c, d) \
	case X86_REG_##a: \
	case X86_REG_##b: \
	case X86_REG_##c: \
	case X86_REG_##d: \
		return number
	NAMES(0, RAX, EAX, AX, AL);
	NAMES(1, RDX, EDX, DX, DL);
	NAMES(2, RCX, ECX, CX, CL);
	NAMES(3, RBX, EBX, BX, BL);
	NAMES(4, RSI, ESI, SI, SIL);
	NAMES(5, RDI, EDI, DI, DIL);
	NAMES(6, RBP, EBP, BP, BPL);
	NAMES(7, RSP, ESP, SP, SPL);
	NAMES(8, R8, R8D, R8W, R8B);
	NAMES(9, R9, R9D, R9W, R9B);
	NAMES(10, R10, R10D, R10W, R10B);
	NAMES(11, R11, R11D, R11W, R11B);
	NAMES(12, R12, R12D, R12W, R12B);
	NAMES(13, R13, R13D, R13W, R13B);
	NAMES(14, R14, R14D, R14W, R14B);
	NAMES(15, R15, R15D, R15W, R15B);
#undef NAMES
	case X86_REG_AH:
		return 0;
	case X86_REG_DH:
		return 1;
	case X86_REG_CH:
		return 2;
	case X86_REG_BH:
		return 3;
	case X86_REG_RIP:
		return HSNAP_REG_PC;
	default:
		return HSNAP_STEP_NONE;
	}
}

static bool is_word_register(const cs_x86_op *op)
{
	return op->type == X86_OP_REG && op->size == 8 && register_number(op->reg) < HSNAP_STEP_REGS;
}

static struct hsnap_step_memory memory_of(const cs_x86_op *op, uint64_t next)
{
	struct hsnap_step_memory memory = {
		.base = register_number(op->mem.base),
		.index = register_number(op->mem.index),
		.scale = (uint8_t)op->mem.scale,
		.displacement = op->mem.disp,
	};
	if (memory.base == HSNAP_REG_PC)
		memory.displacement += (int64_t)next;
	return memory;
}

/* Without a segment: thread-local words are nobody's here. */
static bool is_word_memory(const cs_x86_op *op)
{
	return op->type == X86_OP_MEM && op->size == 8 && op->mem.segment == X86_REG_INVALID;
}

static void decode_move(const cs_x86 *x86, struct hsnap_step *step)
{
	const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];
	if (is_word_register(to) && is_word_register(from)) {
		step->kind = HSNAP_STEP_MOVE;
		step->from = register_number(from->reg);
		step->to = register_number(to->reg);
	} else if (is_word_register(to) && is_word_memory(from)) {
		step->kind = HSNAP_STEP_LOAD;
		step->to = register_number(to->reg);
		step->memory = memory_of(from, step->next);
	} else if (to->type == X86_OP_MEM && to->mem.segment == X86_REG_INVALID) {
		/* A store of something else must be seen too: it ends what was there. */
		step->kind = HSNAP_STEP_STORE;
		step->memory = memory_of(to, step->next);
		step->from = is_word_register(from) ? register_number(from->reg) : HSNAP_STEP_NONE;
	}
}

static void decode_address(const cs_x86 *x86, struct hsnap_step *step)
{
	const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];
	if (!is_word_register(to) || from->type != X86_OP_MEM)
		return;
	step->kind = HSNAP_STEP_ADDRESS;
	step->to = register_number(to->reg);
	step->memory = memory_of(from, step->next);
}

/* add and sub of a number, add of a register: an address within what the register pointed into. */
static void decode_add(const cs_x86 *x86, bool subtract, struct hsnap_step *step)
{
	const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];
	if (is_word_register(to) && is_word_register(from) && !subtract && register_number(to->reg) != HSNAP_REG_SP) {
		step->kind = HSNAP_STEP_ADDRESS;
		step->to = register_number(to->reg);
		step->memory = (struct hsnap_step_memory){ .base = step->to, .index = register_number(from->reg), .scale = 1 };
		return;
	}
	if (!is_word_register(to) || from->type != X86_OP_IMM)
		return;
	int64_t by = subtract ? -(uint64_t)from->imm : (uint64_t)from->imm;
	uint8_t reg = register_number(to->reg);
	if (reg == HSNAP_REG_SP) {
		step->sp_known = true;
		step->sp_change = by;
		return;
	}
	step->kind = HSNAP_STEP_ADDRESS;
	step->to = reg;
	step->memory = (struct hsnap_step_memory){ .base = reg, .index = HSNAP_STEP_NONE, .displacement = by };
}

static void decode_stack(const cs_x86 *x86, bool push, struct hsnap_step *step)
{
	const cs_x86_op *op = &x86->operands[0];
	step->sp_known = true;
	step->sp_change = push ? -8 : 8;
	step->memory = (struct hsnap_step_memory){ .base = HSNAP_REG_SP, .index = HSNAP_STEP_NONE,
						   .displacement = push ? -8 : 0 };
	if (push) {
		step->kind = HSNAP_STEP_STORE;
		step->from = is_word_register(op) ? register_number(op->reg) : HSNAP_STEP_NONE;
	} else if (is_word_register(op)) {
		step->kind = HSNAP_STEP_LOAD;
		step->to = register_number(op->reg);
	}
}

static bool in_group(const cs_insn *insn, unsigned group)
{
	for (unsigned i = 0; i < insn->detail->groups_count; i++)
		if (insn->detail->groups[i] == group)
			return true;
	return false;
}

static void decode_flow(const cs_insn *insn, struct hsnap_step *step)
{
	const cs_x86 *x86 = &insn->detail->x86;
	if (x86->op_count && x86->operands[0].type == X86_OP_IMM)
		step->target = (uint64_t)x86->operands[0].imm;
	else if (x86->op_count && x86->operands[0].type == X86_OP_MEM)
		step->memory = memory_of(&x86->operands[0], step->next);
	step->kind = insn->id == X86_INS_CALL ? HSNAP_STEP_CALL
		     : insn->id == X86_INS_JMP ? HSNAP_STEP_JUMP : HSNAP_STEP_BRANCH;
	step->sp_known = insn->id == X86_INS_CALL; /* the callee takes the return address off */
}

static uint32_t written_registers(struct hsnap_decoder *decoder)
{
	cs_regs read, written;
	uint8_t num_read = 0, num_written = 0;
	uint32_t mask = 0;
	if (cs_regs_access(decoder->handle, decoder->insn, read, &num_read, written, &num_written))
		return ~0u;
	for (unsigned i = 0; i < num_written; i++) {
		uint8_t number = register_number(written[i]);
		if (number < HSNAP_STEP_REGS)
			mask |= 1u << number;
	}
	return mask;
}

bool hsnap_decoder_step(struct hsnap_decoder *decoder, const uint8_t *bytes, size_t left, uint64_t address,
			struct hsnap_step *ret)
{
	uint64_t at = address;
	cs_insn *insn = decoder->insn;
	if (!cs_disasm_iter(decoder->handle, &bytes, &left, &at, insn) || !insn->detail)
		return false;
	const cs_x86 *x86 = &insn->detail->x86;
	*ret = (struct hsnap_step){ .address = address, .next = at, .to = HSNAP_STEP_NONE, .from = HSNAP_STEP_NONE };
	ret->writes = written_registers(decoder);
	switch (insn->id) {
	case X86_INS_MOV:
	case X86_INS_MOVABS:
		decode_move(x86, ret);
		break;
	case X86_INS_LEA:
		decode_address(x86, ret);
		break;
	case X86_INS_ADD:
	case X86_INS_SUB:
		decode_add(x86, insn->id == X86_INS_SUB, ret);
		break;
	case X86_INS_PUSH:
	case X86_INS_POP:
		decode_stack(x86, insn->id == X86_INS_PUSH, ret);
		break;
	default:
		if (in_group(insn, CS_GRP_RET) || in_group(insn, CS_GRP_IRET))
			ret->kind = HSNAP_STEP_RETURN;
		else if (in_group(insn, CS_GRP_CALL) || in_group(insn, CS_GRP_JUMP))
			decode_flow(insn, ret);
		else if (x86->op_count && x86->operands[0].type == X86_OP_MEM && x86->operands[0].access & CS_AC_WRITE) {
			ret->kind = HSNAP_STEP_STORE; /* movups and the like */
			ret->memory = memory_of(&x86->operands[0], ret->next);
		}
		break;
	}
	return true;
}
