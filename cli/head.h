/* SPDX-License-Identifier: MIT */
/* head.h - the lines and the JSON object that say which snapshot an answer is about. */
#ifndef HSNAP_CLI_HEAD_H
#define HSNAP_CLI_HEAD_H

#include "cli/emit.h"
#include "snapshot/snapshot.h"

/* "bookstore, pid 4711". */
void hsnap_add_process(struct hsnap_line *to, const struct hsnap_emit *emit,
		       const struct hsnap_snapshot *snapshot);

/* "b.snap   2026-11-30 01:24:47 UTC   bookstore, pid 4711", no newline. */
void hsnap_add_head(struct hsnap_line *to, const struct hsnap_emit *emit, const char *path,
		    const struct hsnap_snapshot *snapshot);

/* What stands before a number of items: those of usable sizes count the allocator's rounding, too. */
static inline const char *hsnap_at_most(const struct hsnap_snapshot *snapshot)
{
	return snapshot->facts.basis == HSNAP_BASIS_USABLE ? "at most " : "";
}

/* Lines for what was not captured, what was written past its end or has no record, and other notes, of
 * one file or of several: where they differ each line begins with its file. */
void hsnap_print_reservations(struct hsnap_emit *emit, const char *const *paths,
			      const struct hsnap_snapshot *const *snapshots, size_t num);

/* The "snapshot" object of every schema. */
void hsnap_emit_snapshot(struct hsnap_emit *emit, const char *key, const char *path,
			 const struct hsnap_snapshot *snapshot);

#endif
