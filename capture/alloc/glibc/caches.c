/* SPDX-License-Identifier: MIT */
/*
 * caches.c - what is free though its tags say that it is in use.
 *
 * glibc malloc/malloc.c, struct tcache_perthread_struct: 2.26 to 2.29 counts[64] of 8 bits and
 * entries[64], 2.30 to 2.41 counts of 16 bits, from 2.42 on num_slots[76] of 16 bits (how many more
 * are welcome) and entries[76].  A cached chunk's first word leads to the next one, since 2.32 mixed
 * with its own place (PROTECT_PTR), and its second is a mark: from 2.29 on the address of its
 * thread's cache, from 2.34 on a random number of the process.
 *
 * No version is asked for.  A block of such a size whose lists all lead from chunk to chunk of the
 * right size to an end is a thread's cache; whichever way of reading the links leads further is
 * the right one, in fastbins, too.
 */
#include "capture/alloc/glibc/walk.h"
#include "snapshot/base/search.h"

#define MAX_BINS 76u
#define SMALL_BINS 64u
#define NUM_FASTBINS 10u
#define MAX_LIST 65536u
#define MAX_TRIED 16u /* of a fastbin, to learn how links are read */
#define STORAGE 4096u /* of a thread, looked at for its cache */

static const struct layout {
	uint64_t usable;
	unsigned bins, count_size;
	bool slots; /* counts are of what is left, not of what is there */
} layouts[] = {
	{ 0x248, 64, 1, false },
	{ 0x288, 64, 2, false },
	{ 0x2f8, 76, 2, true },
};

struct cache {
	const struct layout *layout;
	unsigned count[MAX_BINS];
	uint64_t entry[MAX_BINS];
	unsigned slots; /* most that a list holds, where counts are of what is left */
};

/* What was found out about all caches, by the way in which links are read. */
struct tally {
	uint64_t members;
	uint64_t own;  /* of these, with their cache's address in second place */
	uint64_t mark; /* what most have in second place (Boyer and Moore's vote) */
	uint64_t votes;
};

struct sorting {
	struct walk *walk;
	uint64_t steps;   /* left: a hostile target's lists lead round and round */
	bool mixed;       /* links are mixed with their places */
	struct tally tally[2];
	uint64_t mark;    /* that cached chunks bear, 0: not known, or each cache has its own */
	bool own;         /* the mark is the cache's address */
};

/* ---- marks ---- */

static const struct run *find_run(const struct walk *walk, uint64_t at)
{
	size_t low = hsnap_first(walk->runs.num, i, walk->runs.items[i].start > at);
	const struct run *run = low ? &walk->runs.items[low - 1] : NULL;
	return run && run->kind != RUN_MAPPED && at <= run->last_block ? run : NULL;
}

static bool make_marks(struct walk *walk)
{
	uint64_t bits = 0;
	for (size_t i = 0; i < walk->runs.num; i++) {
		struct run *run = &walk->runs.items[i];
		run->first_bit = bits;
		if (run->last_block)
			bits += (run->last_block - run->start) / 16 + 1;
	}
	walk->marks = calloc((size_t)(bits / 64 + 1), sizeof(uint64_t));
	return walk->marks;
}

/* Mark a chunk; false: it lies in no run, or was marked before. */
static bool mark_chunk(struct walk *walk, uint64_t at)
{
	const struct run *run = find_run(walk, at);
	if (!run || at % 16)
		return false;
	uint64_t bit = run->first_bit + (at - run->start) / 16;
	uint64_t *word = &walk->marks[bit / 64], mask = 1ull << bit % 64;
	bool was = *word & mask;
	*word |= mask;
	walk->num_marks += !was;
	return !was;
}

static bool is_marked(const struct walk *walk, const struct run *run, uint64_t at)
{
	uint64_t bit = run->first_bit + (at - run->start) / 16;
	return walk->marks[bit / 64] >> bit % 64 & 1;
}

/* ---- lists ---- */

static uint64_t read_link(uint64_t word, uint64_t place, bool mixed)
{
	return mixed ? word ^ place >> 12 : word;
}

