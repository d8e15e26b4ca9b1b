/* SPDX-License-Identifier: MIT */
/* convert.c - copies types into the snapshot, with names for people. */
#include "capture/naming/convert.h"

#include <stdlib.h>
#include <string.h>

#include "capture/naming/shorten.h"
#include "capture/naming/types.h"
#include "capture/naming/work.h"
#include "snapshot/base/cleanup.h"

#define MAX_DEPTH 32

bool hsnap_convert_init(struct hsnap_convert *convert, const struct hsnap_symbols *symbols,
			struct hsnap_snapshot *snapshot)
{
	*convert = (struct hsnap_convert){ .symbols = symbols, .snapshot = snapshot };
	if (!symbols)
		return true;
	convert->ids = calloc(symbols->types.num, sizeof(*convert->ids));
	convert->full = calloc(symbols->types.num, sizeof(*convert->full));
	return convert->ids && convert->full;
}

void hsnap_convert_deinit(struct hsnap_convert *convert)
{
	free(convert->ids);
	free(convert->full);
	hsnap_vec_deinit(&convert->queue);
	hsnap_keymap_deinit(&convert->runs);
}

static hsnap_string keep(struct hsnap_convert *convert, hsnap_string s)
{
	convert->failed |= s == HSNAP_NO_STRING;
	return s == HSNAP_NO_STRING ? 0 : s;
}

static const char *text_of(const struct hsnap_convert *convert, hsnap_string s)
{
	return hsnap_text(convert->snapshot, s);
}

static enum hsnap_type_kind kind_of(const struct hsnap_dtype *dtype)
{
	switch (dtype->kind) {
	case HSNAP_DTYPE_STRUCT:
	case HSNAP_DTYPE_INCOMPLETE:
		return HSNAP_TYPE_STRUCT;
	case HSNAP_DTYPE_UNION:
		return HSNAP_TYPE_UNION;
	case HSNAP_DTYPE_ARRAY:
		return HSNAP_TYPE_ARRAY;
	case HSNAP_DTYPE_POINTER:
		return HSNAP_TYPE_POINTER;
	default:
		return HSNAP_TYPE_SCALAR;
	}
}

/* "Book *", "Book **"; a declarator goes before the bounds: "int[8][4]". */
static hsnap_string pointer_name(struct hsnap_convert *convert, hsnap_string element)
{
	const char *name = text_of(convert, element);
	size_t len = strlen(name);
	bool stars = len && name[len - 1] == '*';
	return keep(convert, hsnap_strings_addf(&convert->snapshot->strings, stars ? "%s*" : "%s *",
						len ? name : "void"));
}

static hsnap_string array_name(struct hsnap_convert *convert, const struct hsnap_type *element,
			       hsnap_string element_name, uint64_t count)
{
	hsnap_auto(hsnap_freep) char *name = strdup(text_of(convert, element_name));
	if (!name) {
		convert->failed = true;
		return 0;
	}
	char *bounds = element->kind == HSNAP_TYPE_ARRAY ? strchr(name, '[') : NULL;
	int head = bounds ? (int)(bounds - name) : (int)strlen(name);
	struct hsnap_strings *strings = &convert->snapshot->strings;
	if (!count)
		return keep(convert, hsnap_strings_addf(strings, "%.*s[]%s", head, name, bounds ? bounds : ""));
	return keep(convert, hsnap_strings_addf(strings, "%.*s[%llu]%s", head, name, (unsigned long long)count,
						bounds ? bounds : ""));
}

static hsnap_type_id create(struct hsnap_convert *convert, hsnap_dtype_id id, bool full, unsigned depth);

static void name_pointer(struct hsnap_convert *convert, struct hsnap_type *type, hsnap_dtype_id target,
			 unsigned depth)
{
	type->element = create(convert, target, false, depth + 1);
	struct hsnap_type element = convert->snapshot->types.items[type->element];
	if (!type->element)
		element.name = element.full_name = 0;
	type->name = pointer_name(convert, element.name);
	type->full_name = pointer_name(convert, element.full_name);
}

static void name_array(struct hsnap_convert *convert, struct hsnap_type *type, const struct hsnap_dtype *dtype,
		       unsigned depth)
{
	type->element = create(convert, dtype->target, true, depth + 1);
	struct hsnap_type element = convert->snapshot->types.items[type->element];
	type->name = array_name(convert, &element, element.name, dtype->count);
	type->full_name = array_name(convert, &element, element.full_name, dtype->count);
}

static const char *default_name(const struct hsnap_dtype *dtype)
{
	return dtype->kind == HSNAP_DTYPE_UNION ? "anonymous union" : dtype->kind == HSNAP_DTYPE_FUNCTION ? "function"
									: "anonymous struct";
}

