/* SPDX-License-Identifier: MIT */
/*
 * fuzz_agent.c - what an agent keeps in its process, of anybody's making: its directory and how that is found, its
 * tables, and the records of blocks.
 *
 * Input: one byte of flags (1: the symbol is found by the older hash table, 2: smaller heaps, 4: the main arena has
 * pieces, 8: the program has named pools and roots, 16: its blocks are another allocator's, in the registry, 32: that has a
 * function that tells how large they are, which the program's constants name), one for the version of glibc, then changes
 * of 8 bytes each: stretch of memory and what to do (1), spare (1), place in it in words (2), value (4).  A record can be
 * written with its check right, which is hit by chance in one of a million.  Holds: the walk ends; blocks, free chunks
 * and regions are in order and apart; each stack is there; what the program says of its pools makes blocks that lie in
 * memory.
 */
#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "capture/alloc/alloc.h"
#include "capture/wire.h"
#include "tests/capture/alloc/ptmalloc.h"
#include "tests/fuzz/fuzz.h"

#define AGENT 0x7f1000000000ull /* its module: dynamic section, tables of symbols, directory */
#define TABLES 0x7f2000000000ull
#define PIECES 0x7f3000000000ull
#define CODE 0x7f4000000000ull
#define CODE_SIZE 4096u
#define POOLS 0x7f5000000000ull /* memory of a pool's own */
#define POOLS_SIZE 8192u
#define REGISTRY 0x7f6000000000ull /* which segments there are */
#define LIBRARY 0x7f7000000000ull /* the other allocator's module */
#define PROGRAM 0x7f8000000000ull /* the constants of the program's */
#define LARGE 64u /* places for large blocks */
#define TEXT_UNIT 7u
#define TAGGED_UNIT 8u
#define OBJECT_UNIT 9u
#define KEY 0x5eed5eed5eed5eedull

static const struct layout layouts[] = {
	{ "2.26", 104, 0x20, 64, 1, 0, false, false, MARK_NONE },
	{ "2.29", 112, 0x20, 64, 1, 0, false, false, MARK_OWN },
	{ "2.36", 112, 0x30, 64, 2, 0, true, true, MARK_RANDOM },
	{ "2.43", 24, 0x30, 76, 2, 16, true, true, MARK_RANDOM },
};
static const uint64_t minors[] = { 26, 29, 36, 43 };

static struct module {
	Elf64_Dyn dynamic[6];
	uint32_t sysv[8], gnu[8];
	Elf64_Sym symbols[2];
	char strings[32];
	struct hsnap_wire_directory directory;
} module;

/* The allocator's, with a symbol; in a hash table as the agent's. */
static struct library {
	Elf64_Dyn dynamic[5];
	uint32_t gnu[8];
	Elf64_Sym symbols[2];
	char strings[16];
	char constants[64]; /* not the allocator's, but beside it here */
} library;

static struct tables {
	uint64_t stacks[64][HSNAP_STACK_UNIT_WORDS];
	uint64_t large[LARGE], requested[LARGE], sites[LARGE];
	struct hsnap_wire_counters slots[HSNAP_SLOT_FIRST];
	uint64_t heaps[HSNAP_HEAP_WORDS];
	/* What the program says, where it does. */
	struct hsnap_wire_pool pools[HSNAP_SLOT_FIRST];
	struct hsnap_wire_piece list[HSNAP_SLOT_FIRST];
	uint64_t registry[2][HSNAP_REGISTRY_ENTRIES][2];
} tables;

static uint64_t segments_there[HSNAP_REGISTRY_WORDS];

static uint64_t piece_numbers[16]; /* of those that are said to be there: a few bits of 16 MiB, which are not copied about */
static unsigned num_piece_numbers;

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void fill_heap(struct ptm *ptm, const struct layout *layout, unsigned flags)
{
	ptm_init(ptm, layout);
	if (flags & 4)
		ptm_brk(ptm, PTM_MAPPED - ((uint64_t)1 << 30), "live 56 bin 600 live 24 fast 24 live 5000 posts");
	ptm_brk(ptm, PTM_BRK, "live 40 cache tcache 24 tcache 24 tcache 104 live 1000 bin 600 live 24 tcache 24 fast 24 fast 40 live 24 top");
	ptm_heap(ptm, PTM_HEAPS, 32768, true, "cache tcache 40 tcache 40 live 88 bin 200 live 24 posts");
	ptm_heap(ptm, PTM_HEAPS + ((uint64_t)(flags & 2 ? 1 : 64) << 20), 32768, false, "live 24 bin 408 live 3000 live 24 top");
	ptm_map(ptm, ptm_map(ptm, PTM_MAPPED, 20000, 16), 9000, 64);
	ptm_write(ptm);
}

