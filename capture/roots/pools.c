/* SPDX-License-Identifier: MIT */
/* pools.c - what the program itself says of roots, and what lies around the objects of its pools (heapsnap.h). */
#include <stdio.h>

#include "capture/alloc/window.h"
#include "capture/roots/finder.h"

#define MAX_NAME 200 /* bytes of a pool's name */

/* A block, or memory of one, that the program says is a root. */
static uint64_t add_block(struct hsnap_root_finder *finder, const struct hsnap_named_root *root, uint64_t at)
{
	size_t found = hsnap_heap_find(finder->heap, at);
	if (found == SIZE_MAX)
		return at;
	const struct hsnap_block *block = &finder->heap->blocks.items[found];
	struct hsnap_root_value value = { .kind = HSNAP_ROOT_HANDLE, .value = at };
	value.name = hsnap_strings_add(&finder->roots->strings, hsnap_str(&finder->heap->texts, root->name));
	if (value.name == HSNAP_NO_STRING || !hsnap_vec_push(&finder->roots->values, value))
		finder->no_memory = true;
	return block->address + block->usable;
}

/* Its own name goes before a variable's: others leave it out from then on. */
void hsnap_roots_of_program(struct hsnap_root_finder *finder)
{
	const struct hsnap_heap *heap = finder->heap;
	uint64_t end = 0;
	for (size_t i = 0; i < heap->named_roots.num; i++) {
		const struct hsnap_named_root *root = &heap->named_roots.items[i];
		struct hsnap_root_place place = { .kind = HSNAP_ROOT_HANDLE, .name = hsnap_str(&heap->texts, root->name) };
		uint64_t at = add_block(finder, root, root->start);
		at = at < end ? end : at;
		if (at < root->end)
			hsnap_roots_add_outside(finder, at, root->end, &place);
		end = root->end > end ? root->end : end;
	}
	for (size_t i = 0; i < heap->named_roots.num; i++)
		if (!hsnap_spans_add(&finder->regions, heap->named_roots.items[i].start, heap->named_roots.items[i].end))
			finder->no_memory = true;
	if (heap->named_roots.num)
		hsnap_spans_sort(&finder->regions);
}

/* From the first to the last word that leads to a block; false: there is none. */
static bool find_words(struct hsnap_root_finder *finder, struct hsnap_window *window, const struct hsnap_rest *rest,
		       uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t word;
	*ret_end = 0;
	for (uint64_t at = (rest->start + 7) & ~UINT64_C(7); at < rest->end && rest->end - at >= 8; at += 8) {
		if (!hsnap_window_word(window, at, &word) || hsnap_heap_find(finder->heap, word) == SIZE_MAX)
			continue;
		if (!*ret_end)
			*ret_start = at;
		*ret_end = at + 8;
	}
	return *ret_end;
}

/*
 * Slabs are nobody's blocks.  What their headers lead to is held by the pool; where the program does not tell which part is
 * header and which are places for objects, what stands there may be left from freed ones, and holds weakly.
 */
void hsnap_roots_of_pools(struct hsnap_root_finder *finder)
{
	const struct hsnap_heap *heap = finder->heap;
	struct hsnap_window window = { .target = finder->target };
	uint64_t start, end;
	for (size_t i = 0; i < heap->rests.num && !finder->no_memory; i++) {
		const struct hsnap_rest *rest = &heap->rests.items[i];
		char name[MAX_NAME + 8];
		if (!find_words(finder, &window, rest, &start, &end))
			continue;
		snprintf(name, sizeof(name), "pool %.*s", MAX_NAME, hsnap_str(&heap->texts, heap->pools.items[rest->pool]));
		struct hsnap_root_place place = { .kind = rest->header ? HSNAP_ROOT_OTHER : HSNAP_ROOT_MAPPING, .name = name };
		hsnap_roots_add(finder, start, end, &place);
	}
	hsnap_window_deinit(&window);
}
