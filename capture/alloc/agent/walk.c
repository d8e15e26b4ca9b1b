/* SPDX-License-Identifier: MIT */
/*
 * walk.c - from chunk to chunk, and what each of them is.
 *
 * Chunk: glibc 2.36 malloc/malloc.c, struct malloc_chunk.  In use by its tag (bit 0 of the next
 * chunk's size) are also chunks in a tcache or fastbin; their last word tells them apart:
 * a whole live record is a block, a whole freed mark a cached chunk, the chunk's own size one
 * that came from a bin.  Where it is none of these (made by memalign cutting a head off, a
 * thread's tcache itself, a block written past its end) settle() decides.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/alloc/agent/reader.h"
#include "capture/alloc/glibc/arena.h"
#include "snapshot/base/search.h"

#define PAGE 4096u
#define MIN_CHUNK 32u
#define FENCE 16u /* size of a fence post, twice at the end of what arenas gave up */
#define MAX_CACHED 0x410u
#define RANDOM_MARK 34u  /* glibc 2.34 on: one number of the process marks all chunks in its threads' caches */
#define SIZE(head) ((head) & ~7ull)

/* One chunk, looked at from its start. */
struct chunk {
	uint64_t at, size;
	bool fence;   /* a fence post, or the empty head that ends a heap */
	bool last;    /* it reaches the end of the span: the top, nobody's */
	bool in_use;  /* by its tag, which a damaged next head leaves set */
	uint64_t end_word; /* the last word it gives its user; where in_use */
	uint64_t place;    /* of that word */
	bool may_be_top;   /* it ends on a page in a piece; the next piece may begin right there */
};

static bool is_size(uint64_t head, uint64_t at, uint64_t end)
{
	uint64_t size = SIZE(head);
	return !(head & 2) && !(size & 15) && size <= end - at && (size >= MIN_CHUNK || size == FENCE);
}

/* May the agent have written that, whatever its check says?  A check of 20 bits holds by chance in one word of a
 * million, and dirt that glibc freed by itself may be thousands of chunks: a stack that was never noted gives it away. */
static bool is_writable(const struct reader *reader, uint64_t rest)
{
	uint32_t site = HSNAP_TRAILER_SITE(rest);
	switch (HSNAP_TRAILER_STATE(rest)) {
	case HSNAP_WIRE_NONE:
		return false;
	case HSNAP_WIRE_FREED:
		return rest == HSNAP_TRAILER_REST(0, 0, 0, HSNAP_WIRE_FREED);
	default:
		return !site || site < reader->dir.stack_units;
	}
}

static bool is_record(const struct reader *reader, const struct chunk *chunk)
{
	return HSNAP_TRAILER_VALID(reader->dir.key, chunk->place, chunk->end_word) &&
	       is_writable(reader, chunk->end_word & ~HSNAP_TRAILER_CHECK_MASK);
}

/* false: no chunk begins here. */
static bool look(struct reader *reader, const struct span *span, uint64_t at, struct chunk *ret)
{
	uint64_t head, next;
	if (span->end - at < FENCE || !hsnap_reader_word(reader, at + 8, &head))
		return false;
	struct chunk chunk = { .at = at, .size = SIZE(head) };
	if (head == 1 && span->end - at == FENCE) { /* the second post of a heap has no size */
		chunk.size = FENCE;
		chunk.fence = chunk.last = true;
		*ret = chunk;
		return true;
	}
	if (!is_size(head, at, span->end))
		return false;
	chunk.last = chunk.size == span->end - at;
	chunk.fence = chunk.size == FENCE;
	if (!chunk.last && !chunk.fence) {
		chunk.place = at + chunk.size;
		if (!hsnap_reader_word(reader, chunk.place + 8, &next) ||
		    !hsnap_reader_word(reader, chunk.place, &chunk.end_word))
			return false;
		bool follows = is_size(next, chunk.place, span->end) || next == 1;
		/* A top ends on a page, and what comes after it is no chunk. */
		chunk.may_be_top = span->kind == SPAN_PIECE && chunk.place % PAGE == 0;
		/* A free chunk's size stands at its end, too: a tag that says so alone was written over. */
		chunk.in_use = follows ? next & 1 || chunk.end_word != chunk.size : chunk.place % PAGE != 0 || is_record(reader, &chunk);
	}
	*ret = chunk;
	return true;
}

