/* SPDX-License-Identifier: MIT */
/*
 * copy.h - the private copy of a process's pages: runs of addresses in one buffer.
 *
 * Whoever fills it (any way of freezing, a core file) adds runs in order of
 * address; adding allocates nothing, so that it can be done while a process is
 * held still.
 */
#ifndef HSNAP_CAPTURE_TARGET_COPY_H
#define HSNAP_CAPTURE_TARGET_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hsnap_extent {
	uint64_t start, end; /* addresses in the process */
	uint64_t at;         /* of the first byte in the buffer */
};

struct hsnap_copy {
	uint8_t *buffer;
	size_t size, used; /* bytes */
	struct hsnap_extent *extents;
	size_t num_extents, max_extents;
};

/* Room for bytes and extents; the buffer is written to, so that no page of it is missing later.
 * `scratch`: the bytes go to this file and not to memory; -1: to memory.  false: out of memory, or
 * of room on the disk. */
bool hsnap_copy_init(struct hsnap_copy *copy, size_t size, size_t max_extents, int scratch);
void hsnap_copy_deinit(struct hsnap_copy *copy);
/* Give the unused end of the buffer back to the system. */
void hsnap_copy_shrink(struct hsnap_copy *copy);

/* The bytes at buffer + used are those of [start, start + len): take note of it. */
static inline bool hsnap_copy_add(struct hsnap_copy *copy, uint64_t start, size_t len)
{
	struct hsnap_extent *last = copy->num_extents ? &copy->extents[copy->num_extents - 1] : NULL;
	if (last && last->end == start) {
		last->end += len;
	} else {
		if (copy->num_extents == copy->max_extents)
			return false;
		copy->extents[copy->num_extents++] = (struct hsnap_extent){
			.start = start, .end = start + len, .at = copy->used,
		};
	}
	copy->used += len;
	return true;
}

/* The extent that holds the address, or the next one after it, or NULL. */
const struct hsnap_extent *hsnap_copy_find(const struct hsnap_copy *copy, uint64_t address);

#endif
