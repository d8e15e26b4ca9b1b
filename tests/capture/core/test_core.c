/* SPDX-License-Identifier: MIT */
/* test_core.c - cores made by hand: whole, lacking, lying, and cut while they are read. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/core/core.h"
#include "made_core.h"

#define HEAP 0x10000000u
#define STACK 0x7ffc00000000u
#define PROGRAM 0x555555554000u
#define RW (PF_R | PF_W)
#define RX (PF_R | PF_X)

static struct hsnap_error err;
static struct hsnap_core_facts facts;

static struct hsnap_target *open_core_exe(int fd, const char *exe, enum hsnap_code want)
{
	struct hsnap_core_options options = { .path = "made", .exe = exe, .scratch = -1 };
	struct hsnap_target *target = NULL;
	enum hsnap_code code = hsnap_core_open_fd(fd, &options, &target, &facts, &err);
	cr_assert_eq(code, want, "want %d, got %d: %s", want, code, code ? err.message : "");
	return target;
}

static struct hsnap_target *open_core(struct made_core *core, enum hsnap_code want)
{
	struct hsnap_target *target = open_core_exe(made_open(core, false), NULL, want);
	made_deinit(core);
	return target;
}

static void fill(uint8_t *page, uint8_t with)
{
	for (size_t i = 0; i < MADE_PAGE; i++)
		page[i] = (uint8_t)(with + i % 7);
}

/* One page of heap, a stack, two threads. */
static void make_small(struct made_core *core)
{
	uint8_t page[MADE_PAGE];
	fill(page, 1);
	made_init(core);
	made_thread(core, MADE_PID + 1, STACK + 0x200, 0x7000);
	made_thread(core, MADE_PID, STACK + 0x100, 0x6000);
	made_process(core, "a name of 16 let");
	made_auxv(core, PROGRAM + 64, 0);
	made_segment(core, HEAP, 2 * MADE_PAGE, RW, page, MADE_PAGE);
	made_segment(core, STACK, MADE_PAGE, RW, page, MADE_PAGE);
}

Test(core, threads_and_names)
{
	struct made_core core;
	make_small(&core);
	struct hsnap_target *target = open_core(&core, HSNAP_OK);
	cr_assert_eq(target->threads.num, 2);
	cr_expect_eq(target->threads.items[0].tid, MADE_PID, "the main thread comes first");
	cr_expect_eq(target->threads.items[0].regs.value[HSNAP_REG_SP], STACK + 0x100);
	cr_expect_eq(target->threads.items[0].thread_pointer, 0x6000);
	cr_expect_eq(target->threads.items[1].regs.value[HSNAP_REG_RESULT], MADE_PID + 1);
	cr_expect_eq(facts.pid, MADE_PID);
	cr_expect_str_eq(facts.comm, "a name of 16 let");
	cr_expect_str_eq(hsnap_str(&target->strings, hsnap_target_mapping(target, STACK)->path), "[stack]");
	hsnap_target_close(target);
}

Test(core, memory)
{
	struct made_core core;
	uint8_t want[MADE_PAGE], got[2 * MADE_PAGE];
	uint64_t start, end;
	fill(want, 1);
	make_small(&core);
	struct hsnap_target *target = open_core(&core, HSNAP_OK);
	cr_expect_eq(target->ops->read(target->self, HEAP, got, sizeof(got)), sizeof(got));
	cr_expect_arr_eq(got, want, MADE_PAGE);
	cr_expect_eq(got[MADE_PAGE], 0, "what was never touched is zero");
	cr_expect_eq(target->ops->read(target->self, HEAP + MADE_PAGE + 8, got, MADE_PAGE), MADE_PAGE - 8, "and ends where it ends");
	cr_expect(hsnap_target_view(target, HEAP + 8, MADE_PAGE - 8));
	cr_expect(!hsnap_target_view(target, HEAP + 8, MADE_PAGE));
	cr_assert(hsnap_target_next_run(target, 0, &start, &end));
	cr_expect(start == HEAP && end == HEAP + MADE_PAGE);
	cr_assert(hsnap_target_next_run(target, end, &start, &end));
	cr_expect(start == STACK && end == STACK + MADE_PAGE);
	cr_expect(!hsnap_target_next_run(target, end, &start, &end));
	cr_expect_eq(target->ops->read(target->self, HEAP - 8, got, 16), 0);
	hsnap_target_close(target);
}

