/* SPDX-License-Identifier: MIT */
/*
 * ptmalloc.c - see ptmalloc.h.
 *
 * Layouts: glibc 2.26 to 2.43, malloc/malloc.c (struct malloc_state, malloc_par, malloc_chunk,
 * tcache_perthread_struct) and malloc/arena.c (struct _heap_info), read in each version's source.
 */
#include "ptmalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA_SIZE 16384u
#define ARENA_AT 2064u
#define PARAMS_AT 8192u
#define BINS_SIZE 2032u
#define KEY 0x5ca1ab1e0ddba11ull

static void require(bool holds)
{
	if (!holds)
		abort();
}

static uint8_t *place(struct ptm *ptm, uint64_t address, size_t size)
{
	for (unsigned i = 0; i < ptm->num_pieces; i++) {
		struct ptm_piece *piece = &ptm->pieces[i];
		if (address >= piece->start && address - piece->start <= piece->size - size)
			return piece->bytes + (address - piece->start);
	}
	abort();
}

uint64_t ptm_get(struct ptm *ptm, uint64_t address)
{
	uint64_t value;
	memcpy(&value, place(ptm, address, 8), 8);
	return value;
}

void ptm_put(struct ptm *ptm, uint64_t address, uint64_t value)
{
	memcpy(place(ptm, address, 8), &value, 8);
}

static void add_piece(struct ptm *ptm, uint64_t start, size_t size)
{
	require(ptm->num_pieces < 16);
	struct ptm_piece *piece = &ptm->pieces[ptm->num_pieces++];
	*piece = (struct ptm_piece){ .start = start, .size = size, .bytes = calloc(1, size) };
	require(piece->bytes);
}

static struct ptm_arena *add_arena(struct ptm *ptm, uint64_t base)
{
	require(ptm->num_arenas < 4);
	struct ptm_arena *arena = &ptm->arenas[ptm->num_arenas++];
	*arena = (struct ptm_arena){ .base = base };
	for (unsigned i = 0; i < 127; i++) {
		uint64_t link = base + ptm->layout->bins_offset + 16 * i;
		ptm_put(ptm, link, link - 16);
		ptm_put(ptm, link + 8, link - 16);
	}
	return arena;
}

void ptm_init(struct ptm *ptm, const struct layout *layout)
{
	*ptm = (struct ptm){ .layout = layout };
	add_piece(ptm, PTM_LIBC, DATA_SIZE);
	add_arena(ptm, PTM_LIBC + ARENA_AT);
}

static uint64_t link_to(const struct ptm *ptm, uint64_t place, uint64_t to)
{
	return ptm->layout->mixed ? place >> 12 ^ to : to;
}

static unsigned count_at(struct ptm *ptm, unsigned bin, int add)
{
	uint8_t *at = place(ptm, ptm->cache + bin * ptm->layout->count_size, 2);
	uint16_t count;
	memcpy(&count, at, 2);
	count = (uint16_t)(ptm->layout->count_size == 1 ? *at : count);
	count = (uint16_t)(count + add);
	memcpy(at, &count, ptm->layout->count_size);
	return count;
}

static uint64_t mark_of(const struct ptm *ptm)
{
	return ptm->layout->mark == MARK_OWN ? ptm->cache : KEY;
}

static void start_cache(struct ptm *ptm, uint64_t block)
{
	ptm->cache = block;
	for (unsigned i = 0; ptm->layout->slots && i < ptm->layout->bins; i++)
		count_at(ptm, i, (int)ptm->layout->slots);
}

static void put_in_cache(struct ptm *ptm, uint64_t block, uint64_t size)
{
	unsigned bin = (unsigned)(size - 32) / 16;
	uint64_t entry = ptm->cache + ptm->layout->bins * ptm->layout->count_size + 8 * bin;
	count_at(ptm, bin, ptm->layout->slots ? -1 : 1);
	ptm_put(ptm, block, link_to(ptm, block, ptm_get(ptm, entry)));
	if (ptm->layout->mark != MARK_NONE)
		ptm_put(ptm, block + 8, mark_of(ptm));
	ptm_put(ptm, entry, block);
}

static void put_in_bin(struct ptm *ptm, struct ptm_arena *arena, uint64_t chunk, uint64_t size)
{
	uint64_t bin = arena->base + ptm->layout->bins_offset - 16, next = ptm_get(ptm, bin + 16);
	ptm_put(ptm, chunk + 16, next);
	ptm_put(ptm, chunk + 24, bin);
	ptm_put(ptm, bin + 16, chunk);
	ptm_put(ptm, next + 24, chunk);
	ptm_put(ptm, chunk + size, size); /* the next one's first word */
}

