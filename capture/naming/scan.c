/* SPDX-License-Identifier: MIT */
/*
 * scan.c - every aligned word of live blocks and roots: does it point into a block?
 *
 * Work is cut into pieces of some megabytes.  Each piece fills a buffer of its
 * own, in order; the buffers are then laid end to end.  Memory is read once, and
 * that of blocks for the last time: the copy goes as the edges come, and the
 * nodes are made when it is gone.  All of them at once would be the peak of the
 * whole capture.
 */
#include <stdlib.h>

#include "capture/naming/pools.h"
#include "capture/naming/shapes.h"
#include "snapshot/base/pages.h"
#include "snapshot/base/parallel.h"
#include "snapshot/base/search.h"

#define MAX_DEPTH 8 /* containers in containers' own storage */
#define PIECE_BYTES ((uint64_t)4 << 20)
#define FETCH_AHEAD 12u /* blocks */
#define PIECE_BLOCKS 32768u
#define BATCH 16 /* pieces of blocks; after each the copy that they were read from is given back */

struct half_edges hsnap_vec_body(struct hsnap_half_edge);

/* One piece: either of a segment or a run of blocks. */
struct piece {
	uint32_t segment;      /* roots */
	uint64_t start, end;   /* roots: addresses */
	uint32_t first, last;  /* blocks: [first, last) */
	struct half_edges edges;
	bool failed;           /* out of memory */
};

struct scan {
	struct hsnap_work *work;
	uint32_t *counts; /* edges of each block */
	struct hsnap_vec(struct piece) pieces;
};

static void scan_deinit(struct scan *scan)
{
	for (size_t i = 0; i < scan->pieces.num; i++)
		hsnap_vec_deinit(&scan->pieces.items[i].edges);
	hsnap_vec_deinit(&scan->pieces);
}

/* What a word that points into a block is. */
enum strength { NO_POINTER, WEAK, STRONG };

static bool bit(const uint64_t *bits, uint64_t offset)
{
	return bits[offset / 512] >> (offset / 8 % 64) & 1;
}

/* The container whose storage holds the word at an offset, or NULL. */
static const struct hsnap_storage *find_region(const struct hsnap_layout *layout, uint64_t at)
{
	size_t low = hsnap_first(layout->regions.num, i, layout->regions.items[i].start > at);
	return low && at < layout->regions.items[low - 1].end ? &layout->regions.items[low - 1] : NULL;
}

static enum strength strength_in(const struct hsnap_work *work, const struct hsnap_layout *layout, uint64_t at,
				 uint64_t address, uint64_t word, unsigned depth);

/* false: the container does not tell. */
static bool strength_inside(const struct hsnap_work *work, const struct hsnap_storage *region, uint64_t at, uint64_t address,
			    uint64_t word, unsigned depth, enum strength *ret)
{
	const struct hsnap_container *container = &work->plans.containers.items[region->container];
	uint64_t start = region->at + container->offsets[0];
	hsnap_dtype_id type;
	*ret = NO_POINTER;
	switch (depth < MAX_DEPTH ? hsnap_shape_content(work, container, address - (at - region->at), &type) : HSNAP_CONTENT_UNKNOWN) {
	case HSNAP_CONTENT_NOTHING:
		return true;
	case HSNAP_CONTENT_POINTER:
		*ret = at == start ? STRONG : NO_POINTER;
		return true;
	case HSNAP_CONTENT_OBJECT:
		if (at >= start && work->layouts[type].size >= 8 && at - start <= work->layouts[type].size - 8)
			*ret = strength_in(work, &work->layouts[type], at - start, address, word, depth + 1);
		return true;
	default:
		return false;
	}
}

/* Of the word at an offset of one object, and where that word stands. */
static enum strength strength_in(const struct hsnap_work *work, const struct hsnap_layout *layout, uint64_t at,
				 uint64_t address, uint64_t word, unsigned depth)
{
	const struct hsnap_storage *region = layout->regions.num ? find_region(layout, at) : NULL;
	enum strength inside;
	if (at % 8)
		return WEAK;
	if (region && strength_inside(work, region, at, address, word, depth, &inside))
		return inside;
	if (layout->strong && bit(layout->strong, at))
		return word % 8 && bit(layout->aligned, at) ? WEAK : STRONG;
	return !layout->possible || bit(layout->possible, at) ? WEAK : NO_POINTER;
}

