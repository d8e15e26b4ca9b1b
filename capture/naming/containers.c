/* SPDX-License-Identifier: MIT */
/*
 * containers.c - the containers of libstdc++ (bits/stl_vector.h, basic_string.h, hashtable.h, stl_tree.h,
 * stl_list.h, stl_deque.h …), of libc++ and of Boost (1.74 multi_index/detail): one entry a container.
 *
 * To add one: name its class, or the base that holds the pointers, say which type argument the element is,
 * and by which members its shape stands.  Where they stand is looked up in the debug info, so that another
 * version or an allocator with a state of its own does no harm; a class that lacks one is none of ours.
 */
#include "capture/naming/types.h"

#include <string.h>

#define MAX_DEPTH 8   /* of members within members */
#define MAX_STEPS 512 /* members that are looked at for one field */

#define NONE HSNAP_FAMILY_NONE
#define FAMILY(name) HSNAP_FAMILY_##name
#define SHAPE(name) HSNAP_SHAPE_##name

static const struct hsnap_library libraries[] = {
	/* libstdc++ */
	{ "std::_Vector_base<", SHAPE(VECTOR), NONE, 0, { "_M_start", "_M_finish", "_M_end_of_storage" } },
	{ "std::_Bvector_base<", SHAPE(BITS), NONE, HSNAP_NO_ARGUMENT,
	  { "_M_start._M_p", "_M_finish._M_p", "_M_end_of_storage" } },
	{ "std::__cxx11::basic_string<", SHAPE(STRING), NONE, 0,
	  { "_M_p", "_M_string_length", "_M_allocated_capacity", "_M_local_buf" } },
	{ "std::basic_string<", SHAPE(STRING_COW), NONE, 0, { "_M_p" } },
	{ "std::__cxx11::_List_base<", SHAPE(LIST), FAMILY(LIST), 0,
	  { "_M_node._M_next", "_M_node._M_prev", "_M_node._M_size" } },
	{ "std::_List_base<", SHAPE(LIST), FAMILY(LIST), 0, { "_M_node._M_next", "_M_node._M_prev" } },
	{ "std::_Fwd_list_base<", SHAPE(CHAIN), FAMILY(FORWARD), 0, { "_M_head._M_next" } },
	{ "std::_Deque_base<", SHAPE(DEQUE), NONE, 0, { "_M_map", "_M_map_size", "_M_start._M_cur", "_M_finish._M_cur" } },
	{ "std::_Rb_tree<", SHAPE(TREE), FAMILY(TREE), 1,
	  { "_M_header._M_parent", "_M_header._M_left", "_M_header._M_right", "_M_node_count" } },
	{ "std::_Hashtable<", SHAPE(HASH), FAMILY(HASH), 1,
	  { "_M_buckets", "_M_bucket_count", "_M_before_begin._M_nxt", "_M_element_count", "_M_max_load_factor",
	    "_M_single_bucket" } },
	{ "std::__weak_ptr<", SHAPE(WEAK), NONE, 0, { "_M_ptr", "_M_refcount._M_pi" } },
	{ "std::_Sp_counted_ptr<", SHAPE(OWNED), NONE, HSNAP_NO_ARGUMENT, { "_M_ptr", "_M_use_count" } },
	{ "std::_Sp_counted_ptr_inplace<", SHAPE(INPLACE), NONE, 0, { "_M_storage", "_M_use_count" } },
	{ "std::function<", SHAPE(MANAGED), NONE, HSNAP_NO_ARGUMENT, { "_M_functor", "_M_manager" } },
	{ "std::any", SHAPE(MANAGED), NONE, HSNAP_NO_ARGUMENT, { "_M_storage", "_M_manager" } },
	{ "std::_Optional_payload_base<", SHAPE(OPTIONAL), NONE, 0, { "_M_payload", "_M_engaged" } },
	{ "std::__detail::__variant::_Variant_storage<", SHAPE(VARIANT), NONE, HSNAP_NO_ARGUMENT, { "_M_u", "_M_index" } },
	/* libc++ */
	{ "std::__1::vector<bool,", SHAPE(BITS_SIZED), NONE, HSNAP_NO_ARGUMENT,
	  { "__begin_", "__size_", "__cap_alloc_.__value_" } },
	{ "std::__1::vector<", SHAPE(VECTOR), NONE, 0, { "__begin_", "__end_", "__end_cap_.__value_" } },
	{ "std::__1::__vector_base<", SHAPE(VECTOR), NONE, 0, { "__begin_", "__end_", "__end_cap_.__value_" } },
	{ "std::__1::basic_string<", SHAPE(STRING_FLAG), NONE, 0, { "__l.__data_", "__l.__size_", "__l.__cap_" } },
	{ "std::__1::__list_imp<", SHAPE(LIST), FAMILY(LIST_LIBCXX), 0,
	  { "__end_.__next_", "__end_.__prev_", "__size_alloc_.__value_" } },
	{ "std::__1::__forward_list_base<", SHAPE(CHAIN), FAMILY(FORWARD_LIBCXX), 0, { "__before_begin_.__next_" } },
	{ "std::__1::__deque_base<", SHAPE(DEQUE_INDEX), NONE, 0,
	  { "__map_.__first_", "__map_.__begin_", "__map_.__end_", "__map_.__end_cap_.__value_", "__start_",
	    "__size_.__value_" } },
	{ "std::__1::deque<", SHAPE(DEQUE_INDEX), NONE, 0,
	  { "__map_.__first_", "__map_.__begin_", "__map_.__end_", "__map_.__end_cap_.__value_", "__start_",
	    "__size_.__value_" } },
	{ "std::__1::__tree<", SHAPE(TREE), FAMILY(TREE_LIBCXX), 0,
	  { "__pair1_.__left_", "__begin_node_", NULL, "__pair3_.__value_" } },
	{ "std::__1::__hash_table<", SHAPE(HASH), FAMILY(HASH_LIBCXX), 0,
	  { "__bucket_list_.__ptr_.__value_", "__bucket_list_.__data_.__value_", "__p1_.__next_", "__p2_.__value_",
	    "__p3_.__value_" } },
	{ "std::__1::weak_ptr<", SHAPE(WEAK_FEWER), NONE, 0, { "__ptr_", "__cntrl_" } },
	{ "std::__1::__shared_ptr_pointer<", SHAPE(OWNED_FEWER), NONE, HSNAP_NO_ARGUMENT, { "__data_.__value_.__value_" } },
	{ "std::__1::__shared_ptr_emplace<", SHAPE(INPLACE_FEWER), NONE, 0, { "__storage_" } },
	{ "std::__1::any", SHAPE(MANAGED), NONE, HSNAP_NO_ARGUMENT, { "__s", "__h" } },
	{ "std::__1::__function::__value_func<", SHAPE(INSIDE), NONE, HSNAP_NO_ARGUMENT, { "__buf_", "__f_" } },
	{ "std::__1::__optional_destruct_base<", SHAPE(OPTIONAL), NONE, 0, { "__val_", "__engaged_" } },
	{ "std::__1::__variant_detail::__base<", SHAPE(VARIANT), NONE, HSNAP_NO_ARGUMENT, { "__data", "__index" } },
	/* boost::multi_index */
	{ "boost::multi_index::detail::header_holder<", SHAPE(INDICES), NONE, HSNAP_NO_ARGUMENT, { "member" } },
	{ "boost::multi_index::detail::bucket_array<", SHAPE(ARRAY), NONE, HSNAP_NO_ARGUMENT, { "spc.data_", "spc.n_" } },
	{ "boost::multi_index::detail::random_access_index_ptr_array<", SHAPE(ARRAY), NONE, HSNAP_NO_ARGUMENT,
	  { "spc.data_", "spc.n_", "size_" } },
	{ "boost::multi_index::detail::pod_value_holder<", SHAPE(VALUE), NONE, 0, { "space" } },
	/* GLib, as glib.c completes it */
	{ "_GHashTable", SHAPE(GLIB_TABLE), NONE, HSNAP_NO_ARGUMENT, { "keys", "hashes", "values", "size", "mask", "have_big" } },
	{ "_GPtrArray", SHAPE(GLIB_POINTERS), NONE, HSNAP_NO_ARGUMENT, { "pdata", "len", "alloc" } },
};

