/* SPDX-License-Identifier: MIT */
/*
 * reader.h - what the parts of the reader share.
 *
 * open.c finds the index and checks what it says, load.c decodes the chunks.
 * Private to snapshot/format.
 */
#ifndef HSNAP_SNAPSHOT_FORMAT_READER_H
#define HSNAP_SNAPSHOT_FORMAT_READER_H

#include "snapshot/format/codec.h"
#include "snapshot/format/scratch.h"
#include "snapshot/format/source.h"

/* The chunks of one section: a run of indices into chunks, and sums over them. */
struct hsnap_extent {
	struct hsnap_vec(uint32_t) chunks;
	uint64_t items;
};

struct hsnap_reader {
	struct hsnap_source source;
	unsigned what; /* HSNAP_LOAD_… with what it implies */
	struct hsnap_chunks chunks;
	struct hsnap_extent extents[HSNAP_NUM_SECTIONS];
	struct hsnap_counts counts;
	struct hsnap_snapshot *snapshot;
	struct hsnap_scratch_pool pool; /* its lock guards the next three, too */
	struct hsnap_error *err;
	enum hsnap_code code;
	uint64_t failed_at; /* of several failures that of the lowest offset is told */
};

/* Header, tail and index: not a snapshot, cut short, another version, or an index that cannot be. */
HSNAP_CHECKED enum hsnap_code hsnap_reader_open(struct hsnap_reader *reader);
/* After the facts are read: do the chunks of the columns fit the graph's counts? */
HSNAP_CHECKED enum hsnap_code hsnap_reader_check_columns(struct hsnap_reader *reader);
HSNAP_CHECKED enum hsnap_code hsnap_reader_load(struct hsnap_reader *reader);

/* Note that a chunk is damaged; from any thread. */
void hsnap_reader_damaged(struct hsnap_reader *reader, const struct hsnap_chunk *chunk, const char *why);
void hsnap_reader_no_memory(struct hsnap_reader *reader);

#endif
