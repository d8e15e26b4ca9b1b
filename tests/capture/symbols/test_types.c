/* SPDX-License-Identifier: MIT */
/*
 * test_types.c - types and variables against what the programs themselves know.
 *
 * The programs are built in many ways (meson.build) and print sizeof and
 * offsetof of what they are made of; what was read from their debug info must
 * say the same.  HSNAP_TEST_PROGRAMS is the folder that they are in.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#include "capture/symbols/unify.h"
#include "snapshot/base/cleanup.h"
#include "tests/capture/symbols/support.h"

static const struct {
	const char *program;
} rows[] = {
#define ROW(name) { name },
#include "shapes_rows.h"
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
	struct hsnap_symbols *symbols;
	struct hsnap_error err;
	uint32_t module = files_add(target, program_path(program), BIAS);
	cr_assert_eq(hsnap_symbols_load(target, NULL, 0, &symbols, &err), HSNAP_OK, "%s: %s", program, err.message);
	cr_assert(symbols->modules.items[module].has_types, "%s: '%s'", program,
		  hsnap_str(&symbols->strings, symbols->modules.items[module].note));
	hsnap_target_close(target);
	return symbols;
}

/* "name", or "file.c:name" where only the file tells which; 0: none, or several. */
static hsnap_dtype_id find(const struct hsnap_symbols *s, const char *name)
{
	const char *colon = strchr(name, ':'), *tag = colon ? colon + 1 : name;
	hsnap_dtype_id found = 0;
	for (hsnap_dtype_id id = 1; id < s->types.num; id++) {
		const struct hsnap_dtype *t = hsnap_dtype(s, id);
		const char *unit = hsnap_str(&s->strings, t->unit), *slash = strrchr(unit, '/');
		if ((t->kind != HSNAP_DTYPE_STRUCT && t->kind != HSNAP_DTYPE_UNION) || strcmp(name_of(s, id), tag))
			continue;
		if (colon && (strlen(slash ? slash + 1 : unit) != (size_t)(colon - name) ||
			      strncmp(slash ? slash + 1 : unit, name, (size_t)(colon - name))))
			continue;
		if (found)
			return 0;
		found = id;
	}
	return found;
}

ParameterizedTestParameters(symbols_types, what_the_program_knows)
{
	static size_t indices[NUM_ROWS];
	for (size_t i = 0; i < NUM_ROWS; i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, NUM_ROWS);
}

ParameterizedTest(size_t *row, symbols_types, what_the_program_knows)
{
	const char *program = rows[*row].program;
	struct hsnap_symbols *s = load(program);
	FILE *truth = popen(program_path(program), "r");
	char line[512], type[128], member[128], text[128];
	unsigned checked = 0;
	size_t number;
	while (fgets(line, sizeof(line), truth)) {
		bool size = sscanf(line, "size %127s %zu", type, &number) == 2;
		if (!size && sscanf(line, "member %127s %127s %zu %127[^\n]", type, member, &number, text) != 4)
			cr_assert(false, "%s: odd line %s", program, line);
		hsnap_dtype_id id = find(s, type);
		cr_assert(id, "%s: no type %s, or several", program, type);
		checked++;
		if (size) {
			cr_expect_eq(hsnap_dtype(s, id)->size, number, "%s: %s", program, line);
			continue;
		}
		const struct hsnap_dmember *m = member_named(s, id, member);
		cr_assert(m, "%s: no member %s of %s", program, member, type);
		cr_expect_eq(m->offset, number, "%s: %s.%s at %lu", program, type, member, (unsigned long)m->offset);
		/* Type units: a pointer to what two files define differently is unknown (see below). */
		if (strstr(program, "types") && !strncmp(text, "entry *", 7) && !strncmp(written(s, m->type), "void *", 6))
			continue;
		cr_expect_str_eq(written(s, m->type), text, "%s: %s.%s is '%s'", program, type, member,
				 written(s, m->type));
	}
	cr_expect_eq(pclose(truth), 0);
	cr_expect_gt(checked, 30, "%s: only %u facts", program, checked);
	hsnap_symbols_destroy(s);
}

