/* SPDX-License-Identifier: MIT */
/*
 * glib.c - what GLib's own source says of its containers, where its debug info is not at hand.
 *
 * Programs are told next to nothing: a hash table and a tree are opaque, and of arrays they see the first two members.  The rest
 * is that of GLib from 2.60 on (glib/ghash.c, struct _GHashTable; glib/garray.c, struct _GRealArray and
 * _GRealPtrArray; glib/gtree.c, struct _GTree and _GTreeNode).  Each hash table and array of pointers is checked before it
 * is believed; the others have to have the right size.
 */
#include <string.h>

#include "capture/naming/types.h"

#define LIBRARY "libglib-2.0.so"

/* Types that the members have. */
struct parts {
	hsnap_dtype_id word, number, pointer, pointers, numbers, node;
};

static hsnap_dtype_id add_type(struct hsnap_symbols *symbols, uint8_t kind, const char *name, uint64_t size, hsnap_dtype_id target)
{
	struct hsnap_dtype type = { .kind = kind, .name = hsnap_strings_add(&symbols->strings, name), .size = size, .target = target };
	return type.name != HSNAP_NO_STRING && hsnap_vec_push(&symbols->types, type) ? (hsnap_dtype_id)(symbols->types.num - 1) : 0;
}

static bool add_member(struct hsnap_symbols *symbols, hsnap_dtype_id type, const char *name, uint64_t offset, hsnap_dtype_id of)
{
	struct hsnap_dmember member = { .name = hsnap_strings_add(&symbols->strings, name), .offset = offset, .type = of };
	symbols->types.items[type].num_members++;
	return member.name != HSNAP_NO_STRING && hsnap_vec_push(&symbols->members, member);
}

static bool make_parts(struct hsnap_symbols *symbols, struct parts *parts)
{
	if (parts->numbers)
		return true;
	parts->word = add_type(symbols, HSNAP_DTYPE_SCALAR, "unsigned long", 8, 0);
	parts->number = add_type(symbols, HSNAP_DTYPE_SCALAR, "unsigned int", 4, 0);
	parts->pointer = add_type(symbols, HSNAP_DTYPE_POINTER, "", 8, 0);
	parts->pointers = add_type(symbols, HSNAP_DTYPE_POINTER, "", 8, parts->pointer);
	parts->numbers = parts->pointers ? add_type(symbols, HSNAP_DTYPE_POINTER, "", 8, parts->number) : 0;
	return parts->word && parts->number && parts->pointer && parts->numbers;
}

static bool define(struct hsnap_symbols *symbols, hsnap_dtype_id type, uint64_t size)
{
	struct hsnap_dtype *dtype = &symbols->types.items[type];
	dtype->kind = HSNAP_DTYPE_STRUCT;
	dtype->size = size;
	dtype->first_member = (uint32_t)symbols->members.num;
	dtype->num_members = 0;
	dtype->flags = 0;
	return true;
}

static bool define_table(struct hsnap_symbols *symbols, hsnap_dtype_id type, struct parts *parts)
{
	return make_parts(symbols, parts) && define(symbols, type, 96) && add_member(symbols, type, "size", 0, parts->word) &&
	       add_member(symbols, type, "mod", 8, parts->number) && add_member(symbols, type, "mask", 12, parts->number) &&
	       add_member(symbols, type, "nnodes", 16, parts->number) && add_member(symbols, type, "noccupied", 20, parts->number) &&
	       add_member(symbols, type, "have_big", 24, parts->number) && add_member(symbols, type, "keys", 32, parts->pointers) &&
	       add_member(symbols, type, "hashes", 40, parts->numbers) && add_member(symbols, type, "values", 48, parts->pointers) &&
	       add_member(symbols, type, "hash_func", 56, parts->word) && add_member(symbols, type, "key_equal_func", 64, parts->word) &&
	       add_member(symbols, type, "ref_count", 72, parts->number) && add_member(symbols, type, "version", 76, parts->number) &&
	       add_member(symbols, type, "key_destroy_func", 80, parts->word) &&
	       add_member(symbols, type, "value_destroy_func", 88, parts->word);
}

static bool define_pointers(struct hsnap_symbols *symbols, hsnap_dtype_id type, struct parts *parts)
{
	return make_parts(symbols, parts) && define(symbols, type, 32) && add_member(symbols, type, "pdata", 0, parts->pointers) &&
	       add_member(symbols, type, "len", 8, parts->number) && add_member(symbols, type, "alloc", 12, parts->number) &&
	       add_member(symbols, type, "ref_count", 16, parts->number) && add_member(symbols, type, "null_terminated", 20, parts->number) &&
	       add_member(symbols, type, "element_free_func", 24, parts->word);
}

static bool define_array_of(struct hsnap_symbols *symbols, hsnap_dtype_id type, struct parts *parts, hsnap_dtype_id data)
{
	return define(symbols, type, 40) && add_member(symbols, type, "data", 0, data) &&
	       add_member(symbols, type, "len", 8, parts->number) && add_member(symbols, type, "elt_capacity", 12, parts->number) &&
	       add_member(symbols, type, "elt_size", 16, parts->number) && add_member(symbols, type, "flags", 20, parts->number) &&
	       add_member(symbols, type, "ref_count", 24, parts->number) && add_member(symbols, type, "clear_func", 32, parts->word);
}

