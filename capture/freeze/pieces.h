/* SPDX-License-Identifier: MIT */
/*
 * pieces.h - a plan's ranges, cut where a child of the process has them and where it has not.
 *
 * They come in order of address, each with its place in a buffer that holds all ranges one after
 * the other.  Nothing is allocated.
 */
#ifndef HSNAP_CAPTURE_FREEZE_PIECES_H
#define HSNAP_CAPTURE_FREEZE_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/freeze/plan.h"
#include "capture/freeze/unforked.h"
#include "snapshot/base/vec.h"

struct hsnap_piece {
	uint64_t start, end;
	size_t at;   /* in the buffer */
	bool forked; /* private memory, which a child has at first */
};

struct hsnap_pieces {
	const struct hsnap_plan *plan;
	const struct hsnap_unforked *unforked;
	const char *maps;
	struct hsnap_maps_line line;
	size_t range, base; /* base: of the range in the buffer */
	uint64_t next;      /* address */
};

/* Of the plan as it was last listed. */
struct hsnap_pieces hsnap_pieces_of(const struct hsnap_plan *plan, const struct hsnap_unforked *unforked);
bool hsnap_pieces_next(struct hsnap_pieces *pieces, struct hsnap_piece *ret);

/* Ranges that could not be read, in order of address. */
struct hsnap_lost hsnap_vec_body(struct hsnap_range);
/* Allocates nothing: where there is no room, what lies between it and the last one is lost too. */
void hsnap_lost_add(struct hsnap_lost *lost, uint64_t start, uint64_t end);
/* Is the byte at `at` good?  *end is moved down to where that changes. */
bool hsnap_lost_next(const struct hsnap_lost *lost, uint64_t at, uint64_t *end);

#endif