static uint64_t record(uint64_t place, uint32_t site, unsigned slack, unsigned state)
{
	uint64_t rest = HSNAP_TRAILER_REST(site & HSNAP_MAX_SITE, 3, slack, state);
	return rest | HSNAP_TRAILER_CHECK(module.directory.key, place, rest);
}

static void add_large(const struct ptm_block *block, unsigned at)
{
	tables.large[at] = block->address;
	tables.requested[at] = block->usable - 3;
	tables.sites[at] = 1 << 12 | 7;
}

/* What the agent would have written of each block. */
static void add_records(struct ptm *ptm)
{
	unsigned num_large = 0;
	for (unsigned i = 0; i < ptm->num_blocks; i++) {
		const struct ptm_block *block = &ptm->blocks[i];
		uint64_t place = block->address + block->usable - 8;
		if (block->address >= PTM_MAPPED && block->address < PTM_HEAPS && ptm_get(ptm, block->address - 8) & 2)
			add_large(block, num_large++);
		else if (block->what == 'l')
			ptm_put(ptm, place, i % 4 ? record(place, i % 4, 5, HSNAP_WIRE_LIVE) : record(place, TAGGED_UNIT, 5, HSNAP_WIRE_TAGGED));
		else if (block->what == 'c')
			ptm_put(ptm, place, record(place, 0, 0, HSNAP_WIRE_FREED));
	}
}

static void set_bit(uint64_t *words, uint64_t bit)
{
	words[bit / 64] |= (uint64_t)1 << bit % 64;
}

static void fill_tables(const struct ptm *ptm, unsigned flags)
{
	memset(&tables, 0, sizeof(tables));
	for (unsigned unit = 1; unit < 4; unit++) {
		tables.stacks[2 * unit - 1][0] = 10 | 2 << 8 | 1 << 16;
		for (unsigned i = 1; i < 12; i++)
			tables.stacks[2 * unit - 1 + i / 8][i % 8] = CODE + 64 * unit + 16 * i;
	}
	/* Behind the stacks a text, and one of them with it as a tag. */
	static const char text[] = "struct session of somebody";
	tables.stacks[TEXT_UNIT][0] = HSNAP_UNIT_TEXT | (sizeof(text) - 1) << 8;
	memcpy(&tables.stacks[TEXT_UNIT][1], text, sizeof(text) - 1);
	tables.stacks[TAGGED_UNIT][0] = HSNAP_UNIT_TAGGED | TEXT_UNIT << 8 | (uint64_t)3 << 32;
	tables.stacks[OBJECT_UNIT][0] = HSNAP_UNIT_OBJECT | (uint64_t)TAGGED_UNIT << 32;
	tables.slots[0] = (struct hsnap_wire_counters){ .allocated_bytes = 4000, .allocated_count = 9, .allocated_room = 5000,
							.freed_count = 2, .freed_room = 200 };
	num_piece_numbers = 0;
	for (unsigned i = 0; i < ptm->num_pieces; i++) {
		uint64_t start = ptm->pieces[i].start;
		if (start >= PTM_HEAPS && start < PTM_LIBC)
			set_bit(tables.heaps, start >> HSNAP_HEAP_SHIFT);
		else if (flags & 4 && start < PTM_MAPPED && start != PTM_BRK)
			piece_numbers[num_piece_numbers++] = start >> HSNAP_PIECE_SHIFT;
	}
}

static void add_entry(uint64_t *to, unsigned kind, uint64_t address, uint64_t size, uint32_t site)
{
	to[0] = HSNAP_KEY(kind, address) | (uint64_t)5 << HSNAP_KEY_BITS;
	to[1] = size << 24 | site;
}

