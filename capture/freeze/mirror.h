/* SPDX-License-Identifier: MIT */
/*
 * mirror.h - a copy that is filled in several passes, while the process runs and in the end.
 *
 * A page keeps its place in the buffer from pass to pass and is read into it again; a new one goes
 * to the end.  Between passes the extents are put in order, by which places are found; at last
 * those of pages that are gone are dropped, so that each page of the process is in it as it was in
 * the last pass.
 */
#ifndef HSNAP_CAPTURE_FREEZE_MIRROR_H
#define HSNAP_CAPTURE_FREEZE_MIRROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "capture/freeze/plan.h"
#include "capture/proc/memory.h"
#include "capture/target/copy.h"

#define HSNAP_MIRROR_PIECES 256
#define HSNAP_MIRROR_UNREADABLE 1024
#define HSNAP_MIRROR_MISSING 64

struct hsnap_mirror {
	const struct hsnap_memory *memory; /* borrowed, like the copy */
	struct hsnap_copy *copy;

	/* The current pass. */
	uint64_t at;       /* up to here it has come */
	size_t next;       /* extent that may hold `at` */
	size_t in_order;   /* extents before this pass */
	bool outgrown;     /* there was no room for a page, or an extent, or a note of an unreadable page */
	bool gone;         /* no such process */
	uint64_t read;     /* bytes */
	uint64_t lost;     /* bytes that could not be read */
	struct iovec from[HSNAP_MIRROR_PIECES], to[HSNAP_MIRROR_PIECES]; /* to be read */
	int num;
	size_t waiting;    /* bytes of them */
	size_t used;       /* of the buffer, they included */

	/* What is said to be clean and is not in it. */
	enum { HSNAP_MISSING_READ, HSNAP_MISSING_IGNORED, HSNAP_MISSING_NOTED } missing_is;
	struct hsnap_range missing[HSNAP_MIRROR_MISSING];
	size_t num_missing;

	/* Pages that have a place but could not be read into it: what lies there is not theirs. */
	uint64_t unreadable[HSNAP_MIRROR_UNREADABLE];
	size_t num_unreadable;
};

/* Begin a pass; the extents must be in order. */
void hsnap_mirror_begin(struct hsnap_mirror *mirror);
/* The pages of [start, end), which must not lie before those of the last call: those that are not
 * in it are read, and all of them where they are not `clean`.  Allocates nothing. */
void hsnap_mirror_want(struct hsnap_mirror *mirror, uint64_t start, uint64_t end, bool clean);
/* Go on from the start of the address space, for what was missing. */
void hsnap_mirror_again(struct hsnap_mirror *mirror);
/* How many bytes of it would be read. */
uint64_t hsnap_mirror_count(struct hsnap_mirror *mirror, uint64_t start, uint64_t end, bool clean);
/* End the pass: read what is still waiting. */
void hsnap_mirror_flush(struct hsnap_mirror *mirror);

/* Put the extents in order. */
void hsnap_mirror_sort(struct hsnap_mirror *mirror);
/* Keep what lies in the ranges alone, which are in order of address: the copy is finished.  Returns
 * its bytes; false: out of memory. */
HSNAP_CHECKED bool hsnap_mirror_settle(struct hsnap_mirror *mirror, const struct hsnap_range *ranges, size_t num,
				       uint64_t *ret_bytes);

#endif