static void name_plain(struct hsnap_convert *convert, struct hsnap_type *type, const struct hsnap_dtype *dtype)
{
	struct hsnap_strings *strings = &convert->snapshot->strings;
	const char *full = hsnap_str(&convert->symbols->strings, dtype->name);
	if (!full[0] && dtype->line) {
		type->name = keep(convert, hsnap_strings_addf(strings, "%s (%s:%u)", default_name(dtype),
							      hsnap_last_part(hsnap_str(&convert->symbols->strings, dtype->unit)),
							      dtype->line));
		type->full_name = type->name;
		return;
	}
	hsnap_auto(hsnap_freep) char *name = hsnap_shorten(full[0] ? full : default_name(dtype));
	if (!name) {
		convert->failed = true;
		return;
	}
	type->name = keep(convert, hsnap_strings_add(strings, name));
	type->full_name = full[0] ? keep(convert, hsnap_strings_add(strings, full)) : type->name;
	/* An object in one block with the counts of its owners: larger than the object alone. */
	if (!strncmp(full, "std::_Sp_counted_ptr_inplace<", 29) || !strncmp(full, "std::__1::__shared_ptr_emplace<", 31))
		type->holder = keep(convert, hsnap_strings_add(strings, "(make_shared)"));
}

/* The type's entry; its members come later, where they are wanted. */
static hsnap_type_id create(struct hsnap_convert *convert, hsnap_dtype_id id, bool full, unsigned depth)
{
	if (!id || depth > MAX_DEPTH || convert->failed)
		return HSNAP_NO_TYPE;
	const struct hsnap_dtype *dtype = hsnap_dtype(convert->symbols, id);
	if (full && !convert->full[id]) {
		convert->full[id] = true;
		if (!hsnap_vec_push(&convert->queue, id))
			convert->failed = true;
	}
	if (convert->ids[id])
		return convert->ids[id];
	struct hsnap_snapshot *snapshot = convert->snapshot;
	struct hsnap_type type = {
		.kind = (uint8_t)kind_of(dtype), .size = dtype->size, .line = dtype->line,
		.module = dtype->module < snapshot->modules.num ? dtype->module : HSNAP_NO_MODULE,
		.unit = keep(convert, hsnap_strings_add(&snapshot->strings,
							hsnap_str(&convert->symbols->strings, dtype->unit))),
	};
	if (!hsnap_vec_push(&snapshot->types, type)) {
		convert->failed = true;
		return HSNAP_NO_TYPE;
	}
	hsnap_type_id made = (hsnap_type_id)(snapshot->types.num - 1);
	convert->ids[id] = made; /* before its parts: a pointer may lead back here */
	if (dtype->kind == HSNAP_DTYPE_POINTER)
		name_pointer(convert, &type, dtype->target, depth);
	else if (dtype->kind == HSNAP_DTYPE_ARRAY)
		name_array(convert, &type, dtype, depth);
	else
		name_plain(convert, &type, dtype);
	snapshot->types.items[made] = type;
	return made;
}

/* The library's members are its own affair: a path goes through them unsaid, but for a few. */
static const char *member_name(bool library, bool indices, const char *name)
{
	static const char *const said[][2] = {
		{ "_M_nxt", "next" },   { "_M_next", "next" },     { "_M_prev", "prev" },
		{ "_M_left", "left" },  { "_M_right", "right" },   { "_M_parent", "parent" },
		{ "_M_buckets", "buckets" }, { "__next_", "next" },    { "__prev_", "prev" },
		{ "__left_", "left" },  { "__right_", "right" },   { "__parent_", "parent" },
		{ "__bucket_list_", "buckets" }, { "left_", "left" },      { "right_", "right" },
		{ "next_", "next" },    { "prior_", "prior" },     { "buckets", "buckets" },
	};
	bool own = !strncmp(name, "_M_", 3) || !strncmp(name, "__", 2) || indices;
	if (!library || !own)
		return name;
	for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++)
		if (!strcmp(name, said[i][0]))
			return said[i][1];
	return "";
}

static bool is_indices(const char *name)
{
	return !strncmp(name, "boost::multi_index::", 20);
}

static bool is_library(const char *name)
{
	return !strncmp(name, "std::", 5) || !strncmp(name, "__gnu_cxx::", 11) || is_indices(name);
}

static void add_sole_member(struct hsnap_convert *convert, hsnap_dtype_id id, struct hsnap_member member)
{
	struct hsnap_type *type = &convert->snapshot->types.items[convert->ids[id]];
	type->first_member = (uint32_t)convert->snapshot->members.num;
	type->num_members = 1;
	if (!hsnap_vec_push(&convert->snapshot->members, member))
		convert->failed = true;
}

