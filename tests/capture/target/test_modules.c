/* SPDX-License-Identifier: MIT */
/* test_modules.c - ELF headers that nobody vouches for: whole, cut and flipped byte by byte. */
#include <criterion/criterion.h>
#include <elf.h>
#include <string.h>

#include "capture/target/elf_image.h"
#include "capture/target/live.h"

#define BASE 0x555555554000u
#define DATA 0x3000u
#define SIZE 0x5000u

/* A small shared object as it lies in memory: headers and notes, code, data with .bss behind. */
struct object {
	Elf64_Ehdr head;
	Elf64_Phdr segments[7];
	struct {
		Elf64_Nhdr head;
		char name[4];
		uint8_t id[20];
	} note;
};

static void make_object(struct object *object)
{
	*object = (struct object){
		.head = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN, .e_machine = EM_X86_64, .e_phoff = offsetof(struct object, segments),
			.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 7,
		},
		.segments = {
			{ .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 0x1000, .p_memsz = 0x1000 },
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 0x1000, .p_vaddr = 0x1000,
			  .p_filesz = 0x1000, .p_memsz = 0x1000 },
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = 0x2100, .p_vaddr = 0x3100,
			  .p_filesz = 0x200, .p_memsz = 0x1800 },
			{ .p_type = PT_DYNAMIC, .p_vaddr = 0x3100, .p_memsz = 0x40 },
			{ .p_type = PT_GNU_EH_FRAME, .p_vaddr = 0x800, .p_memsz = 0x44 },
			{ .p_type = PT_TLS, .p_vaddr = 0x3140, .p_memsz = 0x64, .p_align = 32 },
			{ .p_type = PT_NOTE, .p_offset = offsetof(struct object, note),
			  .p_vaddr = offsetof(struct object, note), .p_filesz = sizeof(object->note),
			  .p_memsz = sizeof(object->note), .p_align = 4 },
		},
		.note = { .head = { .n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID }, .name = "GNU" },
	};
	memset(object->note.id, 0xab, sizeof(object->note.id));
}

/* As the kernel would list it; [heap] goes on where .bss ends. */
static struct hsnap_target *load(const struct object *object, size_t size)
{
	struct hsnap_target *target = hsnap_image_create();
	cr_assert(target);
	char page[0x1000] = "";
	memcpy(page, object, size < sizeof(*object) ? size : sizeof(*object));
	cr_assert(hsnap_image_add(target, BASE, page, sizeof(page), HSNAP_PROT_READ, "/opt/lib x.so"));
	cr_assert(hsnap_image_add(target, BASE + 0x1000, NULL, 0x1000, HSNAP_PROT_READ | HSNAP_PROT_EXEC, "/opt/lib x.so"));
	cr_assert(hsnap_image_add(target, BASE + DATA, NULL, 0x1000, HSNAP_PROT_READ | HSNAP_PROT_WRITE, "/opt/lib x.so"));
	cr_assert(hsnap_image_add(target, BASE + 0x4000, NULL, 0x9000, HSNAP_PROT_READ | HSNAP_PROT_WRITE, ""));
	static const uint64_t offsets[] = { 0, 0x1000, 0x2000 };
	for (size_t i = 0; i < 3; i++) {
		target->mappings.items[i].inode = 77;
		target->mappings.items[i].device = 1;
		target->mappings.items[i].offset = offsets[i];
	}
	target->modules.num = 0; /* the finder makes entry 0 itself */
	return target;
}

Test(modules, a_whole_object)
{
	struct object object;
	make_object(&object);
	struct hsnap_target *target = load(&object, sizeof(object));
	cr_assert_eq(hsnap_modules_find(target, BASE + 0x40, NULL), HSNAP_OK);
	cr_assert_eq(target->modules.num, 2);
	const struct hsnap_target_module *module = &target->modules.items[1];
	cr_expect(module->main && !module->vdso);
	cr_expect(module->start == BASE && module->end == BASE + 0x4900 && module->bias == BASE);
	cr_expect_str_eq(hsnap_str(&target->strings, module->path), "/opt/lib x.so");
	cr_expect(module->dynamic == BASE + 0x3100 && module->eh_frame_hdr == BASE + 0x800 &&
		  module->eh_frame_hdr_size == 0x44);
	cr_expect(module->build_id_size == 20 && module->build_id[19] == 0xab);
	cr_expect(module->tls_size == 0x64 && module->tls_id == 1);
	cr_expect_eq(module->tls_offset, 0x80, "0x64 bytes, aligned to 32: 0x%lx", module->tls_offset);
	for (size_t i = 0; i < 4; i++)
		cr_expect_eq(target->mappings.items[i].module, 1, "mapping %zu", i);
	cr_expect_eq(hsnap_target_module(target, BASE + 0x48ff), module);
	cr_expect_null(hsnap_target_module(target, BASE + 0x4900), "the heap was taken for .bss");
	hsnap_target_close(target);
}

