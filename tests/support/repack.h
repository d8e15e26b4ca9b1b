/* SPDX-License-Identifier: MIT */
/* repack.h - a snapshot's file taken apart and put together again, with every checksum right. */
#ifndef HSNAP_TESTS_SUPPORT_REPACK_H
#define HSNAP_TESTS_SUPPORT_REPACK_H

#include "snapshot/format/chunk.h"

struct repack {
	struct hsnap_chunks chunks; /* as in the index; raw, stored and crc are made anew */
	struct hsnap_buffer *raws;  /* one a chunk, decompressed: for the test to change */
	uint32_t version;
};

/* `bytes` must be a whole snapshot; ends the program where it is not. */
void repack_open(struct repack *repack, const void *bytes, size_t size);
void repack_close(struct repack *repack);
/* The file of what the chunks are now. */
struct hsnap_buffer repack_file(const struct repack *repack);
/* A file of these chunks, bytes and index as given, whatever they are; tail and checksum fit them. */
struct hsnap_buffer file_with_index(const struct hsnap_buffer *body, const struct hsnap_buffer *index, uint32_t version);

#endif
