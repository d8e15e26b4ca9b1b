/* SPDX-License-Identifier: MIT */
/*
 * made.c - types of nodes that no debug info defines.
 *
 * A unit that has a container and never looks into it only declares its nodes.  What they have in front of their
 * element is what the container's own links lead to, and where the element stands behind that is a matter of its
 * alignment (Itanium C++ ABI 2.4; libstdc++ 12 bits/stl_tree.h, stl_list.h, hashtable_policy.h; libc++ 14 __tree,
 * __hash_table, list, forward_list).
 */
#include <stdio.h>
#include <string.h>

#include "capture/naming/types.h"

#define MAX_DEPTH 16
#define MAX_STEPS 4096 /* types that are looked at for the alignment of one */
#define MAX_ALIGNMENT 16u
#define MAX_NAME 4096
#define MAX_SIZE ((uint64_t)1 << 32) /* of an element */

/* What a family's nodes are like. */
static const struct {
	const char *prefix, *suffix; /* of the name, around the element's */
	uint8_t link;                /* field of the container that leads to what a node begins with */
	uint8_t number;              /* field of the type that hashes have; 0: nodes have none */
	uint8_t head;                /* bytes in front of the element; 0: those of what the link leads to */
} made[HSNAP_NUM_FAMILIES] = {
	[HSNAP_FAMILY_HASH] = { "std::__detail::_Hash_node<", NULL, 2, 1, 0 },
	[HSNAP_FAMILY_TREE] = { "std::_Rb_tree_node<", " >", 0, 0, 0 },
	[HSNAP_FAMILY_LIST] = { "std::_List_node<", " >", 0, 0, 0 },
	[HSNAP_FAMILY_FORWARD] = { "std::_Fwd_list_node<", " >", 0, 0, 0 },
	[HSNAP_FAMILY_HASH_LIBCXX] = { "std::__1::__hash_node<", ", void *>", 2, 3, 16 },
	/* The element may stand in what is left of the base behind its bool. */
	[HSNAP_FAMILY_TREE_LIBCXX] = { "std::__1::__tree_node<", ", void *>", 0, 0, 25 },
	[HSNAP_FAMILY_LIST_LIBCXX] = { "std::__1::__list_node<", ", void *>", 0, 0, 0 },
	[HSNAP_FAMILY_FORWARD_LIBCXX] = { "std::__1::__forward_list_node<", ", void *>", 0, 0, 8 },
};

static uint64_t round_up(uint64_t number, uint64_t to)
{
	return (number + to - 1) / to * to;
}

/* 0: not to be told.  *steps: types that may still be looked at, since hostile ones hold one another without end. */
static uint64_t alignment_in(const struct hsnap_symbols *symbols, hsnap_dtype_id type, unsigned depth, unsigned *steps)
{
	const struct hsnap_dtype *dtype = hsnap_dtype(symbols, type);
	uint64_t most = 1, end = 0;
	if (!*steps)
		return 0;
	--*steps;
	switch (depth < MAX_DEPTH && dtype->size ? dtype->kind : HSNAP_DTYPE_VOID) {
	case HSNAP_DTYPE_SCALAR:
	case HSNAP_DTYPE_BYTE:
	case HSNAP_DTYPE_POINTER:
		return dtype->size <= MAX_ALIGNMENT && !(dtype->size & (dtype->size - 1)) ? dtype->size : 0;
	case HSNAP_DTYPE_ARRAY:
		return alignment_in(symbols, dtype->target, depth + 1, steps);
	case HSNAP_DTYPE_STRUCT:
	case HSNAP_DTYPE_UNION:
		break;
	default:
		return 0;
	}
	if (dtype->flags & HSNAP_DTYPE_POLYMORPHIC)
		most = end = 8;
	for (uint32_t m = 0; m < dtype->num_members; m++) {
		const struct hsnap_dmember *member = &symbols->members.items[dtype->first_member + m];
		uint64_t each = member->flags & HSNAP_DMEMBER_VIRTUAL ? 0 : alignment_in(symbols, member->type, depth + 1, steps);
		if (!each || member->offset > dtype->size)
			return 0;
		most = each > most ? each : most;
		uint64_t after = member->offset + hsnap_dtype(symbols, member->type)->size;
		end = after > end ? after : end;
	}
	/* More room than that is asked for by something that nobody wrote down. */
	return dtype->size % most || (end && dtype->size >= end + most) ? 0 : most;
}

