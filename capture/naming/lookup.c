/* SPDX-License-Identifier: MIT */
/* lookup.c - types, members, enumerators and variables by the names that a user has for them. */
#include <stdio.h>
#include <string.h>

#include "capture/naming/binder.h"
#include "capture/naming/work.h"

#define MAX_DEPTH 16
#define MAX_STEPS 65536u /* members looked at for one name */
#define MAX_COMPARED 48  /* bytes of names that are held against each other for a hint */

/* --- members --- */

static bool find_in(const struct hsnap_symbols *symbols, hsnap_dtype_id type, const char *name, unsigned depth,
		    uint32_t *steps, struct hsnap_named *ret)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	if ((dtype->kind != HSNAP_DTYPE_STRUCT && dtype->kind != HSNAP_DTYPE_UNION) || depth == MAX_DEPTH)
		return false;
	for (uint32_t m = 0; m < dtype->num_members && ++*steps < MAX_STEPS; m++) {
		const struct hsnap_dmember *member = &symbols->members.items[dtype->first_member + m];
		bool fits = member->offset <= dtype->size && hsnap_dtype(symbols, member->type)->size <= dtype->size - member->offset;
		if (!fits || member->flags & HSNAP_DMEMBER_VIRTUAL)
			continue;
		if (!strcmp(hsnap_str(&symbols->strings, member->name), name)) {
			*ret = (struct hsnap_named){ member->type, member->offset, member->flags };
			return true;
		}
		if (member->name || !find_in(symbols, member->type, name, depth + 1, steps, ret))
			continue;
		ret->offset += member->offset;
		return true;
	}
	return false;
}

bool hsnap_find_member(const struct hsnap_symbols *symbols, hsnap_dtype_id type, const char *name, struct hsnap_named *ret)
{
	uint32_t steps = 0;
	return find_in(symbols, type, name, 0, &steps, ret);
}

/* --- what is spelled nearly so --- */

/* How many letters must change (Levenshtein, 1965); only the first bytes count. */
static unsigned distance(const char *a, const char *b)
{
	size_t la = strnlen(a, MAX_COMPARED), lb = strnlen(b, MAX_COMPARED);
	unsigned row[MAX_COMPARED + 1];
	for (size_t j = 0; j <= lb; j++)
		row[j] = (unsigned)j;
	for (size_t i = 0; i < la; i++) {
		unsigned corner = row[0];
		row[0] = (unsigned)i + 1;
		for (size_t j = 0; j < lb; j++) {
			unsigned change = corner + (a[i] != b[j]), least = row[j] < row[j + 1] ? row[j] : row[j + 1];
			corner = row[j + 1];
			row[j + 1] = change < least + 1 ? change : least + 1;
		}
	}
	return row[lb];
}

struct nearest {
	const char *name, *found;
	unsigned distance;
};

static void see(struct nearest *nearest, const char *text)
{
	size_t len = strnlen(nearest->name, MAX_COMPARED);
	if (!*text)
		return;
	unsigned d = distance(nearest->name, text);
	/* One that has the name in it is near, too: redisObject for Object. */
	if (d > 2 && len > 3 && strstr(text, nearest->name))
		d = 2;
	if (d <= 2 + (unsigned)len / 8 && d < len && (!nearest->found || d < nearest->distance)) {
		nearest->found = text;
		nearest->distance = d;
	}
}

/* The names of a type's members, for people. */
struct member_list {
	struct nearest nearest;
	char text[256];
	size_t used;
	uint32_t steps;
	bool more;
};

static void list_members(const struct hsnap_symbols *symbols, hsnap_dtype_id type, unsigned depth, struct member_list *list)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	for (uint32_t m = 0; m < dtype->num_members && depth < MAX_DEPTH && ++list->steps < MAX_STEPS; m++) {
		const struct hsnap_dmember *member = &symbols->members.items[dtype->first_member + m];
		const char *name = hsnap_str(&symbols->strings, member->name);
		if (!*name) {
			list_members(symbols, member->type, depth + 1, list);
			continue;
		}
		see(&list->nearest, name);
		list->more |= list->used >= sizeof(list->text) - 80;
		if (!list->more)
			list->used += (size_t)snprintf(list->text + list->used, sizeof(list->text) - list->used, "%s%.60s",
						       list->used ? ", " : "", name);
	}
}

void hsnap_hint_member(struct hsnap_binder *binder, hsnap_dtype_id type, const char *name)
{
	struct member_list list = { .nearest = { .name = name } };
	list_members(binder->symbols, type, 0, &list);
	if (list.nearest.found)
		hsnap_bind_hint(binder, "it has a member '%s'", list.nearest.found);
	else if (list.used)
		hsnap_bind_hint(binder, "its members are %s%s", list.text, list.more ? " and others" : "");
	else
		hsnap_bind_hint(binder, "it has no members that debug info tells of");
}

/* --- types --- */

/* Is it that file: "dict.h", or as much of its path as tells it from others, "src/dict.h"? */
static bool is_file(const char *path, const char *file)
{
	size_t len = strlen(path), tail = strlen(file);
	return len >= tail && !strcmp(path + len - tail, file) && (len == tail || path[len - tail - 1] == '/');
}

