/* SPDX-License-Identifier: MIT */
/*
 * mapped.c - blocks that have mappings of their own.
 *
 * glibc 2.26 to 2.43 malloc/malloc.c, sysmalloc_mmap(): the chunk begins where the mapping does; its
 * second word is its size, up to the mapping's end, with the MAPPED flag alone.  Since 2.43
 * (mmap_set_chunk()) the size ends a head's length before the mapping does, as if another chunk came
 * there, and bit 0 of the first word says that the mapping is of huge pages.  Where an alignment
 * was asked for, _int_memalign() makes another head further in, whose first word says how far, and
 * leaves the one before as it is; mremap_chunk() then changes the second alone, and where it moves the
 * mapping the block is aligned to a page and no more.  The kernel makes
 * one mapping of several that lie side by side, so each page is looked at that no chunk explains.
 */
#include "capture/alloc/glibc/walk.h"

#define HEAD 16u
#define MAX_MAPPED ((uint64_t)1 << 47)
#define MAX_LEAD ((uint64_t)16 << 20) /* looked through for a head that was moved along with its mapping */

static bool is_chunk(struct walk *walk, uint64_t mapping, uint64_t at, struct run *ret)
{
	uint64_t lead, head;
	if (!hsnap_window_word(&walk->links, at, &lead) || (lead & ~1ull) != at - mapping ||
	    !hsnap_window_word(&walk->links, at + 8, &head) || (head & 15) != MAPPED)
		return false;
	uint64_t end = at + SIZE(head);
	if ((end + HEAD) % PAGE == 0)
		end += HEAD;
	else if (lead & 1)
		return false;
	*ret = (struct run){ .start = mapping, .end = end, .top = at, .kind = RUN_MAPPED };
	return SIZE(head) >= MIN_CHUNK && SIZE(head) <= MAX_MAPPED && end % PAGE == 0;
}

/* Does something else begin where this ends, as far as can be seen? */
static bool ends_well(struct walk *walk, const struct run *run)
{
	const struct hsnap_mapping *last = hsnap_target_mapping(walk->target, run->end - 1);
	struct run next;
	return hsnap_glibc_is_private(walk, run->start, run->end) &&
	       ((last && last->end == run->end) || is_chunk(walk, run->end, run->end, &next));
}

/* A second head that was aligned once: before a page. */
static bool find_moved(struct walk *walk, const struct run *whole, struct run *ret)
{
	uint64_t most = whole->end - whole->start < MAX_LEAD ? whole->end - whole->start : MAX_LEAD;
	for (uint64_t lead = PAGE; lead < most; lead += PAGE)
		if (is_chunk(walk, whole->start, whole->start + lead - HEAD, ret) &&
		    hsnap_glibc_is_private(walk, whole->start, ret->end))
			return true;
	return false;
}

/* The chunk of a mapping that begins here: in it there may be a second head, behind which the block
 * is aligned as it was asked for. */
static bool find_chunk(struct walk *walk, uint64_t mapping, struct run *ret)
{
	struct run whole, moved;
	if (!is_chunk(walk, mapping, mapping, &whole))
		return false;
	for (uint64_t alignment = 32; alignment <= whole.end - whole.start; alignment *= 2) {
		uint64_t at = ((mapping + 16 + alignment - 1) & ~(alignment - 1)) - 16;
		bool found = is_chunk(walk, mapping, at, &moved);
		if (!found && at - mapping < MIN_CHUNK) /* before 2.43 a whole chunk is cut off at least */
			found = is_chunk(walk, mapping, at + alignment, &moved);
		if (found && hsnap_glibc_is_private(walk, mapping, moved.end)) {
			*ret = moved;
			return true;
		}
	}
	if (!ends_well(walk, &whole) && find_moved(walk, &whole, ret))
		return true;
	*ret = whole;
	return hsnap_glibc_is_private(walk, mapping, whole.end);
}

/* From *at to `end`, which no other run explains; *at is then beyond it. */
static bool search(struct walk *walk, uint64_t *at, uint64_t end)
{
	uint64_t run_start, run_end;
	while (*at < end && hsnap_target_next_run(walk->target, *at, &run_start, &run_end)) {
		struct run found;
		*at = (run_start + PAGE - 1) & ~(PAGE - 1);
		if (*at >= end)
			return true;
		if (!find_chunk(walk, *at, &found)) {
			*at += PAGE;
			continue;
		}
		if (!hsnap_vec_push(&walk->runs, found))
			return false;
		*at = found.end;
	}
	return true;
}

bool hsnap_glibc_mapped_runs(struct walk *walk)
{
	size_t num = walk->runs.num, next = 0; /* runs of arenas, in order */
	uint64_t at = 0;
	for (size_t i = 0; i < walk->target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &walk->target->mappings.items[i];
		uint64_t from = hsnap_glibc_private_from(walk->target, mapping);
		at = at > from ? at : from;
		while (at < mapping->end) {
			while (next < num && walk->runs.items[next].end <= at)
				next++;
			uint64_t end = next < num ? walk->runs.items[next].start : UINT64_MAX;
			if (!search(walk, &at, end < mapping->end ? end : mapping->end))
				return false;
			if (next < num && at >= end && at < walk->runs.items[next].end)
				at = walk->runs.items[next].end;
			else if (at < mapping->end && at < end)
				break; /* nothing more is in the copy */
		}
	}
	return true;
}

/* Does it begin or end where a mapping or another run does? */
static bool is_at_edge(const struct walk *walk, size_t index)
{
	const struct run *run = &walk->runs.items[index], *next = run + 1;
	const struct hsnap_mapping *first = hsnap_target_mapping(walk->target, run->start);
	const struct hsnap_mapping *last = hsnap_target_mapping(walk->target, run->end - 1);
	return !first || !last || hsnap_glibc_private_from(walk->target, first) == run->start || last->end == run->end ||
	       (index && run[-1].end == run->start) || (index + 1 < walk->runs.num && next->start == run->end);
}

void hsnap_glibc_drop_doubtful(struct walk *walk)
{
	uint64_t has = 0, system = walk->heap->arenas.items[0].system;
	for (size_t i = 0; i < walk->runs.num; i++)
		has += walk->runs.items[i].kind == RUN_MAPPED ? walk->runs.items[i].end - walk->runs.items[i].start : 0;
	if (walk->params_missing || has <= system)
		return;
	size_t kept = 0;
	for (size_t i = 0; i < walk->runs.num; i++) {
		struct run run = walk->runs.items[i];
		uint64_t size = run.end - run.start;
		bool doubtful = run.kind == RUN_MAPPED && has > system && size <= has - system && !is_at_edge(walk, i);
		if (doubtful)
			has -= size;
		walk->runs.items[i].kind = doubtful ? RUN_NONE : run.kind; /* in its place: the next one looks back at it */
	}
	for (size_t i = 0; i < walk->runs.num; i++)
		if (walk->runs.items[i].kind != RUN_NONE)
			walk->runs.items[kept++] = walk->runs.items[i];
	walk->runs.num = kept;
}