static bool is_recorded(const struct reader *reader, const struct chunk *chunk)
{
	return chunk->in_use && is_record(reader, chunk);
}

/* Does a chain of chunks from here lead to a record, or to the end? */
static bool leads_on(struct reader *reader, const struct span *span, uint64_t at)
{
	struct chunk chunk;
	for (unsigned i = 0; i < 4096 && reader->steps && look(reader, span, at, &chunk); i++, reader->steps--) {
		if (is_recorded(reader, &chunk))
			return true;
		if (chunk.last)
			return span->kind != SPAN_PIECE;
		at += chunk.size;
	}
	return false;
}

static bool may_begin(const struct reader *reader, const struct span *span, uint64_t at)
{
	if (span->kind != SPAN_PIECE)
		return true;
	uint64_t unit = at >> HSNAP_PIECE_SHIFT;
	return reader->piece_bits[unit / 64] >> unit % 64 & 1;
}

/* Does a live record stand in the midst of it?  Then it is none: a program's number that leads to the end of another. */
static bool holds_record(struct reader *reader, const struct chunk *chunk)
{
	struct chunk inner = *chunk;
	for (inner.place = chunk->at + MIN_CHUNK; inner.place < chunk->place && reader->steps; inner.place += 16, reader->steps--)
		if (hsnap_reader_word(reader, inner.place, &inner.end_word) && is_record(reader, &inner) &&
		    HSNAP_TRAILER_STATE(inner.end_word) & HSNAP_WIRE_LIVE)
			return true;
	return false;
}

/* The next place from `at` on where a chunk with a whole record stands; span->end: none. */
static uint64_t find_record(struct reader *reader, const struct span *span, uint64_t at)
{
	struct chunk chunk;
	for (at = (at + 15) & ~15ull; at < span->end; at += 16) {
		if (!may_begin(reader, span, at))
			at |= ((uint64_t)1 << HSNAP_PIECE_SHIFT) - 16;
		else if (look(reader, span, at, &chunk) && is_recorded(reader, &chunk) && !holds_record(reader, &chunk))
			return at;
	}
	return span->end;
}

/* Where the chunks begin, from `at` on.  Pieces begin on a page, possibly well before their first
 * recorded chunk; in the other spans there is little before the first. */
static uint64_t find_start(struct reader *reader, const struct span *span, uint64_t at)
{
	uint64_t step = span->kind == SPAN_PIECE ? PAGE : 16;
	struct chunk first;
	uint64_t limit = span->kind == SPAN_PIECE ? find_record(reader, span, at) : at + 2 * PAGE;
	if (span->kind == SPAN_PIECE) {
		if (limit == span->end)
			return limit;
		at = (at + PAGE - 1) & ~(uint64_t)(PAGE - 1);
		/* A piece is a mebibyte at least, and its first record may be one block further. */
		if (limit - at > (uint64_t)4 << HSNAP_PIECE_SHIFT)
			at = (limit - ((uint64_t)4 << HSNAP_PIECE_SHIFT)) & ~(uint64_t)(PAGE - 1);
	}
	/* The first chunk may be the only one before what was written over: a thread's cache, as a rule. */
	for (uint64_t try = at; span->kind != SPAN_PIECE && try <= at + 16; try += 16)
		if (look(reader, span, try, &first) && hsnap_glibc_may_be_cache(first.size - 8))
			return try;
	for (uint64_t try = at; try < limit && try < span->end; try += step)
		if (leads_on(reader, span, try))
			return try;
	return span->kind == SPAN_PIECE ? limit : find_record(reader, span, at);
}

/* ---- blocks ---- */

static bool add_block(struct reader *reader, const struct hsnap_block *block)
{
	return hsnap_vec_push(&reader->heap->blocks, *block);
}

