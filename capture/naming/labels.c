/* SPDX-License-Identifier: MIT */
/*
 * labels.c - the last step of naming: each block's claim becomes a type of the snapshot,
 * and what has no claim gets a truthful description.
 */
#include <stdlib.h>

#include "capture/naming/behind.h"
#include "capture/naming/claims.h"
#include "capture/naming/holders.h"
#include "capture/naming/keymap.h"
#include "capture/naming/pools.h"
#include "capture/naming/work.h"
#include "snapshot/base/cleanup.h"
#include "snapshot/base/pages.h"

#define MAX_DEPTH 4 /* arrays that hold arrays */

struct labels {
	struct hsnap_work *work;
	struct hsnap_convert convert;
	hsnap_string *sites;         /* "from parse_line"; one a stack, 0 = none */
	hsnap_string *holders;       /* "in DictNode.key"; one a holder */
	hsnap_string *pools;         /* "of pool sessions"; one a pool that the program names */
	hsnap_string *where;         /* one a block: of those, or "behind DictNode.value"; 0 = none */
	struct hsnap_keymap sizes;   /* {text, size} → seen */
	struct hsnap_keymap spread;  /* {text} → number of sizes */
	struct hsnap_keymap types;   /* what is told apart → type of the snapshot */
};

static void labels_deinit(struct labels *labels)
{
	hsnap_convert_deinit(&labels->convert);
	free(labels->sites);
	free(labels->holders);
	free(labels->pools);
	hsnap_pages_free(labels->where, labels->work->num_blocks, sizeof(*labels->where));
	hsnap_keymap_deinit(&labels->sizes);
	hsnap_keymap_deinit(&labels->spread);
	hsnap_keymap_deinit(&labels->types);
}

static hsnap_string site_text(struct hsnap_work *work, uint32_t stack)
{
	struct hsnap_snapshot *snapshot = work->snapshot;
	const struct hsnap_frame *frame = hsnap_label_frame(work, stack);
	if (!frame)
		return 0;
	if (frame->function)
		return hsnap_strings_addf(&snapshot->strings, "from %s", hsnap_text(snapshot, frame->function));
	const char *path = hsnap_text(snapshot, snapshot->modules.items[frame->module].path);
	if (!path[0])
		return hsnap_strings_addf(&snapshot->strings, "from 0x%llx", (unsigned long long)frame->offset);
	return hsnap_strings_addf(&snapshot->strings, "from %s+0x%llx", hsnap_last_part(path),
				  (unsigned long long)frame->offset);
}

static enum hsnap_code find_sites(struct labels *labels, struct hsnap_error *err)
{
	struct hsnap_snapshot *snapshot = labels->work->snapshot;
	labels->sites = calloc(snapshot->stacks.num, sizeof(*labels->sites));
	if (!labels->sites)
		return hsnap_no_memory(err);
	for (uint32_t i = 1; i < snapshot->stacks.num; i++) {
		labels->sites[i] = site_text(labels->work, i);
		if (labels->sites[i] == HSNAP_NO_STRING)
			return hsnap_no_memory(err);
	}
	return HSNAP_OK;
}

static enum hsnap_code find_holder_texts(struct labels *labels, struct hsnap_error *err)
{
	struct hsnap_work *work = labels->work;
	labels->holders = calloc(work->holders.num, sizeof(*labels->holders));
	if (!labels->holders)
		return hsnap_no_memory(err);
	for (uint32_t i = 1; i < work->holders.num; i++) {
		labels->holders[i] = hsnap_holder_text(work, &labels->convert, work->holders.items[i]);
		if (labels->holders[i] == HSNAP_NO_STRING)
			return hsnap_no_memory(err);
	}
	return HSNAP_OK;
}

