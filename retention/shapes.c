/* SPDX-License-Identifier: MIT */
/* shapes.c - interning of shapes and of member paths, and the folding of repeated hops. */
#include "retention/shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/base/hash.h"

#define LONGEST_PERIOD 4 /* hops after which a path may be back at a type to fold */
#define DEEP 64          /* from this depth on any return to a type folds, weak or not … */
#define DEEPEST_LOOK 4096 /* … that is found so many shapes above */
#define VIA_SIZE 512
#define ANY_ELEMENT "[*]"

/* What a shape is told by; the rest of it follows. */
struct shape_key {
	hsnap_shape_id parent;
	hsnap_string via;
	hsnap_type_id type;
	uint32_t flags;
};

struct hsnap_shape_entry {
	struct shape_key key;
	hsnap_shape_id id;
	UT_hash_handle hh;
};

struct via_key {
	uint64_t type, offset;
};

struct hsnap_via_entry {
	struct via_key key;
	hsnap_string via;
	UT_hash_handle hh;
};

void hsnap_shapes_deinit(struct hsnap_shapes *shapes)
{
	hsnap_vec_deinit(&shapes->items);
	hsnap_hash_free(shapes->table);
	hsnap_hash_free(shapes->vias);
	*shapes = (struct hsnap_shapes){ 0 };
}

/* Of an array on the heap, 0: the type is none. */
static uint64_t element_size(const struct hsnap_shapes *shapes, hsnap_type_id type)
{
	const struct hsnap_type *item = &shapes->snapshot->types.items[type];
	return item->kind == HSNAP_TYPE_ARRAY ? shapes->snapshot->types.items[item->element].size : 0;
}

/* "[17]" of a fixed array becomes "[*]": elements are alike. */
static void forget_indices(char *text)
{
	char *out = text;
	for (const char *at = text; *at;) {
		size_t digits = *at == '[' ? strspn(at + 1, "0123456789") : 0;
		if (digits && at[1 + digits] == ']') {
			out = mempcpy(out, ANY_ELEMENT, strlen(ANY_ELEMENT)); /* never longer than what it replaces */
			at += digits + 2;
		} else {
			*out++ = *at++;
		}
	}
	*out = '\0';
}

/* Of what has no type one offset is as good as another. */
static bool is_anywhere(const struct hsnap_shapes *shapes, hsnap_type_id type)
{
	uint8_t kind = shapes->snapshot->types.items[type].kind;
	return !shapes->exact_offsets && (kind == HSNAP_TYPE_UNKNOWN || kind == HSNAP_TYPE_LABEL);
}

static hsnap_string make_via(struct hsnap_shapes *shapes, hsnap_type_id type, uint64_t offset)
{
	char text[VIA_SIZE];
	bool pool = shapes->snapshot->types.items[type].kind == HSNAP_TYPE_LABEL && shapes->snapshot->types.items[type].element;
	if (pool && !shapes->exact_offsets)
		return hsnap_strings_add(shapes->strings, ANY_ELEMENT);
	if (offset == HSNAP_OFFSET_BEYOND || is_anywhere(shapes, type))
		return hsnap_strings_add(shapes->strings, "+*");
	hsnap_member_path(shapes->snapshot, type, offset, text, sizeof(text));
	if (!shapes->exact_offsets)
		forget_indices(text);
	else if (element_size(shapes, type) && !strncmp(text, ANY_ELEMENT, strlen(ANY_ELEMENT)))
		return hsnap_strings_addf(shapes->strings, "[%llu]%s",
					  (unsigned long long)(offset / element_size(shapes, type)),
					  text + strlen(ANY_ELEMENT));
	return hsnap_strings_add(shapes->strings, *text ? text : "*");
}

hsnap_string hsnap_shapes_via(struct hsnap_shapes *shapes, hsnap_node_id from, uint32_t edge)
{
	const struct hsnap_snapshot *snapshot = shapes->snapshot;
	hsnap_type_id type = snapshot->graph.type[from];
	uint64_t offset = snapshot->graph.edge_offset[edge], each = element_size(shapes, type);
	if (each && offset != HSNAP_OFFSET_BEYOND && !shapes->exact_offsets)
		offset %= each; /* elements are alike */
	else if (is_anywhere(shapes, type))
		offset = 0;
	struct via_key key = { type, offset };
	struct hsnap_via_entry *entry;
	HASH_FIND(hh, shapes->vias, &key, sizeof(key), entry);
	if (entry)
		return entry->via;
	hsnap_string via = make_via(shapes, type, offset);
	entry = via == HSNAP_NO_STRING ? NULL : calloc(1, sizeof(*entry));
	if (!entry)
		return HSNAP_NO_STRING;
	entry->key = key;
	entry->via = via;
	HASH_ADD(hh, shapes->vias, key, sizeof(key), entry);
	return entry ? via : HSNAP_NO_STRING;
}