/* 1 GiB of which two pages were written to: what is a hole in the file takes no room. */
Test(core, holes_and_zeros_take_no_room)
{
	struct made_core core;
	uint8_t page[MADE_PAGE];
	fill(page, 9);
	made_init(&core);
	made_thread(&core, MADE_PID, 0, 0);
	made_segment(&core, HEAP, (uint64_t)1 << 30, RW, NULL, 8 * MADE_PAGE);
	core.segments.items[0].p_filesz = (uint64_t)1 << 30;
	int fd = made_open(&core, false);
	off_t at = lseek(fd, 0, SEEK_END);
	cr_assert_eq(pwrite(fd, page, sizeof(page), at - 3 * MADE_PAGE), MADE_PAGE);
	cr_assert(!ftruncate(fd, at - 8 * MADE_PAGE + (1 << 30)));
	cr_assert_eq(pwrite(fd, page, sizeof(page), at - 8 * MADE_PAGE + (1 << 29)), MADE_PAGE);
	struct hsnap_target *target = open_core_exe(fd, NULL, HSNAP_OK);
	uint64_t start, end, word, sum = 0, runs = 0;
	for (end = 0; hsnap_target_next_run(target, end, &start, &end); runs++)
		sum += end - start;
	cr_expect_leq(sum, 20 * MADE_PAGE, "%lu", sum);
	cr_expect_eq(runs, 2);
	cr_expect(hsnap_target_word(target, HEAP + (1 << 29), &word) && word);
	cr_expect(hsnap_target_word(target, HEAP + 5 * MADE_PAGE, &word) && word);
	cr_expect(hsnap_target_word(target, HEAP + (1 << 28), &word) && !word);
	hsnap_target_close(target);
	made_deinit(&core);
}

/* 70,000 segments: their number stands at the end of the file, which may be lost. */
Test(core, more_segments_than_a_header_counts)
{
	enum { NUM = 70000 };
	struct made_core core;
	uint8_t page[MADE_PAGE];
	size_t size;
	fill(page, 3);
	make_small(&core);
	for (unsigned i = 0; i < NUM; i++)
		made_segment(&core, 0x200000000u + (uint64_t)i * 2 * MADE_PAGE, MADE_PAGE, RW, NULL, 0);
	made_segment(&core, 0x700000000000u, MADE_PAGE, RW, page, MADE_PAGE);
	uint8_t *bytes = made_bytes(&core, true, &size);
	for (unsigned cut = 0; cut < 2; cut++) {
		struct hsnap_target *target = open_core_exe(open_bytes(bytes, size - cut * sizeof(Elf64_Shdr)), NULL, HSNAP_OK);
		uint64_t word;
		cr_expect_eq(target->mappings.num, NUM + 3, "cut %u: %zu", cut, target->mappings.num);
		cr_expect(hsnap_target_word(target, 0x700000000000u, &word) && word);
		hsnap_target_close(target);
	}
	free(bytes);
	made_deinit(&core);
}

static void other_machine(struct made_core *core) { core->head.e_machine = EM_AARCH64; }
static void other_class(struct made_core *core) { core->head.e_ident[EI_CLASS] = ELFCLASS32; }
static void other_order(struct made_core *core) { core->head.e_ident[EI_DATA] = ELFDATA2MSB; }
static void program(struct made_core *core) { core->head.e_type = ET_DYN; }
static void no_elf(struct made_core *core) { core->head.e_ident[0] = 'x'; }
static void other_size(struct made_core *core) { core->head.e_phentsize = 32; }
static void far_headers(struct made_core *core) { core->head.e_phoff = UINT64_MAX - 8; }
static void overlap(struct made_core *core) { made_segment(core, HEAP + MADE_PAGE, MADE_PAGE, RW, NULL, 0); }
static void unaligned(struct made_core *core) { core->segments.items[0].p_vaddr += 8; }
static void around(struct made_core *core) { core->segments.items[0].p_vaddr = -(uint64_t)MADE_PAGE; }
static void far_offset(struct made_core *core) { core->segments.items[0].p_offset = INT64_MAX - 16; }
static void around_offset(struct made_core *core) { core->segments.items[0].p_filesz = UINT64_MAX - 16; }
static void shared(struct made_core *core)
{
	for (unsigned i = 0; i < 8; i++) {
		made_segment(core, 0x20000000u + i * MADE_PAGE, MADE_PAGE, RW, NULL, 0);
		core->segments.items[core->segments.num - 1].p_filesz = MADE_PAGE;
		core->segments.items[core->segments.num - 1].p_offset = 0;
	}
}
static void no_memory(struct made_core *core) { core->segments.num = 0; }
static void not_dumped(struct made_core *core) { core->segments.items[0].p_filesz = core->segments.items[1].p_filesz = 0; }

