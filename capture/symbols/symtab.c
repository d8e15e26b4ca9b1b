/* SPDX-License-Identifier: MIT */
/* symtab.c - what the symbol table knows: functions without debug info, and vtables. */
#include <ctype.h>
#include <string.h>

#include "capture/symbols/pcs.h"
#include "snapshot/base/search.h"

/* libstdc++, Itanium C++ ABI 3.4 (cxxabi.h is for C++ alone): malloc'ed, or NULL. */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *size, int *status);

#define MAX_MANGLED 16384

struct symbol {
	uint64_t address, size;
	const char *name; /* in the file */
};

struct symbols hsnap_vec_body(struct symbol);

struct see {
	struct hsnap_reader *reader;
	struct symbols *functions; /* NULL: not wanted */
	struct symbols *vtables;
};

static bool see_symbol(void *context, const Elf64_Sym *symbol, const char *name)
{
	struct see *see = context;
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	struct symbol got = { symbol->st_value, symbol->st_size, name };
	if (symbol->st_shndx == SHN_UNDEF || !symbol->st_value)
		return true;
	struct symbols *list = NULL;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		list = see->functions;
	else if (type == STT_OBJECT && symbol->st_size && !strncmp(name, "_ZTV", 4))
		list = see->vtables;
	if (list && !hsnap_vec_push(list, got))
		return hsnap_table_no_memory(see->reader);
	return true;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return strcmp(x->name, y->name);
}

char *hsnap_symtab_demangle(const char *name)
{
	int status = 0;
	if (strncmp(name, "_Z", 2) || strnlen(name, MAX_MANGLED) == MAX_MANGLED)
		return NULL;
	return __cxa_demangle(name, NULL, NULL, &status);
}

/* "ns::f(int) const" → "ns::f": as debug info names functions. */
static void cut_parameters(char *name)
{
	char *end = strrchr(name, ')');
	if (!end)
		return;
	unsigned open = 0;
	for (char *at = end; at > name; at--) {
		open += *at == ')';
		open -= *at == '(';
		if (!open) {
			*at = '\0';
			return;
		}
	}
}

/* The function's name without its return type, which templates have: "void f<int>" → "f<int>". */
static const char *cut_return_type(const char *name)
{
	const char *start = name;
	int depth = 0;
	for (const char *at = name; *at; at++) {
		if (!strncmp(at, "operator", 8))
			break;
		depth += (*at == '<' || *at == '(') - (*at == '>' || *at == ')');
		if (*at == ' ' && !depth)
			start = at + 1;
	}
	return start;
}

bool hsnap_symtab_same_function(const char *a, const char *b)
{
	size_t at = 0;
	while (a[at] && a[at] == b[at])
		at++;
	bool is_kind = at && strchr("CD", a[at - 1]) && isdigit((unsigned char)a[at]) && isdigit((unsigned char)b[at]);
	return !strcmp(a + at + is_kind, b + at + is_kind);
}

static const struct symbol *find_symbol(const struct symbols *list, uint64_t address)
{
	size_t low = hsnap_first(list->num, i, list->items[i].address > address);
	/* Aliases and nested symbols: the nearest one that reaches so far. */
	for (size_t i = low, tries = 0; i && tries < 16; i--, tries++) {
		const struct symbol *symbol = &list->items[i - 1];
		if (address - symbol->address < symbol->size || (!symbol->size && address == symbol->address))
			return symbol;
	}
	return NULL;
}