static void count(struct reader *reader, const struct hsnap_block *block, uint64_t room)
{
	reader->recorded++;
	reader->recorded_bytes += block->requested;
	reader->heap->found_room += room;
}

/* The first word of a chunk in a tcache or fastbin leads to the next one, mixed with its own place
 * since glibc 2.32 (PROTECT_PTR).  Before that, a null or a pointer says too little. */
static bool is_linked(struct reader *reader, uint64_t block, uint64_t size, uint64_t first)
{
	uint64_t head;
	if (size > MAX_CACHED || reader->dir.glibc_minor < 32)
		return false;
	uint64_t next = first ^ block >> 12;
	if (!next)
		return true;
	/* A tcache links its chunks by their blocks, a fastbin by their starts. */
	return !(next & 15) && ((hsnap_reader_word(reader, next - 8, &head) && SIZE(head) == size) ||
				(hsnap_reader_word(reader, next + 8, &head) && SIZE(head) == size));
}

/* Its second word is glibc's mark of what lies in a thread's cache, or is left of that. */
static bool is_marked(struct reader *reader, uint64_t chunk)
{
	uint64_t mark;
	return reader->dir.glibc_minor >= RANDOM_MARK && reader->cache_votes >= 2 && hsnap_reader_word(reader, chunk + 24, &mark) &&
	       mark == reader->cache_mark;
}

static bool add_recorded(struct reader *reader, const struct chunk *chunk, unsigned flags)
{
	uint64_t word = chunk->end_word, most = chunk->size - 16;
	struct hsnap_block block = {
		/* Not the record itself: the allocator's own pointers to the next chunk lead there. */
		.address = chunk->at + 16, .usable = most, .requested = most,
		.stack = HSNAP_TRAILER_SITE(word), .epoch = hsnap_reader_epoch(HSNAP_TRAILER_EPOCH(word)), .flags = (uint16_t)flags,
	};
	if (HSNAP_TRAILER_SLACK(word) != HSNAP_SLACK_LARGE) {
		if (HSNAP_TRAILER_SLACK(word) <= most)
			block.requested = most - HSNAP_TRAILER_SLACK(word);
	} else {
		const struct large *large = hsnap_reader_large(reader, block.address);
		if (large && large->requested <= most)
			block.requested = large->requested;
	}
	if (flags & HSNAP_BLOCK_OVERRUN)
		reader->heap->overruns++;
	uint64_t first;
	if (is_marked(reader, chunk->at) && hsnap_reader_word(reader, chunk->at + 16, &first) &&
	    is_linked(reader, block.address, chunk->size, first))
		reader->doubtful_live++;
	count(reader, &block, most);
	return add_block(reader, &block);
}

static bool add_free(struct reader *reader, const struct chunk *chunk, uint32_t arena, enum hsnap_free_kind kind)
{
	struct hsnap_free free = { .start = chunk->at, .end = chunk->at + chunk->size, .arena = arena, .kind = (uint8_t)kind };
	return hsnap_vec_push(&reader->heap->free, free);
}

static bool add_unknown(struct reader *reader, const struct chunk *chunk, uint32_t arena, bool hit)
{
	struct unknown unknown = {
		.address = chunk->at + 16, .usable = chunk->size - 8, .arena = arena, .end_word = chunk->end_word,
		.place = chunk->place, .hit = hit,
	};
	if (!hsnap_reader_word(reader, chunk->at + 16, &unknown.first) ||
	    !hsnap_reader_word(reader, chunk->at + 24, &unknown.second))
		unknown.first = unknown.second = 0;
	return hsnap_vec_push(&reader->unknown, unknown);
}

/* The word that most of the surely cached chunks have in second place (Boyer and Moore's vote). */
static void vote(struct reader *reader, const struct chunk *chunk)
{
	uint64_t mark;
	if (chunk->size > MAX_CACHED || !hsnap_reader_word(reader, chunk->at + 24, &mark) || !mark)
		return;
	if (!reader->cache_votes)
		reader->cache_mark = mark;
	if (mark == reader->cache_mark)
		reader->cache_votes++;
	else
		reader->cache_votes--;
}

