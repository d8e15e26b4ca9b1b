/* SPDX-License-Identifier: MIT */
/* places.c - where an entry's code and a variable's value lie. */
#include "capture/symbols/places.h"
#include "capture/symbols/lists.h"

#include <string.h>

#include "snapshot/base/bytes.h"

#define MAX_RANGES 65536
#define MAX_OPERATIONS 64 /* of one expression */

static bool good(struct hsnap_dies *dies, int result, Dwarf_Error error)
{
	if (result == DW_DLV_ERROR && error)
		dwarf_dealloc_error(dies->dbg, error);
	return result == DW_DLV_OK;
}

static Dwarf_Attribute attribute_of(struct hsnap_dies *dies, Dwarf_Die die, unsigned what, unsigned *ret_form)
{
	Dwarf_Attribute attribute = NULL;
	Dwarf_Half form = 0;
	Dwarf_Error error = NULL;
	if (!good(dies, dwarf_attr(die, (Dwarf_Half)what, &attribute, &error), error))
		return NULL;
	error = NULL;
	if (!good(dies, dwarf_whatform(attribute, &form, &error), error)) {
		dwarf_dealloc_attribute(attribute);
		return NULL;
	}
	*ret_form = form;
	return attribute;
}

/* --- ranges of code --- */

typedef bool see_range(void *context, uint64_t low, uint64_t high);

static bool low_pc(struct hsnap_dies *dies, Dwarf_Die die, uint64_t *ret)
{
	Dwarf_Addr address = 0;
	Dwarf_Error error = NULL;
	bool ok = good(dies, dwarf_lowpc(die, &address, &error), error);
	*ret = address;
	return ok;
}

/* The unit's own low_pc: what DWARF 4's range lists count from. */
static uint64_t unit_base(struct hsnap_dies *dies, Dwarf_Die die)
{
	Dwarf_Off at = 0;
	Dwarf_Die unit = NULL;
	Dwarf_Error error = NULL;
	uint64_t base = 0;
	if (!good(dies, dwarf_CU_dieoffset_given_die(die, &at, &error), error))
		return 0;
	error = NULL;
	if (!good(dies, dwarf_offdie_b(dies->dbg, at, dwarf_get_die_infotypes_flag(die), &unit, &error), error))
		return 0;
	if (!low_pc(dies, unit, &base))
		base = 0;
	hsnap_die_free(unit);
	return base;
}

static const uint8_t *section_bytes(struct hsnap_elf *elf, const char *name, const char *old_name, uint64_t *ret_size)
{
	struct hsnap_elf_section *section = hsnap_elf_find(elf, name);
	return hsnap_elf_section_bytes(elf, section ? section : hsnap_elf_find(elf, old_name), ret_size);
}

/* How the lists of an entry's unit are read. */
static const struct hsnap_lists *lists_of(struct hsnap_dies *dies, Dwarf_Die die)
{
	Dwarf_Off at = 0;
	Dwarf_Die unit = NULL;
	Dwarf_Error error = NULL;
	struct hsnap_die_bases bases;
	struct hsnap_lists *lists = &dies->unit_lists;
	if (dies->lists)
		return dies->lists;
	if (!good(dies, dwarf_CU_dieoffset_given_die(die, &at, &error), error) || at == dies->unit_offset)
		return lists;
	*lists = (struct hsnap_lists){ 0 };
	dies->unit_offset = at;
	error = NULL;
	if (!good(dies, dwarf_offdie_b(dies->dbg, at, dwarf_get_die_infotypes_flag(die), &unit, &error), error))
		return lists;
	Dwarf_Half version = 0, offset_size = 0;
	dwarf_get_version_of_die(unit, &version, &offset_size);
	hsnap_die_read_bases(dies, unit, &bases);
	hsnap_die_free(unit);
	lists->low_pc = bases.low_pc;
	lists->wide = offset_size == 8;
	lists->ranges_base = bases.ranges;
	lists->locations_base = bases.locations;
	lists->ranges = section_bytes(dies->elf, ".debug_rnglists", ".zdebug_rnglists", &lists->ranges_size);
	lists->addresses = section_bytes(dies->elf, ".debug_addr", ".zdebug_addr", &lists->addresses_size);
	if (bases.addresses > lists->addresses_size)
		lists->addresses = NULL;
	if (lists->addresses) {
		lists->addresses += bases.addresses;
		lists->addresses_size -= bases.addresses;
	}
	return lists;
}

