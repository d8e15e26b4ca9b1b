/* SPDX-License-Identifier: MIT */
/*
 * fuzz_roots.c - threads, the loader's list and libc's table of its own layouts, of anybody's making.
 *
 * Input: one byte of flags (1: a heap's region in the midst, 2: no table, 4 and 8: how many threads), then changes of 8 bytes
 * each: stretch of memory, or a thread (1), what to do (1), place in it in words (2), value (4).  Holds: the search ends;
 * each area lies in a mapping and, a thread's excepted, in no memory of the allocator's, belongs to a module and a thread that there are, and no byte of a
 * stack is gone through twice.
 */
#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "capture/roots/roots.h"
#include "tests/fuzz/fuzz.h"

#define PAGE 4096u
#define PROGRAM 0x400000u
#define LIBC 0x7f1000000000ull
#define STACKS 0x7f2000000000ull
#define BLOCKS 0x7f3000000000ull
#define THREADS 4u
#define STACK (2 * PAGE)
#define CONTROL 0x1400u /* of a thread's control block in its stack */

static const char *const names[] = { "_thread_db_sizeof_pthread", "_thread_db_pthread_specific",
	"_thread_db_sizeof_pthread_key_data_level2", "_thread_db_link_map_l_tls_modid", "_thread_db_link_map_l_tls_offset" };
#define NAMES (sizeof(names) / sizeof(*names))

static struct program {
	Elf64_Dyn dynamic[4];
	uint64_t debug[4];
	uint64_t maps[3][8]; /* struct link_map; two more words for the thread-locals */
	uint64_t data[400];
} program;

static struct libc {
	Elf64_Dyn dynamic[6];
	uint32_t hash[5 + NAMES];
	Elf64_Sym symbols[1 + NAMES];
	uint32_t values[NAMES][4];
	char strings[256];
	uint64_t data[200];
} libc;

static uint64_t stacks[THREADS][STACK / 8], blocks[3 * PAGE / 8];
static struct hsnap_thread threads[THREADS];

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void fill_program(void)
{
	memset(&program, 0, sizeof(program));
	program.dynamic[0] = (Elf64_Dyn){ DT_DEBUG, { PROGRAM + offsetof(struct program, debug) } };
	program.debug[0] = 1;
	program.debug[1] = PROGRAM + offsetof(struct program, maps);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t next = i < 2 ? PROGRAM + offsetof(struct program, maps) + sizeof(program.maps[0]) * (i + 1) : 0;
		const uint64_t map[8] = { 0, 0, i ? LIBC + (i - 1) * PAGE * 16 : PROGRAM, next, 0, 1 + i, i < 2 ? 256 + 512 * i : 0 };
		memcpy(program.maps[i], map, sizeof(map));
	}
}

static void fill_libc(bool table)
{
	static const uint32_t values[NAMES][3] = { { 2304 }, { 64, 32, 0x310 }, { 16 }, { 64, 1, 40 }, { 64, 1, 48 } };
	size_t at = 1;
	memset(&libc, 0, sizeof(libc));
	const Elf64_Dyn entries[] = {
		{ DT_SYMTAB, { LIBC + offsetof(struct libc, symbols) } }, { DT_STRTAB, { LIBC + offsetof(struct libc, strings) } },
		{ DT_STRSZ, { sizeof(libc.strings) } }, { DT_HASH, { LIBC + offsetof(struct libc, hash) } },
	};
	memcpy(libc.dynamic, entries, sizeof(entries));
	libc.hash[0] = 1;
	libc.hash[1] = table ? 1 + NAMES : 1;
	for (unsigned i = 0; i < NAMES; i++) {
		libc.symbols[1 + i] = (Elf64_Sym){ .st_name = (uint32_t)at, .st_shndx = 1,
						   .st_value = offsetof(struct libc, values) + sizeof(libc.values[0]) * i };
		memcpy(libc.values[i], values[i], sizeof(values[i]));
		strcpy(libc.strings + at, names[i]);
		at += strlen(names[i]) + 1;
		libc.hash[2] = 1;
		libc.hash[3 + 1 + i] = i + 1 < NAMES ? i + 2 : 0; /* all in one bucket */
	}
}

static void fill_threads(void)
{
	memset(stacks, 0, sizeof(stacks));
	memset(blocks, 0, sizeof(blocks));
	memset(threads, 0, sizeof(threads));
	for (uint64_t i = 0; i < THREADS; i++) {
		uint64_t start = STACKS + 16 * STACK * i, pointer = start + CONTROL, *control = &stacks[i][CONTROL / 8];
		control[0] = control[2] = pointer;
		control[1] = BLOCKS + 64 + 256 * i;
		uint64_t *dtv = &blocks[(64 + 256 * i) / 8];
		dtv[-2] = 6;
		dtv[0] = 1;
		dtv[6] = BLOCKS + 2048 + 64 * i; /* of the third module, with its own block */
		threads[i] = (struct hsnap_thread){ .tid = 100 + (uint32_t)i, .thread_pointer = pointer };
		threads[i].regs.value[HSNAP_REG_SP] = start + 0x800;
		threads[i].regs.value[HSNAP_REG_PC] = LIBC + 64;
		threads[i].regs.valid = 1u << HSNAP_REG_SP | 1u << HSNAP_REG_PC;
	}
}

