/* SPDX-License-Identifier: MIT */
/*
 * types.h - where the pointers of a type stand.
 *
 * A plan is the list of a type's pointers with all members and bases laid flat;
 * arrays stay loops.  Unions have none: which arm holds is not ours to guess.
 * Plans are made on first use and live as long as the work.
 */
#ifndef HSNAP_CAPTURE_NAMING_TYPES_H
#define HSNAP_CAPTURE_NAMING_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/naming/bound.h"
#include "capture/naming/keymap.h"
#include "capture/symbols/symbols.h"
#include "snapshot/base/vec.h"

enum hsnap_slot_kind {
	HSNAP_SLOT_POINTER,   /* a declared pointer to `type`; 0: void */
	HSNAP_SLOT_NODE,      /* a container's pointer to a node, which is of `type` whatever was declared; `count` bytes into it */
	HSNAP_SLOT_ARRAY,     /* a pointer to the first of as many of `type` as were made by one new[] */
	HSNAP_SLOT_EACH,      /* `count` objects of `type`, one after the other */
	HSNAP_SLOT_CONTAINER, /* the container `count` of the plans, of `type` */
	HSNAP_SLOT_USER,      /* the user's rule `count` (of bounds) is about words of an object here */
	HSNAP_SLOT_OWNER,     /* the place `count` (of bounds' owners) of an object here: what it leads to is owned */
	HSNAP_SLOT_BODY,      /* only found, never planned: the start of a container's body of `type` */
};

struct hsnap_slot {
	uint64_t offset, count;
	hsnap_dtype_id type;
	uint8_t kind;
};

#define HSNAP_MAX_FIELDS 6

/* Where one container type has what its table entry speaks of. */
struct hsnap_container {
	const struct hsnap_library *library;
	hsnap_dtype_id type;    /* of the container, or of the base that holds its pointers */
	hsnap_dtype_id element; /* what it holds; 0 where that is told by a tag */
	hsnap_dtype_id node;    /* type of its nodes, or 0 */
	uint64_t offsets[HSNAP_MAX_FIELDS];
	hsnap_dtype_id types[HSNAP_MAX_FIELDS]; /* declared, of its fields */
};

struct hsnap_plan {
	struct hsnap_slot *slots; /* in order of offset, but for those of containers */
	uint32_t num;
	uint8_t state;            /* private to types.c */
	uint64_t words;           /* pointers in all */
	hsnap_dtype_id tail;      /* elements of a flexible array member; 0 = none */
	uint64_t tail_offset;
};

/* The plan of a type without pointers is empty.  NULL symbols: there are no plans to ask for. */
struct hsnap_plans {
	const struct hsnap_symbols *symbols;
	struct hsnap_plan *plans;  /* one a type */
	uint32_t *same;            /* one a type: the first of those that are the same; of itself, if it is alone */
	struct hsnap_keymap nodes; /* {family and whether cached, element} → node type */
	struct hsnap_vec(struct hsnap_container) containers;
	const struct hsnap_bounds *bounds; /* the user's rules, or NULL: to be set before a plan is made */
	bool failed;               /* out of memory: plans are missing */
};

/* Nodes of containers that no debug info defines are added to the types; false: out of memory. */
bool hsnap_plans_init(struct hsnap_plans *plans, struct hsnap_symbols *symbols);
void hsnap_plans_deinit(struct hsnap_plans *plans);

/* same.c: for each type the first that is the same; to be freed; NULL: out of memory. */
uint32_t *hsnap_same_types(const struct hsnap_symbols *symbols);

/* Never NULL; the same for the life of the plans. */
const struct hsnap_plan *hsnap_plan_of(struct hsnap_plans *plans, hsnap_dtype_id type);

/* Is an `inner` at the very start of an `outer`, as first member or base, or the same? */
bool hsnap_starts_with(const struct hsnap_plans *plans, hsnap_dtype_id outer, hsnap_dtype_id inner);

/* containers.c: the libraries' own types. */

enum hsnap_family {
	HSNAP_FAMILY_NONE,
	HSNAP_FAMILY_HASH,
	HSNAP_FAMILY_TREE,
	HSNAP_FAMILY_LIST,
	HSNAP_FAMILY_FORWARD,
	HSNAP_FAMILY_HASH_LIBCXX,
	HSNAP_FAMILY_TREE_LIBCXX,
	HSNAP_FAMILY_LIST_LIBCXX,
	HSNAP_FAMILY_FORWARD_LIBCXX,
	HSNAP_NUM_FAMILIES,
};

