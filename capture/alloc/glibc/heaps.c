/* SPDX-License-Identifier: MIT */
/*
 * heaps.c - the heaps of the arenas that are not main ones.
 *
 * Layout: glibc 2.26 to 2.43 malloc/arena.c, struct _heap_info: arena, previous heap, size, size made
 * writable, since 2.35 the page size.  The newest heap holds the arena's top and leads to the
 * others; the oldest begins with its head and the arena itself.  Heaps are aligned to their
 * largest size: 64 MiB, four huge pages where the tunable asks for them, or what the build says.
 */
#include "capture/alloc/glibc/walk.h"

#define MIN_SHIFT 16 /* of the largest size of a heap */
#define MAX_SHIFT 40
#define MAX_HEAPS (1u << 20) /* of all arenas: a damaged chain can go round and round */

struct head {
	uint64_t arena, previous, size, writable;
};

static bool read_head(const struct walk *walk, uint64_t start, struct head *ret)
{
	return !hsnap_target_read(walk->target, start, ret, sizeof(*ret), NULL);
}

static bool is_heap_of(const struct head *head, const struct hsnap_glibc_arena *arena)
{
	return head->arena == arena->start && head->size >= PAGE && head->size % PAGE == 0 && !(head->size >> MAX_SHIFT);
}

static uint64_t oldest_heap(const struct walk *walk, const struct hsnap_glibc_arena *arena)
{
	uint64_t start = (arena->start - HSNAP_GLIBC_MIN_HEAP_HEAD) & ~(PAGE - 1);
	struct head head;
	return read_head(walk, start, &head) && is_heap_of(&head, arena) ? start : 0;
}

/* The heap that the arena's top lies in, whatever heaps are aligned to; 0: none. */
static uint64_t newest_heap(const struct walk *walk, const struct hsnap_glibc_arena *arena)
{
	for (unsigned shift = MIN_SHIFT; shift <= MAX_SHIFT; shift++) {
		uint64_t start = arena->top >> shift << shift;
		struct head head;
		if (start && read_head(walk, start, &head) && is_heap_of(&head, arena) && arena->top - start < head.size)
			return start;
	}
	return 0;
}

static bool add_heap(struct walk *walk, uint32_t index, uint64_t start, const struct head *head, uint64_t info_size)
{
	struct hsnap_glibc_arena *arena = &walk->arenas.items[index];
	uint64_t first = start + info_size;
	if (arena->start == first) /* the arena itself comes first */
		first = arena->end;
	first = (first + 15) & ~15ull;
	struct run run = {
		.start = first, .end = hsnap_glibc_mapped_end(walk, start, start + head->size), .arena = index + 1, .kind = RUN_HEAP,
	};
	if (arena->top >= run.start && arena->top < run.end)
		run.top = arena->top;
	arena->heads += first - start;
	uint64_t room = head->writable > head->size && !(head->writable >> MAX_SHIFT) ? head->writable : head->size;
	struct hsnap_region region = { start, hsnap_glibc_mapped_end(walk, start, start + room) };
	return run.end <= run.start || (hsnap_vec_push(&walk->runs, run) && hsnap_vec_push(&walk->heap->regions, region));
}

static bool add_heaps(struct walk *walk, uint32_t index)
{
	const struct hsnap_glibc_arena *arena = &walk->arenas.items[index];
	uint64_t oldest = oldest_heap(walk, arena), start = newest_heap(walk, arena), left = arena->system;
	uint64_t info_size = arena->start - oldest;
	struct head head;
	if (!oldest)
		return true;
	/* A damaged chain ends where it has yielded more than the arena has. */
	bool oldest_met = false;
	while (start && read_head(walk, start, &head) && is_heap_of(&head, arena) && head.size <= left && !oldest_met &&
	       walk->heaps++ < MAX_HEAPS) {
		if (!add_heap(walk, index, start, &head, info_size))
			return false;
		left -= head.size;
		oldest_met = start == oldest;
		start = head.previous;
	}
	if (!oldest_met && read_head(walk, oldest, &head))
		return add_heap(walk, index, oldest, &head, info_size);
	return true;
}

bool hsnap_glibc_heap_runs(struct walk *walk)
{
	for (uint32_t i = 0; i < walk->arenas.num; i++)
		if (!walk->arenas.items[i].main && !add_heaps(walk, i))
			return false;
	return true;
}
