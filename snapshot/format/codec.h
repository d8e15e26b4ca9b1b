/* SPDX-License-Identifier: MIT */
/*
 * codec.h - records to bytes and back by one description.
 *
 * hsnap_code_…(codec, &field) writes the field, or reads it: what one function
 * says about a record holds in both directions.  Reading never leaves the
 * bytes: past their end, or over a bound, fields are 0 and `in.bad` is set.
 * Private to snapshot/format.
 */
#ifndef HSNAP_SNAPSHOT_FORMAT_CODEC_H
#define HSNAP_SNAPSHOT_FORMAT_CODEC_H

#include "snapshot/base/bytes.h"
#include "snapshot/format/chunk.h"
#include "snapshot/snapshot.h"

/* A string that the file keeps, and where it stands there. */
struct hsnap_string_place {
	hsnap_string from, to;
};

struct hsnap_string_map hsnap_vec_body(struct hsnap_string_place); /* sorted by `from` */

/* Which strings are named: a bit for each byte of the snapshot's buffer. */
struct hsnap_string_set {
	uint64_t *bits;
	size_t num; /* strings at or beyond this offset are "" */
};

struct hsnap_codec {
	bool writing;
	struct hsnap_buffer *out;           /* writing */
	const struct hsnap_string_map *map; /* writing: what hsnap_code_string() puts */
	struct hsnap_string_set *gather;    /* writing, not NULL: mark each string here, and write nothing */
	struct hsnap_bytes in;              /* reading */
	uint64_t num_strings;               /* reading: bytes of strings that may be named */
	uint64_t last_string, last[3];      /* differences are coded against these; 0 at a chunk's start */
};

void hsnap_code_u64(struct hsnap_codec *codec, uint64_t *value);
void hsnap_code_u32(struct hsnap_codec *codec, uint32_t *value);
/* At most `max`: an enum. */
void hsnap_code_u8(struct hsnap_codec *codec, uint8_t *value, uint8_t max);
void hsnap_code_bool(struct hsnap_codec *codec, bool *value);
void hsnap_code_string(struct hsnap_codec *codec, hsnap_string *string);
/* As the difference to *last, which becomes the value. */
void hsnap_code_near(struct hsnap_codec *codec, uint64_t *value, uint64_t *last);

/* The sections that consist of records, as arrays of the snapshot. */
size_t hsnap_records_num(const struct hsnap_snapshot *snapshot, unsigned section);
/* Make the array of a section being read, zeroed; of the notes the first `reasons` are those for
 * being partial.  false: out of memory. */
bool hsnap_records_alloc(struct hsnap_snapshot *snapshot, unsigned section, size_t num, size_t reasons);
/* Code record i.  Writing changes nothing in the snapshot. */
void hsnap_record_code(struct hsnap_codec *codec, struct hsnap_snapshot *snapshot, unsigned section, size_t i);
/* The fewest bytes that a record of the section takes; 0: the section has no records. */
unsigned hsnap_record_min(unsigned section);

/* What the arrays of the graph will need, kept beside the facts. */
struct hsnap_counts {
	uint64_t roots, blocks, edges;
	uint64_t reasons; /* how many of the notes say why the capture is partial */
};

void hsnap_facts_code(struct hsnap_codec *codec, struct hsnap_facts *facts, struct hsnap_counts *counts);

#endif