/* Two objects in the first large block, which is a slab then, two in a pool's own memory, of which one is in the other; an
 * arena's in the same, of which one has another size now; a root there and one that is a block. */
static void fill_pools(const struct ptm *ptm)
{
	uint64_t block = 0;
	for (unsigned i = 0; i < ptm->num_blocks && !block; i++)
		block = ptm->blocks[i].what == 'l' && ptm->blocks[i].usable >= 1000 ? ptm->blocks[i].address : 0;
	tables.pools[0].state = (uint64_t)1 << 32 | TEXT_UNIT << 8 | HSNAP_POOL_OBJECTS;
	tables.pools[0].slabs = 1;
	tables.pools[1].state = (uint64_t)1 << 32 | TEXT_UNIT << 8 | HSNAP_POOL_ARENA;
	tables.pools[1].objects = 3;
	tables.list[0] = (struct hsnap_wire_piece){ 0, 1, { { POOLS, 4096 } } };
	tables.list[1].num = 3;
	add_entry(tables.list[1].entries[0], HSNAP_KIND_OBJECT, POOLS + 4096, 64, 1);
	add_entry(tables.list[1].entries[1], HSNAP_KIND_OBJECT, POOLS + 5000, 10, TAGGED_UNIT);
	tables.list[2].older = 2;
	tables.list[2].num = 1;
	add_entry(tables.list[2].entries[0], HSNAP_KIND_OBJECT, POOLS + 4096, 80, 3);
	add_entry(tables.registry[0][0], HSNAP_KIND_OBJECT, block + 16, 100, OBJECT_UNIT);
	add_entry(tables.registry[0][3], HSNAP_KIND_OBJECT, block + 200, 300, OBJECT_UNIT);
	add_entry(tables.registry[1][1], HSNAP_KIND_OBJECT, POOLS + 64, 512, OBJECT_UNIT);
	add_entry(tables.registry[1][7], HSNAP_KIND_OBJECT, POOLS + 128, 100, OBJECT_UNIT);
	add_entry(tables.registry[1][8], HSNAP_KIND_ROOT, POOLS + 6000, 100, TEXT_UNIT);
	add_entry(tables.registry[0][9], HSNAP_KIND_ROOT, block, 8, TEXT_UNIT);
	module.directory.pool_segments[0] = TABLES + offsetof(struct tables, pools);
	module.directory.piece_segments[0] = TABLES + offsetof(struct tables, list);
	module.directory.num_pools = 2;
	module.directory.num_pieces = 3;
	module.directory.registry_exists = REGISTRY;
	module.directory.registry_bases[0] = TABLES + offsetof(struct tables, registry);
	module.directory.registry_bases[1] = TABLES + offsetof(struct tables, registry);
	segments_there[0] = 3;
}

static size_t num_registered;

/* The blocks as another allocator's.  Where an entry stands only the agent cares. */
static void fill_registry(const struct ptm *ptm)
{
	for (unsigned i = 0; i < ptm->num_blocks && i < HSNAP_REGISTRY_ENTRIES - 16; i++) {
		const struct ptm_block *block = &ptm->blocks[i];
		uint64_t *entry = tables.registry[i % 2][16 + i];
		if (block->what != 'l')
			continue;
		num_registered++;
		add_entry(entry, HSNAP_KIND_BLOCK, block->address, block->usable - 3, i % 4 ? i % 4 : TAGGED_UNIT);
		if (i % 7 == 3)
			entry[0] |= (uint64_t)HSNAP_ENTRY_HELD << HSNAP_ADDRESS_BITS;
	}
	module.directory.allocator = HSNAP_ALLOCATOR_OTHER;
	module.directory.other_malloc = CODE + 64;
	module.directory.registry_exists = REGISTRY;
	module.directory.registry_bases[0] = TABLES + offsetof(struct tables, registry);
	module.directory.registry_bases[1] = TABLES + offsetof(struct tables, registry);
	segments_there[0] = 3;
}

