/* SPDX-License-Identifier: MIT */
/* programs.c - runs what expressions of a user's rules were made into, over memory that nobody answers for. */
#include <string.h>

#include "capture/naming/bound.h"

/* Numbers are 64 bits and unsigned where it matters; shifts by more give 0. */
static bool apply_two(uint8_t kind, uint64_t a, uint64_t b, uint64_t *ret)
{
	switch ((enum hsnap_expr_op)kind) {
	case HSNAP_EXPR_ADD:
		*ret = a + b;
		break;
	case HSNAP_EXPR_SUBTRACT:
		*ret = a - b;
		break;
	case HSNAP_EXPR_MULTIPLY:
		*ret = a * b;
		break;
	case HSNAP_EXPR_DIVIDE:
		*ret = b ? a / b : 0;
		return b;
	case HSNAP_EXPR_REST:
		*ret = b ? a % b : 0;
		return b;
	case HSNAP_EXPR_LEFT:
		*ret = b < 64 ? a << b : 0;
		break;
	case HSNAP_EXPR_RIGHT:
		*ret = b < 64 ? a >> b : 0;
		break;
	case HSNAP_EXPR_AND_BITS:
		*ret = a & b;
		break;
	case HSNAP_EXPR_OR_BITS:
		*ret = a | b;
		break;
	case HSNAP_EXPR_XOR_BITS:
		*ret = a ^ b;
		break;
	case HSNAP_EXPR_EQUAL:
		*ret = a == b;
		break;
	case HSNAP_EXPR_UNEQUAL:
		*ret = a != b;
		break;
	case HSNAP_EXPR_LESS:
		*ret = a < b;
		break;
	case HSNAP_EXPR_MORE:
		*ret = a > b;
		break;
	case HSNAP_EXPR_AT_MOST:
		*ret = a <= b;
		break;
	case HSNAP_EXPR_AT_LEAST:
		*ret = a >= b;
		break;
	case HSNAP_EXPR_AND:
		*ret = a && b;
		break;
	case HSNAP_EXPR_OR:
		*ret = a || b;
		break;
	default:
		return false;
	}
	return true;
}

static uint64_t apply_one(uint8_t kind, uint64_t a)
{
	return kind == HSNAP_EXPR_NEGATE ? -a : kind == HSNAP_EXPR_NOT ? !a : ~a;
}

static bool load(const struct hsnap_target *target, const struct hsnap_op *op, uint64_t address, uint64_t *ret)
{
	uint64_t number = 0;
	size_t size = op->kind == HSNAP_OP_LOAD ? op->size : sizeof(number);
	const void *bytes = hsnap_target_view(target, address + (uint64_t)op->value, size);
	if (bytes)
		memcpy(&number, bytes, size);
	else if (hsnap_target_read(target, address + (uint64_t)op->value, &number, size, NULL))
		return false;
	number >>= op->first_bit;
	if (op->num_bits && op->num_bits < 64)
		number &= ((uint64_t)1 << op->num_bits) - 1;
	*ret = number;
	return true;
}

/* What is pushed by itself; false: it is no such. */
static bool push_one(const struct hsnap_op *op, const struct hsnap_values *values, uint64_t *ret)
{
	switch (op->kind) {
	case HSNAP_EXPR_NUMBER:
		*ret = (uint64_t)op->value;
		return true;
	case HSNAP_EXPR_WORD:
		*ret = values->word;
		return true;
	case HSNAP_OP_BASE:
		*ret = values->base;
		return true;
	case HSNAP_OP_TARGET:
		*ret = values->led_to;
		return true;
	default:
		return false;
	}
}

bool hsnap_run_program(const struct hsnap_bounds *bounds, struct hsnap_program program, const struct hsnap_values *values,
		       int64_t *ret)
{
	uint64_t stack[HSNAP_MAX_STACK];
	stack[0] = 1;
	unsigned num = 0; /* binding has seen that there are as many as are wanted, and room */
	for (uint32_t i = 0; i < program.num; i++) {
		const struct hsnap_op *op = &bounds->ops.items[program.first + i];
		if (push_one(op, values, &stack[num])) {
			num++;
		} else if (op->kind == HSNAP_OP_FOLLOW || op->kind == HSNAP_OP_LOAD) {
			if (!load(values->target, op, stack[num - 1], &stack[num - 1]))
				return false;
		} else if (op->kind < HSNAP_EXPR_ADD) {
			stack[num - 1] = apply_one(op->kind, stack[num - 1]);
		} else {
			num--;
			if (!apply_two(op->kind, stack[num - 1], stack[num], &stack[num - 1]))
				return false;
		}
	}
	*ret = (int64_t)stack[0];
	return true;
}
