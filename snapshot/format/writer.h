/* SPDX-License-Identifier: MIT */
/* writer.h - the file's bytes in memory, for tests.  Private to snapshot/format. */
#ifndef HSNAP_SNAPSHOT_FORMAT_WRITER_H
#define HSNAP_SNAPSHOT_FORMAT_WRITER_H

#include "snapshot/format/chunk.h"
#include "snapshot/snapshot.h"

/* Append what hsnap_snapshot_write() would write. */
HSNAP_CHECKED enum hsnap_code hsnap_snapshot_write_bytes(const struct hsnap_snapshot *snapshot,
							 struct hsnap_buffer *bytes, struct hsnap_error *err);

#endif
