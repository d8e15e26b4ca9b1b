/* SPDX-License-Identifier: MIT */
/* elf_image.c - headers, build ids and exported symbols of modules that nobody vouches for. */
#include "capture/target/elf_image.h"

#include <string.h>

#include "capture/target/target.h"

#define PAGE_MASK (~(uint64_t)4095)
#define MAX_NOTES 65536
#define MAX_DYNAMIC 512
#define MAX_SYMBOLS (1u << 20)
#define MAX_CHAIN 1024u /* symbols looked at for a name: a few, unless the table is made to take long */

const Elf64_Phdr *hsnap_elf_segment(const struct hsnap_elf *elf, uint32_t type)
{
	for (size_t i = 0; i < elf->num_segments; i++)
		if (elf->segments[i].p_type == type)
			return &elf->segments[i];
	return NULL;
}

/* The span of all PT_LOAD segments; false where they make no sense. */
static bool find_span(struct hsnap_elf *elf)
{
	elf->first = UINT64_MAX;
	for (size_t i = 0; i < elf->num_segments; i++) {
		const Elf64_Phdr *load = &elf->segments[i];
		uint64_t end;
		if (load->p_type != PT_LOAD)
			continue;
		if (__builtin_add_overflow(load->p_vaddr, load->p_memsz, &end) || end > INT64_MAX)
			return false;
		if ((load->p_vaddr & PAGE_MASK) < elf->first)
			elf->first = load->p_vaddr & PAGE_MASK;
		if (end > elf->end)
			elf->end = end;
	}
	return elf->first < elf->end;
}

bool hsnap_elf_read(hsnap_elf_reader read, void *context, struct hsnap_elf *ret)
{
	Elf64_Ehdr head;
	*ret = (struct hsnap_elf){ 0 };
	if (read(context, 0, &head, sizeof(head)) < sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
	    head.e_machine != EM_X86_64 || head.e_phentsize != sizeof(Elf64_Phdr) || !head.e_phnum ||
	    head.e_phnum > HSNAP_MAX_SEGMENTS)
		return false;
	ret->type = head.e_type;
	ret->num_segments = head.e_phnum;
	size_t size = head.e_phnum * sizeof(Elf64_Phdr);
	return read(context, head.e_phoff, ret->segments, size) == size && find_span(ret);
}

static bool find_build_id(const uint8_t *notes, size_t size, size_t align, struct hsnap_elf *elf)
{
	for (size_t at = 0; size - at >= sizeof(Elf64_Nhdr);) {
		Elf64_Nhdr note;
		memcpy(&note, notes + at, sizeof(note));
		size_t name = at + sizeof(note);
		if (note.n_namesz > size || note.n_descsz > size)
			return false;
		size_t value = (name + note.n_namesz + align - 1) & ~(align - 1);
		if (value > size || note.n_descsz > size - value)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(notes + name, "GNU", 4) &&
		    note.n_descsz && note.n_descsz <= sizeof(elf->build_id)) {
			memcpy(elf->build_id, notes + value, note.n_descsz);
			elf->build_id_size = (uint8_t)note.n_descsz;
			return true;
		}
		at = (value + note.n_descsz + align - 1) & ~(align - 1);
		if (at > size)
			return false;
	}
	return false;
}

bool hsnap_elf_build_id(hsnap_elf_reader read, void *context, bool mapped, struct hsnap_elf *elf)
{
	for (size_t i = 0; i < elf->num_segments; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];
		uint8_t notes[4096];
		if (segment->p_type != PT_NOTE || segment->p_filesz > MAX_NOTES)
			continue;
		size_t size = segment->p_filesz < sizeof(notes) ? (size_t)segment->p_filesz : sizeof(notes);
		uint64_t offset = mapped ? segment->p_vaddr - elf->first : segment->p_offset;
		if (read(context, offset, notes, size) == size &&
		    find_build_id(notes, size, segment->p_align == 8 ? 8 : 4, elf))
			return true;
	}
	return false;
}

/* Addresses out of a dynamic section; glibc has relocated them in place, others have not. */
struct tables {
	uint64_t symbols, strings, strings_size, hash, gnu_hash;
};

static bool read_dynamic(const struct hsnap_target *target, const struct hsnap_target_module *module,
			 struct tables *ret)
{
	*ret = (struct tables){ 0 };
	uint64_t at = module->dynamic;
	for (int i = 0; at && i < MAX_DYNAMIC; i++, at += sizeof(Elf64_Dyn)) {
		Elf64_Dyn entry;
		if (hsnap_target_read(target, at, &entry, sizeof(entry), NULL) || entry.d_tag == DT_NULL)
			break;
		uint64_t value = entry.d_un.d_ptr;
		uint64_t address = value < module->start ? value + module->bias : value;
		switch (entry.d_tag) {
		case DT_SYMTAB: ret->symbols = address; break;
		case DT_STRTAB: ret->strings = address; break;
		case DT_STRSZ: ret->strings_size = value; break;
		case DT_HASH: ret->hash = address; break;
		case DT_GNU_HASH: ret->gnu_hash = address; break;
		default: break;
		}
	}
	return ret->symbols && ret->strings && (ret->hash || ret->gnu_hash);
}