static bool fits(uint64_t head, unsigned bin)
{
	uint64_t size = SIZE(head);
	return !(head & MAPPED) && (bin < SMALL_BINS ? size == 32 + 16 * (uint64_t)bin : size > 32 + 16 * SMALL_BINS);
}

/* The blocks on a list, into walk->members; *ret_whole: it came to an end as it should.  false: out of
 * memory. */
static bool collect(struct sorting *sorting, const struct cache *cache, unsigned bin, bool mixed, bool *ret_whole)
{
	struct walk *walk = sorting->walk;
	uint64_t at = cache->entry[bin], head, link;
	uint64_t most = cache->layout->slots ? MAX_LIST : cache->count[bin] + 1;
	walk->members.num = 0;
	*ret_whole = false;
	for (uint64_t i = 0; at && i < most && sorting->steps; i++, sorting->steps--) {
		if (at % 16 || !hsnap_window_word(&walk->links, at - 8, &head) || !fits(head, bin) ||
		    !hsnap_window_word(&walk->links, at, &link))
			return true;
		if (!hsnap_vec_push(&walk->members, at))
			return false;
		at = read_link(link, at, mixed);
	}
	*ret_whole = !at;
	return true;
}

/* Could the list be so long?  One more or less where its thread was at work on it; shorter where the
 * thread was giving it up. */
static bool is_count(const struct cache *cache, unsigned bin, size_t num)
{
	if (cache->layout->slots)
		return num + cache->count[bin] <= (uint64_t)cache->slots + 1;
	return num <= (uint64_t)cache->count[bin] + 1;
}

/* What the members bear; returns how many bear `own`, or the mark that was found before. */
static uint64_t vote(struct sorting *sorting, struct tally *tally, uint64_t own)
{
	struct walk *walk = sorting->walk;
	uint64_t marked = 0;
	for (size_t i = 0; i < walk->members.num; i++) {
		uint64_t mark;
		if (!hsnap_window_word(&walk->links, walk->members.items[i] + 8, &mark) || !mark)
			continue;
		marked += mark == own || mark == sorting->mark;
		if (!tally->votes)
			tally->mark = mark;
		if (mark == tally->mark)
			tally->votes++;
		else
			tally->votes--;
	}
	return marked;
}

/* ---- caches of threads ---- */

/* The layout of a cache that a block can be, by its size: a rest of 16 bytes is left to a chunk. */
static const struct layout *layout_of(uint64_t usable)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].usable == usable || layouts[i].usable + 16 == usable)
			return &layouts[i];
	return NULL;
}

bool hsnap_glibc_may_be_cache(uint64_t usable)
{
	return layout_of(usable);
}

static bool read_cache(const struct walk *walk, const struct hsnap_block *block, struct cache *ret)
{
	uint8_t bytes[MAX_BINS * 10];
	const struct layout *layout = layout_of(block->usable);
	if (hsnap_target_read(walk->target, block->address, bytes, layout->bins * (layout->count_size + 8), NULL))
		return false;
	struct cache cache = { .layout = layout };
	bool any_empty = false;
	for (unsigned i = 0; i < layout->bins; i++) {
		uint16_t wide;
		memcpy(&wide, bytes + 2 * i, sizeof(wide));
		cache.count[i] = layout->count_size == 1 ? bytes[i] : wide;
		memcpy(&cache.entry[i], bytes + layout->bins * layout->count_size + 8 * i, 8);
		if (cache.entry[i] % 16)
			return false;
		if (!cache.entry[i] && cache.count[i] > cache.slots)
			cache.slots = cache.count[i];
		any_empty |= !cache.entry[i];
	}
	if (!any_empty)
		cache.slots = UINT16_MAX;
	*ret = cache;
	return true;
}

struct judgement {
	unsigned good, bad; /* lists that are not empty */
	uint64_t members;
	uint64_t marked;    /* bear the mark that is known: the process's, or this cache's address */
	struct tally tally;
};

