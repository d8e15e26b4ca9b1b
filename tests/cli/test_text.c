/* SPDX-License-Identifier: MIT */
/* test_text.c - numbers, escapes, widths and cuts of cli/text.c. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "cli/text.h"

#define ROWS(table) (sizeof(table) / sizeof(*(table)))

Test(text, numbers_are_grouped)
{
	cr_expect_str_eq(hsnap_grouped(0).text, "0");
	cr_expect_str_eq(hsnap_grouped(999).text, "999");
	cr_expect_str_eq(hsnap_grouped(1000).text, "1,000");
	cr_expect_str_eq(hsnap_grouped(UINT64_MAX).text, "18,446,744,073,709,551,615");
	cr_expect_str_eq(hsnap_growth(0).text, "0");
	cr_expect_str_eq(hsnap_growth(1234).text, "+1,234");
	cr_expect_str_eq(hsnap_growth(INT64_MIN).text, "-9,223,372,036,854,775,808");
	cr_expect_str_eq(hsnap_plural(1, "block").text, "1 block");
	cr_expect_str_eq(hsnap_plural(2000, "block").text, "2,000 blocks");
}

Test(text, shares_and_sizes_are_rounded)
{
	cr_expect_str_eq(hsnap_share(1, 3).text, "33.3");
	cr_expect_str_eq(hsnap_share(1, 0).text, "0.0");
	cr_expect_str_eq(hsnap_share(-1, 100000).text, "0.0", "no negative zero");
	cr_expect_str_eq(hsnap_human(32538504).text, "31.0 MiB");
	cr_expect_str_eq(hsnap_human(1048575).text, "1.0 MiB", "not 1024.0 KiB");
	cr_expect_str_eq(hsnap_human(100).text, "100 bytes");
}

Test(text, times_are_utc)
{
	cr_expect_str_eq(hsnap_time(1796001887000000000u).text, "2026-11-30 01:24:47 UTC");
	cr_expect_str_eq(hsnap_iso_time(1796001887999999999u).text, "2026-11-30T01:24:47Z");
	cr_expect_str_eq(hsnap_time(0).text, "unknown time");
	cr_expect_str_eq(hsnap_duration(27000000000u).text, "27 s");
	cr_expect_str_eq(hsnap_duration(400000000u).text, "0.4 s");
	cr_expect_str_eq(hsnap_duration(220000000000u).text, "3 min 40 s");
	cr_expect_str_eq(hsnap_duration(7500000000000u).text, "2 h 5 min");
}

static const struct {
	const char *name, *text, *utf8, *ascii;
} escapes[] = {
	{ "plain", "Foo<int>", "Foo<int>", "Foo<int>" },
	{ "control characters", "a\033[31m\n", "a\\x1B[31m\\x0A", "a\\x1B[31m\\x0A" },
	{ "valid UTF-8", "Zähler", "Zähler", "Z\\xC3\\xA4hler" },
	{ "C1 control", "\xc2\x9b", "\\xC2\\x9B", "\\xC2\\x9B" },
	{ "bidi override", "\xe2\x80\xae" "x", "\\xE2\\x80\\xAEx", "\\xE2\\x80\\xAEx" },
	{ "cut sequence", "a\xe2\x82", "a\\xE2\\x82", "a\\xE2\\x82" },
	{ "overlong", "\xc0\xaf", "\\xC0\\xAF", "\\xC0\\xAF" },
	{ "surrogate", "\xed\xa0\x80", "\\xED\\xA0\\x80", "\\xED\\xA0\\x80" },
	{ "too great", "\xf4\x90\x80\x80", "\\xF4\\x90\\x80\\x80", "\\xF4\\x90\\x80\\x80" },
	{ "lone continuation", "\x80", "\\x80", "\\x80" },
};

ParameterizedTestParameters(text, names_are_escaped)
{
	static size_t rows[ROWS(escapes)];
	for (size_t i = 0; i < ROWS(escapes); i++)
		rows[i] = i;
	return cr_make_param_array(size_t, rows, ROWS(escapes));
}

ParameterizedTest(size_t *row, text, names_are_escaped)
{
	struct hsnap_line got = { 0 };
	hsnap_line_add_escaped(&got, escapes[*row].text, HSNAP_TEXT_UTF8);
	cr_expect_str_eq(hsnap_line_text(&got), escapes[*row].utf8, "%s: got %s", escapes[*row].name, got.text);
	hsnap_line_clear(&got);
	hsnap_line_add_escaped(&got, escapes[*row].text, HSNAP_TEXT_ASCII);
	cr_expect_str_eq(hsnap_line_text(&got), escapes[*row].ascii, "%s: got %s", escapes[*row].name, got.text);
	hsnap_line_deinit(&got);
}

static const struct {
	const char *text;
	size_t width;
	const char *mark, *want;
} cuts[] = {
	{ "abcdefghij", 10, "…", "abcdefghij" },
	{ "abcdefghij", 9, "…", "abcd…ghij" },
	{ "abcdefghij", 8, "…", "abcd…hij" },
	{ "abcdefghij", 8, "...", "abc...ij" },
	{ "äöüäöüäöü", 5, "…", "äö…öü" },
	{ "漢字漢字漢字", 7, "…", "漢…字" },
	{ "", 5, "…", "" },
};

ParameterizedTestParameters(text, cut_in_the_middle)
{
	static size_t rows[ROWS(cuts)];
	for (size_t i = 0; i < ROWS(cuts); i++)
		rows[i] = i;
	return cr_make_param_array(size_t, rows, ROWS(cuts));
}

ParameterizedTest(size_t *row, text, cut_in_the_middle)
{
	struct hsnap_line got = { 0 };
	hsnap_line_add_cut(&got, cuts[*row].text, cuts[*row].width, cuts[*row].mark);
	cr_expect_str_eq(hsnap_line_text(&got), cuts[*row].want, "'%s' in %zu: got %s", cuts[*row].text,
			 cuts[*row].width, hsnap_line_text(&got));
	cr_expect_leq(hsnap_columns(hsnap_line_text(&got)), cuts[*row].width);
	hsnap_line_deinit(&got);
}

Test(text, words_are_quoted_for_the_shell)
{
	static const char *const words[][2] = {
		{ "b.snap", "b.snap" },         { "Book *[]", "'Book *[]'" }, { "it's", "'it'\\''s'" },
		{ "", "''" },                   { "-x", "'-x'" },             { "a;b", "'a;b'" },
		{ "entry@routes.c", "entry@routes.c" },
	};
	for (size_t i = 0; i < ROWS(words); i++) {
		struct hsnap_line got = { 0 };
		hsnap_line_add_quoted(&got, words[i][0]);
		cr_expect_str_eq(got.text, words[i][1]);
		hsnap_line_deinit(&got);
	}
}
