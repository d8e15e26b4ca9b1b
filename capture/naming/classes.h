/* SPDX-License-Identifier: MIT */
/*
 * classes.h - which classes the vtable pointers in a heap stand for.
 *
 * Private to capture/naming.  Before an address that objects carry stand the offset to the top of the complete
 * object and the type descriptor, whose second word is the mangled name (Itanium C++ ABI 2.5.2, 2.9.2).  A complete
 * object has such a pointer in its very first word, that of its primary base if it has one (2.4); those further on
 * belong to bases and members.  So objects of blocks, behind a header of the program's own if there is one, are
 * asked for their first word, and for the first one behind what `new T[n]` keeps n in (2.7).
 */
#ifndef HSNAP_CAPTURE_NAMING_CLASSES_H
#define HSNAP_CAPTURE_NAMING_CLASSES_H

#include "capture/naming/keymap.h"
#include "capture/symbols/symbols.h"
#include "snapshot/base/vec.h"

/* Where only the usable size is known: as many bytes more than asked for a block does not have (claims.c). */
#define HSNAP_MOST_SLACK 40u

/* What one vtable pointer says: types of symbols, of which one is right. */
struct hsnap_vclass {
	uint64_t vptr;
	uint32_t first, num; /* candidates; none: it is no vtable of a complete object, or nobody knows whose */
	bool unknown;        /* too many are called so: num is 0 */
	bool control;        /* a control block of shared_ptr with its object in it */
};

/* A block whose first vtable pointer comes after the number of its elements. */
struct hsnap_counted {
	uint32_t block;
	hsnap_dtype_id type; /* made for it: a number and a flexible array of the class */
};

struct hsnap_classes {
	struct hsnap_keymap of;                   /* {vptr} → 1 + index into items */
	struct hsnap_vec(struct hsnap_vclass) items;
	struct hsnap_vec(hsnap_dtype_id) candidates;
	struct hsnap_vec(uint32_t) blocks;        /* that begin with a vtable pointer, or have one behind a header, in order */
	struct hsnap_vec(struct hsnap_counted) counted;
};

void hsnap_classes_deinit(struct hsnap_classes *classes);

/* What the pointer says, or NULL. */
const struct hsnap_vclass *hsnap_class_of(const struct hsnap_classes *classes, uint64_t vptr);

#endif
