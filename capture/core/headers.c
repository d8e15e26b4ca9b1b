/* SPDX-License-Identifier: MIT */
/* headers.c - which part of a core is which memory. */
#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "capture/core/image.h"

#define MAX_SEGMENTS (1u << 22) /* 224 MiB of headers: far above vm.max_map_count */
#define MAX_NOTES 16            /* parts of the file; there is one as a rule */

/* What is often handed over in place of a core. */
static enum hsnap_code refuse_other(const uint8_t head[16], struct hsnap_error *err)
{
	static const struct {
		const char *magic, *name, *mend;
		size_t len;
	} packed[] = {
		{ "\x28\xb5\x2f\xfd", "zstd", "unpack it first: zstd -d FILE, or coredumpctl dump -o FILE", 4 },
		{ "\x04\x22\x4d\x18", "lz4", "unpack it first: lz4 -d FILE, or coredumpctl dump -o FILE", 4 },
		{ "\xfd" "7zXZ", "xz", "unpack it first: xz -d FILE, or coredumpctl dump -o FILE", 5 },
		{ "\x1f\x8b", "gzip", "unpack it first: gzip -d FILE", 2 },
	};
	for (size_t i = 0; i < sizeof(packed) / sizeof(*packed); i++) {
		if (memcmp(head, packed[i].magic, packed[i].len))
			continue;
		hsnap_fail(err, HSNAP_REFUSED, 0, "it is packed with %s", packed[i].name);
		return hsnap_hint(err, HSNAP_REFUSED, "%s", packed[i].mend);
	}
	return hsnap_fail(err, HSNAP_REFUSED, 0, "it is no core file");
}

static enum hsnap_code read_head(struct hsnap_core_image *core, Elf64_Ehdr *head, struct hsnap_error *err)
{
	memset(head, 0, sizeof(*head));
	size_t got = hsnap_core_pread(core, 0, head, sizeof(*head));
	if (got < EI_NIDENT || memcmp(head->e_ident, ELFMAG, SELFMAG))
		return refuse_other(head->e_ident, err);
	if (got < sizeof(*head))
		return hsnap_fail(err, HSNAP_REFUSED, 0, "it ends after %zu bytes", got);
	if (head->e_ident[EI_CLASS] != ELFCLASS64)
		return hsnap_fail(err, HSNAP_REFUSED, 0, "it is of a 32-bit program, which this version cannot read");
	if (head->e_ident[EI_DATA] != ELFDATA2LSB || head->e_machine != EM_X86_64)
		return hsnap_fail(err, HSNAP_REFUSED, 0, "it is of another kind of machine (ELF machine %u), not x86-64",
				  head->e_machine);
	if (head->e_type != ET_CORE) {
		hsnap_fail(err, HSNAP_REFUSED, 0, "it is a program or library, no core file");
		return hsnap_hint(err, HSNAP_REFUSED, "heapsnap take --core CORE --exe FILE");
	}
	if (head->e_phentsize != sizeof(Elf64_Phdr) || head->e_phoff > INT64_MAX)
		return hsnap_fail(err, HSNAP_FORMAT, 0, "its headers make no sense");
	return HSNAP_OK;
}

/*
 * From 65,535 on the number stands in the first section header.  The kernel writes that at the very
 * end, and a core that is cut short has lost it; but its notes follow the program headers at once.
 * Source: Linux 6.1 fs/binfmt_elf.c, elf_core_dump and fill_extnum_info.
 */
static uint64_t count_segments(const struct hsnap_core_image *core, const Elf64_Ehdr *head)
{
	Elf64_Shdr section;
	Elf64_Phdr first;
	if (head->e_phnum != PN_XNUM)
		return head->e_phnum;
	if (head->e_shoff && head->e_shoff <= INT64_MAX && head->e_shentsize == sizeof(section) &&
	    hsnap_core_pread(core, head->e_shoff, &section, sizeof(section)) == sizeof(section))
		return section.sh_info;
	if (hsnap_core_pread(core, head->e_phoff, &first, sizeof(first)) == sizeof(first) &&
	    first.p_type == PT_NOTE && first.p_offset > head->e_phoff)
		return (first.p_offset - head->e_phoff) / sizeof(first);
	return 0;
}

