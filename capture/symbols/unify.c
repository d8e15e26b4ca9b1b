/* SPDX-License-Identifier: MIT */
/*
 * unify.c - which entries are the same type.
 *
 * A header's struct has an entry in each unit that includes it.  Two entries
 * are one type when they look alike and all that they refer to is alike too,
 * however deep and however cyclic: partition refinement (Moore, 1956), from
 * "looks alike" down until nothing splits any more.  So a `struct table` whose
 * `struct entry *` means two different things in two files stays two types.
 *
 * A declaration is what its own unit defines under that name; else what all
 * definitions of that name in the module agree on; else what it is in those
 * units in which the very lines that mention it here mention a definition (the
 * same header's struct, the same typedef), if that is one; else it stays
 * incomplete.
 */
#include <string.h>

#include "capture/symbols/flows.h"
#include "capture/symbols/reader.h"
#include "snapshot/base/search.h"

#define MAX_ROUNDS 64   /* a difference further away than this is not seen: hostile only */
#define MAX_PASSES 4    /* of resolving declarations, each of which can settle others */

struct unify {
	struct hsnap_reader *reader;
	size_t num;          /* of types */
	uint32_t *target;    /* per type: what it points to or is an array of */
	uint32_t *member;    /* per member: index of its type */
	uint32_t *argument;
	uint64_t *hash, *next;
	uint32_t *id;        /* per type: in out->types, 0 = not there yet */
	uint32_t *first;     /* per type: the first of its class */
	uint64_t *set;       /* scratch of count_classes(): hashes at their place or behind it, 0 = empty */
	size_t set_size;
};

static void unify_deinit(struct unify *u)
{
	free(u->target);
	free(u->member);
	free(u->argument);
	free(u->hash);
	free(u->next);
	free(u->id);
	free(u->first);
	free(u->set);
}

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

/* --- refinement --- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9fb21c651e98df25u;
	return hash ^ hash >> 29;
}

/* What an entry looks like without following anything. */
static uint64_t shallow_hash(const struct hsnap_reader *reader, const struct hsnap_raw_type *type)
{
	uint64_t hash = mix(type->kind, type->name);
	hash = mix(hash, (uint64_t)type->file << 32 | type->line);
	hash = mix(hash, type->size);
	hash = mix(hash, type->count);
	hash = mix(hash, type->flags);
	hash = mix(hash, (uint64_t)type->num_members << 32 | type->num_arguments);
	for (uint32_t i = 0; i < type->num_members; i++) {
		const struct hsnap_raw_member *member = &reader->members.items[type->first_member + i];
		hash = mix(hash, (uint64_t)member->name << 32 | member->flags);
		hash = mix(hash, member->offset);
	}
	return hash | 1; /* 0 is void */
}

/* What was linked to a declaration is its definition's once that is known. */
static uint32_t settled(const struct unify *u, uint32_t index)
{
	if (!index || index == HSNAP_UNKNOWN_TYPE)
		return index;
	const struct hsnap_raw_type *type = &u->reader->types.items[index];
	return type->kind == HSNAP_RAW_DECLARATION && type->aliased ? type->aliased : index;
}

static uint64_t hash_of(const struct unify *u, uint32_t index)
{
	index = settled(u, index);
	return index == HSNAP_UNKNOWN_TYPE ? 2 : index ? u->hash[index] : 0;
}

/*
 * A set of hashes of our own, since it is filled and dropped in each of some dozen rounds: a million
 * take 0.02 s, sorted 0.09 s, in uthash 0.18 s.  With sorting, take of the C++ bookstore after ten
 * customers was 1.4 s of processor time instead of 0.9.
 */
static size_t count_classes(struct unify *u, const uint64_t *hash)
{
	size_t count = 0, mask = u->set_size - 1;
	memset(u->set, 0, u->set_size * sizeof(*u->set));
	for (size_t i = 1; i < u->num; i++) {
		size_t at = hash[i] * 0x9e3779b97f4a7c15u >> 20 & mask;
		while (u->set[at] && u->set[at] != hash[i])
			at = (at + 1) & mask;
		if (!u->set[at]) {
			u->set[at] = hash[i];
			count++;
		}
	}
	return count;
}

