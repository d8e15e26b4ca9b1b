/* SPDX-License-Identifier: MIT */
/*
 * wrappers.c - headers that a program's own malloc puts in front of what it hands out.
 *
 * Where every pointer is one to block + 8 (or + 16) and none to the block, the objects begin there.
 * Told by share, of blocks that have something in common: the call of malloc that made them, a first
 * word that is their size, or nothing.  A list's node may stand behind one word in all blocks as well,
 * but those are of one size, and a wrapper serves many.
 */
#include "capture/naming/wrappers.h"

#include <stdlib.h>

#include "snapshot/base/cleanup.h"
#include "snapshot/base/pages.h"

#define MAX_SAMPLES 8192u  /* blocks whose words are looked at, evenly spread */
#define SAMPLED_BYTES 256u /* of each, from its start on */
#define FEW_BLOCKS 32u     /* fewer are no share */
#define MANY_SIZES 4u      /* fewer need not be a wrapper's */
#define ROUNDED 32u        /* usable bytes less those that the header tells, where the size asked for is not known */

enum { AT_START, AT_8, AT_16, NUM_PLACES };

static const uint8_t header_of_place[NUM_PLACES] = { 0, 8, 16 };

/* Blocks with something in common, of those that a word was seen to lead to. */
struct population {
	uint32_t seen[NUM_PLACES]; /* so many led to there */
	uint64_t sizes[MANY_SIZES];
	uint32_t num_sizes;
	uint8_t header;            /* once decided; 0: none */
	bool always;               /* of TELLS_8, TELLS_16: all blocks of a wrapper's tell */
};

enum { ALL, TELLS_8 = AT_8, TELLS_16 = AT_16, FIRST_CALL }; /* then one a PC */

struct wrappers {
	struct hsnap_work *work;
	struct hsnap_window reader;
	uint32_t hint;
	uint8_t *seen; /* one a block: bit p = a word led to place p */
	struct hsnap_vec(uint32_t) targets; /* blocks that have such bits */
	struct hsnap_vec(struct population) populations;
	struct hsnap_keymap calls; /* {PC of the innermost frame} → index into populations */
	bool failed;               /* out of memory */
};

static void wrappers_deinit(struct wrappers *wrappers)
{
	hsnap_vec_deinit(&wrappers->targets);
	hsnap_vec_deinit(&wrappers->populations);
	hsnap_keymap_deinit(&wrappers->calls);
	hsnap_pages_free(wrappers->seen, wrappers->work->num_blocks, sizeof(*wrappers->seen));
}

static void see_word(struct wrappers *wrappers, uint64_t word)
{
	const struct hsnap_work *work = wrappers->work;
	uint32_t b = hsnap_block_index_find(&work->index, word, &wrappers->hint);
	if (b == HSNAP_NO_BLOCK)
		return;
	uint64_t offset = word - work->heap->blocks.items[b].address;
	if (offset > 16 || offset % 8)
		return;
	if (!wrappers->seen[b] && !hsnap_vec_push(&wrappers->targets, b))
		wrappers->failed = true;
	wrappers->seen[b] |= (uint8_t)(1u << (offset / 8));
}

static void sample_words(struct wrappers *wrappers)
{
	const struct hsnap_work *work = wrappers->work;
	uint32_t step = work->num_blocks / MAX_SAMPLES + 1;
	for (uint64_t b = 0; b < work->num_blocks; b += step) {
		const struct hsnap_block *block = &work->heap->blocks.items[b];
		uint64_t size = block->usable < SAMPLED_BYTES ? block->usable : SAMPLED_BYTES, word;
		for (uint64_t at = 0; at + 8 <= size; at += 8)
			if (hsnap_window_word(&wrappers->reader, block->address + at, &word))
				see_word(wrappers, word);
	}
}

/* Is a word at the block's start the size of what lies behind a header of so many bytes? */
static bool tells_size(struct wrappers *wrappers, uint32_t b, uint64_t header)
{
	const struct hsnap_work *work = wrappers->work;
	const struct hsnap_block *block = &work->heap->blocks.items[b];
	uint64_t size = hsnap_block_size(block), most = hsnap_is_requested(work, block) ? 8 : ROUNDED, word;
	for (uint64_t at = 0; at < header; at += 8)
		if (size > header && hsnap_window_word(&wrappers->reader, block->address + at, &word) && word &&
		    word <= size - header && size - header - word < most)
			return true;
	return false;
}

/* Index of the population of all that one call of malloc made; ALL where it is not known. */
static uint32_t call_of(struct wrappers *wrappers, uint32_t b, bool add)
{
	const struct hsnap_heap *heap = wrappers->work->heap;
	uint32_t stack = heap->blocks.items[b].stack;
	if (!stack || stack >= heap->stacks.num || !heap->stacks.items[stack].num_pcs)
		return ALL;
	struct hsnap_key key = { heap->pcs.items[heap->stacks.items[stack].first_pc], 0 };
	if (!add)
		return hsnap_keymap_get(&wrappers->calls, key);
	bool is_new;
	uint32_t *call = hsnap_keymap_at(&wrappers->calls, key, &is_new);
	if (call && is_new) {
		*call = (uint32_t)wrappers->populations.num;
		if (!hsnap_vec_push(&wrappers->populations, (struct population){ 0 }))
			call = NULL;
	}
	wrappers->failed |= !call;
	return call ? *call : ALL;
}

