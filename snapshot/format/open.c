/* SPDX-License-Identifier: MIT */
/* open.c - is it a snapshot, is all of it there, and where is what. */
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "snapshot/format/reader.h"

static uint64_t number(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << i * 8;
	return value;
}

static enum hsnap_code unreadable(struct hsnap_reader *reader, uint64_t offset)
{
	if (errno == ENOMEM)
		return hsnap_fail(reader->err, HSNAP_NO_MEMORY, 0, "out of memory");
	if (!errno)
		return hsnap_fail(reader->err, HSNAP_FORMAT, offset, "it was cut short while it was read");
	return hsnap_fail(reader->err, HSNAP_IO, offset, "%s", strerror(errno));
}

static enum hsnap_code cut_short(struct hsnap_reader *reader)
{
	return hsnap_fail(reader->err, HSNAP_FORMAT, reader->source.size,
			  "the snapshot is cut short: its end is missing after byte %llu",
			  (unsigned long long)reader->source.size);
}

static enum hsnap_code check_version(struct hsnap_reader *reader, uint64_t version, uint64_t flags)
{
	if (version > HSNAP_FORMAT_VERSION) {
		enum hsnap_code code = hsnap_fail(reader->err, HSNAP_UNSUPPORTED, 8,
						  "the snapshot is of format %llu, made by a newer heapsnap; this one reads format %u",
						  (unsigned long long)version, HSNAP_FORMAT_VERSION);
		return hsnap_hint(reader->err, code, "read it with the heapsnap that made it, or a newer one");
	}
	if (version < HSNAP_FORMAT_VERSION)
		return hsnap_fail(reader->err, HSNAP_UNSUPPORTED, 8,
				  "the snapshot is of format %llu, made by an older heapsnap; this one reads format %u",
				  (unsigned long long)version, HSNAP_FORMAT_VERSION);
	if (flags)
		return hsnap_fail(reader->err, HSNAP_FORMAT, 12, "the snapshot is damaged: its header has unknown flags");
	return HSNAP_OK;
}

static enum hsnap_code check_header(struct hsnap_reader *reader, uint8_t header[HSNAP_FORMAT_HEADER])
{
	struct hsnap_buffer buffer = { 0 };
	uint64_t size = reader->source.size;
	size_t have = size < HSNAP_FORMAT_HEADER ? (size_t)size : HSNAP_FORMAT_HEADER;
	if (!have)
		return hsnap_fail(reader->err, HSNAP_FORMAT, 0, "the file is empty");
	const uint8_t *at = hsnap_source_get(&reader->source, 0, have, &buffer);
	if (at)
		memcpy(header, at, have);
	hsnap_buffer_deinit(&buffer);
	if (!at)
		return unreadable(reader, 0);
	if (memcmp(header, HSNAP_FORMAT_MAGIC, have < 8 ? have : 8))
		return hsnap_fail(reader->err, HSNAP_FORMAT, 0, "it is not a heapsnap snapshot");
	if (have < HSNAP_FORMAT_HEADER)
		return cut_short(reader);
	return check_version(reader, number(header + 8, 4), number(header + 12, 4));
}

static enum hsnap_code damaged_end(struct hsnap_reader *reader, const char *why)
{
	return hsnap_fail(reader->err, HSNAP_FORMAT, reader->source.size, "the snapshot is damaged: %s", why);
}

/* Where each chunk lies: one behind the other from the header to the index. */
static enum hsnap_code place_chunks(struct hsnap_reader *reader, uint64_t index_at)
{
	uint64_t at = HSNAP_FORMAT_HEADER;
	for (size_t i = 0; i < reader->chunks.num; i++) {
		struct hsnap_chunk *chunk = &reader->chunks.items[i];
		chunk->offset = at;
		at += chunk->stored; /* at most 2^32 of 2^32 bytes */
		if (chunk->section < HSNAP_SECTION_FACTS || chunk->section >= HSNAP_NUM_SECTIONS)
			return damaged_end(reader, "its index names an unknown section");
		if (chunk->raw > HSNAP_CHUNK_MAX || chunk->stored > chunk->raw ||
		    chunk->raw > (uint64_t)chunk->stored * HSNAP_DEFLATE_RATIO + 64)
			return damaged_end(reader, "its index has a chunk of an impossible size");
		struct hsnap_extent *extent = &reader->extents[chunk->section];
		if (__builtin_add_overflow(extent->items, chunk->items, &extent->items))
			return damaged_end(reader, "its index counts too much");
		if (!hsnap_vec_push(&extent->chunks, (uint32_t)i))
			return hsnap_fail(reader->err, HSNAP_NO_MEMORY, 0, "out of memory");
	}
	return at == index_at ? HSNAP_OK : damaged_end(reader, "its chunks do not fill it");
}

/* Do the items that a chunk claims fit its bytes?  So memory is bounded by what the file really has. */
static bool sane_items(const struct hsnap_chunk *chunk)
{
	switch (chunk->section) {
	case HSNAP_SECTION_FACTS:
		return chunk->items == 1;
	case HSNAP_SECTION_TABLE_STRINGS:
	case HSNAP_SECTION_STRINGS:
		return chunk->items == chunk->raw;
	case HSNAP_SECTION_KINDS:
	case HSNAP_SECTION_ADDRESSES:
		return chunk->items <= HSNAP_CHUNK_NODES && chunk->raw >= chunk->items;
	case HSNAP_SECTION_SIZES:
		return chunk->items <= HSNAP_CHUNK_NODES;
	case HSNAP_SECTION_EPOCHS:
		return chunk->items <= HSNAP_CHUNK_NODES && (!chunk->raw || chunk->raw >= chunk->items);
	case HSNAP_SECTION_SLOTS:
		return true; /* edges: backed by STEPS */
	case HSNAP_SECTION_STEPS:
		return chunk->items <= HSNAP_CHUNK_EDGES && chunk->raw == (chunk->items + 1) / 2;
	case HSNAP_SECTION_TARGETS:
	case HSNAP_SECTION_OFFSETS:
		return chunk->items <= HSNAP_CHUNK_EDGES;
	default:
		return chunk->items && chunk->items <= chunk->raw / hsnap_record_min(chunk->section);
	}
}

