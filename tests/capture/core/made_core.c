/* SPDX-License-Identifier: MIT */
/* made_core.c - see made_core.h; the layout is that of Linux 6.1 fs/binfmt_elf.c, elf_core_dump(). */
#include "made_core.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/user.h>
#include <unistd.h>

static void need(bool done)
{
	if (!done)
		abort();
}

void made_init(struct made_core *core)
{
	*core = (struct made_core){ .head = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_CORE, .e_machine = EM_X86_64, .e_version = 1, .e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr),
	} };
}

void made_deinit(struct made_core *core)
{
	hsnap_vec_deinit(&core->segments);
	hsnap_vec_deinit(&core->notes);
	hsnap_vec_deinit(&core->data);
}

static void put(struct made_part *to, const void *bytes, size_t size)
{
	need(hsnap_vec_reserve(to, size));
	if (bytes)
		memcpy(to->items + to->num, bytes, size);
	else if (size)
		memset(to->items + to->num, 0, size);
	to->num += size;
}

void made_segment(struct made_core *core, uint64_t address, uint64_t size, uint32_t flags, const void *bytes,
		  uint64_t dumped)
{
	Elf64_Phdr segment = {
		.p_type = PT_LOAD, .p_flags = flags, .p_offset = core->data.num, .p_vaddr = address, .p_filesz = dumped,
		.p_memsz = size, .p_align = MADE_PAGE,
	};
	need(hsnap_vec_push(&core->segments, segment));
	put(&core->data, bytes, dumped);
}

void made_note(struct made_core *core, const char *name, uint32_t type, const void *value, size_t size)
{
	Elf64_Nhdr head = { .n_namesz = (uint32_t)strlen(name) + 1, .n_descsz = (uint32_t)size, .n_type = type };
	put(&core->notes, &head, sizeof(head));
	put(&core->notes, name, head.n_namesz);
	put(&core->notes, NULL, -core->notes.num & 3);
	put(&core->notes, value, size);
	put(&core->notes, NULL, -core->notes.num & 3);
}

void made_thread(struct made_core *core, uint32_t tid, uint64_t sp, uint64_t thread_pointer)
{
	struct user_regs_struct regs = { .rsp = sp, .fs_base = thread_pointer, .rip = 0x401000, .rax = tid };
	struct elf_prstatus status = { .pr_pid = (int)tid };
	memcpy(&status.pr_reg, &regs, sizeof(regs));
	made_note(core, "CORE", NT_PRSTATUS, &status, sizeof(status));
}

void made_process(struct made_core *core, const char *comm)
{
	struct elf_prpsinfo info = { .pr_pid = MADE_PID };
	memcpy(info.pr_fname, comm, strnlen(comm, sizeof(info.pr_fname)));
	made_note(core, "CORE", NT_PRPSINFO, &info, sizeof(info));
}

void made_auxv(struct made_core *core, uint64_t headers, uint64_t vdso)
{
	uint64_t pairs[] = { AT_SYSINFO_EHDR, vdso, AT_PHDR, headers, AT_NULL, 0 };
	made_note(core, "CORE", NT_AUXV, pairs, sizeof(pairs));
}

void made_files(struct made_core *core, const struct made_file *files, size_t num)
{
	struct made_part value = { 0 };
	uint64_t head[] = { num, MADE_PAGE };
	put(&value, head, sizeof(head));
	for (size_t i = 0; i < num; i++) {
		uint64_t row[] = { files[i].start, files[i].end, files[i].page };
		put(&value, row, sizeof(row));
	}
	for (size_t i = 0; i < num; i++)
		put(&value, files[i].path, strlen(files[i].path) + 1);
	made_note(core, "CORE", NT_FILE, value.items, value.num);
	hsnap_vec_deinit(&value);
}

uint8_t *made_bytes(struct made_core *core, bool extended, size_t *ret_size)
{
	struct made_part all = { 0 };
	size_t num = 1 + core->segments.num;
	uint64_t notes = sizeof(core->head) + num * sizeof(Elf64_Phdr);
	uint64_t data = (notes + core->notes.num + MADE_PAGE - 1) & ~(uint64_t)(MADE_PAGE - 1);
	Elf64_Ehdr head = core->head;
	head.e_phnum = extended ? PN_XNUM : (uint16_t)num;
	if (extended) {
		head.e_shoff = data + core->data.num;
		head.e_shentsize = sizeof(Elf64_Shdr);
		head.e_shnum = 1;
	}
	put(&all, &head, sizeof(head));
	Elf64_Phdr note = { .p_type = PT_NOTE, .p_offset = notes, .p_filesz = core->notes.num };
	put(&all, &note, sizeof(note));
	for (size_t i = 0; i < core->segments.num; i++) {
		Elf64_Phdr segment = core->segments.items[i];
		segment.p_offset += data;
		put(&all, &segment, sizeof(segment));
	}
	put(&all, core->notes.items, core->notes.num);
	put(&all, NULL, data - all.num);
	put(&all, core->data.items, core->data.num);
	Elf64_Shdr section = { .sh_info = (uint32_t)num };
	if (extended)
		put(&all, &section, sizeof(section));
	*ret_size = all.num;
	return all.items;
}

int open_bytes(const void *bytes, size_t size)
{
	int fd = memfd_create("core", MFD_CLOEXEC);
	need(fd >= 0);
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, (const uint8_t *)bytes + done, size - done);
		need(n > 0);
		done += (size_t)n;
	}
	return fd;
}

int made_open(struct made_core *core, bool extended)
{
	size_t size;
	uint8_t *bytes = made_bytes(core, extended, &size);
	int fd = open_bytes(bytes, size);
	free(bytes);
	return fd;
}
