/* SPDX-License-Identifier: MIT */
/*
 * vtables.c - whose vtable it is, where the name does not tell: by the class's functions.
 *
 * Debug info calls classes of lambdas, and what is made of them, by places in the source (clang) or all alike (gcc),
 * clang has local classes in functions without a name, and two files may each have an (anonymous namespace)::Entry.
 * But "_ZTVN2ns5EntryE" and "_ZN2ns5EntryD0Ev" (Itanium C++ ABI 5.1) are of one class, and the latter's entry stands in
 * that.  Names that are local to a file go with those of the same one: a table of symbols has them together (ELF, STT_FILE).
 * An entry must have the very linkage name, or where it has none (gcc, of what is local to a file) nobody else's symbol
 * may be at its address: the linker may have made one function of several (--icf).
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "capture/symbols/pcs.h"
#include "snapshot/base/search.h"

#define MAX_METHODS 8u   /* of a class that are asked for */
#define MAX_MANGLED 4096 /* longer names are left out */
#define MAX_SPLITS 16u   /* places where the name of a function may end in that of a class */

struct symbol {
	const char *name; /* in the file */
	uint64_t address;
	uint32_t file;    /* number of the one that it is local to; 0: to none */
};

/* A function of the class whose vtable it is. */
struct method {
	uint64_t address;
	const char *name;
	uint32_t vtable; /* index into vtables */
};

struct finder {
	struct hsnap_reader *reader;
	uint32_t file, num_files;
	struct hsnap_vec(struct symbol) vtables, functions; /* in order of name and file */
	struct hsnap_vec(struct symbol) by_address;         /* all functions */
	struct hsnap_vec(struct method) methods;            /* in order of address */
	uint32_t *owners; /* one a vtable: index into reader->types; 0: none yet, UINT32_MAX: several */
};

static bool see_symbol(void *context, const Elf64_Sym *symbol, const char *name)
{
	struct finder *finder = context;
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	if (type == STT_FILE)
		finder->file = ++finder->num_files;
	bool is_local = ELF64_ST_BIND(symbol->st_info) == STB_LOCAL, ok = true;
	struct symbol got = { name, symbol->st_value, is_local ? finder->file : 0 };
	if (symbol->st_shndx == SHN_UNDEF || strncmp(name, "_Z", 2) || strnlen(name, MAX_MANGLED) == MAX_MANGLED)
		return true;
	if (type == STT_FUNC)
		ok = hsnap_vec_push(&finder->functions, got) && hsnap_vec_push(&finder->by_address, got);
	else if (type == STT_OBJECT && !strncmp(name, "_ZTV", 4))
		ok = hsnap_vec_push(&finder->vtables, got);
	return ok || hsnap_table_no_memory(finder->reader);
}

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	int names = strcmp(x->name, y->name);
	return names ? names : (x->file > y->file) - (x->file < y->file);
}

static int compare_addresses(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

static int compare_methods(const void *a, const void *b)
{
	const struct method *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->vtable > y->vtable) - (x->vtable < y->vtable);
}

/* Lambdas, local classes, and names that several vtables have. */
static bool is_wanted(const struct finder *finder, uint32_t v)
{
	const struct symbol *symbol = &finder->vtables.items[v];
	bool again = (v && !strcmp(symbol->name, symbol[-1].name)) ||
		     (v + 1 < finder->vtables.num && !strcmp(symbol->name, symbol[1].name));
	return again || symbol->name[4] == 'Z' || strstr(symbol->name, "$_") || strstr(symbol->name, "Ul");
}

/* Does a name of one step follow, and then the end of the function's own: no class in the class, no template? */
static bool is_one_step(const char *at)
{
	if (*at >= '1' && *at <= '9') {
		char *rest;
		unsigned long len = strtoul(at, &rest, 10);
		return len < strlen(rest) && rest[len] == 'E';
	}
	bool is_two = (strchr("CD", *at) && isdigit((unsigned char)at[1])) ||
		      (islower((unsigned char)*at) && islower((unsigned char)at[1]) && strncmp(at, "cv", 2));
	return *at && is_two && at[2] == 'E';
}

