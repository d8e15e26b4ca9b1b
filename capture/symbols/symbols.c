/* SPDX-License-Identifier: MIT */
/* symbols.c - load what debug info says, and look things up in it. */
#include "capture/symbols/symbols.h"

#include <string.h>

#include "capture/symbols/child.h"
#include "snapshot/base/cleanup.h"
#include "snapshot/base/search.h"

void hsnap_symbols_destroy(struct hsnap_symbols *symbols)
{
	if (!symbols)
		return;
	hsnap_strings_deinit(&symbols->strings);
	hsnap_vec_deinit(&symbols->modules);
	hsnap_vec_deinit(&symbols->types);
	hsnap_vec_deinit(&symbols->members);
	hsnap_vec_deinit(&symbols->arguments);
	hsnap_vec_deinit(&symbols->variables);
	hsnap_vec_deinit(&symbols->pieces);
	hsnap_vec_deinit(&symbols->vtables);
	hsnap_vec_deinit(&symbols->managers);
	hsnap_vec_deinit(&symbols->pcs);
	hsnap_vec_deinit(&symbols->frames);
	hsnap_vec_deinit(&symbols->locals);
	hsnap_vec_deinit(&symbols->results);
	hsnap_vec_deinit(&symbols->aliases);
	hsnap_vec_deinit(&symbols->landings);
	hsnap_vec_deinit(&symbols->words);
	hsnap_vec_deinit(&symbols->classes);
	free(symbols);
}

void hsnap_symbols_destroyp(struct hsnap_symbols **symbols)
{
	hsnap_symbols_destroy(*symbols);
}

static size_t first_at(const struct hsnap_ask *asks, size_t num_asks, uint64_t pc)
{
	size_t low = hsnap_first(num_asks, i, asks[i].pc >= pc);
	return low;
}

size_t hsnap_child_asks(const struct hsnap_target_module *module, const struct hsnap_ask *asks, size_t num_asks,
			size_t *ret_first)
{
	*ret_first = first_at(asks, num_asks, module->start);
	size_t end = first_at(asks, num_asks, module->end);
	return end > *ret_first ? end - *ret_first : 0;
}

static int compare_vtables(const void *a, const void *b)
{
	const struct hsnap_dvtable *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

static int compare_managers(const void *a, const void *b)
{
	const struct hsnap_dmanager *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

static int compare_classes(const void *a, const void *b, void *context)
{
	const struct hsnap_symbols *symbols = context;
	const hsnap_dtype_id x = *(const hsnap_dtype_id *)a, y = *(const hsnap_dtype_id *)b;
	int order = strcmp(hsnap_str(&symbols->strings, symbols->types.items[x].name),
			   hsnap_str(&symbols->strings, symbols->types.items[y].name));
	return order ? order : (x > y) - (x < y);
}

static bool list_classes(struct hsnap_symbols *symbols)
{
	for (hsnap_dtype_id id = 1; id < symbols->types.num; id++)
		if (symbols->types.items[id].kind == HSNAP_DTYPE_STRUCT && symbols->types.items[id].name &&
		    !hsnap_vec_push(&symbols->classes, id))
			return false;
	if (symbols->classes.num)
		qsort_r(symbols->classes.items, symbols->classes.num, sizeof(*symbols->classes.items), compare_classes,
			symbols);
	return true;
}

enum hsnap_code hsnap_symbols_load_with(const struct hsnap_target *target, const struct hsnap_ask *asks,
					size_t num_asks, const struct hsnap_child_options *options,
					struct hsnap_symbols **ret, struct hsnap_error *err)
{
	hsnap_auto(hsnap_symbols_destroyp) struct hsnap_symbols *symbols = calloc(1, sizeof(*symbols));
	bool ok = symbols && hsnap_strings_add(&symbols->strings, "") != HSNAP_NO_STRING &&
		  hsnap_vec_push(&symbols->types, (struct hsnap_dtype){ .kind = HSNAP_DTYPE_VOID });
	for (size_t i = 0; ok && i < target->modules.num; i++)
		ok = hsnap_vec_push(&symbols->modules, (struct hsnap_dmodule){ 0 });
	for (size_t i = 0; ok && i < num_asks; i++)
		ok = hsnap_vec_push(&symbols->pcs, (struct hsnap_dpc){ .pc = asks[i].pc });
	if (!ok)
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	enum hsnap_code code = hsnap_child_run(target, asks, num_asks, options, symbols, err);
	if (code)
		return code;
	if (symbols->vtables.num)
		qsort(symbols->vtables.items, symbols->vtables.num, sizeof(*symbols->vtables.items), compare_vtables);
	if (symbols->managers.num)
		qsort(symbols->managers.items, symbols->managers.num, sizeof(*symbols->managers.items), compare_managers);
	if (!list_classes(symbols))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	*ret = hsnap_take(symbols);
	return HSNAP_OK;
}

enum hsnap_code hsnap_symbols_load(const struct hsnap_target *target, const struct hsnap_ask *asks, size_t num_asks,
				   struct hsnap_symbols **ret, struct hsnap_error *err)
{
	static const struct hsnap_child_options ordinary = { 0 };
	return hsnap_symbols_load_with(target, asks, num_asks, &ordinary, ret, err);
}

enum hsnap_code hsnap_symbols_load_words(const struct hsnap_target *target, const struct hsnap_ask *asks, size_t num_asks,
					 const struct hsnap_wanted *wanted, struct hsnap_symbols **ret,
					 struct hsnap_error *err)
{
	const struct hsnap_child_options options = { .wanted = wanted };
	return hsnap_symbols_load_with(target, asks, num_asks, &options, ret, err);
}

int hsnap_compare_landings(const void *a, const void *b)
{
	const struct hsnap_dlanding *x = a, *y = b;
	if (x->holder != y->holder)
		return x->holder < y->holder ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (x->type > y->type) - (x->type < y->type);
}

const struct hsnap_dpc *hsnap_symbols_pc(const struct hsnap_symbols *symbols, uint64_t pc)
{
	size_t low = hsnap_first(symbols->pcs.num, i, symbols->pcs.items[i].pc >= pc);
	return low < symbols->pcs.num && symbols->pcs.items[low].pc == pc ? &symbols->pcs.items[low] : NULL;
}

hsnap_dtype_id hsnap_symbols_class(const struct hsnap_symbols *symbols, const char *name, uint32_t module)
{
	size_t low = 0, high = symbols->classes.num;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct hsnap_dtype *t = hsnap_dtype(symbols, symbols->classes.items[middle]);
		if (strcmp(hsnap_str(&symbols->strings, t->name), name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	hsnap_dtype_id here = 0, elsewhere = 0;
	unsigned num_here = 0;
	bool differ = false;
	for (; low < symbols->classes.num; low++) {
		hsnap_dtype_id id = symbols->classes.items[low];
		const struct hsnap_dtype *t = hsnap_dtype(symbols, id);
		if (strcmp(hsnap_str(&symbols->strings, t->name), name))
			break;
		if (t->module == module) {
			here = id;
			num_here++;
		} else if (!elsewhere) {
			elsewhere = id;
		} else { /* a header's class in several modules: as far as we look, the same */
			differ |= hsnap_dtype(symbols, elsewhere)->size != t->size;
		}
	}
	if (num_here)
		return num_here == 1 ? here : 0;
	return differ ? 0 : elsewhere;
}
