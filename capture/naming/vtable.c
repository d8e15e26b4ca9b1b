/* SPDX-License-Identifier: MIT */
/*
 * vtable.c - objects that say themselves what they are.
 *
 * A class with virtual functions has the address of its vtable in its first
 * word.  Before that address stand the offset to the top of the complete object
 * (0 where the object is not a base inside another) and the type descriptor,
 * whose second word is the mangled name (Itanium C++ ABI 2.5.2, 2.9.2).
 */
#include "capture/naming/claims.h"
#include "snapshot/base/cleanup.h"
#include "snapshot/base/search.h"

#define MAX_NAME 1024

struct finder {
	struct hsnap_work *work;
	struct hsnap_window reader;
	struct hsnap_keymap classes; /* vtable pointer → type, 0 where it is none */
	uint64_t low, high;          /* modules lie between */
	bool failed;                 /* out of memory */
};

static void finder_deinit(struct finder *finder)
{
	hsnap_keymap_deinit(&finder->classes);
}

/* The vtable of the symbol table in which the address lies, or NULL. */
static const struct hsnap_dvtable *find_symbol(const struct hsnap_symbols *symbols, uint64_t address)
{
	size_t low = hsnap_first(symbols->vtables.num, i, symbols->vtables.items[i].address > address);
	if (!low)
		return NULL;
	const struct hsnap_dvtable *vtable = &symbols->vtables.items[low - 1];
	return address - vtable->address < vtable->size ? vtable : NULL;
}

/* "3Foo" and "N2ns3FooE" as "Foo" and "ns::Foo"; false: templates and what else is longer to tell. */
static bool plain_name(const char *mangled, char *name, size_t size)
{
	bool nested = *mangled == 'N';
	mangled += nested || *mangled == '*';
	size_t used = 0;
	while (*mangled >= '1' && *mangled <= '9') {
		char *rest;
		unsigned long len = strtoul(mangled, &rest, 10);
		if (len > strlen(rest) || used + len + 3 > size)
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

/* By run-time type information, from the target's memory. */
static hsnap_dtype_id class_of_descriptor(const struct finder *finder, uint64_t descriptor, uint32_t module)
{
	uint64_t at;
	char mangled[MAX_NAME], name[MAX_NAME];
	if (!descriptor || !hsnap_target_word(finder->work->target, descriptor + 8, &at) ||
	    !hsnap_target_module(finder->work->target, at) ||
	    !hsnap_target_text(finder->work->target, at, mangled, sizeof(mangled)) ||
	    !plain_name(mangled, name, sizeof(name)))
		return 0;
	return hsnap_symbols_class(finder->work->symbols, name, module);
}

static hsnap_dtype_id resolve(const struct finder *finder, uint64_t vptr)
{
	const struct hsnap_target *target = finder->work->target;
	const struct hsnap_target_module *module = hsnap_target_module(target, vptr);
	uint64_t top, descriptor;
	if (!module || !hsnap_target_word(target, vptr - 16, &top) || top ||
	    !hsnap_target_word(target, vptr - 8, &descriptor))
		return 0;
	uint32_t number = (uint32_t)(module - target->modules.items);
	const struct hsnap_dvtable *symbol = find_symbol(finder->work->symbols, vptr);
	if (!symbol)
		return class_of_descriptor(finder, descriptor, number);
	if (symbol->type)
		return symbol->type;
	return hsnap_symbols_class(finder->work->symbols, hsnap_str(&finder->work->symbols->strings, symbol->class_name),
				   number);
}

static hsnap_dtype_id class_of(struct finder *finder, uint64_t vptr)
{
	/* The heap lies between the modules: its own pointers would fill the map, one a block. */
	if (vptr - finder->low >= finder->high - finder->low || vptr % 8 ||
	    !hsnap_target_module(finder->work->target, vptr))
		return 0;
	bool is_new;
	uint32_t *type = hsnap_keymap_at(&finder->classes, (struct hsnap_key){ vptr, 0 }, &is_new);
	if (!type) {
		finder->failed = true;
		return 0;
	}
	if (is_new)
		*type = resolve(finder, vptr);
	return *type;
}

/* A run of objects has the same pointer at the start of each. */
static bool is_run(struct finder *finder, const struct hsnap_block *block, hsnap_dtype_id type, uint64_t vptr)
{
	uint64_t each = hsnap_dtype(finder->work->symbols, type)->size, size = hsnap_block_size(block), word;
	if (!hsnap_is_requested(finder->work, block) || !each || size < 2 * each || size % each)
		return false;
	for (uint64_t at = each; at < size && at <= 4 * each; at += each)
		if (!hsnap_window_word(&finder->reader, block->address + at, &word) || word != vptr)
			return false;
	return true;
}

static void look_at(struct finder *finder, uint32_t b)
{
	const struct hsnap_block *block = &finder->work->heap->blocks.items[b];
	uint64_t vptr;
	if (block->usable < 8 || !hsnap_window_word(&finder->reader, block->address, &vptr))
		return;
	hsnap_dtype_id type = class_of(finder, vptr);
	if (!type || hsnap_dtype(finder->work->symbols, type)->kind != HSNAP_DTYPE_STRUCT)
		return;
	if (hsnap_fit(finder->work, b, type) == HSNAP_FORM_ONE)
		hsnap_claim_block(finder->work, b, type, HSNAP_FORM_ONE, HSNAP_EVIDENCE_VTABLE);
	else if (is_run(finder, block, type, vptr))
		hsnap_claim_block(finder->work, b, type, HSNAP_FORM_RUN, HSNAP_EVIDENCE_VTABLE);
}

/* In a program without such classes no block needs to be looked at. */
static bool has_vtables(const struct hsnap_symbols *symbols)
{
	bool found = symbols->vtables.num;
	for (hsnap_dtype_id id = 1; id < symbols->types.num && !found; id++)
		found = symbols->types.items[id].flags & HSNAP_DTYPE_POLYMORPHIC;
	return found;
}

enum hsnap_code hsnap_claim_vtables(struct hsnap_work *work, struct hsnap_error *err)
{
	if (!work->symbols || !has_vtables(work->symbols))
		return HSNAP_OK;
	hsnap_auto(finder_deinit) struct finder finder = { .work = work, .low = UINT64_MAX };
	hsnap_window_init(&finder.reader, work->target);
	for (size_t i = 1; i < work->target->modules.num; i++) {
		const struct hsnap_target_module *module = &work->target->modules.items[i];
		if (module->start < finder.low)
			finder.low = module->start;
		if (module->end > finder.high)
			finder.high = module->end;
	}
	if (finder.low >= finder.high)
		return HSNAP_OK;
	for (uint32_t b = 0; b < work->num_blocks && !finder.failed; b++) {
		const struct hsnap_block *block = &work->heap->blocks.items[b];
		if (block->address + block->usable > finder.reader.end)
			hsnap_open_window(work, &finder.reader, b, work->num_blocks);
		look_at(&finder, b);
	}
	return finder.failed ? hsnap_no_memory(err) : HSNAP_OK;
}
