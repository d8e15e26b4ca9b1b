/* SPDX-License-Identifier: MIT */
/*
 * partset.h - objects within blocks, each once; a program may have millions in its slabs.
 *
 * Private to capture/naming.  An object takes 16 bytes, and its place in a table 5 to 11 while more are found.
 */
#ifndef HSNAP_CAPTURE_NAMING_PARTSET_H
#define HSNAP_CAPTURE_NAMING_PARTSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that an object takes at the most, while the table grows or the objects are put in order; its bit and its
 * number in the graph are in it. */
#define HSNAP_PART_BYTES 40u
/* So many are counted on before naming begins; for more there must be memory. */
#define HSNAP_PARTS_COUNTED ((size_t)1 << 20)

/* An object that a declared pointer finds within a block whose size it does not explain. */
struct hsnap_part {
	uint64_t address;
	uint32_t type;       /* hsnap_dtype_id */
	uint32_t block : 31; /* there are no more than HSNAP_MAX_NODES */
	uint32_t sure : 1;   /* who points to it is known and not only inferred */
};
_Static_assert(sizeof(struct hsnap_part) == 16, "one an object: every byte counts");

/* Zeroed storage is valid. */
struct hsnap_parts {
	struct hsnap_part *items; /* in the order in which they came */
	size_t num, capacity;
	uint32_t *slots;          /* 1 + index into items, or 0; a power of two of them */
	size_t num_slots;
	size_t most;              /* that are kept, unless there is memory for more; 0: HSNAP_PARTS_COUNTED */
	uint64_t missed;          /* times that one was not kept */
};

void hsnap_parts_deinit(struct hsnap_parts *parts);

/**
 * Put one in: the same type at the same address is the same object, and sure if it was so once.  Of more than are
 * counted on, they are kept as long as they take no more than a quarter of the memory that the budget
 * (snapshot/base/budget.h) has left; else they are missed.
 *
 * @param[out] ret_surer  where not NULL: index of one that was there, and is sure only now; else SIZE_MAX
 * @return false: out of memory
 */
bool hsnap_parts_add(struct hsnap_parts *parts, struct hsnap_part part, size_t *ret_surer);

/* No more will come: the table is given back. */
void hsnap_parts_close(struct hsnap_parts *parts);

/* The memory to be counted on for blocks of so many bytes in all. */
uint64_t hsnap_parts_need(uint64_t bytes);

#endif
