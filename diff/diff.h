/* SPDX-License-Identifier: MIT */
/*
 * diff.h - two or more snapshots in, growth by type out.
 *
 * Works on the tables of types alone (HSNAP_LOAD_TABLE), so it costs as much as
 * there are types, not blocks.  Prints nothing, keeps no state.
 */
#ifndef HSNAP_DIFF_DIFF_H
#define HSNAP_DIFF_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/snapshot.h"

/* One type in one state (live or unreachable: what is only possibly leaked is live). */
struct hsnap_growth {
	uint32_t snapshot;   /* the last one that has the type: its texts say the name … */
	hsnap_type_id type;  /* … of this type */
	uint8_t state;       /* HSNAP_LIVE or HSNAP_UNREACHABLE */
	bool any_size;       /* a label of all sizes of a place, "bytes in …", whatever the type's own name is */
	uint32_t first;      /* into the columns: entry `first + i` is of snapshot i */
	int64_t bytes_delta; /* last less first, in bytes */
	int64_t count_delta; /* in blocks */
	int64_t items_delta; /* in elements of arrays; 0 for the rest */
};

struct hsnap_diff {
	size_t num_snapshots;
	bool mixed;  /* they count sizes differently: all are compared as usable */
	enum hsnap_basis basis; /* of all the bytes here */
	struct hsnap_vec(struct hsnap_growth) rows;
	/* Columns, rows.num * num_snapshots entries each. */
	uint64_t *bytes, *count, *items;
	uint64_t *all_bytes, *all_count; /* sums, one a snapshot */
	int64_t bytes_delta, count_delta; /* of all; last less first */
};

enum hsnap_diff_order { HSNAP_DIFF_BY_BYTES, HSNAP_DIFF_BY_COUNT };

/**
 * Match the types of all snapshots by hsnap_type_identity() and state, and subtract.  Labels of a place that any
 * of the snapshots has no sizes of are one row, and those of one where sizes went and others came.
 *
 * Rows come in order of growth from the first to the last, greatest first; ties by
 * the other growth, then by name.  Unchanged and shrunk ones are there too.
 *
 * @param      snapshots  num >= 2 of them, oldest first; borrowed for the call
 * @param[out] ret        written on success only; release with hsnap_diff_deinit()
 * @return HSNAP_OK, HSNAP_NO_MEMORY
 *
 * Cost: O(rows log rows).
 */
HSNAP_CHECKED enum hsnap_code hsnap_diff_init(const struct hsnap_snapshot *const *snapshots, size_t num,
					      enum hsnap_diff_order order, struct hsnap_diff *ret,
					      struct hsnap_error *err);
void hsnap_diff_deinit(struct hsnap_diff *diff);

/* Of the row, as hsnap_type_identity(); `snapshot` is the row's. */
char *hsnap_growth_identity(const struct hsnap_snapshot *snapshot, const struct hsnap_growth *row);

/* later - earlier, cut to what an int64_t holds. */
int64_t hsnap_difference(uint64_t later, uint64_t earlier);

/**
 * Types that come and go together: the greatest set of at least three growing rows with the same
 * growth in blocks (of ten at least).  Among sets of one size the one that grew more.
 * @return rows in it, 0: there is none; *ret_delta is their growth in blocks
 */
size_t hsnap_diff_companions(const struct hsnap_diff *diff, int64_t *ret_delta);

#endif