static const struct {
	const char *name;
	void (*change)(struct made_core *core);
	enum hsnap_code want;
} refusals[] = {
	{ "aarch64", other_machine, HSNAP_REFUSED },
	{ "32 bits", other_class, HSNAP_REFUSED },
	{ "big endian", other_order, HSNAP_REFUSED },
	{ "a program", program, HSNAP_REFUSED },
	{ "not ELF", no_elf, HSNAP_REFUSED },
	{ "headers of another size", other_size, HSNAP_FORMAT },
	{ "headers beyond the end of numbers", far_headers, HSNAP_FORMAT },
	{ "two segments at one address", overlap, HSNAP_FORMAT },
	{ "an address within a page", unaligned, HSNAP_FORMAT },
	{ "around the end of addresses", around, HSNAP_FORMAT },
	{ "bytes beyond the end of files", far_offset, HSNAP_FORMAT },
	{ "more bytes than there are numbers", around_offset, HSNAP_FORMAT },
	{ "the same bytes for many", shared, HSNAP_FORMAT },
	{ "no memory", no_memory, HSNAP_REFUSED },
	{ "memory that was not dumped", not_dumped, HSNAP_REFUSED },
};

ParameterizedTestParameters(core, refused)
{
	static size_t rows[sizeof(refusals) / sizeof(*refusals)];
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		rows[i] = i;
	return cr_make_param_array(size_t, rows, sizeof(rows) / sizeof(*rows));
}

ParameterizedTest(size_t *row, core, refused)
{
	struct made_core core;
	make_small(&core);
	refusals[*row].change(&core);
	struct hsnap_target *target = open_core(&core, refusals[*row].want);
	cr_expect_null(target, "%s", refusals[*row].name);
	cr_expect(err.message[0]);
}

/* MADV_DONTDUMP: a segment of which nothing, or no more, stands in the file, and no file is behind it. */
Test(core, private_memory_that_was_kept_out)
{
	static const struct {
		uint64_t pages, dumped;
		const char *want;
		bool partial;
	} rows[] = {
		{ 80, 0, "320 KiB of private memory are not in the core", true },
		{ 80, 10, "280 KiB of private memory are not in the core", true },
		{ 3, 0, "12 KiB of private memory are not in the core", false },
		{ 30, 28, "8 KiB of private memory are not in the core", false },
		{ 30, 30, NULL, false },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		static uint8_t pages[30 * MADE_PAGE];
		struct made_core core;
		memset(pages, 7, sizeof(pages));
		made_init(&core);
		made_thread(&core, MADE_PID, STACK + 0x100, 0x6000);
		made_segment(&core, STACK, MADE_PAGE, RW, pages, MADE_PAGE);
		made_segment(&core, HEAP, rows[i].pages * MADE_PAGE, RW, pages, rows[i].dumped * MADE_PAGE);
		struct hsnap_target *target = open_core(&core, HSNAP_OK);
		bool partial = false, noted = false;
		for (size_t t = 0; t < HSNAP_CORE_NOTES; t++) {
			partial |= strstr(facts.partial[t], rows[i].want ? rows[i].want : "private") != NULL;
			noted |= strstr(facts.notes[t], rows[i].want ? rows[i].want : "private") != NULL;
		}
		cr_expect_eq(partial, rows[i].want && rows[i].partial, "row %zu", i);
		cr_expect_eq(noted, rows[i].want && !rows[i].partial, "row %zu", i);
		hsnap_target_close(target);
	}
}