static void fill_directory(unsigned flags, uint64_t minor)
{
	module.directory = (struct hsnap_wire_directory){
		.magic = HSNAP_WIRE_MAGIC, .version = HSNAP_WIRE_VERSION, .size = sizeof(module.directory), .key = KEY,
		.allocator = HSNAP_ALLOCATOR_GLIBC, .glibc_minor = minor, .brk_start = PTM_BRK, .brk_end = PTM_BRK + 65536,
		.heap_bits = TABLES + offsetof(struct tables, heaps), .piece_bits = flags & 4 ? PIECES : 0,
		.large_address = TABLES + offsetof(struct tables, large),
		.large_requested = TABLES + offsetof(struct tables, requested),
		.large_site = TABLES + offsetof(struct tables, sites), .large_capacity = LARGE,
		.stack_segments = { TABLES + offsetof(struct tables, stacks) }, .stack_units = 10,
		.slot_segments = { TABLES + offsetof(struct tables, slots) }, .num_slots = 2, .num_unloads = 1,
		.unloads = { { CODE + 192, CODE + 256, 1 } }, .num_own = 1, .own = { { TABLES, TABLES + sizeof(tables) } },
	};
}

/* How the symbol is found, by either kind of hash table; in both all names are in one bucket. */
static void fill_module(unsigned flags)
{
	uint32_t hash = 5381;
	for (const char *c = HSNAP_WIRE_SYMBOL; *c; c++)
		hash = hash * 33 + (uint8_t)*c;
	memset(&module, 0, offsetof(struct module, directory));
	memcpy(module.sysv, (uint32_t[]){ 1, 2, 1, 0, 0 }, 20);
	memcpy(module.gnu, (uint32_t[]){ 1, 1, 1, 0, 0, 0, 1, hash | 1 }, 32);
	module.symbols[1] = (Elf64_Sym){ .st_name = 1, .st_shndx = 1, .st_value = offsetof(struct module, directory) };
	strcpy(module.strings + 1, HSNAP_WIRE_SYMBOL);
	const Elf64_Dyn entries[] = {
		{ DT_SYMTAB, { AGENT + offsetof(struct module, symbols) } }, { DT_STRTAB, { AGENT + offsetof(struct module, strings) } },
		{ DT_STRSZ, { sizeof(module.strings) } },
		{ flags & 1 ? DT_HASH : DT_GNU_HASH, { AGENT + (flags & 1 ? offsetof(struct module, sysv) : offsetof(struct module, gnu)) } },
	};
	memcpy(module.dynamic, entries, sizeof(entries));
}

static void fill_library(void)
{
	static const char name[] = "sallocx";
	uint32_t hash = 5381;
	for (const char *c = name; *c; c++)
		hash = hash * 33 + (uint8_t)*c;
	library = (struct library){
		.dynamic = { { DT_SYMTAB, { LIBRARY + offsetof(struct library, symbols) } },
			     { DT_STRTAB, { LIBRARY + offsetof(struct library, strings) } },
			     { DT_STRSZ, { sizeof(library.strings) } }, { DT_GNU_HASH, { LIBRARY + offsetof(struct library, gnu) } } },
		.gnu = { 1, 1, 1, 0, 0, 0, 1, hash | 1 },
		.symbols = { [1] = { .st_name = 1, .st_shndx = 1, .st_value = 8 } },
	};
	memcpy(library.strings + 1, name, sizeof(name));
	memcpy(library.constants + 20, name, sizeof(name));
	module.directory.other_malloc = LIBRARY + 8;
}

static bool add_library(struct hsnap_target *target)
{
	size_t own = offsetof(struct library, constants);
	struct hsnap_target_module allocator = { .start = LIBRARY, .end = LIBRARY + own, .bias = LIBRARY, .dynamic = LIBRARY };
	struct hsnap_target_module program = { .start = PROGRAM, .end = PROGRAM + sizeof(library.constants), .bias = PROGRAM };
	return hsnap_image_add(target, LIBRARY, &library, own, HSNAP_PROT_READ, "") &&
	       hsnap_image_add(target, PROGRAM, library.constants, sizeof(library.constants), HSNAP_PROT_READ, "") &&
	       hsnap_image_add_module(target, &allocator) && hsnap_image_add_module(target, &program);
}