/* Functions whose names begin so, and with one step more. */
static void add_methods(struct finder *finder, uint32_t v, const char *prefix)
{
	const struct symbol *functions = finder->functions.items;
	size_t len = strlen(prefix), first = hsnap_first(finder->functions.num, i, strcmp(functions[i].name, prefix) >= 0);
	unsigned num = 0;
	for (size_t i = first; i < finder->functions.num && !strncmp(functions[i].name, prefix, len) && num < MAX_METHODS; i++) {
		if (functions[i].file != finder->vtables.items[v].file || !is_one_step(functions[i].name + len))
			continue;
		num++;
		if (!hsnap_vec_push(&finder->methods, (struct method){ functions[i].address, functions[i].name, v }))
			hsnap_table_no_memory(finder->reader);
	}
}

/* A class's name, as what its functions' names begin with: before `split` stands the function that it is local to. */
static void add_methods_of(struct finder *finder, uint32_t v, const char *encoding, size_t split)
{
	char prefix[MAX_MANGLED + 8];
	const char *class = encoding + split;
	bool nested = *class == 'N';
	size_t len = strlen(class) - 2 * nested;
	for (unsigned is_const = 0; is_const < 2 && len < MAX_MANGLED; is_const++) {
		char *to = stpcpy(prefix, "_Z");
		to = mempcpy(to, encoding, split);
		to = stpcpy(to, is_const ? "NK" : "N");
		*(char *)mempcpy(to, class + nested, len) = '\0';
		add_methods(finder, v, prefix);
	}
}

/* "Z4filliE5Local": what is local to a function stands behind the E of its end. */
static void find_methods(struct finder *finder, uint32_t v)
{
	const char *encoding = finder->vtables.items[v].name + 4;
	size_t len = strlen(encoding);
	if (*encoding != 'Z') {
		if (*encoding != 'N' || encoding[len - 1] == 'E')
			add_methods_of(finder, v, encoding, 0);
		return;
	}
	unsigned splits = 0;
	for (size_t at = len - 1; at > 1 && splits < MAX_SPLITS; at--) {
		if (encoding[at - 1] != 'E' || !isdigit((unsigned char)encoding[at]))
			continue;
		splits++;
		add_methods_of(finder, v, encoding, at);
	}
}

/* "fill(int)" of "vtable for fill(int)::Local": what the class is called after; 0: nothing. */
static hsnap_string scope_of(struct hsnap_reader *reader, const char *mangled)
{
	static const char prefix[] = "vtable for ";
	char *text = hsnap_symtab_demangle(mangled);
	char *end = text && !strncmp(text, prefix, sizeof(prefix) - 1) ? strrchr(text, ':') : NULL;
	hsnap_string scope = 0;
	if (end && end > text + sizeof(prefix) && end[-1] == ':')
		scope = hsnap_strings_add_len(&reader->strings, text + sizeof(prefix) - 1,
					      (size_t)(end - 1 - (text + sizeof(prefix) - 1)));
	free(text);
	if (scope == HSNAP_NO_STRING) {
		hsnap_table_no_memory(reader);
		return 0;
	}
	return scope;
}

/* Of a class in a function the function is read first, for it to be called after that. */
static uint32_t owner_of(struct hsnap_reader *reader, const struct symbol *vtable, hsnap_die_key function)
{
	struct hsnap_die_facts facts;
	hsnap_die_key key = function;
	for (unsigned hops = 0; vtable->name[4] == 'Z' && key && key != HSNAP_DIE_UNKNOWN && hops < 4; hops++) {
		struct hsnap_raw_function *outer = key != function ? hsnap_table_function(reader, key) : NULL;
		if (outer && outer->key != key)
			hsnap_index_walk_function(reader, outer, scope_of(reader, vtable->name));
		if (!hsnap_table_facts(reader, key, &facts))
			return 0;
		key = facts.specification ? facts.specification : facts.origin;
	}
	return hsnap_table_owner(reader, function);
}

