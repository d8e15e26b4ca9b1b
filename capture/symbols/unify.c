/* SPDX-License-Identifier: MIT */
/*
 * unify.c - which entries are the same type, and what declarations declare.
 *
 * A header's struct has an entry in each unit that includes it.  Two entries
 * are one type when they look alike and all that they refer to is alike too,
 * however deep and however cyclic (refine.c).  So a `struct table` whose
 * `struct entry *` means two different things in two files stays two types.
 *
 * A declaration is what its own unit defines under that name; else what all
 * definitions of that name in the module agree on; else what it is in those
 * units in which the very lines that mention it here mention a definition (the
 * same header's struct, the same typedef), if that is one; else it stays
 * incomplete.
 */
#include <string.h>

#include "capture/symbols/unify.h"
#include "snapshot/base/search.h"

#define MAX_PASSES 4 /* of resolving declarations, each of which can settle others */

/* --- names and declarations of one unit --- */

struct definition {
	hsnap_string name;
	uint32_t index;
};

static int compare_definitions(const void *a, const void *b)
{
	const struct definition *x = a, *y = b;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

struct definitions hsnap_vec_body(struct definition);

static bool list_definitions(struct hsnap_reader *reader, struct definitions *list)
{
	for (uint32_t i = 1; i < reader->types.num; i++) {
		const struct hsnap_raw_type *type = &reader->types.items[i];
		if ((type->kind == HSNAP_RAW_STRUCT || type->kind == HSNAP_RAW_UNION) && type->name &&
		    !(type->flags & HSNAP_RAW_WRAPPED) &&
		    !hsnap_vec_push(list, (struct definition){ type->name, i }))
			return hsnap_table_no_memory(reader);
	}
	if (list->num)
		qsort(list->items, list->num, sizeof(*list->items), compare_definitions);
	return true;
}

/* The definitions of a declaration's name: [*ret_first, *ret_end) of the list. */
static void find_definitions(const struct definitions *list, hsnap_string name, size_t *ret_first, size_t *ret_end)
{
	size_t low = hsnap_first(list->num, i, list->items[i].name >= name);
	*ret_first = low;
	while (low < list->num && list->items[low].name == name)
		low++;
	*ret_end = low;
}

static bool fits_declaration(const struct hsnap_raw_type *declared, const struct hsnap_raw_type *defined)
{
	bool is_union = declared->flags & HSNAP_RAW_IS_UNION;
	return defined->kind == (is_union ? HSNAP_RAW_UNION : HSNAP_RAW_STRUCT);
}

/* The only definition in the declaration's own unit, or 0. */
static uint32_t own_definition(const struct hsnap_reader *reader, const struct definitions *list,
			       const struct hsnap_raw_type *declared)
{
	size_t first, end;
	uint32_t unit = hsnap_table_unit(reader, declared->key), found = 0;
	find_definitions(list, declared->name, &first, &end);
	for (size_t i = first; i < end; i++) {
		uint32_t index = list->items[i].index;
		const struct hsnap_raw_type *defined = &reader->types.items[index];
		if (!fits_declaration(declared, defined) || hsnap_table_unit(reader, defined->key) != unit)
			continue;
		if (found)
			return 0;
		found = index;
	}
	return found;
}

/* `typedef struct { … } T;`: the struct is called T. */
static void name_by_typedefs(struct hsnap_reader *reader)
{
	for (uint32_t i = 1; i < reader->types.num; i++) {
		if (!(reader->types.items[i].flags & HSNAP_RAW_TYPEDEF) || !reader->types.items[i].name)
			continue;
		uint32_t target = hsnap_table_find(reader, reader->types.items[i].ref);
		/* By way of a type unit: skeleton, signature, type.  Another typedef names nothing. */
		for (unsigned hops = 0; target && hops < 3; hops++) {
			const struct hsnap_raw_type *alias = &reader->types.items[target];
			if (alias->kind != HSNAP_RAW_ALIAS || alias->flags & (HSNAP_RAW_TYPEDEF | HSNAP_RAW_QUALIFIER))
				break;
			target = hsnap_table_find(reader, alias->ref);
		}
		struct hsnap_raw_type *type = &reader->types.items[target];
		bool nameable = type->kind == HSNAP_RAW_STRUCT || type->kind == HSNAP_RAW_UNION ||
				(type->kind == HSNAP_RAW_SCALAR && type->file);
		if (!target || type->name || !nameable)
			continue;
		type->name = reader->types.items[i].name;
		type->flags |= HSNAP_RAW_WRAPPED;
	}
}

enum hsnap_code hsnap_unify_units(struct hsnap_reader *reader, struct hsnap_error *err)
{
	struct definitions list = { 0 };
	name_by_typedefs(reader);
	bool ok = list_definitions(reader, &list);
	for (uint32_t i = 1; ok && i < reader->types.num; i++) {
		struct hsnap_raw_type *type = &reader->types.items[i];
		if (type->kind == HSNAP_RAW_DECLARATION && !type->aliased && type->name)
			type->aliased = own_definition(reader, &list, type);
	}
	hsnap_vec_deinit(&list);
	return ok ? HSNAP_OK : hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
}

/* --- declarations over all units --- */

/* Declarations whose name all definitions in the module agree on; true: there were some. */
static bool resolve_declarations(struct hsnap_unify *u, const struct definitions *list)
{
	struct hsnap_reader *reader = u->reader;
	bool any = false;
	for (size_t i = 1; i < u->num; i++) {
		struct hsnap_raw_type *type = &reader->types.items[i];
		size_t first, end;
		if (type->kind != HSNAP_RAW_DECLARATION || type->aliased || !type->name ||
		    strstr(hsnap_str(&reader->strings, type->name), "(anonymous namespace)"))
			continue;
		find_definitions(list, type->name, &first, &end);
		if (first == end)
			continue;
		uint32_t one = list->items[first].index;
		bool agree = fits_declaration(type, &reader->types.items[one]);
		for (size_t k = first; agree && k < end; k++)
			agree = u->class_of[list->items[k].index] == u->class_of[one];
		if (agree) {
			type->aliased = one;
			any = true;
		}
	}
	return any;
}

/* --- declarations of names that mean several things --- */

/* A line of source that mentions a type: a member that points to it, or a typedef. */
struct mention {
	uint64_t line;  /* hash of what is written there */
	uint32_t index; /* of the type: a definition or a declaration */
};

struct mentions hsnap_vec_body(struct mention);

static int compare_mentions(const void *a, const void *b)
{
	const struct mention *x = a, *y = b;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static int compare_mentioned(const void *a, const void *b)
{
	const struct mention *x = a, *y = b;
	return (x->index > y->index) - (x->index < y->index);
}

/* Through pointers and arrays to what they are of. */
static uint32_t innermost(const struct hsnap_unify *u, uint32_t index)
{
	for (unsigned depth = 0; depth < 4; depth++) {
		index = hsnap_unify_settled(u, index);
		if (!index || index == HSNAP_UNKNOWN_TYPE)
			return 0;
		uint8_t kind = u->reader->types.items[index].kind;
		if (kind != HSNAP_RAW_POINTER && kind != HSNAP_RAW_ARRAY)
			break;
		index = hsnap_unify_target(u, index);
	}
	return index == HSNAP_UNKNOWN_TYPE ? 0 : index;
}

static bool note_mentions(const struct hsnap_unify *u, const uint8_t *contested, struct mentions *list)
{
	const struct hsnap_reader *reader = u->reader;
	for (uint32_t i = 1; i < u->num; i++) {
		const struct hsnap_raw_type *type = &reader->types.items[i];
		if (!type->file)
			continue;
		if (type->kind == HSNAP_RAW_ALIAS) {
			uint32_t to = type->flags & HSNAP_RAW_TYPEDEF ? innermost(u, hsnap_table_find(reader, type->ref)) : 0;
			if (to && contested[to] &&
			    !hsnap_vec_push(list, (struct mention){ hsnap_refine_looks(reader, type), to }))
				return false;
			continue;
		}
		uint64_t line = 0;
		for (uint32_t m = 0; m < type->num_members; m++) {
			uint32_t to = innermost(u, hsnap_unify_member(u, i, m));
			if (!to || !contested[to])
				continue;
			line = line ? line : hsnap_refine_looks(reader, type);
			if (!hsnap_vec_push(list, (struct mention){ hsnap_unify_mix(line, m), to }))
				return false;
		}
	}
	return true;
}

/* What the lines that mention a declaration mention elsewhere: a definition; 0: none, or several. */
static uint32_t witnessed(const struct hsnap_unify *u, const struct mentions *list, const struct mention *by_index,
			  uint32_t declaration)
{
	const struct hsnap_raw_type *types = u->reader->types.items;
	uint32_t found = 0;
	for (size_t i = hsnap_first(list->num, n, by_index[n].index >= declaration);
	     i < list->num && by_index[i].index == declaration; i++) {
		uint64_t line = by_index[i].line;
		for (size_t k = hsnap_first(list->num, n, list->items[n].line >= line);
		     k < list->num && list->items[k].line == line; k++) {
			uint32_t other = list->items[k].index;
			if (types[other].kind == HSNAP_RAW_DECLARATION || types[other].name != types[declaration].name)
				continue;
			if (found && u->class_of[found] != u->class_of[other])
				return 0;
			found = other;
		}
	}
	return found && fits_declaration(&types[declaration], &types[found]) ? found : 0;
}

/* Declarations of names with several definitions; true: some were settled. */
static bool resolve_contested(struct hsnap_unify *u, const struct definitions *list, bool *ok)
{
	struct hsnap_reader *reader = u->reader;
	struct mentions mentions = { 0 };
	uint8_t *contested = calloc(u->num, 1);
	bool any = false, changed = false;
	*ok = contested != NULL;
	for (uint32_t i = 1; *ok && i < u->num; i++) {
		const struct hsnap_raw_type *type = &reader->types.items[i];
		size_t first, end;
		if (type->kind != HSNAP_RAW_DECLARATION || type->aliased || !type->name)
			continue;
		find_definitions(list, type->name, &first, &end);
		contested[i] = end - first > 1;
		any |= end - first > 1;
		for (size_t k = first; k < end && end - first > 1; k++)
			contested[list->items[k].index] = 1;
	}
	if (any)
		*ok = note_mentions(u, contested, &mentions);
	struct mention *by_index = mentions.num ? calloc(mentions.num, sizeof(*by_index)) : NULL;
	any = mentions.num != 0;
	*ok = *ok && (by_index || !any);
	if (*ok && any) {
		qsort(mentions.items, mentions.num, sizeof(*mentions.items), compare_mentions);
		memcpy(by_index, mentions.items, mentions.num * sizeof(*by_index));
		qsort(by_index, mentions.num, sizeof(*by_index), compare_mentioned);
	}
	for (uint32_t i = 1; *ok && any && i < u->num; i++) {
		struct hsnap_raw_type *type = &reader->types.items[i];
		if (!contested[i] || type->kind != HSNAP_RAW_DECLARATION)
			continue;
		type->aliased = witnessed(u, &mentions, by_index, i);
		changed |= type->aliased != 0;
	}
	hsnap_vec_deinit(&mentions);
	free(by_index);
	free(contested);
	return changed;
}

/*
 * A type unit's signature looks at the names only of what pointers point to: where two files mean
 * two things by one name the linker keeps one file's unit, and the other file's pointers lie.
 * Such pointers are unknown; true: there were some.
 */
static bool doubt_type_units(struct hsnap_unify *u, const struct definitions *list)
{
	struct hsnap_reader *reader = u->reader;
	bool any = false;
	for (uint32_t i = 1; i < u->num; i++) {
		struct hsnap_raw_type *type = &reader->types.items[i];
		uint32_t target = type->kind == HSNAP_RAW_POINTER ? hsnap_unify_target(u, i) : 0;
		if (!target || target == HSNAP_UNKNOWN_TYPE)
			continue;
		const struct hsnap_raw_type *to = &reader->types.items[hsnap_unify_settled(u, target)];
		uint32_t unit = hsnap_table_unit(reader, type->key);
		size_t first, end;
		if (!to->name || unit == UINT32_MAX || !reader->units.items[unit].is_type ||
		    hsnap_table_unit(reader, to->key) == unit)
			continue;
		find_definitions(list, to->name, &first, &end);
		for (size_t k = first; k < end; k++) {
			if (u->class_of[list->items[k].index] == u->class_of[list->items[first].index])
				continue;
			u->refs[u->start[i]] = HSNAP_UNKNOWN_TYPE;
			any = true;
			break;
		}
	}
	return any;
}

/* Load all that is referred to and is not loaded yet: function-local types. */
static void load_all(struct hsnap_reader *reader)
{
	for (size_t i = 1; i < reader->types.num && !reader->no_memory; i++)
		(void)hsnap_table_entry(reader, reader->types.items[i].ref);
	for (size_t i = 0; i < reader->members.num && !reader->no_memory; i++)
		(void)hsnap_table_entry(reader, reader->members.items[i].type);
	for (size_t i = 0; i < reader->arguments.num && !reader->no_memory; i++)
		(void)hsnap_table_entry(reader, reader->arguments.items[i]);
	for (size_t i = 0; i < reader->variables.num && !reader->no_memory; i++)
		(void)hsnap_table_entry(reader, reader->variables.items[i].type);
}

enum hsnap_code hsnap_unify_all(struct hsnap_reader *reader, struct hsnap_error *err)
{
	load_all(reader);
	/* All has been walked that ever is: what is left is not asked for these. */
	hsnap_vec_deinit(&reader->declarations);
	hsnap_vec_deinit(&reader->functions);
	hsnap_vec_deinit(&reader->classes);
	enum hsnap_code code = hsnap_unify_units(reader, err);
	if (code)
		return code;
	struct hsnap_unify u = { .reader = reader, .num = (uint32_t)reader->types.num };
	struct definitions list = { 0 };
	bool ok = hsnap_refine_init(&u) && list_definitions(reader, &list);
	bool changed = true;
	for (unsigned pass = 0; ok && changed; pass++) {
		ok = hsnap_refine(&u);
		changed = ok && !pass && doubt_type_units(&u, &list);
		/* The last pass settles no more, so that the classes are those of what was settled. */
		changed |= ok && pass < MAX_PASSES && resolve_declarations(&u, &list);
		if (ok && !changed && pass < MAX_PASSES)
			changed = resolve_contested(&u, &list, &ok);
	}
	if (ok)
		ok = hsnap_typeout_write(&u) && !reader->no_memory;
	hsnap_vec_deinit(&list);
	hsnap_refine_deinit(&u);
	return ok ? HSNAP_OK : hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
}