static const struct {
	const char *prefix;
	const char *links[2];
} families[HSNAP_NUM_FAMILIES] = {
	[HSNAP_FAMILY_HASH] = { "std::__detail::_Hash_node<", { "std::__detail::_Hash_node_base" } },
	[HSNAP_FAMILY_TREE] = { "std::_Rb_tree_node<", { "std::_Rb_tree_node_base" } },
	[HSNAP_FAMILY_LIST] = { "std::_List_node<", { "std::__detail::_List_node_base" } },
	[HSNAP_FAMILY_FORWARD] = { "std::_Fwd_list_node<", { "std::_Fwd_list_node_base" } },
	[HSNAP_FAMILY_HASH_LIBCXX] = { "std::__1::__hash_node<", { "std::__1::__hash_node_base<" } },
	[HSNAP_FAMILY_TREE_LIBCXX] = { "std::__1::__tree_node<",
				       { "std::__1::__tree_node_base<", "std::__1::__tree_end_node<" } },
	[HSNAP_FAMILY_LIST_LIBCXX] = { "std::__1::__list_node<", { "std::__1::__list_node_base<" } },
	[HSNAP_FAMILY_FORWARD_LIBCXX] = { "std::__1::__forward_list_node<", { "std::__1::__forward_begin_node<" } },
};

