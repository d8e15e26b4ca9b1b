/* SPDX-License-Identifier: MIT */
/*
 * test_sites.c - who gets the result of a call, at the sites of sites.c and sites.cc.
 *
 * The programs print where their allocators were called from; the source's own line says what the
 * answer must be (sites.c explains the words), and nothing else may be answered.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#include "tests/capture/symbols/support.h"

#define MAX_SITES 64

static const struct {
	const char *program;
} rows[] = {
#define ROW(name) { name },
#include "sites_rows.h"
};
#define NUM_ROWS (sizeof(rows) / sizeof(*rows))

/* What the program says of itself, each place once, in order. */
static size_t run(const char *path, struct hsnap_ask *asks)
{
	FILE *out = popen(path, "r");
	unsigned long offset;
	size_t num = 0;
	while (fscanf(out, "%lx", &offset) == 1) {
		size_t at = 0;
		while (at < num && asks[at].pc < BIAS + offset)
			at++;
		if (offset > (1ul << 30) || (at < num && asks[at].pc == BIAS + offset))
			continue; /* from within a library; or a place that was here before */
		cr_assert(num < MAX_SITES);
		memmove(asks + at + 1, asks + at, (num - at) * sizeof(*asks));
		asks[at] = (struct hsnap_ask){ BIAS + offset, HSNAP_ASK_RESULT };
		num++;
	}
	cr_assert_eq(pclose(out), 0);
	return num;
}

/* The comment of line `number` of sites.c or sites.cc; "" where it has none. */
static const char *wanted(const char *source, char *line, size_t size)
{
	const char *colon = strchr(source, ':');
	char path[4096];
	unsigned number = colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
	snprintf(path, sizeof(path), "%s/%.*s", HSNAP_TEST_SOURCES, (int)(colon ? colon - source : 0), source);
	FILE *f = fopen(path, "re");
	*line = '\0';
	for (unsigned i = 0; f && i < number; i++)
		if (!fgets(line, (int)size, f))
			*line = '\0';
	if (f)
		fclose(f);
	line[strcspn(line, "\n")] = '\0';
	const char *comment = strstr(line, "/*");
	return comment ? comment : "";
}

/* Does the comment have "key: type", the type written to its end there? */
static bool says(const char *comment, const char *key, const char *type)
{
	char text[512];
	size_t len = (size_t)snprintf(text, sizeof(text), "%s: %s", key, type);
	for (const char *at = comment; (at = strstr(at, text)); at++) {
		const char *rest = at + len;
		if (!strncmp(rest, " */", 3) || !strncmp(rest, " returns", 8) || !strncmp(rest, " or:", 4))
			return true;
	}
	return false;
}

static void check_site(const struct hsnap_symbols *s, const struct hsnap_dpc *pc, const char *program,
		       const char *comment, const char *where)
{
	const char *first = NULL;
	bool is_void = false;
	char text[512];
	for (uint32_t i = 0; i < pc->num_results; i++) {
		const struct hsnap_dresult *r = &s->results.items[pc->first_result + i];
		if (!r->pointee) {
			is_void |= r->declared_void;
			continue;
		}
		const char *type = written(s, r->pointee);
		bool allowed = says(comment, "want", type) || says(comment, "maybe", type) || says(comment, "or", type);
		cr_expect(allowed, "%s: %s is offered '%s' at: %s", program, where, type, comment);
		if (!first)
			first = strcpy(text, type);
	}
	if (strstr(comment, "allocates:"))
		return;
	if (strstr(comment, "want: void"))
		cr_expect(is_void || strstr(comment, "tail call"), "%s: %s is not void at: %s", program, where, comment);
	else if (strstr(comment, "want:"))
		cr_expect(first && says(comment, "want", first), "%s: %s is '%s' at: %s", program, where,
			  first ? first : "nothing", comment);
	if (strstr(comment, "returns"))
		cr_expect(pc->returns_result || strstr(comment, "tail call"), "%s: %s does not return it: %s", program,
			  where, comment);
	else
		cr_expect(!pc->returns_result, "%s: %s returns it: %s", program, where, comment);
}

/* An allocator's frame, and what the source says at the call that it is inlined into, if it is. */
static bool check_allocator(const struct hsnap_symbols *s, const struct hsnap_dpc *pc, const char *program,
			    const char *comment, const char *where)
{
	const char *wants = strstr(comment, "allocates: ");
	for (uint32_t i = 0; i < pc->num_frames; i++) {
		hsnap_dtype_id made = s->frames.items[pc->first_frame + i].allocates;
		if (!made)
			continue;
		size_t len = wants ? strcspn(wants + 11, " ") : 0;
		cr_expect(!wants || !strncmp(written(s, made), wants + 11, len), "%s: %s allocates '%s' at: %s", program,
			  where, written(s, made), comment);
		return true;
	}
	return false;
}

ParameterizedTestParameters(symbols_sites, each_site_says_what_it_gets)
{
	static size_t indices[NUM_ROWS];
	for (size_t i = 0; i < NUM_ROWS; i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, NUM_ROWS);
}

ParameterizedTest(size_t *row, symbols_sites, each_site_says_what_it_gets)
{
	const char *program = rows[*row].program;
	char path[4096], line[1024];
	struct hsnap_ask asks[MAX_SITES + 1];
	struct hsnap_target *target = files_target();
	struct hsnap_symbols *s;
	struct hsnap_error err;
	unsigned checked = 0, allocators = 0;
	snprintf(path, sizeof(path), "%s/%s", HSNAP_TEST_PROGRAMS, program);
	size_t num = run(path, asks);
	files_add(target, path, BIAS);
	cr_assert_eq(hsnap_symbols_load(target, asks, num, &s, &err), HSNAP_OK, "%s", err.message);
	for (size_t i = 0; i < num; i++) {
		const struct hsnap_dpc *pc = hsnap_symbols_pc(s, asks[i].pc);
		const char *comment = "", *where = "";
		cr_assert(pc && pc->num_frames, "%s: nothing at %lx", program, (unsigned long)asks[i].pc);
		for (uint32_t k = 0; k < pc->num_frames && !*comment; k++) {
			where = hsnap_str(&s->strings, s->frames.items[pc->first_frame + k].source);
			if (!strncmp(where, "sites.c", 7))
				comment = wanted(where, line, sizeof(line));
		}
		bool made = check_allocator(s, pc, program, comment, where);
		allocators += made;
		if (!*comment)
			cr_expect(made, "%s: nobody knows %s, %s", program,
				  hsnap_str(&s->strings, s->frames.items[pc->first_frame].function), where);
		else if (!made)
			check_site(s, pc, program, comment, where);
		checked += *comment != '\0';
	}
	cr_expect_geq(checked, strstr(program, "c++") ? 8 : 25, "%s: only %u sites", program, checked);
	cr_expect(!strstr(program, "c++") || allocators >= 4, "%s: only %u allocators", program, allocators);
	hsnap_symbols_destroy(s);
	hsnap_target_close(target);
}