static void see_old_ranges(struct hsnap_dies *dies, Dwarf_Die die, uint64_t offset, see_range *see,
			   void *context)
{
	Dwarf_Ranges *list = NULL;
	Dwarf_Signed num = 0;
	Dwarf_Unsigned bytes = 0;
	Dwarf_Off real = 0;
	Dwarf_Error error = NULL;
	if (!good(dies, dwarf_get_ranges_b(dies->dbg, offset, die, &real, &list, &num, &bytes, &error), error))
		return;
	uint64_t base = dies->lists ? dies->lists->low_pc : unit_base(dies, die);
	for (Dwarf_Signed i = 0; i < num && i < MAX_RANGES; i++) {
		if (list[i].dwr_type == DW_RANGES_END)
			break;
		if (list[i].dwr_type == DW_RANGES_ADDRESS_SELECTION)
			base = list[i].dwr_addr2;
		else if (list[i].dwr_addr1 < list[i].dwr_addr2 &&
			 !see(context, base + list[i].dwr_addr1, base + list[i].dwr_addr2))
			break;
	}
	dwarf_ranges_dealloc(dies->dbg, list, num);
}

void hsnap_die_ranges(struct hsnap_dies *dies, Dwarf_Die die, see_range *see, void *context)
{
	unsigned form;
	Dwarf_Attribute attribute = attribute_of(dies, die, DW_AT_ranges, &form);
	if (attribute) {
		Dwarf_Half version = 0, offset_size = 0;
		Dwarf_Unsigned value = 0;
		Dwarf_Off offset = 0;
		Dwarf_Error error = NULL;
		bool ok;
		dwarf_get_version_of_die(die, &version, &offset_size);
		if (form == DW_FORM_sec_offset) {
			ok = good(dies, dwarf_global_formref(attribute, &offset, &error), error);
			value = offset;
		} else {
			ok = good(dies, dwarf_formudata(attribute, &value, &error), error);
		}
		if (ok && version >= 5)
			hsnap_lists_ranges(lists_of(dies, die), value, form != DW_FORM_sec_offset, see, context);
		else if (ok)
			see_old_ranges(dies, die, value, see, context);
		dwarf_dealloc_attribute(attribute);
		return;
	}
	Dwarf_Addr high = 0;
	Dwarf_Half high_form = 0;
	enum Dwarf_Form_Class class = DW_FORM_CLASS_UNKNOWN;
	Dwarf_Error error = NULL;
	uint64_t low;
	if (!low_pc(dies, die, &low) ||
	    !good(dies, dwarf_highpc_b(die, &high, &high_form, &class, &error), error))
		return;
	if (class == DW_FORM_CLASS_CONSTANT)
		high += low;
	if (low < high)
		see(context, low, high);
}

struct cover {
	uint64_t pc;
	bool found;
};

static bool see_cover(void *context, uint64_t low, uint64_t high)
{
	struct cover *cover = context;
	cover->found = cover->pc >= low && cover->pc < high;
	return !cover->found;
}

bool hsnap_die_covers(struct hsnap_dies *dies, Dwarf_Die die, uint64_t pc)
{
	struct cover cover = { .pc = pc };
	hsnap_die_ranges(dies, die, see_cover, &cover);
	return cover.found;
}

/* --- places of values --- */

/* An expression's bytes; false where the attribute is a list or something else. */
static bool expression_of(struct hsnap_dies *dies, Dwarf_Attribute attribute, unsigned form,
			  struct hsnap_bytes *ret, Dwarf_Block **ret_block)
{
	Dwarf_Error error = NULL;
	*ret_block = NULL;
	if (form == DW_FORM_exprloc) {
		Dwarf_Unsigned len = 0;
		Dwarf_Ptr at = NULL;
		if (!good(dies, dwarf_formexprloc(attribute, &len, &at, &error), error) || !at)
			return false;
		*ret = hsnap_bytes(at, len);
		return true;
	}
	if (form != DW_FORM_block1 && form != DW_FORM_block && form != DW_FORM_block2)
		return false;
	if (!good(dies, dwarf_formblock(attribute, ret_block, &error), error))
		return false;
	*ret = hsnap_bytes((*ret_block)->bl_data, (*ret_block)->bl_len);
	return true;
}

/* Whose unit the addresses by number are of. */
struct numbered {
	struct hsnap_dies *dies;
	Dwarf_Die die;
};

static bool address_numbered(void *context, uint64_t index, uint64_t *ret)
{
	const struct numbered *of = context;
	Dwarf_Addr address = 0;
	Dwarf_Error error = NULL;
	bool ok = good(of->dies, dwarf_debug_addr_index_to_addr(of->die, index, &address, &error), error);
	*ret = address;
	return ok;
}

bool hsnap_die_fixed_place(struct hsnap_dies *dies, Dwarf_Die die, struct hsnap_fixed_place *ret)
{
	unsigned form;
	Dwarf_Attribute attribute = attribute_of(dies, die, DW_AT_location, &form);
	struct numbered of = { dies, die };
	struct hsnap_bytes b;
	Dwarf_Block *block = NULL;
	if (!attribute)
		return false;
	bool ok = expression_of(dies, attribute, form, &b, &block) && hsnap_fixed_read(b, address_numbered, &of, ret);
	if (block)
		dwarf_dealloc(dies->dbg, block, DW_DLA_BLOCK);
	dwarf_dealloc_attribute(attribute);
	return ok;
}