static void count(struct wrappers *wrappers, uint32_t p, uint32_t b)
{
	struct population *population = &wrappers->populations.items[p];
	uint64_t size = wrappers->work->heap->blocks.items[b].usable;
	uint32_t i = 0;
	for (int place = 0; place < NUM_PLACES; place++)
		population->seen[place] += wrappers->seen[b] >> place & 1;
	while (i < population->num_sizes && population->sizes[i] != size)
		i++;
	if (i == population->num_sizes && i < MANY_SIZES)
		population->sizes[population->num_sizes++] = size;
}

static void count_targets(struct wrappers *wrappers)
{
	for (size_t i = 0; i < wrappers->targets.num && !wrappers->failed; i++) {
		uint32_t b = wrappers->targets.items[i], call = call_of(wrappers, b, true);
		count(wrappers, ALL, b);
		for (uint32_t p = TELLS_8; p <= TELLS_16; p++)
			if (tells_size(wrappers, b, p == TELLS_8 ? 8 : 16))
				count(wrappers, p, b);
		if (call)
			count(wrappers, call, b);
	}
}

/* Nearly all at one place behind the start, and next to none at the start itself. */
static void decide(struct population *population)
{
	uint32_t all = 0;
	for (int place = 0; place < NUM_PLACES; place++)
		all += population->seen[place];
	for (int place = AT_8; place < NUM_PLACES; place++) {
		uint64_t there = population->seen[place];
		if (there >= FEW_BLOCKS && (uint64_t)population->seen[AT_START] * 50 <= there &&
		    there * 10 >= (uint64_t)all * 9 && population->num_sizes == MANY_SIZES)
			population->header = header_of_place[place];
	}
}

static bool decide_all(struct wrappers *wrappers)
{
	bool any = false;
	for (size_t p = 0; p < wrappers->populations.num; p++) {
		decide(&wrappers->populations.items[p]);
		any |= wrappers->populations.items[p].header;
	}
	/* The size that a header of 8 bytes tells is not that behind one of 16.  A small number looks like a size, too, but
	 * of what lies behind a wrapper's headers not only a few have one. */
	struct population *items = wrappers->populations.items;
	for (uint32_t p = TELLS_8; p <= TELLS_16; p++) {
		if (items[p].header != header_of_place[p] || (uint64_t)items[p].seen[p] * 2 < items[ALL].seen[p])
			items[p].header = 0;
		items[p].always = items[p].header && (uint64_t)items[p].seen[p] * 50 >= (uint64_t)items[ALL].seen[p] * 49;
	}
	return any;
}

static uint8_t header_of(struct wrappers *wrappers, uint32_t b)
{
	const struct population *populations = wrappers->populations.items;
	uint32_t call = call_of(wrappers, b, false);
	bool must_tell = call == ALL && (populations[TELLS_8].always || populations[TELLS_16].always);
	uint8_t header = must_tell ? 0 : populations[call].header;
	for (uint32_t p = TELLS_8; p <= TELLS_16 && !header; p++)
		if (populations[p].header && tells_size(wrappers, b, populations[p].header))
			header = populations[p].header;
	bool exception = wrappers->seen[b] & 1 << AT_START;
	return exception || wrappers->work->heap->blocks.items[b].usable <= header ? 0 : header;
}

enum hsnap_code hsnap_find_headers(struct hsnap_work *work, struct hsnap_error *err)
{
	if (!work->symbols) /* there are no types to put anywhere */
		return HSNAP_OK;
	hsnap_auto(wrappers_deinit) struct wrappers wrappers = { .work = work };
	hsnap_window_init(&wrappers.reader, work->target);
	wrappers.seen = hsnap_pages_alloc(work->num_blocks, sizeof(*wrappers.seen));
	for (uint32_t p = 0; p < FIRST_CALL; p++)
		wrappers.failed |= !hsnap_vec_push(&wrappers.populations, (struct population){ 0 });
	if (!wrappers.seen || wrappers.failed)
		return hsnap_no_memory(err);
	sample_words(&wrappers);
	count_targets(&wrappers);
	if (wrappers.failed)
		return hsnap_no_memory(err);
	if (!decide_all(&wrappers))
		return HSNAP_OK;
	for (uint32_t b = 0; b < work->num_blocks; b++)
		wrappers.seen[b] = work->heap->blocks.items[b].flags & HSNAP_BLOCK_OBJECT ? 0 : header_of(&wrappers, b);
	work->headers = wrappers.seen;
	wrappers.seen = NULL;
	return HSNAP_OK;
}