/* How a container is walked, and by what it is recognised; shapes.c.  In brackets its fields. */
enum hsnap_shape {
	HSNAP_SHAPE_VECTOR,      /* {begin, end, end of storage} */
	HSNAP_SHAPE_BITS,        /* {begin, word of the end, end of storage} */
	HSNAP_SHAPE_BITS_SIZED,  /* {begin, number of bits, words} */
	HSNAP_SHAPE_STRING,      /* {begin, length, capacity, room for a short one} */
	HSNAP_SHAPE_STRING_COW,  /* {begin}; length, capacity and owners stand before it */
	HSNAP_SHAPE_STRING_FLAG, /* {begin, length, capacity with the flag of a long one} */
	HSNAP_SHAPE_LIST,        /* {next, previous, length}; the last may be missing */
	HSNAP_SHAPE_CHAIN,       /* {first} */
	HSNAP_SHAPE_TREE,        /* {root, first, last, number}; the third may be missing */
	HSNAP_SHAPE_HASH,        /* {buckets, number of them, first, number, load, bucket inside}; the last may be missing */
	HSNAP_SHAPE_DEQUE,       /* {map, its size, start, finish}; the latter are {current, first, last, slot} */
	HSNAP_SHAPE_DEQUE_INDEX, /* {map, first slot, slot after the last, end of the map, start, number} */
	HSNAP_SHAPE_WEAK,        /* {pointer, control block}; owners stand in its second word */
	HSNAP_SHAPE_WEAK_FEWER,  /* the same, with one less than there are */
	HSNAP_SHAPE_OWNED,       /* {pointer, owners} */
	HSNAP_SHAPE_OWNED_FEWER, /* {pointer}; owners, one less than there are, stand in the second word */
	HSNAP_SHAPE_INPLACE,     /* {value, owners} */
	HSNAP_SHAPE_INPLACE_FEWER, /* {value}; owners, one less than there are, stand in the second word */
	HSNAP_SHAPE_MANAGED,     /* {storage, function that knows what is in it} */
	HSNAP_SHAPE_INSIDE,      /* {storage, pointer to an object that a vtable tells, which may be in there} */
	HSNAP_SHAPE_OPTIONAL,    /* {value, is there one} */
	HSNAP_SHAPE_VARIANT,     /* {value, which of the type arguments} */
	HSNAP_SHAPE_INDICES,     /* {header}, a node without a value that all indices go round through */
	HSNAP_SHAPE_ARRAY,       /* {begin, its room, number of elements but for one}; the last may be missing */
	HSNAP_SHAPE_GLIB_TABLE,  /* {keys, hashes, values, size, mask, number}; which of the first are pointers stands before them */
	HSNAP_SHAPE_GLIB_POINTERS, /* {begin, number, its room} */
	HSNAP_SHAPE_VALUE,       /* {value}, alive in nodes that a container leads to */
};

struct hsnap_library {
	const char *prefix; /* of the qualified name, template bracket included */
	uint8_t shape;      /* enum hsnap_shape */
	uint8_t family;     /* of its nodes */
	uint8_t argument;   /* which type argument is the element; HSNAP_NO_ARGUMENT */
	const char *fields[HSNAP_MAX_FIELDS]; /* "member.member"; those between and above them need not be named */
};

#define HSNAP_NO_ARGUMENT UINT8_MAX

/* The table's entry for a type, or NULL. */
const struct hsnap_library *hsnap_library_of(const struct hsnap_symbols *symbols, hsnap_dtype_id type);
/* Where a field of the entry stands in the type; false: there is none of that name, or it does not fit in. */
bool hsnap_find_field(const struct hsnap_symbols *symbols, hsnap_dtype_id type, const char *path, uint64_t *ret_offset,
		      hsnap_dtype_id *ret_type);
/* The family that a node type belongs to. */
enum hsnap_family hsnap_node_family(const char *name);
/* Is it what the links of the family's nodes are declared to lead to? */
bool hsnap_is_link(enum hsnap_family family, const char *name);
/* Does it own what one new[] made? */
bool hsnap_owns_array(const char *name);
/* Storage that is declared as bytes and holds one object of its first type argument. */
bool hsnap_is_storage(const char *name);
/* A node of boost::multi_index has a part for each of its indices, which are nested: what kind is the outermost?  NONE: none. */
enum hsnap_index {
	HSNAP_INDEX_NONE,
	HSNAP_INDEX_ORDERED,
	HSNAP_INDEX_HASHED,
	HSNAP_INDEX_SEQUENCED,
	HSNAP_INDEX_RANDOM,
};

enum hsnap_index hsnap_index_of(const char *name);
/* Where it stands in the node, its type, and the type of the rest of the node; false: nowhere. */
bool hsnap_find_part(const struct hsnap_symbols *symbols, hsnap_dtype_id node, uint64_t *ret_offset, hsnap_dtype_id *ret_part,
		     hsnap_dtype_id *ret_rest);
/* Is it what links between the parts are declared to lead to? */
bool hsnap_is_part(const char *name);
/* Does a hash table, or one of its nodes, keep the hashes of its elements?  They are different node types. */
bool hsnap_is_cached(const char *name);
/* glib.c: complete what programs are not told of GLib's containers, where GLib is loaded; false: out of memory. */
bool hsnap_know_glib(struct hsnap_symbols *symbols, const struct hsnap_target *target);
/* made.c: complete the pairs that maps are made of where they are only declared; false: out of memory. */
bool hsnap_make_pairs(struct hsnap_symbols *symbols);
/*
 * made.c: add the type of a container's nodes, laid out as the binary interface says.  *ret is 0 where too little is known
 * of the element.  false: out of memory.
 */
bool hsnap_make_node(struct hsnap_symbols *symbols, const struct hsnap_library *library, hsnap_dtype_id container,
		     hsnap_dtype_id *ret);
hsnap_dtype_id hsnap_type_argument(const struct hsnap_symbols *symbols, hsnap_dtype_id type, unsigned index);

#endif
