/* SPDX-License-Identifier: MIT */
/* chunk.c - zlib and CRC-32 of single chunks, and the index of all. */
#include "snapshot/format/chunk.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "snapshot/format/layout.h"

#define SAMPLE_SIZE 16384u

const char *hsnap_section_name(unsigned section)
{
	static const char *const names[HSNAP_NUM_SECTIONS] = {
		[HSNAP_SECTION_FACTS] = "facts",
		[HSNAP_SECTION_TABLE_STRINGS] = "strings of the table",
		[HSNAP_SECTION_NOTES] = "notes",
		[HSNAP_SECTION_MODULES] = "modules",
		[HSNAP_SECTION_TYPES] = "types",
		[HSNAP_SECTION_ROWS] = "rows",
		[HSNAP_SECTION_ACCOUNT] = "memory account",
		[HSNAP_SECTION_ARENAS] = "arenas",
		[HSNAP_SECTION_PARTS] = "parts of the memory",
		[HSNAP_SECTION_ITEM_ROWS] = "rows of objects in pools",
		[HSNAP_SECTION_STRINGS] = "strings",
		[HSNAP_SECTION_MEMBERS] = "members",
		[HSNAP_SECTION_STACKS] = "stacks",
		[HSNAP_SECTION_FRAMES] = "frames",
		[HSNAP_SECTION_ROOTS] = "roots",
		[HSNAP_SECTION_GROUNDS] = "grounds of names",
		[HSNAP_SECTION_OTHERS] = "other claims",
		[HSNAP_SECTION_POOLS] = "pools",
		[HSNAP_SECTION_ITEMS] = "objects in pools",
		[HSNAP_SECTION_EDGE_ITEMS] = "edges to objects in pools",
		[HSNAP_SECTION_KINDS] = "kinds",
		[HSNAP_SECTION_SIZES] = "sizes",
		[HSNAP_SECTION_ADDRESSES] = "addresses",
		[HSNAP_SECTION_EPOCHS] = "epochs",
		[HSNAP_SECTION_SLOTS] = "slots",
		[HSNAP_SECTION_STEPS] = "steps",
		[HSNAP_SECTION_TARGETS] = "targets",
		[HSNAP_SECTION_OFFSETS] = "offsets",
	};
	return section < HSNAP_NUM_SECTIONS && names[section] ? names[section] : "unknown";
}

void hsnap_buffer_deinit(struct hsnap_buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (struct hsnap_buffer){ 0 };
}

uint8_t *hsnap_buffer_room(struct hsnap_buffer *buffer, size_t extra)
{
	if (buffer->bytes && extra <= buffer->capacity - buffer->num)
		return buffer->bytes + buffer->num;
	size_t want = buffer->num + extra, capacity = buffer->capacity * 2;
	if (capacity < want)
		capacity = want + 4096;
	uint8_t *grown = realloc(buffer->bytes, capacity);
	if (!grown) {
		buffer->full = true;
		return NULL;
	}
	buffer->bytes = grown;
	buffer->capacity = capacity;
	return grown + buffer->num;
}

void hsnap_buffer_put(struct hsnap_buffer *buffer, const void *bytes, size_t len)
{
	uint8_t *room = hsnap_buffer_room(buffer, len);
	if (!room || !len)
		return;
	memcpy(room, bytes, len);
	buffer->num += len;
}

void hsnap_buffer_varint(struct hsnap_buffer *buffer, uint64_t value)
{
	uint8_t *room = hsnap_buffer_room(buffer, 10);
	if (room)
		buffer->num += (size_t)(hsnap_put_varint(room, value) - room);
}

void hsnap_zip_deinit(struct hsnap_zip *zip)
{
	if (zip->deflate)
		deflateEnd(zip->deflate);
	if (zip->inflate)
		inflateEnd(zip->inflate);
	free(zip->deflate);
	free(zip->inflate);
	*zip = (struct hsnap_zip){ 0 };
}

static bool prepare_deflate(struct hsnap_zip *zip)
{
	if (zip->deflate)
		return deflateReset(zip->deflate) == Z_OK;
	zip->deflate = calloc(1, sizeof(*zip->deflate));
	if (zip->deflate && deflateInit(zip->deflate, 1) == Z_OK)
		return true;
	free(zip->deflate);
	zip->deflate = NULL;
	return false;
}

static bool prepare_inflate(struct hsnap_zip *zip)
{
	if (zip->inflate)
		return inflateReset(zip->inflate) == Z_OK;
	zip->inflate = calloc(1, sizeof(*zip->inflate));
	if (zip->inflate && inflateInit(zip->inflate) == Z_OK)
		return true;
	free(zip->inflate);
	zip->inflate = NULL;
	return false;
}