Test(modules, a_file_that_is_only_read_is_none)
{
	struct object object;
	make_object(&object);
	struct hsnap_target *target = load(&object, sizeof(object));
	target->mappings.items[1].prot = HSNAP_PROT_READ;
	cr_assert_eq(hsnap_modules_find(target, 0, NULL), HSNAP_OK);
	cr_expect_eq(target->modules.num, 1);
	hsnap_target_close(target);
	/* Text moved to huge pages is anonymous, and still the module's. */
	target = load(&object, sizeof(object));
	target->mappings.items[1].inode = 0;
	cr_assert_eq(hsnap_modules_find(target, 0, NULL), HSNAP_OK);
	cr_expect_eq(target->modules.num, 2);
	hsnap_target_close(target);
}

static void expect_sane(const struct hsnap_target *target, const char *what, size_t at)
{
	for (size_t i = 1; i < target->modules.num; i++) {
		const struct hsnap_target_module *m = &target->modules.items[i];
		cr_expect(m->start < m->end && m->build_id_size <= sizeof(m->build_id), "%s %zu", what, at);
		cr_expect(!m->dynamic || (m->dynamic >= m->start && m->dynamic < m->end), "%s %zu", what, at);
		cr_expect(!m->eh_frame_hdr || (m->eh_frame_hdr >= m->start &&
					       m->eh_frame_hdr_size <= m->end - m->eh_frame_hdr), "%s %zu", what, at);
		cr_expect(m->tls_size <= (uint64_t)1 << 30, "%s %zu", what, at);
	}
	for (size_t i = 0; i < target->mappings.num; i++)
		cr_expect_lt(target->mappings.items[i].module, target->modules.num, "%s %zu", what, at);
}

/* Names by the System V hash table, of which a chain may lead back into itself. */
Test(modules, symbols_by_an_old_hash_table)
{
	static const char strings[] = "\0abc\0other";
	struct {
		Elf64_Dyn dynamic[6];
		uint32_t hash[2 + 1 + 3];
		Elf64_Sym symbols[3];
		char strings[sizeof(strings)];
	} data = {
		.dynamic = {
			{ DT_HASH, { BASE + offsetof(__typeof__(data), hash) } }, { DT_SYMTAB, { BASE + offsetof(__typeof__(data), symbols) } },
			{ DT_STRTAB, { BASE + offsetof(__typeof__(data), strings) } }, { DT_STRSZ, { sizeof(strings) } },
		},
		.hash = { 1, 3, 2, 0, 2, 1 }, /* one bucket: 2, then 1, then 2 again */
		.symbols = { { 0 }, { .st_name = 1, .st_shndx = 1, .st_value = 16 }, { .st_name = 5, .st_shndx = 1, .st_value = 24 } },
	};
	struct hsnap_target_module module = { .start = BASE, .end = BASE + sizeof(data), .bias = BASE, .dynamic = BASE };
	struct hsnap_target *target = hsnap_image_create();
	uint64_t at = 0;
	memcpy(data.strings, strings, sizeof(strings));
	cr_assert(target && hsnap_image_add(target, BASE, &data, sizeof(data), HSNAP_PROT_READ, "/opt/old.so"));
	cr_expect(hsnap_module_symbol(target, &module, "abc", &at) && at == BASE + 16);
	cr_expect(hsnap_module_symbol(target, &module, "other", &at) && at == BASE + 24);
	cr_expect(!hsnap_module_symbol(target, &module, "nobody", &at), "and that ends");
	hsnap_target_close(target);
}

Test(modules, damage_is_survived)
{
	struct object object;
	for (size_t at = 0; at < sizeof(object); at++) {
		static const uint8_t flips[] = { 1, 0x80, 0xff };
		for (size_t f = 0; f < sizeof(flips); f++) {
			make_object(&object);
			((uint8_t *)&object)[at] ^= flips[f];
			struct hsnap_target *target = load(&object, sizeof(object));
			cr_assert_eq(hsnap_modules_find(target, BASE, NULL), HSNAP_OK);
			expect_sane(target, "flipped at", at);
			uint64_t symbol;
			for (size_t i = 1; i < target->modules.num; i++)
				cr_expect(!hsnap_module_symbol(target, &target->modules.items[i], "x", &symbol));
			hsnap_target_close(target);
		}
		make_object(&object);
		struct hsnap_target *target = load(&object, at);
		cr_assert_eq(hsnap_modules_find(target, BASE, NULL), HSNAP_OK);
		expect_sane(target, "cut at", at);
		hsnap_target_close(target);
	}
}