/* What can be changed: the heap's stretches, then the agent's, and the other allocator's. */
static uint8_t *stretch(const struct ptm *ptm, unsigned number, uint64_t *ret_start, size_t *ret_size)
{
	const struct ptm_piece own[] = { { AGENT, (uint8_t *)&module, sizeof(module) }, { TABLES, (uint8_t *)&tables, sizeof(tables) },
					 { AGENT + offsetof(struct module, directory), (uint8_t *)&module.directory, 256 } };
	const struct ptm_piece others = { LIBRARY, (uint8_t *)&library, sizeof(library) };
	const struct ptm_piece *piece = number == 15 ? &others : number < ptm->num_pieces ? &ptm->pieces[number] : &own[(number - ptm->num_pieces) % 3];
	*ret_start = piece->start;
	*ret_size = piece->size & ~(size_t)7;
	return piece->bytes;
}

/* One change: a word is set, added to, made to lead somewhere, or a whole record. */
static void change(const struct ptm *ptm, const uint8_t *bytes)
{
	uint16_t place;
	int32_t value;
	uint64_t start, other, word;
	size_t size, other_size;
	memcpy(&place, bytes + 2, sizeof(place));
	memcpy(&value, bytes + 4, sizeof(value));
	uint8_t *at = stretch(ptm, bytes[0] % 16, &start, &size);
	size_t offset = place * (size_t)8 % size;
	memcpy(&word, at + offset, 8);
	stretch(ptm, (uint32_t)value % 16, &other, &other_size);
	switch (bytes[0] >> 4 & 3) {
	case 0: word = (uint64_t)(int64_t)value; break;
	case 1: word += (uint64_t)(int64_t)value; break;
	case 2: word = other + ((uint32_t)value >> 4) % other_size; break;
	default: word = record(start + offset, (uint32_t)value >> 8, (unsigned)value & 63, (unsigned)value >> 6 & 3);
	}
	memcpy(at + offset, &word, 8);
}

static bool add_pieces(struct hsnap_target *target)
{
	size_t size = HSNAP_PIECE_WORDS * sizeof(uint64_t);
	if (!hsnap_image_add(target, PIECES, NULL, size, HSNAP_PROT_READ | HSNAP_PROT_WRITE, ""))
		return false;
	uint64_t *words = (uint64_t *)hsnap_target_view(target, PIECES, size);
	for (unsigned i = 0; i < num_piece_numbers; i++)
		set_bit(words, piece_numbers[i]);
	return true;
}

static struct hsnap_target *make_target(const struct ptm *ptm, unsigned flags)
{
	struct hsnap_target *target = ptm_target(ptm);
	struct hsnap_target_module agent = { .start = AGENT, .end = AGENT + sizeof(module), .bias = AGENT, .dynamic = AGENT };
	require(hsnap_image_add(target, AGENT, &module, sizeof(module), HSNAP_PROT_READ | HSNAP_PROT_WRITE, "") &&
		hsnap_image_add(target, TABLES, &tables, sizeof(tables), HSNAP_PROT_READ | HSNAP_PROT_WRITE, "") &&
		hsnap_image_add(target, CODE, NULL, CODE_SIZE, HSNAP_PROT_READ | HSNAP_PROT_EXEC, "") &&
		(!(flags & 4) || add_pieces(target)) &&
		(!(flags & 8) || hsnap_image_add(target, POOLS, NULL, POOLS_SIZE, HSNAP_PROT_READ | HSNAP_PROT_WRITE, "")) &&
		(!(flags & 24) || hsnap_image_add(target, REGISTRY, segments_there, sizeof(segments_there), HSNAP_PROT_READ, "")) &&
		hsnap_image_add_module(target, &agent) && (!(flags & 32) || add_library(target)));
	return target;
}

static void check_regions(const struct hsnap_region *regions, size_t num)
{
	uint64_t end = 0;
	for (size_t i = 0; i < num; i++) {
		require(regions[i].start > end && regions[i].end > regions[i].start);
		end = regions[i].end;
	}
}

static void check_pools(const struct hsnap_heap *heap)
{
	uint64_t end = 0;
	for (size_t i = 0; i < heap->rests.num; i++) {
		const struct hsnap_rest *rest = &heap->rests.items[i];
		require(rest->start >= end && rest->end > rest->start && rest->pool < heap->pools.num);
		require(hsnap_heap_find(heap, rest->start) == SIZE_MAX && hsnap_heap_find(heap, rest->end - 1) == SIZE_MAX);
		end = rest->end;
	}
	for (size_t i = 0; i < heap->named_roots.num; i++)
		require(heap->named_roots.items[i].end > heap->named_roots.items[i].start &&
			(!i || heap->named_roots.items[i].start > heap->named_roots.items[i - 1].start));
}