static bool begins(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Entries without a bracket are classes that are no templates. */
static bool is_named(const char *name, const char *prefix)
{
	return prefix[strlen(prefix) - 1] == '<' || strchr(prefix, '<') ? begins(name, prefix) : !strcmp(name, prefix);
}

const struct hsnap_library *hsnap_library_of(const struct hsnap_symbols *symbols, hsnap_dtype_id type)
{
	const char *name = hsnap_str(&symbols->strings, hsnap_dtype(symbols, type)->name);
	if (!begins(name, "std::") && !begins(name, "boost::") && !begins(name, "_G"))
		return NULL;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		if (is_named(name, libraries[i].prefix))
			return &libraries[i];
	return NULL;
}

/* A member's name and what is left of the path. */
struct field {
	const char *name;
	size_t len;
	unsigned steps;
};

static bool find_member(const struct hsnap_symbols *symbols, hsnap_dtype_id type, struct field *field, unsigned depth,
			uint64_t *ret_offset, hsnap_dtype_id *ret_type)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	const struct hsnap_dmember *members = symbols->members.items + dtype->first_member;
	if (depth == MAX_DEPTH || (dtype->kind != HSNAP_DTYPE_STRUCT && dtype->kind != HSNAP_DTYPE_UNION))
		return false;
	for (uint32_t m = 0; m < dtype->num_members; m++) {
		const char *name = hsnap_str(&symbols->strings, members[m].name);
		if (!field->steps)
			return false;
		field->steps--;
		if (strncmp(name, field->name, field->len) || name[field->len] || members[m].flags & HSNAP_DMEMBER_VIRTUAL)
			continue;
		*ret_offset = members[m].offset;
		*ret_type = members[m].type;
		return true;
	}
	for (uint32_t m = 0; m < dtype->num_members; m++) {
		if (members[m].flags & HSNAP_DMEMBER_VIRTUAL ||
		    !find_member(symbols, members[m].type, field, depth + 1, ret_offset, ret_type))
			continue;
		return !__builtin_add_overflow(*ret_offset, members[m].offset, ret_offset);
	}
	return false;
}

