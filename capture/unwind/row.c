/* SPDX-License-Identifier: MIT */
/* row.c - from a PC to what the call-frame information says of it. */
#include "capture/unwind/cursor.h"

#include <string.h>

#define MAX_FUNCTIONS (1u << 26)
#define MAX_ENTRY (1u << 20) /* bytes of one CIE or FDE */
#define MAX_SAVED 4u         /* states remembered at once */
#define HEADER_SIZE 12u

/* ---- which function ---- */

struct table {
	uint64_t header, first; /* addresses; entries of two signed 32-bit offsets from the header */
	uint32_t num;
};

static bool read_table(const struct hsnap_unwind_memory *memory, const struct hsnap_unwind_module *module,
		       struct table *ret)
{
	struct cursor c;
	if (!module->eh_frame_hdr)
		return false;
	cursor_start(&c, memory, module->eh_frame_hdr, module->eh_frame_hdr + 64);
	uint8_t version = cursor_byte(&c), frame = cursor_byte(&c), count = cursor_byte(&c), entries = cursor_byte(&c);
	if (version != 1 || frame == PE_OMIT || count == PE_OMIT || entries != 0x3b)
		return false;
	cursor_encoded(&c, frame, module->eh_frame_hdr);
	uint64_t num = cursor_encoded(&c, count, module->eh_frame_hdr);
	if (c.bad || !num || num > MAX_FUNCTIONS)
		return false;
	*ret = (struct table){ .header = module->eh_frame_hdr, .first = c.at, .num = (uint32_t)num };
	return true;
}

/* Entry i: start of a function, and its FDE; false: unreadable. */
static bool entry_at(const struct hsnap_unwind_memory *memory, const struct table *table, uint32_t i,
		     uint64_t *ret_start, uint64_t *ret_fde)
{
	int32_t entry[2];
	if (memory->read(memory->self, table->first + 8ull * i, entry, sizeof(entry)) != sizeof(entry))
		return false;
	*ret_start = table->header + (uint64_t)(int64_t)entry[0];
	*ret_fde = table->header + (uint64_t)(int64_t)entry[1];
	return true;
}

