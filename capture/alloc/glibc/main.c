/* SPDX-License-Identifier: MIT */
/* main.c - where the chunks of a main arena are. */
#include "capture/alloc/glibc/walk.h"

/* Where its chunks began, and what blocks have that are mappings of their own; false: out of memory. */
static bool read_params(struct walk *walk, struct hsnap_glibc_arena *arena, uint64_t start)
{
	struct params params;
	bool found;
	if (!hsnap_glibc_find_params(walk, arena, start, &params, &found))
		return false;
	if (!found) {
		walk->params_missing = true;
		return true;
	}
	arena->brk_start = params.brk_start;
	walk->heap->arenas.items[0].system += params.mapped_bytes;
	return true;
}

/* All of it in one piece that begins here and holds its top?  `sure`: where it begins is beyond doubt. */
static bool try_start(struct walk *walk, uint32_t index, uint64_t start, bool sure, struct run *ret)
{
	const struct hsnap_glibc_arena *arena = &walk->arenas.items[index];
	struct run run = { .start = (start + 15) & ~15ull, .top = arena->top, .arena = index + 1, .kind = RUN_MAIN };
	if (!start || start > arena->top || arena->system > UINT64_MAX - start)
		return false;
	/* What was just given back to the system may not have been taken off the arena's account. */
	run.end = hsnap_glibc_mapped_end(walk, start, start + arena->system);
	*ret = run;
	return run.end > arena->top && (sure || hsnap_glibc_leads_on(walk, &run, run.start));
}

static bool add_main(struct walk *walk, uint32_t index)
{
	struct hsnap_glibc_arena *arena = &walk->arenas.items[index];
	uint64_t head;
	struct run run;
	/* Before its first chunk an arena's top leads to its own lists. */
	if ((arena->top >= arena->start && arena->top < arena->end) || !hsnap_target_word(walk->target, arena->top + 8, &head))
		return true;
	/* Where a thread was just making it larger, its size and its top may not be of one moment. */
	uint64_t start = arena->top + SIZE(head) - arena->system;
	if (!read_params(walk, arena, start))
		return false;
	bool sure = start == arena->brk_start;
	if (!arena->contiguous ||
	    (!try_start(walk, index, arena->brk_start, sure, &run) && !try_start(walk, index, start, false, &run))) {
		arena->pieces = true;
		return true;
	}
	arena->heads += arena->system - (run.end - run.start);
	return hsnap_vec_push(&walk->runs, run);
}

bool hsnap_glibc_main_runs(struct walk *walk)
{
	bool pieces = false;
	for (uint32_t i = 0; i < walk->arenas.num; i++) {
		if (walk->arenas.items[i].main && !add_main(walk, i))
			return false;
		pieces |= walk->arenas.items[i].pieces;
	}
	return !pieces || hsnap_glibc_piece_runs(walk);
}