static enum hsnap_code find_pool_texts(struct labels *labels, struct hsnap_error *err)
{
	const struct hsnap_heap *heap = labels->work->heap;
	struct hsnap_strings *strings = &labels->work->snapshot->strings;
	labels->pools = calloc(heap->pools.num + 1, sizeof(*labels->pools));
	if (!labels->pools)
		return hsnap_no_memory(err);
	for (size_t i = 0; i < heap->pools.num; i++) {
		const char *name = hsnap_str(&heap->texts, heap->pools.items[i]);
		labels->pools[i] = *name ? hsnap_strings_addf(strings, "of pool %s", name) : 0;
		if (labels->pools[i] == HSNAP_NO_STRING)
			return hsnap_no_memory(err);
	}
	return HSNAP_OK;
}

/* No type: a description is all there is. */
static bool is_label(const struct hsnap_claim *claim)
{
	return !claim->type;
}

/* The pool that the block is called by; NULL: it is none, or has a better name. */
static const struct hsnap_slab *pool_of(const struct labels *labels, uint32_t b)
{
	const struct hsnap_claim *claim = &labels->work->claims[b];
	bool bytes = claim->form == HSNAP_FORM_BYTES && claim->evidence < HSNAP_EVIDENCE_CONTAINER;
	return !claim->type || bytes ? hsnap_slab_of(labels->work, b) : NULL;
}

/* The program's own pool, of what is an object of one; else 0. */
static hsnap_string pool_text(const struct labels *labels, uint32_t b)
{
	const struct hsnap_heap *heap = labels->work->heap;
	return heap->pool_of && is_label(&labels->work->claims[b]) ? labels->pools[heap->pool_of[b]] : 0;
}

/* "of pool sessions", else "in DictNode.key", else "from parse_line", else "". */
static hsnap_string where_text(const struct labels *labels, uint32_t b)
{
	const struct hsnap_work *work = labels->work;
	const struct hsnap_block *block = &work->heap->blocks.items[b];
	hsnap_string pool = pool_text(labels, b);
	if (pool)
		return pool;
	hsnap_string holder = labels->holders[work->claims[b].holder];
	if (holder)
		return holder;
	return block->stack < work->snapshot->stacks.num ? labels->sites[block->stack] : 0;
}

/* Where each block is, and where those hang that have no such place. */
static enum hsnap_code find_places(struct labels *labels, struct hsnap_error *err)
{
	struct hsnap_work *work = labels->work;
	labels->where = hsnap_pages_alloc(work->num_blocks, sizeof(*labels->where));
	if (!labels->where)
		return hsnap_no_memory(err);
	for (uint32_t b = 0; b < work->num_blocks; b++)
		if (is_label(&work->claims[b]) || work->claims[b].form == HSNAP_FORM_BYTES)
			labels->where[b] = where_text(labels, b);
	return hsnap_find_behind(work, &labels->convert, labels->where, err);
}

/* The module of that place. */
static uint32_t where_module(const struct labels *labels, uint32_t b)
{
	const struct hsnap_work *work = labels->work;
	const struct hsnap_holder *holder = &work->holders.items[work->claims[b].holder];
	for (unsigned depth = 0; depth < MAX_DEPTH && holder->kind == HSNAP_HOLDER_ELEMENT; depth++) {
		const struct hsnap_claim *array = &work->claims[holder->a];
		if (!array->holder)
			return hsnap_dtype(work->symbols, array->type)->module;
		holder = &work->holders.items[array->holder];
	}
	if (holder->kind == HSNAP_HOLDER_MEMBER)
		return hsnap_dtype(work->symbols, holder->a)->module;
	if (holder->kind == HSNAP_HOLDER_VARIABLE)
		return work->segments.items[holder->a].root.module;
	uint32_t stack = work->heap->blocks.items[b].stack;
	const struct hsnap_frame *frame = stack < work->snapshot->stacks.num ? hsnap_label_frame(work, stack) : NULL;
	return frame ? frame->module : HSNAP_NO_MODULE;
}

