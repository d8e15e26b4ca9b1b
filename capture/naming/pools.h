/* SPDX-License-Identifier: MIT */
/*
 * pools.h - objects that lie side by side in one block: pools, slabs, arenas.
 *
 * Private to capture/naming.  Such a block is of no type; what is in it is, as far as typed pointers lead there,
 * or as the user says.  Only places where an object is seen count: of the others nobody knows whether they are in use.
 */
#ifndef HSNAP_CAPTURE_NAMING_POOLS_H
#define HSNAP_CAPTURE_NAMING_POOLS_H

#include "capture/naming/work.h"

#define HSNAP_POOL_ROUNDINGS 3u

/* The distance of objects of a size, as allocators round it up: to 8, 16 or 64 bytes. */
static inline uint64_t hsnap_pool_stride(uint64_t size, unsigned rounding)
{
	static const uint64_t units[HSNAP_POOL_ROUNDINGS] = { 8, 16, 64 };
	return (size + units[rounding] - 1) & ~(units[rounding] - 1);
}

/* Is an object seen at a place (below slab->num)? */
static inline bool hsnap_slab_has(const struct hsnap_slab *slab, uint64_t place)
{
	return slab->items[place / 64] >> place % 64 & 1;
}

/* From now on one is. */
static inline void hsnap_slab_add(struct hsnap_slab *slab, uint64_t place)
{
	slab->num_items += !hsnap_slab_has(slab, place);
	slab->items[place / 64] |= (uint64_t)1 << place % 64;
}

/**
 * Blocks that one pointer of the program's leads to as to several objects, and others as to single ones all over it: an
 * array, or a pool of which the one happens to lead to the first?  What the pointers lead to by now changes from one
 * snapshot to the next, and who keeps the block hardly does.  An array's owner has a pointer to its objects, in a
 * variable or in a member that has a name; a pool's has one to bytes.  Where both are, it is a pool, and where none is.
 */
static inline bool hsnap_is_kept_as_run(const struct hsnap_work *work, uint32_t b)
{
	return (work->as_run[b / 64] & ~work->as_bytes[b / 64]) >> b % 64 & 1;
}

/* May the object be one of a pool, though its block is taken for a run of such by a pointer to the first? */
bool hsnap_may_be_item(const struct hsnap_work *work, const struct hsnap_part *part);

struct hsnap_inferred_list;
/* The blocks that are runs by the above, and only by that.  Call it before hsnap_find_slabs().
 * Cost: a look at each part, where there is no such block. */
HSNAP_CHECKED enum hsnap_code hsnap_find_arrays(struct hsnap_work *work, struct hsnap_inferred_list *ret,
						struct hsnap_error *err);

/* Where the objects of a pool stand, as the user says. */
struct hsnap_pool_layout {
	hsnap_dtype_id type;  /* of the objects: a struct that has a size */
	uint64_t first;       /* bytes from hsnap_object_start() to the first place */
	uint64_t stride;      /* bytes from place to place, a multiple of 8; 0: the type's size.  Less than that only if it is flexible */
	uint8_t live_bytes;   /* 1, 2, 4, 8: of the number that says which places are in use; 0: all are */
	uint64_t live_at;     /* where in the object it stands */
	uint64_t live_mask, live_value; /* in use: (number & mask) == value */
};

/**
 * Say of a block that it is such a pool.  May be called until hsnap_push_types() ends, from within it too: what the
 * objects point to is followed after that.  Of several layouts of one block the first holds.
 *
 * @return false: out of memory.  *ret_fits (may be NULL): not one place fits the block, or the layout is none; nothing is done
 */
bool hsnap_declare_pool(struct hsnap_work *work, uint32_t block, const struct hsnap_pool_layout *layout, bool *ret_fits);

/* The same with its objects found already: slab->items, which it takes.  false: out of memory. */
bool hsnap_add_declared(struct hsnap_work *work, struct hsnap_slab *take_slab);

/* The objects of declared pools become parts from part number *taken on: see parts.c.  `add` is called for each. */
void hsnap_each_declared(struct hsnap_work *work, size_t *taken,
			 void (*add)(void *context, const struct hsnap_slab *slab, uint64_t address), void *context);

/**
 * Find the pools among all blocks that have parts (work.h), and put work->slabs in order.
 *
 * A pool has four objects of one type at least, which all stand at one distance from each other, or multiples of it:
 * the type's size as an allocator rounds it, or whatever there is, if the type is flexible.  A twentieth of them at
 * the most may be contradicted by pointers to something else.  What a list of links of another type leads to is free.
 * No claim may change after it.
 *
 * @param inners  declared pointers into blocks: where such lists begin
 *
 * Cost: a byte a block meanwhile; parts of blocks with four of them are sorted.
 */
struct hsnap_inners;
HSNAP_CHECKED enum hsnap_code hsnap_find_slabs(struct hsnap_work *work, const struct hsnap_inners *inners, struct hsnap_error *err);
void hsnap_slabs_deinit(struct hsnap_work *work);

/* The slab that a block is, or NULL.  Usable from hsnap_find_slabs() on, by several threads. */
const struct hsnap_slab *hsnap_slab_of(const struct hsnap_work *work, uint32_t block);

/* The place whose object covers an offset from the start of the block's object; UINT32_MAX: none does. */
uint32_t hsnap_slab_place(const struct hsnap_slab *slab, uint64_t offset);

/* The number of the object at a place among those of all slabs. */
uint32_t hsnap_slab_item(const struct hsnap_slab *slab, uint32_t place);

struct hsnap_convert;
/* The slabs become pools of the snapshot, with the types of their objects; once it has nodes. */
HSNAP_CHECKED enum hsnap_code hsnap_keep_pools(struct hsnap_work *work, struct hsnap_convert *convert, struct hsnap_error *err);

#endif
