/* SPDX-License-Identifier: MIT */
/* sound.c - what of a file's debug info libdwarf (20210528) can be trusted with. */
#include "capture/symbols/sound.h"

#include <libdwarf/dwarf.h>

#include "snapshot/base/bytes.h"

struct hsnap_unit_kinds hsnap_sound_unit_kinds(struct hsnap_elf *elf)
{
	struct hsnap_unit_kinds kinds = { .types = hsnap_elf_find(elf, ".debug_types") || hsnap_elf_find(elf, ".zdebug_types") };
	struct hsnap_elf_section *section = hsnap_elf_find(elf, ".debug_info");
	uint64_t size;
	const uint8_t *bytes = hsnap_elf_section_bytes(elf, section ? section : hsnap_elf_find(elf, ".zdebug_info"), &size);
	if (!bytes)
		return kinds;
	struct hsnap_bytes b = hsnap_bytes(bytes, size);
	while (hsnap_bytes_left(&b)) {
		uint64_t length = hsnap_bytes_u32(&b);
		if (length == UINT32_MAX)
			length = hsnap_bytes_u64(&b);
		struct hsnap_bytes unit = b;
		uint16_t version = hsnap_bytes_u16(&unit);
		uint8_t type = hsnap_bytes_u8(&unit);
		/* GNU's way of DWARF 4 marks them by an attribute: here by what they cannot be without. */
		kinds.skeletons |= version == 4 && hsnap_elf_find(elf, ".debug_addr");
		if (version == 5 && !unit.bad) {
			kinds.skeletons |= type == DW_UT_skeleton;
			kinds.types |= type == DW_UT_type;
			kinds.halves |= type == DW_UT_split_compile || type == DW_UT_split_type || !type ||
					type > DW_UT_split_type;
		}
		if (!hsnap_bytes_get(&b, length))
			break;
	}
	return kinds;
}
