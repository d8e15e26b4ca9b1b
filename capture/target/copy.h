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
#include <sys/uio.h>

#include "capture/target/stage.h"
#include "snapshot/base/error.h"

#define HSNAP_COPY_PIECE ((size_t)512 << 10) /* bytes to be read in one call: stays in the second-level cache */

struct hsnap_extent {
	uint64_t start, end; /* addresses in the process */
	uint64_t at;         /* of the first byte in the buffer */
};

struct hsnap_copy {
	uint8_t *buffer;     /* in memory, or a scratch file that is mapped; borrowed pointers into it last as long */
	size_t size, used;   /* bytes */
	struct hsnap_extent *extents;
	size_t num_extents, max_extents;
	int scratch;         /* that file, borrowed; -1: none */
	struct hsnap_stage *stage; /* in front of the file while it is filled; NULL: straight into the buffer */
};

/* Room for bytes and extents; memory is written to, so that no page of it is missing later.
 * `scratch`: the bytes go to this file and not to memory; -1: to memory.  false with errno: out of
 * memory, or of room on the disk. */
bool hsnap_copy_init(struct hsnap_copy *copy, size_t size, size_t max_extents, int scratch);
void hsnap_copy_deinit(struct hsnap_copy *copy);

/* For who fills a copy in order, while a process stands still: of a scratch file, `memory` bytes of a
 * ring in front of it (see stage.h).  Nothing where there is no file.  false: out of memory. */
HSNAP_CHECKED bool hsnap_copy_stage(struct hsnap_copy *copy, size_t memory);
/* Where the next bytes go.  Of a stage 0: not yet, see hsnap_copy_wait(). */
int hsnap_copy_room(struct hsnap_copy *copy, struct iovec to[2]);
/* Some milliseconds at most; false with errno: the file cannot be written to. */
HSNAP_CHECKED bool hsnap_copy_wait(struct hsnap_copy *copy);
/* Put extents that were added in any order in order, and those that go on in one. */
void hsnap_copy_sort(struct hsnap_copy *copy);
/* Begin again. */
void hsnap_copy_rewind(struct hsnap_copy *copy);

/* All that was added is in the buffer from now on; its unused end is given back to the system.
 * false with errno: the file could not be written. */
HSNAP_CHECKED bool hsnap_copy_finish(struct hsnap_copy *copy);

/* The bytes at buffer + used, or where hsnap_copy_room() said, are those of [start, start + len): take note of it. */
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
	if (copy->stage)
		hsnap_stage_advance(copy->stage, len);
	return true;
}

/* Give the memory of the pages in [start, end) back; what they hold is lost.  All below `start` was
 * given back before. */
void hsnap_copy_forget(struct hsnap_copy *copy, uint64_t start, uint64_t end);

/* Take a scratch file's pages out of memory, while others read them; false: it is all memory. */
bool hsnap_copy_relieve(const struct hsnap_copy *copy);

/* The extent that holds the address, or the next one after it, or NULL. */
const struct hsnap_extent *hsnap_copy_find(const struct hsnap_copy *copy, uint64_t address);

#endif
