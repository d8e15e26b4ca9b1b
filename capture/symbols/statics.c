/* SPDX-License-Identifier: MIT */
/*
 * statics.c - which functions hold variables with a fixed place.
 *
 * Entering every function to look for its statics would double the time of the
 * whole index.  Their locations are recognised in the raw bytes instead: an
 * address operator with an address of writable memory, or a thread-local
 * operator behind a number.  A false hit costs the walk of one function.
 */
#include <string.h>

#include "capture/symbols/reader.h"

static bool looks_fixed(const struct hsnap_elf *program, const uint8_t *at, size_t left)
{
	uint64_t value = 0;
	switch (at[0]) {
	case DW_OP_addr:
		if (left < 9)
			return false;
		memcpy(&value, at + 1, 8);
		return hsnap_elf_writable(program, value);
	case DW_OP_const8u:
		return left >= 10 && (at[9] == DW_OP_form_tls_address || at[9] == DW_OP_GNU_push_tls_address);
	case DW_OP_const4u:
		return left >= 6 && (at[5] == DW_OP_form_tls_address || at[5] == DW_OP_GNU_push_tls_address);
	default:
		return false;
	}
}

/* By index into .debug_addr: the expression's length before it must fit, or a piece's begins behind it. */
static bool looks_indexed(const uint8_t *bytes, size_t at, size_t size)
{
	bool address = bytes[at] == DW_OP_addrx || bytes[at] == DW_OP_GNU_addr_index;
	bool number = bytes[at] == DW_OP_constx || bytes[at] == DW_OP_GNU_const_index; /* thread-local ones */
	if (!address && !number)
		return false;
	if (at && bytes[at - 1] >= 2 && bytes[at - 1] <= 4 + number)
		return true;
	size_t behind = at + 1;
	while (behind < size && behind < at + 4 && bytes[behind] & 0x80)
		behind++;
	behind += 1 + (size_t)number;
	return behind < size && bytes[behind] == DW_OP_piece;
}

static void walk_file(struct hsnap_reader *reader, struct hsnap_dies *dies, hsnap_die_key start)
{
	struct hsnap_elf *elf = dies->elf;
	struct hsnap_elf_section *section = hsnap_elf_find(elf, ".debug_info");
	uint64_t size;
	const uint8_t *bytes = hsnap_elf_section_bytes(elf, section ? section : hsnap_elf_find(elf, ".zdebug_info"), &size);
	bool indexed = hsnap_elf_find(elf, ".debug_addr") || hsnap_elf_find(elf, ".zdebug_addr");
	for (uint64_t at = 0; bytes && at < size && !reader->no_memory; at++) {
		if (!looks_fixed(reader->program, bytes + at, size - at) && !(indexed && looks_indexed(bytes, at, size)))
			continue;
		struct hsnap_raw_function *function =
			hsnap_table_function(reader, start + at);
		if (function)
			hsnap_index_walk_function(reader, function, 0);
	}
}

void hsnap_statics_walk(struct hsnap_reader *reader)
{
	walk_file(reader, reader->dies, hsnap_die_key_of(HSNAP_DIE_INFO, 0));
	for (uint64_t i = 0; i < reader->split.halves.num; i++)
		walk_file(reader, &reader->split.halves.items[i]->dies, hsnap_die_key_of(HSNAP_DIE_SPLIT, i << HSNAP_DIE_SPLIT_SHIFT));
}
