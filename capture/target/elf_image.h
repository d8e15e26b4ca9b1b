/* SPDX-License-Identifier: MIT */
/*
 * elf_image.h - the few ELF structures that tell where a module lies (64-bit, little endian).
 *
 * Every count and offset is checked; reading goes through a function, so that
 * the same code looks at a file and at a mapped image.
 */
#ifndef HSNAP_CAPTURE_TARGET_ELF_IMAGE_H
#define HSNAP_CAPTURE_TARGET_ELF_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hsnap_target;
struct hsnap_target_module;

#define HSNAP_MAX_SEGMENTS 64

/* Bytes at an offset from the first byte of the file or image; returns how many could be had. */
typedef size_t (*hsnap_elf_reader)(void *context, uint64_t offset, void *to, size_t len);

struct hsnap_elf {
	uint16_t type;
	uint16_t num_segments;
	Elf64_Phdr segments[HSNAP_MAX_SEGMENTS];
	uint64_t first; /* page of the lowest address of any PT_LOAD; an image starts there */
	uint64_t end;   /* end of the highest */
	uint8_t build_id[32];
	uint8_t build_id_size;
};

/* The headers; false: not a 64-bit x86-64 ELF file, or a broken one. */
bool hsnap_elf_read(hsnap_elf_reader read, void *context, struct hsnap_elf *ret);
/* Find the build id in the notes, by address in a mapped image, else by file offset. */
bool hsnap_elf_build_id(hsnap_elf_reader read, void *context, bool mapped, struct hsnap_elf *elf);
/* The first segment of a type, or NULL. */
const Elf64_Phdr *hsnap_elf_segment(const struct hsnap_elf *elf, uint32_t type);

/*
 * The address of an exported symbol of a module, by its dynamic symbol table; false: none.
 * O(symbols) at worst: ask once and keep the answer.
 */
bool hsnap_module_symbol(const struct hsnap_target *target, const struct hsnap_target_module *module,
			 const char *name, uint64_t *ret);

/* Where the names of the symbols of a module's dynamic table stand; both 0: nowhere. */
void hsnap_module_names(const struct hsnap_target *target, const struct hsnap_target_module *module, uint64_t *ret_start,
			uint64_t *ret_end);

#endif
