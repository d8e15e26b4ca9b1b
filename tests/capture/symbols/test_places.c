/* SPDX-License-Identifier: MIT */
/* test_places.c - functions, lines and variables at a PC, against what places.c prints of itself. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#include "tests/capture/symbols/support.h"

static const struct {
	const char *program;
} rows[] = {
#define ROW(name) { name },
#include "places_rows.h"
};
#define NUM_ROWS (sizeof(rows) / sizeof(*rows))

static const struct hsnap_dlocal *local_named(const struct hsnap_symbols *s, const struct hsnap_dpc *pc, const char *name)
{
	for (uint32_t i = 0; i < pc->num_locals; i++)
		if (!strcmp(hsnap_str(&s->strings, s->locals.items[pc->first_local + i].name), name))
			return &s->locals.items[pc->first_local + i];
	return NULL;
}

/* Unoptimised, everything is counted from the CFA, or from the frame pointer, which is 16 below. */
static long from_cfa(const struct hsnap_dlocal *local)
{
	if (local->place == HSNAP_PLACE_CFA)
		return (long)local->offset;
	cr_expect(local->place == HSNAP_PLACE_BASE && local->number == HSNAP_REG_FRAME);
	return (long)local->offset - 16;
}

static void check_optimised(const struct hsnap_symbols *s, const struct hsnap_dpc *pc, const char *program)
{
	/* What is used after the call must be somewhere that the call does not destroy. */
	const struct hsnap_dlocal *found = local_named(s, pc, "found");
	cr_assert(found, "%s: `found` is nowhere", program);
	cr_expect_str_eq(written(s, found->type), "node *", "%s", program);
	uint32_t kept = 1u << 3 | 1u << 6 | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 15;
	cr_expect(found->place != HSNAP_PLACE_REGISTER || kept >> found->number & 1, "%s: in register %u", program,
		  found->number);
	const struct hsnap_dlocal *here = local_named(s, pc, "here");
	cr_assert(here, "%s: `here` is nowhere", program);
	cr_expect_neq(here->place, HSNAP_PLACE_REGISTER, "%s", program);
	cr_expect_str_eq(written(s, here->type), "point", "%s", program);
}

ParameterizedTestParameters(symbols_places, frames_and_locals)
{
	static size_t indices[NUM_ROWS];
	for (size_t i = 0; i < NUM_ROWS; i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, NUM_ROWS);
}

ParameterizedTest(size_t *row, symbols_places, frames_and_locals)
{
	const char *program = rows[*row].program;
	char path[4096], line[512], name[64], text[64];
	struct hsnap_target *target = files_target();
	struct hsnap_symbols *s;
	struct hsnap_error err;
	unsigned long offset;
	unsigned frames = 0, locals = 0;
	long place;
	snprintf(path, sizeof(path), "%s/%s", HSNAP_TEST_PROGRAMS, program);
	FILE *out = popen(path, "r");
	cr_assert(fgets(line, sizeof(line), out) && sscanf(line, "%lx", &offset) == 1);
	struct hsnap_ask ask = { BIAS + offset, HSNAP_ASK_LOCALS };
	files_add(target, path, BIAS);
	cr_assert_eq(hsnap_symbols_load(target, &ask, 1, &s, &err), HSNAP_OK, "%s", err.message);
	const struct hsnap_dpc *pc = hsnap_symbols_pc(s, ask.pc);
	cr_assert(pc, "%s", program);
	while (fgets(line, sizeof(line), out)) {
		if (sscanf(line, "frame %63s %63s", name, text) == 2) {
			cr_assert_lt(frames, pc->num_frames, "%s: no frame for %s", program, line);
			const struct hsnap_dframe *f = &s->frames.items[pc->first_frame + frames++];
			cr_expect_str_eq(hsnap_str(&s->strings, f->function), name, "%s: frame %u", program, frames);
			cr_expect_str_eq(hsnap_str(&s->strings, f->source), text, "%s: frame %u", program, frames);
		} else if (sscanf(line, "local %63s %ld %63[^\n]", name, &place, text) == 3) {
			const struct hsnap_dlocal *local = local_named(s, pc, name);
			cr_assert(local, "%s: no local %s", program, name);
			cr_expect_eq(from_cfa(local), place, "%s: %s at %ld, not %ld", program, name, from_cfa(local), place);
			cr_expect_str_eq(written(s, local->type), text, "%s: %s", program, name);
			cr_expect_str_eq(hsnap_str(&s->strings, local->function), "outer", "%s: %s", program, name);
			locals++;
		}
	}
	cr_expect_eq(pclose(out), 0);
	cr_expect_eq(frames, 3, "%s", program);
	cr_expect_eq(pc->num_frames, 3, "%s: %u frames", program, pc->num_frames);
	if (strstr(program, "O2"))
		check_optimised(s, pc, program);
	else
		cr_expect_eq(locals, 5, "%s", program);
	hsnap_symbols_destroy(s);
	hsnap_target_close(target);
}

/* Without debug info the symbol table names functions, demangled, without what debug info has not. */
Test(symbols_places, names_from_the_symbol_table)
{
	struct hsnap_target *target = files_target();
	struct hsnap_symbols *s;
	struct hsnap_error err;
	unsigned long address = 0, value;
	char line[512], name[256];
	FILE *nm = popen("nm -D --defined-only " HSNAP_LIBSTDCXX, "r");
	while (fgets(line, sizeof(line), nm))
		if (sscanf(line, "%lx %*c %255s", &value, name) == 2 &&
		    !strcmp(name, "_ZNSt6thread4joinEv@@GLIBCXX_3.4.11"))
			address = value;
	pclose(nm);
	if (!address)
		return;
	uint32_t module = files_add(target, HSNAP_LIBSTDCXX, BIAS);
	struct hsnap_ask asks[] = { { BIAS + address, HSNAP_ASK_EXACT }, { BIAS + address + 1, 0 } };
	cr_assert_eq(hsnap_symbols_load(target, asks, 2, &s, &err), HSNAP_OK, "%s", err.message);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(s->pcs.items[i].num_frames, 1);
		const struct hsnap_dframe *f = &s->frames.items[s->pcs.items[i].first_frame];
		cr_expect_str_eq(hsnap_str(&s->strings, f->function), "std::thread::join");
	}
	cr_expect_gt(s->vtables.num, 50, "only %zu vtables", s->vtables.num);
	bool found = false;
	for (size_t i = 0; i < s->vtables.num; i++) {
		cr_assert(!i || s->vtables.items[i - 1].address < s->vtables.items[i].address, "vtables out of order");
		found |= !strcmp(hsnap_str(&s->strings, s->vtables.items[i].class_name), "std::bad_alloc");
	}
	cr_expect(found, "no vtable of std::bad_alloc");
	cr_expect(s->modules.items[module].has_types || s->modules.items[module].note, "neither types nor a note");
	hsnap_symbols_destroy(s);
	hsnap_target_close(target);
}
