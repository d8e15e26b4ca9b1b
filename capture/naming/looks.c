/* SPDX-License-Identifier: MIT */
/* looks.c - objects and text, as they stand in memory. */
#include "capture/naming/looks.h"

#include <stdlib.h>

#include "capture/naming/claims.h"
#include "capture/naming/walk.h"

#define MAX_DEPTH 16
#define MAX_NUMBERS 64 /* words of a type that are checked */
#define FEW_BYTES 32   /* of an object within a block: smaller ones are links */
#define MAX_BEHIND 8   /* times an object's size that its block may have: text behind it, say */
#define MAX_TEXT 4096u /* bytes of it that are looked at */

bool hsnap_looks_init(struct hsnap_looks *looks, struct hsnap_work *work)
{
	looks->work = work;
	hsnap_window_init(&looks->reader, work->target);
	looks->numbers = calloc(work->symbols->types.num, sizeof(*looks->numbers));
	return looks->numbers != NULL;
}

void hsnap_looks_deinit(struct hsnap_looks *looks)
{
	for (size_t i = 0; looks->numbers && i < looks->work->symbols->types.num; i++)
		free(looks->numbers[i].words);
	free(looks->numbers);
}

bool hsnap_is_landed(const struct hsnap_work *work, uint32_t b)
{
	return work->claims[b].evidence >= HSNAP_EVIDENCE_LANDING;
}

/* --- objects --- */

struct number_list hsnap_vec_body(uint32_t);

/* Halves of words that are numbers: a word is one if both are. */
static void list_numbers(struct hsnap_looks *looks, hsnap_dtype_id type, uint64_t offset, unsigned depth,
			 struct number_list *list)
{
	const struct hsnap_symbols *symbols = looks->work->symbols;
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	if (dtype->kind == HSNAP_DTYPE_SCALAR && (dtype->size == 4 || dtype->size == 8) && offset < UINT32_MAX / 2) {
		for (uint64_t at = offset; at < offset + dtype->size && list->num < 2 * MAX_NUMBERS; at += 4)
			looks->failed |= !hsnap_vec_push(list, (uint32_t)at);
	} else if (dtype->kind == HSNAP_DTYPE_STRUCT && depth < MAX_DEPTH) {
		for (uint32_t m = 0; m < dtype->num_members && list->num < 2 * MAX_NUMBERS; m++) {
			const struct hsnap_dmember *member = &symbols->members.items[dtype->first_member + m];
			if (!(member->flags & (HSNAP_DMEMBER_BITFIELD | HSNAP_DMEMBER_VIRTUAL)) && member->offset < dtype->size)
				list_numbers(looks, member->type, offset + member->offset, depth + 1, list);
		}
	}
}

static const struct hsnap_numbers *numbers_of(struct hsnap_looks *looks, hsnap_dtype_id type)
{
	struct hsnap_numbers *numbers = &looks->numbers[type];
	if (numbers->made)
		return numbers;
	struct number_list list = { 0 };
	uint32_t kept = 0;
	list_numbers(looks, type, 0, 0, &list);
	for (size_t i = 0; i + 1 < list.num; i++)
		if (list.items[i] % 8 == 0 && list.items[i + 1] == list.items[i] + 4)
			list.items[kept++] = list.items[i];
	*numbers = (struct hsnap_numbers){ list.items, kept, true };
	return numbers;
}

bool hsnap_numbers_hold_blocks(struct hsnap_looks *looks, hsnap_dtype_id type, uint64_t address)
{
	const struct hsnap_numbers *numbers = numbers_of(looks, type);
	uint32_t hint = 0;
	uint64_t word;
	for (uint32_t i = 0; i < numbers->num; i++)
		if (hsnap_window_word(&looks->reader, address + numbers->words[i], &word) &&
		    hsnap_block_at(looks->work, word, &hint) != HSNAP_NO_BLOCK)
			return true;
	return false;
}

struct look {
	struct hsnap_looks *looks;
	uint32_t hint;
	bool misfit, used;
};

static void see_pointer(void *context, const struct hsnap_found *found)
{
	struct look *look = context;
	struct hsnap_work *work = look->looks->work;
	if (found->kind != HSNAP_SLOT_POINTER) { /* a container's, which has been looked at by its own rules */
		look->used |= hsnap_block_index_find(&work->index, found->value, &look->hint) != HSNAP_NO_BLOCK;
		return;
	}
	bool function = hsnap_dtype(work->symbols, found->type)->kind == HSNAP_DTYPE_FUNCTION;
	if (found->type && !function && hsnap_is_only_code(work, found->value))
		look->misfit = true;
	else if (hsnap_may_point(work, found->value, found->type, &look->hint))
		look->used = true;
	else if (hsnap_is_telling(work, found->type))
		look->misfit = true; /* others may be numbers in disguise */
}