static void name_frame(struct hsnap_reader *reader, const struct symbols *functions, const struct hsnap_ask *ask,
		       struct hsnap_dpc *pc)
{
	uint64_t address = ask->pc - reader->bias;
	const struct symbol *symbol = find_symbol(functions, address - !(ask->what & HSNAP_ASK_EXACT));
	if (!symbol)
		return;
	if (ask->what & HSNAP_ASK_RESULT && !pc->num_frames)
		hsnap_result_answer(reader, 0, symbol->address, symbol->address + symbol->size, address, pc);
	char *text = hsnap_symtab_demangle(symbol->name);
	if (text)
		cut_parameters(text);
	struct hsnap_dframe frame = {
		.function = hsnap_table_string(reader, text ? cut_return_type(text) : symbol->name),
		.module = reader->module,
	};
	free(text);
	if (!text) { /* "free.part.0", "memcpy@@GLIBC_2.14" */
		const char *name = hsnap_str(&reader->strings, frame.function), *at = strchr(name, '@');
		if (at && at != name)
			frame.function = hsnap_strings_add_len(&reader->strings, name, (size_t)(at - name));
	}
	if (frame.function == HSNAP_NO_STRING || !hsnap_vec_push(&reader->out->frames, frame)) {
		hsnap_table_no_memory(reader);
		return;
	}
	pc->first_frame = (uint32_t)reader->out->frames.num - 1;
	pc->num_frames = 1;
}

static void list_symbols(struct hsnap_reader *reader, struct symbols *functions, struct symbols *vtables)
{
	struct see see = { reader, functions, vtables };
	if (reader->dies && reader->dies->elf != reader->program)
		hsnap_elf_symbols(reader->dies->elf, false, see_symbol, &see);
	hsnap_elf_symbols(reader->program, false, see_symbol, &see);
	hsnap_elf_symbols(reader->program, true, see_symbol, &see);
	if (functions && functions->num)
		qsort(functions->items, functions->num, sizeof(*functions->items), compare_symbols);
	if (vtables && vtables->num)
		qsort(vtables->items, vtables->num, sizeof(*vtables->items), compare_symbols);
}

void hsnap_symtab_name(struct hsnap_reader *reader, const struct hsnap_ask *asks, size_t num_asks)
{
	struct symbols functions = { 0 };
	bool listed = false;
	for (size_t i = 0; i < num_asks && !reader->no_memory; i++) {
		struct hsnap_dpc *pc = &reader->out->pcs.items[i];
		bool named = pc->num_frames && reader->out->frames.items[pc->first_frame].function;
		if (named)
			continue;
		if (!listed)
			list_symbols(reader, &functions, NULL);
		listed = true;
		name_frame(reader, &functions, &asks[i], pc);
	}
	hsnap_vec_deinit(&functions);
}

/* --- functions that the linker has made one of (--icf) --- */

/* Does the code that begins there stand in the debug info of several units? */
static bool is_of_units(const struct hsnap_reader *reader, uint64_t address)
{
	size_t at = hsnap_first(reader->ranges.num, i, reader->ranges.items[i].low >= address);
	const struct hsnap_raw_range *items = reader->ranges.items;
	return at + 1 < reader->ranges.num && items[at].low == address && items[at + 1].low == address &&
	       items[at].unit != items[at + 1].unit;
}

static bool is_mangled(const char *name)
{
	return !strncmp(name, "_Z", 2);
}

/*
 * Have several functions the code at the address?  In C other names are mostly aliases of one, which stand in the debug
 * info of one unit.
 */
static bool is_folded(const struct hsnap_reader *reader, const struct symbols *functions, uint64_t address)
{
	const struct symbol *symbol = find_symbol(functions, address);
	if (!symbol)
		return false;
	size_t first = hsnap_first(functions->num, i, functions->items[i].address >= symbol->address);
	for (size_t i = first; i < functions->num && functions->items[i].address == symbol->address; i++) {
		const char *name = functions->items[i].name;
		bool cxx = is_mangled(name) && is_mangled(symbol->name);
		if (cxx ? !hsnap_symtab_same_function(name, symbol->name)
			: strcmp(name, symbol->name) && is_of_units(reader, symbol->address))
			return true;
	}
	return false;
}

void hsnap_symtab_doubt(struct hsnap_reader *reader, const struct hsnap_ask *asks, size_t num_asks)
{
	struct symbols functions = { 0 };
	struct hsnap_symbols *out = reader->out;
	if (num_asks)
		list_symbols(reader, &functions, NULL);
	for (size_t i = 0; i < num_asks && functions.num; i++) {
		struct hsnap_dpc *pc = &out->pcs.items[i];
		if (!is_folded(reader, &functions, asks[i].pc - reader->bias - !(asks[i].what & HSNAP_ASK_EXACT)))
			continue;
		pc->num_results = pc->num_locals = 0;
		for (uint32_t f = 0; f < pc->num_frames; f++)
			out->frames.items[pc->first_frame + f].allocates = 0;
	}
	hsnap_vec_deinit(&functions);
}

