/* SPDX-License-Identifier: MIT */
/*
 * stage.h - memory between a process that stands still and a disk.
 *
 * Pages go into a ring of chunks, which a thread of its own writes to the scratch file.  Past the
 * page cache where the file system lets us: there the kernel would make the writer wait when many
 * pages are dirty, and the cache is charged to the cgroup.  Whoever fills the ring never waits for
 * the disk itself, only for a chunk, and for a moment: a process that is held is let go in time even
 * if the disk never answers.
 */
#ifndef HSNAP_CAPTURE_TARGET_STAGE_H
#define HSNAP_CAPTURE_TARGET_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct hsnap_stage;

/* A ring of about `memory` bytes, all of it there, in front of the file; NULL with errno. */
struct hsnap_stage *hsnap_stage_create(int fd, size_t memory);
/* Waits for what is being written; what was not handed over is dropped. */
void hsnap_stage_destroy(struct hsnap_stage *stage);

/* Where the next bytes go: a chunk at least.  0: there is no room yet, or writing has failed. */
int hsnap_stage_room(struct hsnap_stage *stage, struct iovec to[2]);
/* So many bytes of that have been filled. */
void hsnap_stage_advance(struct hsnap_stage *stage, size_t len);
/* Forget what was filled; the next byte is the first of the file. */
void hsnap_stage_rewind(struct hsnap_stage *stage);

/* Wait for room, some milliseconds at most; false with errno: writing has failed. */
bool hsnap_stage_wait(struct hsnap_stage *stage);
/* Write the rest and wait for all of it; false with errno. */
bool hsnap_stage_finish(struct hsnap_stage *stage);

#endif
