/* SPDX-License-Identifier: MIT */
/*
 * dump.c - print what capture/symbols makes of files, to look at it by hand.
 *
 *	symbols-dump [--facts] [--root DIR] FILE [FILE]... [@PC[:lre]]...
 *
 * With --facts nothing that two builds of one program may differ in: a line a fact.  --root is where
 * our own debug files are looked for, instead of /.
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
		printf("    result %s %s ", text(s, r->name), r->declared_void ? "void" : "");
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
		for (uint32_t p = 0; p < v->num_pieces; p++) {
			const struct hsnap_dpiece *piece = &s->pieces.items[v->first_piece + p];
			printf(", %lu+%lu at %lx", piece->offset, piece->size, piece->address);
		}
		printf("\n");
	}
	for (size_t i = 0; i < s->vtables.num; i++)
		printf("vtable %lx+%lu %s #%u\n", s->vtables.items[i].address, s->vtables.items[i].size,
		       text(s, s->vtables.items[i].class_name), s->vtables.items[i].type);
	for (size_t i = 0; i < s->aliases.num; i++) {
		const struct hsnap_dalias *a = &s->aliases.items[i];
		printf("alias of %s: ", text(s, hsnap_dtype(s, a->opaque)->name));
		print_type(s, a->type);
		printf(" at %u sites, against %u\n", a->sites, a->against);
	}
	for (size_t i = 0; i < s->landings.num; i++) {
		const struct hsnap_dlanding *l = &s->landings.items[i];
		printf("landing ");
		print_type(s, l->holder);
		printf("+%lu: ", l->offset);
		print_type(s, l->type);
		printf(" at %u sites\n", l->sites);
	}
	for (size_t i = 0; i < s->pcs.num; i++)
		print_pc(s, &s->pcs.items[i]);
	printf("totals: types %zu members %zu variables %zu vtables %zu aliases %zu landings %zu frames %zu locals %zu results %zu strings %zu\n",
	       s->types.num, s->members.num, s->variables.num, s->vtables.num, s->aliases.num, s->landings.num, s->frames.num, s->locals.num,
	       s->results.num, s->strings.num);
}

/* --- facts --- */

/* A type as it is the same for every compiler: scalars by size, others by name. */
static void print_fact_type(const struct hsnap_symbols *s, hsnap_dtype_id id, unsigned depth)
{
	const struct hsnap_dtype *t = hsnap_dtype(s, id);
	if ((t->kind == HSNAP_DTYPE_POINTER || t->kind == HSNAP_DTYPE_ARRAY) && depth < 8) {
		print_fact_type(s, t->target, depth + 1);
		if (t->kind == HSNAP_DTYPE_ARRAY)
			printf("[%lu]", t->count);
		else
			printf(t->flags & HSNAP_DTYPE_REFERENCE ? "&" : "*");
	} else if (t->kind == HSNAP_DTYPE_SCALAR) {
		printf("scalar%lu", t->size);
	} else if (t->kind == HSNAP_DTYPE_STRUCT || t->kind == HSNAP_DTYPE_UNION) {
		printf("%s:%lu", t->name ? text(s, t->name) : "{}", t->size);
	} else {
		printf("%s", kinds[t->kind]);
	}
}

