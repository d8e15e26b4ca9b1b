/* SPDX-License-Identifier: MIT */
/*
 * typeout.c - a reader's types as symbols.h has them: each once, and only those that somebody asks for.
 *
 * Asked for are all structs with a name, and what variables, frames and the like are of.
 */
#include <string.h>

#include "capture/symbols/flows.h"
#include "capture/symbols/unify.h"

#define MAX_MEANINGS 256 /* of words, looked back for one that is the same */

/* The first type of each class: where a declaration is settled its definition's. */
static bool find_firsts(struct hsnap_unify *u)
{
	u->id = calloc(u->num_classes, sizeof(*u->id));
	u->first = calloc(u->num_classes, sizeof(*u->first));
	if (!u->id || !u->first)
		return false;
	for (uint32_t i = u->num - 1; i; i--)
		if (hsnap_unify_settled(u, i) == i)
			u->first[u->class_of[i]] = i;
	return true;
}

static bool has_vtable(const struct hsnap_unify *u, uint32_t index)
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
				base = hsnap_unify_settled(u, hsnap_unify_member(u, index, i));
		}
		if (!base || base == HSNAP_UNKNOWN_TYPE)
			return false;
		index = base;
	}
	return false;
}

static bool is_flexible(const struct hsnap_unify *u, uint32_t index)
{
	const struct hsnap_raw_type *type = &u->reader->types.items[index];
	if (type->kind != HSNAP_RAW_STRUCT || !type->num_members)
		return false;
	uint32_t last = hsnap_unify_settled(u, hsnap_unify_member(u, index, type->num_members - 1));
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
static hsnap_dtype_id want(struct hsnap_unify *u, uint32_t index, bool *ok)
{
	index = hsnap_unify_settled(u, index);
	if (!index || index == HSNAP_UNKNOWN_TYPE || u->reader->types.items[index].kind == HSNAP_RAW_ALIAS)
		return 0;
	uint32_t class_of = u->class_of[index];
	if (!u->id[class_of]) {
		struct hsnap_dtype blank = { .line = u->first[class_of] }; /* which one it is, until it is written */
		if (!hsnap_vec_push(&u->reader->out->types, blank)) {
			*ok = false;
			return 0;
		}
		u->id[class_of] = (uint32_t)u->reader->out->types.num - 1;
	}
	return u->id[class_of];
}

static void write_type(struct hsnap_unify *u, hsnap_dtype_id id, bool *ok)
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
		.target = want(u, hsnap_unify_target(u, index), ok),
		.first_member = (uint32_t)out->members.num, .num_members = type->num_members,
		.first_argument = (uint32_t)out->arguments.num, .num_arguments = type->num_arguments,
	};
	if (type->kind == HSNAP_RAW_DECLARATION)
		got.size = got.num_members = got.num_arguments = 0;
	got.flags = (uint8_t)((has_vtable(u, index) ? HSNAP_DTYPE_POLYMORPHIC : 0) |
			      (type->flags & HSNAP_RAW_REFERENCE ? HSNAP_DTYPE_REFERENCE : 0) |
			      (is_flexible(u, index) ? HSNAP_DTYPE_FLEXIBLE : 0) |
			      (type->flags & HSNAP_RAW_WRAPPED ? HSNAP_DTYPE_WRAPPED : 0));
	for (uint32_t i = 0; i < got.num_members; i++) {
		const struct hsnap_raw_member *member = &reader->members.items[type->first_member + i];
		struct hsnap_dmember m = { member->name, member->offset,
					   want(u, hsnap_unify_member(u, index, i), ok), member->flags };
		*ok = *ok && hsnap_vec_push(&out->members, m);
	}
	for (uint32_t i = 0; i < got.num_arguments; i++)
		*ok = *ok && hsnap_vec_push(&out->arguments, want(u, hsnap_unify_argument(u, index, i), ok));
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
static bool write_variables(struct hsnap_unify *u)
{
	struct hsnap_reader *reader = u->reader;
	struct hsnap_symbols *out = reader->out;
	bool ok = true;
	for (size_t i = 0; ok && i < reader->pieces.num; i++)
		ok = hsnap_vec_push(&out->pieces, reader->pieces.items[i]);
	for (size_t i = 0; ok && i < reader->variables.num; i++) {
		const struct hsnap_raw_variable *raw = &reader->variables.items[i];
		const char *path = hsnap_str(&reader->strings, raw->file), *slash = strrchr(path, '/');
		struct hsnap_dvariable variable = {
			.name = raw->name, .function = raw->function, .module = reader->module,
			.address = raw->address, .type = want(u, hsnap_table_type(reader, raw->type), &ok),
			.first_piece = raw->first_piece, .num_pieces = raw->num_pieces,
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

/* Each meaning of a word once: most typedefs stand in every unit. */
static void write_words(struct hsnap_unify *u, bool *ok)
{
	struct hsnap_symbols *out = u->reader->out;
	size_t kept = 0;
	for (size_t i = 0; i < out->words.num; i++) {
		struct hsnap_dword word = out->words.items[i];
		if (word.type && !(word.type = want(u, hsnap_table_type(u->reader, u->reader->types.items[word.type].key), ok)))
			continue;
		bool seen = false;
		for (size_t k = kept; k && !seen && kept - k < MAX_MEANINGS; k--) {
			const struct hsnap_dword *other = &out->words.items[k - 1];
			seen = other->name == word.name && other->type == word.type && other->value == word.value;
		}
		if (!seen)
			out->words.items[kept++] = word;
	}
	out->words.num = kept;
}

bool hsnap_typeout_write(struct hsnap_unify *u)
{
	struct hsnap_reader *reader = u->reader;
	struct hsnap_symbols *out = reader->out;
	bool ok = find_firsts(u) && hsnap_vec_push(&out->types, (struct hsnap_dtype){ .kind = HSNAP_DTYPE_VOID });
	ok = ok && write_variables(u);
	for (size_t i = 0; i < out->frames.num; i++)
		out->frames.items[i].allocates = want(u, out->frames.items[i].allocates, &ok);
	for (size_t i = 0; i < out->managers.num; i++)
		out->managers.items[i].type = want(u, out->managers.items[i].type, &ok);
	for (size_t i = 0; i < reader->owners.num; i++)
		reader->owners.items[i].type = want(u, reader->owners.items[i].type, &ok);
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
	write_words(u, &ok);
	/* Writing one asks for others: they are appended and written in their turn. */
	for (hsnap_dtype_id id = 1; ok && id < out->types.num; id++)
		write_type(u, id, &ok);
	if (ok)
		hsnap_flows_merge(out);
	return ok;
}
