/* SPDX-License-Identifier: MIT */
/*
 * classes.c - from vtable pointers to names, from names to types.
 *
 * Whose a vtable is says the symbol that it lies in, else its type descriptor.  The linker may have made one of
 * equal ones, so a pointer can have several names; and of one name there can be several classes.
 */
#include "capture/naming/classes.h"

#include <stdlib.h>
#include <string.h>

#include "capture/naming/memory.h"
#include "capture/naming/spelling.h"
#include "capture/naming/work.h"
#include "capture/symbols/demangle.h"
#include "snapshot/base/cleanup.h"
#include "snapshot/base/search.h"

#define MAX_CLASSES 65536u  /* vtable pointers that are looked into */
#define MAX_MANGLED 16384u
#define MAX_ALIASES 64u     /* names of one vtable */
#define MAX_CANDIDATES 64u  /* types of one vtable: of more it is not known which */
#define MAX_NAMES 1048576u  /* of all vtables */
#define MAX_TEXT (16u << 20) /* bytes of names from descriptors, of all together */
#define MAX_RANKED (1u << 26) /* types that are held against names, of all together */
#define MAX_COOKIE 64u      /* bytes before the elements of an array: the alignment of its class, at most */

/* A name of a vtable; for candidates of its own. */
struct named {
	uint32_t item;         /* index into classes->items */
	uint32_t module;
	hsnap_string mangled;  /* in symbols' strings; 0: the name is known */
	hsnap_string name;
	hsnap_string spelling; /* in spellings */
	uint32_t num_const;    /* how often const stands in the name: the spelling does not tell */
	hsnap_dtype_id type;   /* what the symbol table's reader knows already */
};

/* A type that has the spelling of a name. */
struct match {
	hsnap_string spelling;
	hsnap_dtype_id type;
	uint32_t num_const;
};

struct finder {
	const struct hsnap_work *work;
	const struct hsnap_target *target;
	const struct hsnap_heap *heap;
	struct hsnap_symbols *symbols;
	struct hsnap_classes *classes;
	struct hsnap_window reader;
	uint64_t low, high;               /* modules lie between */
	struct hsnap_vec(struct named) names;
	struct hsnap_vec(uint32_t) arrays;  /* blocks that may begin with a number of elements */
	struct hsnap_strings spellings;
	struct hsnap_keymap wanted;       /* {spelling} */
	struct hsnap_keymap added;        /* {name, module} → type */
	struct hsnap_keymap made;         /* {class, offset} → type of arrays of it */
	struct hsnap_vec(struct match) matches; /* in order of spelling and type */
	uint32_t text_left, rank_left;    /* of MAX_TEXT and MAX_RANKED */
	bool failed;                      /* out of memory */
	char text[MAX_MANGLED];
};

static void finder_free(struct finder **finder)
{
	if (!*finder)
		return;
	hsnap_vec_deinit(&(*finder)->names);
	hsnap_vec_deinit(&(*finder)->arrays);
	hsnap_strings_deinit(&(*finder)->spellings);
	hsnap_keymap_deinit(&(*finder)->wanted);
	hsnap_keymap_deinit(&(*finder)->added);
	hsnap_keymap_deinit(&(*finder)->made);
	hsnap_vec_deinit(&(*finder)->matches);
	free(*finder);
}

void hsnap_classes_deinit(struct hsnap_classes *classes)
{
	hsnap_keymap_deinit(&classes->of);
	hsnap_vec_deinit(&classes->items);
	hsnap_vec_deinit(&classes->candidates);
	hsnap_vec_deinit(&classes->blocks);
	hsnap_vec_deinit(&classes->counted);
}

const struct hsnap_vclass *hsnap_class_of(const struct hsnap_classes *classes, uint64_t vptr)
{
	uint32_t number = vptr % 8 ? 0 : hsnap_keymap_get(&classes->of, (struct hsnap_key){ vptr, 0 });
	return number ? &classes->items.items[number - 1] : NULL;
}

