/* SPDX-License-Identifier: MIT */
/*
 * seed_core.c - make tests/fuzz/corpus/core anew.
 *
 *	seed-core FOLDER
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/capture/core/made_core.h"

#define HEAP 0x10000000u
#define STACK 0x7ffc00000000u
#define RW (PF_R | PF_W)

static void save(const char *folder, const char *name, struct made_core *core, bool extended)
{
	char path[512];
	size_t size;
	uint8_t *bytes = made_bytes(core, extended, &size);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *out = fopen(path, "wb");
	if (!out || fwrite(bytes, 1, size, out) != size || fclose(out))
		abort();
	free(bytes);
	made_deinit(core);
}

static void make(struct made_core *core)
{
	static const uint8_t page[MADE_PAGE] = { 1, 2, 3 };
	made_init(core);
	made_thread(core, MADE_PID + 1, STACK + 0x200, 0x7000);
	made_thread(core, MADE_PID, STACK + 0x100, HEAP + 0x40);
	made_process(core, "seed");
	made_auxv(core, 0x400040, 0x7fff00000000u);
	made_segment(core, HEAP, 2 * MADE_PAGE, RW, page, MADE_PAGE);
	made_segment(core, STACK, MADE_PAGE, RW, page, 64);
	made_segment(core, 0xffffffffff600000u, MADE_PAGE, PF_X, page, 64);
}

/* A header page of a program, mapped from a file. */
static void add_program(struct made_core *core, const char *path)
{
	static const struct {
		Elf64_Ehdr head;
		Elf64_Phdr segments[2];
	} program = {
		.head = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_EXEC,
			.e_machine = EM_X86_64, .e_phoff = 64, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2,
		},
		.segments = {
			{ .p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0x400000, .p_filesz = 0x1000, .p_memsz = 0x1000 },
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = 0x401000, .p_offset = 0x1000, .p_filesz = 0x1000,
			  .p_memsz = 0x1000 },
		},
	};
	struct made_file files[] = { { 0x400000, 0x401000, 0, path }, { 0x401000, 0x403000, 1, path } };
	made_files(core, files, 2);
	made_segment(core, 0x400000, MADE_PAGE, PF_R, &program, sizeof(program));
	made_segment(core, 0x401000, MADE_PAGE, PF_R | PF_X, NULL, 0);
}

int main(int argc, char **argv)
{
	struct made_core core;
	if (argc != 2)
		return 2;
	make(&core);
	save(argv[1], "plain", &core, false);
	make(&core);
	save(argv[1], "extended", &core, true);
	make(&core);
	add_program(&core, "/usr/bin/true (deleted)");
	save(argv[1], "program", &core, false);
	make(&core);
	made_files(&core, (struct made_file[]){ { HEAP, HEAP + 0x1000, 0, "a" }, { HEAP, HEAP + 0x3000, 0, "b" } }, 2);
	save(argv[1], "overlapping-files", &core, false);
	return 0;
}