/* Its data are declared as characters, and are what the program puts there. */
static bool define_array(struct hsnap_symbols *symbols, hsnap_dtype_id type, struct parts *parts)
{
	return make_parts(symbols, parts) && define_array_of(symbols, type, parts, parts->pointer);
}

/* Its data are what they are declared as. */
static bool define_bytes(struct hsnap_symbols *symbols, hsnap_dtype_id type, struct parts *parts)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	hsnap_dtype_id data = dtype->num_members ? symbols->members.items[dtype->first_member].type : 0;
	return make_parts(symbols, parts) && (!data || define_array_of(symbols, type, parts, data));
}

/* Where a node has no child it leads to its neighbour. */
static bool define_node(struct hsnap_symbols *symbols, hsnap_dtype_id type, struct parts *parts)
{
	hsnap_dtype_id node = make_parts(symbols, parts) ? add_type(symbols, HSNAP_DTYPE_POINTER, "", 8, type) : 0;
	return node && define(symbols, type, 40) && add_member(symbols, type, "key", 0, parts->pointer) &&
	       add_member(symbols, type, "value", 8, parts->pointer) && add_member(symbols, type, "left", 16, node) &&
	       add_member(symbols, type, "right", 24, node) && add_member(symbols, type, "balance", 32, parts->number);
}

/* The program may know of no nodes. */
static bool find_node(struct hsnap_symbols *symbols, struct parts *parts)
{
	hsnap_dtype_id node = 1, num = (hsnap_dtype_id)symbols->types.num;
	while (node < num && strcmp(hsnap_str(&symbols->strings, hsnap_dtype(symbols, node)->name), "_GTreeNode"))
		node++;
	if (node == num)
		node = add_type(symbols, HSNAP_DTYPE_INCOMPLETE, "_GTreeNode", 0, 0);
	if (!node || (hsnap_dtype(symbols, node)->kind == HSNAP_DTYPE_INCOMPLETE && !define_node(symbols, node, parts)))
		return false;
	parts->node = add_type(symbols, HSNAP_DTYPE_POINTER, "", 8, node);
	return parts->node;
}

static bool define_tree(struct hsnap_symbols *symbols, hsnap_dtype_id type, struct parts *parts)
{
	return make_parts(symbols, parts) && (parts->node || find_node(symbols, parts)) && define(symbols, type, 48) &&
	       add_member(symbols, type, "root", 0, parts->node) && add_member(symbols, type, "key_compare", 8, parts->word) &&
	       add_member(symbols, type, "key_destroy_func", 16, parts->word) &&
	       add_member(symbols, type, "value_destroy_func", 24, parts->word) &&
	       add_member(symbols, type, "key_compare_data", 32, parts->pointer) &&
	       add_member(symbols, type, "nnodes", 40, parts->number) && add_member(symbols, type, "ref_count", 44, parts->number);
}

static const struct {
	const char *name;
	uint8_t kind;
	uint64_t size; /* as programs see it */
	bool (*define)(struct hsnap_symbols *symbols, hsnap_dtype_id type, struct parts *parts);
} known[] = {
	{ "_GHashTable", HSNAP_DTYPE_INCOMPLETE, 0, define_table },
	{ "_GPtrArray", HSNAP_DTYPE_STRUCT, 16, define_pointers },
	{ "_GArray", HSNAP_DTYPE_STRUCT, 16, define_array },
	{ "_GByteArray", HSNAP_DTYPE_STRUCT, 16, define_bytes },
	{ "_GTree", HSNAP_DTYPE_INCOMPLETE, 0, define_tree },
	{ "_GTreeNode", HSNAP_DTYPE_INCOMPLETE, 0, define_node },
};

static bool has_glib(const struct hsnap_target *target)
{
	for (size_t m = 0; m < target->modules.num; m++) {
		const char *slash = strrchr(hsnap_str(&target->strings, target->modules.items[m].path), '/');
		if (slash && !strncmp(slash + 1, LIBRARY, strlen(LIBRARY)))
			return true;
	}
	return false;
}

bool hsnap_know_glib(struct hsnap_symbols *symbols, const struct hsnap_target *target)
{
	hsnap_dtype_id num = has_glib(target) ? (hsnap_dtype_id)symbols->types.num : 0;
	struct parts parts = { 0 };
	for (hsnap_dtype_id type = 1; type < num; type++) {
		const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
		const char *name = hsnap_str(&symbols->strings, dtype->name);
		for (size_t i = 0; i < sizeof(known) / sizeof(*known) && name[0] == '_' && name[1] == 'G'; i++)
			if (!strcmp(name, known[i].name) && dtype->kind == known[i].kind && dtype->size == known[i].size) {
				if (!known[i].define(symbols, type, &parts))
					return false;
				break;
			}
	}
	return true;
}