/* Compress len bytes to the end of out.  false: out of memory. */
static bool compress_bytes(struct hsnap_zip *zip, const uint8_t *bytes, size_t len, struct hsnap_buffer *out)
{
	if (!prepare_deflate(zip))
		return false;
	size_t bound = deflateBound(zip->deflate, len);
	uint8_t *room = hsnap_buffer_room(out, bound);
	if (!room)
		return false;
	zip->deflate->next_in = (uint8_t *)bytes;
	zip->deflate->avail_in = (uInt)len;
	zip->deflate->next_out = room;
	zip->deflate->avail_out = (uInt)bound;
	if (deflate(zip->deflate, Z_FINISH) != Z_STREAM_END)
		return false;
	out->num += zip->deflate->total_out;
	return true;
}

/* Loading is the faster for each chunk that does not need inflating: 1 part in 12 must be won. */
static bool helps(size_t before, size_t after)
{
	return after < before - before / 12;
}

bool hsnap_chunk_pack(struct hsnap_zip *zip, const struct hsnap_buffer *raw, struct hsnap_buffer *stored,
		      struct hsnap_chunk *chunk)
{
	if (raw->full)
		return false;
	bool small = raw->num < 4 * SAMPLE_SIZE;
	stored->num = 0;
	/* Ask a sample from the middle first: most edges of most heaps do not compress at all. */
	if (!small && !compress_bytes(zip, raw->bytes + raw->num / 2, SAMPLE_SIZE, stored))
		return false;
	bool compress = raw->num && (small || helps(SAMPLE_SIZE, stored->num));
	stored->num = 0;
	if (compress && !compress_bytes(zip, raw->bytes, raw->num, stored))
		return false;
	if (!compress || !helps(raw->num, stored->num)) {
		stored->num = 0;
		hsnap_buffer_put(stored, raw->bytes, raw->num);
	}
	chunk->raw = (uint32_t)raw->num;
	chunk->stored = (uint32_t)stored->num;
	chunk->crc = (uint32_t)crc32(0, stored->bytes, (uInt)stored->num);
	return !stored->full;
}

enum hsnap_unpacked hsnap_chunk_unpack(struct hsnap_zip *zip, const struct hsnap_chunk *chunk,
				       const uint8_t *stored, struct hsnap_buffer *raw,
				       struct hsnap_bytes *ret)
{
	if ((uint32_t)crc32(0, chunk->stored ? stored : NULL, chunk->stored) != (chunk->stored ? chunk->crc : 0))
		return HSNAP_UNPACK_CHECKSUM;
	if (chunk->stored == chunk->raw) {
		*ret = hsnap_bytes(stored, chunk->raw);
		return HSNAP_UNPACKED;
	}
	raw->num = 0;
	uint8_t *room = hsnap_buffer_room(raw, chunk->raw);
	if (!room || !prepare_inflate(zip))
		return HSNAP_UNPACK_NO_MEMORY;
	zip->inflate->next_in = (uint8_t *)stored;
	zip->inflate->avail_in = chunk->stored;
	zip->inflate->next_out = room;
	zip->inflate->avail_out = chunk->raw;
	int done = inflate(zip->inflate, Z_FINISH);
	if (done == Z_MEM_ERROR)
		return HSNAP_UNPACK_NO_MEMORY;
	if (done != Z_STREAM_END || zip->inflate->avail_in || zip->inflate->avail_out)
		return HSNAP_UNPACK_BROKEN;
	*ret = hsnap_bytes(room, chunk->raw);
	return HSNAP_UNPACKED;
}

void hsnap_index_write(const struct hsnap_chunks *chunks, struct hsnap_buffer *out)
{
	hsnap_buffer_varint(out, chunks->num);
	for (size_t i = 0; i < chunks->num; i++) {
		const struct hsnap_chunk *chunk = &chunks->items[i];
		hsnap_buffer_varint(out, chunk->section);
		hsnap_buffer_varint(out, chunk->items);
		hsnap_buffer_varint(out, chunk->raw);
		hsnap_buffer_varint(out, chunk->stored);
		uint8_t crc[4] = { (uint8_t)chunk->crc, (uint8_t)(chunk->crc >> 8), (uint8_t)(chunk->crc >> 16),
				   (uint8_t)(chunk->crc >> 24) };
		hsnap_buffer_put(out, crc, sizeof(crc));
	}
}

bool hsnap_index_read(struct hsnap_bytes *in, struct hsnap_chunks *chunks, bool *ret_no_memory)
{
	uint64_t num = hsnap_bytes_varint(in);
	*ret_no_memory = false;
	if (in->bad || num > hsnap_bytes_left(in) / 8) /* no entry is shorter */
		return false;
	if (!hsnap_vec_reserve(chunks, num)) {
		*ret_no_memory = true;
		return false;
	}
	for (uint64_t i = 0; i < num; i++) {
		uint64_t section = hsnap_bytes_varint(in), items = hsnap_bytes_varint(in),
			 raw = hsnap_bytes_varint(in), stored = hsnap_bytes_varint(in);
		struct hsnap_chunk chunk = { .section = (uint8_t)section, .items = items, .raw = (uint32_t)raw,
					     .stored = (uint32_t)stored, .crc = hsnap_bytes_u32(in) };
		if (in->bad || section != chunk.section || raw != chunk.raw || stored != chunk.stored)
			return false;
		chunks->items[chunks->num++] = chunk;
	}
	return !hsnap_bytes_left(in);
}