static void note(struct ptm *ptm, uint64_t block, uint64_t usable, char what)
{
	require(ptm->num_blocks < PTM_MAX);
	ptm->blocks[ptm->num_blocks++] = (struct ptm_block){ block, usable, what };
}

/* Chunks from `at` on, up to `end`, as the words say; returns where they end. */
static uint64_t fill(struct ptm *ptm, struct ptm_arena *arena, uint64_t at, uint64_t end, uint64_t flag, const char *words)
{
	const struct layout *layout = ptm->layout;
	uint64_t before = 1 /* IN_USE */, last = at;
	char word[16];
	int len;
	for (; sscanf(words, " %15s%n", word, &len) == 1; words += len) {
		unsigned long usable = layout->bins * (layout->count_size + 8ul);
		words += len;
		len = 0;
		if (!strcmp(word, "top")) {
			ptm_put(ptm, at + 8, (end - at) | 1);
			arena->top = at;
			return end;
		}
		if (!strcmp(word, "posts")) {
			for (; at < end; at += 16, before = 1)
				ptm_put(ptm, at + 8, flag && at + 16 == end ? 1 : 16 | before);
			return end;
		}
		if (strcmp(word, "cache"))
			require(sscanf(words, " %lu%n", &usable, &len) == 1);
		usable = (usable + 7) / 16 * 16 + 8;
		uint64_t size = usable + 8, block = at + 16;
		bool free = !strcmp(word, "bin");
		ptm_put(ptm, at + 8, size | before | (free ? 0 : flag));
		before = !free;
		char what = 'l';
		if (free) {
			put_in_bin(ptm, arena, at, size);
			what = 'f';
		} else if (!strcmp(word, "cache")) {
			start_cache(ptm, block);
			what = 'a';
		} else if (!strcmp(word, "tcache")) {
			put_in_cache(ptm, block, size);
			what = 'c';
		} else if (!strcmp(word, "fast") && layout->bins_offset > 100) {
			unsigned bin = (unsigned)(size - 32) / 16;
			ptm_put(ptm, block, link_to(ptm, block, arena->fast[bin]));
			arena->fast[bin] = at;
			what = 'c';
		} else if (!strcmp(word, "marked")) {
			ptm_put(ptm, block, link_to(ptm, block, 0));
			ptm_put(ptm, block + 8, mark_of(ptm));
			what = 'c';
		} else if (!strcmp(word, "residue")) {
			ptm_put(ptm, block, link_to(ptm, block, last));
			ptm_put(ptm, block + 8, mark_of(ptm));
		} else {
			require(!strcmp(word, "live") || !strcmp(word, "fast"));
			memset(place(ptm, block, usable), 0x5a, usable - 8);
		}
		note(ptm, block, usable, what);
		last = at;
		at += size;
	}
	return at;
}

static size_t bytes_for(uint64_t start)
{
	return start == PTM_BRK ? 65536 : 32768;
}

uint64_t ptm_brk(struct ptm *ptm, uint64_t start, const char *words)
{
	size_t size = bytes_for(start & ~4095ull);
	/* Posts stand at the end. */
	const char *posts = strstr(words, "posts");
	add_piece(ptm, start & ~4095ull, size);
	uint64_t end = (start & ~4095ull) + size;
	if (posts) { /* a block in front of them takes up the rest */
		char most[256], rest[256];
		snprintf(most, sizeof(most), "%.*s", (int)(posts - words), words);
		uint64_t at = fill(ptm, &ptm->arenas[0], start, end, 0, most);
		snprintf(rest, sizeof(rest), "live %lu", (unsigned long)(end - 32 - at - 8));
		at = fill(ptm, &ptm->arenas[0], at, end, 0, rest);
		require(at == end - 32);
		fill(ptm, &ptm->arenas[0], at, end, 0, "posts");
	} else {
		fill(ptm, &ptm->arenas[0], start, end, 0, words);
	}
	ptm->arenas[0].system += end - start;
	return end;
}

