/* SPDX-License-Identifier: MIT */
/*
 * spans.c - where chunks are to be looked for, out of what the agent noted.
 *
 * Layouts: glibc 2.36 malloc/arena.c, struct _heap_info; malloc/malloc.c, mmap_chunk().
 */
#include <stdlib.h>
#include <string.h>

#include "capture/alloc/agent/reader.h"

#define PAGE 4096u
#define MAX_LARGE ((uint64_t)1 << 24)
#define HEAP_SIZE ((uint64_t)1 << HSNAP_HEAP_SHIFT)

static enum hsnap_code no_memory(struct hsnap_error *err)
{
	return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
}

/* ---- large blocks ---- */

static bool is_mapped(const struct hsnap_target *target, uint64_t start, uint64_t end)
{
	return start < end && hsnap_target_mapping(target, start) && hsnap_target_mapping(target, end - 1);
}

/* The bounds of the chunk by its own head, if that is whole; else as the record has them.  false: there
 * is no such memory. */
static bool find_bounds(struct reader *reader, struct large *large)
{
	uint64_t head = 0, before = 0, chunk = large->address - 16;
	if (!hsnap_reader_word(reader, large->address - 8, &head) || !hsnap_reader_word(reader, chunk, &before))
		return false;
	uint64_t size = head & ~7ull;
	large->mapped = head & 2;
	if (!large->mapped) /* in a heap: the walk will meet it */
		return true;
	large->start = chunk - before;
	large->end = chunk + size;
	if (before < chunk && !((chunk - before) % PAGE) && size > 16 && size < (uint64_t)1 << HSNAP_ADDRESS_BITS &&
	    large->requested <= size - 16 && is_mapped(reader->target, large->start, large->end))
		return true;
	large->start = chunk;
	large->end = large->address + (large->requested ? large->requested : 8);
	return is_mapped(reader->target, large->start, large->end);
}

static int by_address(const void *a, const void *b)
{
	const struct large *x = a, *y = b;
	return x->address < y->address ? -1 : x->address > y->address;
}

static enum hsnap_code read_large(struct reader *reader, struct hsnap_error *err)
{
	const struct hsnap_wire_directory *dir = &reader->dir;
	if (!dir->large_address)
		return HSNAP_OK;
	if (dir->large_capacity > MAX_LARGE)
		return hsnap_fail(err, HSNAP_FORMAT, dir->large_address, "the agent's table of large blocks is damaged");
	for (uint64_t i = 0; i < dir->large_capacity; i++) {
		uint64_t address, requested, site;
		if (!hsnap_reader_word(reader, dir->large_address + 8 * i, &address))
			return hsnap_fail(err, HSNAP_FAULT, dir->large_address + 8 * i,
					  "cannot read the agent's table of large blocks");
		if (address < PAGE || address % 16 || address >> HSNAP_ADDRESS_BITS)
			continue;
		if (hsnap_target_read(reader->target, dir->large_requested + 8 * i, &requested, 8, NULL) ||
		    hsnap_target_read(reader->target, dir->large_site + 8 * i, &site, 8, NULL) ||
		    requested >> HSNAP_ADDRESS_BITS)
			continue;
		struct large large = {
			.address = address, .requested = requested,
			.site = (uint32_t)(site >> 12) & HSNAP_MAX_SITE, .epoch = (uint16_t)(site & HSNAP_EPOCH_MAX),
		};
		if (!hsnap_vec_push(&reader->large, large))
			return no_memory(err);
	}
	if (reader->large.num)
		qsort(reader->large.items, reader->large.num, sizeof(*reader->large.items), by_address);
	size_t kept = 0;
	for (size_t i = 0; i < reader->large.num; i++)
		if (find_bounds(reader, &reader->large.items[i]))
			reader->large.items[kept++] = reader->large.items[i];
	reader->large_gone = reader->large.num - kept;
	reader->large.num = kept;
	return HSNAP_OK;
}

const struct large *hsnap_reader_large(const struct reader *reader, uint64_t address)
{
	const struct large key = { .address = address };
	return reader->large.num ? bsearch(&key, reader->large.items, reader->large.num, sizeof(key), by_address) : NULL;
}