Test(core, more_threads_than_are_looked_at)
{
	enum { MOST = 65536 };
	struct made_core core;
	make_small(&core);
	for (unsigned i = 2; i < MOST + 7; i++)
		made_thread(&core, MADE_PID + i, STACK + 0x200, 0x7000);
	struct hsnap_target *target = open_core(&core, HSNAP_OK);
	cr_expect_eq(target->threads.num, MOST);
	cr_expect(strstr(facts.partial[1], "7 of the core's 65543 threads are left out"), "%s", facts.partial[1]);
	hsnap_target_close(target);
}

Test(core, notes_that_lack_or_lie_are_passed_over)
{
	struct made_core core;
	uint8_t page[MADE_PAGE];
	uint64_t lie[] = { UINT64_MAX / 8, MADE_PAGE, 1, 2, 3 };
	fill(page, 1);
	made_init(&core);
	made_note(&core, "CORE", NT_PRSTATUS, page, 16);
	made_note(&core, "CORE", NT_PRPSINFO, page, 16);
	made_note(&core, "CORE", NT_AUXV, page, 7);
	made_note(&core, "CORE", NT_FILE, lie, sizeof(lie));
	made_note(&core, "LINUX", NT_PRSTATUS, page, sizeof(page));
	Elf64_Nhdr endless = { .n_namesz = UINT32_MAX, .n_descsz = UINT32_MAX, .n_type = NT_PRSTATUS };
	for (size_t i = 0; i < sizeof(endless); i++)
		cr_assert(hsnap_vec_push(&core.notes, ((const uint8_t *)&endless)[i]));
	made_segment(&core, HEAP, MADE_PAGE, RW, page, MADE_PAGE);
	struct hsnap_target *target = open_core(&core, HSNAP_OK);
	cr_expect_eq(target->threads.num, 0);
	cr_expect_eq(facts.pid, 0);
	cr_expect(strstr(facts.partial[0], "which files were mapped"));
	cr_expect(strstr(facts.partial[1], "its threads"));
	hsnap_target_close(target);
}

/* ---- files ---- */

/* A small library: headers with a build id, code, and data behind. */
struct library {
	Elf64_Ehdr head;
	Elf64_Phdr segments[4];
	struct {
		Elf64_Nhdr head;
		char name[4];
		uint8_t id[20];
	} note;
	uint8_t rest[MADE_PAGE - sizeof(Elf64_Ehdr) - 4 * sizeof(Elf64_Phdr) - 36];
	uint8_t code[MADE_PAGE], data[MADE_PAGE];
};
_Static_assert(sizeof(struct library) == 3 * MADE_PAGE, "three pages");

static char folder[] = "/tmp/hsnap-core-XXXXXX";
static char library_path[64];

static void make_library(struct library *library)
{
	*library = (struct library){
		.head = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN, .e_machine = EM_X86_64, .e_phoff = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 4,
		},
		.segments = {
			{ .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = MADE_PAGE, .p_memsz = MADE_PAGE },
			{ .p_type = PT_LOAD, .p_flags = RX, .p_offset = MADE_PAGE, .p_vaddr = MADE_PAGE,
			  .p_filesz = MADE_PAGE, .p_memsz = MADE_PAGE },
			{ .p_type = PT_LOAD, .p_flags = RW, .p_offset = 2 * MADE_PAGE, .p_vaddr = 2 * MADE_PAGE,
			  .p_filesz = MADE_PAGE, .p_memsz = MADE_PAGE },
			{ .p_type = PT_NOTE, .p_offset = offsetof(struct library, note),
			  .p_vaddr = offsetof(struct library, note), .p_filesz = sizeof(library->note),
			  .p_memsz = sizeof(library->note), .p_align = 4 },
		},
		.note = { .head = { .n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID }, .name = "GNU" },
	};
	memset(library->note.id, 0x5a, sizeof(library->note.id));
	fill(library->code, 17);
	fill(library->data, 33);
}