ParameterizedTestParameters(symbols_types, flags_and_files)
{
	static size_t indices[NUM_ROWS];
	for (size_t i = 0; i < NUM_ROWS; i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, NUM_ROWS);
}

ParameterizedTest(size_t *row, symbols_types, flags_and_files)
{
	const char *program = rows[*row].program;
	struct hsnap_symbols *s = load(program);
	static const char *const flexible[] = { "flexible", "old_flexible", "zero_flexible" };
	for (size_t i = 0; i < 3; i++)
		cr_expect(hsnap_dtype(s, find(s, flexible[i]))->flags & HSNAP_DTYPE_FLEXIBLE, "%s: %s", program, flexible[i]);
	cr_expect(!(hsnap_dtype(s, find(s, "all"))->flags & HSNAP_DTYPE_FLEXIBLE));
	cr_expect(hsnap_dtype(s, find(s, "box_t"))->flags & HSNAP_DTYPE_WRAPPED);
	cr_expect(member_named(s, find(s, "all"), "low")->flags & HSNAP_DMEMBER_BITFIELD);
	cr_expect(!(member_named(s, find(s, "all"), "number")->flags & HSNAP_DMEMBER_BITFIELD));
	cr_expect_eq(hsnap_dtype(s, find(s, "either_t"))->kind, HSNAP_DTYPE_UNION);
	cr_expect_eq(hsnap_dtype(s, member_named(s, find(s, "all"), "octet")->type)->kind, HSNAP_DTYPE_BYTE);
	cr_expect_eq(hsnap_dtype(s, member_named(s, find(s, "all"), "number")->type)->kind, HSNAP_DTYPE_SCALAR);

	/* Two struct entry, so two struct table, though one header wrote it; one struct shared. */
	const struct hsnap_dvariable *a = variable_named(s, "a_table"), *b = variable_named(s, "b_table");
	cr_assert(a && b, "%s: no tables", program);
	hsnap_dtype_id first_a = hsnap_dtype(s, member_named(s, a->type, "first")->type)->target;
	hsnap_dtype_id first_b = hsnap_dtype(s, member_named(s, b->type, "first")->type)->target;
	if (strstr(program, "types")) { /* type units cannot tell them apart: unknown, never wrong */
		cr_expect_eq(first_a, 0, "%s: a_table.first is '%s'", program, written(s, first_a));
		cr_expect_eq(first_b, 0, "%s: b_table.first is '%s'", program, written(s, first_b));
	} else {
		cr_expect_neq(a->type, b->type, "%s: two different tables were made one", program);
		cr_expect_eq(first_a, find(s, "shapes.c:entry"), "%s: a_table.first", program);
		cr_expect_eq(first_b, find(s, "shapes_other.c:entry"), "%s: b_table.first", program);
	}
	cr_expect_eq(variable_named(s, "a_shared")->type, variable_named(s, "b_shared")->type);
	/* A declaration is the only definition of that name; without one it stays one. */
	cr_expect_str_eq(written(s, member_named(s, a->type, "opaque")->type), "opaque *", "%s", program);
	cr_expect_str_eq(written(s, member_named(s, a->type, "never")->type), "incomplete never *", "%s", program);
	hsnap_symbols_destroy(s);
}

ParameterizedTestParameters(symbols_types, variables)
{
	static size_t indices[NUM_ROWS];
	for (size_t i = 0; i < NUM_ROWS; i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, NUM_ROWS);
}

