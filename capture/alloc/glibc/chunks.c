/* SPDX-License-Identifier: MIT */
/*
 * chunks.c - from chunk to chunk.
 *
 * Chunk: glibc 2.36 malloc/malloc.c, struct malloc_chunk: the size of the chunk before it where
 * that is free, its own size with three flags, then the user's bytes, which go on over the first
 * word of the next chunk.  A chunk is free by its tag where the next one's IN_USE bit is clear.
 *
 * At the moment of the stop a thread may have been cutting a chunk in two or moving the top: what
 * then makes no sense is one chunk, after which the chain goes on.
 */
#include "capture/alloc/glibc/walk.h"

#define MIN_CACHE 0x248u /* usable bytes of a thread's cache */
#define MAX_CACHE 0x308u
#define MIN_CHAIN 16 /* chunks that have to follow each other for a chain to be believed */

static bool add_free(struct walk *walk, const struct run *run, uint64_t start, uint64_t end, enum hsnap_free_kind kind)
{
	return hsnap_vec_push(&walk->heap->free, (struct hsnap_free){ start, end, run->arena, (uint8_t)kind });
}

static bool add_region(struct walk *walk, uint64_t start, uint64_t end)
{
	return start >= end || hsnap_vec_push(&walk->heap->regions, (struct hsnap_region){ start, end });
}

static bool add_block(struct walk *walk, struct run *run, uint64_t at, uint64_t size, unsigned flags)
{
	uint64_t second = 0, usable = size - 8;
	hsnap_window_word(&walk->window, at + 24, &second);
	/* Until the caches are known, `stack` keeps half of the word that would be their mark. */
	struct hsnap_block block = {
		.address = at + 16, .usable = usable, .requested = usable, .stack = (uint32_t)second, .flags = (uint16_t)flags,
	};
	run->last_block = at;
	if (usable >= MIN_CACHE && usable <= MAX_CACHE && hsnap_glibc_may_be_cache(usable) && !hsnap_vec_push(&walk->caches, walk->heap->blocks.num))
		return false;
	return hsnap_vec_push(&walk->heap->blocks, block);
}

/* Is it on a list?  The chunk that it leads to leads back. */
static bool is_listed(struct walk *walk, uint64_t at)
{
	uint64_t forward, back;
	return hsnap_window_word(&walk->window, at + 16, &forward) &&
	       hsnap_window_word(&walk->links, forward + 24, &back) && back == at;
}

bool hsnap_glibc_leads_on(struct walk *walk, const struct run *run, uint64_t at)
{
	uint64_t head;
	for (unsigned i = 0; i < MIN_CHAIN; i++) {
		if (at == run->top || at == run->end)
			return i > 0 || at == run->top;
		uint64_t room = run->end - at;
		if (room < FENCE || !hsnap_window_word(&walk->window, at + 8, &head))
			return false;
		if (head == IN_USE && room == FENCE && run->kind == RUN_HEAP)
			return i > 1;
		if (!hsnap_glibc_is_head(head, room) || (run->kind == RUN_MAIN && head & OTHER_ARENA))
			return false;
		at += SIZE(head);
	}
	return true;
}

/* The next place from `at` on where a chain begins; run->end: none. */
static uint64_t find_chain(struct walk *walk, const struct run *run, uint64_t at)
{
	for (; at < run->end; at += 16)
		if (hsnap_glibc_leads_on(walk, run, at))
			return at;
	return run->end;
}

/* The chunk after one that was being cut in two, of which `before` is the first part and `at` the rest, yet
 * without a head: it knows the rest, or the whole, as free.  In the rest may stand whole chains of chunks of old.
 * 0: none is near. */
static uint64_t find_foot(struct walk *walk, const struct run *run, uint64_t before, uint64_t at)
{
	uint64_t head, size;
	for (uint64_t next = at + MIN_CHUNK; next < run->end && run->end - next >= FENCE && walk->foot_steps; next += 16) {
		walk->foot_steps--;
		if (!hsnap_window_word(&walk->window, next, &size))
			return 0;
		if ((size == next - at || size == next - before) && hsnap_window_word(&walk->window, next + 8, &head) &&
		    !(head & IN_USE) && hsnap_glibc_is_head(head, run->end - next))
			return next;
	}
	return 0;
}

/* A chunk whose head was destroyed is kept as a block, so that what it holds is not lost. */
static bool add_damaged(struct walk *walk, struct run *run, uint64_t at, uint64_t next)
{
	if (next == run->end || next - at < MIN_CHUNK)
		return true;
	walk->heap->overruns++;
	return add_block(walk, run, at, next - at, HSNAP_BLOCK_OVERRUN);
}

/* From where no chunk begins to where the next one does. */
static bool step_over(struct walk *walk, struct run *run, uint64_t before, uint64_t *at)
{
	uint64_t from = *at;
	*at = find_foot(walk, run, before, from);
	if (*at) {
		walk->heap->arenas.items[run->arena].walked += *at - from;
		return add_free(walk, run, from, *at, HSNAP_FREE_OTHER);
	}
	*at = find_chain(walk, run, from);
	return add_damaged(walk, run, from, *at);
}

