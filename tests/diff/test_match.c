/* SPDX-License-Identifier: MIT */
/* test_match.c - which rows of two snapshots are one, in what order, and what they grew by. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#include "diff/diff.h"
#include "tests/support/graph_text.h"

#define ROWS(table) (sizeof(table) / sizeof(*(table)))
#define TYPES "A=16 B=8"
#define ROOT "global:g"
/* One place, by size and as one row. */
#define SIZES "a:label:48_bytes^in_S.x/48 b:label:64_bytes^in_S.x/64"
#define ALL_SIZES "a:label:bytes^in_S.x/48 b:label:bytes^in_S.x/64"

/* Rows as "name state bytes count", in the order of the diff. */
static const struct {
	const char *name, *types[2], *blocks[2], *edges[2], *want;
} rows[] = {
	{ "more blocks of a type", { TYPES, TYPES }, { "a:A", "a:A b:A" }, { "g>a", "g>a g>b" }, "A live +16 +1" },
	{ "a new type, and one that is gone", { TYPES, TYPES }, { "a:A", "b:B" }, { "g>a", "g>b" },
	  "B live +8 +1|A live -16 -1" },
	{ "unchanged", { TYPES, TYPES }, { "a:A", "c:A" }, { "g>a", "g>c" }, "A live +0 +0" },
	{ "a state of its own", { TYPES, TYPES }, { "a:A b:A", "a:A b:A" }, { "g>a g>b", "g>a" },
	  "A unreachable +16 +1|A live -16 -1" },
	{ "ties by count, then by name", { "A=8 B=8 C=8", "A=8 B=8 C=8" }, { "", "c:C a:A b:B" }, { "", "g>a g>b g>c" },
	  "A live +8 +1|B live +8 +1|C live +8 +1" },
	{ "two types of one name and different files", { "A=8%x.c", "A=8%y.c" }, { "a:A", "a:A" }, { "g>a", "g>a" },
	  "A live +8 +1|A live -8 -1" },
	{ "the same type at another place in the table", { TYPES, "B=8 A=16" }, { "a:A", "a:A b:B" }, { "g>a", "g>a g>b" },
	  "B live +8 +1|A live +0 +0" },
	{ "only possible is live", { TYPES, TYPES }, { "a:A", "a:A b:A" }, { "g>a", "g>a m>b" }, "A live +16 +1" },
	{ "sizes of a place, and then too many", { "", "" }, { SIZES, ALL_SIZES " c:label:bytes^in_S.x/80" },
	  { "g>a g>b", "g>a g>b g>c" }, "bytes live +80 +1" },
	{ "too many sizes of a place, and then few", { "", "" }, { ALL_SIZES " c:label:bytes^in_S.x/80", SIZES },
	  { "g>a g>b g>c", "g>a g>b" }, "bytes live -80 -1" },
	{ "other places have their sizes", { "", "" }, { SIZES, ALL_SIZES " c:label:48_bytes^in_T.x/48" },
	  { "g>a g>b", "g>a g>b g>c" }, "48 bytes live +48 +1|bytes live +0 +0" },
	{ "sizes of each state", { "", "" }, { SIZES, ALL_SIZES }, { "g>a", "g>b" },
	  "bytes live +16 +0|bytes unreachable -16 +0" },
	{ "a block that is made anew, longer", { "", "" }, { "a:label:48_bytes^in_S.x/48", "a:label:64_bytes^in_S.x/64" },
	  { "g>a", "g>a" }, "bytes live +16 +0" },
	{ "sizes that only come, and one that stays", { "", "" }, { "a:label:48_bytes^in_S.x/48", SIZES }, { "g>a", "g>a g>b" },
	  "64 bytes live +64 +1|48 bytes live +0 +0" },
	{ "what has no place is not made anew", { "", "" }, { "a:label:2048_bytes/2048", "a:label:4096_bytes/4096" }, { "", "" },
	  "4096 bytes unreachable +4096 +1|2048 bytes unreachable -2048 -1" },
	{ "few sizes in both", { "", "" }, { SIZES, SIZES }, { "g>a g>b", "g>a g>b" },
	  "48 bytes live +0 +0|64 bytes live +0 +0" },
	{ "without a place small sizes are rows in any case", { "", "" },
	  { "a:label:56_bytes/56 b:label:2048_bytes/2048", "a:label:56_bytes/56 b:label:bytes/2048 c:label:bytes/4096" },
	  { "", "" }, "bytes unreachable +4096 +1|56 bytes unreachable +0 +0" },
	{ "a type is no label", { "", "" }, { "a:bytes/48", ALL_SIZES }, { "g>a", "g>a g>b" },
	  "bytes live +112 +2|bytes live -48 -1" },
	{ "nothing at all", { TYPES, TYPES }, { "", "" }, { "", "" }, "" },
};

static void forget(const struct hsnap_snapshot *const *snapshots, size_t num)
{
	for (size_t i = 0; i < num; i++)
		hsnap_snapshot_destroy((struct hsnap_snapshot *)snapshots[i]);
}

static struct hsnap_snapshot *make(size_t row, size_t which)
{
	/* A root of kind mapping keeps what it holds in the state "possible". */
	return snapshot_from_text(&(struct graph_text){
		.types = rows[row].types[which],
		.roots = ROOT " mapping:m!",
		.blocks = rows[row].blocks[which],
		.edges = rows[row].edges[which],
	});
}

