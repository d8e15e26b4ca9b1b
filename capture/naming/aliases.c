/* SPDX-License-Identifier: MIT */
/*
 * aliases.c - what opaque handles are.
 *
 * The code of a library turns its handle into what it is: where all that its functions do with a
 * type that is only declared agrees, pointers to it are pointers to that.  Another module, which
 * only hands handles on, has the name alone: it is believed where no other module's differs.
 */
#include <stdlib.h>

#include "capture/naming/keymap.h"
#include "capture/naming/landings.h"
#include "snapshot/base/cleanup.h"

#define DIFFER UINT32_MAX

/* Enter what a name means; false: out of memory. */
static bool enter_name(struct hsnap_keymap *names, hsnap_string name, hsnap_dtype_id type)
{
	bool is_new;
	uint32_t *known = hsnap_keymap_at(names, (struct hsnap_key){ name, 0 }, &is_new);
	if (known)
		*known = is_new || *known == type ? type : DIFFER;
	return known;
}

hsnap_dtype_id *hsnap_find_aliases(const struct hsnap_plans *plans)
{
	const struct hsnap_symbols *symbols = plans->symbols;
	hsnap_auto(hsnap_keymap_deinit) struct hsnap_keymap names = { 0 };
	hsnap_auto(hsnap_freep) hsnap_dtype_id *of = calloc(symbols->types.num, sizeof(*of));
	if (!of)
		return NULL;
	for (size_t i = 0; i < symbols->aliases.num; i++) {
		const struct hsnap_dalias *alias = &symbols->aliases.items[i];
		if (hsnap_dtype(symbols, alias->opaque)->kind != HSNAP_DTYPE_INCOMPLETE) /* known by now (glib.c) */
			continue;
		of[alias->opaque] = alias->against ? DIFFER : plans->same[alias->type];
		if (!enter_name(&names, hsnap_dtype(symbols, alias->opaque)->name, of[alias->opaque]))
			return NULL;
	}
	for (hsnap_dtype_id id = 1; names.table && id < symbols->types.num; id++) {
		const struct hsnap_dtype *dtype = hsnap_dtype(symbols, id);
		if (dtype->kind == HSNAP_DTYPE_INCOMPLETE && dtype->name && !of[id])
			of[id] = hsnap_keymap_get(&names, (struct hsnap_key){ dtype->name, 0 });
		if (of[id] == DIFFER)
			of[id] = 0;
	}
	return hsnap_take(of);
}
