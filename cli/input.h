/* SPDX-License-Identifier: MIT */
/* input.h - the snapshot that a command is about: a file, stdin, the newest, a live process. */
#ifndef HSNAP_CLI_INPUT_H
#define HSNAP_CLI_INPUT_H

#include "cli/options.h"
#include "cli/text.h"
#include "snapshot/snapshot.h"

struct hsnap_input {
	char *path; /* as it was named */
	struct hsnap_snapshot *snapshot;
};

void hsnap_input_deinit(struct hsnap_input *source);

/**
 * Open the one snapshot of a command.
 *
 * @param path  NULL: a process of --pid, else the newest of the current folder
 * @param load  HSNAP_LOAD_… of the parts that are needed
 * @return HSNAP_GO_ON, or the exit status; the error has been printed
 */
int hsnap_input_open(const struct hsnap_options *options, const char *path, unsigned load,
		      struct hsnap_input *ret);

/* HSNAP_EXIT_PARTIAL where the snapshot is and that was not allowed, else HSNAP_EXIT_DONE. */
int hsnap_input_status(const struct hsnap_options *options, const struct hsnap_snapshot *snapshot);

/* Are the two of one process?  By PID, start time and name. */
bool hsnap_same_process(const struct hsnap_snapshot *a, const struct hsnap_snapshot *b);

/* How a command names the same snapshot again: its path, quoted, or "-p PID". */
void hsnap_add_input(struct hsnap_line *to, const struct hsnap_options *options, const char *path);

/* newest.c: the path of the newest snapshot of the current folder that the user owns, to be
 * freed; HSNAP_GO_ON or the exit status. */
int hsnap_find_newest(const struct hsnap_options *options, char **ret);

#endif
