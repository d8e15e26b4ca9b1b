/* SPDX-License-Identifier: MIT */
/* elf_file.c - the sections, segments and symbols of one ELF file in memory. */
#include "capture/symbols/elf_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#define MAX_ADDED 16 /* sections of a file that is no file */
#define MAX_INFLATED (UINT64_C(2) << 30) /* a larger section is somebody's bomb */

/* len bytes at offset of the file, or NULL. */
static const void *file_at(const struct hsnap_elf *elf, uint64_t offset, uint64_t len)
{
	if (offset > elf->size || len > elf->size - offset)
		return NULL;
	return elf->bytes + offset;
}

/* NUL-terminated text at `at` of the bytes, or "". */
static const char *text_at(const uint8_t *bytes, uint64_t size, uint64_t at)
{
	if (!bytes || at >= size || !memchr(bytes + at, 0, size - at))
		return "";
	return (const char *)bytes + at;
}

static void read_build_id(struct hsnap_elf *elf, uint64_t offset, uint64_t size)
{
	const uint8_t *at = file_at(elf, offset, size);
	while (at && size >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		memcpy(&note, at, sizeof(note));
		uint64_t name = (note.n_namesz + UINT64_C(3)) & ~UINT64_C(3);
		uint64_t desc = (note.n_descsz + UINT64_C(3)) & ~UINT64_C(3);
		if (name > size - sizeof(note) || desc > size - sizeof(note) - name)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz &&
		    note.n_descsz <= sizeof(elf->build_id) && !memcmp(at + sizeof(note), "GNU", 4)) {
			memcpy(elf->build_id, at + sizeof(note) + name, note.n_descsz);
			elf->build_id_size = (uint8_t)note.n_descsz;
			return;
		}
		at += sizeof(note) + name + desc;
		size -= sizeof(note) + name + desc;
	}
}

static void read_segments(struct hsnap_elf *elf, const Elf64_Ehdr *header)
{
	for (unsigned i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr ph;
		const void *at = file_at(elf, header->e_phoff + i * sizeof(ph), sizeof(ph));
		if (!at || header->e_phentsize != sizeof(ph))
			return;
		memcpy(&ph, at, sizeof(ph));
		if (ph.p_type == PT_NOTE && !elf->build_id_size)
			read_build_id(elf, ph.p_offset, ph.p_filesz);
		if (ph.p_type == PT_TLS) {
			elf->tls_address = ph.p_vaddr;
			elf->tls_size = ph.p_memsz;
		}
		if (ph.p_type != PT_LOAD || ph.p_vaddr + ph.p_memsz < ph.p_vaddr ||
		    elf->num_segments == sizeof(elf->segments) / sizeof(*elf->segments))
			continue;
		elf->segments[elf->num_segments++] = (struct hsnap_elf_segment){
			.address = ph.p_vaddr,
			.memory_size = ph.p_memsz,
			.offset = ph.p_offset,
			.file_size = ph.p_filesz < ph.p_memsz ? ph.p_filesz : ph.p_memsz,
			.flags = ph.p_flags,
		};
	}
}

/* The name table's index may lie beyond 16 bits: ELF gABI, e_shstrndx and SHN_XINDEX. */
static enum hsnap_code read_sections(struct hsnap_elf *elf, const Elf64_Ehdr *header,
				     struct hsnap_error *err)
{
	if (!header->e_shoff)
		return HSNAP_OK;
	Elf64_Shdr first;
	const uint8_t *table = file_at(elf, header->e_shoff, sizeof(first));
	if (!table || header->e_shentsize != sizeof(first))
		return hsnap_fail(err, HSNAP_FORMAT, header->e_shoff, "section table outside the file");
	memcpy(&first, table, sizeof(first));
	uint64_t num = header->e_shnum ? header->e_shnum : first.sh_size;
	uint64_t names = header->e_shstrndx == SHN_XINDEX ? first.sh_link : header->e_shstrndx;
	if (num > UINT16_MAX || !file_at(elf, header->e_shoff, num * sizeof(first)))
		return hsnap_fail(err, HSNAP_FORMAT, header->e_shoff, "section table outside the file");

	elf->sections = calloc(num ? num : 1, sizeof(*elf->sections));
	if (!elf->sections)
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	elf->num_sections = num;
	Elf64_Shdr strings = { 0 };
	if (names < num)
		memcpy(&strings, table + names * sizeof(strings), sizeof(strings));
	const uint8_t *text = strings.sh_type == SHT_NOBITS
				      ? NULL : file_at(elf, strings.sh_offset, strings.sh_size);
	for (size_t i = 0; i < num; i++) {
		Elf64_Shdr sh;
		memcpy(&sh, table + i * sizeof(sh), sizeof(sh));
		elf->sections[i] = (struct hsnap_elf_section){
			.name = text_at(text, strings.sh_size, sh.sh_name),
			.address = sh.sh_addr, .offset = sh.sh_offset, .size = sh.sh_size,
			.flags = sh.sh_flags, .entry_size = sh.sh_entsize,
			.type = sh.sh_type, .link = sh.sh_link, .info = sh.sh_info,
			.broken = sh.sh_type != SHT_NOBITS && !file_at(elf, sh.sh_offset, sh.sh_size),
		};
		if (sh.sh_type == SHT_NOTE && !elf->build_id_size)
			read_build_id(elf, sh.sh_offset, sh.sh_size);
	}
	return HSNAP_OK;
}

