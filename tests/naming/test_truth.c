/* SPDX-License-Identifier: MIT */
/* test_truth.c - the judge itself: which names are of one type, and which verdict that makes. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/naming/spelling.h"
#include "tests/naming/truth.h"

static const struct {
	const char *name, *want;
} spellings[] = {
	{ "struct Book", "Book" },
	{ "Book * []", "Book*[]" },
	{ "const char *", "char*" },
	{ "char const*", "char*" },
	{ "long unsigned int", "unsigned long" },
	{ "unsigned char", "unsigned char" },
	{ "structure", "structure" },
	{ "constant", "constant" },
	{ "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string" },
	{ "std::pair<std::string const, int>", "std::pair<std::string,int>" },
	{ "std::array<int, 3ul>", "std::array<int,3>" },
	{ "Ring<u3>", "Ring<u3>" },
	{ "A<run(std::string const&, int)::{lambda()#2}> >", "A<run::<lambda>>>" },
	{ "A<run(const text &, int)::<lambda()>>", "A<run::<lambda>>" },
	{ "run()::{lambda(int)#1}", "run::<lambda>" },
	{ "std::unique_ptr<Key> (*)(unsigned int)", "function*" },
	{ "int (*)(char *) []", "function*[]" },
	{ "Table<int (*)(char)>", "Table<int(*)(char)>" },
	{ "(anonymous namespace)::Foo", "{anonymous}::Foo" },
	{ "std::_Sp_counted_base<(__gnu_cxx::_Lock_policy)2>", "std::_Sp_counted_base<(__gnu_cxx::_Lock_policy)2>" },
	{ "std::_Sp_counted_base<__gnu_cxx::_S_atomic>", "std::_Sp_counted_base<(__gnu_cxx::_Lock_policy)2>" },
};

ParameterizedTestParameters(truth, spelling)
{
	static size_t rows[sizeof(spellings) / sizeof(*spellings)];
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		rows[i] = i;
	return cr_make_param_array(size_t, rows, sizeof(rows) / sizeof(*rows));
}

ParameterizedTest(size_t *row, truth, spelling)
{
	char *got = spelling_of(spellings[*row].name);
	cr_expect_str_eq(got, spellings[*row].want, "%s: want %s, got %s", spellings[*row].name, spellings[*row].want, got);
	free(got);
}

static const struct {
	const char *what;
	struct said said;
	struct told told;
	enum verdict want;
} verdicts[] = {
	{ "the same", { "Book", "Book" }, { "Book" }, VERDICT_RIGHT },
	{ "another", { "Book", "Book" }, { "Page" }, VERDICT_WRONG },
	{ "the beginning of a name is not the name", { "Book", "Book" }, { "BookCase" }, VERDICT_WRONG },
	{ "the full name", { "Cache", "shop::Cache" }, { "shop::Cache" }, VERDICT_RIGHT },
	{ "another namespace", { "Cache", "shop::Cache" }, { "other::Cache" }, VERDICT_WRONG },
	{ "one of several", { "robj", "robj" }, { "redisObject|robj" }, VERDICT_RIGHT },
	{ "true, but less", { "PyObject", "PyObject" }, { "PyTupleObject|~PyObject" }, VERDICT_VAGUE },
	{ "right comes before vague", { "Base", "Base" }, { "~Base|Base" }, VERDICT_RIGHT },
	{ "a run", { "Line[]", "Line[]", .run = true }, { "Line[]" }, VERDICT_RIGHT },
	{ "one is no run", { "Line", "Line" }, { "Line[]" }, VERDICT_WRONG },
	{ "a run is not one", { "Line[]", "Line[]", .run = true }, { "Line" }, VERDICT_WRONG },
	{ "but of a single one they are the same", { "Line[]", "Line[]", .run = true }, { "Line", .single = true }, VERDICT_RIGHT },
	{ "a single one of another type is not", { "Line[]", "Line[]", .run = true }, { "Book", .single = true }, VERDICT_WRONG },
	{ "pointers to it are not it", { "Book *[]", "Book *[]", .run = true }, { "Book[]" }, VERDICT_WRONG },
	{ "bytes are bytes", { "u_char[]", "u_char[]", .run = true, .bytes = true }, { "char[]" }, VERDICT_RIGHT },
	{ "words are not", { "int[]", "int[]", .run = true }, { "char[]" }, VERDICT_WRONG },
	{ "several are no single one", { "Item", "Item" }, { "Item", .several = true }, VERDICT_WRONG },
	{ "several are a pool", { "pool of Item", "pool of Item" }, { "Item", .several = true }, VERDICT_RIGHT },
	{ "several are a run", { "Item[]", "Item[]", .run = true }, { "Item", .several = true }, VERDICT_RIGHT },
	{ "of another type they are no pool", { "pool of Item", "pool of Item" }, { "Page", .several = true }, VERDICT_WRONG },
	{ "a structure is no bytes", { "char[]", "char[]", .run = true, .bytes = true }, { "Book" }, VERDICT_WRONG },
};

ParameterizedTestParameters(truth, verdict)
{
	static size_t rows[sizeof(verdicts) / sizeof(*verdicts)];
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		rows[i] = i;
	return cr_make_param_array(size_t, rows, sizeof(rows) / sizeof(*rows));
}

ParameterizedTest(size_t *row, truth, verdict)
{
	enum verdict got = truth_verdict(&verdicts[*row].said, &verdicts[*row].told);
	cr_expect_eq(got, verdicts[*row].want, "%s: want %d, got %d", verdicts[*row].what, verdicts[*row].want, got);
}

Test(truth, lines)
{
	char path[] = "/tmp/heapsnap-truth.XXXXXX";
	int fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	FILE *file = fdopen(fd, "w");
	fputs("30 8 char[]\n10 16 Book\n30 12 Text\n0x20 8 std::pair<int, int>\n10 16 Book\n", file);
	fclose(file);
	struct truth truth = { 0 };
	cr_assert(truth_read(&truth, path));
	cr_assert(truth_sort(&truth));
	cr_assert_eq(truth.lines.num, 3, "%zu lines", truth.lines.num);
	cr_expect_eq(truth.lines.items[0].address, 0x10);
	cr_expect_str_eq(hsnap_str(&truth.strings, truth.lines.items[0].type), "Book");
	cr_expect_str_eq(hsnap_str(&truth.strings, truth.lines.items[1].type), "std::pair<int, int>");
	cr_expect_str_eq(hsnap_str(&truth.strings, truth.lines.items[2].type), "char[]|Text");
	cr_expect_eq(truth.lines.items[2].size, 12);
	truth_deinit(&truth);
	remove(path);
}