static uint8_t prot_of(uint32_t flags)
{
	return (uint8_t)((flags & PF_R ? HSNAP_PROT_READ : 0) | (flags & PF_W ? HSNAP_PROT_WRITE : 0) |
			 (flags & PF_X ? HSNAP_PROT_EXEC : 0));
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static enum hsnap_code add_load(struct hsnap_core_image *core, const Elf64_Phdr *header, uint64_t where,
				struct hsnap_error *err)
{
	uint64_t end, last;
	if (!header->p_memsz)
		return HSNAP_OK;
	if (header->p_vaddr % HSNAP_CORE_PAGE || header->p_memsz % HSNAP_CORE_PAGE ||
	    __builtin_add_overflow(header->p_vaddr, header->p_memsz, &end) ||
	    __builtin_add_overflow(header->p_offset, header->p_filesz, &last) || last > INT64_MAX)
		return hsnap_fail(err, HSNAP_FORMAT, where, "the segment at byte %" PRIu64 " of it makes no sense", where);
	struct hsnap_core_segment segment = {
		.start = header->p_vaddr, .end = end, .at = header->p_offset,
		.dumped = min(header->p_filesz, header->p_memsz), .prot = prot_of(header->p_flags),
	};
	segment.there = segment.at < core->size ? min(segment.dumped, core->size - segment.at) : 0;
	if (last > core->wanted)
		core->wanted = last;
	if (!hsnap_vec_push(&core->segments, segment))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the segments");
	return HSNAP_OK;
}

static enum hsnap_code add_header(struct hsnap_core_image *core, const Elf64_Phdr *header, uint64_t where,
				  struct hsnap_core_note_list *notes, struct hsnap_error *err)
{
	if (header->p_type == PT_LOAD)
		return add_load(core, header, where, err);
	uint64_t end;
	if (header->p_type != PT_NOTE || notes->num >= MAX_NOTES ||
	    __builtin_add_overflow(header->p_offset, header->p_filesz, &end) || end > INT64_MAX)
		return HSNAP_OK;
	if (end > core->wanted)
		core->wanted = end;
	struct hsnap_core_notes part = { header->p_offset, header->p_filesz };
	if (!hsnap_vec_push(notes, part))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the notes");
	return HSNAP_OK;
}

static int by_start(const void *a, const void *b)
{
	const struct hsnap_core_segment *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* No address twice, and no byte of the file for two of them. */
static enum hsnap_code check_segments(struct hsnap_core_image *core, struct hsnap_error *err)
{
	uint64_t sum = 0;
	if (core->segments.num)
		qsort(core->segments.items, core->segments.num, sizeof(*core->segments.items), by_start);
	for (size_t i = 0; i < core->segments.num; i++) {
		const struct hsnap_core_segment *segment = &core->segments.items[i];
		if (i && segment[-1].end > segment->start)
			return hsnap_fail(err, HSNAP_FORMAT, 0, "two of its segments hold the address 0x%" PRIx64,
					  segment->start);
		sum += segment->there; /* each below 2^63, and refused before it could go around */
		if (sum > core->size)
			return hsnap_fail(err, HSNAP_FORMAT, 0, "several of its segments share their bytes");
	}
	return HSNAP_OK;
}

enum hsnap_code hsnap_core_read_headers(struct hsnap_core_image *core, struct hsnap_core_note_list *notes,
					struct hsnap_error *err)
{
	enum { BATCH = 512 };
	Elf64_Ehdr head;
	Elf64_Phdr headers[BATCH];
	enum hsnap_code code = read_head(core, &head, err);
	uint64_t num = code ? 0 : count_segments(core, &head);
	if (num > MAX_SEGMENTS)
		return hsnap_fail(err, HSNAP_FORMAT, 0, "%" PRIu64 " segments are more than a process can have", num);
	core->wanted = head.e_phoff + num * sizeof(*headers);
	for (uint64_t done = 0; !code && done < num;) {
		uint64_t where = head.e_phoff + done * sizeof(*headers);
		size_t batch = (size_t)min(num - done, BATCH);
		size_t got = hsnap_core_pread(core, where, headers, batch * sizeof(*headers)) / sizeof(*headers);
		for (size_t i = 0; i < got && !code; i++)
			code = add_header(core, &headers[i], where + i * sizeof(*headers), notes, err);
		done += got;
		if (got < batch)
			break; /* cut short: what is there is used */
	}
	return code ? code : check_segments(core, err);
}
