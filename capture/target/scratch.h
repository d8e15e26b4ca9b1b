/* SPDX-License-Identifier: MIT */
/*
 * scratch.h - a file on a disk that takes a target's pages in place of memory.
 *
 * It has no name and only we can read it: whatever happens to us, nothing of the target's memory
 * is left behind.
 */
#ifndef HSNAP_CAPTURE_TARGET_SCRATCH_H
#define HSNAP_CAPTURE_TARGET_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/base/error.h"

/**
 * Make one in a folder.
 *
 * @return HSNAP_OK, HSNAP_REFUSED: no file can be made there, or what is written there stays in
 *         memory (tmpfs, ramfs, an overlay above one): that would help nobody
 */
HSNAP_CHECKED enum hsnap_code hsnap_scratch_open(const char *folder, int *ret, struct hsnap_error *err);

/* Bytes that may be written without taking the last of the disk from others. */
uint64_t hsnap_scratch_left(int fd);

/* Make it that long, every byte of it promised by the disk; false with errno. */
bool hsnap_scratch_resize(int fd, size_t size);

/* Send a stretch that is mapped at `pages` to the disk and out of memory; it is read again when it
 * is touched.  Waits for the disk. */
void hsnap_scratch_relieve(int fd, void *pages, size_t offset, size_t len);

#endif
