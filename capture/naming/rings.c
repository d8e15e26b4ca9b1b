/* SPDX-License-Identifier: MIT */
/* rings.c - which objects inside blocks are linked with their like. */
#include <stdlib.h>

#include "capture/naming/rings.h"
#include "snapshot/base/cleanup.h"

struct hsnap_link hsnap_link_of(struct hsnap_work *work, hsnap_dtype_id type)
{
	const struct hsnap_plan *plan = hsnap_plan_of(&work->plans, type);
	const uint32_t *same = work->plans.same;
	struct hsnap_link link = { 0 };
	unsigned num_like = 0, num_back = 0;
	for (uint32_t i = 0; i < plan->num && num_like < 3; i++) {
		const struct hsnap_slot *slot = &plan->slots[i];
		const struct hsnap_dtype *target = hsnap_dtype(work->symbols, slot->type);
		if (slot->kind != HSNAP_SLOT_POINTER || slot->offset % 8)
			continue;
		if (same[slot->type] == same[type])
			*(num_like++ ? &link.back : &link.next) = slot->offset;
		else if (target->kind == HSNAP_DTYPE_POINTER && same[target->target] == same[type] && !num_back++ && num_like < 2)
			link.back = slot->offset;
	}
	if (num_like == 2)
		link.kind = HSNAP_LINK_BOTH;
	else if (num_like == 1 && num_back == 1)
		link.kind = HSNAP_LINK_BACK;
	return link;
}

/* What is known of one type. */
struct kind {
	struct hsnap_link link;
	uint32_t all, nodes;
};

struct rings {
	struct hsnap_work *work;
	const struct hsnap_inners *inners;
	struct hsnap_rings *found;
	struct hsnap_window reader;
	struct hsnap_keymap known; /* {type, 0} → 1 + index into kinds */
	struct hsnap_vec(struct kind) kinds;
	uint32_t hint;
};

static void rings_deinit(struct rings *rings)
{
	hsnap_keymap_deinit(&rings->known);
	hsnap_vec_deinit(&rings->kinds);
}

static uint64_t word_at(struct rings *rings, uint64_t at)
{
	uint64_t word = 0;
	return hsnap_window_word(&rings->reader, at, &word) ? word : 0;
}

/* The end of a list that is no ring has a pointer to nowhere. */
static bool is_node(struct rings *rings, const struct hsnap_link *link, uint64_t at)
{
	uint64_t next = word_at(rings, at + link->next), back = word_at(rings, at + link->back);
	if (link->kind == HSNAP_LINK_BACK)
		return back && word_at(rings, back) == at && (!next || word_at(rings, next + link->back) == at + link->next);
	return (next || back) && next != at && (!next || word_at(rings, next + link->back) == at) &&
	       (!back || word_at(rings, back + link->next) == at);
}

static uint64_t address_of(const struct rings *rings, const struct hsnap_inner *inner)
{
	return hsnap_object_start(rings->work, inner->block) + inner->offset;
}

static struct kind *kind_of(struct rings *rings, hsnap_dtype_id type)
{
	bool is_new;
	uint32_t *known = hsnap_keymap_at(&rings->known, (struct hsnap_key){ type, 0 }, &is_new);
	if (!known)
		return NULL;
	if (is_new) {
		*known = (uint32_t)rings->kinds.num + 1;
		if (!hsnap_vec_push(&rings->kinds, (struct kind){ .link = hsnap_link_of(rings->work, type) }))
			return NULL;
	}
	return &rings->kinds.items[*known - 1];
}

static bool see_nodes(struct rings *rings)
{
	for (size_t i = 0; i < rings->inners->items.num; i++) {
		const struct hsnap_inner *inner = &rings->inners->items.items[i];
		struct kind *kind = kind_of(rings, inner->type);
		if (!kind)
			return false;
		kind->all++;
		if (!kind->link.kind || !is_node(rings, &kind->link, address_of(rings, inner)))
			continue;
		kind->nodes++;
		rings->found->state[i] = HSNAP_RING_NODE;
	}
	return true;
}

static uint32_t list_of(uint32_t *lists, uint32_t i)
{
	while (lists[i] != i)
		i = lists[i] = lists[lists[i]];
	return i;
}

static void join(struct rings *rings, uint32_t i, const struct hsnap_link *link)
{
	const struct hsnap_inner *inner = &rings->inners->items.items[i];
	uint64_t next = word_at(rings, address_of(rings, inner) + link->next);
	uint32_t *lists = rings->found->list, b = hsnap_block_index_find(&rings->work->index, next, &rings->hint);
	if (b == HSNAP_NO_BLOCK || next < hsnap_object_start(rings->work, b))
		return;
	uint32_t other = hsnap_inners_find(rings->inners, b, inner->type, next - hsnap_object_start(rings->work, b));
	if (other && rings->found->state[other - 1] == HSNAP_RING_NODE)
		lists[list_of(lists, other - 1)] = list_of(lists, i);
}

/* Types that are not linked like that (the two children of a tree's nodes) say nothing by it. */
static void judge(struct rings *rings)
{
	uint32_t num = (uint32_t)rings->inners->items.num;
	for (uint32_t i = 0; i < num; i++) {
		const struct kind *kind = kind_of(rings, rings->inners->items.items[i].type);
		bool linked = kind && kind->nodes && kind->nodes >= kind->all - kind->nodes;
		if (!linked)
			rings->found->state[i] = HSNAP_RING_NONE;
		else if (rings->found->state[i] != HSNAP_RING_NODE)
			rings->found->state[i] = HSNAP_RING_OFF;
		else
			join(rings, i, &kind->link);
	}
	for (uint32_t i = 0; i < num; i++)
		rings->found->list[i] = list_of(rings->found->list, i);
}

enum hsnap_code hsnap_find_rings(struct hsnap_work *work, const struct hsnap_inners *inners, struct hsnap_rings *ret,
				 struct hsnap_error *err)
{
	hsnap_auto(rings_deinit) struct rings rings = { .work = work, .inners = inners, .found = ret };
	size_t num = inners->items.num;
	*ret = (struct hsnap_rings){ .state = calloc(num + 1, sizeof(*ret->state)), .list = calloc(num + 1, sizeof(*ret->list)) };
	hsnap_window_init(&rings.reader, work->target);
	for (uint32_t i = 0; ret->list && i < num; i++)
		ret->list[i] = i;
	if (!ret->state || !ret->list || !see_nodes(&rings))
		return hsnap_no_memory(err);
	judge(&rings);
	return HSNAP_OK;
}

void hsnap_rings_deinit(struct hsnap_rings *rings)
{
	free(rings->state);
	free(rings->list);
}