void ptm_heap(struct ptm *ptm, uint64_t start, uint64_t size, bool first, const char *words)
{
	const struct layout *layout = ptm->layout;
	uint64_t head = layout->heap_head, previous = 0, at = start + head;
	add_piece(ptm, start, size);
	if (first)
		add_arena(ptm, start + head);
	struct ptm_arena *arena = &ptm->arenas[ptm->num_arenas - 1];
	if (first)
		at = (arena->base + layout->bins_offset + BINS_SIZE + 56 + 15) & ~15ull;
	else
		previous = arena->base - head;
	ptm_put(ptm, start, arena->base);
	ptm_put(ptm, start + 8, previous);
	ptm_put(ptm, start + 16, size);
	ptm_put(ptm, start + 24, size);
	if (head > 0x20)
		ptm_put(ptm, start + 32, 4096);
	const char *posts = strstr(words, "posts");
	char rest[256];
	if (posts) {
		snprintf(rest, sizeof(rest), "%.*s", (int)(posts - words), words);
		at = fill(ptm, arena, at, start + size, 4, rest);
		snprintf(rest, sizeof(rest), "live %lu posts", (unsigned long)(start + size - 32 - at - 8));
		words = rest;
	}
	fill(ptm, arena, at, start + size, 4, words);
	arena->system += size;
}

uint64_t ptm_map(struct ptm *ptm, uint64_t start, uint64_t usable, uint64_t alignment)
{
	uint64_t size = (usable + 16 + alignment + 4095) & ~4095ull, at = start;
	uint64_t behind = ptm->layout->bins_offset < 100 ? 16 : 0; /* since 2.43 */
	add_piece(ptm, start, size);
	ptm_put(ptm, start + 8, (size - behind) | 2);
	if (alignment > 16) {
		at = ((start + 16 + alignment - 1) & ~(alignment - 1)) - 16;
		at += at - start < 32 ? alignment : 0;
		ptm_put(ptm, at, at - start);
		ptm_put(ptm, at + 8, (size - behind - (at - start)) | 2);
	}
	note(ptm, at + 16, start + size - at - 16 - behind / 2, 'l');
	ptm->mapped++;
	ptm->mapped_bytes += size;
	return start + size;
}

static void write_arena(struct ptm *ptm, unsigned index)
{
	const struct ptm_arena *arena = &ptm->arenas[index];
	uint64_t bins = arena->base + ptm->layout->bins_offset;
	for (unsigned i = 0; i < 10 && ptm->layout->bins_offset > 100; i++)
		ptm_put(ptm, bins - 96 + 8 * i, arena->fast[i]);
	ptm_put(ptm, bins - 16, arena->top);
	ptm_put(ptm, bins + BINS_SIZE + 16, ptm->arenas[(index + 1) % ptm->num_arenas].base);
	ptm_put(ptm, bins + BINS_SIZE + 40, arena->system);
	ptm_put(ptm, bins + BINS_SIZE + 48, arena->system);
}

static void write_params(struct ptm *ptm)
{
	uint64_t at = PTM_LIBC + PARAMS_AT; /* of sbrk_base */
	uint32_t counts[6] = { 0 }, *first = counts + (ptm->layout->five_ints ? 1 : 2);
	first[0] = first[2] = (uint32_t)ptm->mapped;
	first[1] = 65536;
	memcpy(place(ptm, at - 40, 24), counts, sizeof(counts));
	ptm_put(ptm, at - 16, ptm->mapped_bytes);
	ptm_put(ptm, at - 8, ptm->mapped_bytes);
	ptm_put(ptm, at, PTM_BRK);
}

struct hsnap_target *ptm_finish(struct ptm *ptm)
{
	ptm_write(ptm);
	return ptm_target(ptm);
}

void ptm_write(struct ptm *ptm)
{
	for (unsigned i = 0; i < ptm->num_arenas; i++)
		write_arena(ptm, i);
	write_params(ptm);
}

struct hsnap_target *ptm_target(const struct ptm *ptm)
{
	struct hsnap_target *target = hsnap_image_create();
	require(target);
	for (unsigned i = 0; i < ptm->num_pieces; i++) {
		const struct ptm_piece *piece = &ptm->pieces[i];
		const char *path = piece->start == PTM_LIBC ? "/libc.so.6" : piece->start == PTM_BRK ? "[heap]" : "";
		require(hsnap_image_add(target, piece->start, piece->bytes, piece->size, HSNAP_PROT_READ | HSNAP_PROT_WRITE, path));
	}
	struct hsnap_target_module module = { .start = PTM_LIBC, .end = PTM_LIBC + DATA_SIZE };
	require(hsnap_image_add_module(target, &module));
	return target;
}

void ptm_deinit(struct ptm *ptm)
{
	for (unsigned i = 0; i < ptm->num_pieces; i++)
		free(ptm->pieces[i].bytes);
}
