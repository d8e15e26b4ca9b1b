/* SPDX-License-Identifier: MIT */
/*
 * fuzz_glibc.c - a heap of glibc's malloc of anybody's making.
 *
 * Input: one byte for the layout, one of flags (1: brk is blocked, 2: smaller heaps, 4: a second piece), then
 * changes to the heap of 8 bytes each: stretch of memory and what to do (1), spare (1), place in it
 * in words (2), value (4).  Holds: the walk ends; blocks, free chunks and regions are in order and
 * apart; what differs from the arenas' own sums is said.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/alloc/alloc.h"
#include "tests/capture/alloc/ptmalloc.h"
#include "tests/fuzz/fuzz.h"

static const struct layout layouts[] = {
	{ "2.26", 104, 0x20, 64, 1, 0, false, false, MARK_NONE },
	{ "2.29", 112, 0x20, 64, 1, 0, false, false, MARK_OWN },
	{ "2.32", 112, 0x20, 64, 2, 0, true, false, MARK_OWN },
	{ "2.36", 112, 0x30, 64, 2, 0, true, true, MARK_RANDOM },
	{ "2.42", 112, 0x30, 76, 2, 7, true, true, MARK_RANDOM },
	{ "2.43", 24, 0x30, 76, 2, 16, true, true, MARK_RANDOM },
};

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void fill(struct ptm *ptm, const struct layout *layout, unsigned flags)
{
	ptm_init(ptm, layout);
	if (flags & 4)
		ptm_brk(ptm, PTM_MAPPED - ((uint64_t)1 << 30), "live 56 bin 600 live 24 fast 24 live 5000 posts");
	ptm_brk(ptm, PTM_BRK, "live 40 cache tcache 24 tcache 24 tcache 104 live 1000 bin 600 live 24 fast 24 fast 24 fast 40 live 24 top");
	ptm_heap(ptm, PTM_HEAPS, 32768, true, "cache tcache 40 tcache 40 live 88 bin 200 live 24 posts");
	ptm_heap(ptm, PTM_HEAPS + ((uint64_t)(flags & 2 ? 1 : 64) << 20), 32768, false, "live 24 bin 408 live 3000 fast 24 live 24 top");
	ptm_map(ptm, ptm_map(ptm, PTM_MAPPED, 20000, 16), 9000, 64);
	ptm_map(ptm, PTM_MAPPED + ((uint64_t)1 << 30), 10000, 8192);
	if (flags & 1)
		ptm_put(ptm, ptm->arenas[0].base, (uint64_t)2 << 32);
}

/* One change: a word is set, added to, or made to lead somewhere in the heap. */
static void change(struct ptm *ptm, const uint8_t *bytes)
{
	uint16_t place;
	int32_t value;
	memcpy(&place, bytes + 2, sizeof(place));
	memcpy(&value, bytes + 4, sizeof(value));
	const struct ptm_piece *piece = &ptm->pieces[bytes[0] % 16 % ptm->num_pieces];
	uint64_t at = piece->start + place * 8ull % piece->size;
	const struct ptm_piece *other = &ptm->pieces[(uint32_t)value % ptm->num_pieces];
	switch (bytes[0] >> 4 & 3) {
	case 0: ptm_put(ptm, at, (uint64_t)(int64_t)value); break;
	case 1: ptm_put(ptm, at, ptm_get(ptm, at) + (uint64_t)(int64_t)value); break;
	case 2: ptm_put(ptm, at, other->start + ((uint32_t)value >> 4) % other->size); break;
	default: ptm_put(ptm, at, at >> 12 ^ (other->start + ((uint32_t)value >> 4) % other->size));
	}
}

static void check(const struct hsnap_heap *heap)
{
	uint64_t end = 0;
	for (size_t i = 0; i < heap->blocks.num; i++) {
		const struct hsnap_block *block = &heap->blocks.items[i];
		require(block->address >= end && block->usable && block->address + block->usable > block->address);
		require(block->requested == block->usable && !block->stack);
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
	end = 0;
	for (size_t i = 0; i < heap->regions.num; i++) {
		require(heap->regions.items[i].start > end && heap->regions.items[i].end > heap->regions.items[i].start);
		end = heap->regions.items[i].end;
	}
	require(heap->walked_bytes == heap->expected_bytes || heap->partial[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct hsnap_heap heap;
	struct ptm ptm;
	if (size < 2 || size > 4096)
		return 0;
	fill(&ptm, &layouts[bytes[0] % (sizeof(layouts) / sizeof(*layouts))], bytes[1]);
	ptm_write(&ptm);
	for (size_t at = 2; at + 8 <= size; at += 8)
		change(&ptm, bytes + at);
	struct hsnap_target *target = ptm_target(&ptm);
	if (!hsnap_glibc_heap_read(target, &heap, NULL)) {
		check(&heap);
		hsnap_heap_deinit(&heap);
	}
	hsnap_target_close(target);
	ptm_deinit(&ptm);
	return 0;
}
