/* SPDX-License-Identifier: MIT */
/* arenas.c - which arenas there are: those of the ring, and those whose heaps the agent noted. */
#include <stdlib.h>

#include "capture/alloc/agent/reader.h"
#include "capture/alloc/glibc/arena.h"

static int by_address(const void *a, const void *b)
{
	const struct hsnap_arena *x = a, *y = b;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* A main arena's own links lead to chunks that were free once: nobody may take them for roots. */
static bool add_found(struct reader *reader, const struct hsnap_glibc_arena *found)
{
	struct hsnap_heap *heap = reader->heap;
	struct hsnap_arena arena = {
		.address = found->start, .system = found->system, .main = found->main, .locked = found->locked,
	};
	return hsnap_vec_push(&heap->arenas, arena) &&
	       (!found->main || hsnap_vec_push(&heap->regions, (struct hsnap_region){ found->start, found->end }));
}

/* In order of address, one an address; those of the ring tell more and stand first among equals. */
static void put_in_order(struct hsnap_heap *heap)
{
	struct hsnap_arena *arenas = heap->arenas.items + 1;
	size_t kept = 0;
	qsort(arenas, heap->arenas.num - 1, sizeof(*arenas), by_address);
	for (size_t i = 0; i < heap->arenas.num - 1; i++) {
		struct hsnap_arena *last = kept ? &arenas[kept - 1] : NULL;
		if (!last || last->address != arenas[i].address)
			arenas[kept++] = arenas[i];
		else if (arenas[i].system)
			*last = arenas[i];
	}
	heap->arenas.num = 1 + kept;
}

bool hsnap_reader_arenas(struct reader *reader)
{
	struct hsnap_heap *heap = reader->heap;
	struct hsnap_glibc_arenas found = { 0 };
	bool room = hsnap_glibc_arenas_find(reader->target, &found) && hsnap_vec_push(&heap->arenas, (struct hsnap_arena){ 0 });
	bool has_main = false;
	for (size_t i = 0; room && i < found.num; i++) {
		has_main |= found.items[i].main;
		room = add_found(reader, &found.items[i]);
	}
	for (size_t i = 0; room && i < reader->spans.num; i++)
		if (reader->spans.items[i].arena)
			room = hsnap_vec_push(&heap->arenas, (struct hsnap_arena){ .address = reader->spans.items[i].arena });
	room = room && (has_main || hsnap_vec_push(&heap->arenas, (struct hsnap_arena){ .main = true }));
	hsnap_vec_deinit(&found);
	if (!room)
		return false;
	put_in_order(heap);
	for (reader->main_arena = 1; !heap->arenas.items[reader->main_arena].main;)
		reader->main_arena++;
	return true;
}

uint32_t hsnap_reader_arena_of(const struct reader *reader, const struct span *span)
{
	const struct hsnap_heap *heap = reader->heap;
	const struct hsnap_arena key = { .address = span->arena };
	const struct hsnap_arena *found = NULL;
	if (span->arena)
		found = bsearch(&key, heap->arenas.items + 1, heap->arenas.num - 1, sizeof(key), by_address);
	return found ? (uint32_t)(found - heap->arenas.items) : reader->main_arena;
}
