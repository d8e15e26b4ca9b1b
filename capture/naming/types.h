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

#include "capture/naming/keymap.h"
#include "capture/symbols/symbols.h"
#include "snapshot/base/vec.h"

enum hsnap_slot_kind {
	HSNAP_SLOT_POINTER, /* a declared pointer to `type`; 0: void */
	HSNAP_SLOT_NODE,    /* a container's pointer to a node, which is of `type` whatever was declared */
	HSNAP_SLOT_EACH,    /* `count` objects of `type`, one after the other */
	HSNAP_SLOT_VECTOR,  /* begin, end, end of storage of a run of `type` */
	HSNAP_SLOT_STRING,  /* start, length, and room for a short one; of `type` */
	HSNAP_SLOT_BUCKETS, /* start and number of pointers of `type` (the pointers' own) */
};

struct hsnap_slot {
	uint64_t offset, count;
	hsnap_dtype_id type;
	uint8_t kind;
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
	bool failed;               /* out of memory: plans are missing */
};

bool hsnap_plans_init(struct hsnap_plans *plans, const struct hsnap_symbols *symbols);
void hsnap_plans_deinit(struct hsnap_plans *plans);

/* same.c: for each type the first that is the same; to be freed; NULL: out of memory. */
uint32_t *hsnap_same_types(const struct hsnap_symbols *symbols);

/* Never NULL; the same for the life of the plans. */
const struct hsnap_plan *hsnap_plan_of(struct hsnap_plans *plans, hsnap_dtype_id type);

/* Is an `inner` at the very start of an `outer`, as first member or base, or the same? */
bool hsnap_starts_with(const struct hsnap_plans *plans, hsnap_dtype_id outer, hsnap_dtype_id inner);

/* containers.c: the library's own types. */

enum hsnap_family {
	HSNAP_FAMILY_NONE,
	HSNAP_FAMILY_HASH,
	HSNAP_FAMILY_TREE,
	HSNAP_FAMILY_LIST,
	HSNAP_FAMILY_FORWARD,
	HSNAP_NUM_FAMILIES,
};

#define HSNAP_MAX_LIBRARY_SLOTS 4

struct hsnap_library {
	const char *prefix;  /* of the qualified name, template bracket included */
	uint64_t size;       /* of libstdc++ 12's layout; 0: any */
	uint8_t argument;    /* which type argument is the element */
	uint8_t family;      /* of its nodes */
	uint8_t num_slots;
	struct {
		uint8_t kind, offset;
	} slots[HSNAP_MAX_LIBRARY_SLOTS];
};

/* The table's entry for a type, or NULL. */
const struct hsnap_library *hsnap_library_of(const struct hsnap_symbols *symbols, hsnap_dtype_id type);
/* The family that a node type belongs to; the declared type of its links is *ret_base's. */
enum hsnap_family hsnap_node_family(const char *name, const char **ret_base);
/* Storage that is declared as bytes and holds one object of its first type argument. */
bool hsnap_is_storage(const char *name);
/* Does a hash table, or one of its nodes, keep the hashes of its elements?  They are different node types. */
bool hsnap_is_cached(const char *name);
hsnap_dtype_id hsnap_type_argument(const struct hsnap_symbols *symbols, hsnap_dtype_id type, unsigned index);

#endif
