/* SPDX-License-Identifier: MIT */
/*
 * test_pieces.c - variables that an optimiser took apart: pieces.S has them in every way, and clang makes some of its own
 * accord.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/capture/symbols/support.h"

#define MOST 3

static struct hsnap_symbols *load(const char *program)
{
	struct hsnap_target *target = files_target();
	struct hsnap_symbols *s;
	struct hsnap_error err;
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", HSNAP_TEST_PROGRAMS, program);
	files_add(target, path, BIAS);
	cr_assert_eq(hsnap_symbols_load(target, NULL, 0, &s, &err), HSNAP_OK, "%s", err.message);
	cr_assert(s->modules.items[1].has_types, "%s: %s", program, hsnap_str(&s->strings, s->modules.items[1].note));
	hsnap_target_close(target);
	return s;
}

/* Of the variable: where each piece is, from `base` on. */
struct want {
	const char *name;
	unsigned num;
	struct hsnap_dpiece pieces[MOST];
};

static void expect_pieces(const struct hsnap_symbols *s, const struct want *want, uint64_t base)
{
	const struct hsnap_dvariable *v = variable_named(s, want->name);
	cr_assert(v, "no variable %s", want->name);
	cr_expect_str_eq(written(s, v->type), "table", "%s", want->name);
	cr_expect_eq(v->num_pieces, want->num, "%s has %u pieces", want->name, v->num_pieces);
	cr_assert_leq((size_t)v->first_piece + v->num_pieces, s->pieces.num);
	for (unsigned i = 0; i < v->num_pieces && i < want->num && i < MOST; i++) {
		const struct hsnap_dpiece *got = &s->pieces.items[v->first_piece + i], *piece = &want->pieces[i];
		cr_expect_eq(got->offset, piece->offset, "%s, piece %u is at %lu", want->name, i, (unsigned long)got->offset);
		cr_expect_eq(got->size, piece->size, "%s, piece %u has %lu bytes", want->name, i, (unsigned long)got->size);
		cr_expect_eq(got->address, (v->thread_local_ ? 0 : base) + piece->address, "%s, piece %u lies %ld from there", want->name, i,
			     (long)(got->address - base));
	}
	if (want->num)
		cr_expect_eq(v->address, s->pieces.items[v->first_piece].address, "%s", want->name);
}

Test(pieces, as_their_debug_info_has_them)
{
	static const struct want want[] = {
		{ "two", 2, { { 0, 8, 8 }, { 8, 8, 0 } } },
		{ "gap", 1, { { 16, 8, 16 } } },
		{ "constant", 1, { { 8, 16, 24 } } },
		{ "numbered", 2, { { 0, 8, 80 }, { 8, 8, 96 } } },
		{ "no_number", 1, { { 0, 8, 80 } } },
		{ "shrunk", 2, { { 0, 8, 0 }, { 16, 8, 32 } } },
		{ "moved", 1, { { 0, 8, 40 } } },
		{ "per_thread", 2, { { 0, 8, 8 }, { 8, 8, 24 } } },
		{ "mixed", 1, { { 0, 8, 8 } } },
		{ "bare_number", 1, { { 8, 8, 8 } } },
		{ "thrown_away", 1, { { 8, 8, 48 } } },
		{ "whole_bytes", 2, { { 0, 8, 0 }, { 8, 8, 8 } } },
		{ "half_bytes", 1, { { 0, 8, 0 } } },
		{ "more_than_we_know", 1, { { 0, 8, 0 } } },
		{ "empty_piece", 1, { { 0, 8, 8 } } },
		{ "too_large", 1, { { 0, 8, 0 } } },
		{ "cut_short", 1, { { 0, 8, 0 } } },
		{ "many", 64, { { 0, 8, 0 }, { 8, 8, 0 }, { 16, 8, 0 } } },
		{ "in_function", 2, { { 0, 8, 80 }, { 8, 8, 96 } } },
		{ "behind_nothing", 1, { { 16, 8, 56 } } },
	};
	static const char *const none[] = { "a_value", "nothing", "values" };
	struct hsnap_symbols *s = load("pieces");
	const struct hsnap_dvariable *whole = variable_named(s, "whole");
	cr_assert(whole && !whole->num_pieces && whole->address > BIAS);
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
		expect_pieces(s, &want[i], whole->address);
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		cr_expect_null(variable_named(s, none[i]), "%s", none[i]);
	cr_expect(variable_named(s, "per_thread")->thread_local_ && variable_named(s, "mixed")->thread_local_);
	cr_expect_str_eq(hsnap_str(&s->strings, variable_named(s, "in_function")->function), "counter");
	hsnap_symbols_destroy(s);
}

/* What clang makes of a static struct: where it leaves it whole, all of it is there as well. */
Test(pieces, as_clang_makes_them)
{
	struct hsnap_symbols *s;
	char path[4096];
	snprintf(path, sizeof(path), "%s/taken-apart", HSNAP_TEST_PROGRAMS);
	FILE *program = fopen(path, "r");
	if (!program)
		cr_skip_test("SKIPPED: no clang here to make %s", path);
	fclose(program);
	s = load("taken-apart");
	const struct hsnap_dvariable *v = variable_named(s, "g_table");
	cr_assert(v && !strcmp(written(s, v->type), "table"));
	cr_expect_geq(v->num_pieces, 2u, "clang leaves it whole: nothing is checked here");
	for (uint32_t i = 0; i < v->num_pieces; i++) {
		const struct hsnap_dpiece *piece = &s->pieces.items[v->first_piece + i];
		cr_expect(piece->address >= BIAS && piece->size && piece->offset + piece->size <= hsnap_dtype(s, v->type)->size);
	}
	hsnap_symbols_destroy(s);
}
