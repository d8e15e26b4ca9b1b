/* SPDX-License-Identifier: MIT */
/*
 * labels.c - the last step of naming: each block's claim becomes a type of the snapshot,
 * and what has no claim gets a truthful description.
 */
#include <stdlib.h>

#include "capture/naming/keymap.h"
#include "capture/naming/work.h"
#include "snapshot/base/cleanup.h"

/* A holder or site with more sizes than this has one row, without the size. */
#define MAX_SIZES 16

struct labels {
	struct hsnap_work *work;
	hsnap_string *sites;         /* "from parse_line"; one a stack, 0 = none */
	struct hsnap_keymap sizes;   /* {text, size} → seen */
	struct hsnap_keymap spread;  /* {text} → number of sizes */
	struct hsnap_keymap types;   /* what is told apart → type of the snapshot */
};

static void labels_deinit(struct labels *labels)
{
	free(labels->sites);
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
	return hsnap_strings_addf(&snapshot->strings, "from %s+0x%llx", hsnap_base_name(path),
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

static bool is_label(const struct hsnap_claim *claim)
{
	return !claim->type;
}

/* "in DictNode.key", else "from parse_line", else "". */
static hsnap_string where_text(const struct labels *labels, uint32_t b)
{
	const struct hsnap_work *work = labels->work;
	const struct hsnap_block *block = &work->heap->blocks.items[b];
	return block->stack < work->snapshot->stacks.num ? labels->sites[block->stack] : 0;
}

/* How many sizes does each place have? */
static bool count_sizes(struct labels *labels)
{
	const struct hsnap_work *work = labels->work;
	for (uint32_t b = 0; b < work->num_blocks; b++) {
		if (!is_label(&work->claims[b]))
			continue;
		bool is_new;
		hsnap_string where = where_text(labels, b);
		uint64_t size = work->heap->blocks.items[b].requested;
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

static bool add_label(struct labels *labels, hsnap_string where, uint64_t size, bool sized, uint32_t *ret)
{
	struct hsnap_snapshot *snapshot = labels->work->snapshot;
	struct hsnap_type type = { .holder = where, .kind = HSNAP_TYPE_LABEL };
	type.name = sized ? hsnap_strings_addf(&snapshot->strings, "%llu bytes", (unsigned long long)size)
			  : hsnap_strings_add(&snapshot->strings, "bytes");
	type.full_name = type.name;
	*ret = (uint32_t)snapshot->types.num;
	return type.name != HSNAP_NO_STRING && hsnap_vec_push(&snapshot->types, type);
}

static bool label_type(struct labels *labels, uint32_t b, uint32_t *ret)
{
	hsnap_string where = where_text(labels, b);
	*ret = HSNAP_NO_TYPE;
	if (!where)
		return true;
	uint64_t size = labels->work->heap->blocks.items[b].requested;
	bool sized = hsnap_keymap_get(&labels->spread, (struct hsnap_key){ where, 0 }) <= MAX_SIZES, is_new;
	if (!sized)
		size = 0;
	struct hsnap_key key = { (uint64_t)where << 8 | HSNAP_FORM_NONE, size };
	uint32_t *type = hsnap_keymap_at(&labels->types, key, &is_new);
	if (!type || (is_new && !add_label(labels, where, size, sized, type)))
		return false;
	*ret = *type;
	return true;
}

enum hsnap_code hsnap_assign_types(struct hsnap_work *work, struct hsnap_error *err)
{
	hsnap_auto(labels_deinit) struct labels labels = { .work = work };
	enum hsnap_code code = find_sites(&labels, err);
	if (code)
		return code;
	if (!count_sizes(&labels))
		return hsnap_no_memory(err);
	struct hsnap_graph *graph = &work->snapshot->graph;
	for (uint32_t b = 0; b < work->num_blocks; b++) {
		hsnap_node_id node = hsnap_first_block(graph) + b;
		if (!label_type(&labels, b, &graph->type[node]))
			return hsnap_no_memory(err);
		graph->flags[node] |= graph->type[node] ? HSNAP_LABEL : HSNAP_UNKNOWN;
	}
	return HSNAP_OK;
}