enum hsnap_code hsnap_elf_init(struct hsnap_elf *elf, const void *bytes, size_t size,
			       struct hsnap_error *err)
{
	*elf = (struct hsnap_elf){ .bytes = bytes, .size = size };
	Elf64_Ehdr header;
	if (size < sizeof(header))
		return hsnap_fail(err, HSNAP_FORMAT, 0, "too short for an ELF file");
	memcpy(&header, bytes, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != EM_X86_64)
		return hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "not an ELF file for x86-64");
	read_segments(elf, &header);
	return read_sections(elf, &header, err);
}

void hsnap_elf_deinit(struct hsnap_elf *elf)
{
	if (!elf)
		return;
	for (size_t i = 0; i < elf->num_sections; i++)
		free(elf->sections[i].inflated);
	free(elf->sections);
	*elf = (struct hsnap_elf){ 0 };
}

bool hsnap_elf_add_section(struct hsnap_elf *elf, const char *name, const uint8_t *bytes, uint64_t size)
{
	if (!elf->sections && !(elf->sections = calloc(MAX_ADDED, sizeof(*elf->sections))))
		return false;
	if (elf->num_sections == MAX_ADDED)
		return false;
	elf->sections[elf->num_sections++] = (struct hsnap_elf_section){
		.name = name, .elsewhere = bytes, .size = size, .type = SHT_PROGBITS };
	return true;
}

struct hsnap_elf_section *hsnap_elf_find(struct hsnap_elf *elf, const char *name)
{
	for (size_t i = 0; i < elf->num_sections; i++)
		if (!strcmp(elf->sections[i].name, name))
			return &elf->sections[i];
	return NULL;
}

/*
 * The size of a compressed section once it is inflated, 0 where that cannot be, and the size of
 * its header: Elf64_Chdr, or "ZLIB" and a big-endian size (.zdebug_).
 */
static uint64_t size_inflated(const struct hsnap_elf *elf, const struct hsnap_elf_section *section,
			      uint64_t *ret_header)
{
	const uint8_t *at = elf->bytes + section->offset;
	uint64_t size = 0;
	if (section->flags & SHF_COMPRESSED) {
		Elf64_Chdr ch;
		*ret_header = sizeof(ch);
		if (section->size < sizeof(ch))
			return 0;
		memcpy(&ch, at, sizeof(ch));
		size = ch.ch_type == ELFCOMPRESS_ZLIB ? ch.ch_size : 0;
	} else {
		*ret_header = 12;
		if (section->size < 12 || memcmp(at, "ZLIB", 4))
			return 0;
		for (int i = 4; i < 12; i++)
			size = size << 8 | at[i];
	}
	/* zlib cannot make more than 1,032 bytes of one. */
	return size > MAX_INFLATED || size / 1032 > section->size ? 0 : size;
}

/* What has been inflated is not needed as it was: half of all memory, where debug info is compressed. */
static void let_go(const struct hsnap_elf *elf, const struct hsnap_elf_section *section)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = ((uintptr_t)elf->bytes + section->offset + page - 1) & ~(page - 1);
	uintptr_t end = ((uintptr_t)elf->bytes + section->offset + section->size) & ~(page - 1);
	if (elf->mapped && start < end)
		madvise((void *)start, end - start, MADV_DONTNEED);
}

static bool inflate_section(struct hsnap_elf *elf, struct hsnap_elf_section *section)
{
	uint64_t header, size = size_inflated(elf, section, &header);
	uint8_t *to = size ? malloc(size) : NULL;
	uLongf got = size;
	if (!to || uncompress(to, &got, elf->bytes + section->offset + header, section->size - header) != Z_OK ||
	    got != size) {
		free(to);
		return false;
	}
	section->inflated = to;
	let_go(elf, section);
	return true;
}

static bool is_packed(const struct hsnap_elf_section *section)
{
	return section->flags & SHF_COMPRESSED || !strncmp(section->name, ".zdebug_", 8);
}

bool hsnap_elf_unreadable(const struct hsnap_elf *elf, const struct hsnap_elf_section *section)
{
	Elf64_Chdr ch;
	if (!section || section->broken || !(section->flags & SHF_COMPRESSED) || section->size < sizeof(ch))
		return false;
	memcpy(&ch, elf->bytes + section->offset, sizeof(ch));
	return ch.ch_type != ELFCOMPRESS_ZLIB;
}