/* --- vtables --- */

struct class_name {
	hsnap_string name;
	hsnap_dtype_id type;
};

static int compare_classes(const void *a, const void *b)
{
	const struct class_name *x = a, *y = b;
	return (x->name > y->name) - (x->name < y->name);
}

/* The only class of that name, or 0. */
static hsnap_dtype_id find_class(const struct class_name *classes, size_t num, hsnap_string name)
{
	size_t low = hsnap_first(num, i, classes[i].name >= name);
	if (low == num || classes[low].name != name)
		return 0;
	return low + 1 < num && classes[low + 1].name == name ? 0 : classes[low].type;
}

/* The class whose functions say that it is theirs, or 0. */
static hsnap_dtype_id find_owner(const struct hsnap_reader *reader, const struct symbol *vtable)
{
	const struct hsnap_raw_owner *owners = reader->owners.items;
	for (size_t i = hsnap_first(reader->owners.num, n, owners[n].address >= vtable->address);
	     i < reader->owners.num && owners[i].address == vtable->address; i++)
		if (!strcmp(owners[i].name, vtable->name))
			return owners[i].type;
	return 0;
}

/* Debug info has no name for a class in a function, or one by a place in the source: what a demangler calls it is shorter. */
static void call_owner(struct hsnap_reader *reader, hsnap_dtype_id id, hsnap_string name)
{
	struct hsnap_dtype *type = &reader->out->types.items[id];
	if (!type->name || strstr(hsnap_str(&reader->strings, type->name), "(lambda at "))
		type->name = name;
}

void hsnap_symtab_vtables(struct hsnap_reader *reader)
{
	struct symbols vtables = { 0 };
	struct hsnap_symbols *out = reader->out;
	struct hsnap_vec(struct class_name) classes = { 0 };
	list_symbols(reader, NULL, &vtables);
	for (uint32_t i = 1; vtables.num && i < out->types.num; i++)
		if (out->types.items[i].kind == HSNAP_DTYPE_STRUCT && out->types.items[i].name &&
		    !hsnap_vec_push(&classes, (struct class_name){ out->types.items[i].name, i }))
			hsnap_table_no_memory(reader);
	if (classes.num)
		qsort(classes.items, classes.num, sizeof(*classes.items), compare_classes);
	for (size_t i = 0; i < vtables.num && !reader->no_memory; i++) {
		const struct symbol *symbol = &vtables.items[i];
		/* Other names of one vtable: the linker made one of equal ones. */
		if (i && !compare_symbols(symbol, &vtables.items[i - 1]))
			continue;
		static const char prefix[] = "vtable for ";
		char *text = hsnap_symtab_demangle(symbol->name);
		if (text && !strncmp(text, prefix, sizeof(prefix) - 1)) {
			hsnap_string name = hsnap_table_string(reader, text + sizeof(prefix) - 1);
			hsnap_dtype_id owner = find_owner(reader, symbol);
			struct hsnap_dvtable vtable = {
				.address = symbol->address + reader->bias, .size = symbol->size, .class_name = name,
				.type = owner ? owner : find_class(classes.items, classes.num, name),
			};
			if (owner)
				call_owner(reader, owner, name);
			if (!hsnap_vec_push(&out->vtables, vtable))
				hsnap_table_no_memory(reader);
		}
		free(text);
	}
	hsnap_vec_deinit(&classes);
	hsnap_vec_deinit(&vtables);
}

/* A vtable, or what a class's descriptor has one of: defined in the file or wanted by it. */
static bool see_no_class(void *context, const Elf64_Sym *symbol, const char *name)
{
	bool *none = context;
	(void)symbol;
	*none &= strncmp(name, "_ZT", 3) != 0;
	return *none;
}

