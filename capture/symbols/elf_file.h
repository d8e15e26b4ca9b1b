/* SPDX-License-Identifier: MIT */
/*
 * elf_file.h - the sections, segments and symbols of one ELF file in memory.
 *
 * x86-64, little endian, 64 bits only.  The bytes are hostile: nothing is used
 * before it was checked against what there is.
 */
#ifndef HSNAP_CAPTURE_SYMBOLS_ELF_FILE_H
#define HSNAP_CAPTURE_SYMBOLS_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/base/error.h"

struct hsnap_elf_section {
	const char *name; /* NUL-terminated within the file; "" where it has none */
	uint64_t address, offset, size, flags, entry_size;
	uint32_t type, link, info;
	uint8_t *inflated; /* ours; the bytes of a compressed section once they were asked for */
	const uint8_t *elsewhere; /* borrowed, or NULL: its bytes are not in the file but here (split.c) */
	bool broken;       /* does not lie within the file, or does not inflate */
};

struct hsnap_elf_segment {
	uint64_t address, memory_size, offset, file_size;
	uint32_t flags; /* PF_R, PF_W, PF_X */
};

struct hsnap_elf {
	const uint8_t *bytes; /* borrowed */
	size_t size;
	struct hsnap_elf_section *sections;
	size_t num_sections;
	struct hsnap_elf_segment segments[64]; /* PT_LOAD */
	size_t num_segments;
	uint64_t tls_address, tls_size; /* PT_TLS, 0: none */
	uint8_t build_id[32];
	uint8_t build_id_size;
	bool mapped; /* set by whoever knows: the bytes are a file's, and come back when they are let go */
};

HSNAP_CHECKED enum hsnap_code hsnap_elf_init(struct hsnap_elf *elf, const void *bytes, size_t size,
					     struct hsnap_error *err);
void hsnap_elf_deinit(struct hsnap_elf *elf);

/* A file that is no file: sections whose bytes are elsewhere.  false: out of memory, or no room. */
bool hsnap_elf_add_section(struct hsnap_elf *elf, const char *name, const uint8_t *bytes, uint64_t size);

/* The section of that name, or NULL. */
struct hsnap_elf_section *hsnap_elf_find(struct hsnap_elf *elf, const char *name);
/* How many bytes it has, inflated; 0: none. */
uint64_t hsnap_elf_section_size(const struct hsnap_elf *elf, const struct hsnap_elf_section *section);
/* Is it compressed in a way that is not read here (zstd)? */
bool hsnap_elf_unreadable(const struct hsnap_elf *elf, const struct hsnap_elf_section *section);
/* Its bytes, inflated where it is compressed; NULL where it has none in this file or is broken. */
const uint8_t *hsnap_elf_section_bytes(struct hsnap_elf *elf, struct hsnap_elf_section *section,
				       uint64_t *ret_size);
/* The file's bytes that are loaded at an address of its headers, and how many follow; or NULL. */
const uint8_t *hsnap_elf_at(const struct hsnap_elf *elf, uint64_t address, size_t *ret_left);
/* Would a variable at this address of the headers be writable memory? */
bool hsnap_elf_writable(const struct hsnap_elf *elf, uint64_t address);

/* .gnu_debuglink: the name of the debug file and its CRC; .gnu_debugaltlink: name and build id. */
bool hsnap_elf_debuglink(struct hsnap_elf *elf, const char **ret_name, uint32_t *ret_crc);
bool hsnap_elf_altlink(struct hsnap_elf *elf, const char **ret_name, const uint8_t **ret_id,
		       size_t *ret_id_size);

/* Call `see` for each symbol of .symtab, else of .dynsym, until it answers false. */
void hsnap_elf_symbols(struct hsnap_elf *elf, bool dynamic,
		       bool (*see)(void *context, const Elf64_Sym *symbol, const char *name),
		       void *context);

/* Is it the C library, or its loader?  Every program has these two, and blocks that they have for themselves are few. */
bool hsnap_elf_is_c_library(struct hsnap_elf *elf);

#endif