ParameterizedTest(size_t *row, symbols_types, variables)
{
	static const struct {
		const char *name, *function, *type;
		bool thread_local_, external;
	} want[] = {
		{ "a_entry", "", "entry", false, false },
		{ "everything", "", "all", false, true },
		{ "flexible", "", "flexible *", false, true },
		{ "hidden_number", "", "int", false, false },
		{ "count", "counter", "int", false, false },
		{ "list", "counter", "only_here *", false, false },
		{ "cache", "counter", "shared *", true, false },
		{ "per_thread", "", "entry *", true, true },
	};
	const char *program = rows[*row].program;
	struct hsnap_symbols *s = load(program);
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		const struct hsnap_dvariable *v = variable_named(s, want[i].name);
		if (!v && *want[i].function && strcmp(program + strlen(program) - 2, "O0"))
			continue; /* the optimiser found it of no use */
		cr_assert(v, "%s: no variable %s", program, want[i].name);
		cr_expect_str_eq(hsnap_str(&s->strings, v->function), want[i].function, "%s: %s", program, want[i].name);
		cr_expect_str_eq(written(s, v->type), want[i].type, "%s: %s", program, want[i].name);
		cr_expect_eq(v->thread_local_, want[i].thread_local_, "%s: %s", program, want[i].name);
		cr_expect_eq(v->external, want[i].external, "%s: %s", program, want[i].name);
		cr_expect(v->thread_local_ ? v->address < 4096 : v->address >= BIAS, "%s: %s", program, want[i].name);
		cr_expect_eq(strncmp(hsnap_str(&s->strings, v->source), "shapes.c:", 9), 0, "%s: %s", program, want[i].name);
	}
	const struct hsnap_dvariable *list = variable_named(s, "list");
	if (list)
		cr_expect_eq(hsnap_dtype(s, hsnap_dtype(s, list->type)->target)->size, 16, "%s", program);
	hsnap_symbols_destroy(s);
}

/* A witness that is not ours: gdb on the same program. */
Test(symbols_types, as_gdb_sees_them)
{
	if (system("command -v gdb >/dev/null 2>&1")) {
		cr_log_warn("no gdb: not tested");
		return;
	}
	char command[8192], line[512], name[128];
	struct hsnap_symbols *s = load("shapes-gcc5-O0");
	static const char *const types[] = { "all", "opaque", "flexible", "old_flexible", "shared" };
	unsigned checked = 0;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		snprintf(command, sizeof(command), "gdb -nx -batch -ex 'ptype /o struct %s' %s/shapes-gcc5-O0 2>/dev/null", types[i],
			 HSNAP_TEST_PROGRAMS);
		hsnap_dtype_id id = find(s, types[i]);
		FILE *gdb = popen(command, "r");
		while (fgets(line, sizeof(line), gdb)) {
			unsigned long offset, size;
			/* Of members alone: those of members stand further in. */
			if (sscanf(line, "/* %lu | %lu */ ", &offset, &size) != 2 || strncmp(strstr(line, "*/") + 2, "    ", 4) ||
			    strstr(line, "*/")[6] == ' ')
				continue;
			char *end = strchr(line, ';'), *start = end;
			while (start && start > line && start[-1] != ' ' && start[-1] != '*')
				start--;
			if (!start || strchr(line, '(') || sscanf(start, "%127[a-z_]", name) != 1)
				continue;
			const struct hsnap_dmember *m = member_named(s, id, name);
			cr_assert(m, "gdb has a member %s of %s: %s", name, types[i], line);
			cr_expect_eq(m->offset, offset, "%s.%s: %s", types[i], name, line);
			checked++;
		}
		pclose(gdb);
	}
	cr_expect_gt(checked, 15, "only %u members", checked);
	hsnap_symbols_destroy(s);
}

/* Which types are the same is told by hashes of the numbers of what they refer to. */
Test(types, a_number_and_a_list_of_numbers_have_hashes_of_their_own)
{
	uint64_t seen[16 + 16 * 16];
	size_t num = 0;
	for (uint64_t a = 0; a < 16; a++) {
		seen[num++] = hsnap_unify_mix(1, a);
		for (uint64_t b = 0; b < 16; b++)
			seen[num++] = hsnap_unify_mix(hsnap_unify_mix(1, a), b);
	}
	for (size_t i = 0; i < num; i++)
		for (size_t k = 0; k < i; k++)
			cr_expect_neq(seen[i], seen[k], "%zu and %zu", i, k);
}
