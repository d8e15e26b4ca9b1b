/* SPDX-License-Identifier: MIT */
/*
 * same.c - types that several modules have from one header.
 *
 * Within a module capture/symbols has decided what is one type.  Across modules
 * a struct is the same where name, size, and file and line of the declaration
 * are; where one module has two of these, nothing is decided.
 */
#include <stdlib.h>

#include "capture/naming/types.h"
#include "capture/naming/work.h"
#include "snapshot/base/cleanup.h"

#define POINTER_ROUNDS 3 /* pointers to pointers to pointers */
#define TWO_OF_A_KIND UINT32_MAX

struct same {
	const struct hsnap_symbols *symbols;
	uint32_t *of;               /* result */
	struct hsnap_strings texts; /* what types are told apart by */
	struct hsnap_keymap first;  /* {text} → the first type, or TWO_OF_A_KIND */
	struct hsnap_keymap seen;   /* {text, module} */
};

static void same_deinit(struct same *same)
{
	hsnap_strings_deinit(&same->texts);
	hsnap_keymap_deinit(&same->first);
	hsnap_keymap_deinit(&same->seen);
}

/* 0: the type has no such text. */
static hsnap_string text_of(struct same *same, const struct hsnap_dtype *dtype)
{
	const struct hsnap_strings *strings = &same->symbols->strings;
	const char *name = hsnap_str(strings, dtype->name);
	bool declared = dtype->kind == HSNAP_DTYPE_STRUCT || dtype->kind == HSNAP_DTYPE_UNION;
	bool plain = dtype->kind == HSNAP_DTYPE_BYTE || dtype->kind == HSNAP_DTYPE_SCALAR;
	if (!name[0] || (declared && !dtype->line) || (!declared && !plain))
		return 0;
	const char *file = declared ? hsnap_last_part(hsnap_str(strings, dtype->unit)) : "";
	return hsnap_strings_addf(&same->texts, "%u %llu %u %s %s", dtype->kind, (unsigned long long)dtype->size,
				  declared ? dtype->line : 0, file, name);
}

/* Enter the types with a name; false: out of memory. */
static bool enter(struct same *same, hsnap_dtype_id id)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(same->symbols, id);
	bool new_here, is_new;
	hsnap_string text = text_of(same, dtype);
	if (!text)
		return true;
	if (text == HSNAP_NO_STRING || !hsnap_keymap_at(&same->seen, (struct hsnap_key){ text, dtype->module }, &new_here))
		return false;
	uint32_t *first = hsnap_keymap_at(&same->first, (struct hsnap_key){ text, 0 }, &is_new);
	if (!first)
		return false;
	if (is_new)
		*first = id;
	else if (!new_here)
		*first = TWO_OF_A_KIND;
	return true;
}

static void take_first(struct same *same, hsnap_dtype_id id)
{
	hsnap_string text = text_of(same, hsnap_dtype(same->symbols, id));
	uint32_t first = text ? hsnap_keymap_get(&same->first, (struct hsnap_key){ text, 0 }) : 0;
	if (first && first != TWO_OF_A_KIND)
		same->of[id] = first;
}

/* Pointers to the same are the same. */
static bool match_pointers(struct same *same)
{
	struct hsnap_keymap pointers = { 0 };
	bool done = true;
	for (hsnap_dtype_id id = 1; done && id < same->symbols->types.num; id++) {
		const struct hsnap_dtype *dtype = hsnap_dtype(same->symbols, id);
		if (dtype->kind != HSNAP_DTYPE_POINTER)
			continue;
		bool is_new;
		struct hsnap_key key = { same->of[dtype->target], dtype->size };
		uint32_t *first = hsnap_keymap_at(&pointers, key, &is_new);
		done = first;
		if (first && is_new)
			*first = id;
		if (first)
			same->of[id] = *first;
	}
	hsnap_keymap_deinit(&pointers);
	return done;
}

uint32_t *hsnap_same_types(const struct hsnap_symbols *symbols)
{
	hsnap_auto(same_deinit) struct same same = { .symbols = symbols };
	hsnap_auto(hsnap_freep) uint32_t *of = calloc(symbols->types.num, sizeof(*of));
	if (!of)
		return NULL;
	same.of = of;
	for (hsnap_dtype_id id = 0; id < symbols->types.num; id++)
		of[id] = id;
	for (hsnap_dtype_id id = 1; id < symbols->types.num; id++)
		if (!enter(&same, id))
			return NULL;
	for (hsnap_dtype_id id = 1; id < symbols->types.num; id++)
		take_first(&same, id);
	for (int round = 0; round < POINTER_ROUNDS; round++)
		if (!match_pointers(&same))
			return NULL;
	return hsnap_take(of);
}
