/* SPDX-License-Identifier: MIT */
/* expression.c - the DWARF expressions of call-frame information: DWARF 5 section 2.5. */
#include "capture/unwind/cursor.h"

#define MAX_DEPTH 16u
#define MAX_STEPS 256u
#define MAX_LEN 1024u

struct machine {
	struct cursor code;
	const struct hsnap_unwind_memory *memory;
	const struct hsnap_regs *regs;
	uint64_t start, end;
	uint64_t stack[MAX_DEPTH];
	unsigned depth;
	bool bad;
};

static void push(struct machine *m, uint64_t value)
{
	if (m->depth == MAX_DEPTH)
		m->bad = true;
	else
		m->stack[m->depth++] = value;
}

static uint64_t pop(struct machine *m)
{
	if (m->depth)
		return m->stack[--m->depth];
	m->bad = true;
	return 0;
}

static void push_register(struct machine *m, unsigned number, int64_t offset)
{
	if (number >= HSNAP_NUM_REGS || !(m->regs->valid >> number & 1))
		m->bad = true;
	else
		push(m, m->regs->value[number] + (uint64_t)offset);
}

static void load(struct machine *m, unsigned size)
{
	uint64_t value = 0, at = pop(m);
	if (size > 8 || m->memory->read(m->memory->self, at, &value, size) != size)
		m->bad = true;
	push(m, value);
}

static void jump(struct machine *m, int64_t by, bool taken)
{
	uint64_t to = m->code.at + (uint64_t)by;
	if (!taken)
		return;
	if (to < m->start || to > m->end)
		m->bad = true;
	else
		m->code.at = to;
}

/* Two operands; false: no such operation. */
static bool binary(struct machine *m, uint8_t op)
{
	uint64_t b = pop(m), a = pop(m), r;
	switch (op) {
	case 0x1a: r = a & b; break;
	case 0x1c: r = a - b; break;
	case 0x1e: r = a * b; break;
	case 0x21: r = a | b; break;
	case 0x22: r = a + b; break;
	case 0x24: r = b < 64 ? a << b : 0; break;
	case 0x25: r = b < 64 ? a >> b : 0; break;
	case 0x26: r = (uint64_t)((int64_t)a >> (b < 63 ? b : 63)); break;
	case 0x27: r = a ^ b; break;
	case 0x29: r = a == b; break;
	case 0x2a: r = (int64_t)a >= (int64_t)b; break;
	case 0x2b: r = (int64_t)a > (int64_t)b; break;
	case 0x2c: r = (int64_t)a <= (int64_t)b; break;
	case 0x2d: r = (int64_t)a < (int64_t)b; break;
	case 0x2e: r = a != b; break;
	default: return false;
	}
	push(m, r);
	return true;
}

/* Constants and the stack itself; false: not one of these. */
static bool simple(struct machine *m, uint8_t op)
{
	struct cursor *c = &m->code;
	uint64_t value;
	switch (op) {
	case 0x03: push(m, cursor_number(c, 8)); return true;
	case 0x08: push(m, cursor_number(c, 1)); return true;
	case 0x09: push(m, (uint64_t)cursor_signed(c, 1)); return true;
	case 0x0a: push(m, cursor_number(c, 2)); return true;
	case 0x0b: push(m, (uint64_t)cursor_signed(c, 2)); return true;
	case 0x0c: push(m, cursor_number(c, 4)); return true;
	case 0x0d: push(m, (uint64_t)cursor_signed(c, 4)); return true;
	case 0x0e:
	case 0x0f: push(m, cursor_number(c, 8)); return true;
	case 0x10: push(m, cursor_uleb(c)); return true;
	case 0x11: push(m, (uint64_t)cursor_sleb(c)); return true;
	case 0x12: value = pop(m); push(m, value); push(m, value); return true;
	case 0x13: pop(m); return true;
	case 0x06: load(m, 8); return true;
	case 0x94: load(m, cursor_byte(c)); return true;
	case 0x1f: push(m, -pop(m)); return true;
	case 0x20: push(m, ~pop(m)); return true;
	case 0x23: value = pop(m); push(m, value + cursor_uleb(c)); return true;
	case 0x2f: value = (uint64_t)cursor_signed(c, 2); jump(m, (int64_t)value, true); return true;
	case 0x28: value = (uint64_t)cursor_signed(c, 2); jump(m, (int64_t)value, pop(m) != 0); return true;
	case 0x96: return true;
	default: return false;
	}
}

static void shuffle(struct machine *m, uint8_t op)
{
	unsigned from = op == 0x14 ? 1 : op == 0x15 ? cursor_byte(&m->code) : MAX_DEPTH;
	if (op == 0x16) { /* swap */
		uint64_t b = pop(m), a = pop(m);
		push(m, b);
		push(m, a);
	} else if (from < m->depth) { /* over, pick */
		push(m, m->stack[m->depth - 1 - from]);
	} else {
		m->bad = true;
	}
}

static void run(struct machine *m)
{
	for (unsigned steps = 0; m->code.at < m->end && !m->bad; steps++) {
		uint8_t op = cursor_byte(&m->code);
		if (steps == MAX_STEPS)
			m->bad = true;
		else if (op >= 0x30 && op <= 0x4f)
			push(m, op - 0x30u);
		else if (op >= 0x70 && op <= 0x8f)
			push_register(m, op - 0x70u, cursor_sleb(&m->code));
		else if (op == 0x92) {
			uint64_t number = cursor_uleb(&m->code);
			push_register(m, number < HSNAP_NUM_REGS ? (unsigned)number : HSNAP_NUM_REGS, cursor_sleb(&m->code));
		} else if (op >= 0x14 && op <= 0x16)
			shuffle(m, op);
		else if (!simple(m, op) && !binary(m, op))
			m->bad = true;
		m->bad |= m->code.bad;
	}
}

bool hsnap_unwind_expression(const struct hsnap_unwind_memory *memory, uint64_t address,
			     const struct hsnap_regs *regs, const uint64_t *first, uint64_t *ret)
{
	struct machine m;
	m.memory = memory;
	m.regs = regs;
	m.depth = 0;
	m.bad = false;
	/* As it stands in the information: its length, then the operations. */
	cursor_start(&m.code, memory, address, address + MAX_LEN);
	uint64_t len = cursor_uleb(&m.code);
	m.start = m.code.at;
	if (m.code.bad || len > m.code.end - m.start)
		return false;
	m.end = m.code.end = m.start + len;
	if (first)
		push(&m, *first);
	run(&m);
	*ret = pop(&m);
	return !m.bad;
}