/* It bears the agent's mark of what was freed, and nothing of glibc's: handed out again past the agent (past.c), or
 * on its way. */
static bool is_doubtful(struct reader *reader, const struct chunk *chunk)
{
	uint64_t first;
	return reader->dir.glibc_minor >= RANDOM_MARK && reader->cache_votes >= 2 && !is_marked(reader, chunk->at) &&
	       hsnap_reader_word(reader, chunk->at + 16, &first) && !is_linked(reader, chunk->at + 16, chunk->size, first);
}

static bool add_chunk(struct reader *reader, const struct chunk *chunk, uint32_t arena)
{
	if (chunk->fence)
		return true;
	if (chunk->last || !chunk->in_use)
		return add_free(reader, chunk, arena, chunk->last ? HSNAP_FREE_TOP : HSNAP_FREE_BIN);
	uint64_t word = chunk->end_word, rest = word & ~HSNAP_TRAILER_CHECK_MASK;
	uint64_t differs = (word & HSNAP_TRAILER_CHECK_MASK) ^ HSNAP_TRAILER_CHECK(reader->dir.key, chunk->place, rest);
	unsigned state = is_writable(reader, rest) ? HSNAP_TRAILER_STATE(word) : HSNAP_WIRE_NONE;
	if (!differs && state & HSNAP_WIRE_LIVE)
		return add_recorded(reader, chunk, 0);
	if (!differs && state == HSNAP_WIRE_FREED) {
		vote(reader, chunk);
		reader->doubtful_freed += is_doubtful(reader, chunk);
		return add_free(reader, chunk, arena, HSNAP_FREE_CACHED);
	}
	if (word == chunk->size && chunk->size <= MAX_CACHED)
		return add_free(reader, chunk, arena, HSNAP_FREE_CACHED);
	/* Twelve bits of a check hold by chance in one of 4,096 words that are no record. */
	if (!(differs & ~HSNAP_TRAILER_HIT_BYTE) && state & HSNAP_WIRE_LIVE)
		return add_unknown(reader, chunk, arena, true);
	return chunk->may_be_top ? add_free(reader, chunk, arena, HSNAP_FREE_TOP) : add_unknown(reader, chunk, arena, false);
}

/* ---- spans ---- */

static bool add_region(struct reader *reader, uint64_t start, uint64_t end)
{
	struct hsnap_heap *heap = reader->heap;
	if (start >= end)
		return true;
	struct hsnap_region *last = heap->regions.num ? &heap->regions.items[heap->regions.num - 1] : NULL;
	if (last && start <= last->end && start >= last->start) {
		last->end = end > last->end ? end : last->end;
		return true;
	}
	return hsnap_vec_push(&heap->regions, (struct hsnap_region){ start, end });
}

/* What lies between a chunk and the next one that could be found: a chunk whose head was
 * destroyed, and what came after it.  Kept as one block, so that what it holds is not lost. */
static bool add_lost(struct reader *reader, uint64_t start, uint64_t end)
{
	if (end - start < MIN_CHUNK)
		return true;
	struct hsnap_block block = {
		.address = start + 16, .usable = end - start - 8, .requested = end - start - 8,
		.flags = HSNAP_BLOCK_NO_RECORD | HSNAP_BLOCK_OVERRUN,
	};
	reader->lost++;
	reader->heap->no_record++;
	return add_block(reader, &block);
}

/* Walk chunks from `at` to where none begins; false: out of memory. */
static bool walk_run(struct reader *reader, const struct span *span, uint64_t at, uint64_t *ret_end, bool *ret_fenced)
{
	struct chunk chunk;
	uint32_t arena = hsnap_reader_arena_of(reader, span);
	*ret_fenced = false;
	while (at < span->end && look(reader, span, at, &chunk)) {
		*ret_fenced = chunk.fence;
		if (!add_chunk(reader, &chunk, arena))
			return false;
		reader->heap->arenas.items[arena].walked += chunk.size;
		at += chunk.size;
	}
	*ret_end = at;
	return true;
}

/* A chunk that ends on a page, where no other begins, was taken for a top.  But in a heap, and in the brk area, which malloc
 * closes with fence posts before it goes on elsewhere, none comes after that: its end was written past.  false: out of memory. */
