/* SPDX-License-Identifier: MIT */
/*
 * fuzz_types.c - files for --types of anybody's making.
 *
 * Input: the text.  Holds: it ends; what is refused is refused in one line, with its place and a mend; what can be
 * bound to a small made-up program reads nothing but that program's memory, however often it is run.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/naming/bound.h"
#include "capture/target/target.h"
#include "tests/fuzz/fuzz.h"

#define MEMORY 0x10000u
#define MEMORY_SIZE 4096u

static void require(bool holds)
{
	if (!holds)
		abort();
}

static hsnap_string add_string(struct hsnap_symbols *s, const char *text)
{
	hsnap_string string = hsnap_strings_add(&s->strings, text);
	require(string != HSNAP_NO_STRING);
	return string;
}

static hsnap_dtype_id add_type(struct hsnap_symbols *s, const char *name, uint8_t kind, uint64_t size, hsnap_dtype_id target)
{
	struct hsnap_dtype type = { .name = add_string(s, name), .kind = kind, .size = size, .target = target, .module = 1,
				    .first_member = (uint32_t)s->members.num };
	require(hsnap_vec_push(&s->types, type));
	return (hsnap_dtype_id)s->types.num - 1;
}

static void add_member(struct hsnap_symbols *s, hsnap_dtype_id type, const char *name, uint64_t offset, hsnap_dtype_id of,
		       uint32_t flags)
{
	struct hsnap_dmember member = { .name = add_string(s, name), .offset = offset, .type = of, .flags = flags };
	require(hsnap_vec_push(&s->members, member));
	s->types.items[type].num_members++;
}

/* struct A { void *p; int n; unsigned b:3; union U u; A *a; void *v[2]; }; struct B { A; char c; }; and the variable g. */
static void fill(struct hsnap_symbols *s)
{
	require(hsnap_vec_push(&s->types, (struct hsnap_dtype){ 0 }));
	require(hsnap_vec_push(&s->modules, (struct hsnap_dmodule){ 0 }));
	require(hsnap_vec_push(&s->modules, (struct hsnap_dmodule){ .has_types = true }));
	hsnap_dtype_id pointer = add_type(s, "", HSNAP_DTYPE_POINTER, 8, 0), number = add_type(s, "int", HSNAP_DTYPE_SCALAR, 4, 0);
	hsnap_dtype_id byte = add_type(s, "char", HSNAP_DTYPE_BYTE, 1, 0), array = add_type(s, "", HSNAP_DTYPE_ARRAY, 16, pointer);
	s->types.items[array].count = 2;
	hsnap_dtype_id onion = add_type(s, "U", HSNAP_DTYPE_UNION, 8, 0);
	add_member(s, onion, "q", 0, pointer, 0);
	add_member(s, onion, "m", 0, number, 0);
	hsnap_dtype_id a = add_type(s, "A", HSNAP_DTYPE_STRUCT, 48, 0);
	hsnap_dtype_id to_a = (hsnap_dtype_id)s->types.num;
	add_member(s, a, "p", 0, pointer, 0);
	add_member(s, a, "n", 8, number, 0);
	add_member(s, a, "b", 12, number, HSNAP_DMEMBER_BITFIELD | 3 << 16);
	add_member(s, a, "u", 16, onion, 0);
	add_member(s, a, "a", 24, to_a, 0);
	add_member(s, a, "v", 32, array, 0);
	require(add_type(s, "", HSNAP_DTYPE_POINTER, 8, a) == to_a);
	hsnap_dtype_id b = add_type(s, "B", HSNAP_DTYPE_STRUCT, 56, 0);
	add_member(s, b, "", 0, a, HSNAP_DMEMBER_BASE);
	add_member(s, b, "c", 48, byte, 0);
	struct hsnap_dvariable variable = { .name = add_string(s, "g"), .address = MEMORY, .type = to_a, .module = 1 };
	require(hsnap_vec_push(&s->variables, variable));
	struct hsnap_dword word = { .name = add_string(s, "ONE"), .module = 1, .value = 1 };
	require(hsnap_vec_push(&s->words, word));
}

static void run_all(const struct hsnap_bounds *bounds, const struct hsnap_target *target)
{
	for (size_t i = 1; i < bounds->bounds.num; i++) {
		const struct hsnap_bound *bound = &bounds->bounds.items[i];
		const struct hsnap_program programs[] = { bound->place, bound->pointers, bound->count, bound->when };
		for (uint64_t at = 0; at <= MEMORY_SIZE; at += 40) {
			struct hsnap_values values = { .target = target, .base = MEMORY + at, .led_to = MEMORY + MEMORY_SIZE - at,
						       .word = at };
			int64_t one = 0, two = 1;
			for (size_t p = 0; p < sizeof(programs) / sizeof(*programs); p++)
				if (hsnap_run_program(bounds, programs[p], &values, &one))
					require(hsnap_run_program(bounds, programs[p], &values, &two) && one == two);
		}
	}
}

static void bind(const struct hsnap_rules *rules)
{
	static uint8_t memory[MEMORY_SIZE];
	struct hsnap_symbols *symbols = calloc(1, sizeof(*symbols));
	struct hsnap_target *target = hsnap_image_create();
	struct hsnap_bounds bounds;
	struct hsnap_error err = { 0 };
	require(symbols && target);
	for (size_t i = 0; i < MEMORY_SIZE; i++)
		memory[i] = (uint8_t)(i * 7 % 251);
	require(hsnap_image_add(target, MEMORY, memory, MEMORY_SIZE, HSNAP_PROT_READ | HSNAP_PROT_WRITE, "/usr/bin/app"));
	struct hsnap_target_module module = { .start = MEMORY, .end = MEMORY + MEMORY_SIZE, .path = target->mappings.items[0].path };
	require(hsnap_image_add_module(target, &module));
	require(hsnap_strings_add(&symbols->strings, "") != HSNAP_NO_STRING);
	fill(symbols);
	enum hsnap_code code = hsnap_bounds_init(&bounds, rules, target, symbols, &err);
	require(!code || code == HSNAP_REFUSED);
	require(!code || (err.message[0] && err.hint[0] && !strchr(err.message, '\n')));
	if (!code)
		run_all(&bounds, target);
	hsnap_bounds_deinit(&bounds);
	hsnap_target_close(target);
	hsnap_symbols_destroy(symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct hsnap_rules rules = { 0 };
	struct hsnap_error err = { 0 };
	enum hsnap_code code = hsnap_rules_parse(&rules, "t", (const char *)bytes, size, &err);
	require(!code || code == HSNAP_FORMAT);
	require(!code || (!strncmp(err.message, "t:", 2) && err.hint[0]));
	if (!code) {
		size_t num;
		const char **words = hsnap_rules_words(&rules, &num);
		require(words);
		free(words);
		bind(&rules);
	}
	hsnap_rules_deinit(&rules);
	return 0;
}
