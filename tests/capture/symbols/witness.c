/* SPDX-License-Identifier: MIT */
/* witness.c - what an entry says, through libdwarf alone: nothing of it is shared with the scanner. */
#include "tests/capture/symbols/witness.h"

#include <string.h>

/* Was it DW_DLV_OK?  Errors are records that libdwarf allocates. */
static bool good(struct hsnap_dies *dies, int result, Dwarf_Error error)
{
	if (result == DW_DLV_ERROR && error)
		dwarf_dealloc_error(dies->dbg, error);
	return result == DW_DLV_OK;
}

static const char *read_string(struct hsnap_dies *dies, Dwarf_Attribute attribute, unsigned form)
{
	char *text = NULL;
	Dwarf_Error error = NULL;
	if ((form == DW_FORM_GNU_strp_alt || form == DW_FORM_strp_sup) && !dies->alt)
		return NULL;
	return good(dies, dwarf_formstring(attribute, &text, &error), error) ? text : NULL;
}

static uint64_t read_number(struct hsnap_dies *dies, Dwarf_Attribute attribute, unsigned form, bool *ret_ok)
{
	Dwarf_Unsigned number = 0;
	Dwarf_Signed is_signed = 0;
	Dwarf_Error error = NULL;
	if (form == DW_FORM_sdata || form == DW_FORM_implicit_const) {
		*ret_ok = good(dies, dwarf_formsdata(attribute, &is_signed, &error), error);
		return (uint64_t)is_signed;
	}
	*ret_ok = good(dies, dwarf_formudata(attribute, &number, &error), error);
	return *ret_ok ? number : 0;
}

static bool is_number(unsigned form)
{
	return form == DW_FORM_data1 || form == DW_FORM_data2 || form == DW_FORM_data4 || form == DW_FORM_data8 ||
	       form == DW_FORM_udata || form == DW_FORM_sdata || form == DW_FORM_implicit_const;
}

static bool read_flag(struct hsnap_dies *dies, Dwarf_Attribute attribute)
{
	Dwarf_Bool flag = 0;
	Dwarf_Error error = NULL;
	return good(dies, dwarf_formflag(attribute, &flag, &error), error) && flag;
}

static hsnap_die_key signature_key(const Dwarf_Sig8 *signature)
{
	uint64_t bits;
	memcpy(&bits, signature, sizeof(bits));
	return hsnap_die_key_of(HSNAP_DIE_SIGNATURE, bits);
}

/* The entry that an attribute refers to. */
static hsnap_die_key read_reference(struct hsnap_dies *dies, Dwarf_Die die, Dwarf_Attribute attribute,
				    unsigned form)
{
	Dwarf_Sig8 signature;
	Dwarf_Off offset = 0;
	Dwarf_Error error = NULL;
	bool info = true, other_file = false;
	switch (form) {
	case DW_FORM_ref_sig8:
		return good(dies, dwarf_formsig8(attribute, &signature, &error), error)
			       ? signature_key(&signature) : HSNAP_DIE_UNKNOWN;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		if (!dies->alt)
			return HSNAP_DIE_UNKNOWN;
		other_file = true;
		break;
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		info = dwarf_get_die_infotypes_flag(die);
		break;
	case DW_FORM_ref_addr:
		break;
	default:
		return HSNAP_DIE_UNKNOWN;
	}
	if (!good(dies, dwarf_global_formref(attribute, &offset, &error), error) || !offset)
		return HSNAP_DIE_UNKNOWN;
	return other_file ? hsnap_die_key_of(HSNAP_DIE_ALT, offset) : hsnap_die_key_in(dies, info, offset);
}

static void read_member_expression(const uint8_t *bytes, uint64_t size, struct hsnap_die_facts *facts)
{
	uint64_t value = 0;
	unsigned shift = 0;
	bool plain = size > 1 && size < 10 && bytes[0] == DW_OP_plus_uconst;
	for (uint64_t i = 1; plain && i < size; i++, shift += 7)
		value |= (uint64_t)(bytes[i] & 0x7f) << shift;
	if (plain)
		facts->member_offset = value;
	facts->flags |= plain ? HSNAP_DIE_HAS_MEMBER_OFFSET : HSNAP_DIE_MEMBER_COMPUTED;
}