struct operation {
	uint8_t op;
	uint64_t a, b;
};

static bool operation_at(struct hsnap_dies *dies, Dwarf_Locdesc_c entry, uint64_t index, struct operation *ret)
{
	Dwarf_Small op = 0;
	Dwarf_Unsigned a = 0, b = 0, c = 0, raw1, raw2, raw3, branch;
	Dwarf_Error error = NULL;
	if (!good(dies, dwarf_get_location_op_value_d(entry, index, &op, &a, &b, &c, &raw1, &raw2, &raw3, &branch,
						      &error), error))
		return false;
	*ret = (struct operation){ op, a, b };
	return true;
}

/* Is the operation one register, or register + offset?  Entry values, computed ones: no place. */
static bool simple_place(const struct operation *o, struct hsnap_location *ret)
{
	uint64_t number = 0;
	ret->offset = 0;
	if (o->op >= DW_OP_reg0 && o->op <= DW_OP_reg31) {
		ret->kind = HSNAP_LOCATION_REGISTER;
		number = o->op - DW_OP_reg0;
	} else if (o->op == DW_OP_regx) {
		ret->kind = HSNAP_LOCATION_REGISTER;
		number = o->a;
	} else if (o->op >= DW_OP_breg0 && o->op <= DW_OP_breg31) {
		ret->kind = HSNAP_LOCATION_MEMORY;
		number = o->op - DW_OP_breg0;
		ret->offset = (int64_t)o->a;
	} else if (o->op == DW_OP_bregx) {
		ret->kind = HSNAP_LOCATION_MEMORY;
		number = o->a;
		ret->offset = (int64_t)o->b;
	} else if (o->op == DW_OP_fbreg) {
		ret->kind = HSNAP_LOCATION_FRAME;
		ret->offset = (int64_t)o->a;
	} else {
		return false;
	}
	ret->number = (uint8_t)number;
	return number <= UINT8_MAX;
}

typedef void see_location(void *context, const struct hsnap_location *location);

/* One place, or pieces: each a place or nothing, and its size. */
static void see_operations(const struct operation *ops, uint64_t num_ops, struct hsnap_location *location,
			   see_location *see, void *context)
{
	unsigned num = 0; /* operations of this piece */
	bool placed = false;
	if (num_ops == 1) {
		if (simple_place(ops, location))
			see(context, location);
		return;
	}
	location->piece = true;
	for (const struct operation *o = ops; o < ops + num_ops; o++) {
		if (o->op != DW_OP_piece) {
			placed = !num++ && simple_place(o, location);
			continue;
		}
		if (placed && o->a == 8)
			see(context, location);
		placed = false;
		num = 0;
		location->into += o->a;
	}
}

static void see_expression(struct hsnap_dies *dies, Dwarf_Locdesc_c entry, uint64_t num_ops,
			   struct hsnap_location *location, see_location *see, void *context)
{
	struct operation ops[MAX_OPERATIONS];
	uint64_t num = 0;
	while (num < num_ops && num < MAX_OPERATIONS && operation_at(dies, entry, num, &ops[num]))
		num++;
	if (num == num_ops || num > 1) /* the first of several alone is no place */
		see_operations(ops, num, location, see, context);
}

/* Signed LEB128. */
static int64_t signed_varint(struct hsnap_bytes *b)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = hsnap_bytes_u8(b);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return (int64_t)(byte & 0x40 && shift < 57 ? value | ~UINT64_C(0) << (shift + 7) : value);
	}
	b->bad = true;
	return 0;
}

/* The next operation of those that can be part of a place; another one ends it: op 0. */
static struct operation next_operation(struct hsnap_bytes *b)
{
	struct operation o = { .op = hsnap_bytes_u8(b) };
	if ((o.op >= DW_OP_breg0 && o.op <= DW_OP_breg31) || o.op == DW_OP_fbreg) {
		o.a = (uint64_t)signed_varint(b);
	} else if (o.op == DW_OP_bregx) {
		o.a = hsnap_bytes_varint(b);
		o.b = (uint64_t)signed_varint(b);
	} else if (o.op == DW_OP_regx || o.op == DW_OP_piece) {
		o.a = hsnap_bytes_varint(b);
	} else if (o.op < DW_OP_reg0 || o.op > DW_OP_reg31) {
		o.op = 0;
	}
	return o;
}

struct see_listed {
	see_location *see;
	void *context;
};