/* Does a declared pointer stand at this offset of an object, or run of objects, of the type? */
static enum strength strength_of(const struct hsnap_work *work, hsnap_dtype_id type, enum hsnap_form form,
				 uint64_t offset, uint64_t address, uint64_t word)
{
	if (!type || !work->layouts || form == HSNAP_FORM_BYTES)
		return WEAK;
	const struct hsnap_layout *layout = &work->layouts[type];
	if (form == HSNAP_FORM_ONE && layout->tail && offset >= layout->tail_offset) {
		offset -= layout->tail_offset;
		layout = &work->layouts[layout->tail];
	} else if (form == HSNAP_FORM_ONE && offset >= layout->size) {
		return WEAK;
	}
	return layout->size ? strength_in(work, layout, offset % layout->size, address, word, 0) : WEAK;
}

/* What the words of one stretch are to be judged by. */
struct stretch {
	uint64_t base;   /* edge offsets count from here */
	uint64_t first;  /* the words before this offset are dead */
	uint32_t self;   /* this block's own number: what points there is no edge */
	hsnap_dtype_id type;
	enum hsnap_form form;
	const struct hsnap_slab *slab; /* it is one: its objects have types of their own; or NULL */
	bool stack;      /* of a thread: full of what allocators and finished calls left */
};

/*
 * The block that ends where the word points to.  Programs keep such pointers, at times no other: they
 * hold the block, weakly.  On a stack they are not looked for: there glibc leaves the heads of chunks,
 * which begin where the block before ends.
 */
static uint32_t block_before(const struct hsnap_work *work, const struct stretch *stretch, uint64_t word,
			     uint32_t *hint)
{
	if (stretch->stack)
		return HSNAP_NO_BLOCK;
	uint32_t block = hsnap_block_index_find(&work->index, word - 1, hint);
	if (block == HSNAP_NO_BLOCK)
		return block;
	const struct hsnap_block *found = &work->heap->blocks.items[block];
	return word == found->address + found->usable ? block : HSNAP_NO_BLOCK;
}

/* The same, where objects may lie in the block. */
static enum strength strength_at(const struct hsnap_work *work, const struct stretch *stretch, uint64_t offset, uint64_t address,
				 uint64_t word)
{
	uint32_t place = stretch->slab ? hsnap_slab_place(stretch->slab, offset) : UINT32_MAX;
	if (place == UINT32_MAX)
		return strength_of(work, stretch->type, stretch->form, offset, address, word);
	offset = (offset - stretch->slab->first) % stretch->slab->stride;
	return strength_of(work, stretch->slab->type, HSNAP_FORM_ONE, offset, address, word);
}

/* What a word that points into a block leads to: an object in it, where one is there. */
static uint32_t target_of(const struct hsnap_work *work, uint32_t block, uint64_t word)
{
	const struct hsnap_slab *slab = hsnap_slab_of(work, block);
	uint64_t start = slab ? hsnap_object_start(work, block) : 0;
	uint32_t place = slab && word >= start ? hsnap_slab_place(slab, word - start) : UINT32_MAX;
	return place == UINT32_MAX ? block : work->num_blocks + hsnap_slab_item(slab, place);
}

static bool scan_words(const struct hsnap_work *work, const struct stretch *stretch, uint64_t at,
		       const uint8_t *bytes, size_t len, uint32_t *hint, struct half_edges *edges)
{
	const struct hsnap_block_index *index = &work->index;
	for (size_t i = 0; i + 8 <= len; i += 8) {
		uint64_t word = hsnap_load64(bytes + i);
		uint32_t block = hsnap_block_index_find(index, word, hint);
		bool at_end = block == HSNAP_NO_BLOCK;
		if (at_end)
			block = block_before(work, stretch, word, hint);
		if (block == HSNAP_NO_BLOCK)
			continue;
		if (work->is_slab && !at_end)
			block = target_of(work, block, word);
		if (block == stretch->self)
			continue;
		uint64_t offset = at + i - stretch->base;
		enum strength strength = strength_at(work, stretch, offset, at + i, word);
		if (strength == NO_POINTER)
			continue;
		if (strength == WEAK || at_end)
			block |= HSNAP_EDGE_WEAK;
		if (offset > HSNAP_OFFSET_BEYOND)
			offset = HSNAP_OFFSET_BEYOND;
		if (!hsnap_vec_push(edges, (struct hsnap_half_edge){ .block = block, .offset = (uint32_t)offset }))
			return false;
	}
	return true;
}