/* How many sizes does each place have?  Nothing but its size tells the leak without a place. */
static bool count_sizes(struct labels *labels)
{
	const struct hsnap_work *work = labels->work;
	for (uint32_t b = 0; b < work->num_blocks; b++) {
		if (!is_label(&work->claims[b]) || pool_of(labels, b))
			continue;
		bool is_new;
		hsnap_string where = labels->where[b];
		uint64_t size = hsnap_block_size(&work->heap->blocks.items[b]);
		if (!where && size <= HSNAP_LABEL_SMALL)
			continue;
		if (!hsnap_keymap_at(&labels->sizes, (struct hsnap_key){ where, size }, &is_new))
			return false;
		if (!is_new)
			continue;
		uint32_t *spread = hsnap_keymap_at(&labels->spread, (struct hsnap_key){ where, 0 }, &is_new);
		if (!spread)
			return false;
		++*spread;
	}
	return true;
}

static uint32_t add_label(struct labels *labels, hsnap_string where, uint64_t size)
{
	struct hsnap_snapshot *snapshot = labels->work->snapshot;
	struct hsnap_type type = { .holder = where, .kind = HSNAP_TYPE_LABEL };
	type.name = size == UINT64_MAX ? hsnap_strings_add(&snapshot->strings, HSNAP_LABEL_ANY_SIZE)
				       : hsnap_strings_addf(&snapshot->strings, "%llu " HSNAP_LABEL_ANY_SIZE,
							  (unsigned long long)size);
	type.full_name = type.name;
	if (type.name == HSNAP_NO_STRING || !hsnap_vec_push(&snapshot->types, type))
		return HSNAP_NO_TYPE;
	return (uint32_t)snapshot->types.num - 1;
}

/* "pool of Item in Slab.page": its size has no say, since pages of one pool may have several. */
static uint32_t add_pool(struct labels *labels, hsnap_string where, hsnap_dtype_id item)
{
	struct hsnap_snapshot *snapshot = labels->work->snapshot;
	struct hsnap_type type = { .holder = where, .kind = HSNAP_TYPE_LABEL };
	type.element = hsnap_convert_type(&labels->convert, item);
	if (!type.element)
		return HSNAP_NO_TYPE;
	const struct hsnap_type *of = &snapshot->types.items[type.element];
	type.name = hsnap_strings_addf(&snapshot->strings, "pool of %s", hsnap_text(snapshot, of->name));
	type.full_name = hsnap_strings_addf(&snapshot->strings, "pool of %s", hsnap_text(snapshot, of->full_name));
	if (type.name == HSNAP_NO_STRING || type.full_name == HSNAP_NO_STRING || !hsnap_vec_push(&snapshot->types, type))
		return HSNAP_NO_TYPE;
	return (uint32_t)snapshot->types.num - 1;
}

static bool set_pool(struct labels *labels, uint32_t b, hsnap_dtype_id item, hsnap_type_id *ret)
{
	bool is_new;
	struct hsnap_key key = { (uint64_t)1 << 63 | item, labels->where[b] };
	uint32_t *type = hsnap_keymap_at(&labels->types, key, &is_new);
	if (type && is_new)
		*type = add_pool(labels, labels->where[b], item);
	*ret = type ? *type : HSNAP_NO_TYPE;
	return *ret;
}

