/* SPDX-License-Identifier: MIT */
/* dies.c - entries of one file's debug info, through libdwarf. */
#include "capture/symbols/dies.h"

#include <string.h>

#include "capture/symbols/sound.h"
#include "capture/symbols/split.h"

/* What libdwarf is shown of a file: these sections and no others, inflated. */
static const char *const shown[] = {
	".debug_info", ".debug_types", ".debug_abbrev", ".debug_line", ".debug_line_str",
	".debug_str", ".debug_str_offsets", ".debug_addr", ".debug_loc", ".debug_ranges",
	".debug_frame", ".eh_frame",
};

static const char *shown_name(const char *name)
{
	bool old = !strncmp(name, ".zdebug_", 8);
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
		if (!strcmp(old ? name + 2 : name, old ? shown[i] + 1 : shown[i]))
			return shown[i];
	return NULL;
}

static int get_section_info(void *object, Dwarf_Half index, Dwarf_Obj_Access_Section *ret, int *error)
{
	struct hsnap_elf *elf = object;
	*error = 0;
	*ret = (Dwarf_Obj_Access_Section){ .name = "" };
	if (index >= elf->num_sections)
		return DW_DLV_NO_ENTRY;
	const char *name = shown_name(elf->sections[index].name);
	uint64_t size = hsnap_elf_section_size(elf, &elf->sections[index]);
	if (name && size) { /* inflated when it is loaded, if ever */
		ret->name = name;
		ret->size = size;
		ret->addr = elf->sections[index].address;
		ret->type = elf->sections[index].type;
	}
	return DW_DLV_OK;
}

static Dwarf_Endianness get_byte_order(void *object)
{
	(void)object;
	return DW_OBJECT_LSB;
}

static Dwarf_Small get_word_size(void *object)
{
	(void)object;
	return 8;
}

static Dwarf_Unsigned get_section_count(void *object)
{
	return ((struct hsnap_elf *)object)->num_sections;
}

static int load_section(void *object, Dwarf_Half index, Dwarf_Small **ret, int *error)
{
	struct hsnap_elf *elf = object;
	uint64_t size;
	*error = 0;
	if (index >= elf->num_sections)
		return DW_DLV_NO_ENTRY;
	const uint8_t *bytes = hsnap_elf_section_bytes(elf, &elf->sections[index], &size);
	*ret = (Dwarf_Small *)bytes; /* libdwarf only reads */
	return bytes ? DW_DLV_OK : DW_DLV_NO_ENTRY;
}

static const Dwarf_Obj_Access_Methods methods = {
	.get_section_info = get_section_info,
	.get_byte_order = get_byte_order,
	.get_length_size = get_word_size,
	.get_pointer_size = get_word_size,
	.get_section_count = get_section_count,
	.load_section = load_section,
};

/* Was it DW_DLV_OK?  Errors are records that libdwarf allocates. */
static bool good(struct hsnap_dies *dies, int result, Dwarf_Error error)
{
	if (result == DW_DLV_ERROR && error)
		dwarf_dealloc_error(dies->dbg, error);
	return result == DW_DLV_OK;
}

static enum hsnap_code open_file(struct hsnap_dies *dies, struct hsnap_error *err)
{
	Dwarf_Error error = NULL;
	dies->access = (Dwarf_Obj_Access_Interface){ .object = dies->elf, .methods = &methods };
	dwarf_set_de_alloc_flag(0); /* what we get we free: no tree of all that was ever handed out */
	int result = dwarf_object_init_b(&dies->access, NULL, NULL, DW_GROUPNUMBER_ANY, &dies->dbg, &error);
	if (result == DW_DLV_NO_ENTRY) {
		dies->dbg = NULL;
		return hsnap_fail(err, HSNAP_NOT_FOUND, 0, "no debug info");
	}
	if (!good(dies, result, error)) {
		dies->dbg = NULL;
		return hsnap_fail(err, HSNAP_FORMAT, 0, "debug info is damaged");
	}
	return HSNAP_OK;
}