static bool scan_stretch(const struct hsnap_work *work, struct hsnap_window *reader,
			 const struct stretch *stretch, uint64_t start, uint64_t end, uint32_t *hint,
			 struct half_edges *edges)
{
	size_t len;
	for (uint64_t at = (start + 7) & ~(uint64_t)7; at < end && end - at >= 8; at += len & ~(size_t)7) {
		const uint8_t *bytes = hsnap_window_piece(reader, at, end, &len);
		if (bytes && !scan_words(work, stretch, at, bytes, len, hint, edges))
			return false;
		if (len < 8)
			break; /* a page of which only a few bytes could be had */
	}
	return true;
}

/* The declared pointers of packed structs that stand between the words. */
static bool scan_packed(const struct hsnap_work *work, struct hsnap_window *reader, const struct stretch *stretch,
			uint64_t end, uint32_t *hint, struct half_edges *edges)
{
	if (!stretch->type || !work->layouts || stretch->form == HSNAP_FORM_BYTES)
		return true;
	const struct hsnap_layout *layout = &work->layouts[stretch->type];
	uint64_t offset = stretch->first, size = end - stretch->base;
	for (; layout->packed.num && size - offset >= layout->size; offset += layout->size) {
		for (size_t i = 0; i < layout->packed.num; i++) {
			uint64_t at = stretch->base + offset + layout->packed.items[i], word;
			if (!(at % 8) || !hsnap_window_word(reader, at, &word))
				continue;
			uint32_t block = hsnap_block_index_find(&work->index, word, hint);
			uint64_t place = at - stretch->base;
			if (block != HSNAP_NO_BLOCK && work->is_slab)
				block = target_of(work, block, word);
			if (block == HSNAP_NO_BLOCK || block == stretch->self)
				continue;
			if (!hsnap_vec_push(edges, (struct hsnap_half_edge){ .block = block,
					.offset = place < HSNAP_OFFSET_BEYOND ? (uint32_t)place : HSNAP_OFFSET_BEYOND }))
				return false;
		}
		if (stretch->form == HSNAP_FORM_ONE)
			break;
	}
	return true;
}