static uint64_t alignment_of(const struct hsnap_symbols *symbols, hsnap_dtype_id type)
{
	unsigned steps = MAX_STEPS;
	return alignment_in(symbols, type, 0, &steps);
}

static hsnap_dtype_id add_type(struct hsnap_symbols *symbols, struct hsnap_dtype type)
{
	return hsnap_vec_push(&symbols->types, type) ? (hsnap_dtype_id)(symbols->types.num - 1) : 0;
}

static bool add_member(struct hsnap_symbols *symbols, hsnap_dtype_id node, struct hsnap_dmember member)
{
	symbols->types.items[node].num_members++;
	return hsnap_vec_push(&symbols->members, member);
}

/* Maps, where their own base says what their elements are, and as which of its arguments. */
static const struct {
	const char *prefix, *base;
	unsigned argument;
	const char *pair; /* what the element is called */
} maps[] = {
	{ "std::map<", "_M_t", 1, "std::pair<" },
	{ "std::multimap<", "_M_t", 1, "std::pair<" },
	{ "std::unordered_map<", "_M_h", 1, "std::pair<" },
	{ "std::unordered_multimap<", "_M_h", 1, "std::pair<" },
	{ "std::__1::map<", "__tree_", 0, "std::__1::__value_type<" },
	{ "std::__1::multimap<", "__tree_", 0, "std::__1::__value_type<" },
	{ "std::__1::unordered_map<", "__table_", 0, "std::__1::__hash_value_type<" },
	{ "std::__1::unordered_multimap<", "__table_", 0, "std::__1::__hash_value_type<" },
};

/* The pair of const K and V of a map<K, V>, where it is only declared as well. */
static bool make_pair(struct hsnap_symbols *symbols, hsnap_dtype_id map, size_t which)
{
	hsnap_dtype_id inner, key = hsnap_type_argument(symbols, map, 0), value = hsnap_type_argument(symbols, map, 1);
	uint64_t at, of_key = alignment_of(symbols, key), of_value = alignment_of(symbols, value);
	if (!of_key || !of_value || !hsnap_find_field(symbols, map, maps[which].base, &at, &inner))
		return true;
	hsnap_dtype_id pair = hsnap_type_argument(symbols, inner, maps[which].argument);
	struct hsnap_dtype *dtype = &symbols->types.items[pair];
	uint64_t size = hsnap_dtype(symbols, key)->size, of_value_size = hsnap_dtype(symbols, value)->size;
	if (dtype->kind != HSNAP_DTYPE_INCOMPLETE || size > MAX_SIZE || of_value_size > MAX_SIZE ||
	    strncmp(hsnap_str(&symbols->strings, dtype->name), maps[which].pair, strlen(maps[which].pair)))
		return true;
	uint64_t second = round_up(size, of_value);
	hsnap_string names[] = { hsnap_strings_add(&symbols->strings, "first"), hsnap_strings_add(&symbols->strings, "second") };
	dtype->kind = HSNAP_DTYPE_STRUCT;
	dtype->size = round_up(second + of_value_size, of_key > of_value ? of_key : of_value);
	dtype->first_member = (uint32_t)symbols->members.num;
	dtype->num_members = 0;
	return names[0] != HSNAP_NO_STRING && names[1] != HSNAP_NO_STRING &&
	       add_member(symbols, pair, (struct hsnap_dmember){ .name = names[0], .type = key }) &&
	       add_member(symbols, pair, (struct hsnap_dmember){ .name = names[1], .offset = second, .type = value });
}

bool hsnap_make_pairs(struct hsnap_symbols *symbols)
{
	for (hsnap_dtype_id type = 1; type < symbols->types.num; type++) {
		const char *name = hsnap_str(&symbols->strings, hsnap_dtype(symbols, type)->name);
		for (size_t i = 0; i < sizeof(maps) / sizeof(*maps) && !strncmp(name, "std::", 5); i++)
			if (!strncmp(name, maps[i].prefix, strlen(maps[i].prefix)) && !make_pair(symbols, type, i))
				return false;
	}
	return true;
}

/* The text of a template's argument: it is spelled as the compiler does. */
static const char *find_argument(const char *name, unsigned index, size_t *ret_len)
{
	const char *at = strchr(name, '<');
	int depth = 0;
	if (!at)
		return NULL;
	for (const char *start = ++at; *at; at++) {
		bool ends = !depth && (*at == ',' || *at == '>');
		depth += *at == '<' || *at == '(' ? 1 : *at == '>' || *at == ')' ? -1 : 0;
		if (!ends)
			continue;
		if (!index--) {
			*ret_len = (size_t)(at - start);
			return start;
		}
		if (*at == '>')
			return NULL;
		start = at + 1 + (at[1] == ' ');
	}
	return NULL;
}