static void print_facts(const struct hsnap_symbols *s)
{
	for (hsnap_dtype_id id = 1; id < s->types.num; id++) {
		const struct hsnap_dtype *t = hsnap_dtype(s, id);
		if ((t->kind != HSNAP_DTYPE_STRUCT && t->kind != HSNAP_DTYPE_UNION) || !t->name)
			continue;
		printf("type %s: %s of %lu%s%s%s\n", text(s, t->name), kinds[t->kind], t->size,
		       t->flags & HSNAP_DTYPE_POLYMORPHIC ? " polymorphic" : "", t->flags & HSNAP_DTYPE_FLEXIBLE ? " flexible" : "",
		       t->flags & HSNAP_DTYPE_WRAPPED ? " wrapped" : "");
		for (uint32_t i = 0; i < t->num_members; i++) {
			const struct hsnap_dmember *m = &s->members.items[t->first_member + i];
			printf("member %s.%s%s: %lu ", text(s, t->name),
			       m->flags & HSNAP_DMEMBER_VPTR ? "vptr" : text(s, m->name), m->flags & HSNAP_DMEMBER_BASE ? "base" : "",
			       m->offset);
			print_fact_type(s, m->type, 0);
			printf("\n");
		}
		for (uint32_t i = 0; i < t->num_arguments; i++) {
			printf("argument %s.%u: ", text(s, t->name), i);
			print_fact_type(s, s->arguments.items[t->first_argument + i], 0);
			printf("\n");
		}
	}
	for (size_t i = 0; i < s->variables.num; i++) {
		const struct hsnap_dvariable *v = &s->variables.items[i];
		printf("variable %s%s%s%s at %s%s: ", text(s, v->function), v->function ? "/" : "", text(s, v->name),
		       v->thread_local_ ? " thread-local" : "", text(s, v->source), v->external ? "" : " static");
		print_fact_type(s, v->type, 0);
		printf("\n");
	}
	for (size_t i = 0; i < s->vtables.num; i++)
		printf("vtable %s: %s\n", text(s, s->vtables.items[i].class_name), s->vtables.items[i].type ? "known" : "unknown");
}

static void print_pc_facts(const struct hsnap_symbols *s, const struct hsnap_dpc *pc)
{
	printf("pc %lx%s\n", pc->pc, pc->returns_result ? " returns the result" : "");
	for (uint32_t i = 0; i < pc->num_frames; i++)
		printf("frame %lx %u %s at %s\n", pc->pc, i, text(s, s->frames.items[pc->first_frame + i].function),
		       text(s, s->frames.items[pc->first_frame + i].source));
	for (uint32_t i = 0; i < pc->num_locals; i++) {
		const struct hsnap_dlocal *l = &s->locals.items[pc->first_local + i];
		printf("local %lx %s of %s in %u %u %ld: ", pc->pc, text(s, l->name), text(s, l->function), l->place, l->number,
		       l->offset);
		print_fact_type(s, l->type, 0);
		printf("\n");
	}
	for (uint32_t i = 0; i < pc->num_results; i++) {
		printf("result %lx %s: ", pc->pc, text(s, s->results.items[pc->first_result + i].name));
		print_fact_type(s, s->results.items[pc->first_result + i].pointee, 0);
		printf("\n");
	}
}

static int compare_asks(const void *a, const void *b)
{
	const struct hsnap_ask *x = a, *y = b;
	return (x->pc > y->pc) - (x->pc < y->pc);
}

int main(int argc, char **argv)
{
	struct hsnap_target *target = files_target();
	static struct hsnap_ask asks[2048];
	struct hsnap_child_options options = { 0 };
	size_t num_asks = 0, num_files = 0;
	bool facts = false;
	for (int i = 1; i < argc; i++) {
		char *end;
		if (!strcmp(argv[i], "--facts")) {
			facts = true;
			continue;
		}
		if (!strcmp(argv[i], "--root") && i + 1 < argc) {
			options.debug_root = argv[++i];
			continue;
		}
		if (*argv[i] != '@') {
			files_add(target, argv[i], num_files++ << 40);
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
	enum hsnap_code code = hsnap_symbols_load_with(target, asks, num_asks, &options, &symbols, &err);
	if (code)
		fprintf(stderr, "%s\n", err.message);
	else if (!facts)
		print_all(symbols);
	for (size_t i = 1; !code && facts && i < symbols->modules.num; i++)
		printf("module: %s '%s'\n", symbols->modules.items[i].has_types ? "types" : "no types",
		       text(symbols, symbols->modules.items[i].note));
	if (!code && facts)
		print_facts(symbols);
	for (size_t i = 0; !code && facts && i < symbols->pcs.num; i++)
		print_pc_facts(symbols, &symbols->pcs.items[i]);
	if (!code)
		hsnap_symbols_destroy(symbols);
	hsnap_target_close(target);
	return code ? 1 : 0;
}
