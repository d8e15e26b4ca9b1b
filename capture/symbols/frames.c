/* SPDX-License-Identifier: MIT */
/* frames.c - the canonical frame address at a PC, from the module's call-frame information. */
#include "capture/symbols/pcs.h"

#include "capture/target/regs.h"

/* The list of all entries, read at the first question. */
static bool load_entries(struct hsnap_reader *reader)
{
	Dwarf_Error error = NULL;
	if (reader->cfi_tried)
		return reader->fdes != NULL;
	reader->cfi_tried = true;
	if (!reader->frames)
		return false;
	Dwarf_Debug dbg = reader->frames->dbg;
	dwarf_set_frame_cfa_value(dbg, DW_FRAME_CFA_COL3);
	dwarf_set_frame_rule_table_size(dbg, HSNAP_NUM_REGS);
	if (dwarf_get_fde_list_eh(dbg, &reader->cies, &reader->num_cies, &reader->fdes, &reader->num_fdes, &error) ==
	    DW_DLV_OK)
		return true;
	if (error)
		dwarf_dealloc_error(dbg, error);
	reader->fdes = NULL;
	return false;
}

void hsnap_pcs_cfa_free(struct hsnap_reader *reader)
{
	if (reader->fdes)
		dwarf_fde_cie_list_dealloc(reader->frames->dbg, reader->cies, reader->num_cies, reader->fdes,
					   reader->num_fdes);
	reader->fdes = NULL;
}

struct hsnap_cfa hsnap_pcs_cfa(struct hsnap_reader *reader, uint64_t address)
{
	struct hsnap_cfa cfa = { 0 };
	Dwarf_Fde fde = NULL;
	Dwarf_Addr low = 0, high = 0, row = 0, next = 0;
	Dwarf_Error error = NULL;
	Dwarf_Small kind = 0;
	Dwarf_Signed relevant = 0, number = 0, offset = 0;
	Dwarf_Ptr block = NULL;
	Dwarf_Bool more = 0;
	if (!load_entries(reader))
		return cfa;
	if (dwarf_get_fde_at_pc(reader->fdes, address, &fde, &low, &high, &error) == DW_DLV_OK &&
	    dwarf_get_fde_info_for_cfa_reg3_b(fde, address, &kind, &relevant, &number, &offset, &block, &row, &more,
					      &next, &error) == DW_DLV_OK &&
	    kind == DW_EXPR_OFFSET && number >= 0 && number < HSNAP_REG_PC) {
		cfa.known = true;
		cfa.number = (uint8_t)number;
		cfa.offset = relevant ? offset : 0;
	}
	if (error)
		dwarf_dealloc_error(reader->frames->dbg, error);
	return cfa;
}