#define KEEP(finder, vector, ...) \
	do { \
		if (!hsnap_vec_push(vector, __VA_ARGS__)) \
			(finder)->failed = true; \
	} while (0)

static hsnap_string keep(struct finder *finder, hsnap_string string)
{
	finder->failed |= string == HSNAP_NO_STRING;
	return string == HSNAP_NO_STRING ? 0 : string;
}

/* --- names --- */

/* The vtables of the symbol table in which the address lies: [return value, *ret_end). */
static size_t find_symbols(const struct hsnap_symbols *symbols, uint64_t address, size_t *ret_end)
{
	const struct hsnap_dvtable *vtables = symbols->vtables.items;
	size_t end = hsnap_first(symbols->vtables.num, i, vtables[i].address > address), first = end;
	while (first && end - first < MAX_ALIASES && vtables[first - 1].address == vtables[end - 1].address &&
	       address - vtables[first - 1].address < vtables[first - 1].size)
		first--;
	*ret_end = end;
	return first;
}

/* "3Foo" and "N2ns3FooE" as "Foo" and "ns::Foo"; false: templates and what else is longer to tell. */
static bool plain_name(const char *mangled, char *name, size_t size)
{
	bool nested = *mangled == 'N';
	mangled += nested;
	size_t used = 0;
	while (*mangled >= '1' && *mangled <= '9') {
		char *rest;
		unsigned long len = strtoul(mangled, &rest, 10);
		if (len > strlen(rest) || used + len + 3 > size || !strncmp(rest, "_GLOBAL__N_", 11))
			return false;
		if (used)
			used += (size_t)(stpcpy(name + used, "::") - (name + used));
		memcpy(name + used, rest, len);
		used += len;
		mangled = rest + len;
	}
	name[used] = '\0';
	return used && !strcmp(mangled, nested ? "E" : "");
}

/* Can it be the name of a class? */
static bool is_mangled(const char *text)
{
	return strchr("123456789NSZ", *text) && *text &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$")] == '\0';
}

/* By run-time type information, from the target's memory. */
static void name_by_descriptor(struct finder *finder, uint64_t descriptor, struct named *named)
{
	const struct hsnap_target *target = finder->target;
	uint64_t own, at;
	if (!descriptor || descriptor % 8 || !hsnap_target_module(target, descriptor) ||
	    !hsnap_target_word(target, descriptor, &own) || own % 8 || !hsnap_target_module(target, own) ||
	    !hsnap_target_word(target, descriptor + 8, &at) || !hsnap_target_module(target, at) ||
	    !hsnap_target_text(target, at, finder->text, sizeof(finder->text)))
		return;
	/* A star: to be compared by address, since another one may have the same name. */
	const char *mangled = finder->text + (*finder->text == '*');
	char name[256];
	size_t len = strlen(mangled);
	if (!is_mangled(mangled) || len > finder->text_left)
		return;
	finder->text_left -= (uint32_t)len;
	if (plain_name(mangled, name, sizeof(name)))
		named->name = keep(finder, hsnap_strings_add(&finder->symbols->strings, name));
	else
		named->mangled = keep(finder, hsnap_strings_add(&finder->symbols->strings, mangled));
	if (named->name || named->mangled)
		KEEP(finder, &finder->names, *named);
}

/* A pointer that is met for the first time: what are the names of its vtable? */
static void name_vptr(struct finder *finder, uint64_t vptr, uint32_t item)
{
	const struct hsnap_target *target = finder->target;
	const struct hsnap_target_module *module = hsnap_target_module(target, vptr);
	uint64_t top, descriptor;
	size_t end;
	if (!module || vptr < 16 || !hsnap_target_word(target, vptr - 16, &top) || top ||
	    !hsnap_target_word(target, vptr - 8, &descriptor))
		return;
	struct named named = { .item = item, .module = (uint32_t)(module - target->modules.items) };
	size_t first = find_symbols(finder->symbols, vptr, &end);
	if (first == end)
		name_by_descriptor(finder, descriptor, &named);
	for (size_t i = first; i < end && finder->names.num < MAX_NAMES; i++) {
		named.name = finder->symbols->vtables.items[i].class_name;
		named.type = finder->symbols->vtables.items[i].type;
		KEEP(finder, &finder->names, named);
	}
}

