/* SPDX-License-Identifier: MIT */
/*
 * dump.c - print what capture/symbols makes of files, to look at it by hand.
 *
 *	symbols-dump FILE [FILE]... [@PC[:lre]]...
 *
 * Each file is a module at bias 0 but the first's PCs are what can be asked: addresses of its
 * headers; l asks for locals, r for who gets the result of the call that returns there, e says
 * that it is no return address.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/capture/symbols/support.h"

static const char *const kinds[] = { "void", "scalar", "byte", "pointer", "struct", "union", "array", "function", "incomplete" };

static const char *text(const struct hsnap_symbols *s, hsnap_string string)
{
	return hsnap_str(&s->strings, string);
}

static void print_type(const struct hsnap_symbols *s, hsnap_dtype_id id)
{
	printf("#%u (%s)", id, written(s, id));
}

static void print_types(const struct hsnap_symbols *s)
{
	for (hsnap_dtype_id id = 1; id < s->types.num; id++) {
		const struct hsnap_dtype *t = hsnap_dtype(s, id);
		printf("type #%u %s '%s' size %lu count %lu flags %x at %s:%u ", id, kinds[t->kind], text(s, t->name), t->size,
		       t->count, t->flags, text(s, t->unit), t->line);
		if (t->target)
			print_type(s, t->target);
		for (uint32_t i = 0; i < t->num_arguments; i++) {
			printf(" <");
			print_type(s, s->arguments.items[t->first_argument + i]);
			printf(">");
		}
		printf("\n");
		for (uint32_t i = 0; i < t->num_members; i++) {
			const struct hsnap_dmember *m = &s->members.items[t->first_member + i];
			printf("    +%lu %s flags %x ", m->offset, text(s, m->name), m->flags);
			print_type(s, m->type);
			printf("\n");
		}
	}
}

static void print_pc(const struct hsnap_symbols *s, const struct hsnap_dpc *pc)
{
	printf("pc %lx%s\n", pc->pc, pc->returns_result ? " (returns the result)" : "");
	for (uint32_t i = 0; i < pc->num_frames; i++) {
		const struct hsnap_dframe *f = &s->frames.items[pc->first_frame + i];
		printf("    in %s at %s", text(s, f->function), text(s, f->source));
		if (f->allocates) {
			printf(" allocates ");
			print_type(s, f->allocates);
		}
		printf("\n");
	}
	for (uint32_t i = 0; i < pc->num_locals; i++) {
		const struct hsnap_dlocal *l = &s->locals.items[pc->first_local + i];
		printf("    local %s of %s: place %u number %u offset %ld ", text(s, l->name), text(s, l->function), l->place,
		       l->number, l->offset);
		print_type(s, l->type);
		printf("\n");
	}
	for (uint32_t i = 0; i < pc->num_results; i++) {
		const struct hsnap_dresult *r = &s->results.items[pc->first_result + i];
		printf("    result %s ", r->declared_void ? "void" : "");
		print_type(s, r->pointee);
		printf("\n");
	}
}

static void print_all(const struct hsnap_symbols *s)
{
	for (size_t i = 1; i < s->modules.num; i++)
		printf("module %zu: has types: %d, note '%s'\n", i, s->modules.items[i].has_types,
		       text(s, s->modules.items[i].note));
	print_types(s);
	for (size_t i = 0; i < s->variables.num; i++) {
		const struct hsnap_dvariable *v = &s->variables.items[i];
		printf("variable %s%s%s %s%lx at %s%s ", text(s, v->function), v->function ? "/" : "", text(s, v->name),
		       v->thread_local_ ? "tls " : "", v->address, text(s, v->source), v->external ? "" : " static");
		print_type(s, v->type);
		printf("\n");
	}
	for (size_t i = 0; i < s->vtables.num; i++)
		printf("vtable %lx+%lu %s #%u\n", s->vtables.items[i].address, s->vtables.items[i].size,
		       text(s, s->vtables.items[i].class_name), s->vtables.items[i].type);
	for (size_t i = 0; i < s->pcs.num; i++)
		print_pc(s, &s->pcs.items[i]);
	printf("totals: types %zu members %zu variables %zu vtables %zu frames %zu locals %zu results %zu strings %zu\n",
	       s->types.num, s->members.num, s->variables.num, s->vtables.num, s->frames.num, s->locals.num,
	       s->results.num, s->strings.num);
}

static int compare_asks(const void *a, const void *b)
{
	const struct hsnap_ask *x = a, *y = b;
	return (x->pc > y->pc) - (x->pc < y->pc);
}

int main(int argc, char **argv)
{
	struct hsnap_target *target = files_target();
	struct hsnap_ask asks[512];
	size_t num_asks = 0;
	for (int i = 1; i < argc; i++) {
		char *end;
		if (*argv[i] != '@') {
			files_add(target, argv[i], (uint64_t)(i - 1) << 40);
			continue;
		}
		if (num_asks == sizeof(asks) / sizeof(*asks))
			return 2;
		struct hsnap_ask ask = { .pc = strtoull(argv[i] + 1, &end, 16) };
		ask.what = (strchr(end, 'l') ? HSNAP_ASK_LOCALS : 0) | (strchr(end, 'r') ? HSNAP_ASK_RESULT : 0) |
			   (strchr(end, 'e') ? HSNAP_ASK_EXACT : 0);
		asks[num_asks++] = ask;
	}
	qsort(asks, num_asks, sizeof(*asks), compare_asks);
	struct hsnap_symbols *symbols;
	struct hsnap_error err;
	enum hsnap_code code = hsnap_symbols_load(target, asks, num_asks, &symbols, &err);
	if (code)
		fprintf(stderr, "%s\n", err.message);
	else
		print_all(symbols);
	if (!code)
		hsnap_symbols_destroy(symbols);
	hsnap_target_close(target);
	return code ? 1 : 0;
}
