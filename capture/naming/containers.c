/* SPDX-License-Identifier: MIT */
/*
 * containers.c - the containers of libstdc++ 12 (bits/stl_vector.h, basic_string.h, hashtable.h,
 * stl_tree.h, stl_list.h, forward_list.h, std_function.h): one entry a container.
 *
 * To add one: name its base that holds the pointers, say which type argument the
 * element is, and where the pointers stand.
 */
#include "capture/naming/types.h"

#include <string.h>

static const struct hsnap_library libraries[] = {
	{ "std::_Vector_base<", 24, 0, HSNAP_FAMILY_NONE, 1, { { HSNAP_SLOT_VECTOR, 0 } } },
	{ "std::__cxx11::basic_string<", 32, 0, HSNAP_FAMILY_NONE, 1, { { HSNAP_SLOT_STRING, 0 } } },
	{ "std::_Hashtable<", 56, 1, HSNAP_FAMILY_HASH, 2, { { HSNAP_SLOT_BUCKETS, 0 }, { HSNAP_SLOT_NODE, 16 } } },
	{ "std::_Rb_tree<", 48, 1, HSNAP_FAMILY_TREE, 3,
	  { { HSNAP_SLOT_NODE, 16 }, { HSNAP_SLOT_NODE, 24 }, { HSNAP_SLOT_NODE, 32 } } },
	{ "std::__cxx11::_List_base<", 24, 0, HSNAP_FAMILY_LIST, 2, { { HSNAP_SLOT_NODE, 0 }, { HSNAP_SLOT_NODE, 8 } } },
	{ "std::_Fwd_list_base<", 8, 0, HSNAP_FAMILY_FORWARD, 1, { { HSNAP_SLOT_NODE, 0 } } },
	/* What a function object holds is behind a union; where it is on the heap, the first word leads there. */
	{ "std::function<", 32, UINT8_MAX, HSNAP_FAMILY_NONE, 1, { { HSNAP_SLOT_POINTER, 0 } } },
};

static const struct {
	const char *prefix, *base;
} families[HSNAP_NUM_FAMILIES] = {
	[HSNAP_FAMILY_HASH] = { "std::__detail::_Hash_node<", "std::__detail::_Hash_node_base" },
	[HSNAP_FAMILY_TREE] = { "std::_Rb_tree_node<", "std::_Rb_tree_node_base" },
	[HSNAP_FAMILY_LIST] = { "std::_List_node<", "std::__detail::_List_node_base" },
	[HSNAP_FAMILY_FORWARD] = { "std::_Fwd_list_node<", "std::_Fwd_list_node_base" },
};

static bool begins(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

const struct hsnap_library *hsnap_library_of(const struct hsnap_symbols *symbols, hsnap_dtype_id type)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	const char *name = hsnap_str(&symbols->strings, dtype->name);
	if (!begins(name, "std::"))
		return NULL;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		if (begins(name, libraries[i].prefix) && (!libraries[i].size || libraries[i].size == dtype->size))
			return &libraries[i];
	return NULL;
}

enum hsnap_family hsnap_node_family(const char *name, const char **ret_base)
{
	for (int f = 1; f < HSNAP_NUM_FAMILIES; f++) {
		if (!begins(name, families[f].prefix))
			continue;
		*ret_base = families[f].base;
		return (enum hsnap_family)f;
	}
	return HSNAP_FAMILY_NONE;
}

bool hsnap_is_storage(const char *name)
{
	return begins(name, "__gnu_cxx::__aligned_buffer<") || begins(name, "__gnu_cxx::__aligned_membuf<");
}

bool hsnap_is_cached(const char *name)
{
	size_t len = strlen(name);
	return strstr(name, "_Hashtable_traits<true") || (len > 5 && !strcmp(name + len - 5, "true>"));
}

hsnap_dtype_id hsnap_type_argument(const struct hsnap_symbols *symbols, hsnap_dtype_id type, unsigned index)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	return index < dtype->num_arguments ? symbols->arguments.items[dtype->first_argument + index] : 0;
}