/* An offset within the struct: a number, or an expression that adds one. */
static void read_member_offset(struct hsnap_dies *dies, Dwarf_Attribute attribute, unsigned form,
			       struct hsnap_die_facts *facts)
{
	Dwarf_Error error = NULL;
	const uint8_t *bytes = NULL;
	uint64_t size = 0;
	Dwarf_Block *block = NULL;
	bool ok;
	switch (form) {
	case DW_FORM_exprloc: {
		Dwarf_Unsigned len = 0;
		Dwarf_Ptr at = NULL;
		if (good(dies, dwarf_formexprloc(attribute, &len, &at, &error), error)) {
			bytes = at;
			size = len;
		}
		break;
	}
	case DW_FORM_block:
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
		if (good(dies, dwarf_formblock(attribute, &block, &error), error)) {
			bytes = block->bl_data;
			size = block->bl_len;
		}
		break;
	default:
		facts->member_offset = read_number(dies, attribute, form, &ok);
		if (ok)
			facts->flags |= HSNAP_DIE_HAS_MEMBER_OFFSET;
		return;
	}
	read_member_expression(bytes, size, facts);
	if (block)
		dwarf_dealloc(dies->dbg, block, DW_DLA_BLOCK);
}

/* An array's bound, where it is a number. */
static void read_count(struct hsnap_dies *dies, Dwarf_Attribute attribute, unsigned form, uint64_t more,
		       struct hsnap_die_facts *facts)
{
	bool ok = false;
	if (form == DW_FORM_exprloc || form == DW_FORM_ref4 || form == DW_FORM_block1)
		return;
	uint64_t value = read_number(dies, attribute, form, &ok);
	if (!ok)
		return;
	facts->count = value + more;
	facts->flags |= HSNAP_DIE_HAS_COUNT;
}

static bool is_fixed_operator(uint8_t op)
{
	return op == DW_OP_addr || op == DW_OP_addrx || op == DW_OP_const4u || op == DW_OP_const8u ||
	       op == DW_OP_constx || op == DW_OP_GNU_addr_index || op == DW_OP_GNU_const_index || op == DW_OP_piece;
}

/* A value, behind which there may be pieces with a place. */
static bool is_value(uint8_t op)
{
	return (op >= DW_OP_lit0 && op <= DW_OP_lit31) || op == DW_OP_constu || op == DW_OP_consts || op == DW_OP_implicit_value;
}

/* Could this location be a fixed place, or several?  The first operator tells. */
static bool names_fixed_place(struct hsnap_dies *dies, Dwarf_Attribute attribute, unsigned form)
{
	Dwarf_Unsigned len = 0;
	Dwarf_Ptr at = NULL;
	Dwarf_Error error = NULL;
	if (form != DW_FORM_exprloc)
		return form == DW_FORM_block1 || form == DW_FORM_block;
	if (!good(dies, dwarf_formexprloc(attribute, &len, &at, &error), error) || !len)
		return false;
	uint8_t op = *(const uint8_t *)at;
	return is_fixed_operator(op) || (is_value(op) && len >= 8);
}