static const struct stretch {
	uint64_t start;
	void *bytes;
	size_t size;
} stretches[] = {
	{ PROGRAM, &program, offsetof(struct program, data) }, { LIBC, &libc, offsetof(struct libc, data) },
	{ LIBC, &libc, sizeof(libc) }, { STACKS, stacks[0], STACK }, { STACKS + 16 * STACK, stacks[1], STACK },
	{ STACKS + 32 * STACK, stacks[2], STACK }, { STACKS + 48 * STACK, stacks[3], STACK }, { BLOCKS, blocks, sizeof(blocks) },
	{ PROGRAM, &program, sizeof(program) },
};
#define STRETCHES (sizeof(stretches) / sizeof(*stretches))

/* One change: a word is set, added to, or made to lead somewhere; of a thread its pointers. */
static void change(const uint8_t *bytes)
{
	uint16_t place;
	int32_t value;
	uint64_t *word, was;
	memcpy(&place, bytes + 2, sizeof(place));
	memcpy(&value, bytes + 4, sizeof(value));
	if (bytes[0] & 0x80) {
		struct hsnap_thread *thread = &threads[bytes[0] % THREADS];
		word = place % 2 ? &thread->thread_pointer : &thread->regs.value[HSNAP_REG_SP];
	} else {
		const struct stretch *stretch = &stretches[bytes[0] % STRETCHES];
		word = (uint64_t *)stretch->bytes + place % (stretch->size / 8);
	}
	memcpy(&was, word, sizeof(was));
	const struct stretch *other = &stretches[(uint32_t)value % STRETCHES];
	switch (bytes[1] % 3) {
	case 0: was = (uint64_t)(int64_t)value; break;
	case 1: was += (uint64_t)(int64_t)value; break;
	default: was = other->start + ((uint32_t)value >> 4) % other->size; break;
	}
	memcpy(word, &was, sizeof(was));
}

static struct hsnap_target *make_target(unsigned num_threads)
{
	struct hsnap_target *target = hsnap_image_create();
	unsigned prot = HSNAP_PROT_READ | HSNAP_PROT_WRITE;
	require(target && hsnap_image_add(target, PROGRAM, &program, sizeof(program), prot, "/bin/x") &&
		hsnap_image_add(target, LIBC, &libc, sizeof(libc), prot, "/lib/libc.so.6"));
	for (uint64_t i = 0; i < THREADS; i++)
		require(hsnap_image_add(target, STACKS + 16 * STACK * i, stacks[i], STACK, prot, i ? "" : "[stack]"));
	require(hsnap_image_add(target, BLOCKS, blocks, sizeof(blocks), prot, ""));
	const struct hsnap_target_module modules[] = {
		{ .start = PROGRAM, .end = PROGRAM + sizeof(program), .dynamic = PROGRAM, .tls_size = 64, .main = true },
		{ .start = LIBC, .end = LIBC + sizeof(libc), .bias = LIBC, .dynamic = LIBC, .tls_size = 300 },
		{ .start = LIBC + PAGE * 16, .end = LIBC + PAGE * 17, .bias = LIBC + PAGE * 16, .dynamic = LIBC + PAGE * 16, .tls_size = 40 },
	};
	for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++)
		require(hsnap_image_add_module(target, &modules[i]));
	for (unsigned i = 0; i < num_threads; i++)
		require(hsnap_vec_push(&target->threads, threads[i]));
	return target;
}

static int by_address(const void *a, const void *b)
{
	const struct hsnap_root_area *x = a, *y = b;
	return x->address < y->address ? -1 : x->address > y->address;
}

static void check(const struct hsnap_target *target, const struct hsnap_heap *heap, struct hsnap_roots *roots)
{
	for (size_t i = 0; i < roots->areas.num; i++) {
		const struct hsnap_root_area *area = &roots->areas.items[i];
		const struct hsnap_mapping *mapping = hsnap_target_mapping(target, area->address);
		require(mapping && area->size && area->size <= mapping->end - area->address);
		require(area->module < target->modules.num && area->thread <= target->threads.num);
		/* A thread's own things may lie in the heap, as a fibre's stack does. */
		for (size_t r = 0; r < heap->regions.num && !area->thread; r++)
			require(area->address >= heap->regions.items[r].end || area->address + area->size <= heap->regions.items[r].start);
	}
	if (roots->areas.num)
		qsort(roots->areas.items, roots->areas.num, sizeof(*roots->areas.items), by_address);
	for (size_t i = 1; i < roots->areas.num; i++) {
		const struct hsnap_root_area *before = &roots->areas.items[i - 1], *area = &roots->areas.items[i];
		if (area->kind == HSNAP_ROOT_STACK && before->kind == HSNAP_ROOT_STACK)
			require(before->address + before->size <= area->address);
	}
	for (size_t i = 0; i < roots->values.num; i++)
		require(roots->values.items[i].thread <= target->threads.num);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct hsnap_heap heap = { 0 };
	struct hsnap_roots roots;
	struct hsnap_error err;
	if (size < 1 || size > 4096)
		return 0;
	fill_program();
	fill_libc(!(bytes[0] & 2));
	fill_threads();
	for (size_t at = 1; at + 8 <= size; at += 8)
		change(bytes + at);
	struct hsnap_target *target = make_target(1 + (bytes[0] >> 2 & 3));
	if (bytes[0] & 1)
		require(hsnap_vec_push(&heap.regions, ((struct hsnap_region){ BLOCKS + PAGE, BLOCKS + 2 * PAGE })));
	require(!hsnap_roots_find(target, NULL, &heap, &roots, &err));
	check(target, &heap, &roots);
	/* Unchanged, each module's data and thread-locals are there, and each stack. */
	require(size > 1 || bytes[0] & 2 || (roots.searched_modules == 3 && roots.searched_tls == 3 * target->threads.num));
	hsnap_roots_deinit(&roots);
	hsnap_vec_deinit(&heap.regions);
	hsnap_target_close(target);
	return 0;
}