/*
 * A class is told by its vtable's symbol or by its descriptor (Itanium C++ ABI 2.9.5), which begins with a pointer to the
 * vtable of a class of __cxxabiv1: that is another module's, and a symbol here, or the file has that class's own descriptor.
 */
bool hsnap_symtab_no_classes(struct hsnap_reader *reader)
{
	static const char descriptor[] = "N10__cxxabiv1";
	const struct hsnap_elf *elf = reader->program;
	/* With as many as are kept there may be more. */
	bool none = elf->num_segments && elf->num_segments < sizeof(elf->segments) / sizeof(*elf->segments);
	if (reader->dies && reader->dies->elf != reader->program)
		hsnap_elf_symbols(reader->dies->elf, false, see_no_class, &none);
	hsnap_elf_symbols(reader->program, false, see_no_class, &none);
	hsnap_elf_symbols(reader->program, true, see_no_class, &none);
	for (size_t i = 0; i < elf->num_segments && none; i++) {
		const struct hsnap_elf_segment *segment = &elf->segments[i];
		size_t left = segment->offset < elf->size ? elf->size - segment->offset : 0;
		size_t size = segment->file_size < left ? segment->file_size : left;
		none = !size || !memmem(elf->bytes + segment->offset, size, descriptor, sizeof(descriptor) - 1);
	}
	return none;
}

/* --- managers --- */

/* What the functions' mangled names begin with and hold: libstdc++'s std::function and std::any, libc++'s std::any. */
static const struct {
	const char *start, *name;
} managers[] = {
	{ "_ZNSt17_Function_handlerI", "10_M_managerE" },
	{ "_ZNSt14_Function_base13_Base_managerI", "10_M_managerE" },
	{ "_ZNSt3any17_Manager_internalI", "9_S_manageE" },
	{ "_ZNSt3any17_Manager_externalI", "9_S_manageE" },
	{ "_ZNSt3__19__any_imp13_SmallHandlerI", "8__handleE" },
	{ "_ZNSt3__19__any_imp13_LargeHandlerI", "8__handleE" },
};

static bool is_manager(const char *name)
{
	if (strncmp(name, "_ZNSt", 5))
		return false;
	for (size_t i = 0; i < sizeof(managers) / sizeof(*managers); i++)
		if (!strncmp(name, managers[i].start, strlen(managers[i].start)) && strstr(name, managers[i].name))
			return true;
	return false;
}

static void see_manager(void *context, uint64_t address, hsnap_die_key function)
{
	struct hsnap_reader *reader = context;
	uint32_t owner = hsnap_table_owner(reader, function);
	struct hsnap_dmanager manager = { .address = address + reader->bias, .type = owner };
	if (owner && !hsnap_vec_push(&reader->out->managers, manager))
		hsnap_table_no_memory(reader);
}

/* Is the function at that address one alone, for the linker made none of several? */
static bool is_alone(const struct symbols *functions, size_t index)
{
	const struct symbol *items = functions->items;
	return (!index || items[index - 1].address != items[index].address || !strcmp(items[index - 1].name, items[index].name)) &&
	       (index + 1 >= functions->num || items[index + 1].address != items[index].address ||
		!strcmp(items[index + 1].name, items[index].name));
}

void hsnap_symtab_managers(struct hsnap_reader *reader)
{
	struct symbols functions = { 0 };
	struct hsnap_vec(uint64_t) addresses = { 0 };
	list_symbols(reader, &functions, NULL);
	for (size_t i = 0; i < functions.num; i++) {
		uint64_t address = functions.items[i].address;
		if (is_manager(functions.items[i].name) && is_alone(&functions, i) &&
		    (!addresses.num || addresses.items[addresses.num - 1] != address) && !hsnap_vec_push(&addresses, address))
			hsnap_table_no_memory(reader);
	}
	if (addresses.num)
		hsnap_pcs_functions(reader, addresses.items, addresses.num, see_manager, reader);
	hsnap_vec_deinit(&addresses);
	hsnap_vec_deinit(&functions);
}