static bool is_symbol(const struct hsnap_target *target, const struct hsnap_target_module *module,
		      const struct tables *tables, uint32_t index, const char *name, uint64_t *ret)
{
	Elf64_Sym symbol;
	char text[256];
	size_t len = strlen(name) + 1;
	if (index >= MAX_SYMBOLS || len > sizeof(text) ||
	    hsnap_target_read(target, tables->symbols + index * sizeof(symbol), &symbol, sizeof(symbol), NULL) ||
	    symbol.st_shndx == SHN_UNDEF || symbol.st_name >= tables->strings_size ||
	    hsnap_target_read(target, tables->strings + symbol.st_name, text, len, NULL) || memcmp(text, name, len))
		return false;
	*ret = module->bias + symbol.st_value;
	return true;
}

static bool word32(const struct hsnap_target *target, uint64_t address, uint32_t *ret)
{
	return !hsnap_target_read(target, address, ret, sizeof(*ret), NULL);
}

/* The layout of DT_GNU_HASH: binutils 2.18, bfd/elflink.c; glibc 2.36, elf/dl-lookup.c. */
static bool find_gnu(const struct hsnap_target *target, const struct hsnap_target_module *module,
		     const struct tables *tables, const char *name, uint64_t *ret)
{
	uint32_t head[4], hash = 5381, index, entry;
	for (const char *c = name; *c; c++)
		hash = hash * 33 + (uint8_t)*c;
	if (hsnap_target_read(target, tables->gnu_hash, head, sizeof(head), NULL) || !head[0] ||
	    head[0] > MAX_SYMBOLS || head[2] > MAX_SYMBOLS)
		return false;
	uint64_t buckets = tables->gnu_hash + sizeof(head) + (uint64_t)head[2] * 8;
	uint64_t chain = buckets + (uint64_t)head[0] * 4;
	if (!word32(target, buckets + (uint64_t)(hash % head[0]) * 4, &index) || index < head[1])
		return false;
	for (unsigned i = 0; i < MAX_CHAIN && word32(target, chain + (uint64_t)(index - head[1]) * 4, &entry); i++, index++) {
		if ((entry | 1) == (hash | 1) && is_symbol(target, module, tables, index, name, ret))
			return true;
		if (entry & 1)
			break;
	}
	return false;
}

/* System V ABI, chapter 5, hash table. */
static uint32_t hash_of(const char *name)
{
	uint32_t hash = 0;
	for (const char *c = name; *c; c++) {
		hash = (hash << 4) + (uint8_t)*c;
		hash ^= hash >> 24 & 0xf0;
	}
	return hash & 0xfffffff;
}

static bool find_sysv(const struct hsnap_target *target, const struct hsnap_target_module *module,
		      const struct tables *tables, const char *name, uint64_t *ret)
{
	uint32_t head[2], index;
	if (hsnap_target_read(target, tables->hash, head, sizeof(head), NULL) || !head[0] || head[0] > MAX_SYMBOLS)
		return false;
	uint64_t buckets = tables->hash + sizeof(head), chains = buckets + (uint64_t)head[0] * 4;
	bool more = word32(target, buckets + (uint64_t)(hash_of(name) % head[0]) * 4, &index);
	for (unsigned i = 0; i < MAX_CHAIN && more && index; i++) {
		if (is_symbol(target, module, tables, index, name, ret))
			return true;
		more = word32(target, chains + (uint64_t)index * 4, &index);
	}
	return false;
}

bool hsnap_module_symbol(const struct hsnap_target *target, const struct hsnap_target_module *module,
			 const char *name, uint64_t *ret)
{
	struct tables tables;
	if (!read_dynamic(target, module, &tables))
		return false;
	return tables.gnu_hash ? find_gnu(target, module, &tables, name, ret)
			       : find_sysv(target, module, &tables, name, ret);
}

void hsnap_module_names(const struct hsnap_target *target, const struct hsnap_target_module *module, uint64_t *ret_start,
			uint64_t *ret_end)
{
	struct tables tables;
	*ret_start = *ret_end = 0;
	if (read_dynamic(target, module, &tables) && !__builtin_add_overflow(tables.strings, tables.strings_size, ret_end))
		*ret_start = tables.strings;
	else
		*ret_end = 0;
}
