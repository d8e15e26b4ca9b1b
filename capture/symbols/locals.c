/* SPDX-License-Identifier: MIT */
/*
 * locals.c - which functions hold classes whose objects say so by a vtable.
 *
 * As for their statics, not every function is entered: the symbols of the vtables name those that have such a
 * class ("_ZTVZ4filliE5Local": Itanium C++ ABI 5.1.6), in the words of the function's own linkage name
 * ("_Z4filli"; static ones have none, and go by their name if there is no other of it).  What the function holds
 * is called after it, as the vtable is: "fill(int)::Local".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/symbols/reader.h"
#include "snapshot/base/search.h"

/* libstdc++, Itanium C++ ABI 3.4 (cxxabi.h is for C++ alone): malloc'ed, or NULL. */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *size, int *status);

#define MAX_MANGLED 16384

static const char local[] = "_ZTVZ";

/* What follows "_ZTVZ"; borrowed from the file. */
struct locals hsnap_vec_body(const char *);

struct see {
	struct hsnap_reader *reader;
	struct locals *locals;
};

static bool see_symbol(void *context, const Elf64_Sym *symbol, const char *name)
{
	struct see *see = context;
	if (symbol->st_shndx != SHN_UNDEF && !strncmp(name, local, sizeof(local) - 1) &&
	    !hsnap_vec_push(see->locals, name + sizeof(local) - 1))
		return hsnap_table_no_memory(see->reader);
	return true;
}

static int compare_locals(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Is one of them a class in the function of that encoding? */
static bool has_class(const struct locals *locals, const char *encoding)
{
	size_t len = strlen(encoding);
	size_t first = hsnap_first(locals->num, i, strcmp(locals->items[i], encoding) >= 0);
	/* "4fill" stands before "4fillE5Local", but there may be "4fill1x" between. */
	for (size_t i = first; i < locals->num && !strncmp(locals->items[i], encoding, len); i++)
		if (locals->items[i][len] == 'E')
			return true;
	return false;
}

static hsnap_string demangled(struct hsnap_reader *reader, const char *mangled)
{
	int status = 0;
	char *text = strnlen(mangled, MAX_MANGLED) < MAX_MANGLED ? __cxa_demangle(mangled, NULL, NULL, &status) : NULL;
	hsnap_string string = text ? hsnap_table_string(reader, text) : 0;
	free(text);
	return string;
}

/* "fill(int)" of "vtable for fill(int)::Local"; else 0. */
static hsnap_string function_in(struct hsnap_reader *reader, const char *text, const char *name)
{
	static const char prefix[] = "vtable for ";
	size_t len = strlen(name), depth = 0;
	if (strncmp(text, prefix, sizeof(prefix) - 1))
		return 0;
	text += sizeof(prefix) - 1;
	if (strncmp(text, name, len) || text[len] != '(')
		return 0;
	do {
		depth += text[len] == '(';
		depth -= text[len] == ')';
	} while (text[len++] && depth);
	return depth ? 0 : hsnap_strings_add_len(&reader->strings, text, len);
}

/* A function that no other module sees has no linkage name: what its classes say, if all say the same. */
static hsnap_string scope_of_static(struct hsnap_reader *reader, const struct locals *locals, const char *name)
{
	char encoding[512], mangled[MAX_MANGLED + sizeof(local)];
	int len = snprintf(encoding, sizeof(encoding), "L%zu%s", strlen(name), name);
	if (len < 0 || (size_t)len >= sizeof(encoding))
		return 0;
	hsnap_string scope = 0;
	size_t first = hsnap_first(locals->num, i, strcmp(locals->items[i], encoding) >= 0);
	for (size_t i = first; i < locals->num && !strncmp(locals->items[i], encoding, (size_t)len); i++) {
		if (strnlen(locals->items[i], MAX_MANGLED) == MAX_MANGLED)
			return 0;
		stpcpy(stpcpy(mangled, local), locals->items[i]);
		int status = 0;
		char *text = __cxa_demangle(mangled, NULL, NULL, &status);
		hsnap_string one = text ? function_in(reader, text, name) : 0;
		free(text);
		if (one == HSNAP_NO_STRING)
			return hsnap_table_no_memory(reader);
		if (!one || (scope && one != scope))
			return 0;
		scope = one;
	}
	return scope;
}

/* A function that is to be walked. */
struct found {
	uint32_t function; /* index into functions */
	hsnap_string scope;
	bool by_name;      /* it may be another of that name */
};

struct list hsnap_vec_body(struct found);

/* What classes in the function are called after, if any says so by a vtable; else 0. */
static struct found look_at(struct hsnap_reader *reader, const struct locals *locals, uint32_t function)
{
	struct found found = { .function = function };
	struct hsnap_die_facts facts;
	if (!hsnap_table_facts(reader, reader->functions.items[function].key, &facts))
		return found;
	const char *mangled = hsnap_table_linkage_name(reader, reader->functions.items[function].key);
	if (mangled) {
		if (!strncmp(mangled, "_Z", 2) && has_class(locals, mangled + 2))
			found.scope = demangled(reader, mangled);
	} else if (facts.name && !strcmp(facts.name, "main")) {
		found.scope = has_class(locals, "4main") ? hsnap_table_string(reader, facts.name) : 0;
	} else if (facts.name && !reader->functions.items[function].scope) {
		found.scope = scope_of_static(reader, locals, facts.name);
		found.by_name = true;
	}
	return found;
}

static int compare_found(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	if (x->scope != y->scope)
		return x->scope < y->scope ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

void hsnap_locals_walk(struct hsnap_reader *reader)
{
	struct locals locals = { 0 };
	struct list list = { 0 };
	struct see see = { reader, &locals };
	if (reader->dies->elf != reader->program)
		hsnap_elf_symbols(reader->dies->elf, false, see_symbol, &see);
	hsnap_elf_symbols(reader->program, false, see_symbol, &see);
	hsnap_elf_symbols(reader->program, true, see_symbol, &see);
	if (locals.num)
		qsort(locals.items, locals.num, sizeof(*locals.items), compare_locals);
	for (uint32_t i = 0; locals.num && i < reader->functions.num && !reader->no_memory; i++) {
		struct found one = look_at(reader, &locals, i);
		if (one.scope && !hsnap_vec_push(&list, one))
			hsnap_table_no_memory(reader);
	}
	if (list.num)
		qsort(list.items, list.num, sizeof(*list.items), compare_found);
	for (size_t i = 0; i < list.num && !reader->no_memory; i++) {
		const struct found *one = &list.items[i];
		bool alone = !(i && one[-1].scope == one->scope) && !(i + 1 < list.num && one[1].scope == one->scope);
		if (alone || !one->by_name)
			hsnap_index_walk_function(reader, &reader->functions.items[one->function], one->scope);
	}
	hsnap_vec_deinit(&list);
	hsnap_vec_deinit(&locals);
}