static void refine_round(struct unify *u)
{
	struct hsnap_reader *reader = u->reader;
	for (size_t i = 1; i < u->num; i++) {
		const struct hsnap_raw_type *type = &reader->types.items[i];
		if (type->kind == HSNAP_RAW_ALIAS) {
			u->next[i] = 1;
			continue;
		}
		uint64_t hash = mix(u->hash[i], hash_of(u, u->target[i]));
		for (uint32_t m = 0; m < type->num_members; m++)
			hash = mix(hash, hash_of(u, u->member[type->first_member + m]));
		for (uint32_t a = 0; a < type->num_arguments; a++)
			hash = mix(hash, hash_of(u, u->argument[type->first_argument + a]));
		u->next[i] = hash | 1;
	}
	uint64_t *swap = u->hash;
	u->hash = u->next;
	u->next = swap;
}

static void refine(struct unify *u)
{
	struct hsnap_reader *reader = u->reader;
	for (size_t i = 1; i < u->num; i++) {
		const struct hsnap_raw_type *type = &reader->types.items[i];
		/* A name alone makes a declaration: where it was written does not matter. */
		u->hash[i] = type->kind == HSNAP_RAW_DECLARATION ? mix(99, type->name) | 1
			     : type->kind == HSNAP_RAW_ALIAS	 ? 1 : shallow_hash(reader, type);
	}
	size_t count = count_classes(u, u->hash);
	for (unsigned round = 0; round < MAX_ROUNDS; round++) {
		refine_round(u);
		size_t now = count_classes(u, u->hash);
		if (now == count)
			break;
		count = now;
	}
}

/* Follow everything to its index once. */
static void link_all(struct unify *u)
{
	struct hsnap_reader *reader = u->reader;
	for (size_t i = 0; i < u->num; i++)
		u->target[i] = reader->types.items[i].kind == HSNAP_RAW_ALIAS
				       ? 0 : hsnap_table_type(reader, reader->types.items[i].ref);
	for (size_t i = 0; i < reader->members.num; i++)
		u->member[i] = hsnap_table_type(reader, reader->members.items[i].type);
	for (size_t i = 0; i < reader->arguments.num; i++)
		u->argument[i] = hsnap_table_type(reader, reader->arguments.items[i]);
}

/* Declarations whose name all definitions in the module agree on; true: there were some. */
static bool resolve_declarations(struct unify *u, const struct definitions *list)
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
			agree = u->hash[list->items[k].index] == u->hash[one];
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
static uint32_t innermost(const struct unify *u, uint32_t index)
{
	for (unsigned depth = 0; depth < 4; depth++) {
		index = settled(u, index);
		if (!index || index == HSNAP_UNKNOWN_TYPE)
			return 0;
		uint8_t kind = u->reader->types.items[index].kind;
		if (kind != HSNAP_RAW_POINTER && kind != HSNAP_RAW_ARRAY)
			break;
		index = u->target[index];
	}
	return index == HSNAP_UNKNOWN_TYPE ? 0 : index;
}

static bool note_mentions(const struct unify *u, const uint8_t *contested, struct mentions *list)
{
	const struct hsnap_reader *reader = u->reader;
	for (uint32_t i = 1; i < u->num; i++) {
		const struct hsnap_raw_type *type = &reader->types.items[i];
		if (!type->file)
			continue;
		if (type->kind == HSNAP_RAW_ALIAS) {
			uint32_t to = type->flags & HSNAP_RAW_TYPEDEF ? innermost(u, hsnap_table_find(reader, type->ref)) : 0;
			if (to && contested[to] &&
			    !hsnap_vec_push(list, (struct mention){ shallow_hash(reader, type), to }))
				return false;
			continue;
		}
		uint64_t line = 0;
		for (uint32_t m = 0; m < type->num_members; m++) {
			uint32_t to = innermost(u, u->member[type->first_member + m]);
			if (!to || !contested[to])
				continue;
			line = line ? line : shallow_hash(reader, type);
			if (!hsnap_vec_push(list, (struct mention){ mix(line, m), to }))
				return false;
		}
	}
	return true;
}

/* What the lines that mention a declaration mention elsewhere: a definition; 0: none, or several. */
static uint32_t witnessed(const struct unify *u, const struct mentions *list, const struct mention *by_index,
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
			if (found && u->hash[found] != u->hash[other])
				return 0;
			found = other;
		}
	}
	return found && fits_declaration(&types[declaration], &types[found]) ? found : 0;
}

