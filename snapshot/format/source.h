/* SPDX-License-Identifier: MIT */
/*
 * source.h - the bytes of a file being read, wherever they are.
 *
 * A file is read piece by piece (pread): mapping it would end in SIGBUS when
 * somebody cuts it short meanwhile.  A pipe is read whole.  Private to
 * snapshot/format.
 */
#ifndef HSNAP_SNAPSHOT_FORMAT_SOURCE_H
#define HSNAP_SNAPSHOT_FORMAT_SOURCE_H

#include "snapshot/base/error.h"
#include "snapshot/format/chunk.h"

struct hsnap_source {
	int fd;                    /* -1: all is in bytes */
	const uint8_t *bytes;
	struct hsnap_buffer owned; /* of a pipe */
	uint64_t size;
};

/* "-": stdin. */
HSNAP_CHECKED enum hsnap_code hsnap_source_open(struct hsnap_source *source, const char *path,
						struct hsnap_error *err);
void hsnap_source_close(struct hsnap_source *source);

/* Bytes [offset, offset + len), which lie within size: borrowed from the source or from `buffer`.
 * NULL: could not be read; errno says why, 0 where the file has become shorter. */
const uint8_t *hsnap_source_get(const struct hsnap_source *source, uint64_t offset, size_t len,
				struct hsnap_buffer *buffer);

#endif