/* --- the heap --- */

/* Can it be the address of a vtable?  The heap lies between the modules: its own pointers are none. */
static bool is_vptr(const struct finder *finder, uint64_t word)
{
	return word - finder->low < finder->high - finder->low && !(word % 8) && hsnap_target_module(finder->target, word);
}

static void meet(struct finder *finder, uint64_t vptr)
{
	bool is_new;
	struct hsnap_classes *classes = finder->classes;
	if (classes->items.num == MAX_CLASSES)
		return;
	uint32_t *number = hsnap_keymap_at(&classes->of, (struct hsnap_key){ vptr, 0 }, &is_new);
	finder->failed |= !number;
	if (!number || !is_new)
		return;
	KEEP(finder, &classes->items, (struct hsnap_vclass){ .vptr = vptr });
	*number = (uint32_t)classes->items.num;
	if (!finder->failed)
		name_vptr(finder, vptr, *number - 1);
}

/* Where the elements of `new T[n]` begin, if the block can be such an array; else 0.  A 1 before one object
 * is as well its count of references. */
static uint64_t find_elements(struct finder *finder, uint32_t b, uint64_t *ret_count, uint64_t *ret_vptr)
{
	uint64_t start = hsnap_object_start(finder->work, b);
	uint64_t room = finder->heap->blocks.items[b].usable - hsnap_header(finder->work, b);
	for (uint64_t at = 8; at <= MAX_COOKIE && at + 8 <= room; at *= 2)
		if (hsnap_window_word(&finder->reader, start + at - 8, ret_count) && *ret_count > 1 &&
		    *ret_count <= (room - at) / 8 &&
		    hsnap_window_word(&finder->reader, start + at, ret_vptr) && is_vptr(finder, *ret_vptr))
			return at;
	return 0;
}

static bool meet_at(struct finder *finder, const struct hsnap_block *block, uint64_t at)
{
	uint64_t word;
	if (block->usable < at + 8 || !hsnap_window_word(&finder->reader, block->address + at, &word) || !is_vptr(finder, word))
		return false;
	meet(finder, word);
	return true;
}

static void look_at(struct finder *finder, uint32_t b)
{
	const struct hsnap_block *block = &finder->heap->blocks.items[b];
	uint64_t header = hsnap_header(finder->work, b), vptr, count;
	bool behind = meet_at(finder, block, header);
	if (!behind && find_elements(finder, b, &count, &vptr)) {
		meet(finder, vptr);
		KEEP(finder, &finder->arrays, b);
		return;
	}
	/* Blocks are told to have headers by their share: one that begins with an object has none. */
	if ((header && meet_at(finder, block, 0)) || behind)
		KEEP(finder, &finder->classes->blocks, b);
}

/* Programs in C have no vtables, and their blocks need not be looked at. */
static bool has_classes(const struct finder *finder)
{
	const struct hsnap_symbols *symbols = finder->symbols;
	for (size_t i = 1; i < finder->target->modules.num; i++)
		if (!finder->target->modules.items[i].vdso && !(i < symbols->modules.num && symbols->modules.items[i].no_classes))
			return true;
	return false;
}

static void look_at_all(struct finder *finder)
{
	const struct hsnap_target *target = finder->target;
	if (!has_classes(finder))
		return;
	for (size_t i = 1; i < target->modules.num; i++) {
		const struct hsnap_target_module *module = &target->modules.items[i];
		finder->low = module->start < finder->low ? module->start : finder->low;
		finder->high = module->end > finder->high ? module->end : finder->high;
	}
	uint32_t num = finder->low < finder->high ? (uint32_t)finder->heap->blocks.num : 0;
	for (uint32_t b = 0; b < num && !finder->failed; b++) {
		const struct hsnap_block *block = &finder->heap->blocks.items[b];
		if (block->address + block->usable > finder->reader.end)
			hsnap_open_window(finder->work, &finder->reader, b, num);
		look_at(finder, b);
	}
}