/* ---- brk and heaps ---- */

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* From `start` as far as mappings follow each other without a gap, at most to `limit`. */
static uint64_t contiguous_end(const struct hsnap_target *target, uint64_t start, uint64_t limit)
{
	const struct hsnap_mapping *mapping = hsnap_target_mapping(target, start);
	const struct hsnap_mapping *end = target->mappings.items + target->mappings.num;
	if (!mapping)
		return start;
	uint64_t reached = mapping->end;
	while (reached < limit && ++mapping < end && mapping->start == reached)
		reached = mapping->end;
	return min(reached, limit);
}

static bool is_brk(const struct reader *reader, const struct hsnap_mapping *mapping)
{
	return !strcmp(hsnap_str(&reader->target->strings, mapping->path), "[heap]");
}

static bool add_span(struct reader *reader, uint64_t start, uint64_t end, enum span_kind kind, const struct large *large)
{
	return start >= end || hsnap_vec_push(&reader->spans, (struct span){ start, end, kind, large, 0 });
}

static bool add_brk(struct reader *reader)
{
	const struct hsnap_wire_directory *dir = &reader->dir;
	if (!dir->brk_start || dir->brk_end <= dir->brk_start || dir->brk_end >> HSNAP_ADDRESS_BITS)
		return true;
	uint64_t start = (dir->brk_start + 15) & ~15ull;
	uint64_t end = contiguous_end(reader->target, start, dir->brk_end);
	/* It may have grown since a chunk was last noted in it: in a forked child by mappings of its own. */
	const struct hsnap_mapping *last = end > start ? hsnap_target_mapping(reader->target, end - 1) : NULL;
	const struct hsnap_mapping *stop = reader->target->mappings.items + reader->target->mappings.num;
	for (; last && last < stop && last->start <= end && is_brk(reader, last); last++)
		end = last->end;
	return add_span(reader, start, end, SPAN_BRK, NULL);
}

/* struct malloc_state of glibc 2.27 to 2.42, 2.26, and from 2.43 on (no fastbins): see capture/alloc/glibc/arena.c. */
static const uint64_t arena_sizes[] = { 2200, 2192, 2112 };

/* Where the arena ends, and chunks begin: its last two words are what it has from the system, and had at most.  Further in,
 * its map of used lists may look like the head of a chunk. */
static uint64_t arena_end(const struct hsnap_target *target, uint64_t arena)
{
	size_t i = 0;
	for (; i + 1 < sizeof(arena_sizes) / sizeof(*arena_sizes); i++) {
		uint64_t has[2];
		if (!hsnap_target_read(target, arena + arena_sizes[i] - sizeof(has), has, sizeof(has), NULL) && has[0] &&
		    has[0] % PAGE == 0 && has[1] % PAGE == 0 && has[0] <= has[1] && has[1] >> HSNAP_ADDRESS_BITS == 0)
			break;
	}
	return (arena + arena_sizes[i] + 15) & ~15ull;
}

/* A heap that was unmapped keeps its bit; what stands there now has no such head. */
static bool add_heap(struct reader *reader, uint64_t start)
{
	uint64_t info[4]; /* arena, previous heap, size, size made writable */
	const struct hsnap_mapping *mapping = hsnap_target_mapping(reader->target, start);
	if (!mapping || !(mapping->prot & HSNAP_PROT_WRITE) ||
	    hsnap_target_read(reader->target, start, info, sizeof(info), NULL) || !info[0] || info[0] % 16 ||
	    info[1] % HEAP_SIZE || info[2] > HEAP_SIZE || info[2] % PAGE || info[2] < PAGE || info[2] > info[3])
		return true;
	uint64_t first = start + 32; /* a fifth member since 2.35 makes it 48; the walk tries both */
	if (info[0] > start && info[0] < start + 4096)
		first = arena_end(reader->target, info[0]);
	size_t before = reader->spans.num;
	if (!add_span(reader, first, contiguous_end(reader->target, start, start + info[2]), SPAN_HEAP, NULL))
		return false;
	if (reader->spans.num > before)
		reader->spans.items[before].arena = info[0];
	return true;
}

