/* SPDX-License-Identifier: MIT */
/* records.c - what each record of the file consists of. */
#include <stdlib.h>

#include "snapshot/base/search.h"
#include "snapshot/format/codec.h"
#include "snapshot/format/layout.h"

void hsnap_code_u64(struct hsnap_codec *codec, uint64_t *value)
{
	if (!codec->writing)
		*value = hsnap_bytes_varint(&codec->in);
	else if (!codec->gather)
		hsnap_buffer_varint(codec->out, *value);
}

void hsnap_code_u32(struct hsnap_codec *codec, uint32_t *value)
{
	uint64_t wide = *value;
	hsnap_code_u64(codec, &wide);
	if (wide > UINT32_MAX) {
		codec->in.bad = true;
		wide = 0;
	}
	*value = (uint32_t)wide;
}

void hsnap_code_u8(struct hsnap_codec *codec, uint8_t *value, uint8_t max)
{
	uint64_t wide = *value;
	hsnap_code_u64(codec, &wide);
	if (wide > max) {
		codec->in.bad = true;
		wide = 0;
	}
	*value = (uint8_t)wide;
}

void hsnap_code_bool(struct hsnap_codec *codec, bool *value)
{
	uint8_t byte = *value;
	hsnap_code_u8(codec, &byte, 1);
	*value = byte;
}

void hsnap_code_near(struct hsnap_codec *codec, uint64_t *value, uint64_t *last)
{
	uint64_t code = hsnap_zigzag((int64_t)(*value - *last));
	hsnap_code_u64(codec, &code);
	if (!codec->writing)
		*value = *last + (uint64_t)hsnap_unzigzag(code);
	*last = *value;
}

static hsnap_string mapped(const struct hsnap_string_map *map, hsnap_string from)
{
	size_t low = hsnap_first(map->num, i, map->items[i].from >= from);
	return low < map->num && map->items[low].from == from ? map->items[low].to : 0;
}

void hsnap_code_string(struct hsnap_codec *codec, hsnap_string *string)
{
	if (codec->writing && codec->gather) {
		if (*string && *string < codec->gather->num)
			codec->gather->bits[*string / 64] |= (uint64_t)1 << *string % 64;
		return;
	}
	uint64_t value = codec->writing ? mapped(codec->map, *string) : 0;
	if (codec->writing && !value) { /* "" apart, so that it does not break a run */
		hsnap_buffer_varint(codec->out, 0);
		return;
	}
	uint64_t code = codec->writing ? hsnap_zigzag((int64_t)(value - codec->last_string)) + 1 : 0;
	hsnap_code_u64(codec, &code);
	if (!codec->writing) {
		*string = 0;
		if (!code)
			return;
		value = codec->last_string + (uint64_t)hsnap_unzigzag(code - 1);
		if (value >= codec->num_strings) {
			codec->in.bad = true;
			return;
		}
		*string = (hsnap_string)value;
	}
	codec->last_string = value;
}

void hsnap_facts_code(struct hsnap_codec *codec, struct hsnap_facts *facts, struct hsnap_counts *counts)
{
	uint64_t *const numbers[] = {
		&facts->pid, &facts->start_time, &facts->taken_at, &facts->pause_ns, &facts->elapsed_ns,
		&facts->epoch_start, &facts->rss, &facts->swap, &facts->heap_bytes, &facts->heap_usable,
		&facts->heap_count, &facts->no_record, &facts->overruns, &facts->allocated_bytes,
		&facts->allocated_count, &facts->freed_bytes, &facts->freed_count,
	};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		hsnap_code_u64(codec, numbers[i]);
	for (int c = 0; c < HSNAP_NUM_CONFIDENCES; c++)
		hsnap_code_u64(codec, &facts->bytes_by_confidence[c]);
	hsnap_code_string(codec, &facts->comm);
	hsnap_code_string(codec, &facts->exe);
	hsnap_code_string(codec, &facts->source);
	hsnap_code_string(codec, &facts->freeze);
	hsnap_code_u8(codec, &facts->basis, HSNAP_BASIS_USABLE);
	hsnap_code_u32(codec, &facts->num_threads);
	hsnap_code_u32(codec, &facts->searched_modules);
	hsnap_code_u32(codec, &facts->searched_tls);
	hsnap_code_u64(codec, &counts->roots);
	hsnap_code_u64(codec, &counts->blocks);
	hsnap_code_u64(codec, &counts->edges);
	hsnap_code_u64(codec, &counts->reasons);
}

