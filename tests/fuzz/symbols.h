/* SPDX-License-Identifier: MIT */
/* symbols.h - what holds of symbols that the parent has taken over from its child, whatever that said. */
#ifndef HSNAP_TESTS_FUZZ_SYMBOLS_H
#define HSNAP_TESTS_FUZZ_SYMBOLS_H

#include <stdlib.h>

#include "capture/symbols/symbols.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

static inline struct hsnap_symbols *empty_symbols(void)
{
	struct hsnap_symbols *symbols = calloc(1, sizeof(*symbols));
	require(symbols);
	return symbols;
}

static inline void check_symbols(const struct hsnap_symbols *s)
{
	for (size_t i = 0; i < s->types.num; i++) {
		const struct hsnap_dtype *t = &s->types.items[i];
		require(t->target < s->types.num && t->kind < HSNAP_NUM_DTYPE_KINDS);
		require(!t->num_members || (size_t)t->first_member + t->num_members <= s->members.num);
		require(!t->num_arguments || (size_t)t->first_argument + t->num_arguments <= s->arguments.num);
	}
	for (size_t i = 0; i < s->members.num; i++)
		require(s->members.items[i].type < s->types.num);
	for (size_t i = 0; i < s->variables.num; i++)
		require(s->variables.items[i].type < s->types.num &&
			(size_t)s->variables.items[i].first_piece + s->variables.items[i].num_pieces <= s->pieces.num);
	for (size_t i = 0; i < s->aliases.num; i++)
		require(s->aliases.items[i].opaque < s->types.num && s->aliases.items[i].type < s->types.num);
	for (size_t i = 0; i < s->landings.num; i++)
		require(s->landings.items[i].holder < s->types.num && s->landings.items[i].type < s->types.num);
	for (size_t i = 0; i < s->pcs.num; i++) {
		const struct hsnap_dpc *pc = &s->pcs.items[i];
		require(!pc->num_frames || (size_t)pc->first_frame + pc->num_frames <= s->frames.num);
		require(!pc->num_locals || (size_t)pc->first_local + pc->num_locals <= s->locals.num);
		require(!pc->num_results || (size_t)pc->first_result + pc->num_results <= s->results.num);
	}
}

#endif