static void see_listed(void *context, uint64_t low, uint64_t high, const uint8_t *bytes, size_t size)
{
	const struct see_listed *listed = context;
	struct hsnap_location location = { .low = low, .high = high };
	struct hsnap_bytes b = hsnap_bytes(bytes, size);
	struct operation ops[MAX_OPERATIONS];
	uint64_t num = 0;
	while (hsnap_bytes_left(&b) && num < MAX_OPERATIONS) {
		ops[num++] = next_operation(&b);
		if (!ops[num - 1].op || b.bad) /* it needs more than is left, or a length that we do not know */
			break;
	}
	if (num && !b.bad && (num > 1 || !hsnap_bytes_left(&b)))
		see_operations(ops, num, &location, listed->see, listed->context);
}

static void see_list(struct hsnap_dies *dies, Dwarf_Die die, Dwarf_Attribute attribute, unsigned form,
			 see_location *see, void *context)
{
	struct see_listed listed = { see, context };
	Dwarf_Half version = 0, offset_size = 0;
	Dwarf_Unsigned index = 0;
	Dwarf_Off offset = 0;
	Dwarf_Error error = NULL;
	dwarf_get_version_of_die(die, &version, &offset_size);
	bool indexed = form == DW_FORM_loclistx;
	bool ok = indexed ? good(dies, dwarf_formudata(attribute, &index, &error), error)
			  : good(dies, dwarf_global_formref(attribute, &offset, &error), error);
	const struct hsnap_lists *lists = lists_of(dies, die);
	if (!dies->lists && !lists->locations) /* inflated only when somebody asks: 50 MiB of libjvm's */
		dies->unit_lists.locations = section_bytes(dies->elf, ".debug_loclists", ".zdebug_loclists",
							   &dies->unit_lists.locations_size);
	if (ok)
		hsnap_lists_locations(lists, version, indexed ? index : offset, indexed, see_listed, &listed);
}

void hsnap_die_locations(struct hsnap_dies *dies, Dwarf_Die die, unsigned what,
			 see_location *see, void *context)
{
	unsigned form;
	Dwarf_Attribute attribute = attribute_of(dies, die, what, &form);
	Dwarf_Loc_Head_c head = NULL;
	Dwarf_Unsigned num = 0;
	Dwarf_Error error = NULL;
	if (!attribute)
		return;
	bool single = form == DW_FORM_exprloc || form == DW_FORM_block1 || form == DW_FORM_block ||
		      form == DW_FORM_block2;
	bool list = form == DW_FORM_sec_offset || form == DW_FORM_loclistx || form == DW_FORM_data4 ||
		    form == DW_FORM_data8;
	Dwarf_Half version = 0, offset_size = 0;
	dwarf_get_version_of_die(die, &version, &offset_size);
	if (list && (version >= 5 || dies->lists))
		see_list(dies, die, attribute, form, see, context);
	else if ((single || list) && good(dies, dwarf_get_loclist_c(attribute, &head, &num, &error), error)) {
		for (Dwarf_Unsigned i = 0; i < num && i < MAX_RANGES; i++) {
			Dwarf_Small kind = 0, source = 0;
			Dwarf_Unsigned raw_low, raw_high, num_ops = 0, at, where;
			Dwarf_Bool unavailable = 0;
			Dwarf_Addr low = 0, high = 0;
			Dwarf_Locdesc_c entry = NULL;
			struct hsnap_location location = { .high = UINT64_MAX, .single = single };
			error = NULL;
			if (!good(dies, dwarf_get_locdesc_entry_d(head, i, &kind, &raw_low, &raw_high, &unavailable, &low,
								  &high, &num_ops, &entry, &source, &at, &where,
								  &error), error))
				break;
			if (list) {
				location.low = low;
				location.high = high;
			}
			if (!unavailable && location.low < location.high)
				see_expression(dies, entry, num_ops, &location, see, context);
		}
		dwarf_loc_head_c_dealloc(head);
	}
	dwarf_dealloc_attribute(attribute);
}

struct hsnap_frame_base hsnap_die_frame_base(struct hsnap_dies *dies, Dwarf_Die function)
{
	struct hsnap_frame_base base = { 0 };
	struct hsnap_bytes b;
	Dwarf_Block *block = NULL;
	unsigned form;
	Dwarf_Attribute attribute = attribute_of(dies, function, DW_AT_frame_base, &form);
	if (!attribute)
		return base;
	if (expression_of(dies, attribute, form, &b, &block) && hsnap_bytes_left(&b) == 1) {
		uint8_t op = hsnap_bytes_u8(&b);
		base.is_cfa = op == DW_OP_call_frame_cfa;
		base.known = base.is_cfa || (op >= DW_OP_reg0 && op <= DW_OP_reg15);
		base.number = base.is_cfa ? 0 : (uint8_t)(op - DW_OP_reg0);
	}
	if (block)
		dwarf_dealloc(dies->dbg, block, DW_DLA_BLOCK);
	dwarf_dealloc_attribute(attribute);
	return base;
}
