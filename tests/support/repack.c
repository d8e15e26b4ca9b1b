/* SPDX-License-Identifier: MIT */
/* repack.c - see repack.h. */
#include "tests/support/repack.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "snapshot/format/layout.h"

static void need(bool done)
{
	if (!done)
		abort();
}

void repack_open(struct repack *repack, const void *bytes, size_t size)
{
	const uint8_t *at = bytes, *tail = at + size - HSNAP_FORMAT_TAIL;
	uint64_t len;
	memcpy(&len, tail, sizeof(len));
	struct hsnap_bytes in = hsnap_bytes(tail - len, len);
	bool no_memory;
	*repack = (struct repack){ .version = HSNAP_FORMAT_VERSION };
	need(hsnap_index_read(&in, &repack->chunks, &no_memory));
	repack->raws = calloc(repack->chunks.num, sizeof(*repack->raws));
	struct hsnap_zip zip = { 0 };
	at += HSNAP_FORMAT_HEADER;
	for (size_t i = 0; i < repack->chunks.num; i++) {
		struct hsnap_buffer raw = { 0 };
		struct hsnap_bytes got;
		need(hsnap_chunk_unpack(&zip, &repack->chunks.items[i], at, &raw, &got) == HSNAP_UNPACKED);
		hsnap_buffer_put(&repack->raws[i], got.at, hsnap_bytes_left(&got));
		hsnap_buffer_deinit(&raw);
		at += repack->chunks.items[i].stored;
	}
	hsnap_zip_deinit(&zip);
}

void repack_close(struct repack *repack)
{
	for (size_t i = 0; i < repack->chunks.num; i++)
		hsnap_buffer_deinit(&repack->raws[i]);
	free(repack->raws);
	hsnap_vec_deinit(&repack->chunks);
}

struct hsnap_buffer file_with_index(const struct hsnap_buffer *body, const struct hsnap_buffer *index, uint32_t version)
{
	struct hsnap_buffer file = { 0 };
	uint8_t header[HSNAP_FORMAT_HEADER] = HSNAP_FORMAT_MAGIC, tail[HSNAP_FORMAT_TAIL] = { 0 };
	memcpy(header + 8, &version, 4);
	hsnap_buffer_put(&file, header, sizeof(header));
	hsnap_buffer_put(&file, body->bytes, body->num);
	hsnap_buffer_put(&file, index->bytes, index->num);
	uint64_t lengths[2] = { index->num, file.num + sizeof(tail) };
	memcpy(tail, lengths, sizeof(lengths));
	uint32_t crc = (uint32_t)crc32(0, header, sizeof(header));
	crc = (uint32_t)crc32(crc, index->bytes, (uInt)index->num);
	crc = (uint32_t)crc32(crc, tail, 16);
	memcpy(tail + 16, &crc, 4);
	memcpy(tail + 24, HSNAP_FORMAT_TAIL_MAGIC, 8);
	hsnap_buffer_put(&file, tail, sizeof(tail));
	need(!file.full);
	return file;
}

struct hsnap_buffer repack_file(const struct repack *repack)
{
	struct hsnap_zip zip = { 0 };
	struct hsnap_buffer body = { 0 }, stored = { 0 }, index = { 0 };
	struct hsnap_chunks chunks = { 0 };
	for (size_t i = 0; i < repack->chunks.num; i++) {
		struct hsnap_chunk chunk = repack->chunks.items[i];
		need(hsnap_chunk_pack(&zip, &repack->raws[i], &stored, &chunk) && hsnap_vec_push(&chunks, chunk));
		hsnap_buffer_put(&body, stored.bytes, stored.num);
	}
	hsnap_index_write(&chunks, &index);
	struct hsnap_buffer file = file_with_index(&body, &index, repack->version);
	hsnap_buffer_deinit(&body);
	hsnap_buffer_deinit(&stored);
	hsnap_buffer_deinit(&index);
	hsnap_vec_deinit(&chunks);
	hsnap_zip_deinit(&zip);
	return file;
}
