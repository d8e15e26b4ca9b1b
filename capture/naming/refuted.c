/* SPDX-License-Identifier: MIT */
/*
 * refuted.c - a name that the block's own text or addresses speak against.
 *
 * A variable or a member may still hold the address of an object that was freed, and the block is somebody's text now.
 * Words that are no pointers refute nothing (docs/naming.md), nor does a pointer to bytes alone: any object is kept in a
 * `char *`.  Both together do, where the text stands in what holds none: at the start of the type is a number or a pointer.
 * Where nothing tells, neither such text nor the address of a block, it may be either, and has no name.
 * So do a block's address in place of a number, and somebody who has an array of such pointers there (waiting.c).
 */
#include "capture/naming/claims.h"
#include "capture/naming/walk.h"

#define SURE_TEXT 6 /* characters: seconds since 1970 look like four of them, and a small number behind like the fifth */
#define MAX_DEPTH 16
#define MAX_TEXT 64 /* characters that are looked at */

/* What stands at the very start of an object: a number or a pointer; NULL: something else, or more than one thing. */
static const struct hsnap_dtype *first_of(const struct hsnap_symbols *symbols, hsnap_dtype_id type)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	for (unsigned depth = 0; dtype->kind == HSNAP_DTYPE_STRUCT && dtype->num_members && depth < MAX_DEPTH; depth++) {
		const struct hsnap_dmember *member = &symbols->members.items[dtype->first_member];
		if (member->offset || member->flags & (HSNAP_DMEMBER_BITFIELD | HSNAP_DMEMBER_VIRTUAL))
			return NULL;
		dtype = hsnap_dtype(symbols, member->type);
	}
	return dtype->kind == HSNAP_DTYPE_POINTER || (dtype->kind == HSNAP_DTYPE_SCALAR && dtype->size >= 4) ? dtype : NULL;
}

/* Printed characters of ASCII at the block's start, up to a zero; 0: anything else comes before one. */
static unsigned text_at_start(const struct hsnap_work *work, uint32_t b)
{
	uint64_t start = hsnap_object_start(work, b), room = hsnap_object_room(work, b), word = 0;
	for (unsigned num = 0; num < MAX_TEXT && num < room; num++) {
		if (num % sizeof(word) == 0 && !hsnap_target_word(work->target, start + num, &word))
			return 0;
		uint8_t byte = (uint8_t)(word >> (8 * (num % sizeof(word))));
		if (!byte)
			return num;
		if ((byte < ' ' && byte != '\t' && byte != '\n' && byte != '\r') || byte > '~')
			return 0;
	}
	return MAX_TEXT;
}

/* One object, as pointers say and nothing stronger. */
static bool is_pointed_to(const struct hsnap_claim *claim)
{
	return claim->form == HSNAP_FORM_ONE && claim->evidence >= HSNAP_EVIDENCE_ALIAS && claim->evidence <= HSNAP_EVIDENCE_POINTER;
}

struct use {
	struct hsnap_work *work;
	uint32_t hint;
	bool used;
};

/* Is the block that it leads to called so? */
static void see_use(void *context, const struct hsnap_found *found)
{
	struct use *use = context;
	struct hsnap_work *work = use->work;
	uint32_t b = hsnap_block_at(work, found->value, &use->hint);
	use->used |= b != HSNAP_NO_BLOCK && (found->kind != HSNAP_SLOT_POINTER || (hsnap_is_telling(work, found->type) &&
			hsnap_starts_with(&work->plans, work->claims[b].type, hsnap_element_of(work->symbols, found->type))));
}

/* Do its own pointers bear out what it is called? */
static bool is_used(struct hsnap_work *work, uint32_t b)
{
	struct use use = { .work = work };
	struct hsnap_walk walk;
	hsnap_walk_init(&walk, work, see_use, &use);
	hsnap_walk_block(&walk, b);
	return use.used;
}

/* Does text stand where the type has none? */
static bool is_text(const struct hsnap_work *work, uint32_t b)
{
	const struct hsnap_dtype *first = first_of(work->symbols, work->claims[b].type);
	unsigned text = first ? text_at_start(work, b) : 0;
	uint64_t word;
	if (text < SURE_TEXT)
		return false;
	if (first->kind == HSNAP_DTYPE_POINTER)
		return hsnap_target_word(work->target, hsnap_object_start(work, b), &word) && !hsnap_target_mapping(work->target, word);
	return text != first->size; /* a magic number is a text, too */
}

enum hsnap_refuted hsnap_is_refuted(struct hsnap_work *work, uint32_t b)
{
	if (!(work->as_text[b / 64] >> b % 64 & 1) || !is_pointed_to(&work->claims[b]))
		return HSNAP_REFUTED_NOT;
	if (is_text(work, b))
		return HSNAP_REFUTED;
	return hsnap_holds_blocks(work, b) || is_used(work, b) ? HSNAP_REFUTED_NOT : HSNAP_REFUTED_MAYBE;
}

bool hsnap_may_be_array(const struct hsnap_work *work, uint32_t b)
{
	const struct hsnap_claim *claim = &work->claims[b];
	const struct hsnap_dtype *first = is_pointed_to(claim) ? first_of(work->symbols, claim->type) : NULL;
	uint32_t hint = 0;
	uint64_t word;
	return first && first->kind == HSNAP_DTYPE_SCALAR && hsnap_target_word(work->target, hsnap_object_start(work, b), &word) &&
	       hsnap_block_at(work, word, &hint) != HSNAP_NO_BLOCK;
}