static void read_attribute(struct hsnap_dies *dies, Dwarf_Die die, Dwarf_Attribute attribute,
			   struct hsnap_die_facts *facts)
{
	Dwarf_Half what = 0, form = 0;
	Dwarf_Error error = NULL;
	bool ok;
	if (!good(dies, dwarf_whatattr(attribute, &what, &error), error) ||
	    !good(dies, dwarf_whatform(attribute, &form, &error), error))
		return;
	switch (what) {
	case DW_AT_name:
		facts->name = read_string(dies, attribute, form);
		break;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		facts->linkage_name = read_string(dies, attribute, form);
		break;
	case DW_AT_type:
		facts->type = read_reference(dies, die, attribute, form);
		break;
	case DW_AT_signature:
		facts->signature = read_reference(dies, die, attribute, form);
		break;
	case DW_AT_specification:
		facts->specification = read_reference(dies, die, attribute, form);
		break;
	case DW_AT_abstract_origin:
		facts->origin = read_reference(dies, die, attribute, form);
		break;
	case DW_AT_byte_size:
		facts->size = read_number(dies, attribute, form, &ok);
		facts->flags |= ok ? HSNAP_DIE_HAS_SIZE : 0;
		break;
	case DW_AT_data_member_location:
		read_member_offset(dies, attribute, form, facts);
		break;
	case DW_AT_data_bit_offset:
		facts->first_bit = read_number(dies, attribute, form, &ok);
		facts->member_offset = facts->first_bit / 8;
		facts->first_bit %= 8;
		facts->flags |= HSNAP_DIE_HAS_MEMBER_OFFSET;
		break;
	case DW_AT_bit_size:
		facts->flags |= HSNAP_DIE_BIT_FIELD;
		facts->num_bits = read_number(dies, attribute, form, &ok);
		break;
	case DW_AT_bit_offset: /* of DWARF 3 and before, from the highest bit */
		facts->high_bit = read_number(dies, attribute, form, &ok) + 1;
		break;
	case DW_AT_count:
		read_count(dies, attribute, form, 0, facts);
		break;
	case DW_AT_upper_bound:
		read_count(dies, attribute, form, 1, facts);
		break;
	case DW_AT_decl_file:
		facts->decl_file = read_number(dies, attribute, form, &ok);
		break;
	case DW_AT_decl_line:
		facts->decl_line = read_number(dies, attribute, form, &ok);
		break;
	case DW_AT_call_file:
		facts->call_file = read_number(dies, attribute, form, &ok);
		break;
	case DW_AT_call_line:
		facts->call_line = read_number(dies, attribute, form, &ok);
		break;
	case DW_AT_encoding:
		facts->encoding = read_number(dies, attribute, form, &ok);
		break;
	case DW_AT_language:
		facts->language = read_number(dies, attribute, form, &ok);
		break;
	case DW_AT_virtuality:
		facts->flags |= read_number(dies, attribute, form, &ok) ? HSNAP_DIE_VIRTUAL : 0;
		break;
	case DW_AT_declaration:
		facts->flags |= read_flag(dies, attribute) ? HSNAP_DIE_DECLARATION : 0;
		break;
	case DW_AT_external:
		facts->flags |= read_flag(dies, attribute) ? HSNAP_DIE_EXTERNAL : 0;
		break;
	case DW_AT_artificial:
		facts->flags |= read_flag(dies, attribute) ? HSNAP_DIE_ARTIFICIAL : 0;
		break;
	case DW_AT_containing_type:
		facts->flags |= HSNAP_DIE_CONTAINING;
		break;
	case DW_AT_const_value:
		facts->flags |= HSNAP_DIE_CONST_VALUE;
		if (is_number(form))
			facts->const_value = (int64_t)read_number(dies, attribute, form, &ok);
		break;
	case DW_AT_location:
		facts->flags |= HSNAP_DIE_HAS_LOCATION;
		facts->flags |= names_fixed_place(dies, attribute, form) ? HSNAP_DIE_FIXED_PLACE : 0;
		break;
	case DW_AT_low_pc:
	case DW_AT_ranges:
		facts->flags |= HSNAP_DIE_HAS_PC;
		break;
	default:
		break;
	}
}

void witness_read(struct hsnap_dies *dies, Dwarf_Die die, struct hsnap_die_facts *ret)
{
	Dwarf_Attribute *list = NULL;
	Dwarf_Signed num = 0;
	Dwarf_Error error = NULL;
	*ret = (struct hsnap_die_facts){ .tag = hsnap_die_tag(dies, die), .decl_file = UINT64_MAX,
					 .call_file = UINT64_MAX };
	if (!good(dies, dwarf_attrlist(die, &list, &num, &error), error))
		return;
	for (Dwarf_Signed i = 0; i < num; i++) {
		read_attribute(dies, die, list[i], ret);
		dwarf_dealloc_attribute(list[i]);
	}
	dwarf_dealloc(dies->dbg, list, DW_DLA_LIST);
}
