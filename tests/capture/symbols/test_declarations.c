/* SPDX-License-Identifier: MIT */
/*
 * test_declarations.c - one name for several things: identity is module, unit and entry, never the tag.
 *
 * dicts.c and its like do what Redis does (its own dictEntry and hiredis'), and what libc's debug
 * info does to a program with a list of its own.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#include "tests/capture/symbols/support.h"

static const struct {
	const char *build;
} rows[] = {
#define ROW(name) { name },
#include "dicts_rows.h"
};
#define NUM_ROWS (sizeof(rows) / sizeof(*rows))

static struct hsnap_symbols *load(const char *build, bool with_library)
{
	struct hsnap_target *target = files_target();
	struct hsnap_symbols *s;
	struct hsnap_error err;
	char path[4096];
	snprintf(path, sizeof(path), "%s/dicts-%s", HSNAP_TEST_PROGRAMS, build);
	files_add(target, path, BIAS);
	snprintf(path, sizeof(path), "%s/dicts-library-%s", HSNAP_TEST_PROGRAMS, build);
	if (with_library)
		files_add(target, path, BIAS + (UINT64_C(1) << 32));
	cr_assert_eq(hsnap_symbols_load(target, NULL, 0, &s, &err), HSNAP_OK, "%s", err.message);
	cr_assert(s->modules.items[1].has_types, "%s", build);
	hsnap_target_close(target);
	return s;
}

/* What the variable points to. */
static const struct hsnap_dtype *pointee(const struct hsnap_symbols *s, const char *variable)
{
	const struct hsnap_dvariable *v = variable_named(s, variable);
	cr_assert(v && hsnap_dtype(s, v->type)->kind == HSNAP_DTYPE_POINTER, "no pointer %s", variable);
	return hsnap_dtype(s, hsnap_dtype(s, v->type)->target);
}

/* The element of the dict that the variable points to: table[0][0]. */
static const struct hsnap_dtype *entry_of(const struct hsnap_symbols *s, const char *variable)
{
	hsnap_dtype_id dict = (hsnap_dtype_id)(pointee(s, variable) - s->types.items);
	const struct hsnap_dmember *table = member_named(s, dict, "table");
	cr_assert(table);
	return hsnap_dtype(s, hsnap_dtype(s, hsnap_dtype(s, table->type)->target)->target);
}

static bool from(const struct hsnap_symbols *s, const struct hsnap_dtype *type, const char *file)
{
	const char *unit = hsnap_str(&s->strings, type->unit), *slash = strrchr(unit, '/');
	return !strcmp(slash ? slash + 1 : unit, file);
}

ParameterizedTestParameters(symbols_declarations, one_tag_two_structs)
{
	static size_t indices[NUM_ROWS];
	for (size_t i = 0; i < NUM_ROWS; i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, NUM_ROWS);
}

ParameterizedTest(size_t *row, symbols_declarations, one_tag_two_structs)
{
	const char *build = rows[*row].build;
	struct hsnap_symbols *s = load(build, true);

	/* Declared alone, with the header whose lines mention the one definition: that one. */
	const struct hsnap_dtype *own = entry_of(s, "own_dict");
	cr_expect(own->kind == HSNAP_DTYPE_STRUCT && from(s, own, "dicts_own.c"), "%s: own_dict's entry", build);
	cr_expect_eq(pointee(s, "own_entry"), own, "%s: own_entry", build);
	cr_expect(member_named(s, (hsnap_dtype_id)(own - s->types.items), "v"), "%s", build);

	/* Defined in its own unit, of the same size. */
	const struct hsnap_dtype *client = entry_of(s, "client_dict");
	cr_expect(client->kind == HSNAP_DTYPE_STRUCT && from(s, client, "dicts_client.c"), "%s: client_dict's entry", build);
	cr_expect_neq(client, own, "%s: two structs were made one", build);
	cr_expect_eq(client->size, own->size, "%s: the test does not test: the sizes tell them apart", build);

	/* Nothing tells which: unknown, not either. */
	cr_expect_eq(pointee(s, "lost_entry")->kind, HSNAP_DTYPE_INCOMPLETE, "%s: lost_entry", build);
	const struct hsnap_dmember *held = member_named(s, (hsnap_dtype_id)(pointee(s, "holder") - s->types.items), "entry");
	cr_expect_eq(hsnap_dtype(s, hsnap_dtype(s, held->type)->target)->kind, HSNAP_DTYPE_INCOMPLETE, "%s: holder.entry", build);
	hsnap_symbols_destroy(s);
}

ParameterizedTestParameters(symbols_declarations, another_modules_struct)
{
	static size_t indices[NUM_ROWS];
	for (size_t i = 0; i < NUM_ROWS; i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, NUM_ROWS);
}

ParameterizedTest(size_t *row, symbols_declarations, another_modules_struct)
{
	const char *build = rows[*row].build;
	struct hsnap_symbols *s = load(build, true);
	cr_expect_eq(pointee(s, "own_list")->kind, HSNAP_DTYPE_INCOMPLETE, "%s: the library's list is not ours", build);
	cr_expect_eq(pointee(s, "own_list")->module, 1, "%s", build);
	cr_expect_eq(pointee(s, "library_list")->kind, HSNAP_DTYPE_STRUCT, "%s", build);
	cr_expect_eq(pointee(s, "library_list")->module, 2, "%s", build);
	hsnap_symbols_destroy(s);
}