static hsnap_string name_of(struct hsnap_symbols *symbols, const struct hsnap_library *library, hsnap_dtype_id container)
{
	char name[MAX_NAME];
	size_t len;
	const char *full = hsnap_str(&symbols->strings, hsnap_dtype(symbols, container)->name);
	const char *element = find_argument(full, library->argument, &len);
	const char *suffix = made[library->family].suffix;
	if (!element || !len)
		return 0;
	if (!suffix)
		suffix = hsnap_is_cached(full) ? ", true>" : ", false>";
	else if (suffix[0] == ' ' && element[len - 1] != '>')
		suffix++;
	int written = snprintf(name, sizeof(name), "%s%.*s%s", made[library->family].prefix, (int)len, element, suffix);
	return written > 0 && (size_t)written < sizeof(name) ? hsnap_strings_add(&symbols->strings, name) : 0;
}

/* What a node begins with: the base that links lead to, or a link of its own. */
static bool add_head(struct hsnap_symbols *symbols, hsnap_dtype_id node, hsnap_dtype_id link, bool is_base)
{
	struct hsnap_dmember member = { .type = link, .flags = HSNAP_DMEMBER_BASE };
	if (!is_base) {
		struct hsnap_dtype pointer = { .module = hsnap_dtype(symbols, node)->module, .kind = HSNAP_DTYPE_POINTER, .size = 8,
					       .target = node };
		member = (struct hsnap_dmember){ .type = add_type(symbols, pointer) };
	}
	return member.type && add_member(symbols, node, member);
}

bool hsnap_make_node(struct hsnap_symbols *symbols, const struct hsnap_library *library, hsnap_dtype_id container,
		     hsnap_dtype_id *ret)
{
	const struct hsnap_dtype of = *hsnap_dtype(symbols, container);
	enum hsnap_family family = (enum hsnap_family)library->family;
	hsnap_dtype_id element = hsnap_type_argument(symbols, container, library->argument), pointer, number = 0;
	uint64_t at, alignment = alignment_of(symbols, element);
	*ret = 0;
	if (!alignment || !hsnap_find_field(symbols, container, library->fields[made[family].link], &at, &pointer) ||
	    (made[family].number && !hsnap_find_field(symbols, container, library->fields[made[family].number], &at, &number)))
		return true;
	hsnap_dtype_id link = hsnap_dtype(symbols, pointer)->target;
	bool is_base = hsnap_is_link(family, hsnap_str(&symbols->strings, hsnap_dtype(symbols, link)->name)) &&
		       hsnap_dtype(symbols, link)->kind == HSNAP_DTYPE_STRUCT;
	bool hashed = family == HSNAP_FAMILY_HASH && hsnap_is_cached(hsnap_str(&symbols->strings, of.name));
	uint64_t head = made[family].head ? made[family].head : hsnap_dtype(symbols, link)->size;
	uint64_t size = hsnap_dtype(symbols, element)->size, value = round_up(head, alignment);
	uint64_t end = round_up(value + size, hashed ? 8 : alignment) + (hashed ? 8 : 0);
	hsnap_string name = name_of(symbols, library, container);
	if (!name || !head || size > MAX_SIZE || (!is_base && family != HSNAP_FAMILY_FORWARD_LIBCXX))
		return name != HSNAP_NO_STRING;
	struct hsnap_dtype type = {
		.name = name, .unit = of.unit, .module = of.module, .die = of.die, .kind = HSNAP_DTYPE_STRUCT,
		.size = round_up(end, alignment > 8 ? alignment : 8), .first_member = (uint32_t)symbols->members.num,
		.first_argument = (uint32_t)symbols->arguments.num, .num_arguments = 1,
	};
	hsnap_dtype_id node = name == HSNAP_NO_STRING ? 0 : add_type(symbols, type);
	if (!node || !hsnap_vec_push(&symbols->arguments, element) || !add_head(symbols, node, link, is_base) ||
	    (family == HSNAP_FAMILY_HASH_LIBCXX && !add_member(symbols, node, (struct hsnap_dmember){ .offset = 8, .type = number })) ||
	    !add_member(symbols, node, (struct hsnap_dmember){ .offset = value, .type = element }) ||
	    (hashed && !add_member(symbols, node, (struct hsnap_dmember){ .offset = end - 8, .type = number })))
		return false;
	*ret = node;
	return true;
}
