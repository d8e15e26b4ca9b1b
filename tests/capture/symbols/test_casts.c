/* SPDX-License-Identifier: MIT */
/*
 * test_casts.c - what the code of casts.c makes of its handles and void members, however it is compiled.
 *
 * All that is found is listed as text and compared: what nobody wanted fails as what is missing does.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#include "tests/capture/symbols/support.h"

static const struct {
	const char *program;
} rows[] = {
#define ROW(name) { name },
#include "casts_rows.h"
};
#define NUM_ROWS (sizeof(rows) / sizeof(*rows))

static struct hsnap_symbols *load_program(const char *program)
{
	char path[4096];
	struct hsnap_target *target = files_target();
	struct hsnap_symbols *s;
	struct hsnap_error err;
	snprintf(path, sizeof(path), "%s/%s", HSNAP_TEST_PROGRAMS, program);
	files_add(target, path, BIAS);
	cr_assert_eq(hsnap_symbols_load(target, NULL, 0, &s, &err), HSNAP_OK, "%s", err.message);
	hsnap_target_close(target);
	return s;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* "node+16 gauge, node+16 order": in order of the alphabet; an anonymous union is "{}". */
static const char *landings_text(const struct hsnap_symbols *s, char *text, size_t size)
{
	char lines[64][96];
	size_t num = s->landings.num, used = 0;
	cr_assert_leq(num, 64);
	for (size_t i = 0; i < num; i++) {
		const struct hsnap_dlanding *l = &s->landings.items[i];
		const char *holder = name_of(s, l->holder);
		snprintf(lines[i], sizeof(lines[i]), "%s+%lu %s", *holder ? holder : "{}", (unsigned long)l->offset,
			 name_of(s, l->type));
	}
	qsort(lines, num, sizeof(*lines), compare_texts);
	text[0] = '\0';
	for (size_t i = 0; i < num && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", lines[i]);
	return text;
}

static const struct hsnap_dalias *alias_named(const struct hsnap_symbols *s, const char *opaque)
{
	const struct hsnap_dalias *found = NULL;
	for (size_t i = 0; i < s->aliases.num; i++) {
		if (strcmp(name_of(s, s->aliases.items[i].opaque), opaque))
			continue;
		cr_expect(!found, "two entries for '%s'", opaque);
		found = &s->aliases.items[i];
	}
	return found;
}

static size_t *indices_of_rows(void)
{
	static size_t indices[NUM_ROWS];
	for (size_t i = 0; i < NUM_ROWS; i++)
		indices[i] = i;
	return indices;
}

ParameterizedTestParameters(symbols_casts, void_members_lead_to_what_the_code_takes_them_for)
{
	return cr_make_param_array(size_t, indices_of_rows(), NUM_ROWS);
}

/*
 * By a getter, a setter, at once, through a function that all values go to; a union's one pointer.
 * `stranger`, which goes to that function too, is nobody's value.
 */
ParameterizedTest(size_t *row, symbols_casts, void_members_lead_to_what_the_code_takes_them_for)
{
	struct hsnap_symbols *s = load_program(rows[*row].program);
	char text[4096];
	cr_expect_str_eq(landings_text(s, text, sizeof(text)),
			 "node+16 freed, node+16 gauge, node+16 invoice, node+16 order, session_data+8 char, "
			 "word+16 char, {}+0 sample", "%s: %s",
			 rows[*row].program, text);
	for (size_t i = 0; i < s->landings.num; i++) {
		const struct hsnap_dlanding *l = &s->landings.items[i];
		cr_expect_eq(hsnap_dtype(s, l->type)->kind,
			     strcmp(name_of(s, l->type), "char") ? HSNAP_DTYPE_STRUCT : HSNAP_DTYPE_BYTE);
		cr_expect_lt(l->offset, hsnap_dtype(s, l->holder)->size);
	}
	hsnap_symbols_destroy(s);
}

ParameterizedTestParameters(symbols_casts, handles_are_what_all_their_functions_agree_on)
{
	return cr_make_param_array(size_t, indices_of_rows(), NUM_ROWS);
}

ParameterizedTest(size_t *row, symbols_casts, handles_are_what_all_their_functions_agree_on)
{
	const char *program = rows[*row].program;
	struct hsnap_symbols *s = load_program(program);
	const struct hsnap_dalias *session = alias_named(s, "session"), *shape = alias_named(s, "shape");
	cr_assert(session && shape, "%s", program);
	cr_expect_eq(s->aliases.num, 2, "%s: %zu handles", program, s->aliases.num);
	cr_expect_str_eq(name_of(s, session->type), "session_data", "%s", program);
	cr_expect_geq(session->sites, 3, "%s: %u", program, session->sites);
	/* That a pointer to its first member is made of it, too, is no contradiction. */
	cr_expect_eq(session->against, 0, "%s: %u", program, session->against);
	/* It is a circle or a polygon, and no one can tell. */
	cr_expect_gt(shape->against, 0, "%s", program);
	hsnap_symbols_destroy(s);
}
