/* SPDX-License-Identifier: MIT */
/* read.c - the heap of glibc's malloc from outside: all steps, and whether they add up. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture/alloc/glibc/walk.h"

static bool add_arenas(struct walk *walk)
{
	struct hsnap_heap *heap = walk->heap;
	if (!hsnap_vec_push(&heap->arenas, (struct hsnap_arena){ 0 })) /* [0]: mappings of their own */
		return false;
	for (size_t i = 0; i < walk->arenas.num; i++) {
		const struct hsnap_glibc_arena *from = &walk->arenas.items[i];
		struct hsnap_arena arena = {
			.address = from->start, .system = from->system, .main = from->main, .locked = from->locked,
		};
		if (!hsnap_vec_push(&heap->arenas, arena) ||
		    !hsnap_vec_push(&heap->regions, (struct hsnap_region){ from->start, from->end }))
			return false;
	}
	return true;
}

static bool read_all(struct walk *walk)
{
	if (!hsnap_glibc_extents(walk) || !add_arenas(walk) || !hsnap_glibc_heap_runs(walk) || !hsnap_glibc_main_runs(walk))
		return false;
	hsnap_glibc_sort_runs(walk);
	if (!hsnap_glibc_mapped_runs(walk))
		return false;
	hsnap_glibc_sort_runs(walk);
	hsnap_glibc_drop_doubtful(walk);
	return hsnap_glibc_walk_runs(walk) && hsnap_glibc_sort_out_cached(walk) &&
	       hsnap_vec_push(&walk->heap->stacks, (struct hsnap_raw_stack){ 0 });
}

/* What each arena has from the system against what was walked; the first that differs is named. */
static void sum_up(struct walk *walk)
{
	struct hsnap_heap *heap = walk->heap;
	const struct hsnap_arena *odd = NULL;
	for (size_t i = 0; i < heap->arenas.num; i++) {
		struct hsnap_arena *arena = &heap->arenas.items[i];
		uint64_t heads = i ? walk->arenas.items[i - 1].heads : 0;
		uint64_t expected = arena->system > heads ? arena->system - heads : 0;
		if (!i && (walk->params_missing || expected < arena->walked)) /* one may just be coming or going */
			expected = arena->walked;
		heap->walked_bytes += arena->walked;
		heap->expected_bytes += expected;
		if (expected != arena->walked && !odd)
			odd = arena;
	}
	if (walk->arenas.left_out) {
		snprintf(heap->partial, sizeof(heap->partial), "%" PRIu64 " of %" PRIu64 " arenas were left out: a process does not have "
			 "so many", walk->arenas.left_out, walk->arenas.left_out + walk->arenas.num);
		return;
	}
	if (!odd)
		return;
	char where[80] = "mappings of their own";
	if (odd->address)
		snprintf(where, sizeof(where), "arena 0x%" PRIx64 "%s", odd->address, odd->locked ? ", at work at the stop" : "");
	if (heap->walked_bytes < heap->expected_bytes)
		snprintf(heap->partial, sizeof(heap->partial), "%" PRIu64 " of %" PRIu64 " bytes of the heap could not be walked (%s)",
			 heap->expected_bytes - heap->walked_bytes, heap->expected_bytes, where);
	else
		snprintf(heap->partial, sizeof(heap->partial), "%" PRIu64 " bytes of the heap were walked that should not be there (%s)",
			 heap->walked_bytes - heap->expected_bytes, where);
}

enum hsnap_code hsnap_glibc_heap_read(const struct hsnap_target *target, struct hsnap_heap *ret,
				      struct hsnap_error *err)
{
	struct hsnap_heap heap = { .source = "glibc" };
	struct walk walk = {
		.target = target, .heap = &heap, .window = { .target = target }, .links = { .target = target },
		.foot_steps = (uint64_t)1 << 24,
	};
	enum hsnap_code code = HSNAP_OK;
	if (!hsnap_glibc_arenas_find(target, &walk.arenas))
		code = hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	else if (!walk.arenas.num)
		code = hsnap_fail(err, HSNAP_NOT_FOUND, 0, "no arena of glibc's malloc is in it");
	else if (!read_all(&walk))
		code = hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the heap's blocks");
	else
		sum_up(&walk);
	hsnap_window_deinit(&walk.window);
	hsnap_window_deinit(&walk.links);
	hsnap_vec_deinit(&walk.arenas);
	hsnap_vec_deinit(&walk.runs);
	hsnap_vec_deinit(&walk.caches);
	hsnap_vec_deinit(&walk.members);
	hsnap_vec_deinit(&walk.proven);
	hsnap_vec_deinit(&walk.params);
	free(walk.extents);
	free(walk.marks);
	if (code) {
		hsnap_heap_deinit(&heap);
		return code;
	}
	hsnap_heap_sort_regions(&heap);
	*ret = heap;
	return HSNAP_OK;
}