static bool judge(struct sorting *sorting, const struct cache *cache, uint64_t address, bool mixed, struct judgement *ret)
{
	struct walk *walk = sorting->walk;
	*ret = (struct judgement){ 0 };
	for (unsigned i = 0; i < cache->layout->bins && ret->bad <= ret->good / 4 + 2; i++) {
		bool whole;
		if (!cache->entry[i])
			continue;
		if (!collect(sorting, cache, i, mixed, &whole))
			return false;
		ret->marked += vote(sorting, &ret->tally, address);
		if (!whole || !is_count(cache, i, walk->members.num)) {
			ret->bad++;
			continue;
		}
		ret->good++;
		ret->members += walk->members.num;
	}
	return true;
}

/* A list or two may have been damaged by a program that writes to what it has freed. */
static bool is_cache(const struct judgement *judgement)
{
	return judgement->marked > 1 || judgement->good > 3 * judgement->bad;
}

static void add_tally(struct tally *all, const struct judgement *one)
{
	all->members += one->members;
	all->own += one->marked;
	if (one->tally.mark == all->mark) {
		all->votes += one->tally.votes;
	} else if (one->tally.votes > all->votes) {
		all->votes = one->tally.votes - all->votes;
		all->mark = one->tally.mark;
	} else {
		all->votes -= one->tally.votes;
	}
}

static bool mark_cache(struct sorting *sorting, const struct cache *cache)
{
	for (unsigned i = 0; i < cache->layout->bins; i++) {
		bool whole;
		if (cache->entry[i] && !collect(sorting, cache, i, sorting->mixed, &whole))
			return false;
		for (size_t m = 0; cache->entry[i] && m < sorting->walk->members.num; m++)
			mark_chunk(sorting->walk, sorting->walk->members.items[m] - 16);
	}
	return true;
}

/* For each block of a cache's size: judge it in both ways, or mark what it holds in the right one. */
static bool go_through_caches(struct sorting *sorting, bool mark)
{
	struct walk *walk = sorting->walk;
	for (size_t i = 0; i < walk->caches.num; i++) {
		struct hsnap_block *block = &walk->heap->blocks.items[walk->caches.items[i]];
		struct judgement judgement;
		struct cache cache;
		if (!read_cache(walk, block, &cache))
			continue;
		for (int mixed = 0; mixed < 2; mixed++) {
			if (mark && mixed != sorting->mixed)
				continue;
			if (!judge(sorting, &cache, block->address, mixed, &judgement))
				return false;
			if (!is_cache(&judgement))
				continue;
			if (!mark) {
				add_tally(&sorting->tally[mixed], &judgement);
				continue;
			}
			block->flags |= HSNAP_BLOCK_ALLOCATOR;
			if (!mark_cache(sorting, &cache))
				return false;
		}
	}
	return true;
}

/* An empty cache shows by nothing but that a thread's storage leads to it.  libc's thread-locals lie right
 * before the control block. */
static void label_empty_caches(struct walk *walk)
{
	for (size_t t = 0; t < walk->target->threads.num && walk->caches.num; t++) {
		uint64_t pointer = walk->target->threads.items[t].thread_pointer, word;
		for (uint64_t back = 8; back <= STORAGE && hsnap_window_word(&walk->links, pointer - back, &word); back += 8) {
			size_t found = word % 16 ? SIZE_MAX : hsnap_heap_find(walk->heap, word);
			struct hsnap_block *block = found != SIZE_MAX ? &walk->heap->blocks.items[found] : NULL;
			if (block && block->address == word && layout_of(block->usable))
				block->flags |= HSNAP_BLOCK_ALLOCATOR;
		}
	}
}

/* ---- fastbins ---- */

struct cursor {
	uint64_t at; /* 0: the list has come to its end */
	unsigned bin;
};

/* To the next chunk; false: the list ends, or cannot be gone along. */
static bool step_on(struct sorting *sorting, struct cursor *cursor, bool mixed)
{
	struct hsnap_window *links = &sorting->walk->links;
	uint64_t at = cursor->at, head, link;
	if (!at || at % 16 || !sorting->steps || !hsnap_window_word(links, at + 8, &head) || !fits(head, cursor->bin) ||
	    !hsnap_window_word(links, at + 16, &link))
		return false;
	sorting->steps--;
	cursor->at = read_link(link, at + 16, mixed);
	return true;
}