bool hsnap_find_field(const struct hsnap_symbols *symbols, hsnap_dtype_id type, const char *path, uint64_t *ret_offset,
		      hsnap_dtype_id *ret_type)
{
	uint64_t size = hsnap_dtype(symbols, type)->size, offset = 0;
	while (*path) {
		struct field field = { path, strcspn(path, "."), MAX_STEPS };
		uint64_t inner;
		if (!find_member(symbols, type, &field, 0, &inner, &type) || __builtin_add_overflow(offset, inner, &offset))
			return false;
		path += field.len + (path[field.len] == '.');
	}
	*ret_offset = offset;
	*ret_type = type;
	uint64_t each = hsnap_dtype(symbols, type)->size;
	return each <= size && offset <= size - each;
}

enum hsnap_family hsnap_node_family(const char *name)
{
	for (int f = 1; f < HSNAP_NUM_FAMILIES && begins(name, "std::"); f++)
		if (begins(name, families[f].prefix))
			return (enum hsnap_family)f;
	return HSNAP_FAMILY_NONE;
}

bool hsnap_is_link(enum hsnap_family family, const char *name)
{
	for (size_t i = 0; i < 2 && families[family].links[i]; i++)
		if (is_named(name, families[family].links[i]))
			return true;
	return false;
}

static const char indices[] = "boost::multi_index::detail::";

enum hsnap_index hsnap_index_of(const char *name)
{
	static const char *const kinds[] = {
		[HSNAP_INDEX_ORDERED] = "ordered_index_node<", [HSNAP_INDEX_HASHED] = "hashed_index_node<",
		[HSNAP_INDEX_SEQUENCED] = "sequenced_index_node<", [HSNAP_INDEX_RANDOM] = "random_access_index_node<",
	};
	for (int i = 1; i <= HSNAP_INDEX_RANDOM && begins(name, indices); i++)
		if (begins(name + strlen(indices), kinds[i]))
			return (enum hsnap_index)i;
	return HSNAP_INDEX_NONE;
}

static bool is_of_indices(const char *name, const char *what)
{
	return begins(name, indices) && !strncmp(strchrnul(name, '<') - strlen(what), what, strlen(what));
}

bool hsnap_find_part(const struct hsnap_symbols *symbols, hsnap_dtype_id node, uint64_t *ret_offset, hsnap_dtype_id *ret_part,
		     hsnap_dtype_id *ret_rest)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, node);
	bool found = false;
	*ret_rest = 0;
	for (uint32_t m = 0; m < dtype->num_members && m < MAX_STEPS; m++) {
		const struct hsnap_dmember *member = &symbols->members.items[dtype->first_member + m];
		const struct hsnap_dtype *of = hsnap_dtype(symbols, member->type);
		if (!(member->flags & HSNAP_DMEMBER_BASE) || of->size > dtype->size || member->offset > dtype->size - of->size)
			continue;
		if (!is_of_indices(hsnap_str(&symbols->strings, of->name), "_index_node_trampoline")) {
			*ret_rest = member->offset ? *ret_rest : member->type;
			continue;
		}
		*ret_offset = member->offset;
		*ret_part = member->type;
		found = true;
	}
	return found && *ret_rest;
}

bool hsnap_is_part(const char *name)
{
	return is_of_indices(name, "_node_impl");
}

bool hsnap_owns_array(const char *name)
{
	bool unique = begins(name, "std::unique_ptr<") || begins(name, "std::__1::unique_ptr<");
	bool shared = begins(name, "std::__shared_ptr<") || begins(name, "std::__1::shared_ptr<");
	return shared || (unique && (strstr(name, "[], std::default_delete<") || strstr(name, "[], std::__1::default_delete<")));
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
