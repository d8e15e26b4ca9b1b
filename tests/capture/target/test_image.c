/* SPDX-License-Identifier: MIT */
/* test_image.c - reads and look-ups of a target, on the made-up one. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>
#include <unistd.h>

#include "capture/target/target.h"

static struct hsnap_target *target;

/* Two mappings that touch, a hole, and a third that was added first. */
static void set_up(void)
{
	target = hsnap_image_create();
	cr_assert(target);
	cr_assert(hsnap_image_add(target, 0x30000, NULL, 0x1000, HSNAP_PROT_READ | HSNAP_PROT_WRITE, "[heap]"));
	cr_assert(hsnap_image_add(target, 0x10000, "abcdefgh", 8, HSNAP_PROT_READ, "/bin/sh"));
	cr_assert(hsnap_image_add(target, 0x10008, "ijkl\0nop", 8, HSNAP_PROT_READ, NULL));
}

static void tear_down(void)
{
	hsnap_target_close(target);
}

TestSuite(image, .init = set_up, .fini = tear_down);

static const struct {
	const char *name;
	uint64_t address;
	size_t len;
	enum hsnap_code code;
	uint64_t where;
	const char *want;
} reads[] = {
	{ "inside one mapping", 0x10002, 3, HSNAP_OK, 0, "cde" },
	{ "over the seam of two", 0x10006, 4, HSNAP_OK, 0, "ghij" },
	{ "past the end", 0x1000e, 3, HSNAP_FAULT, 0x10010, "" },
	{ "before the first", 0xfff0, 4, HSNAP_FAULT, 0xfff0, "" },
	{ "the top of the address space", UINT64_MAX, 2, HSNAP_FAULT, UINT64_MAX, "" },
	{ "nothing", 0x50000, 0, HSNAP_OK, 0, "" },
};

ParameterizedTestParameters(image, read)
{
	static size_t index[sizeof(reads) / sizeof(*reads)];
	for (size_t i = 0; i < sizeof(reads) / sizeof(*reads); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, sizeof(reads) / sizeof(*reads));
}

ParameterizedTest(size_t *row, image, read)
{
	char got[16] = "";
	struct hsnap_error err = { 0 };
	enum hsnap_code code = hsnap_target_read(target, reads[*row].address, got, reads[*row].len, &err);
	cr_assert_eq(code, reads[*row].code, "%s: %d", reads[*row].name, code);
	if (code)
		cr_expect_eq(err.where, reads[*row].where, "%s: 0x%lx", reads[*row].name, err.where);
	else
		cr_expect_str_eq(got, reads[*row].want, "%s", reads[*row].name);
}

Test(image, words_and_texts_are_whole_or_refused)
{
	uint64_t word = 0;
	cr_assert(hsnap_target_word(target, 0x10000, &word));
	cr_expect_eq(word, 0x6867666564636261u);
	cr_expect(!hsnap_target_word(target, 0x1000c, &word), "half a word was taken");
	cr_expect(hsnap_target_word(target, 0x30ff8, &word) && word == 0);

	char text[32];
	cr_assert(hsnap_target_text(target, 0x10004, text, sizeof(text)));
	cr_expect_str_eq(text, "efghijkl");
	cr_expect(hsnap_target_text(target, 0x10004, text, 9));
	cr_expect(!hsnap_target_text(target, 0x10004, text, 8), "a text without room for its end was taken");
	cr_expect(!hsnap_target_text(target, 0x1000d, text, sizeof(text)), "a text without an end was taken");
	cr_expect(!hsnap_target_text(target, 0x10004, text, 0));
}

Test(image, views_never_cross_a_seam)
{
	cr_expect_not_null(hsnap_target_view(target, 0x10001, 7));
	cr_expect_null(hsnap_target_view(target, 0x10001, 8));
	cr_expect_null(hsnap_target_view(target, 0x10000, SIZE_MAX));
	cr_expect_null(hsnap_target_view(target, 0x20000, 1));
}

Test(image, runs_come_in_order)
{
	uint64_t start, end;
	cr_assert(hsnap_target_next_run(target, 0, &start, &end));
	cr_expect(start == 0x10000 && end == 0x10008);
	cr_assert(hsnap_target_next_run(target, 0x1000a, &start, &end));
	cr_expect(start == 0x1000a && end == 0x10010);
	cr_assert(hsnap_target_next_run(target, end, &start, &end));
	cr_expect(start == 0x30000 && end == 0x31000);
	cr_expect(!hsnap_target_next_run(target, end, &start, &end));
}

Test(image, addresses_find_their_mapping_and_module)
{
	struct hsnap_target_module module = {
		.path = hsnap_strings_add(&target->strings, "/bin/sh"), .start = 0x10000, .end = 0x1000c,
	};
	cr_assert(hsnap_image_add_module(target, &module));
	cr_assert(hsnap_image_add(target, 0x10010, NULL, 8, HSNAP_PROT_READ, NULL));
	cr_expect_eq(hsnap_target_mapping(target, 0x10008)->start, 0x10008);
	cr_expect_null(hsnap_target_mapping(target, 0x10018));
	cr_expect_eq(hsnap_target_module(target, 0x10009), &target->modules.items[1]);
	cr_expect_null(hsnap_target_module(target, 0x1000d), "the mapping goes on past the module");
	cr_expect_null(hsnap_target_module(target, 0x10010));
	int fd = target->ops->open_module(target->self, &target->modules.items[1]);
	cr_expect(fd >= 0);
	close(fd);
}