static bool was_no_top(struct reader *reader, const struct span *span, uint64_t end)
{
	struct hsnap_heap *heap = reader->heap;
	const struct hsnap_free *last = heap->free.num ? &heap->free.items[heap->free.num - 1] : NULL;
	struct chunk chunk;
	if (!last || last->end != end || !look(reader, span, last->start, &chunk) || chunk.in_use)
		return true;
	uint32_t arena = last->arena;
	heap->free.num--;
	return add_unknown(reader, &chunk, arena, false);
}

static bool walk_span(struct reader *reader, const struct span *span)
{
	uint64_t at = find_start(reader, span, span->start);
	/* Before the first chunk of a heap stands its arena: nobody's block, and no place for roots. */
	uint64_t region = span->kind == SPAN_HEAP ? span->start & ~(((uint64_t)1 << HSNAP_HEAP_SHIFT) - 1) : at;
	struct hsnap_heap *heap = reader->heap;
	while (at < span->end) {
		uint64_t end;
		bool fenced;
		if (!walk_run(reader, span, at, &end, &fenced) || !add_region(reader, region, end))
			return false;
		heap->walked_bytes += end - at;
		heap->expected_bytes += end - at;
		if (end >= span->end)
			break;
		/* Foreign memory may begin after fence posts, and where a top ended: on a page. */
		bool foreign = fenced || end % PAGE == 0;
		if (foreign && !fenced && span->kind != SPAN_PIECE) {
			at = find_record(reader, span, end);
			foreign = at == span->end;
			if (!foreign && !was_no_top(reader, span, end))
				return false;
		} else {
			at = foreign ? find_start(reader, span, end) : find_record(reader, span, end);
		}
		region = at;
		if (foreign || (span->kind == SPAN_PIECE && at == span->end))
			continue;
		heap->expected_bytes += at - end;
		region = end;
		if (at == span->end) /* nothing but a top is known to be there */
			return add_region(reader, end, at);
		if (!add_lost(reader, end, at))
			return false;
	}
	return true;
}

static bool walk_large(struct reader *reader, const struct large *large)
{
	uint64_t head = 0;
	hsnap_reader_word(reader, large->address - 8, &head);
	struct hsnap_block block = {
		.address = large->address, .usable = large->end - large->address, .requested = large->requested,
		.stack = large->site, .epoch = hsnap_reader_epoch(large->epoch),
	};
	if (large->address - 16 + SIZE(head) != large->end) {
		block.flags = HSNAP_BLOCK_OVERRUN;
		reader->heap->overruns++;
	}
	count(reader, &block, large->end - large->address);
	reader->heap->arenas.items[0].walked += large->end - large->start;
	reader->heap->arenas.items[0].system += large->end - large->start;
	reader->heap->walked_bytes += large->end - large->start;
	reader->heap->expected_bytes += large->end - large->start;
	return add_block(reader, &block) && add_region(reader, large->start, large->end);
}

/* ---- what is left to decide ---- */

/* From glibc 2.29 to 2.33 the second word of a chunk in a tcache leads to that tcache, which libc made
 * for itself: no record of it either.  The list of what has none is in order of address. */
static bool names_its_cache(const struct reader *reader, const struct unknown *u)
{
	const struct unknown *all = reader->unknown.items;
	if (reader->dir.glibc_minor < 29 || reader->dir.glibc_minor > 33 || u->usable + 8 > MAX_CACHED)
		return false;
	size_t cache = hsnap_first(reader->unknown.num, i, all[i].address >= u->second);
	return cache < reader->unknown.num && all[cache].address == u->second && hsnap_glibc_may_be_cache(all[cache].usable);
}

static bool is_cached(struct reader *reader, const struct unknown *u)
{
	if (reader->cache_votes >= 2 && u->usable + 8 <= MAX_CACHED && u->second == reader->cache_mark)
		return true;
	return is_linked(reader, u->address, u->usable + 8, u->first) || names_its_cache(reader, u);
}