static hsnap_shape_id intern(struct hsnap_shapes *shapes, struct hsnap_shape shape)
{
	struct shape_key key = { shape.parent, shape.via, shape.type,
				 (uint32_t)(shape.weak << 2 | shape.weak_fold << 1 | shape.closed) };
	struct hsnap_shape_entry *entry;
	HASH_FIND(hh, shapes->table, &key, sizeof(key), entry);
	if (entry)
		return entry->id;
	entry = hsnap_vec_reserve(&shapes->items, 1) ? calloc(1, sizeof(*entry)) : NULL;
	if (!entry)
		return HSNAP_NO_SHAPE;
	entry->key = key;
	entry->id = (hsnap_shape_id)shapes->items.num;
	HASH_ADD(hh, shapes->table, key, sizeof(key), entry);
	if (!entry)
		return HSNAP_NO_SHAPE;
	shapes->items.items[shapes->items.num++] = shape;
	return entry->id;
}

hsnap_shape_id hsnap_shapes_begin(struct hsnap_shapes *shapes, hsnap_string key, hsnap_type_id type,
				  bool weak, bool closed)
{
	return intern(shapes, (struct hsnap_shape){ .parent = HSNAP_NO_SHAPE, .via = key, .type = type, .weak = weak,
						    .closed = closed });
}

/* How many shapes above `from` the type stands, so that a hop to it folds; UINT32_MAX: none near. */
static uint32_t find_return(const struct hsnap_shapes *shapes, hsnap_shape_id from, hsnap_type_id type, bool weak)
{
	const struct hsnap_shape *items = shapes->items.items;
	bool deep = items[from].depth >= DEEP;
	if (weak && !deep)
		return items[from].weak_fold && items[from].type == type ? 0 : UINT32_MAX;
	for (uint32_t up = 0; from != HSNAP_NO_SHAPE && up < (deep ? DEEPEST_LOOK : LONGEST_PERIOD); up++) {
		if (items[from].closed)
			break;
		if (items[from].type == type && (!up || type != HSNAP_NO_TYPE))
			return up;
		if (items[from].weak && !deep)
			break; /* a fold over a weak hop would hide it */
		from = items[from].parent;
	}
	return UINT32_MAX;
}

/* The member paths of the shapes left behind and of the hop itself, in a row. */
static hsnap_string join_vias(struct hsnap_shapes *shapes, hsnap_shape_id from, uint32_t up, hsnap_string via)
{
	char text[VIA_SIZE], longer[VIA_SIZE];
	snprintf(text, sizeof(text), "%s", hsnap_str(shapes->strings, via));
	for (; up; up--, from = shapes->items.items[from].parent) {
		const char *before = hsnap_str(shapes->strings, shapes->items.items[from].via);
		if (snprintf(longer, sizeof(longer), "%s%s", before, text) >= (int)sizeof(longer))
			break;
		memcpy(text, longer, sizeof(text));
	}
	return hsnap_strings_add(shapes->strings, text);
}

struct hsnap_hop hsnap_shapes_take(struct hsnap_shapes *shapes, hsnap_shape_id from, hsnap_string via,
				   hsnap_type_id type, bool weak)
{
	uint32_t up = find_return(shapes, from, type, weak);
	if (up != UINT32_MAX) {
		struct hsnap_hop back = { .shape = from, .up = 1 + up, .via = via };
		if (up)
			back.via = join_vias(shapes, from, up, via);
		for (; up; up--)
			back.shape = shapes->items.items[back.shape].parent;
		shapes->items.items[back.shape].weak_inside |= weak;
		if (back.via == HSNAP_NO_STRING)
			back.shape = HSNAP_NO_SHAPE;
		return back;
	}
	const struct hsnap_shape *parent = &shapes->items.items[from];
	struct hsnap_shape next = { .parent = from, .via = via, .type = type, .depth = parent->depth + 1, .weak = weak };
	if (weak && parent->type == type && !parent->closed) {
		next.weak_fold = true;
		next.via = 0; /* the vias of all repetitions are told with the blocks */
	}
	return (struct hsnap_hop){ .shape = intern(shapes, next), .via = via };
}

void hsnap_vias_add(struct hsnap_vias *vias, hsnap_string via)
{
	for (uint32_t i = 0; i < vias->num; i++)
		if (vias->items[i] == via)
			return;
	if (vias->num <= HSNAP_MOST_VIAS)
		vias->items[vias->num++] = via;
}

static int compare_strings(const void *a, const void *b, void *context)
{
	const struct hsnap_strings *strings = context;
	return strcmp(hsnap_str(strings, *(const hsnap_string *)a), hsnap_str(strings, *(const hsnap_string *)b));
}

hsnap_string hsnap_vias_join(struct hsnap_vias *vias, struct hsnap_strings *strings)
{
	char text[(HSNAP_MOST_VIAS + 1) * VIA_SIZE] = "";
	size_t len = 0;
	qsort_r(vias->items, vias->num, sizeof(*vias->items), compare_strings, strings);
	for (uint32_t i = 0; i < vias->num; i++) {
		const char *via = i == HSNAP_MOST_VIAS ? "..." : hsnap_str(strings, vias->items[i]);
		int more = snprintf(text + len, sizeof(text) - len, "%s%s", i ? "|" : "", via);
		if (more < 0 || (size_t)more >= sizeof(text) - len)
			break;
		len += (size_t)more;
	}
	return hsnap_strings_add(strings, text);
}
