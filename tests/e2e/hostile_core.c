/* SPDX-License-Identifier: MIT */
/*
 * hostile_core.c - a core file that is made to take long.
 *
 *	hostile-core KIND THREADS SEGMENTS ARENAS MODULES FILE
 *
 * KIND: apart, each thread on a stack of its own; together, all on one; split, and the arenas' chunks may be
 * anywhere.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/capture/core/made_core.h"

#define ARENA_SIZE 2240u          /* sizeof(struct malloc_state) from glibc 2.27 on, and a little */
#define BINS_AT 112u
#define NEXT_AT (BINS_AT + 127 * 16 + 16)
#define SYSTEM_AT (NEXT_AT + 24)
#define NONCONTIGUOUS (uint64_t)2  /* in flags, behind the lock */
#define ARENAS 0x100000000u
#define CHUNKS 0x200000000u
#define MODULES 0x280000000u
#define STACKS 0x300000000u
#define SHARED 0x700000000000u
#define SHARED_SIZE (16u << 20)
#define CHUNKS_SIZE (24u << 20)
#define RW (PF_R | PF_W)

static void put(uint8_t *to, uint64_t word)
{
	memcpy(to, &word, sizeof(word));
}

static void *zeroed(size_t size)
{
	void *bytes = calloc(1, size);
	if (!bytes)
		abort();
	return bytes;
}

/* Main arenas that are rings of their own, with a mebibyte that must be somewhere. */
static void add_arenas(struct made_core *core, uint64_t num, bool split)
{
	size_t size = (num * ARENA_SIZE + MADE_PAGE - 1) & ~(size_t)(MADE_PAGE - 1);
	uint8_t *bytes = zeroed(size);
	for (uint64_t i = 0; i < num; i++) {
		uint8_t *arena = bytes + i * ARENA_SIZE;
		uint64_t at = ARENAS + i * ARENA_SIZE;
		for (unsigned bin = 0; bin < 127; bin++) {
			put(arena + BINS_AT + 16 * bin, at + BINS_AT + 16 * bin - 16);
			put(arena + BINS_AT + 16 * bin + 8, at + BINS_AT + 16 * bin - 16);
		}
		/* Where no chain of chunks comes by, or where one does. */
		put(arena + BINS_AT - 16, CHUNKS + CHUNKS_SIZE - (split ? 1024 : MADE_PAGE) + 16 * (i % (split ? 32 : 255)));
		put(arena, split ? NONCONTIGUOUS << 32 : 0);
		put(arena + NEXT_AT, at);
		put(arena + SYSTEM_AT, 1 << 20);
	}
	made_segment(core, ARENAS, size, RW, bytes, size);
	free(bytes);
}

/* From every place a chain of chunks leads on, and into none of the others for long. */
static void add_chunks(struct made_core *core)
{
	uint8_t *bytes = zeroed(CHUNKS_SIZE);
	for (size_t at = 0; at < CHUNKS_SIZE - MADE_PAGE; at += 16)
		put(bytes + at + 8, 48 | 1);
	made_segment(core, CHUNKS, CHUNKS_SIZE, RW, bytes, CHUNKS_SIZE);
	free(bytes);
}

/* Pages that were written to, one in 32: none of them makes one area with the next. */
static void add_shared(struct made_core *core)
{
	uint8_t *bytes = zeroed(SHARED_SIZE);
	for (size_t at = 0; at < SHARED_SIZE; at += 32 * MADE_PAGE)
		put(bytes + at + 64, SHARED);
	made_segment(core, SHARED, SHARED_SIZE, RW, bytes, SHARED_SIZE);
	free(bytes);
}

/* Files that were mapped, each of which says that it goes on over everything behind it. */
static void add_modules(struct made_core *core, uint64_t num)
{
	static const struct {
		Elf64_Ehdr head;
		Elf64_Phdr segments[2];
		uint8_t rest[MADE_PAGE - sizeof(Elf64_Ehdr) - 2 * sizeof(Elf64_Phdr)];
	} module = {
		.head = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_DYN,
			.e_machine = EM_X86_64, .e_phoff = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2,
		},
		.segments = {
			{ .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = MADE_PAGE, .p_memsz = STACKS },
			{ .p_type = PT_TLS, .p_flags = PF_R, .p_memsz = 64, .p_align = 8 },
		},
	};
	struct made_file *files = zeroed(num * sizeof(*files));
	char(*paths)[24] = zeroed(num * sizeof(*paths));
	for (uint64_t i = 0; i < num; i++) {
		uint64_t at = MODULES + i * MADE_PAGE;
		snprintf(paths[i], sizeof(paths[i]), "/nowhere/%u", (unsigned)i);
		files[i] = (struct made_file){ at, at + MADE_PAGE, 0, paths[i] };
		made_segment(core, at, MADE_PAGE, PF_R, &module, MADE_PAGE);
	}
	made_files(core, files, num);
	free(paths);
	free(files);
}

int main(int argc, char **argv)
{
	struct made_core core;
	size_t size;
	if (argc != 7)
		return 2;
	bool together = !strcmp(argv[1], "together");
	uint64_t threads = strtoull(argv[2], NULL, 10), segments = strtoull(argv[3], NULL, 10);
	uint64_t arenas = strtoull(argv[4], NULL, 10);
	made_init(&core);
	made_process(&core, "hostile");
	for (uint64_t i = 0; i < threads; i++) {
		uint64_t stack = STACKS + (2 * (i % (segments / 2 + 1)) + 1) * MADE_PAGE;
		made_thread(&core, MADE_PID + (uint32_t)i, (together ? SHARED + 8 * i : stack + 0x100),
			    together ? SHARED + SHARED_SIZE / 2 : stack + 0x800);
	}
	add_arenas(&core, arenas, !strcmp(argv[1], "split"));
	add_chunks(&core);
	for (uint64_t i = 0; i + 1 < segments; i += 2) { /* a guard, and a stack */
		made_segment(&core, STACKS + i * MADE_PAGE, MADE_PAGE, 0, NULL, 0);
		made_segment(&core, STACKS + (i + 1) * MADE_PAGE, MADE_PAGE, RW, NULL, 0);
	}
	if (together)
		add_shared(&core);
	if (strtoull(argv[5], NULL, 10))
		add_modules(&core, strtoull(argv[5], NULL, 10));
	uint8_t *bytes = made_bytes(&core, true, &size);
	FILE *out = fopen(argv[6], "wb");
	if (!out || fwrite(bytes, 1, size, out) != size || fclose(out))
		return 1;
	free(bytes);
	made_deinit(&core);
	return 0;
}