uint64_t hsnap_elf_section_size(const struct hsnap_elf *elf, const struct hsnap_elf_section *section)
{
	uint64_t header;
	if (section && section->elsewhere)
		return section->size;
	if (!section || section->broken || section->type == SHT_NOBITS)
		return 0;
	return is_packed(section) ? size_inflated(elf, section, &header) : section->size;
}

const uint8_t *hsnap_elf_section_bytes(struct hsnap_elf *elf, struct hsnap_elf_section *section,
				       uint64_t *ret_size)
{
	*ret_size = hsnap_elf_section_size(elf, section);
	if (!*ret_size)
		return NULL;
	if (section->elsewhere)
		return section->elsewhere;
	if (!is_packed(section))
		return elf->bytes + section->offset;
	if (!section->inflated && !inflate_section(elf, section)) {
		section->broken = true;
		*ret_size = 0;
	}
	return section->inflated;
}

const uint8_t *hsnap_elf_at(const struct hsnap_elf *elf, uint64_t address, size_t *ret_left)
{
	for (size_t i = 0; i < elf->num_segments; i++) {
		const struct hsnap_elf_segment *s = &elf->segments[i];
		if (address < s->address || address - s->address >= s->file_size)
			continue;
		uint64_t into = address - s->address, left = s->file_size - into;
		if (s->offset > elf->size || into > elf->size - s->offset)
			return NULL;
		if (left > elf->size - s->offset - into)
			left = elf->size - s->offset - into;
		*ret_left = left;
		return elf->bytes + s->offset + into;
	}
	return NULL;
}

bool hsnap_elf_writable(const struct hsnap_elf *elf, uint64_t address)
{
	for (size_t i = 0; i < elf->num_segments; i++) {
		const struct hsnap_elf_segment *s = &elf->segments[i];
		if (s->flags & PF_W && address >= s->address && address - s->address < s->memory_size)
			return true;
	}
	return false;
}

/* Both link sections start with a name. */
static const uint8_t *link_bytes(struct hsnap_elf *elf, const char *section, uint64_t *ret_size,
				 uint64_t *ret_name_size)
{
	const uint8_t *at = hsnap_elf_section_bytes(elf, hsnap_elf_find(elf, section), ret_size);
	const uint8_t *nul = at ? memchr(at, 0, *ret_size) : NULL;
	if (!nul || nul == at)
		return NULL;
	*ret_name_size = (uint64_t)(nul - at) + 1;
	return at;
}

bool hsnap_elf_debuglink(struct hsnap_elf *elf, const char **ret_name, uint32_t *ret_crc)
{
	uint64_t size, name_size;
	const uint8_t *at = link_bytes(elf, ".gnu_debuglink", &size, &name_size);
	if (!at)
		return false;
	uint64_t crc = (name_size + 3) & ~UINT64_C(3);
	if (crc > size || size - crc < sizeof(*ret_crc))
		return false;
	*ret_name = (const char *)at;
	memcpy(ret_crc, at + crc, sizeof(*ret_crc));
	return true;
}

bool hsnap_elf_altlink(struct hsnap_elf *elf, const char **ret_name, const uint8_t **ret_id,
		       size_t *ret_id_size)
{
	uint64_t size, name_size;
	const uint8_t *at = link_bytes(elf, ".gnu_debugaltlink", &size, &name_size);
	if (!at || size == name_size || size - name_size > 32)
		return false;
	*ret_name = (const char *)at;
	*ret_id = at + name_size;
	*ret_id_size = size - name_size;
	return true;
}

void hsnap_elf_symbols(struct hsnap_elf *elf, bool dynamic,
		       bool (*see)(void *context, const Elf64_Sym *symbol, const char *name),
		       void *context)
{
	struct hsnap_elf_section *table = hsnap_elf_find(elf, dynamic ? ".dynsym" : ".symtab");
	uint64_t size, strings_size;
	const uint8_t *at = hsnap_elf_section_bytes(elf, table, &size);
	if (!at || table->link >= elf->num_sections)
		return;
	const uint8_t *strings =
		hsnap_elf_section_bytes(elf, &elf->sections[table->link], &strings_size);
	for (; size >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym), size -= sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;
		memcpy(&symbol, at, sizeof(symbol));
		const char *name = text_at(strings, strings_size, symbol.st_name);
		if (*name && !see(context, &symbol, name))
			return;
	}
}

static bool see_c_library(void *context, const Elf64_Sym *symbol, const char *name)
{
	bool *found = context;
	*found |= symbol->st_shndx != SHN_UNDEF && (!strcmp(name, "__libc_start_main") || !strcmp(name, "_rtld_global"));
	return !*found;
}

bool hsnap_elf_is_c_library(struct hsnap_elf *elf)
{
	bool found = false;
	hsnap_elf_symbols(elf, true, see_c_library, &found);
	return found;
}