static int compare_edges(const void *a, const void *b)
{
	const struct hsnap_half_edge *x = a, *y = b;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* A whole block or variable; its edges end up in order of offset. */
static bool scan_whole(const struct hsnap_work *work, struct hsnap_window *reader, const struct stretch *stretch,
		       uint64_t end, uint32_t *hint, struct half_edges *edges)
{
	size_t before = edges->num;
	if (!scan_stretch(work, reader, stretch, stretch->base + stretch->first, end, hint, edges))
		return false;
	size_t words = edges->num;
	bool done = scan_packed(work, reader, stretch, end, hint, edges);
	if (edges->num > words)
		qsort(edges->items + before, edges->num - before, sizeof(*edges->items), compare_edges);
	return done;
}

/* What stands behind the part that is in use, where nothing proves it dead. */
static bool scan_rest(const struct hsnap_work *work, struct hsnap_window *reader, uint32_t b, uint32_t *hint,
		      struct half_edges *edges)
{
	const struct hsnap_body *body = work->claims[b].live_only ? &work->bodies.items[work->body_of[b] - 1] : NULL;
	uint64_t start = hsnap_object_start(work, b);
	struct stretch stretch = { .base = start, .self = b };
	return !body || !body->unproved ||
	       scan_stretch(work, reader, &stretch, start + body->live, start + hsnap_object_room(work, b), hint, edges);
}

/* What stands in front of the block's object: it holds what it points to, at no place of the object's. */
static bool scan_header(const struct hsnap_work *work, struct hsnap_window *reader, uint32_t b, uint32_t *hint,
			struct half_edges *edges)
{
	uint64_t start = work->heap->blocks.items[b].address;
	struct stretch stretch = { .base = start - HSNAP_OFFSET_BEYOND, .self = b };
	return !hsnap_header(work, b) ||
	       scan_stretch(work, reader, &stretch, start, hsnap_object_start(work, b), hint, edges);
}

static void scan_root_piece(void *context, size_t i)
{
	const struct scan *scan = context;
	struct piece *piece = &scan->pieces.items[i];
	const struct hsnap_segment *segment = &scan->work->segments.items[piece->segment];
	struct stretch stretch = { .base = segment->address, .self = HSNAP_NO_BLOCK, .type = segment->type,
				   .form = HSNAP_FORM_ONE, .stack = segment->root.kind == HSNAP_ROOT_STACK };
	struct hsnap_window reader;
	hsnap_window_init(&reader, scan->work->target);
	uint32_t hint = 0;
	bool whole = piece->start == segment->address && piece->end == segment->address + segment->size;
	piece->failed = whole ? !scan_whole(scan->work, &reader, &stretch, piece->end, &hint, &piece->edges)
			      : !scan_stretch(scan->work, &reader, &stretch, piece->start, piece->end, &hint, &piece->edges);
}

static bool add_value(struct hsnap_work *work, struct hsnap_segment *segment, struct half_edges *edges)
{
	uint32_t hint = 0, block = hsnap_block_index_find(&work->index, segment->value, &hint);
	if (block == HSNAP_NO_BLOCK)
		return true;
	block = target_of(work, block, segment->value);
	if (strength_of(work, segment->type, HSNAP_FORM_ONE, 0, 0, segment->value) != STRONG)
		block |= HSNAP_EDGE_WEAK;
	return hsnap_vec_push(edges, (struct hsnap_half_edge){ .block = block });
}

static bool cut_segments(struct scan *scan)
{
	const struct hsnap_work *work = scan->work;
	for (uint32_t s = 0; s < work->segments.num; s++) {
		const struct hsnap_segment *segment = &work->segments.items[s];
		for (uint64_t done = 0; done < segment->size; done += PIECE_BYTES) {
			uint64_t left = segment->size - done;
			struct piece piece = { .segment = s, .start = segment->address + done };
			piece.end = piece.start + (left < PIECE_BYTES ? left : PIECE_BYTES);
			if (!hsnap_vec_push(&scan->pieces, piece))
				return false;
		}
	}
	return true;
}

/* Lay the pieces' edges end to end and drop the segments without. */
static bool gather_roots(struct scan *scan)
{
	struct hsnap_work *work = scan->work;
	size_t kept = 0, p = 0;
	for (uint32_t s = 0; s < work->segments.num; s++) {
		struct hsnap_segment segment = work->segments.items[s];
		segment.first_edge = work->root_edges.num;
		if (!segment.size && !add_value(work, &segment, (struct half_edges *)&work->root_edges))
			return false;
		for (; p < scan->pieces.num && scan->pieces.items[p].segment == s; p++) {
			const struct half_edges *edges = &scan->pieces.items[p].edges;
			if (scan->pieces.items[p].failed || !hsnap_vec_reserve(&work->root_edges, edges->num))
				return false;
			for (size_t e = 0; e < edges->num; e++)
				work->root_edges.items[work->root_edges.num++] = edges->items[e];
		}
		segment.num_edges = work->root_edges.num - segment.first_edge;
		if (segment.num_edges)
			work->segments.items[kept++] = segment;
	}
	work->segments.num = kept;
	return true;
}

enum hsnap_code hsnap_scan_roots(struct hsnap_work *work, struct hsnap_error *err)
{
	struct scan scan = { .work = work };
	bool done = cut_segments(&scan);
	if (done) {
		hsnap_parallel(scan.pieces.num, scan_root_piece, &scan);
		done = gather_roots(&scan);
	}
	scan_deinit(&scan);
	return done ? HSNAP_OK : hsnap_no_memory(err);
}

void hsnap_open_window(const struct hsnap_work *work, struct hsnap_window *reader, uint32_t first, uint32_t last)
{
	const struct hsnap_block *blocks = work->heap->blocks.items;
	for (; last > first; last = first + (last - first) / 2)
		if (hsnap_window_open(reader, blocks[first].address,
					blocks[last - 1].address + blocks[last - 1].usable))
			return;
}

void hsnap_fetch_ahead(const struct hsnap_work *work, struct hsnap_window *reader, uint32_t b)
{
	const struct hsnap_block *blocks = work->heap->blocks.items;
	if (blocks[b].address < reader->start || blocks[b].address + blocks[b].usable > reader->end)
		hsnap_open_window(work, reader, b, work->num_blocks);
	uint32_t soon = b + FETCH_AHEAD;
	if (soon < work->num_blocks && work->claims[soon].type && blocks[soon].address - reader->start < reader->end - reader->start)
		__builtin_prefetch(reader->window + (blocks[soon].address - reader->start));
}

static void scan_block_piece(void *context, size_t i)
{
	const struct scan *scan = context;
	const struct hsnap_work *work = scan->work;
	struct piece *piece = &scan->pieces.items[i];
	struct hsnap_window reader;
	hsnap_window_init(&reader, work->target);
	uint32_t hint = 0;
	for (uint32_t b = piece->first; b < piece->last; b++) {
		const struct hsnap_block *block = &work->heap->blocks.items[b];
		const struct hsnap_claim *claim = &work->claims[b];
		uint64_t end = block->address + block->usable;
		if (end > reader.end)
			hsnap_open_window(work, &reader, b, piece->last);
		if (claim->live_only)
			end = hsnap_object_start(work, b) + hsnap_live_bytes(work, b);
		struct stretch stretch = { .base = hsnap_object_start(work, b), .first = hsnap_live_first(work, b), .self = b,
					   .type = claim->type, .form = claim->form, .slab = hsnap_slab_of(work, b) };
		size_t before = piece->edges.num;
		piece->failed |= !scan_whole(work, &reader, &stretch, end, &hint, &piece->edges) ||
				 !scan_rest(work, &reader, b, &hint, &piece->edges) ||
				 !scan_header(work, &reader, b, &hint, &piece->edges);
		scan->counts[b] = (uint32_t)(piece->edges.num - before);
	}
}

static bool cut_blocks(struct scan *scan)
{
	const struct hsnap_work *work = scan->work;
	for (uint32_t b = 0; b < work->num_blocks;) {
		struct piece piece = { .first = b };
		for (uint64_t bytes = 0; b < work->num_blocks && bytes < PIECE_BYTES && b - piece.first < PIECE_BLOCKS; b++)
			bytes += work->heap->blocks.items[b].usable;
		piece.last = b;
		if (!hsnap_vec_push(&scan->pieces, piece))
			return false;
	}
	return true;
}

struct fill {
	struct scan *scan;
	struct hsnap_graph *graph;
};

static void fill_piece(void *context, size_t i)
{
	const struct fill *fill = context;
	struct hsnap_graph *graph = fill->graph;
	struct piece *piece = &fill->scan->pieces.items[i];
	uint32_t first_block = hsnap_first_block(graph);
	uint32_t at = graph->first_edge[first_block + piece->first];
	for (size_t e = 0; e < piece->edges.num; e++, at++) {
		uint32_t block = piece->edges.items[e].block;
		graph->edge_to[at] = ((block & ~HSNAP_EDGE_WEAK) + first_block) | (block & HSNAP_EDGE_WEAK);
		graph->edge_offset[at] = piece->edges.items[e].offset;
	}
	hsnap_vec_deinit(&piece->edges); /* not all of them twice */
}

/* Edges of roots come before those of blocks. */
static void fill_roots(struct hsnap_work *work)
{
	struct hsnap_graph *graph = &work->snapshot->graph;
	uint32_t first_block = hsnap_first_block(graph), at = 0;
	graph->first_edge[0] = graph->first_edge[1] = 0;
	for (uint32_t r = 0; r < work->segments.num; r++) {
		const struct hsnap_segment *segment = &work->segments.items[r];
		for (uint64_t e = 0; e < segment->num_edges; e++, at++) {
			struct hsnap_half_edge edge = work->root_edges.items[segment->first_edge + e];
			graph->edge_to[at] = ((edge.block & ~HSNAP_EDGE_WEAK) + first_block) |
					     (edge.block & HSNAP_EDGE_WEAK);
			uint64_t offset = edge.offset < HSNAP_OFFSET_BEYOND ? segment->into + edge.offset : HSNAP_OFFSET_BEYOND;
			graph->edge_offset[at] = offset < HSNAP_OFFSET_BEYOND ? (uint32_t)offset : HSNAP_OFFSET_BEYOND;
		}
		graph->first_edge[1 + r + 1] = at;
	}
}

/* Edges to objects of slabs become edges to their blocks, and beside them it is kept to which. */
static bool tell_items(struct hsnap_work *work)
{
	struct hsnap_graph *graph = &work->snapshot->graph;
	uint32_t first = hsnap_first_block(graph);
	for (uint64_t e = 0; e < graph->num_edges; e++) {
		uint32_t weak = graph->edge_to[e] & HSNAP_EDGE_WEAK, block = (graph->edge_to[e] & ~HSNAP_EDGE_WEAK) - first, item = 0;
		const struct hsnap_slab *slab;
		if (block >= work->num_blocks) {
			uint32_t number = block - work->num_blocks;
			slab = &work->slabs.items[hsnap_first(work->slabs.num, i, work->slabs.items[i].first_item > number) - 1];
			graph->edge_to[e] = (first + slab->block) | weak;
			item = 1 + number - slab->first_item;
		} else {
			slab = hsnap_slab_of(work, block);
		}
		if (slab && !hsnap_vec_push(&graph->edge_items, item))
			return false;
	}
	return true;
}

static enum hsnap_code lay_out(struct scan *scan, struct hsnap_error *err)
{
	struct hsnap_work *work = scan->work;
	struct hsnap_graph *graph = &work->snapshot->graph;
	uint64_t num = work->root_edges.num;
	for (size_t i = 0; i < scan->pieces.num; i++) {
		if (scan->pieces.items[i].failed)
			return hsnap_no_memory(err);
		num += scan->pieces.items[i].edges.num;
	}
	enum hsnap_code code = hsnap_graph_alloc_edges(graph, num, err);
	if (code)
		return code;
	fill_roots(work);
	uint32_t first = hsnap_first_block(graph);
	for (uint32_t b = 0; b < work->num_blocks; b++)
		graph->first_edge[first + b + 1] = graph->first_edge[first + b] + scan->counts[b];
	struct fill fill = { .scan = scan, .graph = graph };
	hsnap_parallel(scan->pieces.num, fill_piece, &fill);
	return !work->num_items || tell_items(work) ? HSNAP_OK : hsnap_no_memory(err);
}

struct batch {
	struct scan *scan;
	size_t first;
};

static void scan_of_batch(void *context, size_t i)
{
	const struct batch *batch = context;
	scan_block_piece(batch->scan, batch->first + i);
}

static void scan_in_batches(struct scan *scan)
{
	const struct hsnap_block *blocks = scan->work->heap->blocks.items;
	for (struct batch batch = { .scan = scan }; batch.first < scan->pieces.num; batch.first += BATCH) {
		size_t left = scan->pieces.num - batch.first, num = left < BATCH ? left : BATCH;
		hsnap_parallel(num, scan_of_batch, &batch);
		const struct hsnap_block *last = &blocks[scan->pieces.items[batch.first + num - 1].last - 1];
		hsnap_target_forget(scan->work->target, num < left ? last->address + last->usable : UINT64_MAX);
	}
}

enum hsnap_code hsnap_scan_blocks(struct hsnap_work *work, struct hsnap_error *err)
{
	struct scan scan = { .work = work };
	scan.counts = hsnap_pages_alloc(work->num_blocks, sizeof(*scan.counts));
	enum hsnap_code code;
	if (scan.counts && cut_blocks(&scan)) {
		scan_in_batches(&scan);
		code = hsnap_make_nodes(work, err);
		if (!code)
			code = lay_out(&scan, err);
	} else {
		code = hsnap_no_memory(err);
	}
	hsnap_pages_free(scan.counts, work->num_blocks, sizeof(*scan.counts));
	scan_deinit(&scan);
	return code;
}