/* Declarations of names with several definitions; true: some were settled. */
static bool resolve_contested(struct unify *u, const struct definitions *list, bool *ok)
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
static bool doubt_type_units(struct unify *u, const struct definitions *list)
{
	struct hsnap_reader *reader = u->reader;
	bool any = false;
	for (uint32_t i = 1; i < u->num; i++) {
		struct hsnap_raw_type *type = &reader->types.items[i];
		if (type->kind != HSNAP_RAW_POINTER || !u->target[i] || u->target[i] == HSNAP_UNKNOWN_TYPE)
			continue;
		const struct hsnap_raw_type *to = &reader->types.items[settled(u, u->target[i])];
		uint32_t unit = hsnap_table_unit(reader, type->key);
		size_t first, end;
		if (!to->name || unit == UINT32_MAX || !reader->units.items[unit].is_type ||
		    hsnap_table_unit(reader, to->key) == unit)
			continue;
		find_definitions(list, to->name, &first, &end);
		for (size_t k = first; k < end; k++) {
			if (u->hash[list->items[k].index] == u->hash[list->items[first].index])
				continue;
			u->target[i] = HSNAP_UNKNOWN_TYPE;
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

/* --- writing the types out --- */

static bool find_firsts(struct unify *u)
{
	/* The set holds hashes: beside it, who had each first. */
	uint32_t *who = calloc(u->set_size, sizeof(*who));
	size_t mask = u->set_size - 1;
	if (!who)
		return false;
	memset(u->set, 0, u->set_size * sizeof(*u->set));
	for (uint32_t i = 1; i < u->num; i++) {
		size_t at = u->hash[i] * 0x9e3779b97f4a7c15u >> 20 & mask;
		while (u->set[at] && u->set[at] != u->hash[i])
			at = (at + 1) & mask;
		if (!u->set[at]) {
			u->set[at] = u->hash[i];
			who[at] = i;
		}
		u->first[i] = who[at];
	}
	free(who);
	return true;
}

static bool has_vtable(const struct unify *u, uint32_t index)
{
	for (unsigned depth = 0; depth < 32; depth++) {
		const struct hsnap_raw_type *type = &u->reader->types.items[index];
		if (type->kind != HSNAP_RAW_STRUCT)
			return false;
		if (type->flags & HSNAP_RAW_VTABLE)
			return true;
		if (!type->num_members)
			return false;
		const struct hsnap_raw_member *member = &u->reader->members.items[type->first_member];
		uint32_t base = HSNAP_UNKNOWN_TYPE;
		for (uint32_t i = 0; i < type->num_members && !member[i].offset; i++) {
			if (member[i].flags & HSNAP_DMEMBER_VPTR)
				return true;
			if (member[i].flags & HSNAP_DMEMBER_BASE && !(member[i].flags & HSNAP_DMEMBER_VIRTUAL) &&
			    base == HSNAP_UNKNOWN_TYPE)
				base = settled(u, u->member[type->first_member + i]);
		}
		if (!base || base == HSNAP_UNKNOWN_TYPE)
			return false;
		index = base;
	}
	return false;
}

static bool is_flexible(const struct unify *u, const struct hsnap_raw_type *type)
{
	if (type->kind != HSNAP_RAW_STRUCT || !type->num_members)
		return false;
	uint32_t last = settled(u, u->member[type->first_member + type->num_members - 1]);
	return last && last != HSNAP_UNKNOWN_TYPE && u->reader->types.items[last].kind == HSNAP_RAW_ARRAY &&
	       u->reader->types.items[last].flags & (HSNAP_RAW_UNBOUNDED | HSNAP_RAW_OLD_FLEXIBLE);
}

static const uint8_t kinds[] = {
	[HSNAP_RAW_ALIAS] = HSNAP_DTYPE_VOID,	 [HSNAP_RAW_SCALAR] = HSNAP_DTYPE_SCALAR,
	[HSNAP_RAW_BYTE] = HSNAP_DTYPE_BYTE,	 [HSNAP_RAW_POINTER] = HSNAP_DTYPE_POINTER,
	[HSNAP_RAW_STRUCT] = HSNAP_DTYPE_STRUCT, [HSNAP_RAW_UNION] = HSNAP_DTYPE_UNION,
	[HSNAP_RAW_ARRAY] = HSNAP_DTYPE_ARRAY,	 [HSNAP_RAW_FUNCTION] = HSNAP_DTYPE_FUNCTION,
	[HSNAP_RAW_DECLARATION] = HSNAP_DTYPE_INCOMPLETE, [HSNAP_RAW_VOID] = HSNAP_DTYPE_VOID,
};

/* Its id in out->types; given one now, to be written later, if it had none. */
static hsnap_dtype_id want(struct unify *u, uint32_t index, bool *ok)
{
	index = settled(u, index);
	if (!index || index == HSNAP_UNKNOWN_TYPE || u->reader->types.items[index].kind == HSNAP_RAW_ALIAS)
		return 0;
	uint32_t first = u->first[index];
	if (!u->id[first]) {
		struct hsnap_dtype blank = { .line = first }; /* which one it is, until it is written */
		if (!hsnap_vec_push(&u->reader->out->types, blank)) {
			*ok = false;
			return 0;
		}
		u->id[first] = (uint32_t)u->reader->out->types.num - 1;
	}
	return u->id[first];
}

static void write_type(struct unify *u, hsnap_dtype_id id, bool *ok)
{
	struct hsnap_reader *reader = u->reader;
	struct hsnap_symbols *out = reader->out;
	uint32_t index = out->types.items[id].line;
	const struct hsnap_raw_type *type = &reader->types.items[index];
	struct hsnap_dtype got = {
		.name = type->name, .unit = type->file, .line = type->line,
		.module = reader->module, .die = type->key & HSNAP_DIE_OFFSET,
		.size = type->kind == HSNAP_RAW_ARRAY ? hsnap_table_size(reader, index) : type->size,
		.count = type->count, .kind = kinds[type->kind],
		.target = want(u, u->target[index], ok),
		.first_member = (uint32_t)out->members.num, .num_members = type->num_members,
		.first_argument = (uint32_t)out->arguments.num, .num_arguments = type->num_arguments,
	};
	if (type->kind == HSNAP_RAW_DECLARATION)
		got.size = got.num_members = got.num_arguments = 0;
	got.flags = (uint8_t)((has_vtable(u, index) ? HSNAP_DTYPE_POLYMORPHIC : 0) |
			      (type->flags & HSNAP_RAW_REFERENCE ? HSNAP_DTYPE_REFERENCE : 0) |
			      (is_flexible(u, type) ? HSNAP_DTYPE_FLEXIBLE : 0) |
			      (type->flags & HSNAP_RAW_WRAPPED ? HSNAP_DTYPE_WRAPPED : 0));
	for (uint32_t i = 0; i < got.num_members; i++) {
		const struct hsnap_raw_member *member = &reader->members.items[type->first_member + i];
		struct hsnap_dmember m = { member->name, member->offset,
					   want(u, u->member[type->first_member + i], ok), member->flags };
		*ok = *ok && hsnap_vec_push(&out->members, m);
	}
	for (uint32_t i = 0; i < got.num_arguments; i++)
		*ok = *ok && hsnap_vec_push(&out->arguments, want(u, u->argument[type->first_argument + i], ok));
	out->types.items[id] = got;
}

static int compare_variables(const void *a, const void *b)
{
	const struct hsnap_dvariable *x = a, *y = b;
	if (x->thread_local_ != y->thread_local_)
		return x->thread_local_ ? 1 : -1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

/* In order of address, each once: an inline variable has an entry in every unit. */
static bool write_variables(struct unify *u)
{
	struct hsnap_reader *reader = u->reader;
	struct hsnap_symbols *out = reader->out;
	bool ok = true;
	for (size_t i = 0; ok && i < reader->variables.num; i++) {
		const struct hsnap_raw_variable *raw = &reader->variables.items[i];
		const char *path = hsnap_str(&reader->strings, raw->file), *slash = strrchr(path, '/');
		struct hsnap_dvariable variable = {
			.name = raw->name, .function = raw->function, .module = reader->module,
			.address = raw->address, .type = want(u, hsnap_table_type(reader, raw->type), &ok),
			.thread_local_ = raw->thread_local_, .external = raw->external,
		};
		if (*path)
			variable.source = hsnap_strings_addf(&reader->strings, "%s:%u", slash ? slash + 1 : path, raw->line);
		ok = ok && variable.source != HSNAP_NO_STRING && hsnap_vec_push(&out->variables, variable);
	}
	if (out->variables.num)
		qsort(out->variables.items, out->variables.num, sizeof(*out->variables.items), compare_variables);
	size_t kept = 0;
	for (size_t i = 0; i < out->variables.num; i++)
		if (!kept || compare_variables(&out->variables.items[kept - 1], &out->variables.items[i]))
			out->variables.items[kept++] = out->variables.items[i];
	out->variables.num = kept;
	return ok;
}

/* Copies of one type have become one: each once, where it was first. */
static void drop_repeated(struct hsnap_symbols *out, struct hsnap_dpc *pc)
{
	struct hsnap_dresult *results = out->results.items + pc->first_result;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < pc->num_results; i++) {
		bool seen = false;
		for (uint32_t k = 0; k < kept; k++)
			seen |= results[k].pointee == results[i].pointee &&
				results[k].declared_void == results[i].declared_void;
		if (!seen)
			results[kept++] = results[i];
	}
	pc->num_results = kept;
}

static bool write_all(struct unify *u)
{
	struct hsnap_reader *reader = u->reader;
	struct hsnap_symbols *out = reader->out;
	bool ok = hsnap_vec_push(&out->types, (struct hsnap_dtype){ .kind = HSNAP_DTYPE_VOID });
	ok = ok && write_variables(u);
	for (size_t i = 0; i < out->frames.num; i++)
		out->frames.items[i].allocates = want(u, out->frames.items[i].allocates, &ok);
	for (size_t i = 0; i < out->managers.num; i++)
		out->managers.items[i].type = want(u, out->managers.items[i].type, &ok);
	for (size_t i = 0; i < out->locals.num; i++)
		out->locals.items[i].type = want(u, out->locals.items[i].type, &ok);
	for (size_t i = 0; i < out->results.num; i++)
		out->results.items[i].pointee = want(u, out->results.items[i].pointee, &ok);
	for (size_t i = 0; i < out->pcs.num; i++)
		if (out->pcs.items[i].num_results)
			drop_repeated(out, &out->pcs.items[i]);
	for (size_t i = 0; i < out->aliases.num; i++) {
		out->aliases.items[i].opaque = want(u, out->aliases.items[i].opaque, &ok);
		out->aliases.items[i].type = want(u, out->aliases.items[i].type, &ok);
	}
	for (size_t i = 0; i < out->landings.num; i++) {
		out->landings.items[i].holder = want(u, out->landings.items[i].holder, &ok);
		out->landings.items[i].type = want(u, out->landings.items[i].type, &ok);
	}
	for (uint32_t i = 1; ok && i < u->num; i++) {
		const struct hsnap_raw_type *type = &reader->types.items[i];
		if (type->name && (type->kind == HSNAP_RAW_STRUCT || type->kind == HSNAP_RAW_UNION))
			want(u, i, &ok);
	}
	/* Writing one asks for others: they are appended and written in their turn. */
	for (hsnap_dtype_id id = 1; ok && id < out->types.num; id++)
		write_type(u, id, &ok);
	if (ok)
		hsnap_flows_merge(out);
	return ok;
}

enum hsnap_code hsnap_unify_all(struct hsnap_reader *reader, struct hsnap_error *err)
{
	load_all(reader);
	enum hsnap_code code = hsnap_unify_units(reader, err);
	if (code)
		return code;
	struct unify u = { .reader = reader, .num = reader->types.num, .set_size = 4096 };
	while (u.set_size < u.num * 2)
		u.set_size *= 2;
	u.target = calloc(u.num, sizeof(*u.target));
	u.member = calloc(reader->members.num + 1, sizeof(*u.member));
	u.argument = calloc(reader->arguments.num + 1, sizeof(*u.argument));
	u.hash = calloc(u.num, sizeof(*u.hash));
	u.next = calloc(u.num, sizeof(*u.next));
	u.id = calloc(u.num, sizeof(*u.id));
	u.first = calloc(u.num, sizeof(*u.first));
	u.set = calloc(u.set_size, sizeof(*u.set));
	struct definitions list = { 0 };
	bool ok = u.target && u.member && u.argument && u.hash && u.next && u.id && u.first && u.set &&
		  list_definitions(reader, &list);
	if (ok)
		link_all(&u);
	bool changed = true;
	for (unsigned pass = 0; ok && changed; pass++) {
		refine(&u);
		changed = !pass && doubt_type_units(&u, &list);
		/* The last pass settles no more, so that the classes are those of what was settled. */
		changed |= pass < MAX_PASSES && resolve_declarations(&u, &list);
		if (!changed && pass < MAX_PASSES)
			changed = resolve_contested(&u, &list, &ok);
	}
	if (ok)
		ok = find_firsts(&u) && write_all(&u) && !reader->no_memory;
	hsnap_vec_deinit(&list);
	unify_deinit(&u);
	return ok ? HSNAP_OK : hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
}