/* --- types --- */

static enum hsnap_code demangle_names(struct finder *finder, struct hsnap_error *err)
{
	static const struct hsnap_demangle_options ordinary = { 0 };
	struct hsnap_vec(hsnap_string) mangled = { 0 };
	for (size_t i = 0; i < finder->names.num; i++)
		if (finder->names.items[i].mangled)
			KEEP(finder, &mangled, finder->names.items[i].mangled);
	hsnap_string *names = calloc(mangled.num + 1, sizeof(*names));
	finder->failed |= !names;
	enum hsnap_code code = HSNAP_OK;
	if (mangled.num && !finder->failed)
		code = hsnap_demangle(&finder->symbols->strings, mangled.items, mangled.num, &ordinary, names, err);
	for (size_t i = 0, n = 0; !finder->failed && !code && i < finder->names.num; i++)
		if (finder->names.items[i].mangled)
			finder->names.items[i].name = names[n++];
	free(names);
	hsnap_vec_deinit(&mangled);
	return code;
}

/* 0: the name has none. */
static hsnap_string spell(struct finder *finder, struct hsnap_spelling *spelling, hsnap_string name)
{
	if (!name || !hsnap_spell(spelling, hsnap_str(&finder->symbols->strings, name))) {
		finder->failed |= name != 0;
		return 0;
	}
	return keep(finder, hsnap_strings_add(&finder->spellings, spelling->text));
}

static int compare_matches(const void *a, const void *b)
{
	const struct match *x = a, *y = b;
	if (x->spelling != y->spelling)
		return x->spelling < y->spelling ? -1 : 1;
	return (x->type > y->type) - (x->type < y->type);
}

static uint32_t count_const(const struct finder *finder, hsnap_string name)
{
	uint32_t num = 0;
	for (const char *at = hsnap_str(&finder->symbols->strings, name); (at = strstr(at, "const")); at += 5)
		num++;
	return num;
}

/* All types that are spelled as one of the names is. */
static void match_types(struct finder *finder)
{
	const struct hsnap_symbols *symbols = finder->symbols;
	hsnap_auto(hsnap_spelling_deinit) struct hsnap_spelling spelling = { 0 };
	bool is_new;
	for (size_t i = 0; i < finder->names.num && !finder->failed; i++) {
		struct named *named = &finder->names.items[i];
		named->spelling = spell(finder, &spelling, named->name);
		named->num_const = count_const(finder, named->name);
		uint32_t *wanted = hsnap_keymap_at(&finder->wanted, (struct hsnap_key){ named->spelling, 0 }, &is_new);
		finder->failed |= !wanted;
		if (wanted)
			*wanted = 1;
	}
	for (hsnap_dtype_id id = 1; finder->names.num && id < symbols->types.num && !finder->failed; id++) {
		const struct hsnap_dtype *dtype = hsnap_dtype(symbols, id);
		if (dtype->kind != HSNAP_DTYPE_STRUCT && dtype->kind != HSNAP_DTYPE_INCOMPLETE)
			continue;
		hsnap_string spelled = spell(finder, &spelling, dtype->name);
		if (spelled && hsnap_keymap_get(&finder->wanted, (struct hsnap_key){ spelled, 0 }))
			KEEP(finder, &finder->matches, (struct match){ spelled, id, count_const(finder, dtype->name) });
	}
	if (finder->matches.num)
		qsort(finder->matches.items, finder->matches.num, sizeof(*finder->matches.items), compare_matches);
}

/* How well does a type go with a name?  0: not at all. */
static unsigned rank_match(const struct finder *finder, const struct named *named, const struct match *match)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(finder->symbols, match->type);
	bool alike = match->num_const == named->num_const;
	bool here = dtype->module == named->module;
	if (dtype->kind == HSNAP_DTYPE_INCOMPLETE)
		return here && alike;
	return 2 + alike + 2 * here;
}