static enum hsnap_code add_heaps(struct reader *reader, struct hsnap_error *err)
{
	if (!reader->dir.heap_bits)
		return HSNAP_OK;
	for (uint64_t i = 0; i < HSNAP_HEAP_WORDS; i++) {
		uint64_t bits;
		if (!hsnap_reader_word(reader, reader->dir.heap_bits + 8 * i, &bits))
			return hsnap_fail(err, HSNAP_FAULT, reader->dir.heap_bits + 8 * i, "cannot read the agent's set of heaps");
		for (; bits; bits &= bits - 1)
			if (!add_heap(reader, (64 * i + (unsigned)__builtin_ctzll(bits)) << HSNAP_HEAP_SHIFT))
				return no_memory(err);
	}
	return HSNAP_OK;
}

/* ---- order ---- */

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static void sort_spans(struct reader *reader)
{
	if (!reader->spans.num)
		return;
	qsort(reader->spans.items, reader->spans.num, sizeof(*reader->spans.items), by_start);
	/* Overlapping ones are the work of a damaged head: the first keeps the place. */
	size_t kept = 1;
	for (size_t i = 1; i < reader->spans.num; i++)
		if (reader->spans.items[i].start >= reader->spans.items[kept - 1].end)
			reader->spans.items[kept++] = reader->spans.items[i];
	reader->spans.num = kept;
}

/* ---- pieces of the main arena outside brk ---- */

static enum hsnap_code read_piece_bits(struct reader *reader, struct hsnap_error *err)
{
	size_t size = HSNAP_PIECE_WORDS * sizeof(uint64_t);
	if (!reader->dir.piece_bits)
		return HSNAP_OK;
	const void *view = hsnap_target_view(reader->target, reader->dir.piece_bits, size);
	if (view && (uintptr_t)view % sizeof(uint64_t) == 0) {
		reader->piece_bits = view;
		return HSNAP_OK;
	}
	reader->piece_bits = reader->piece_copy = calloc(HSNAP_PIECE_WORDS, sizeof(uint64_t));
	if (!reader->piece_copy)
		return no_memory(err);
	return hsnap_target_read(reader->target, reader->dir.piece_bits, reader->piece_copy, size, err);
}

static bool has_piece(const struct reader *reader, const struct hsnap_mapping *mapping)
{
	if (mapping->end >> HSNAP_ADDRESS_BITS)
		return false;
	uint64_t last = (mapping->end - 1) >> HSNAP_PIECE_SHIFT;
	for (uint64_t unit = mapping->start >> HSNAP_PIECE_SHIFT; unit <= last; unit++)
		if (reader->piece_bits[unit / 64] >> unit % 64 & 1)
			return true;
	return false;
}

/* A mapping with pieces in it, less all that is known to be something else. */
static enum hsnap_code add_pieces(struct reader *reader, struct hsnap_error *err)
{
	size_t num = reader->spans.num, next = 0;
	for (size_t i = 0; reader->piece_bits && i < reader->target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &reader->target->mappings.items[i];
		if (!(mapping->prot & HSNAP_PROT_WRITE) || mapping->inode || mapping->start >= mapping->end ||
		    !has_piece(reader, mapping))
			continue;
		uint64_t at = mapping->start;
		while (next < num && reader->spans.items[next].end <= at)
			next++;
		for (size_t other = next; other < num && reader->spans.items[other].start < mapping->end; other++) {
			struct span in_between = reader->spans.items[other];
			/* The head of a heap belongs to it, though its chunks begin later. */
			uint64_t start = in_between.kind == SPAN_HEAP ? in_between.start & ~(HEAP_SIZE - 1) : in_between.start;
			if (!add_span(reader, at, start, SPAN_PIECE, NULL))
				return no_memory(err);
			at = in_between.end;
		}
		if (!add_span(reader, at, mapping->end, SPAN_PIECE, NULL))
			return no_memory(err);
	}
	return HSNAP_OK;
}

enum hsnap_code hsnap_reader_spans(struct reader *reader, struct hsnap_error *err)
{
	enum hsnap_code code = read_large(reader, err);
	if (code)
		return code;
	if (!add_brk(reader))
		return no_memory(err);
	code = add_heaps(reader, err);
	if (code)
		return code;
	for (size_t i = 0; i < reader->large.num; i++) {
		const struct large *large = &reader->large.items[i];
		if (large->mapped && !add_span(reader, large->start, large->end, SPAN_LARGE, large))
			return no_memory(err);
	}
	sort_spans(reader);
	code = read_piece_bits(reader, err);
	if (!code)
		code = add_pieces(reader, err);
	if (!code)
		sort_spans(reader);
	return code;
}