static bool find_fde(const struct hsnap_unwind_memory *memory, const struct table *table, uint64_t pc, uint64_t *ret)
{
	uint32_t low = 0, high = table->num;
	uint64_t start, fde;
	*ret = 0;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (!entry_at(memory, table, middle, &start, &fde))
			return false;
		if (start <= pc) {
			*ret = fde;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return *ret != 0;
}

/* ---- its description ---- */

struct description {
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t return_register;
	uint8_t encoding;
	bool has_size, signal_frame;
	uint64_t first, first_end;   /* initial instructions */
	uint64_t start, range;       /* of the function */
	uint64_t second, second_end; /* its own */
};

/* The length and the second word of a CIE or FDE; c->end becomes its end. */
static uint64_t read_head(struct cursor *c, uint64_t *ret_place)
{
	uint64_t len = cursor_number(c, 4);
	if (!len || len > MAX_ENTRY) /* 0xffffffff, the 64-bit form, is not used for .eh_frame */
		c->bad = true;
	c->end = c->at + (c->bad ? 0 : len);
	*ret_place = c->at;
	return cursor_number(c, 4);
}

static bool read_cie(const struct hsnap_unwind_memory *memory, uint64_t at, struct description *d)
{
	struct cursor c;
	uint64_t place;
	char kinds[8] = "";
	cursor_start(&c, memory, at, at + MAX_ENTRY);
	if (read_head(&c, &place))
		return false;
	uint8_t version = cursor_byte(&c);
	for (unsigned i = 0;; i++) {
		if (i == sizeof(kinds))
			return false;
		kinds[i] = (char)cursor_byte(&c);
		if (!kinds[i])
			break;
	}
	if (c.bad || (version != 1 && version != 3))
		return false;
	d->code_factor = cursor_uleb(&c);
	d->data_factor = cursor_sleb(&c);
	d->return_register = version == 1 ? cursor_byte(&c) : cursor_uleb(&c);
	d->encoding = 0;
	d->has_size = kinds[0] == 'z';
	d->signal_frame = false;
	uint64_t size = d->has_size ? cursor_uleb(&c) : 0, data = c.at;
	if (kinds[0] && !d->has_size)
		return false;
	for (const char *k = kinds + d->has_size; *k; k++) {
		if (*k == 'R')
			d->encoding = cursor_byte(&c);
		else if (*k == 'L')
			cursor_byte(&c);
		else if (*k == 'S')
			d->signal_frame = true;
		else if (*k == 'P')
			cursor_encoded(&c, cursor_byte(&c), 0);
		else
			break; /* the size tells where it ends */
	}
	if (d->has_size) {
		c.at = data;
		cursor_skip(&c, size);
	}
	d->first = c.at;
	d->first_end = c.end;
	return !c.bad;
}

static bool read_fde(const struct hsnap_unwind_memory *memory, uint64_t at, struct description *d)
{
	struct cursor c;
	uint64_t place;
	cursor_start(&c, memory, at, at + MAX_ENTRY);
	uint64_t back = read_head(&c, &place);
	if (c.bad || !back || back > place || !read_cie(memory, place - back, d))
		return false;
	d->start = cursor_encoded(&c, d->encoding, 0);
	d->range = cursor_encoded(&c, d->encoding & 0x0f, 0);
	if (d->has_size)
		cursor_skip(&c, cursor_uleb(&c));
	d->second = c.at;
	d->second_end = c.end;
	return !c.bad;
}

/* ---- its instructions: DWARF 5 section 6.4.2 ---- */

struct program {
	const struct description *d;
	struct cursor c;
	uint64_t location, pc;
	struct hsnap_unwind_row row, first; /* first: after the initial instructions */
	struct hsnap_unwind_row saved[MAX_SAVED];
	unsigned num_saved;
	bool past, bad;
};

static void set(struct program *p, uint64_t number, enum hsnap_rule_kind kind, int64_t value)
{
	if (number >= HSNAP_NUM_REGS) /* vector registers and the like: nobody here asks for them */
		return;
	p->row.kind[number] = (uint8_t)kind;
	p->row.value[number] = value;
}

static void set_cfa(struct program *p, uint64_t number, int64_t offset)
{
	p->row.cfa_is_expression = false;
	p->row.cfa_register = number < HSNAP_NUM_REGS ? (uint8_t)number : HSNAP_NUM_REGS;
	p->row.cfa_offset = offset;
}

static void restore(struct program *p, uint64_t number)
{
	if (number < HSNAP_NUM_REGS) {
		p->row.kind[number] = p->first.kind[number];
		p->row.value[number] = p->first.value[number];
	}
}

static void advance(struct program *p, uint64_t by)
{
	p->location += by * p->d->code_factor;
	p->past = p->location > p->pc;
}

static int64_t scaled(const struct program *p, uint64_t value)
{
	return (int64_t)(value * (uint64_t)p->d->data_factor);
}

/* An expression stays where it is: its address is its value. */
static void skip_block(struct program *p)
{
	cursor_skip(&p->c, cursor_uleb(&p->c));
}

static void remember(struct program *p)
{
	if (p->num_saved == MAX_SAVED)
		p->bad = true;
	else
		p->saved[p->num_saved++] = p->row;
}

static void recall(struct program *p)
{
	if (!p->num_saved)
		p->bad = true;
	else
		p->row = p->saved[--p->num_saved];
}

static void run_cfa(struct program *p, uint8_t op)
{
	struct cursor *c = &p->c;
	uint64_t number;
	switch (op) {
	case 0x0c: number = cursor_uleb(c); set_cfa(p, number, (int64_t)cursor_uleb(c)); break;
	case 0x12: number = cursor_uleb(c); set_cfa(p, number, scaled(p, (uint64_t)cursor_sleb(c))); break;
	case 0x0d: set_cfa(p, cursor_uleb(c), p->row.cfa_offset); break;
	case 0x0e: set_cfa(p, p->row.cfa_register, (int64_t)cursor_uleb(c)); break;
	case 0x13: set_cfa(p, p->row.cfa_register, scaled(p, (uint64_t)cursor_sleb(c))); break;
	default: /* 0x0f */
		p->row.cfa_is_expression = true;
		p->row.cfa_offset = (int64_t)c->at;
		skip_block(p);
	}
}

static void run_register(struct program *p, uint8_t op)
{
	struct cursor *c = &p->c;
	uint64_t number = cursor_uleb(c), at;
	switch (op) {
	case 0x05: set(p, number, HSNAP_RULE_AT, scaled(p, cursor_uleb(c))); break;
	case 0x06: restore(p, number); break;
	case 0x07: set(p, number, HSNAP_RULE_UNDEFINED, 0); break;
	case 0x08: set(p, number, HSNAP_RULE_SAME, 0); break;
	case 0x09: set(p, number, HSNAP_RULE_REGISTER, (int64_t)cursor_uleb(c)); break;
	case 0x11: set(p, number, HSNAP_RULE_AT, scaled(p, (uint64_t)cursor_sleb(c))); break;
	case 0x14: set(p, number, HSNAP_RULE_IS, scaled(p, cursor_uleb(c))); break;
	case 0x15: set(p, number, HSNAP_RULE_IS, scaled(p, (uint64_t)cursor_sleb(c))); break;
	case 0x2f: set(p, number, HSNAP_RULE_AT, -scaled(p, cursor_uleb(c))); break;
	default: /* 0x10, 0x16 */
		at = c->at;
		skip_block(p);
		set(p, number, op == 0x10 ? HSNAP_RULE_AT_EXPRESSION : HSNAP_RULE_IS_EXPRESSION, (int64_t)at);
	}
}

static void run_one(struct program *p)
{
	struct cursor *c = &p->c;
	uint8_t op = cursor_byte(c), low = op & 0x3f;
	switch (op & 0xc0) {
	case 0x40: advance(p, low); return;
	case 0x80: set(p, low, HSNAP_RULE_AT, scaled(p, cursor_uleb(c))); return;
	case 0xc0: restore(p, low); return;
	}
	switch (op) {
	case 0x00: return;
	case 0x01:
		p->location = cursor_encoded(c, p->d->encoding, 0);
		p->past = p->location > p->pc;
		return;
	case 0x02: advance(p, cursor_number(c, 1)); return;
	case 0x03: advance(p, cursor_number(c, 2)); return;
	case 0x04: advance(p, cursor_number(c, 4)); return;
	case 0x0a: remember(p); return;
	case 0x0b: recall(p); return;
	case 0x2e: cursor_uleb(c); return; /* size of arguments: for exceptions */
	case 0x0c: case 0x0d: case 0x0e: case 0x0f: case 0x12: case 0x13:
		run_cfa(p, op);
		return;
	case 0x05: case 0x06: case 0x07: case 0x08: case 0x09: case 0x10: case 0x11: case 0x14: case 0x15:
	case 0x16: case 0x2f:
		run_register(p, op);
		return;
	default:
		p->bad = true;
	}
}

static void run(struct program *p, const struct hsnap_unwind_memory *memory, uint64_t from, uint64_t to)
{
	cursor_start(&p->c, memory, from, to);
	while (p->c.at < to && !p->past && !p->bad) {
		run_one(p);
		p->bad |= p->c.bad;
	}
}

static enum hsnap_unwind_result row_of_fde(const struct hsnap_unwind_memory *memory, uint64_t fde, uint64_t pc,
					   struct hsnap_unwind_row *ret)
{
	struct description d;
	struct program p;
	if (!read_fde(memory, fde, &d) || d.return_register != HSNAP_REG_PC)
		return HSNAP_UNWIND_NO_INFO;
	if (pc < d.start || pc - d.start >= d.range)
		return HSNAP_UNWIND_NO_INFO;
	p.d = &d;
	p.location = d.start;
	p.pc = pc;
	p.num_saved = 0;
	p.past = p.bad = false;
	memset(&p.row, 0, sizeof(p.row));
	p.row.cfa_register = HSNAP_NUM_REGS;
	run(&p, memory, d.first, d.first_end);
	p.first = p.row;
	p.past = false;
	if (!p.bad)
		run(&p, memory, d.second, d.second_end);
	if (p.bad || (!p.row.cfa_is_expression && p.row.cfa_register == HSNAP_NUM_REGS))
		return HSNAP_UNWIND_NO_INFO;
	*ret = p.row;
	ret->signal_frame = d.signal_frame;
	ret->function = d.start;
	return HSNAP_UNWIND_OK;
}

enum hsnap_unwind_result hsnap_unwind_row(const struct hsnap_unwind_memory *memory,
					  const struct hsnap_unwind_module *module, uint64_t pc,
					  struct hsnap_unwind_row *ret)
{
	struct table table;
	uint64_t fde;
	if (pc < module->start || pc >= module->end || !read_table(memory, module, &table) ||
	    !find_fde(memory, &table, pc, &fde))
		return HSNAP_UNWIND_NO_INFO;
	return row_of_fde(memory, fde, pc, ret);
}

unsigned hsnap_unwind_count_framed(const struct hsnap_unwind_memory *memory,
				   const struct hsnap_unwind_module *module, unsigned most, unsigned *ret_looked)
{
	struct table table;
	unsigned framed = 0, looked = 0;
	if (most && read_table(memory, module, &table)) {
		unsigned num = table.num < most ? table.num : most;
		for (unsigned i = 0; i < num; i++) {
			struct description d;
			struct hsnap_unwind_row row;
			uint64_t start, fde;
			/* Small ones are thunks and the linker's own. */
			if (!entry_at(memory, &table, (uint32_t)((uint64_t)i * table.num / num), &start, &fde) ||
			    !read_fde(memory, fde, &d) || d.range < 32 ||
			    row_of_fde(memory, fde, d.start + d.range / 2, &row))
				continue;
			looked++;
			framed += !row.cfa_is_expression && row.cfa_register == HSNAP_REG_FRAME;
		}
	}
	*ret_looked = looked;
	return framed;
}