static void add_candidate(struct finder *finder, struct hsnap_vclass *class, hsnap_dtype_id type)
{
	hsnap_dtype_id *candidates = finder->classes->candidates.items + class->first;
	for (uint32_t i = 0; i < class->num; i++)
		if (candidates[i] == type)
			return;
	if (class->num == MAX_CANDIDATES) {
		class->unknown = true;
		return;
	}
	KEEP(finder, &finder->classes->candidates, type);
	class->num += !finder->failed;
}

/* A class of which the name is all that is known. */
static hsnap_dtype_id add_class(struct finder *finder, const struct named *named)
{
	struct hsnap_dtype type = { .name = named->name, .module = named->module, .kind = HSNAP_DTYPE_INCOMPLETE };
	bool is_new;
	uint32_t *id = hsnap_keymap_at(&finder->added, (struct hsnap_key){ named->name, named->module }, &is_new);
	finder->failed |= !id;
	if (!id)
		return 0;
	if (is_new) {
		*id = (uint32_t)finder->symbols->types.num;
		KEEP(finder, &finder->symbols->types, type);
	}
	return *id;
}

static bool is_control(const char *name)
{
	static const char *const prefixes[] = { "std::_Sp_counted_ptr_inplace<", "std::__1::__shared_ptr_emplace<" };
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* The types that go best with a name. */
static void choose_best(struct finder *finder, const struct named *named, struct hsnap_vclass *class)
{
	const struct match *matches = finder->matches.items;
	size_t first = hsnap_first(finder->matches.num, m, matches[m].spelling >= named->spelling), end = first;
	unsigned best = 0;
	for (; end < finder->matches.num && matches[end].spelling == named->spelling; end++) {
		if (!finder->rank_left) {
			class->unknown = true;
			return;
		}
		finder->rank_left--;
		unsigned rank = rank_match(finder, named, &matches[end]);
		best = rank > best ? rank : best;
	}
	for (size_t m = first; m < end && best && !class->unknown; m++)
		if (rank_match(finder, named, &matches[m]) == best)
			add_candidate(finder, class, matches[m].type);
	if (!best)
		add_candidate(finder, class, add_class(finder, named));
}

/* Names of one class come one after the other. */
static void choose_types(struct finder *finder)
{
	for (size_t i = 0; i < finder->names.num && !finder->failed; i++) {
		const struct named *named = &finder->names.items[i];
		struct hsnap_vclass *class = &finder->classes->items.items[named->item];
		if (!class->num)
			class->first = (uint32_t)finder->classes->candidates.num;
		class->control |= is_control(hsnap_str(&finder->symbols->strings, named->name));
		if (named->type)
			add_candidate(finder, class, named->type);
		else if (named->spelling)
			choose_best(finder, named, class);
	}
	for (size_t i = 0; i < finder->classes->items.num; i++)
		if (finder->classes->items.items[i].unknown)
			finder->classes->items.items[i].num = 0;
}

/* --- arrays that begin with the number of their elements --- */

/* A number and a flexible array: the same for all blocks of the class. */
static hsnap_dtype_id add_array(struct finder *finder, hsnap_dtype_id class, uint64_t at)
{
	struct hsnap_symbols *symbols = finder->symbols;
	const struct hsnap_dtype element = *hsnap_dtype(symbols, class);
	struct hsnap_dtype array = { .module = element.module, .kind = HSNAP_DTYPE_ARRAY, .target = class };
	struct hsnap_dtype whole = {
		.module = element.module, .kind = HSNAP_DTYPE_STRUCT, .flags = HSNAP_DTYPE_FLEXIBLE, .size = at,
		.unit = element.unit, .first_member = (uint32_t)symbols->members.num, .num_members = 1,
	};
	const char *name = hsnap_str(&symbols->strings, element.name);
	hsnap_auto(hsnap_freep) char *copy = strdup(name); /* which moves as the strings grow */
	finder->failed |= !copy;
	whole.name = copy ? keep(finder, hsnap_strings_addf(&symbols->strings, "%s[]", copy)) : 0;
	KEEP(finder, &symbols->types, array);
	KEEP(finder, &symbols->types, whole);
	hsnap_dtype_id id = (hsnap_dtype_id)symbols->types.num;
	KEEP(finder, &symbols->members, (struct hsnap_dmember){ .offset = at, .type = id - 2 });
	return id - 1;
}

/* Do `count` objects of a size (0: not known) from an offset on fill the block, each with the pointer at its start? */
static bool are_elements(struct finder *finder, uint32_t b, uint64_t at, uint64_t count, uint64_t each, uint64_t vptr)
{
	const struct hsnap_block *block = &finder->heap->blocks.items[b];
	uint64_t start = hsnap_object_start(finder->work, b), size = hsnap_object_room(finder->work, b), whole, word;
	if (!each && size > at)
		each = (size - at) / count & ~UINT64_C(7);
	/* More than 8 bytes stand before elements that lie at multiples of more. */
	if (size < at || each < 8 || (at > 8 && each % at) || __builtin_mul_overflow(count, each, &whole) ||
	    whole > size - at ||
	    (hsnap_is_requested(finder->work, block) ? whole != size - at : size - at - whole >= HSNAP_MOST_SLACK))
		return false;
	for (uint64_t i = 0; i < count; i++)
		if (!hsnap_window_word(&finder->reader, start + at + i * each, &word) || word != vptr)
			return false;
	return true;
}

/* The class of the elements, if it can be one alone. */
static hsnap_dtype_id find_element(struct finder *finder, uint32_t b, uint64_t at, uint64_t count, uint64_t vptr)
{
	const struct hsnap_vclass *class = at ? hsnap_class_of(finder->classes, vptr) : NULL;
	hsnap_dtype_id found = 0;
	for (uint32_t c = 0; class && c < class->num; c++) {
		hsnap_dtype_id type = finder->classes->candidates.items[class->first + c];
		if (!are_elements(finder, b, at, count, hsnap_dtype(finder->symbols, type)->size, vptr))
			continue;
		if (found)
			return 0;
		found = type;
	}
	return found;
}

static void find_arrays(struct finder *finder)
{
	for (size_t a = 0; a < finder->arrays.num && !finder->failed; a++) {
		uint32_t b = finder->arrays.items[a];
		uint64_t count, vptr, at = find_elements(finder, b, &count, &vptr);
		hsnap_dtype_id element = find_element(finder, b, at, count, vptr);
		if (!element)
			continue;
		bool is_new;
		uint32_t *type = hsnap_keymap_at(&finder->made, (struct hsnap_key){ element, at }, &is_new);
		finder->failed |= !type;
		if (type && is_new)
			*type = add_array(finder, element, at);
		if (type)
			KEEP(finder, &finder->classes->counted, (struct hsnap_counted){ b, *type });
	}
}

enum hsnap_code hsnap_find_classes(struct hsnap_work *work, struct hsnap_symbols *symbols, struct hsnap_error *err)
{
	if (!symbols)
		return HSNAP_OK;
	hsnap_auto(finder_free) struct finder *finder = calloc(1, sizeof(*finder));
	if (!finder)
		return hsnap_no_memory(err);
	*finder = (struct finder){ .work = work, .target = work->target, .heap = work->heap, .symbols = symbols,
				   .classes = &work->classes, .low = UINT64_MAX, .text_left = MAX_TEXT,
				   .rank_left = MAX_RANKED };
	hsnap_window_init(&finder->reader, work->target);
	finder->failed = hsnap_strings_add(&finder->spellings, "") == HSNAP_NO_STRING;
	look_at_all(finder);
	enum hsnap_code code = finder->failed ? HSNAP_OK : demangle_names(finder, err);
	if (code)
		return code;
	match_types(finder);
	choose_types(finder);
	find_arrays(finder);
	return finder->failed ? hsnap_no_memory(err) : HSNAP_OK;
}