static void code_module(struct hsnap_codec *codec, struct hsnap_module *module)
{
	hsnap_code_string(codec, &module->path);
	hsnap_code_string(codec, &module->build_id);
	hsnap_code_u64(codec, &module->base);
	hsnap_code_bool(codec, &module->main);
	hsnap_code_bool(codec, &module->has_types);
}

static void code_type(struct hsnap_codec *codec, struct hsnap_type *type)
{
	hsnap_code_string(codec, &type->name);
	hsnap_code_string(codec, &type->full_name);
	hsnap_code_string(codec, &type->holder);
	hsnap_code_string(codec, &type->unit);
	hsnap_code_u32(codec, &type->line);
	hsnap_code_u32(codec, &type->module);
	hsnap_code_u8(codec, &type->kind, HSNAP_NUM_TYPE_KINDS - 1);
	hsnap_code_u64(codec, &type->size);
	hsnap_code_u32(codec, &type->element);
	/* Members usually follow those of the type before: a 0. */
	uint64_t first = type->num_members ? type->first_member : codec->last[0];
	hsnap_code_near(codec, &first, &codec->last[0]);
	hsnap_code_u32(codec, &type->num_members);
	codec->last[0] += type->num_members;
	codec->in.bad |= first > UINT32_MAX;
	type->first_member = type->num_members ? (uint32_t)first : 0;
}

static void code_member(struct hsnap_codec *codec, struct hsnap_member *member)
{
	hsnap_code_string(codec, &member->name);
	hsnap_code_near(codec, &member->offset, &codec->last[0]);
	hsnap_code_u32(codec, &member->type);
}

static void code_row(struct hsnap_codec *codec, struct hsnap_row *row)
{
	hsnap_code_u32(codec, &row->type);
	hsnap_code_u8(codec, &row->state, HSNAP_NUM_STATES - 1);
	hsnap_code_u64(codec, &row->count);
	hsnap_code_u64(codec, &row->bytes);
	hsnap_code_u64(codec, &row->usable);
	hsnap_code_u64(codec, &row->items);
	hsnap_code_u64(codec, &row->no_record);
	for (int c = 0; c < HSNAP_NUM_CONFIDENCES; c++)
		hsnap_code_u64(codec, &row->bytes_by_confidence[c]);
	hsnap_code_u64(codec, &row->sample);
}

static void code_item_row(struct hsnap_codec *codec, struct hsnap_item_row *row)
{
	hsnap_code_u32(codec, &row->pool);
	hsnap_code_u32(codec, &row->type);
	hsnap_code_u8(codec, &row->state, HSNAP_NUM_STATES - 1);
	hsnap_code_u8(codec, &row->confidence, HSNAP_NUM_CONFIDENCES - 1);
	hsnap_code_u64(codec, &row->count);
	hsnap_code_u64(codec, &row->bytes);
	hsnap_code_u64(codec, &row->sample);
}

/* What is not known is 0, all else is one more than it is. */
static void code_known(struct hsnap_codec *codec, uint64_t *value)
{
	uint64_t code = *value + 1;
	hsnap_code_u64(codec, &code);
	*value = code - 1;
}

static void code_account(struct hsnap_codec *codec, struct hsnap_account *account)
{
	uint64_t *const numbers[] = {
		&account->rss, &account->rss_anon, &account->rss_file, &account->rss_shmem, &account->swap, &account->huge,
		&account->cgroup_limit, &account->cgroup_use, &account->cgroup_swap,
	};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		code_known(codec, numbers[i]);
	hsnap_code_u64(codec, &account->heap_resident);
	hsnap_code_u64(codec, &account->live_resident);
	hsnap_code_u64(codec, &account->live_resident_usable);
	hsnap_code_u64(codec, &account->live_swapped);
	hsnap_code_u64(codec, &account->free);
	hsnap_code_u64(codec, &account->free_resident);
	hsnap_code_u64(codec, &account->free_count);
	hsnap_code_u64(codec, &account->biggest_free);
	account->known = true;
}