enum hsnap_code hsnap_dies_init(struct hsnap_dies *dies, struct hsnap_elf *elf, struct hsnap_dies *alt,
				struct hsnap_error *err)
{
	Dwarf_Error error = NULL;
	struct hsnap_unit_kinds kinds = hsnap_sound_unit_kinds(elf);
	if (kinds.types || kinds.skeletons)
		alt = NULL; /* what is in it is unknown then */
	*dies = (struct hsnap_dies){ .elf = elf, .alt = alt };
	if (kinds.halves)
		return hsnap_fail(err, HSNAP_FORMAT, 0, "debug info is damaged");
	enum hsnap_code code = open_file(dies, err);
	if (!code && alt) {
		alt->is_alt = true;
		if (!good(dies, dwarf_set_tied_dbg(dies->dbg, alt->dbg, &error), error))
			dies->alt = NULL;
	}
	return code;
}

enum hsnap_code hsnap_dies_init_half(struct hsnap_dies *dies, struct hsnap_elf *elf, uint32_t half,
				     struct hsnap_dies *root, const struct hsnap_lists *lists,
				     struct hsnap_error *err)
{
	*dies = (struct hsnap_dies){ .elf = elf, .half = half, .root = root, .lists = lists };
	return open_file(dies, err);
}

bool hsnap_dies_unreadable(struct hsnap_elf *elf)
{
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
		if (hsnap_elf_unreadable(elf, hsnap_elf_find(elf, shown[i])))
			return true;
	return false;
}

void hsnap_dies_deinit(struct hsnap_dies *dies)
{
	if (!dies)
		return;
	Dwarf_Error error = NULL;
	if (dies->dbg)
		dwarf_object_finish(dies->dbg, &error);
	*dies = (struct hsnap_dies){ 0 };
}

struct hsnap_dies *hsnap_dies_of(struct hsnap_dies *dies, hsnap_die_key key)
{
	if (!key || key == HSNAP_DIE_UNKNOWN || hsnap_die_section_of(key) == HSNAP_DIE_SIGNATURE)
		return NULL;
	if (dies->is_alt)
		return dies;
	struct hsnap_dies *root = dies->root ? dies->root : dies;
	switch (hsnap_die_section_of(key)) {
	case HSNAP_DIE_ALT:
		return root->alt;
	case HSNAP_DIE_SPLIT:
	case HSNAP_DIE_SPLIT_TYPES:
		return hsnap_split_half(root->halves, (uint32_t)(key >> HSNAP_DIE_SPLIT_SHIFT) & (HSNAP_DIE_MAX_SPLIT - 1));
	default:
		return root;
	}
}

/* The key of an offset in this very file. */
hsnap_die_key hsnap_die_key_in(const struct hsnap_dies *dies, bool info, uint64_t offset)
{
	if (dies->is_alt)
		return hsnap_die_key_of(HSNAP_DIE_ALT, offset);
	if (!dies->root)
		return hsnap_die_key_of(info ? HSNAP_DIE_INFO : HSNAP_DIE_TYPES, offset);
	if (offset >> HSNAP_DIE_SPLIT_SHIFT)
		return HSNAP_DIE_UNKNOWN;
	return hsnap_die_key_of(info ? HSNAP_DIE_SPLIT : HSNAP_DIE_SPLIT_TYPES,
				(uint64_t)dies->half << HSNAP_DIE_SPLIT_SHIFT | offset);
}

Dwarf_Die hsnap_die_at(struct hsnap_dies *dies, hsnap_die_key key)
{
	struct hsnap_dies *file = hsnap_dies_of(dies, key);
	Dwarf_Die die = NULL;
	Dwarf_Error error = NULL;
	enum hsnap_die_section section = hsnap_die_section_of(key);
	if (!file)
		return NULL;
	uint64_t offset = key & (file->root ? (UINT64_C(1) << HSNAP_DIE_SPLIT_SHIFT) - 1 : HSNAP_DIE_OFFSET);
	bool info = section != HSNAP_DIE_TYPES && section != HSNAP_DIE_SPLIT_TYPES;
	return good(file, dwarf_offdie_b(file->dbg, offset, info, &die, &error), error) ? die : NULL;
}

