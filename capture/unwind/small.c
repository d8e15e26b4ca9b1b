/* SPDX-License-Identifier: MIT */
/* small.c - rules that fit in a word: enough to follow return addresses. */
#include "capture/unwind/cursor.h"

/* "The word at rbp - n" (DW_OP_breg6 -n; DW_OP_deref): what compilers write for a function that
 * realigns its stack. */
static bool is_deref(const struct hsnap_unwind_memory *memory, uint64_t at, int64_t *ret)
{
	struct cursor c;
	cursor_start(&c, memory, at, at + 16);
	uint64_t len = cursor_uleb(&c), start = c.at;
	if (cursor_byte(&c) != 0x70 + HSNAP_REG_FRAME)
		return false;
	*ret = -cursor_sleb(&c);
	return cursor_byte(&c) == 0x06 && !c.bad && c.at - start == len;
}

struct hsnap_small_rule hsnap_unwind_small(const struct hsnap_unwind_memory *memory,
					   const struct hsnap_unwind_module *module, uint64_t pc)
{
	static const struct hsnap_small_rule stop = { .kind = HSNAP_SMALL_STOP };
	struct hsnap_small_rule rule = stop;
	struct hsnap_unwind_row row;
	if (hsnap_unwind_row(memory, module, pc, &row) || row.signal_frame ||
	    row.kind[HSNAP_REG_PC] != HSNAP_RULE_AT || row.value[HSNAP_REG_PC] != -8)
		return stop;
	int64_t offset = row.cfa_offset, saved = row.value[HSNAP_REG_FRAME];
	if (row.cfa_is_expression) {
		if (!is_deref(memory, (uint64_t)row.cfa_offset, &offset))
			return stop;
		rule.kind = HSNAP_SMALL_DEREF;
	} else if (row.cfa_register == HSNAP_REG_SP) {
		rule.kind = HSNAP_SMALL_SP;
	} else if (row.cfa_register == HSNAP_REG_FRAME) {
		rule.kind = HSNAP_SMALL_FRAME;
	} else {
		return stop;
	}
	if (offset < 0 || offset > HSNAP_SMALL_MAX_OFFSET || offset % 8)
		return stop;
	rule.cfa_offset = (uint32_t)offset;
	switch ((enum hsnap_rule_kind)row.kind[HSNAP_REG_FRAME]) {
	case HSNAP_RULE_DEFAULT:
	case HSNAP_RULE_SAME:
		return rule;
	case HSNAP_RULE_AT:
		if (saved >= -8 || saved < -255 * 8 || saved % 8)
			return stop;
		rule.frame_words = (uint8_t)(-saved / 8);
		return rule;
	case HSNAP_RULE_AT_EXPRESSION: /* at rbp itself, in the same functions */
		if (rule.kind != HSNAP_SMALL_DEREF)
			return stop;
		rule.frame_words = HSNAP_SMALL_AT_FRAME;
		return rule;
	default:
		return stop;
	}
}
