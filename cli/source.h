/* SPDX-License-Identifier: MIT */
/* source.h - the snapshot that a command is about: a file, stdin, the newest, a live process. */
#ifndef HSNAP_CLI_SOURCE_H
#define HSNAP_CLI_SOURCE_H

#include "cli/options.h"
#include "snapshot/snapshot.h"

struct hsnap_source {
	char *path; /* as it was named */
	struct hsnap_snapshot *snapshot;
};

void hsnap_source_deinit(struct hsnap_source *source);

/**
 * Open the one snapshot of a command.
 *
 * @param path  NULL: a process of --pid, else the newest of the current folder
 * @param load  HSNAP_LOAD_… of the parts that are needed
 * @return HSNAP_GO_ON, or the exit status; the error has been printed
 */
int hsnap_source_open(const struct hsnap_options *options, const char *path, unsigned load,
		      struct hsnap_source *ret);

/* HSNAP_EXIT_PARTIAL where the snapshot is and that was not allowed, else HSNAP_EXIT_DONE. */
int hsnap_source_status(const struct hsnap_options *options, const struct hsnap_snapshot *snapshot);

/* Are the two of one process?  By PID, start time and name. */
bool hsnap_same_process(const struct hsnap_snapshot *a, const struct hsnap_snapshot *b);

/* newest.c: the path of the newest snapshot of the current folder that the user owns, to be
 * freed; HSNAP_GO_ON or the exit status. */
int hsnap_find_newest(const struct hsnap_options *options, char **ret);

#endif