/* The type of a key, made by one of the others on first use; HSNAP_NO_TYPE: out of memory. */
static hsnap_type_id type_of_key(struct labels *labels, uint32_t b, hsnap_string where, uint64_t size)
{
	const struct hsnap_claim *claim = &labels->work->claims[b];
	bool is_new;
	struct hsnap_key key = { (uint64_t)claim->form << 32 | claim->type, where };
	if (!claim->type)
		key = (struct hsnap_key){ (uint64_t)where << 8, size };
	uint32_t *type = hsnap_keymap_at(&labels->types, key, &is_new);
	if (!type)
		return HSNAP_NO_TYPE;
	if (!is_new)
		return *type;
	if (!claim->type)
		*type = add_label(labels, where, size);
	else if (claim->form == HSNAP_FORM_ONE)
		*type = hsnap_convert_type(&labels->convert, claim->type);
	else
		*type = hsnap_convert_run(&labels->convert, claim->type, where);
	struct hsnap_snapshot *snapshot = labels->work->snapshot;
	if (*type && claim->form == HSNAP_FORM_BYTES) {
		uint32_t module = where_module(labels, b);
		snapshot->types.items[*type].module = module < snapshot->modules.num ? module : HSNAP_NO_MODULE;
	}
	return *type;
}

static bool set_label(struct labels *labels, uint32_t b, hsnap_type_id *ret)
{
	hsnap_string where = labels->where[b];
	uint64_t size = hsnap_block_size(&labels->work->heap->blocks.items[b]);
	if ((where || size > HSNAP_LABEL_SMALL) &&
	    hsnap_keymap_get(&labels->spread, (struct hsnap_key){ where, 0 }) > HSNAP_LABEL_MAX_SIZES)
		size = UINT64_MAX;
	*ret = type_of_key(labels, b, where, size);
	return *ret;
}

static bool set_type(struct labels *labels, uint32_t b, hsnap_type_id *ret)
{
	const struct hsnap_claim *claim = &labels->work->claims[b];
	const struct hsnap_slab *slab = pool_of(labels, b);
	if (slab)
		return set_pool(labels, b, slab->type, ret);
	if (is_label(claim))
		return set_label(labels, b, ret);
	*ret = type_of_key(labels, b, claim->form == HSNAP_FORM_BYTES ? labels->where[b] : 0, 0);
	return *ret;
}

/* A size is no label yet. */
static enum hsnap_confidence confidence_of(const struct labels *labels, uint32_t b)
{
	const struct hsnap_claim *claim = &labels->work->claims[b];
	if (pool_of(labels, b))
		return HSNAP_LABEL;
	if (!claim->type)
		return labels->where[b] ? HSNAP_LABEL : HSNAP_UNKNOWN;
	return hsnap_claim_confidence(claim);
}

static void set_root_types(struct labels *labels)
{
	const struct hsnap_work *work = labels->work;
	struct hsnap_graph *graph = &work->snapshot->graph;
	for (uint32_t r = 0; r < graph->num_roots; r++)
		if (work->segments.items[r].type)
			graph->type[1 + r] = hsnap_convert_type(&labels->convert, hsnap_segment_whole(&work->segments.items[r]));
}

enum hsnap_code hsnap_assign_types(struct hsnap_work *work, struct hsnap_error *err)
{
	hsnap_auto(labels_deinit) struct labels labels = { .work = work };
	if (!hsnap_convert_init(&labels.convert, work->symbols, work->snapshot))
		return hsnap_no_memory(err);
	enum hsnap_code code = find_sites(&labels, err);
	if (!code)
		code = find_holder_texts(&labels, err);
	if (!code)
		code = find_pool_texts(&labels, err);
	if (!code)
		code = find_places(&labels, err);
	if (code)
		return code;
	if (!count_sizes(&labels))
		return hsnap_no_memory(err);
	struct hsnap_graph *graph = &work->snapshot->graph;
	for (uint32_t b = 0; b < work->num_blocks; b++) {
		hsnap_node_id node = hsnap_first_block(graph) + b;
		if (!set_type(&labels, b, &graph->type[node]))
			return hsnap_no_memory(err);
		graph->flags[node] |= (uint8_t)confidence_of(&labels, b);
	}
	set_root_types(&labels);
	code = hsnap_keep_pools(work, &labels.convert, err);
	if (!code)
		code = hsnap_keep_grounds(work, &labels.convert, err);
	return !code && labels.convert.failed ? hsnap_no_memory(err) : code;
}
