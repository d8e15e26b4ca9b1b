/* SPDX-License-Identifier: MIT */
/* test_spelling.c - what the demangler and debug info write in different ways is one. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "capture/naming/spelling.h"

static const struct {
	const char *a, *b;
	bool same;
} rows[] = {
	{ "Box<Box<int> >", "Box<Box<int>>", true },
	{ "Box<char const*>", "Box<const char *>", true },
	{ "Box<unsigned long, 6ul>", "Box<long unsigned int, 6>", true },
	{ "Box<unsigned long long>", "Box<long long unsigned int>", true },
	{ "Box<(anonymous namespace)::Foo>", "Box<{anonymous}::Foo>", true },
	{ "Task<f(int)::{lambda(char const*)#2}>", "Task<f(int)::<lambda(const char*)> >", true },
	{ "Task<main::{lambda()#1}>", "Task<main()::<lambda()> >", true },
	{ "make(Foo<int (*)(char)>, long)::Local", "make::Local", true },
	{ "std::map<std::__cxx11::basic_string<char>, int>", "std::map<std::basic_string<char>, int>", true },
	{ "S<int, (__gnu_cxx::_Lock_policy)2>", "S<int, __gnu_cxx::_S_atomic>", true },
	{ "Call<void (int)>", "Call<void(int)>", true },
	{ "Foo", "Food", false },
	{ "Box<6>", "Box<60>", false },
	{ "unsigned_box", "unsigned box", false },
	{ "Box<a1u>", "Box<a1>", false },
	{ "constant", "ant", false },
	{ "Box<int, long>", "Box<int, short>", false },
	{ "f(int)::Local", "g(int)::Local", false },
};

Test(spelling, one_name_has_one)
{
	struct hsnap_spelling a = { 0 }, b = { 0 };
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		cr_assert(hsnap_spell(&a, rows[i].a) && hsnap_spell(&b, rows[i].b));
		cr_expect_eq(!strcmp(a.text, b.text), rows[i].same, "%s: %s; %s: %s", rows[i].a, a.text, rows[i].b, b.text);
	}
	hsnap_spelling_deinit(&a);
	hsnap_spelling_deinit(&b);
}

/* No text is too strange, and none becomes longer than it was, or takes long. */
Test(spelling, of_any_text, .timeout = 60)
{
	static const char *const pieces[] = { "(", ")", "::", "{lambda(", "#1}", "1u", " ", "const", "<", ">", "x", "(anonymous namespace)" };
	struct hsnap_spelling spelling = { 0 };
	enum { SIZE = 60000 };
	char *text = calloc(1, SIZE + 64);
	for (unsigned seed = 0; seed < 64; seed++) {
		srand(seed);
		size_t used = 0;
		while (used < SIZE) {
			const char *piece = pieces[seed < 12 ? seed : (unsigned)rand() % 12];
			used += (size_t)(stpcpy(text + used, piece) - (text + used));
		}
		cr_assert(hsnap_spell(&spelling, text));
		cr_assert_leq(strlen(spelling.text), strlen(text));
	}
	free(text);
	hsnap_spelling_deinit(&spelling);
}
