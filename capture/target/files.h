/* SPDX-License-Identifier: MIT */
/*
 * files.h - the files that a process has mapped, opened without trusting it.
 *
 * A file is opened by /proc/PID/map_files where that is permitted: then it is
 * the very one, deleted or replaced or not.  Else by its path below the
 * process's own root, and only believed when it is the same inode or carries
 * the build id that stands in the process's memory.  Only regular files are
 * opened, and no link leads out of that root into ours.
 */
#ifndef HSNAP_CAPTURE_TARGET_FILES_H
#define HSNAP_CAPTURE_TARGET_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/proc/proc.h"
#include "snapshot/base/vec.h"

struct hsnap_file {
	uint64_t device, inode;
	int fd; /* -1: lost, its pages can be had from the process alone */
};

struct hsnap_files {
	int root; /* O_PATH descriptor of the process's root folder, or -1 */
	char *root_path; /* where that is below our own root, which paths in maps begin at then; or NULL */
	struct hsnap_vec(struct hsnap_file) files;
};

/* Open the file of every mapping that holds code; false: out of memory.  `maps` is the text. */
HSNAP_CHECKED bool hsnap_files_init(struct hsnap_files *files, const struct hsnap_proc *proc, pid_t pid,
				    const char *maps);
void hsnap_files_deinit(struct hsnap_files *files);

/* Borrowed, or -1. */
int hsnap_files_find(const struct hsnap_files *files, uint64_t device, uint64_t inode);
/* It was looked for and could not be opened. */
bool hsnap_files_is_lost(const struct hsnap_files *files, uint64_t device, uint64_t inode);
/* A fresh descriptor of a regular file below the process's root, or -1. */
int hsnap_files_open_path(const struct hsnap_files *files, const char *path);
/* The same for a file that is mapped but was not opened at first: only that very inode. */
int hsnap_files_open_inode(const struct hsnap_files *files, const char *path, uint64_t device, uint64_t inode);
/* A descriptor of its own for a file that is open: no shared offset. */
int hsnap_files_reopen(int fd);

#endif
