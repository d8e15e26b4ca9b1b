/* SPDX-License-Identifier: MIT */
/* main.c - where the chunks of a main arena are. */
#include "capture/alloc/glibc/walk.h"

/* All of it in one piece that ends with its top. */
static bool add_contiguous(struct walk *walk, uint32_t index)
{
	struct hsnap_glibc_arena *arena = &walk->arenas.items[index];
	uint64_t head;
	if (!arena->top || !hsnap_target_word(walk->target, arena->top + 8, &head))
		return true;
	uint64_t end = arena->top + SIZE(head);
	if (end < arena->top || arena->system > end)
		return true;
	uint64_t start = (end - arena->system + 15) & ~15ull;
	arena->heads += start - (end - arena->system);
	struct run run = { .start = start, .end = end, .top = arena->top, .arena = index + 1, .kind = RUN_MAIN };
	return run.start >= run.end || hsnap_vec_push(&walk->runs, run);
}

bool hsnap_glibc_main_runs(struct walk *walk)
{
	for (uint32_t i = 0; i < walk->arenas.num; i++)
		if (walk->arenas.items[i].main && !add_contiguous(walk, i))
			return false;
	return true;
}