/* What is read where nothing was changed. */
static bool is_all(const struct hsnap_heap *heap, unsigned flags)
{
	if (!heap->found_room || heap->stacks.num < 2 || heap->tags.num != 2)
		return false;
	size_t larger = 0;
	for (size_t i = 0; i < heap->blocks.num; i++)
		larger += heap->blocks.items[i].usable > heap->blocks.items[i].requested;
	if ((flags & 16) && !(flags & 8) && !(flags & 32) != !larger)
		return false;
	if (flags & 16 && (heap->partial[0] || (!(flags & 8) && heap->blocks.num != num_registered)))
		return false;
	return !(flags & 8) || (heap->num_objects == 5 && heap->object_bytes == 100 + 300 + 100 + 80 + 10 && heap->named_roots.num == 2 &&
				heap->num_slabs == 2 && heap->rests.num >= 2 && !heap->objects_gone);
}

static void check(const struct hsnap_heap *heap)
{
	uint64_t end = 0;
	for (size_t i = 0; i < heap->blocks.num; i++) {
		const struct hsnap_block *block = &heap->blocks.items[i];
		require(block->address >= end && block->usable && block->address + block->usable > block->address);
		require(block->requested <= block->usable && block->stack < heap->stacks.num);
		require(!heap->tag_of || heap->tag_of[i] < heap->tags.num);
		require(!(block->flags & HSNAP_BLOCK_OBJECT) == !(heap->pool_of && heap->pool_of[i]));
		require(!heap->pool_of || heap->pool_of[i] < heap->pools.num);
		end = block->address + block->usable;
	}
	end = 0;
	for (size_t i = 0; i < heap->free.num; i++) {
		const struct hsnap_free *free = &heap->free.items[i];
		require(free->start >= end && free->end > free->start && free->kind < HSNAP_NUM_FREE_KINDS);
		require(free->arena && free->arena < heap->arenas.num);
		require(hsnap_heap_find(heap, free->start + 16) == SIZE_MAX);
		end = free->end;
	}
	for (size_t i = 0; i < heap->stacks.num; i++)
		require((uint64_t)heap->stacks.items[i].first_pc + heap->stacks.items[i].num_pcs <= heap->pcs.num);
	check_pools(heap);
	for (size_t i = 1; i < heap->tags.num; i++) {
		const char *text = hsnap_str(&heap->texts, heap->tags.items[i].text);
		require(*text && strlen(text) <= HSNAP_MAX_TEXT && heap->tags.items[i].how < HSNAP_NUM_TEXTS);
	}
	check_regions(heap->regions.items, heap->regions.num);
	check_regions(heap->own.items, heap->own.num);
	require(heap->walked_bytes == heap->expected_bytes || heap->partial[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct hsnap_heap heap;
	struct hsnap_error err;
	struct ptm ptm;
	num_registered = 0;
	if (size < 2 || size > 4096)
		return 0;
	unsigned which = bytes[1] % (sizeof(layouts) / sizeof(*layouts));
	fill_heap(&ptm, &layouts[which], bytes[0]);
	fill_module(bytes[0]);
	fill_directory(bytes[0], minors[which]);
	fill_tables(&ptm, bytes[0]);
	if (bytes[0] & 8)
		fill_pools(&ptm);
	if (bytes[0] & 16)
		fill_registry(&ptm);
	if (bytes[0] & 32)
		fill_library();
	add_records(&ptm);
	for (size_t at = 2; at + 8 <= size; at += 8)
		change(&ptm, bytes + at);
	struct hsnap_target *target = make_target(&ptm, bytes[0]);
	if (!hsnap_agent_heap_read(target, &heap, &err)) {
		check(&heap);
		require(size > 2 || is_all(&heap, bytes[0]));
		hsnap_heap_deinit(&heap);
	} else {
		require(size > 2 && err.message[0]);
	}
	hsnap_target_close(target);
	ptm_deinit(&ptm);
	return 0;
}
