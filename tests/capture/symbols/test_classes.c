/* SPDX-License-Identifier: MIT */
/* test_classes.c - classes.cc as it was read: sizes, places, bases, vtables, template arguments. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#include "tests/capture/symbols/support.h"

static const struct {
	const char *program;
} rows[] = {
#define ROW(name) { name },
#include "classes_rows.h"
};
#define NUM_ROWS (sizeof(rows) / sizeof(*rows))

static const char *program_path(const char *name)
{
	static char path[4096];
	snprintf(path, sizeof(path), "%s/%s", HSNAP_TEST_PROGRAMS, name);
	return path;
}

static struct hsnap_symbols *load(const char *program)
{
	struct hsnap_target *target = files_target();
	struct hsnap_symbols *s;
	struct hsnap_error err;
	files_add(target, program_path(program), BIAS);
	cr_assert_eq(hsnap_symbols_load(target, NULL, 0, &s, &err), HSNAP_OK, "%s", err.message);
	cr_assert(s->modules.items[1].has_types, "%s: '%s'", program, hsnap_str(&s->strings, s->modules.items[1].note));
	hsnap_target_close(target);
	return s;
}

static void check_truth(const struct hsnap_symbols *s, const char *program)
{
	char line[512], member[128], *name;
	unsigned checked = 0;
	size_t number;
	int at;
	FILE *truth = popen(program_path(program), "r");
	while (fgets(line, sizeof(line), truth)) {
		line[strcspn(line, "\n")] = '\0';
		bool size = sscanf(line, "size %zu %n", &number, &at) == 1;
		cr_assert(size || sscanf(line, "member %zu %127s %n", &number, member, &at) == 2);
		name = line + at;
		hsnap_dtype_id id = hsnap_symbols_class(s, name, 1);
		cr_assert(id, "%s: no class %s", program, name);
		checked++;
		if (size) {
			cr_expect_eq(hsnap_dtype(s, id)->size, number, "%s: %s is %lu", program, line,
				     (unsigned long)hsnap_dtype(s, id)->size);
			continue;
		}
		const struct hsnap_dmember *m = member_named(s, id, member);
		cr_assert(m, "%s: no %s", program, line);
		cr_expect_eq(m->offset, number, "%s: %s at %lu", program, line, (unsigned long)m->offset);
	}
	cr_expect_eq(pclose(truth), 0);
	cr_expect_gt(checked, 15);
}

static const struct hsnap_dmember *base_of(const struct hsnap_symbols *s, hsnap_dtype_id type, unsigned n)
{
	const struct hsnap_dtype *t = hsnap_dtype(s, type);
	for (uint32_t i = 0; i < t->num_members; i++)
		if (s->members.items[t->first_member + i].flags & HSNAP_DMEMBER_BASE && !n--)
			return &s->members.items[t->first_member + i];
	return NULL;
}

static bool polymorphic(const struct hsnap_symbols *s, const char *name)
{
	return hsnap_dtype(s, hsnap_symbols_class(s, name, 1))->flags & HSNAP_DTYPE_POLYMORPHIC;
}

ParameterizedTestParameters(symbols_classes, as_the_program_knows_them)
{
	static size_t indices[NUM_ROWS];
	for (size_t i = 0; i < NUM_ROWS; i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, NUM_ROWS);
}

ParameterizedTest(size_t *row, symbols_classes, as_the_program_knows_them)
{
	const char *program = rows[*row].program;
	struct hsnap_symbols *s = load(program);
	check_truth(s, program);

	hsnap_dtype_id derived = hsnap_symbols_class(s, "shop::Derived", 1);
	cr_expect_eq(base_of(s, derived, 0)->type, hsnap_symbols_class(s, "shop::Base", 1));
	cr_expect_eq(base_of(s, derived, 0)->offset, 0);
	cr_expect_eq(base_of(s, derived, 1)->type, hsnap_symbols_class(s, "shop::Second", 1));
	cr_expect_eq(base_of(s, derived, 1)->offset, 16);
	cr_expect(!(base_of(s, derived, 1)->flags & HSNAP_DMEMBER_VIRTUAL));
	const struct hsnap_dmember *virtual_base = base_of(s, hsnap_symbols_class(s, "shop::Diamond", 1), 0);
	cr_expect(virtual_base->flags & HSNAP_DMEMBER_VIRTUAL && !virtual_base->offset, "%s", program);
	cr_expect(polymorphic(s, "shop::Base") && polymorphic(s, "shop::Derived") && polymorphic(s, "shop::Diamond"));
	cr_expect(!polymorphic(s, "shop::Plain") && !polymorphic(s, "shop::Holder"));
	const struct hsnap_dtype *base = hsnap_dtype(s, hsnap_symbols_class(s, "shop::Base", 1));
	cr_expect(s->members.items[base->first_member].flags & HSNAP_DMEMBER_VPTR, "%s", program);

	hsnap_dtype_id plain = hsnap_symbols_class(s, "shop::Plain", 1);
	cr_expect_eq(hsnap_dtype(s, member_named(s, plain, "raw")->type)->kind, HSNAP_DTYPE_BYTE, "%s", program);
	cr_expect_eq(hsnap_dtype(s, member_named(s, plain, "colour")->type)->kind, HSNAP_DTYPE_SCALAR);
	cr_expect_str_eq(written(s, member_named(s, plain, "colour")->type), "shop::Colour");

	const struct hsnap_dtype *ints = hsnap_dtype(s, hsnap_symbols_class(s, "shop::Box<int, 3>", 1));
	cr_assert_eq(ints->num_arguments, 1, "%s", program);
	cr_expect_str_eq(written(s, s->arguments.items[ints->first_argument]), "int");
	cr_expect_eq(member_named(s, hsnap_symbols_class(s, "shop::Box<int, 3>", 1), "boxes"), NULL,
		     "%s: a static member is none", program);

	hsnap_dtype_id holder = hsnap_symbols_class(s, "shop::Holder", 1);
	cr_expect_str_eq(written(s, member_named(s, holder, "late")->type), "shop::Late *", "%s", program);
	cr_expect_eq(hsnap_dtype(s, member_named(s, holder, "to_member")->type)->kind, HSNAP_DTYPE_SCALAR);
	cr_expect(hsnap_dtype(s, member_named(s, holder, "moved")->type)->flags & HSNAP_DTYPE_REFERENCE);

	const struct hsnap_dvariable *boxes = variable_named(s, "shop::Box<int, 3>::boxes");
	cr_assert(boxes, "%s: no static member", program);
	cr_expect_str_eq(written(s, boxes->type), "int");
	const struct hsnap_dvariable *tls = variable_named(s, "per_thread");
	if (!strstr(program, "O2")) { /* which has no use for them */
		cr_expect(variable_named(s, "(anonymous namespace)::hidden"), "%s", program);
		cr_expect(tls && tls->thread_local_, "%s", program);
	}

	unsigned vtables = 0;
	for (size_t i = 0; i < s->vtables.num; i++) {
		const char *name = hsnap_str(&s->strings, s->vtables.items[i].class_name);
		if (strncmp(name, "shop::", 6))
			continue;
		vtables++;
		cr_expect_eq(s->vtables.items[i].type, hsnap_symbols_class(s, name, 1), "%s: vtable of %s", program, name);
	}
	cr_expect_geq(vtables, 2, "%s: %u vtables", program, vtables);
	hsnap_symbols_destroy(s);
}