/* Storage that is declared as bytes has one member: what it holds. */
static bool add_stored(struct hsnap_convert *convert, hsnap_dtype_id id)
{
	const char *name = hsnap_str(&convert->symbols->strings, hsnap_dtype(convert->symbols, id)->name);
	const struct hsnap_library *library = hsnap_library_of(convert->symbols, id);
	bool holds = hsnap_is_storage(name) || (library && library->shape == HSNAP_SHAPE_VALUE);
	hsnap_dtype_id stored = holds ? hsnap_type_argument(convert->symbols, id, 0) : 0;
	if (!stored || hsnap_dtype(convert->symbols, stored)->size > hsnap_dtype(convert->symbols, id)->size)
		return false;
	add_sole_member(convert, id, (struct hsnap_member){ .type = create(convert, stored, true, 0) });
	return true;
}

/* A string that is short or long is a union: what its text is called by is the pointer of a long one. */
static bool add_text(struct hsnap_convert *convert, hsnap_dtype_id id)
{
	const struct hsnap_library *library = hsnap_library_of(convert->symbols, id);
	struct hsnap_member member = { 0 };
	hsnap_dtype_id pointer;
	if (!library || library->shape != HSNAP_SHAPE_STRING_FLAG ||
	    !hsnap_find_field(convert->symbols, id, library->fields[0], &member.offset, &pointer))
		return false;
	member.type = create(convert, pointer, true, 0);
	add_sole_member(convert, id, member);
	return true;
}

static bool is_shown(const struct hsnap_dmember *member)
{
	return !(member->flags & (HSNAP_DMEMBER_VIRTUAL | HSNAP_DMEMBER_BITFIELD | HSNAP_DMEMBER_VPTR));
}

static void add_members(struct hsnap_convert *convert, hsnap_dtype_id id)
{
	const struct hsnap_symbols *symbols = convert->symbols;
	struct hsnap_snapshot *snapshot = convert->snapshot;
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, id);
	const struct hsnap_dmember *members = symbols->members.items + dtype->first_member;
	const char *own_name = hsnap_str(&symbols->strings, dtype->name);
	bool library = is_library(own_name) || !own_name[0]; /* unions in classes of the library have no name */
	if ((dtype->kind != HSNAP_DTYPE_STRUCT && dtype->kind != HSNAP_DTYPE_UNION) || add_stored(convert, id) || add_text(convert, id))
		return;
	uint32_t first = (uint32_t)snapshot->members.num;
	for (uint32_t m = 0; m < dtype->num_members && !convert->failed; m++) {
		if (!is_shown(&members[m]))
			continue;
		const char *name = member_name(library, is_indices(own_name), hsnap_str(&symbols->strings, members[m].name));
		struct hsnap_member member = {
			.name = keep(convert, hsnap_strings_add(&snapshot->strings, name)),
			.offset = members[m].offset,
			.type = create(convert, members[m].type, true, 0),
		};
		if (!hsnap_vec_push(&snapshot->members, member))
			convert->failed = true;
	}
	struct hsnap_type *type = &snapshot->types.items[convert->ids[id]];
	type->first_member = first;
	type->num_members = (uint32_t)snapshot->members.num - first;
}

static hsnap_type_id convert_to(struct hsnap_convert *convert, hsnap_dtype_id type, bool full)
{
	hsnap_type_id id = create(convert, type, full, 0);
	while (convert->queue.num && !convert->failed) {
		hsnap_dtype_id next = convert->queue.items[--convert->queue.num];
		/* What was asked for but too deep to be made has no entry. */
		if (convert->ids[next])
			add_members(convert, next);
	}
	return convert->failed ? HSNAP_NO_TYPE : id;
}

hsnap_type_id hsnap_convert_type(struct hsnap_convert *convert, hsnap_dtype_id type)
{
	return convert_to(convert, type, true);
}

hsnap_type_id hsnap_convert_name(struct hsnap_convert *convert, hsnap_dtype_id type)
{
	return convert_to(convert, type, false);
}

static hsnap_type_id make_run(struct hsnap_convert *convert, hsnap_type_id id, hsnap_string holder)
{
	struct hsnap_snapshot *snapshot = convert->snapshot;
	struct hsnap_type of = snapshot->types.items[id];
	struct hsnap_type type = {
		.kind = HSNAP_TYPE_ARRAY, .element = id, .holder = holder, .module = of.module,
		.name = array_name(convert, &of, of.name, 0),
		.full_name = array_name(convert, &of, of.full_name, 0),
	};
	if (!hsnap_vec_push(&snapshot->types, type))
		convert->failed = true;
	return convert->failed ? HSNAP_NO_TYPE : (hsnap_type_id)(snapshot->types.num - 1);
}

hsnap_type_id hsnap_convert_run(struct hsnap_convert *convert, hsnap_dtype_id element, hsnap_string holder)
{
	bool is_new;
	hsnap_type_id id = hsnap_convert_type(convert, element);
	uint32_t *run = id ? hsnap_keymap_at(&convert->runs, (struct hsnap_key){ id, holder }, &is_new) : NULL;
	if (!run)
		return HSNAP_NO_TYPE;
	if (is_new)
		*run = make_run(convert, id, holder);
	return *run;
}
