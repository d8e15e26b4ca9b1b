/* SPDX-License-Identifier: MIT */
/* pieces.c - objects of which a piece of a variable consists. */
#include "capture/naming/pieces.h"

#define MAX_DEPTH 32

static void see_object(struct hsnap_piece_search *search, hsnap_dtype_id type, uint64_t at, unsigned depth);

static void see_members(struct hsnap_piece_search *search, const struct hsnap_dtype *dtype, uint64_t at, unsigned depth)
{
	for (uint32_t i = 0; i < dtype->num_members && search->looks; i++) {
		const struct hsnap_dmember *member = &search->symbols->members.items[dtype->first_member + i];
		uint64_t there;
		search->looks--;
		if (!(member->flags & (HSNAP_DMEMBER_VIRTUAL | HSNAP_DMEMBER_BITFIELD)) &&
		    !__builtin_add_overflow(at, member->offset, &there))
			see_object(search, member->type, there, depth + 1);
	}
}

static void see_elements(struct hsnap_piece_search *search, const struct hsnap_dtype *dtype, uint64_t at, unsigned depth)
{
	uint64_t each = hsnap_dtype(search->symbols, dtype->target)->size;
	uint64_t first = each && search->from > at ? (search->from - at) / each : 0;
	for (uint64_t n = first; each && n < dtype->count && at + n * each < search->to && search->looks; n++) {
		search->looks--;
		see_object(search, dtype->target, at + n * each, depth + 1);
	}
}

static void see_object(struct hsnap_piece_search *search, hsnap_dtype_id type, uint64_t at, unsigned depth)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(search->symbols, type);
	uint64_t end;
	if (!dtype->size || __builtin_add_overflow(at, dtype->size, &end) || at >= search->to || end <= search->from)
		return;
	if (at >= search->from && end <= search->to)
		search->see(search->context, type, at);
	else if (dtype->kind == HSNAP_DTYPE_STRUCT && depth < MAX_DEPTH)
		see_members(search, dtype, at, depth);
	else if (dtype->kind == HSNAP_DTYPE_ARRAY && depth < MAX_DEPTH)
		see_elements(search, dtype, at, depth);
}

void hsnap_see_objects(struct hsnap_piece_search *search, hsnap_dtype_id type)
{
	see_object(search, type, 0, 0);
}