static void rows_to_text(const struct hsnap_diff *diff, const struct hsnap_snapshot *const *snapshots, char *text)
{
	*text = '\0';
	for (size_t i = 0; i < diff->rows.num; i++) {
		const struct hsnap_growth *row = &diff->rows.items[i];
		const struct hsnap_snapshot *s = snapshots[row->snapshot];
		sprintf(text + strlen(text), "%s%s %s %+lld %+lld", i ? "|" : "",
			row->any_size ? HSNAP_LABEL_ANY_SIZE : hsnap_text(s, s->types.items[row->type].name), hsnap_state_name(row->state),
			(long long)row->bytes_delta, (long long)row->count_delta);
	}
}

ParameterizedTestParameters(diff, match)
{
	static size_t indices[ROWS(rows)];
	for (size_t i = 0; i < ROWS(rows); i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, ROWS(rows));
}

ParameterizedTest(size_t *row, diff, match)
{
	const struct hsnap_snapshot *both[] = { make(*row, 0), make(*row, 1) };
	struct hsnap_diff diff;
	char text[1024];
	cr_assert_eq(hsnap_diff_init(both, 2, HSNAP_DIFF_BY_BYTES, &diff, NULL), HSNAP_OK);
	rows_to_text(&diff, both, text);
	cr_expect_str_eq(text, rows[*row].want, "%s: got %s", rows[*row].name, text);
	hsnap_diff_deinit(&diff);
	forget(both, 2);
}

static const struct hsnap_snapshot *with_blocks(const char *blocks, const char *edges)
{
	return snapshot_from_text(&(struct graph_text){
		.types = "A=16 B=8 C=4", .roots = ROOT, .blocks = blocks, .edges = edges });
}

Test(diff, three_snapshots_in_columns)
{
	const struct hsnap_snapshot *all[] = { with_blocks("a:A", "g>a"), with_blocks("a*3:A", "g>a0 g>a1 g>a2"),
					       with_blocks("a*2:A b:B", "g>a0 g>a1 g>b") };
	struct hsnap_diff diff;
	cr_assert_eq(hsnap_diff_init(all, 3, HSNAP_DIFF_BY_BYTES, &diff, NULL), HSNAP_OK);
	cr_assert_eq(diff.rows.num, 2);
	const uint64_t *count = diff.count + diff.rows.items[0].first;
	cr_expect(count[0] == 1 && count[1] == 3 && count[2] == 2);
	cr_expect_eq(diff.all_bytes[1], 48);
	cr_expect_eq(diff.bytes_delta, 24);
	cr_expect_eq(diff.count_delta, 2);
	hsnap_diff_deinit(&diff);
	forget(all, 3);
}

Test(diff, by_count_ranks_many_small_ones_first)
{
	const struct hsnap_snapshot *both[] = { with_blocks("", ""), with_blocks("a:A c*3:C", "g>a g>c0 g>c1 g>c2") };
	struct hsnap_diff diff;
	cr_assert_eq(hsnap_diff_init(both, 2, HSNAP_DIFF_BY_COUNT, &diff, NULL), HSNAP_OK);
	cr_expect_eq(diff.rows.items[0].count_delta, 3);
	hsnap_diff_deinit(&diff);
	cr_assert_eq(hsnap_diff_init(both, 2, HSNAP_DIFF_BY_BYTES, &diff, NULL), HSNAP_OK);
	cr_expect_eq(diff.rows.items[0].bytes_delta, 16);
	hsnap_diff_deinit(&diff);
	forget(both, 2);
}

Test(diff, other_bases_are_compared_as_usable)
{
	struct hsnap_snapshot *both[] = { (struct hsnap_snapshot *)with_blocks("a:A+8", "g>a"),
					  (struct hsnap_snapshot *)with_blocks("a:A/24", "g>a") };
	both[0]->facts.basis = HSNAP_BASIS_REQUESTED;
	both[1]->facts.basis = HSNAP_BASIS_USABLE;
	const struct hsnap_snapshot *const borrowed[] = { both[0], both[1] };
	struct hsnap_diff diff;
	cr_assert_eq(hsnap_diff_init(borrowed, 2, HSNAP_DIFF_BY_BYTES, &diff, NULL), HSNAP_OK);
	cr_expect(diff.mixed);
	cr_expect_eq(diff.basis, HSNAP_BASIS_USABLE);
	cr_expect_eq(diff.bytes_delta, 0, "24 usable bytes in both");
	hsnap_diff_deinit(&diff);
	forget(borrowed, 2);
}

/* Blocks that came; "g>a0" makes one A live, so that its row has one and not twenty. */
static const struct {
	const char *blocks, *edges;
	size_t want;
} comings[] = {
	{ "a*20:A b*20:B", "", 0 },               /* two are no company */
	{ "a*20:A b*20:B c*20:C", "g>a0", 0 },
	{ "a*20:A b*20:B c*20:C", "", 3 },
	{ "a*9:A b*9:B c*9:C", "", 0 },           /* so few may be chance */
};

Test(diff, companions_are_three_at_least)
{
	for (size_t i = 0; i < ROWS(comings); i++) {
		const struct hsnap_snapshot *both[] = { with_blocks("", ""), with_blocks(comings[i].blocks, comings[i].edges) };
		struct hsnap_diff diff;
		int64_t delta = 0;
		cr_assert_eq(hsnap_diff_init(both, 2, HSNAP_DIFF_BY_BYTES, &diff, NULL), HSNAP_OK);
		cr_expect_eq(hsnap_diff_companions(&diff, &delta), comings[i].want, "%s", comings[i].blocks);
		cr_expect_eq(delta, comings[i].want ? 20 : 0);
		hsnap_diff_deinit(&diff);
		forget(both, 2);
	}
}

Test(diff, differences_do_not_wrap)
{
	cr_expect_eq(hsnap_difference(5, 7), -2);
	cr_expect_eq(hsnap_difference(UINT64_MAX, 0), INT64_MAX);
	cr_expect_eq(hsnap_difference(0, UINT64_MAX), -INT64_MAX);
}