static void code_arena(struct hsnap_codec *codec, struct hsnap_account_arena *arena)
{
	hsnap_code_near(codec, &arena->address, &codec->last[0]);
	hsnap_code_u8(codec, &arena->kind, HSNAP_NUM_ARENA_KINDS - 1);
	hsnap_code_bool(codec, &arena->locked);
	hsnap_code_u64(codec, &arena->system);
	hsnap_code_u64(codec, &arena->walked);
	hsnap_code_u64(codec, &arena->free);
	hsnap_code_u64(codec, &arena->free_resident);
	hsnap_code_u64(codec, &arena->cached);
	hsnap_code_u64(codec, &arena->top);
	hsnap_code_u64(codec, &arena->biggest_free);
}

static void code_part(struct hsnap_codec *codec, struct hsnap_account_part *part)
{
	hsnap_code_u8(codec, &part->kind, HSNAP_NUM_PART_KINDS - 1);
	hsnap_code_string(codec, &part->name);
	hsnap_code_u64(codec, &part->count);
	hsnap_code_u64(codec, &part->size);
	hsnap_code_u64(codec, &part->resident);
}

static void code_stack(struct hsnap_codec *codec, struct hsnap_stack *stack)
{
	uint64_t first = stack->num_frames ? stack->first_frame : codec->last[0];
	hsnap_code_near(codec, &first, &codec->last[0]);
	hsnap_code_u32(codec, &stack->num_frames);
	codec->last[0] += stack->num_frames;
	codec->in.bad |= first > UINT32_MAX;
	stack->first_frame = stack->num_frames ? (uint32_t)first : 0;
	hsnap_code_u32(codec, &stack->decider);
	hsnap_code_string(codec, &stack->taker);
}

static void code_frame(struct hsnap_codec *codec, struct hsnap_frame *frame)
{
	hsnap_code_string(codec, &frame->function);
	hsnap_code_string(codec, &frame->source);
	hsnap_code_u32(codec, &frame->module);
	hsnap_code_near(codec, &frame->offset, &codec->last[0]);
}

static void code_grounds(struct hsnap_codec *codec, struct hsnap_grounds *grounds)
{
	uint64_t first = grounds->num_others ? grounds->first_other : codec->last[0];
	hsnap_code_u8(codec, &grounds->evidence, HSNAP_NUM_EVIDENCE - 1);
	hsnap_code_u8(codec, &grounds->conflicts, UINT8_MAX);
	hsnap_code_bool(codec, &grounds->more);
	hsnap_code_near(codec, &first, &codec->last[0]);
	hsnap_code_u32(codec, &grounds->num_others);
	hsnap_code_string(codec, &grounds->rule);
	codec->last[0] += grounds->num_others;
	codec->in.bad |= first > UINT32_MAX;
	grounds->first_other = grounds->num_others ? (uint32_t)first : 0;
}

static void code_other(struct hsnap_codec *codec, struct hsnap_other *other)
{
	hsnap_code_u32(codec, &other->type);
	hsnap_code_u8(codec, &other->evidence, HSNAP_NUM_EVIDENCE - 1);
	hsnap_code_u8(codec, &other->verdict, HSNAP_NUM_VERDICTS - 1);
}

static void code_pool(struct hsnap_codec *codec, struct hsnap_pool *pool)
{
	uint64_t node = pool->node;
	hsnap_code_near(codec, &node, &codec->last[0]);
	codec->in.bad |= node > UINT32_MAX;
	pool->node = (hsnap_node_id)node;
	hsnap_code_u32(codec, &pool->type);
	hsnap_code_u8(codec, &pool->evidence, HSNAP_NUM_EVIDENCE - 1);
	hsnap_code_u8(codec, &pool->header, UINT8_MAX);
	hsnap_code_u64(codec, &pool->first);
	hsnap_code_u64(codec, &pool->stride);
	hsnap_code_u64(codec, &pool->size);
	hsnap_code_u32(codec, &pool->num_items);
}

/* Of numbers that are often near the one before. */
static void code_number(struct hsnap_codec *codec, uint32_t *value)
{
	uint64_t wide = *value;
	hsnap_code_near(codec, &wide, &codec->last[0]);
	codec->in.bad |= wide > UINT32_MAX;
	*value = (uint32_t)wide;
}

