/* SPDX-License-Identifier: MIT */
/* folder.h - a temporary folder for one test, and files in it. */
#ifndef HSNAP_TESTS_SUPPORT_FOLDER_H
#define HSNAP_TESTS_SUPPORT_FOLDER_H

#include <stddef.h>
#include <stdint.h>

#include "snapshot/snapshot.h"

/* As .init and .fini of a test; a mistake ends the program. */
void folder_make(void);
void folder_remove(void);

const char *folder_path(void);
/* "<folder>/<name>", valid for the next three calls. */
const char *in_folder(const char *name);
/* How many files are in it, or in another; those with a dot in front included. */
size_t folder_count(void);
size_t folder_count_in(const char *path);

struct file {
	uint8_t *bytes; /* for free(); one NUL follows */
	size_t size;
};

struct file file_read(const char *path);
void file_write(const char *path, const void *bytes, size_t size);
/* The bytes that hsnap_snapshot_write() makes of it. */
struct file file_of_snapshot(const struct hsnap_snapshot *snapshot);

#endif
