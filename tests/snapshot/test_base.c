/* SPDX-License-Identifier: MIT */
/* test_base.c - strings, varints, errors and vectors of snapshot/base. */
#include <criterion/criterion.h>
#include <stddef.h>
#include <string.h>

#include "snapshot/base/bytes.h"
#include "snapshot/base/error.h"
#include "snapshot/base/strings.h"
#include "snapshot/base/vec.h"

Test(base, strings_are_stored_once)
{
	struct hsnap_strings strings = { 0 };
	hsnap_string offsets[5000];
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 5000; i++) {
			hsnap_string s = hsnap_strings_addf(&strings, "name-%d", i);
			if (round)
				cr_assert_eq(s, offsets[i], "string %d moved", i);
			offsets[i] = s;
		}
	}
	cr_assert_str_eq(hsnap_str(&strings, offsets[4321]), "name-4321");
	cr_assert_eq(hsnap_strings_add(&strings, ""), 0);
	cr_assert_str_eq(hsnap_str(&strings, UINT32_MAX), "");
	/* A tail of a stored string is another string. */
	hsnap_string tail = hsnap_strings_add(&strings, hsnap_str(&strings, offsets[7]) + 2);
	cr_assert_str_eq(hsnap_str(&strings, tail), "me-7");
	hsnap_strings_deinit(&strings);
}

Test(base, varints_survive_the_trip_and_refuse_the_rest)
{
	static const uint64_t values[] = { 0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX - 1, UINT64_MAX };
	uint8_t buffer[16];
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		size_t len = (size_t)(hsnap_put_varint(buffer, values[i]) - buffer);
		struct hsnap_bytes whole = hsnap_bytes(buffer, len);
		cr_expect_eq(hsnap_bytes_varint(&whole), values[i]);
		cr_expect(!whole.bad && !hsnap_bytes_left(&whole));
		struct hsnap_bytes cut = hsnap_bytes(buffer, len - 1);
		cr_expect_eq(hsnap_bytes_varint(&cut), 0);
		cr_expect(cut.bad, "value %zu: a cut varint was taken", i);
	}
	memset(buffer, 0xff, sizeof(buffer));
	struct hsnap_bytes endless = hsnap_bytes(buffer, sizeof(buffer));
	hsnap_bytes_varint(&endless);
	cr_expect(endless.bad, "a varint of more than 64 bits was taken");
	for (int64_t v = -3; v <= 3; v++)
		cr_expect_eq(hsnap_unzigzag(hsnap_zigzag(v)), v);
}

Test(base, errors_grow_context_and_keep_the_hint)
{
	struct hsnap_error err;
	cr_assert_eq(hsnap_fail(&err, HSNAP_FORMAT, 12, "bad %s", "magic"), HSNAP_FORMAT);
	hsnap_hint(&err, err.code, "try %d", 7);
	cr_assert_eq(hsnap_context(&err, err.code, "cannot read '%s'", "x"), HSNAP_FORMAT);
	cr_assert_str_eq(err.message, "cannot read 'x': bad magic");
	cr_assert_str_eq(err.hint, "try 7");
	cr_assert_eq(err.where, 12);
	cr_assert_eq(hsnap_fail(NULL, HSNAP_IO, 0, "nobody listens"), HSNAP_IO);
}

/* Paths are long, and their reason stands at the end: the middle is what is left out, and that shows. */
Test(base, errors_too_long_are_cut_where_it_hurts_least)
{
	struct hsnap_error err;
	char path[4096];
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	hsnap_fail(&err, HSNAP_IO, 0, "cannot open '%s': no such file", path);
	hsnap_hint(&err, err.code, "look at '%s' first", path);
	cr_expect_eq(strlen(err.message), sizeof(err.message) - 1);
	cr_expect(!strncmp(err.message, "cannot open 'xxx", 16) && strstr(err.message, "x ... x"));
	cr_expect_str_eq(err.message + strlen(err.message) - 18, "xxx': no such file");
	cr_expect(!strncmp(err.hint, "look at 'xxx", 12) && strstr(err.hint, "x ... x") && strstr(err.hint, "xxx' first"));
	hsnap_context(&err, err.code, "cannot take '%s'", path);
	cr_expect(!strncmp(err.message, "cannot take 'xxx", 16) && strstr(err.message, "': no such file"));

	/* No character is cut in two, wherever the cut falls. */
	for (size_t shift = 0; shift < 3; shift++) {
		for (size_t i = shift; i + 3 < sizeof(path); i += 3)
			memcpy(path + i, "\xe2\x82\xac", 3);
		hsnap_fail(&err, HSNAP_IO, 0, "%s", path);
		const char *cut = strstr(err.message, " ... ");
		cr_assert(cut && cut - err.message > 400);
		cr_expect_eq((cut - err.message - (ptrdiff_t)shift) % 3, 0, "shift %zu", shift);
		cr_expect_eq((unsigned char)cut[5], 0xe2, "shift %zu", shift);
	}
	hsnap_fail(&err, HSNAP_IO, 0, "%s", "short");
	cr_expect_str_eq(err.message, "short");
}

Test(base, vectors_grow)
{
	struct hsnap_vec(uint32_t) v = { 0 };
	for (uint32_t i = 0; i < 1000; i++)
		cr_assert(hsnap_vec_push(&v, i));
	cr_assert_eq(v.items[999], 999);
	cr_assert(!hsnap_vec_reserve(&v, SIZE_MAX - 10), "an overflowing size was granted");
	cr_assert_eq(v.num, 1000);
	hsnap_vec_deinit(&v);
}
