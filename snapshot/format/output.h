/* SPDX-License-Identifier: MIT */
/*
 * output.h - a file that is there whole or not at all.
 *
 * Private to snapshot/format.
 */
#ifndef HSNAP_SNAPSHOT_FORMAT_OUTPUT_H
#define HSNAP_SNAPSHOT_FORMAT_OUTPUT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "snapshot/base/error.h"
#include "snapshot/format/chunk.h"

struct hsnap_output {
	const char *path; /* as the user gave it; borrowed */
	char *name;       /* its last part */
	char temporary[40]; /* "": the file has no name, or its own */
	int folder, fd;
	bool force, standard, folder_readable;
	uint64_t written;
	struct hsnap_buffer *memory; /* not NULL: there is no file, the bytes go here */
	sigset_t mask; /* the thread's before we blocked SIGXFSZ and SIGPIPE */
};

/* "-": stdout.  Fails early where the file may not be replaced. */
HSNAP_CHECKED enum hsnap_code hsnap_output_open(struct hsnap_output *out, const char *path, bool force,
						struct hsnap_error *err);
HSNAP_CHECKED enum hsnap_code hsnap_output_write(struct hsnap_output *out, const void *bytes, uint64_t len,
						 struct hsnap_error *err);
/* To the disk, and to its name. */
HSNAP_CHECKED enum hsnap_code hsnap_output_commit(struct hsnap_output *out, struct hsnap_error *err);
/* Always; what was not committed is gone. */
void hsnap_output_close(struct hsnap_output *out);

#endif