/* How many chunks of an arena's list can be gone through. */
static uint64_t try_fastbin(struct sorting *sorting, uint64_t place, unsigned bin, bool mixed)
{
	struct cursor cursor = { .bin = bin };
	uint64_t num = 0;
	if (!hsnap_window_word(&sorting->walk->links, place, &cursor.at))
		return 0;
	while (num < MAX_TRIED && step_on(sorting, &cursor, mixed))
		num++;
	return num + !cursor.at; /* that it comes to its end tells, too */
}

/* Where there are no caches of threads, fastbins tell how links are read. */
static void try_fastbins(struct sorting *sorting)
{
	const struct hsnap_glibc_arenas *arenas = &sorting->walk->arenas;
	for (size_t i = 0; i < arenas->num; i++)
		for (unsigned bin = 0; arenas->items[i].fastbins && bin < NUM_FASTBINS; bin++)
			for (int mixed = 0; mixed < 2; mixed++)
				sorting->tally[mixed].members +=
					try_fastbin(sorting, arenas->items[i].fastbins + 8 * bin, bin, mixed);
}

/* The lists of an arena, a step of each in turn: each step leads to another cache line, and to wait for one takes
 * as long as for seven.  A list that leads to a marked chunk has nothing more to mark. */
static void mark_fastbins_of(struct sorting *sorting, uint64_t place)
{
	struct walk *walk = sorting->walk;
	struct cursor cursors[NUM_FASTBINS];
	unsigned num = 0;
	for (unsigned bin = 0; bin < NUM_FASTBINS; bin++) {
		cursors[num].bin = bin;
		num += hsnap_window_word(&walk->links, place + 8 * bin, &cursors[num].at);
	}
	while (num) {
		unsigned kept = 0;
		for (unsigned i = 0; i < num; i++) {
			uint64_t at = cursors[i].at;
			if (!step_on(sorting, &cursors[i], sorting->mixed) || !mark_chunk(walk, at))
				continue;
			hsnap_window_fetch_early(&walk->links, cursors[i].at + 8);
			cursors[kept++] = cursors[i];
		}
		num = kept;
	}
}

static void mark_fastbins(struct sorting *sorting)
{
	const struct hsnap_glibc_arenas *arenas = &sorting->walk->arenas;
	for (size_t i = 0; i < arenas->num; i++)
		if (arenas->items[i].fastbins)
			mark_fastbins_of(sorting, arenas->items[i].fastbins);
}

/* ---- blocks that are none ---- */

/* Half of the mark was kept in `stack`. */
static bool may_have_mark(const struct sorting *sorting, const struct hsnap_block *block)
{
	if (!sorting->own)
		return sorting->mark && block->stack == (uint32_t)sorting->mark;
	const uint32_t *half = sorting->walk->proven.items;
	size_t low = hsnap_first(sorting->walk->proven.num, i, half[i] >= block->stack);
	return low < sorting->walk->proven.num && half[low] == block->stack;
}

static bool is_mark(const struct sorting *sorting, uint64_t word)
{
	if (!sorting->own)
		return word == sorting->mark;
	size_t found = hsnap_heap_find(sorting->walk->heap, word);
	const struct hsnap_block *cache = found == SIZE_MAX ? NULL : &sorting->walk->heap->blocks.items[found];
	return cache && cache->address == word && cache->flags & HSNAP_BLOCK_ALLOCATOR;
}

/* It bears the mark of cached chunks, and its link leads to another one or ends: it was on a list that
 * was not found whole.  A block that was in a cache and then in a fastbin may still bear the mark, but
 * its link leads to a chunk and not to a block. */
static bool has_mark(struct sorting *sorting, const struct hsnap_block *block)
{
	struct hsnap_window *window = &sorting->walk->links;
	uint64_t second, link, head, mark;
	if (!may_have_mark(sorting, block) || !hsnap_window_word(window, block->address + 8, &mark) ||
	    !is_mark(sorting, mark) || !hsnap_window_word(window, block->address, &link))
		return false;
	uint64_t next = read_link(link, block->address, sorting->mixed);
	if (!next)
		return true;
	return next % 16 == 0 && hsnap_window_word(window, next - 8, &head) && SIZE(head) == block->usable + 8 &&
	       hsnap_window_word(window, next + 8, &second) && second == mark;
}