static void code_root(struct hsnap_codec *codec, struct hsnap_root *root)
{
	hsnap_code_u8(codec, &root->kind, HSNAP_NUM_ROOT_KINDS - 1);
	hsnap_code_bool(codec, &root->weak);
	hsnap_code_string(codec, &root->name);
	hsnap_code_string(codec, &root->source);
	hsnap_code_string(codec, &root->function);
	hsnap_code_string(codec, &root->thread);
	hsnap_code_u32(codec, &root->module);
}

/* A copy is coded: writing must leave the snapshot alone. */
#define CODE(array, code_one) \
	do { \
		__typeof__(*(array)) copy = (array)[i]; \
		code_one(codec, &copy); \
		if (!codec->writing) \
			(array)[i] = copy; \
	} while (0)

/* Reasons for being partial come first, then the notes. */
static void code_note(struct hsnap_codec *codec, struct hsnap_snapshot *snapshot, size_t i)
{
	size_t reasons = snapshot->partial_reasons.num;
	if (i >= reasons) {
		i -= reasons;
		CODE(snapshot->notes.items, hsnap_code_string);
	} else {
		CODE(snapshot->partial_reasons.items, hsnap_code_string);
	}
}

void hsnap_record_code(struct hsnap_codec *codec, struct hsnap_snapshot *snapshot, unsigned section, size_t i)
{
	switch (section) {
	case HSNAP_SECTION_NOTES:
		code_note(codec, snapshot, i);
		break;
	case HSNAP_SECTION_MODULES:
		CODE(snapshot->modules.items, code_module);
		break;
	case HSNAP_SECTION_TYPES:
		CODE(snapshot->types.items, code_type);
		break;
	case HSNAP_SECTION_ROWS:
		CODE(snapshot->rows.items, code_row);
		break;
	case HSNAP_SECTION_ACCOUNT:
		CODE(&snapshot->account, code_account);
		break;
	case HSNAP_SECTION_ARENAS:
		CODE(snapshot->account_arenas.items, code_arena);
		break;
	case HSNAP_SECTION_PARTS:
		CODE(snapshot->account_parts.items, code_part);
		break;
	case HSNAP_SECTION_ITEM_ROWS:
		CODE(snapshot->item_rows.items, code_item_row);
		break;
	case HSNAP_SECTION_MEMBERS:
		CODE(snapshot->members.items, code_member);
		break;
	case HSNAP_SECTION_STACKS:
		CODE(snapshot->stacks.items, code_stack);
		break;
	case HSNAP_SECTION_FRAMES:
		CODE(snapshot->frames.items, code_frame);
		break;
	case HSNAP_SECTION_ROOTS:
		CODE(snapshot->graph.roots.items, code_root);
		break;
	case HSNAP_SECTION_GROUNDS:
		CODE(snapshot->grounds.items, code_grounds);
		break;
	case HSNAP_SECTION_OTHERS:
		CODE(snapshot->others.items, code_other);
		break;
	case HSNAP_SECTION_POOLS:
		CODE(snapshot->graph.pools.items, code_pool);
		break;
	case HSNAP_SECTION_ITEMS:
		CODE(snapshot->graph.items.items, code_number);
		break;
	case HSNAP_SECTION_EDGE_ITEMS:
		CODE(snapshot->graph.edge_items.items, code_number);
		break;
	}
}

size_t hsnap_records_num(const struct hsnap_snapshot *snapshot, unsigned section)
{
	switch (section) {
	case HSNAP_SECTION_NOTES:
		return snapshot->partial_reasons.num + snapshot->notes.num;
	case HSNAP_SECTION_MODULES:
		return snapshot->modules.num;
	case HSNAP_SECTION_TYPES:
		return snapshot->types.num;
	case HSNAP_SECTION_ROWS:
		return snapshot->rows.num;
	case HSNAP_SECTION_ACCOUNT:
		return snapshot->account.known;
	case HSNAP_SECTION_ARENAS:
		return snapshot->account_arenas.num;
	case HSNAP_SECTION_PARTS:
		return snapshot->account_parts.num;
	case HSNAP_SECTION_ITEM_ROWS:
		return snapshot->item_rows.num;
	case HSNAP_SECTION_MEMBERS:
		return snapshot->members.num;
	case HSNAP_SECTION_STACKS:
		return snapshot->stacks.num;
	case HSNAP_SECTION_FRAMES:
		return snapshot->frames.num;
	case HSNAP_SECTION_ROOTS:
		return snapshot->graph.roots.num;
	case HSNAP_SECTION_GROUNDS:
		return snapshot->grounds.num;
	case HSNAP_SECTION_OTHERS:
		return snapshot->others.num;
	case HSNAP_SECTION_POOLS:
		return snapshot->graph.pools.num;
	case HSNAP_SECTION_ITEMS:
		return snapshot->graph.items.num;
	case HSNAP_SECTION_EDGE_ITEMS:
		return snapshot->graph.edge_items.num;
	}
	return 0;
}