static bool is_here(const struct hsnap_binder *binder, hsnap_dtype_id id, const struct hsnap_rule_type *wanted)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(binder->symbols, id);
	const char *file = hsnap_bind_text(binder, wanted->file);
	return binder->open[dtype->module] &&
	       (!*file || is_file(hsnap_str(&binder->symbols->strings, dtype->unit), file));
}

static void add_type(struct hsnap_binder *binder, struct hsnap_type_list *list, hsnap_dtype_id id)
{
	for (size_t i = 0; i < list->num; i++)
		if (list->items[i] == id)
			return;
	if (!hsnap_vec_push(list, id))
		hsnap_bind_no_memory(binder);
}

void hsnap_find_types(struct hsnap_binder *binder, const struct hsnap_rule_type *wanted, unsigned kinds,
		      struct hsnap_type_list *ret)
{
	struct hsnap_symbols *symbols = binder->symbols;
	hsnap_string name = hsnap_strings_add(&symbols->strings, hsnap_bind_text(binder, wanted->name));
	ret->num = 0;
	if (name == HSNAP_NO_STRING) {
		hsnap_bind_no_memory(binder);
		return;
	}
	for (hsnap_dtype_id id = 1; id < symbols->types.num && !binder->code; id++) {
		const struct hsnap_dtype *dtype = hsnap_dtype(symbols, id);
		if (dtype->name == name && kinds >> dtype->kind & 1 && is_here(binder, id, wanted))
			add_type(binder, ret, id);
	}
	for (size_t i = 0; i < symbols->words.num && !binder->code; i++) {
		const struct hsnap_dword *word = &symbols->words.items[i];
		if (word->name == name && word->type && kinds >> hsnap_dtype(symbols, word->type)->kind & 1 &&
		    is_here(binder, word->type, wanted))
			add_type(binder, ret, word->type);
	}
}

/* Why there may be no types at all: "redis-server has no debug info". */
static const char *without_types(const struct hsnap_binder *binder, const char **ret_why)
{
	for (size_t m = 1; m < binder->symbols->modules.num; m++)
		if (binder->open[m] && binder->symbols->modules.items[m].has_types)
			return NULL;
	for (size_t m = 1; m < binder->symbols->modules.num; m++) {
		if (!binder->open[m])
			continue;
		*ret_why = hsnap_str(&binder->symbols->strings, binder->symbols->modules.items[m].note);
		return hsnap_last_part(hsnap_str(&binder->target->strings, binder->target->modules.items[m].path));
	}
	return NULL;
}

void hsnap_refuse_type(struct hsnap_binder *binder, const struct hsnap_rule_type *wanted)
{
	const struct hsnap_symbols *symbols = binder->symbols;
	struct nearest nearest = { .name = hsnap_bind_text(binder, wanted->name) };
	const char *why = "", *file = hsnap_bind_text(binder, wanted->file), *module = without_types(binder, &why);
	if (module) {
		hsnap_bind_refuse(binder, "there is no type '%s': no types are known of %s%s%s", nearest.name, module,
				  *why ? ": " : "", why);
		hsnap_bind_hint(binder, "install its debug info (a package …-dbg or …-dbgsym), or build it with -g");
		return;
	}
	hsnap_bind_refuse(binder, "there is no type '%s'%s%s", nearest.name, *file ? " that is declared in " : "", file);
	for (hsnap_dtype_id id = 1; id < symbols->types.num; id++) {
		const struct hsnap_dtype *dtype = hsnap_dtype(symbols, id);
		if (binder->open[dtype->module] && HSNAP_KINDS_OBJECT >> dtype->kind & 1)
			see(&nearest, hsnap_str(&symbols->strings, dtype->name));
	}
	if (nearest.found)
		hsnap_bind_hint(binder, "there is a type '%s'", nearest.found);
	else
		hsnap_bind_hint(binder, "types are called as in the source, with their namespaces; a typedef's name will do");
}

/* --- numbers and variables --- */

bool hsnap_find_enumerator(struct hsnap_binder *binder, hsnap_string wanted, int64_t *ret)
{
	const struct hsnap_symbols *symbols = binder->symbols;
	const char *name = hsnap_bind_text(binder, wanted);
	bool found = false;
	for (size_t i = 0; i < symbols->words.num; i++) {
		const struct hsnap_dword *word = &symbols->words.items[i];
		if (word->type || !binder->open[word->module] || strcmp(hsnap_str(&symbols->strings, word->name), name))
			continue;
		if (found && *ret != word->value) {
			hsnap_bind_refuse(binder, "'%s' is several enumerators, which differ", name);
			hsnap_bind_hint(binder, "say which: let %s = %lld", name, (long long)word->value);
			return false;
		}
		*ret = word->value;
		found = true;
	}
	return found;
}

bool hsnap_find_variable(struct hsnap_binder *binder, hsnap_string wanted, uint32_t *ret)
{
	const struct hsnap_symbols *symbols = binder->symbols;
	const char *name = hsnap_bind_text(binder, wanted);
	bool found = false;
	for (size_t i = 0; i < symbols->variables.num; i++) {
		const struct hsnap_dvariable *variable = &symbols->variables.items[i];
		if (variable->thread_local_ || variable->function || !binder->open[variable->module] ||
		    strcmp(hsnap_str(&symbols->strings, variable->name), name))
			continue;
		if (found && !variable->external)
			continue;
		*ret = (uint32_t)i;
		found = true;
		if (variable->external)
			break;
	}
	return found;
}