/* Is the function at that address the method, and no other one? */
static bool is_alone(const struct finder *finder, const struct method *method)
{
	const struct symbol *items = finder->by_address.items;
	for (size_t i = hsnap_first(finder->by_address.num, m, items[m].address >= method->address);
	     i < finder->by_address.num && items[i].address == method->address; i++)
		if (!hsnap_symtab_same_function(items[i].name, method->name))
			return false;
	return true;
}

static void see_function(void *context, uint64_t address, hsnap_die_key function)
{
	struct finder *finder = context;
	const struct method *methods = finder->methods.items;
	const char *name = hsnap_table_linkage_name(finder->reader, function);
	for (size_t i = hsnap_first(finder->methods.num, m, methods[m].address >= address);
	     i < finder->methods.num && methods[i].address == address; i++) {
		uint32_t *owner = &finder->owners[methods[i].vtable];
		if (name ? !hsnap_symtab_same_function(name, methods[i].name) : !is_alone(finder, &methods[i]))
			continue;
		uint32_t found = owner_of(finder->reader, &finder->vtables.items[methods[i].vtable], function);
		if (found)
			*owner = *owner && *owner != found ? UINT32_MAX : found;
	}
}

static int compare_owners(const void *a, const void *b)
{
	const struct hsnap_raw_owner *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void ask_functions(struct finder *finder)
{
	struct hsnap_vec(uint64_t) addresses = { 0 };
	qsort(finder->by_address.items, finder->by_address.num, sizeof(*finder->by_address.items), compare_addresses);
	qsort(finder->methods.items, finder->methods.num, sizeof(*finder->methods.items), compare_methods);
	for (size_t i = 0; i < finder->methods.num; i++)
		if ((!i || finder->methods.items[i].address != finder->methods.items[i - 1].address) &&
		    !hsnap_vec_push(&addresses, finder->methods.items[i].address))
			hsnap_table_no_memory(finder->reader);
	hsnap_pcs_functions(finder->reader, addresses.items, addresses.num, see_function, finder);
	hsnap_vec_deinit(&addresses);
}

void hsnap_vtables_find(struct hsnap_reader *reader)
{
	struct finder finder = { .reader = reader };
	struct hsnap_elf *elf = reader->dies->elf != reader->program && hsnap_elf_find(reader->dies->elf, ".symtab")
					? reader->dies->elf : reader->program;
	hsnap_elf_symbols(elf, false, see_symbol, &finder);
	finder.owners = finder.vtables.num ? calloc(finder.vtables.num, sizeof(*finder.owners)) : NULL;
	if (finder.vtables.num && !finder.owners)
		hsnap_table_no_memory(reader);
	if (finder.owners)
		qsort(finder.vtables.items, finder.vtables.num, sizeof(*finder.vtables.items), compare_symbols);
	if (finder.owners && finder.functions.num)
		qsort(finder.functions.items, finder.functions.num, sizeof(*finder.functions.items), compare_symbols);
	for (uint32_t v = 0; finder.owners && v < finder.vtables.num; v++)
		if (is_wanted(&finder, v))
			find_methods(&finder, v);
	if (finder.methods.num)
		ask_functions(&finder);
	for (uint32_t v = 0; finder.owners && v < finder.vtables.num; v++) {
		struct hsnap_raw_owner owner = { finder.vtables.items[v].address, finder.vtables.items[v].name, finder.owners[v] };
		if (owner.type && owner.type != UINT32_MAX && !hsnap_vec_push(&reader->owners, owner))
			hsnap_table_no_memory(reader);
	}
	if (reader->owners.num)
		qsort(reader->owners.items, reader->owners.num, sizeof(*reader->owners.items), compare_owners);
	free(finder.owners);
	hsnap_vec_deinit(&finder.vtables);
	hsnap_vec_deinit(&finder.functions);
	hsnap_vec_deinit(&finder.by_address);
	hsnap_vec_deinit(&finder.methods);
}