/* Zeroed items for an empty vector; `num` was checked against the file's bytes. */
#define ALLOC(vec, count) \
	((vec)->items = calloc((count) ? (count) : 1, sizeof(*(vec)->items)), \
	 (vec)->num = (vec)->capacity = (vec)->items ? (count) : 0, (vec)->items != NULL)

bool hsnap_records_alloc(struct hsnap_snapshot *snapshot, unsigned section, size_t num, size_t reasons)
{
	switch (section) {
	case HSNAP_SECTION_NOTES:
		return ALLOC(&snapshot->partial_reasons, reasons) && ALLOC(&snapshot->notes, num - reasons);
	case HSNAP_SECTION_MODULES:
		return ALLOC(&snapshot->modules, num);
	case HSNAP_SECTION_TYPES:
		return ALLOC(&snapshot->types, num);
	case HSNAP_SECTION_ROWS:
		return ALLOC(&snapshot->rows, num);
	case HSNAP_SECTION_ARENAS:
		return ALLOC(&snapshot->account_arenas, num);
	case HSNAP_SECTION_PARTS:
		return ALLOC(&snapshot->account_parts, num);
	case HSNAP_SECTION_ITEM_ROWS:
		return ALLOC(&snapshot->item_rows, num);
	case HSNAP_SECTION_MEMBERS:
		return ALLOC(&snapshot->members, num);
	case HSNAP_SECTION_STACKS:
		return ALLOC(&snapshot->stacks, num);
	case HSNAP_SECTION_FRAMES:
		return ALLOC(&snapshot->frames, num);
	case HSNAP_SECTION_ROOTS:
		return ALLOC(&snapshot->graph.roots, num);
	case HSNAP_SECTION_GROUNDS:
		return ALLOC(&snapshot->grounds, num);
	case HSNAP_SECTION_OTHERS:
		return ALLOC(&snapshot->others, num);
	case HSNAP_SECTION_POOLS:
		return ALLOC(&snapshot->graph.pools, num);
	case HSNAP_SECTION_ITEMS:
		return ALLOC(&snapshot->graph.items, num);
	case HSNAP_SECTION_EDGE_ITEMS:
		return ALLOC(&snapshot->graph.edge_items, num);
	}
	return true;
}

unsigned hsnap_record_min(unsigned section)
{
	static const uint8_t bytes[HSNAP_NUM_SECTIONS] = {
		[HSNAP_SECTION_NOTES] = 1,   [HSNAP_SECTION_MODULES] = 5, [HSNAP_SECTION_TYPES] = 11,
		[HSNAP_SECTION_ROWS] = 13,   [HSNAP_SECTION_MEMBERS] = 3, [HSNAP_SECTION_STACKS] = 4,
		[HSNAP_SECTION_FRAMES] = 4,  [HSNAP_SECTION_ROOTS] = 7,   [HSNAP_SECTION_ACCOUNT] = 17,
		[HSNAP_SECTION_ARENAS] = 10, [HSNAP_SECTION_PARTS] = 5,  [HSNAP_SECTION_ITEM_ROWS] = 7,
		[HSNAP_SECTION_GROUNDS] = 6, [HSNAP_SECTION_OTHERS] = 3,
		[HSNAP_SECTION_POOLS] = 8,   [HSNAP_SECTION_ITEMS] = 1,  [HSNAP_SECTION_EDGE_ITEMS] = 1,
	};
	return section < HSNAP_NUM_SECTIONS ? bytes[section] : 0;
}
