/* SPDX-License-Identifier: MIT */
/*
 * chunk.h - a piece of a section: compressed, checked, and in the index.
 *
 * Private to snapshot/format.
 */
#ifndef HSNAP_SNAPSHOT_FORMAT_CHUNK_H
#define HSNAP_SNAPSHOT_FORMAT_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/base/bytes.h"
#include "snapshot/base/vec.h"

struct z_stream_s;

/* An entry of the index.  Chunks lie one behind the other, in the order of their entries. */
struct hsnap_chunk {
	uint8_t section;  /* enum hsnap_section */
	uint64_t items;   /* records, nodes, edges, or bytes of text */
	uint32_t raw;     /* bytes before compression */
	uint32_t stored;  /* bytes in the file; as many as raw: not compressed */
	uint32_t crc;     /* CRC-32 of the stored bytes */
	uint64_t offset;  /* in the file; not in the index but summed up */
};

struct hsnap_chunks hsnap_vec_body(struct hsnap_chunk);

/* A buffer that grows; `full` once it could not. */
struct hsnap_buffer {
	uint8_t *bytes;
	size_t num, capacity;
	bool full;
};

void hsnap_buffer_deinit(struct hsnap_buffer *buffer);
/* Room for `extra` more bytes, to be written at bytes + num; NULL: out of memory (and full). */
uint8_t *hsnap_buffer_room(struct hsnap_buffer *buffer, size_t extra);
void hsnap_buffer_put(struct hsnap_buffer *buffer, const void *bytes, size_t len);
void hsnap_buffer_varint(struct hsnap_buffer *buffer, uint64_t value);

/* One thread's compressor or decompressor, made on first use and used for all its chunks. */
struct hsnap_zip {
	struct z_stream_s *deflate, *inflate;
};

void hsnap_zip_deinit(struct hsnap_zip *zip);

/* Compress raw (zlib level 1), or keep it as it is where that hardly helps.  Sets raw, stored
 * and crc of the entry.  false: out of memory. */
bool hsnap_chunk_pack(struct hsnap_zip *zip, const struct hsnap_buffer *raw, struct hsnap_buffer *stored,
		      struct hsnap_chunk *chunk);

enum hsnap_unpacked { HSNAP_UNPACKED, HSNAP_UNPACK_CHECKSUM, HSNAP_UNPACK_BROKEN, HSNAP_UNPACK_NO_MEMORY };

/* Check and decompress.  *ret is borrowed from `stored` or `raw`. */
enum hsnap_unpacked hsnap_chunk_unpack(struct hsnap_zip *zip, const struct hsnap_chunk *chunk,
				       const uint8_t *stored, struct hsnap_buffer *raw,
				       struct hsnap_bytes *ret);

/* The index as it stands in the file.  Reading checks nothing but that all of it can be read. */
void hsnap_index_write(const struct hsnap_chunks *chunks, struct hsnap_buffer *out);
bool hsnap_index_read(struct hsnap_bytes *in, struct hsnap_chunks *chunks, bool *ret_no_memory);

#endif