hsnap_die_key hsnap_die_key_here(struct hsnap_dies *dies, Dwarf_Die die)
{
	Dwarf_Off offset = 0;
	Dwarf_Error error = NULL;
	if (!good(dies, dwarf_dieoffset(die, &offset, &error), error))
		return 0;
	return hsnap_die_key_in(dies, dwarf_get_die_infotypes_flag(die), offset);
}

unsigned hsnap_die_tag(struct hsnap_dies *dies, Dwarf_Die die)
{
	Dwarf_Half tag = 0;
	Dwarf_Error error = NULL;
	return good(dies, dwarf_tag(die, &tag, &error), error) ? tag : 0;
}

Dwarf_Die hsnap_die_child(struct hsnap_dies *dies, Dwarf_Die die)
{
	Dwarf_Die child = NULL;
	Dwarf_Error error = NULL;
	return good(dies, dwarf_child(die, &child, &error), error) ? child : NULL;
}

Dwarf_Die hsnap_die_sibling(struct hsnap_dies *dies, Dwarf_Die die)
{
	Dwarf_Die sibling = NULL;
	Dwarf_Error error = NULL;
	return good(dies, dwarf_siblingof_b(dies->dbg, die, dwarf_get_die_infotypes_flag(die), &sibling, &error),
		    error) ? sibling : NULL;
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

void hsnap_die_member_expression(const uint8_t *bytes, uint64_t size, struct hsnap_die_facts *facts)
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
	hsnap_die_member_expression(bytes, size, facts);
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

bool hsnap_die_is_fixed_operator(uint8_t op)
{
	return op == DW_OP_addr || op == DW_OP_addrx || op == DW_OP_const4u || op == DW_OP_const8u ||
	       op == DW_OP_constx || op == DW_OP_GNU_addr_index || op == DW_OP_GNU_const_index;
}

/* Could this location be a fixed place?  The first operator tells. */
static bool names_fixed_place(struct hsnap_dies *dies, Dwarf_Attribute attribute, unsigned form)
{
	Dwarf_Unsigned len = 0;
	Dwarf_Ptr at = NULL;
	Dwarf_Error error = NULL;
	if (form != DW_FORM_exprloc)
		return form == DW_FORM_block1 || form == DW_FORM_block;
	if (!good(dies, dwarf_formexprloc(attribute, &len, &at, &error), error) || !len)
		return false;
	return hsnap_die_is_fixed_operator(*(const uint8_t *)at);
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

void hsnap_die_read(struct hsnap_dies *dies, Dwarf_Die die, struct hsnap_die_facts *ret)
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

char **hsnap_die_files(struct hsnap_dies *dies, Dwarf_Die unit, size_t *ret_num, unsigned *ret_base)
{
	char **files = NULL;
	Dwarf_Signed num = 0;
	Dwarf_Error error = NULL;
	Dwarf_Half version = 0, offset_size = 0;
	*ret_num = 0;
	if (!good(dies, dwarf_srcfiles(unit, &files, &num, &error), error) || num < 0)
		return NULL;
	dwarf_get_version_of_die(unit, &version, &offset_size);
	*ret_num = (size_t)num;
	*ret_base = version >= 5 ? 0 : 1;
	return files;
}

void hsnap_die_files_free(struct hsnap_dies *dies, char **files, size_t num)
{
	if (!files)
		return;
	for (size_t i = 0; i < num; i++)
		dwarf_dealloc(dies->dbg, files[i], DW_DLA_STRING);
	dwarf_dealloc(dies->dbg, files, DW_DLA_LIST);
}

bool hsnap_die_next_unit(struct hsnap_dies *dies, bool types, struct hsnap_die_unit *ret, bool *ret_whole)
{
	Dwarf_Unsigned length = 0, type_offset = 0, next = 0;
	Dwarf_Half version = 0, address_size = 0, offset_size = 0, extension = 0, unit_type = 0;
	Dwarf_Off abbreviations = 0;
	Dwarf_Error error = NULL;
	Dwarf_Sig8 signature = { { 0 } };
	*ret = (struct hsnap_die_unit){ 0 };
	int result = dwarf_next_cu_header_d(dies->dbg, !types, &length, &version, &abbreviations, &address_size,
					    &offset_size, &extension, &signature, &type_offset, &next,
					    &unit_type, &error);
	*ret_whole = result != DW_DLV_ERROR;
	if (!good(dies, result, error))
		return false;
	error = NULL;
	if (!good(dies, dwarf_siblingof_b(dies->dbg, NULL, !types, &ret->die, &error), error)) {
		*ret_whole = false;
		return false;
	}
	Dwarf_Off at = 0, in_unit = 0;
	error = NULL;
	if (!good(dies, dwarf_dieoffset(ret->die, &at, &error), error) ||
	    !good(dies, dwarf_die_CU_offset(ret->die, &in_unit, &error), error)) {
		hsnap_die_free(ret->die);
		*ret_whole = false;
		return false;
	}
	ret->start = at - in_unit;
	ret->header = (uint8_t)in_unit;
	ret->version = version;
	if (unit_type == DW_UT_type || unit_type == DW_UT_split_type || types) {
		ret->signature = signature_key(&signature);
		ret->type = hsnap_die_key_in(dies, !types, ret->start + type_offset);
	} else if (unit_type == DW_UT_skeleton || unit_type == DW_UT_split_compile) {
		memcpy(&ret->id, &signature, sizeof(ret->id));
		ret->skeleton = unit_type == DW_UT_skeleton;
	}
	return true;
}

void hsnap_die_read_bases(struct hsnap_dies *dies, Dwarf_Die die, struct hsnap_die_bases *ret)
{
	Dwarf_Attribute *list = NULL;
	Dwarf_Signed num = 0;
	Dwarf_Error error = NULL;
	Dwarf_Addr low = 0;
	*ret = (struct hsnap_die_bases){ 0 };
	if (good(dies, dwarf_lowpc(die, &low, &error), error))
		ret->low_pc = low;
	error = NULL;
	if (!good(dies, dwarf_attrlist(die, &list, &num, &error), error))
		return;
	for (Dwarf_Signed i = 0; i < num; i++) {
		Dwarf_Half what = 0, form = 0;
		Dwarf_Off offset = 0;
		error = NULL;
		if (!good(dies, dwarf_whatattr(list[i], &what, &error), error) ||
		    !good(dies, dwarf_whatform(list[i], &form, &error), error))
			what = 0;
		error = NULL;
		if (what == DW_AT_dwo_name || what == DW_AT_GNU_dwo_name)
			ret->name = read_string(dies, list[i], form);
		else if (what == DW_AT_comp_dir)
			ret->folder = read_string(dies, list[i], form);
		else if (what == DW_AT_addr_base || what == DW_AT_GNU_addr_base || what == DW_AT_GNU_ranges_base ||
			 what == DW_AT_rnglists_base || what == DW_AT_loclists_base)
			offset = good(dies, dwarf_global_formref(list[i], &offset, &error), error) ? offset : UINT64_MAX;
		if (what == DW_AT_GNU_ranges_base || what == DW_AT_rnglists_base)
			ret->ranges = offset;
		else if (what == DW_AT_loclists_base)
			ret->locations = offset;
		else if (what == DW_AT_addr_base || what == DW_AT_GNU_addr_base)
			ret->addresses = offset;
		dwarf_dealloc_attribute(list[i]);
	}
	dwarf_dealloc(dies->dbg, list, DW_DLA_LIST);
}