/* Can an object of the type be there, by what it holds?  A number of it is never a block's very address. */
static bool looks_like(struct hsnap_looks *looks, const struct hsnap_void_target *target, hsnap_dtype_id type,
		       bool *ret_used)
{
	struct hsnap_work *work = looks->work;
	const struct hsnap_dtype *dtype = hsnap_dtype(work->symbols, type);
	struct look look = { .looks = looks };
	struct hsnap_walk walk;
	uint64_t start = hsnap_object_start(work, target->block), size = hsnap_object_room(work, target->block);
	uint64_t offset = target->address - start;
	size = target->address >= start && offset < size ? size - offset : 0;
	if (!dtype->size || dtype->size > size || size / MAX_BEHIND > dtype->size || target->address % 8)
		return false;
	hsnap_walk_init(&walk, work, see_pointer, &look);
	hsnap_walk_object(&walk, type, target->address, target->address + dtype->size);
	look.misfit = look.misfit || hsnap_numbers_hold_blocks(looks, type, target->address);
	*ret_used = look.used;
	return !look.misfit;
}

enum hsnap_suits hsnap_suits_target(struct hsnap_looks *looks, const struct hsnap_void_target *target, hsnap_dtype_id type,
				    bool *ret_used)
{
	struct hsnap_work *work = looks->work;
	const struct hsnap_claim *claim = &work->claims[target->block];
	bool named_so = target->at_start && claim->form == HSNAP_FORM_ONE && claim->type == type;
	*ret_used = false;
	if ((hsnap_is_landed(work, target->block) && !named_so) || !looks_like(looks, target, type, ret_used))
		return HSNAP_SUITS_NOT;
	if (!target->at_start)
		return hsnap_dtype(work->symbols, type)->size >= FEW_BYTES ? HSNAP_SUITS_LARGER : HSNAP_SUITS_NOT;
	return hsnap_fit(work, target->block, type) == HSNAP_FORM_ONE ? HSNAP_SUITS_EXACT : HSNAP_SUITS_LARGER;
}

/* --- text --- */

bool hsnap_must_be_bytes(const struct hsnap_work *work, const struct hsnap_void_member *member,
			 const struct hsnap_void_target *target)
{
	uint64_t header = target->address - hsnap_object_start(work, target->block);
	if (!member->bytes)
		return false;
	/* A declared pointer to a start needs no more than the declaration. */
	return target->at_start ? !member->num && !member->declared : target->address % 2 && header < sizeof(uint64_t);
}

/* How many bytes one character of UTF-8 has; 0: none that is printed. */
static size_t length_of_character(const uint8_t *at, size_t left)
{
	size_t length = *at < 0x80 ? 1 : *at >= 0xc2 && *at < 0xe0 ? 2 : *at >= 0xe0 && *at < 0xf0 ? 3
			: *at >= 0xf0 && *at < 0xf5 ? 4 : 0;
	if (length == 1)
		return (*at >= ' ' && *at != 0x7f) || *at == '\t' || *at == '\n' || *at == '\r';
	if (length > left)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

enum hsnap_text hsnap_text_at(struct hsnap_looks *looks, const struct hsnap_void_target *target)
{
	const struct hsnap_work *work = looks->work;
	uint64_t end = hsnap_object_start(work, target->block) + hsnap_object_room(work, target->block);
	size_t len, used = 0, step;
	const uint8_t *text = target->address < end ? hsnap_window_piece(&looks->reader, target->address, end, &len) : NULL;
	if (!text)
		return HSNAP_TEXT_NONE;
	bool whole = len == end - target->address && len <= MAX_TEXT;
	len = len < MAX_TEXT ? len : MAX_TEXT;
	while (used < len && text[used] && (step = length_of_character(text + used, len - used)))
		used += step;
	/* The number that a pointer leads into ends with its word. */
	bool is_long = used && target->address / 8 != (target->address + used - 1) / 8;
	while (used && used < len && !text[used])
		used++;
	if (!used || len - used >= (whole ? hsnap_most_rest(work, target->block) : 1))
		return HSNAP_TEXT_NONE;
	return is_long ? HSNAP_TEXT_LONG : HSNAP_TEXT_SHORT;
}
