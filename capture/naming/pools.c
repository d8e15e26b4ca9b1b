/* SPDX-License-Identifier: MIT */
/* pools.c - blocks that are pools: declared ones, and look-ups of what lies in them. */
#include "capture/naming/pools.h"

#include <stdlib.h>
#include <string.h>

#include "capture/naming/claims.h"
#include "capture/naming/convert.h"
#include "snapshot/base/search.h"

static void slab_deinit(struct hsnap_slab *slab)
{
	free(slab->items);
	free(slab->ranks);
}

void hsnap_slabs_deinit(struct hsnap_work *work)
{
	for (size_t i = 0; i < work->slabs.num; i++)
		slab_deinit(&work->slabs.items[i]);
	for (size_t i = 0; i < work->declared.num; i++)
		slab_deinit(&work->declared.items[i]);
	hsnap_vec_deinit(&work->slabs);
	hsnap_vec_deinit(&work->declared);
	hsnap_keymap_deinit(&work->declared_blocks);
	free(work->is_slab);
}

/* The number that says whether an object is in use. */
static bool is_live(const struct hsnap_work *work, const struct hsnap_pool_layout *layout, uint64_t address)
{
	uint64_t value = 0;
	if (!layout->live_bytes)
		return true;
	const void *bytes = hsnap_target_view(work->target, address + layout->live_at, layout->live_bytes);
	if (!bytes)
		return false;
	memcpy(&value, bytes, layout->live_bytes); /* little endian, as all that is supported */
	return (value & layout->live_mask) == layout->live_value;
}

static bool is_layout(const struct hsnap_work *work, const struct hsnap_pool_layout *layout, uint64_t stride)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, layout->type);
	uint64_t bytes = layout->live_bytes;
	return dtype->kind == HSNAP_DTYPE_STRUCT && dtype->size && layout->first % 8 == 0 && stride && stride % 8 == 0 &&
	       (stride >= dtype->size || dtype->flags & HSNAP_DTYPE_FLEXIBLE) &&
	       (!bytes || ((bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) && bytes <= stride &&
			   layout->live_at <= stride - bytes));
}

bool hsnap_add_declared(struct hsnap_work *work, struct hsnap_slab *take_slab)
{
	bool is_new = false;
	uint32_t *known = hsnap_keymap_at(&work->declared_blocks, (struct hsnap_key){ take_slab->block, 0 }, &is_new);
	if (!known || !is_new || !hsnap_vec_push(&work->declared, *take_slab)) {
		slab_deinit(take_slab);
		return known && !is_new;
	}
	*known = true;
	return true;
}

bool hsnap_declare_pool(struct hsnap_work *work, uint32_t b, const struct hsnap_pool_layout *layout, bool *ret_fits)
{
	uint64_t room = hsnap_object_room(work, b), size = hsnap_dtype(work->symbols, layout->type)->size;
	uint64_t stride = layout->stride ? layout->stride : hsnap_pool_stride(size, 0), start = hsnap_object_start(work, b);
	bool fits = is_layout(work, layout, stride) && layout->first <= room && room - layout->first >= stride &&
		    (room - layout->first) / stride <= HSNAP_MAX_NODES;
	if (ret_fits)
		*ret_fits = fits;
	if (!fits)
		return true;
	struct hsnap_slab slab = { .block = b, .type = work->plans.same[layout->type], .first = layout->first, .stride = stride,
				   .evidence = HSNAP_EVIDENCE_USER, .num = (uint32_t)((room - layout->first) / stride) };
	slab.size = hsnap_dtype(work->symbols, layout->type)->flags & HSNAP_DTYPE_FLEXIBLE ? stride : size;
	slab.items = calloc(slab.num / 64 + 1, sizeof(*slab.items));
	for (uint32_t p = 0; p < slab.num && slab.items; p++)
		if (is_live(work, layout, start + slab.first + p * stride))
			hsnap_slab_add(&slab, p);
	return slab.items && hsnap_add_declared(work, &slab);
}

void hsnap_each_declared(struct hsnap_work *work, size_t *taken,
			 void (*add)(void *context, const struct hsnap_slab *slab, uint64_t address), void *context)
{
	for (; *taken < work->declared.num; ++*taken) {
		const struct hsnap_slab slab = work->declared.items[*taken];
		uint64_t start = hsnap_object_start(work, slab.block) + slab.first;
		for (uint32_t p = 0; p < slab.num; p++)
			if (hsnap_slab_has(&slab, p))
				add(context, &slab, start + p * slab.stride);
	}
}

const struct hsnap_slab *hsnap_slab_of(const struct hsnap_work *work, uint32_t b)
{
	if (!work->is_slab || !(work->is_slab[b / 64] >> b % 64 & 1))
		return NULL;
	return &work->slabs.items[hsnap_first(work->slabs.num, i, work->slabs.items[i].block >= b)];
}

uint32_t hsnap_slab_place(const struct hsnap_slab *slab, uint64_t offset)
{
	if (offset < slab->first)
		return UINT32_MAX;
	uint64_t place = (offset - slab->first) / slab->stride;
	if (place >= slab->num || (offset - slab->first) % slab->stride >= slab->size || !hsnap_slab_has(slab, place))
		return UINT32_MAX;
	return (uint32_t)place;
}

uint32_t hsnap_slab_item(const struct hsnap_slab *slab, uint32_t place)
{
	uint64_t before = slab->items[place / 64] & (((uint64_t)1 << place % 64) - 1);
	return slab->first_item + slab->ranks[place / 64] + (uint32_t)__builtin_popcountll(before);
}

static bool keep_items(struct hsnap_graph *graph, const struct hsnap_slab *slab)
{
	for (uint32_t word = 0; word <= slab->num / 64; word++)
		for (uint64_t bits = slab->items[word]; bits; bits &= bits - 1)
			if (!hsnap_vec_push(&graph->items, word * 64 + (uint32_t)__builtin_ctzll(bits)))
				return false;
	return true;
}

enum hsnap_code hsnap_keep_pools(struct hsnap_work *work, struct hsnap_convert *convert, struct hsnap_error *err)
{
	struct hsnap_graph *graph = &work->snapshot->graph;
	for (size_t i = 0; i < work->slabs.num; i++) {
		const struct hsnap_slab *slab = &work->slabs.items[i];
		struct hsnap_pool pool = { .node = hsnap_first_block(graph) + slab->block, .evidence = slab->evidence,
					   .type = hsnap_convert_type(convert, slab->type), .size = slab->size,
					   .header = (uint8_t)hsnap_header(work, slab->block), .first = slab->first,
					   .stride = slab->stride, .first_item = slab->first_item, .num_items = slab->num_items };
		if (!pool.type || !hsnap_vec_push(&graph->pools, pool) || !keep_items(graph, slab))
			return hsnap_no_memory(err);
	}
	return HSNAP_OK;
}
