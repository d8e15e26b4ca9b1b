/* SPDX-License-Identifier: MIT */
/*
 * plt.c - calls that a library makes to functions of its own by way of the linkage table.
 *
 * What a library exports it calls so, since another module may have a function of that name.  The stub jumps to
 * where a word of the global offset table says, and a relocation says of which symbol that is to be the address
 * (System V psABI x86-64 1.0, 4.4 and 5.2).  Where the symbol is defined here, its code is what the program's
 * author called.
 */
#include <string.h>

#include "capture/symbols/reader.h"
#include "capture/symbols/steps.h"
#include "snapshot/base/search.h"

static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa }, bnd = 0xf2, jump_by_slot[] = { 0xff, 0x25 };

static int compare_slots(const void *a, const void *b)
{
	const struct hsnap_plt_slot *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

static void add_slot(struct hsnap_reader *reader, const Elf64_Rela *rela, const uint8_t *symbols, uint64_t num_symbols)
{
	Elf64_Sym symbol;
	uint64_t number = ELF64_R_SYM(rela->r_info);
	uint32_t type = ELF64_R_TYPE(rela->r_info);
	if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) || number >= num_symbols)
		return;
	memcpy(&symbol, symbols + number * sizeof(symbol), sizeof(symbol));
	if (symbol.st_shndx == SHN_UNDEF || !symbol.st_value || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC)
		return;
	if (!hsnap_vec_push(&reader->plt, (struct hsnap_plt_slot){ rela->r_offset, symbol.st_value }))
		hsnap_table_no_memory(reader);
}

static void load(struct hsnap_reader *reader)
{
	struct hsnap_elf *elf = reader->program;
	reader->plt_tried = true;
	for (size_t i = 0; i < elf->num_sections; i++) {
		struct hsnap_elf_section *table = &elf->sections[i];
		uint64_t size, symbols_size;
		if (table->type != SHT_RELA || !(table->flags & SHF_ALLOC) || table->link >= elf->num_sections)
			continue;
		const uint8_t *at = hsnap_elf_section_bytes(elf, table, &size);
		const uint8_t *symbols = hsnap_elf_section_bytes(elf, &elf->sections[table->link], &symbols_size);
		for (; at && symbols && size >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela), size -= sizeof(Elf64_Rela)) {
			Elf64_Rela rela;
			memcpy(&rela, at, sizeof(rela));
			add_slot(reader, &rela, symbols, symbols_size / sizeof(Elf64_Sym));
		}
	}
	if (reader->plt.num)
		qsort(reader->plt.items, reader->plt.num, sizeof(*reader->plt.items), compare_slots);
}

/* The word by which the code there jumps on, if that is all that it does; else 0. */
static uint64_t slot_of_stub(const struct hsnap_elf *elf, uint64_t address)
{
	size_t left;
	const uint8_t *at = hsnap_elf_at(elf, address, &left), *start = at;
	if (at && left > sizeof(endbr64) && !memcmp(at, endbr64, sizeof(endbr64)))
		at += sizeof(endbr64);
	if (at && left > (size_t)(at - start) && *at == bnd)
		at++;
	int32_t displacement;
	size_t need = (size_t)(at - start) + sizeof(jump_by_slot) + sizeof(displacement);
	if (!at || left < need || memcmp(at, jump_by_slot, sizeof(jump_by_slot)))
		return 0;
	memcpy(&displacement, at + sizeof(jump_by_slot), sizeof(displacement));
	return address + need + (uint64_t)(int64_t)displacement;
}

uint64_t hsnap_plt_target(struct hsnap_reader *reader, const struct hsnap_step *step)
{
	bool by_slot = !step->target && step->memory.base == HSNAP_REG_PC && step->memory.index == HSNAP_STEP_NONE;
	if (!step->target && !by_slot)
		return 0;
	if (!reader->plt_tried)
		load(reader);
	if (!reader->plt.num)
		return step->target;
	uint64_t slot = by_slot ? (uint64_t)step->memory.displacement : slot_of_stub(reader->program, step->target);
	size_t i = slot ? hsnap_first(reader->plt.num, n, reader->plt.items[n].address >= slot) : reader->plt.num;
	return i < reader->plt.num && reader->plt.items[i].address == slot ? reader->plt.items[i].function : step->target;
}