static enum hsnap_code read_index(struct hsnap_reader *reader, const uint8_t *header, const uint8_t *tail,
				  struct hsnap_buffer *buffer)
{
	uint64_t len = number(tail, 8), body = reader->source.size - HSNAP_FORMAT_HEADER - HSNAP_FORMAT_TAIL;
	if (number(tail + 8, 8) != reader->source.size)
		return damaged_end(reader, "it is not as long as it was written");
	if (len > body || len > UINT32_MAX)
		return damaged_end(reader, "its index does not fit into it");
	uint64_t at = HSNAP_FORMAT_HEADER + body - len;
	const uint8_t *index = hsnap_source_get(&reader->source, at, len, buffer);
	if (!index)
		return unreadable(reader, at);
	uint32_t crc = (uint32_t)crc32(0, header, HSNAP_FORMAT_HEADER);
	if (len)
		crc = (uint32_t)crc32(crc, index, (uInt)len);
	crc = (uint32_t)crc32(crc, tail, 16);
	if (crc != number(tail + 16, 4) || number(tail + 20, 4))
		return damaged_end(reader, "the checksum of its index does not match");
	struct hsnap_bytes in = hsnap_bytes(index, len);
	bool no_memory;
	if (!hsnap_index_read(&in, &reader->chunks, &no_memory))
		return no_memory ? hsnap_fail(reader->err, HSNAP_NO_MEMORY, 0, "out of memory")
				 : damaged_end(reader, "its index makes no sense");
	return place_chunks(reader, at);
}

enum hsnap_code hsnap_reader_open(struct hsnap_reader *reader)
{
	uint8_t header[HSNAP_FORMAT_HEADER] = { 0 }, tail[HSNAP_FORMAT_TAIL];
	enum hsnap_code code = check_header(reader, header);
	if (code)
		return code;
	if (reader->source.size < HSNAP_FORMAT_HEADER + HSNAP_FORMAT_TAIL)
		return cut_short(reader);
	struct hsnap_buffer buffer = { 0 };
	uint64_t at = reader->source.size - HSNAP_FORMAT_TAIL;
	const uint8_t *got = hsnap_source_get(&reader->source, at, HSNAP_FORMAT_TAIL, &buffer);
	if (got)
		memcpy(tail, got, sizeof(tail));
	if (!got)
		code = unreadable(reader, at);
	else if (memcmp(tail + 24, HSNAP_FORMAT_TAIL_MAGIC, 8))
		code = cut_short(reader);
	else
		code = read_index(reader, header, tail, &buffer);
	hsnap_buffer_deinit(&buffer);
	for (size_t i = 0; !code && i < reader->chunks.num; i++)
		if (!sane_items(&reader->chunks.items[i]))
			code = damaged_end(reader, "its index has a chunk with an impossible count");
	return code;
}

/* Chunks of `each` items that add up to `items`; only the last is smaller. */
static bool regular(const struct hsnap_reader *reader, unsigned section, uint64_t items, uint32_t each)
{
	const struct hsnap_extent *extent = &reader->extents[section];
	if (extent->items != items || extent->chunks.num != (items + each - 1) / each)
		return false;
	for (size_t i = 0; i + 1 < extent->chunks.num; i++)
		if (reader->chunks.items[extent->chunks.items[i]].items != each)
			return false;
	return true;
}

enum hsnap_code hsnap_reader_check_columns(struct hsnap_reader *reader)
{
	const struct hsnap_counts *counts = &reader->counts;
	if (counts->roots > HSNAP_MAX_NODES || counts->blocks > HSNAP_MAX_NODES ||
	    counts->roots + counts->blocks + 1 > HSNAP_MAX_NODES || counts->edges >= UINT32_MAX)
		return hsnap_fail(reader->err, HSNAP_UNSUPPORTED, 0,
				  "the snapshot is too large: %llu blocks with %llu edges",
				  (unsigned long long)counts->blocks, (unsigned long long)counts->edges);
	uint64_t nodes = counts->roots + counts->blocks;
	bool fits = reader->extents[HSNAP_SECTION_ROOTS].items == counts->roots &&
		    counts->reasons <= reader->extents[HSNAP_SECTION_NOTES].items &&
		    reader->extents[HSNAP_SECTION_ACCOUNT].items <= 1;
	for (unsigned section = HSNAP_SECTION_KINDS; section < HSNAP_SECTION_SLOTS; section++)
		fits = fits && regular(reader, section, nodes, HSNAP_CHUNK_NODES);
	for (unsigned section = HSNAP_SECTION_STEPS; section <= HSNAP_SECTION_OFFSETS; section++)
		fits = fits && regular(reader, section, counts->edges, HSNAP_CHUNK_EDGES);
	const struct hsnap_extent *slots = &reader->extents[HSNAP_SECTION_SLOTS];
	fits = fits && slots->items == counts->edges &&
	       (slots->chunks.num == reader->extents[HSNAP_SECTION_KINDS].chunks.num ||
		(!slots->chunks.num && !counts->edges));
	return fits ? HSNAP_OK : damaged_end(reader, "its index does not fit its counts");
}
