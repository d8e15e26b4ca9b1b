/* SPDX-License-Identifier: MIT */
/* unify.h - which entries are the same type, while that is found out; private to this folder: unify.c. */
#ifndef HSNAP_CAPTURE_SYMBOLS_UNIFY_H
#define HSNAP_CAPTURE_SYMBOLS_UNIFY_H

#include "capture/symbols/reader.h"

/* All arrays but refs are parallel to reader->types. */
struct hsnap_unify {
	struct hsnap_reader *reader;
	uint32_t num;        /* of types */
	uint32_t *start;     /* where its refs begin, and behind the last one's */
	uint32_t *refs;      /* indices: what it points to or is an array of; or its members' types, then its arguments */
	uint32_t *looks;     /* class by what it looks like without following anything */
	uint32_t num_looks;
	uint32_t *class_of;  /* equal: the same type */
	uint32_t num_classes;
	uint32_t *id;        /* per class: in out->types, 0 = not there yet */
	uint32_t *first;     /* per class: its first type */
};

static inline uint32_t hsnap_unify_target(const struct hsnap_unify *u, uint32_t index)
{
	uint8_t kind = u->reader->types.items[index].kind;
	return kind == HSNAP_RAW_POINTER || kind == HSNAP_RAW_ARRAY ? u->refs[u->start[index]] : 0;
}

static inline uint32_t hsnap_unify_member(const struct hsnap_unify *u, uint32_t index, uint32_t member)
{
	return u->refs[u->start[index] + member];
}

static inline uint32_t hsnap_unify_argument(const struct hsnap_unify *u, uint32_t index, uint32_t argument)
{
	return u->refs[u->start[index] + u->reader->types.items[index].num_members + argument];
}

/* What was linked to a declaration is its definition's once that is known. */
static inline uint32_t hsnap_unify_settled(const struct hsnap_unify *u, uint32_t index)
{
	if (!index || index == HSNAP_UNKNOWN_TYPE)
		return index;
	const struct hsnap_raw_type *type = &u->reader->types.items[index];
	return type->kind == HSNAP_RAW_DECLARATION && type->aliased ? type->aliased : index;
}

/* Of small numbers none undoes another: from 0 what comes next would go on as what it begins with elsewhere. */
static inline uint64_t hsnap_unify_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value ^ 0xc2b2ae3d27d4eb4fu) * 0x9fb21c651e98df25u;
	return hash ^ hash >> 29;
}

/* --- refine.c --- */

/* start, refs and looks, which stay; all that is referred to must have been loaded.  false: no memory. */
bool hsnap_refine_init(struct hsnap_unify *u);
void hsnap_refine_deinit(struct hsnap_unify *u);
/* What an entry looks like without following anything. */
uint64_t hsnap_refine_looks(const struct hsnap_reader *reader, const struct hsnap_raw_type *type);
/* class_of, by what is settled now.  false: no memory. */
bool hsnap_refine(struct hsnap_unify *u);

/* --- typeout.c --- */

/* All that somebody asks for by index into reader->types as types of reader->out.  false: no memory. */
bool hsnap_typeout_write(struct hsnap_unify *u);

#endif