static int by_block(const void *a, const void *b)
{
	const struct hsnap_block *x = a, *y = b;
	return x->address < y->address ? -1 : x->address > y->address;
}

static int by_chunk(const void *a, const void *b)
{
	const struct hsnap_free *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

void hsnap_reader_sort(struct hsnap_heap *heap)
{
	if (heap->blocks.num)
		qsort(heap->blocks.items, heap->blocks.num, sizeof(*heap->blocks.items), by_block);
	if (heap->free.num)
		qsort(heap->free.items, heap->free.num, sizeof(*heap->free.items), by_chunk);
}

static bool settle(struct reader *reader)
{
	struct hsnap_heap *heap = reader->heap;
	for (size_t i = 0; i < reader->unknown.num; i++) {
		const struct unknown *u = &reader->unknown.items[i];
		struct chunk chunk = { .at = u->address - 16, .size = u->usable + 8, .end_word = u->end_word, .place = u->place };
		if (is_cached(reader, u)) {
			if (!add_free(reader, &chunk, u->arena, HSNAP_FREE_CACHED))
				return false;
			continue;
		}
		if (u->hit) {
			if (!add_recorded(reader, &chunk, HSNAP_BLOCK_OVERRUN))
				return false;
			continue;
		}
		struct hsnap_block block = {
			.address = u->address, .usable = u->usable, .requested = u->usable, .flags = HSNAP_BLOCK_NO_RECORD,
		};
		heap->no_record++;
		if (!add_block(reader, &block))
			return false;
	}
	if (reader->unknown.num)
		hsnap_reader_sort(heap);
	return true;
}

static bool add_own(struct hsnap_heap *heap, uint64_t start, uint64_t end)
{
	struct hsnap_region own = { start, end };
	return hsnap_vec_push(&heap->regions, own) && hsnap_vec_push(&heap->own, own);
}

/* What of a mapping are variables of a module; start = end: none.  Another mapping may go on where its .bss ends. */
static struct hsnap_region variables(const struct reader *reader, const struct hsnap_mapping *mapping, uint32_t module)
{
	uint64_t end = (reader->target->modules.items[module].end + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	if (mapping->module != module || !(mapping->prot & HSNAP_PROT_WRITE) || end < mapping->start)
		return (struct hsnap_region){ 0 };
	return (struct hsnap_region){ mapping->start, end < mapping->end ? end : mapping->end };
}

/* Its module's variables: where a table begins a block may end. */
static bool add_module(struct reader *reader)
{
	const struct hsnap_mapping *of = hsnap_target_mapping(reader->target, reader->dir_address);
	for (size_t i = 0; of && of->module && of->module < reader->target->modules.num && i < reader->target->mappings.num; i++) {
		struct hsnap_region region = variables(reader, &reader->target->mappings.items[i], of->module);
		if (region.start < region.end && !add_own(reader->heap, region.start, region.end))
			return false;
	}
	return true;
}

/* What is the agent's own is no place for roots either; then put all in order. */
bool hsnap_reader_own(struct reader *reader)
{
	struct hsnap_heap *heap = reader->heap;
	uint64_t num = reader->dir.num_own < HSNAP_NUM_OWN ? reader->dir.num_own : HSNAP_NUM_OWN;
	for (uint64_t i = 0; i < num; i++) {
		struct hsnap_wire_range own = reader->dir.own[i];
		if (own.start && own.start < own.end && !add_own(heap, own.start, own.end))
			return false;
	}
	if (!add_module(reader))
		return false;
	hsnap_heap_sort_regions(heap);
	heap->own.num = hsnap_regions_sort(heap->own.items, heap->own.num);
	return true;
}

enum hsnap_code hsnap_reader_walk(struct reader *reader, struct hsnap_error *err)
{
	bool room = true;
	for (size_t i = 0; i < reader->spans.num && room; i++) {
		const struct span *span = &reader->spans.items[i];
		room = span->kind == SPAN_LARGE ? walk_large(reader, span->large) : walk_span(reader, span);
	}
	if (!room || !settle(reader) || !hsnap_reader_own(reader))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	return HSNAP_OK;
}
