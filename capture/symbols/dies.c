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

bool hsnap_die_in_unit(struct hsnap_dies *dies, Dwarf_Die die, uint64_t *ret_start, uint64_t *ret_in_unit)
{
	Dwarf_Off at = 0, in_unit = 0;
	Dwarf_Error error = NULL;
	if (!good(dies, dwarf_dieoffset(die, &at, &error), error))
		return false;
	error = NULL;
	if (!good(dies, dwarf_die_CU_offset(die, &in_unit, &error), error))
		return false;
	*ret_start = at - in_unit;
	*ret_in_unit = in_unit;
	return true;
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

static hsnap_die_key signature_key(const Dwarf_Sig8 *signature)
{
	uint64_t bits;
	memcpy(&bits, signature, sizeof(bits));
	return hsnap_die_key_of(HSNAP_DIE_SIGNATURE, bits);
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
	uint64_t in_unit;
	if (!hsnap_die_in_unit(dies, ret->die, &ret->start, &in_unit)) {
		hsnap_die_free(ret->die);
		*ret_whole = false;
		return false;
	}
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