static void save_library(const struct library *library)
{
	int fd = open(library_path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	cr_assert(fd >= 0);
	cr_assert_eq(write(fd, library, sizeof(*library)), (ssize_t)sizeof(*library));
	close(fd);
}

static void setup_library(void)
{
	struct library library;
	cr_assert(mkdtemp(folder));
	snprintf(library_path, sizeof(library_path), "%s/libmade.so.1", folder);
	make_library(&library);
	save_library(&library);
}

static void remove_library(void)
{
	unlink(library_path);
	rmdir(folder);
}

/* A process that has it mapped: its header page dumped, its data written to. */
static void make_user(struct made_core *core, const struct library *library, bool segments)
{
	uint8_t written[MADE_PAGE];
	fill(written, 99);
	struct made_file files[] = {
		{ PROGRAM, PROGRAM + MADE_PAGE, 0, library_path },
		{ PROGRAM + MADE_PAGE, PROGRAM + 2 * MADE_PAGE, 1, library_path },
		{ PROGRAM + 2 * MADE_PAGE, PROGRAM + 3 * MADE_PAGE, 2, library_path },
	};
	make_small(core);
	made_files(core, files, 3);
	made_segment(core, PROGRAM, MADE_PAGE, PF_R, library, MADE_PAGE);
	if (segments)
		made_segment(core, PROGRAM + MADE_PAGE, MADE_PAGE, RX, NULL, 0);
	made_segment(core, PROGRAM + 2 * MADE_PAGE, MADE_PAGE, RW, written, MADE_PAGE);
	made_segment(core, PROGRAM + 0x10000, MADE_PAGE, RW, written, MADE_PAGE);
}

static bool reads(const struct hsnap_target *target, uint64_t address, uint8_t with)
{
	uint8_t want[MADE_PAGE], got[MADE_PAGE];
	fill(want, with);
	return target->ops->read(target->self, address, got, sizeof(got)) == sizeof(got) &&
	       !memcmp(want, got, sizeof(got));
}

Test(core, pages_of_a_file_with_the_same_build_id, .init = setup_library, .fini = remove_library)
{
	struct library library;
	make_library(&library);
	for (int segments = 0; segments < 2; segments++) {
		struct made_core core;
		make_user(&core, &library, segments);
		struct hsnap_target *target = open_core(&core, HSNAP_OK);
		cr_assert_eq(target->modules.num, 2);
		cr_expect(target->modules.items[1].main);
		cr_expect_eq(target->modules.items[1].build_id_size, 20);
		bool noted = false;
		for (size_t i = 0; i < HSNAP_CORE_NOTES; i++)
			noted |= strstr(facts.notes[i], "a core of gcore") != NULL;
		cr_expect_eq(noted, !segments, "gcore has no segment where nothing is dumped");
		cr_expect(reads(target, PROGRAM + MADE_PAGE, 17), "code comes from the file");
		cr_expect(reads(target, PROGRAM + 2 * MADE_PAGE, 99), "data as the process wrote it");
		cr_expect_str_eq(facts.exe, library_path);
		cr_expect_str_eq(hsnap_str(&target->strings, hsnap_target_mapping(target, PROGRAM + 0x10000)->path), "[heap]");
		int fd = target->ops->open_module(target->self, &target->modules.items[1]);
		cr_expect(fd >= 0);
		close(fd);
		hsnap_target_close(target);
	}
}

/* A number in it that looks like an address is no root: the process never wrote it. */
Test(core, pages_that_are_still_the_files_are_no_run, .init = setup_library, .fini = remove_library)
{
	struct library library;
	struct made_core core;
	uint64_t start, end = 0;
	make_library(&library);
	make_user(&core, &library, true);
	memcpy(core.data.items + core.segments.items[4].p_offset, library.data, sizeof(library.data));
	struct hsnap_target *target = open_core(&core, HSNAP_OK);
	cr_expect(reads(target, PROGRAM + 2 * MADE_PAGE, 33));
	while (hsnap_target_next_run(target, end, &start, &end))
		cr_expect(end <= PROGRAM + 2 * MADE_PAGE || start >= PROGRAM + 3 * MADE_PAGE, "0x%lx", start);
	hsnap_target_close(target);
}

Test(core, a_path_alone_is_not_believed, .init = setup_library, .fini = remove_library)
{
	struct library library;
	struct made_core core;
	make_library(&library);
	library.note.id[19] ^= 1;
	make_user(&core, &library, true);
	struct hsnap_target *target = open_core(&core, HSNAP_OK);
	cr_assert_eq(target->modules.num, 2, "its own headers are in the core");
	cr_expect(!reads(target, PROGRAM + MADE_PAGE, 17));
	cr_expect_eq(target->ops->open_module(target->self, &target->modules.items[1]), -1);
	cr_expect_str_eq(facts.notes[0], "libmade.so.1 differs from the one in the core");
	hsnap_target_close(target);
}

Test(core, the_executable_that_is_named_must_be_the_one, .init = setup_library, .fini = remove_library)
{
	struct library library;
	struct made_core core;
	make_library(&library);
	make_user(&core, &library, true);
	hsnap_target_close(open_core_exe(made_open(&core, false), library_path, HSNAP_OK));
	hsnap_target_close(open_core_exe(made_open(&core, false), "/proc/self/exe", HSNAP_REFUSED));
	cr_expect(strstr(err.message, "is not the executable"), "%s", err.message);
	hsnap_target_close(open_core_exe(made_open(&core, false), "/nowhere", HSNAP_IO));
	hsnap_target_close(open_core_exe(made_open(&core, false), folder, HSNAP_IO));
	made_deinit(&core);
}

/* Without a build id the headers must agree, and the file be no younger than the core. */
Test(core, a_file_without_a_build_id, .init = setup_library, .fini = remove_library)
{
	struct library library;
	struct made_core core;
	struct timespec ages[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	make_library(&library);
	library.segments[3].p_type = PT_NULL;
	save_library(&library);
	make_user(&core, &library, true);
	int fd = made_open(&core, false);
	cr_assert(!utimensat(AT_FDCWD, library_path, ages, 0));
	struct hsnap_target *target = open_core_exe(dup(fd), NULL, HSNAP_OK);
	cr_expect(reads(target, PROGRAM + MADE_PAGE, 17));
	cr_expect_str_eq(facts.notes[0], "libmade.so.1 was matched without a build id");
	hsnap_target_close(target);
	ages[0].tv_sec = ages[1].tv_sec = 1999999999;
	cr_assert(!utimensat(AT_FDCWD, library_path, ages, 0));
	target = open_core_exe(dup(fd), NULL, HSNAP_OK);
	cr_expect(!reads(target, PROGRAM + MADE_PAGE, 17));
	cr_expect_str_eq(facts.notes[0], "libmade.so.1 differs from the one in the core");
	hsnap_target_close(target);
	close(fd);
	made_deinit(&core);
}

/* ---- what changes or ends ---- */

Test(core, every_length, .init = setup_library, .fini = remove_library)
{
	struct library library;
	struct made_core core;
	size_t size;
	uint8_t page[MADE_PAGE];
	make_library(&library);
	make_user(&core, &library, true);
	uint8_t *bytes = made_bytes(&core, false, &size);
	for (size_t len = 0; len <= size; len += len < 2 * MADE_PAGE || len > size - 64 ? 1 : 61) {
		struct hsnap_core_options options = { .path = "cut", .scratch = -1 };
		struct hsnap_target *target = NULL;
		enum hsnap_code code = hsnap_core_open_fd(open_bytes(bytes, len), &options, &target, &facts, &err);
		cr_assert(code == HSNAP_OK || code == HSNAP_REFUSED, "%zu: %s", len, err.message);
		cr_assert_eq(code == HSNAP_OK && !facts.partial[0][0], len == size, "%zu of %zu", len, size);
		for (size_t i = 0; target && i < target->mappings.num; i++)
			target->ops->read(target->self, target->mappings.items[i].start, page, sizeof(page));
		hsnap_target_close(target);
	}
	free(bytes);
	made_deinit(&core);
}

/* What was read once stays; what is read later is not there, and nothing dies of it. */
Test(core, a_file_that_shrinks)
{
	struct made_core core;
	uint8_t page[MADE_PAGE];
	uint64_t word;
	fill(page, 5);
	make_small(&core);
	made_segment(&core, 0x30000000u, MADE_PAGE, RX, page, MADE_PAGE);
	int fd = made_open(&core, false);
	struct hsnap_target *target = open_core_exe(dup(fd), NULL, HSNAP_OK);
	cr_expect(hsnap_target_word(target, 0x30000000u, &word));
	cr_assert(!ftruncate(fd, 100));
	cr_expect(hsnap_target_word(target, HEAP, &word));
	cr_expect(!hsnap_target_word(target, 0x30000000u, &word));
	hsnap_target_close(target);
	close(fd);
	made_deinit(&core);
}