/* Put the cached chunks, which lie behind the first `num`, in their places among the free ones. */
static void merge_free(struct hsnap_heap *heap, const struct hsnap_free *cached, size_t num_cached)
{
	size_t num = heap->free.num, to = num + num_cached;
	heap->free.num = to;
	while (num_cached) {
		if (num && heap->free.items[num - 1].start > cached[num_cached - 1].start)
			heap->free.items[--to] = heap->free.items[--num];
		else
			heap->free.items[--to] = cached[--num_cached];
	}
}

/* Mark the blocks that bear the mark, before any of them is moved. */
static void mark_by_mark(struct sorting *sorting)
{
	struct walk *walk = sorting->walk;
	for (size_t r = 0, next = 0; r < walk->runs.num; r++) {
		size_t end = r + 1 < walk->runs.num ? walk->runs.items[r + 1].first_block : walk->heap->blocks.num;
		for (; next < end; next++)
			if (walk->runs.items[r].kind != RUN_MAPPED && has_mark(sorting, &walk->heap->blocks.items[next]))
				mark_chunk(walk, walk->heap->blocks.items[next].address - 16);
	}
}

static bool move_cached(struct walk *walk)
{
	struct hsnap_heap *heap = walk->heap;
	struct hsnap_vec(struct hsnap_free) cached = { 0 };
	size_t kept = 0, next = 0;
	bool room = true;
	for (size_t r = 0; r < walk->runs.num && room; r++) {
		const struct run *run = &walk->runs.items[r];
		size_t end = r + 1 < walk->runs.num ? walk->runs.items[r + 1].first_block : heap->blocks.num;
		for (; next < end && room; next++) {
			struct hsnap_block block = heap->blocks.items[next];
			block.stack = 0;
			if (run->kind == RUN_MAPPED || !is_marked(walk, run, block.address - 16))
				heap->blocks.items[kept++] = block;
			else
				room = hsnap_vec_push(&cached, (struct hsnap_free){ block.address - 16, block.address + block.usable - 8,
										    run->arena, HSNAP_FREE_CACHED });
		}
	}
	heap->blocks.num = kept;
	room = room && hsnap_vec_reserve(&heap->free, cached.num);
	if (room)
		merge_free(heap, cached.items, cached.num);
	hsnap_vec_deinit(&cached);
	return room;
}

static int by_half(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

/* Of the caches that were proven, half of each address: what their chunks bear where the mark is that. */
static bool list_proven(struct walk *walk)
{
	for (size_t i = 0; i < walk->caches.num; i++) {
		const struct hsnap_block *block = &walk->heap->blocks.items[walk->caches.items[i]];
		if (block->flags & HSNAP_BLOCK_ALLOCATOR && !hsnap_vec_push(&walk->proven, (uint32_t)block->address))
			return false;
	}
	if (walk->proven.num)
		qsort(walk->proven.items, walk->proven.num, sizeof(*walk->proven.items), by_half);
	return true;
}

/* Which way links are read, and which mark cached chunks bear. */
static void decide(struct sorting *sorting)
{
	const struct tally *tally = sorting->tally;
	sorting->mixed = tally[1].members > tally[0].members;
	tally += sorting->mixed;
	sorting->own = tally->own > tally->members / 2;
	sorting->mark = !sorting->own && tally->votes >= 2 ? tally->mark : 0;
}

bool hsnap_glibc_sort_out_cached(struct walk *walk)
{
	struct sorting sorting = { .walk = walk, .steps = 8 * (uint64_t)walk->heap->blocks.num + MAX_LIST };
	if (!make_marks(walk) || !go_through_caches(&sorting, false))
		return false;
	if (sorting.tally[0].members == sorting.tally[1].members)
		try_fastbins(&sorting);
	decide(&sorting);
	if (!go_through_caches(&sorting, true) || !list_proven(walk))
		return false;
	label_empty_caches(walk);
	mark_fastbins(&sorting);
	mark_by_mark(&sorting);
	return move_cached(walk);
}
