/* SPDX-License-Identifier: MIT */
/* fixed.c - the fixed places that a variable's location names. */
#include "capture/symbols/fixed.h"

#include <libdwarf/dwarf.h>

#define LEAST_PIECES 8 /* bytes: a literal as a value, its piece, an address by number, and that one's */

/* What has been read of the piece, or of the whole expression. */
struct reading {
	hsnap_indexed_address *indexed;
	void *context;
	bool pushed, is_address, thread_local_; /* there is a number; it is an address; it lies in the thread-local block */
	bool computed;                          /* what comes of it is a value, and lies nowhere */
	uint64_t address;
};

bool hsnap_fixed_looks_so(const uint8_t *bytes, uint64_t size)
{
	if (!size)
		return false;
	uint8_t op = bytes[0];
	bool literal = (op >= DW_OP_lit0 && op <= DW_OP_lit31) || op == DW_OP_constu || op == DW_OP_consts || op == DW_OP_implicit_value;
	return op == DW_OP_addr || op == DW_OP_addrx || op == DW_OP_const4u || op == DW_OP_const8u || op == DW_OP_constx ||
	       op == DW_OP_GNU_addr_index || op == DW_OP_GNU_const_index || op == DW_OP_piece || (literal && size >= LEAST_PIECES);
}

/* What pushes a number or an address that may be a place. */
static bool push(struct reading *reading, uint8_t op, struct hsnap_bytes *b)
{
	reading->pushed = true;
	reading->is_address = op == DW_OP_addr || op == DW_OP_addrx || op == DW_OP_GNU_addr_index;
	if (op == DW_OP_addr || op == DW_OP_const8u)
		reading->address = hsnap_bytes_u64(b);
	else if (op == DW_OP_const4u)
		reading->address = hsnap_bytes_u32(b);
	else
		return reading->indexed(reading->context, hsnap_bytes_varint(b), &reading->address);
	return true;
}

/* Go past an operator of a computed value; false: it is not known how long it is. */
static bool skip(uint8_t op, struct hsnap_bytes *b)
{
	if (op == DW_OP_deref || op == DW_OP_stack_value || op == DW_OP_nop || (op >= DW_OP_dup && op <= DW_OP_over) ||
	    (op >= DW_OP_swap && op <= DW_OP_plus) || (op >= DW_OP_shl && op <= DW_OP_xor) ||
	    (op >= DW_OP_eq && op <= DW_OP_ne) || (op >= DW_OP_lit0 && op <= DW_OP_lit31))
		return true;
	if (op == DW_OP_deref_size || op == DW_OP_const1u || op == DW_OP_const1s || op == DW_OP_pick)
		hsnap_bytes_get(b, 1);
	else if (op == DW_OP_const2u || op == DW_OP_const2s)
		hsnap_bytes_get(b, 2);
	else if (op == DW_OP_const4s)
		hsnap_bytes_get(b, 4);
	else if (op == DW_OP_const8s)
		hsnap_bytes_get(b, 8);
	else if (op == DW_OP_constu || op == DW_OP_consts || op == DW_OP_plus_uconst)
		hsnap_bytes_varint(b);
	else if (op == DW_OP_implicit_value)
		hsnap_bytes_get(b, hsnap_bytes_varint(b));
	else
		return false;
	return true;
}

/* One operator that is no piece; false: more than we know. */
static bool see(struct reading *reading, uint8_t op, struct hsnap_bytes *b)
{
	bool may_push = op == DW_OP_addr || op == DW_OP_addrx || op == DW_OP_const4u || op == DW_OP_const8u ||
			op == DW_OP_constx || op == DW_OP_GNU_addr_index || op == DW_OP_GNU_const_index;
	if (may_push) {
		reading->computed |= reading->pushed;
		return push(reading, op, b);
	}
	if (reading->pushed && (op == DW_OP_form_tls_address || op == DW_OP_GNU_push_tls_address)) {
		reading->thread_local_ = true;
		return true;
	}
	if (reading->pushed && !reading->computed && op == DW_OP_plus_uconst) {
		reading->address += hsnap_bytes_varint(b);
		return true;
	}
	reading->computed = true;
	return skip(op, b);
}

/* Is what has been read a place?  A bare number is no address, and the thread-local operators take a number. */
static bool is_place(const struct reading *reading)
{
	return reading->pushed && !reading->computed && (reading->is_address || reading->thread_local_);
}

/* The piece that has been read has a place, or it has none. */
static void end_piece(struct reading *reading, uint64_t offset, uint64_t size, struct hsnap_fixed_place *ret)
{
	/* Those of another kind than the first are left out: nobody makes them. */
	bool keep = is_place(reading) && size && (!ret->num || ret->thread_local_ == reading->thread_local_);
	if (keep) {
		ret->thread_local_ = reading->thread_local_;
		ret->pieces[ret->num++] = (struct hsnap_fixed_piece){ offset, size, reading->address };
	}
	*reading = (struct reading){ .indexed = reading->indexed, .context = reading->context };
}

bool hsnap_fixed_read(struct hsnap_bytes b, hsnap_indexed_address *indexed, void *context, struct hsnap_fixed_place *ret)
{
	struct reading reading = { .indexed = indexed, .context = context };
	uint64_t offset = 0;
	bool pieces = false;
	ret->num = 0;
	while (hsnap_bytes_left(&b) && ret->num < HSNAP_FIXED_PIECES) {
		uint8_t op = hsnap_bytes_u8(&b);
		if (op != DW_OP_piece && op != DW_OP_bit_piece) {
			if (!see(&reading, op, &b) || b.bad)
				return pieces && ret->num; /* what was read before it is so all the same */
			continue;
		}
		uint64_t size = hsnap_bytes_varint(&b), bits = op == DW_OP_bit_piece ? size : 0;
		reading.computed |= op == DW_OP_bit_piece && hsnap_bytes_varint(&b); /* it begins within a byte */
		size = op == DW_OP_bit_piece ? size / 8 : size;
		pieces = true;
		if (b.bad || bits % 8 || offset + size < offset)
			break;
		end_piece(&reading, offset, size, ret);
		offset += size;
	}
	if (pieces || !is_place(&reading))
		return ret->num;
	ret->thread_local_ = reading.thread_local_;
	ret->pieces[0] = (struct hsnap_fixed_piece){ .address = reading.address };
	ret->num = 1;
	return true;
}