/* A post, or at the end of a heap what was too little to become a chunk: in front of the last head, and without
 * the flag that each block of a heap has. */
static bool is_post(const struct run *run, uint64_t head, uint64_t end, uint64_t next)
{
	return SIZE(head) == FENCE || (run->kind == RUN_HEAP && SIZE(head) == MIN_CHUNK && !(head & OTHER_ARENA) &&
				       run->end - end == FENCE && next == IN_USE);
}

/* One chunk whose head is whole; false: out of memory. */
static bool add_chunk(struct walk *walk, struct run *run, uint64_t at, uint64_t head)
{
	uint64_t size = SIZE(head), end = at + size, next = IN_USE;
	if (end < run->end && !hsnap_window_word(&walk->window, end + 8, &next))
		next = IN_USE;
	if (is_post(run, head, end, next)) {
		walk->arenas.items[run->arena - 1].heads += size;
		walk->heap->arenas.items[run->arena].walked -= size;
		return true;
	}
	if (end == run->end) /* a top that the arena has left and not yet fenced off, or not yet moved to */
		return add_free(walk, run, at, end, HSNAP_FREE_TOP);
	bool follows = hsnap_glibc_is_head(next, run->end - end) || (next == IN_USE && run->end - end == FENCE);
	if (end != run->top && follows && !(next & IN_USE))
		return add_free(walk, run, at, end, is_listed(walk, at) ? HSNAP_FREE_BIN : HSNAP_FREE_OTHER);
	return add_block(walk, run, at, size, 0);
}

/* Walk on from `at` to where no chunk begins; *ret_before: the last chunk's start. */
static bool walk_chain(struct walk *walk, struct run *run, uint64_t *at, uint64_t *ret_before, bool *ret_fenced)
{
	uint64_t head, start = *at;
	unsigned posts = 0;
	*ret_fenced = false;
	while (*at < run->end) {
		/* After posts may begin what somebody else has taken from brk. */
		*ret_fenced = posts >= 2 && run->kind == RUN_MAIN;
		if (*ret_fenced && !hsnap_glibc_leads_on(walk, run, *at))
			break;
		if (*at == run->top) {
			if (!add_free(walk, run, *at, run->end, HSNAP_FREE_TOP))
				return false;
			*at = run->end;
			break;
		}
		uint64_t room = run->end - *at;
		if (room < FENCE || !hsnap_window_word(&walk->window, *at + 8, &head))
			break;
		if (head == IN_USE && room == FENCE && run->kind == RUN_HEAP)
			head |= FENCE; /* the second post of a heap has no size */
		else if (!hsnap_glibc_is_head(head, room))
			break;
		uint64_t size = SIZE(head);
		posts = size == FENCE ? posts + 1 : 0;
		*ret_before = *at;
		if (run->top > *at && run->top - *at < size) { /* the top was being moved */
			if (!add_free(walk, run, *at, run->top, HSNAP_FREE_OTHER))
				return false;
			*at = run->top;
			continue;
		}
		if (!add_chunk(walk, run, *at, head))
			return false;
		*at += size;
	}
	walk->heap->arenas.items[run->arena].walked += *at - start;
	return true;
}

static bool walk_run(struct walk *walk, struct run *run)
{
	uint64_t at = run->start, before = run->start, region = run->start;
	bool fenced;
	while (at < run->end) {
		if (!walk_chain(walk, run, &at, &before, &fenced))
			return false;
		if (at >= run->end)
			break;
		if (!fenced) {
			if (!step_over(walk, run, before, &at))
				return false;
			continue;
		}
		uint64_t next = find_chain(walk, run, at);
		if (!add_region(walk, region, at))
			return false;
		walk->arenas.items[run->arena - 1].heads += next - at;
		at = region = next;
	}
	return add_region(walk, region, run->end);
}

/* The block ends with its mapping, but since 2.43 eight bytes before that: see mapped.c. */
static bool add_mapped(struct walk *walk, struct run *run)
{
	uint64_t head, usable = run->end - run->top - 16;
	if (hsnap_window_word(&walk->links, run->top + 8, &head) && SIZE(head) == usable)
		usable -= 8;
	struct hsnap_block block = { .address = run->top + 16, .usable = usable, .requested = usable };
	walk->heap->arenas.items[0].walked += run->end - run->start;
	return hsnap_vec_push(&walk->heap->blocks, block) && add_region(walk, run->start, run->end);
}

bool hsnap_glibc_walk_runs(struct walk *walk)
{
	for (size_t i = 0; i < walk->runs.num; i++) {
		struct run *run = &walk->runs.items[i];
		run->first_block = walk->heap->blocks.num;
		if (!(run->kind == RUN_MAPPED ? add_mapped(walk, run) : walk_run(walk, run)))
			return false;
	}
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct run *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

void hsnap_glibc_sort_runs(struct walk *walk)
{
	if (!walk->runs.num)
		return;
	qsort(walk->runs.items, walk->runs.num, sizeof(*walk->runs.items), by_start);
	size_t kept = 1;
	for (size_t i = 1; i < walk->runs.num; i++)
		if (walk->runs.items[i].start >= walk->runs.items[kept - 1].end)
			walk->runs.items[kept++] = walk->runs.items[i];
	walk->runs.num = kept;
}
