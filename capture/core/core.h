/* SPDX-License-Identifier: MIT */
/*
 * core.h - a target made of a core file.
 *
 * Cores of the kernel (whatever coredump_filter left out) and of gcore.  What a core leaves out of
 * the files that its process had mapped is read from the files; a path alone is never believed: the
 * file must be the one that the core's memory shows.  All bytes are hostile, and the file may
 * change while it is read.
 */
#ifndef HSNAP_CAPTURE_CORE_CORE_H
#define HSNAP_CAPTURE_CORE_CORE_H

#include "capture/target/target.h"
#include "snapshot/base/error.h"

#define HSNAP_CORE_NOTES 8

struct hsnap_core_options {
	const char *path;
	const char *exe; /* the executable, where it is elsewhere than the core says; NULL: as it says */
	int scratch;     /* an unlinked file that the pages go to, or -1: memory; borrowed */
	/* Asked whether there is room for a copy of so many bytes before it is made; may be NULL. */
	enum hsnap_code (*has_room)(void *context, uint64_t bytes, struct hsnap_error *err);
	void *context;
};

/* What a core tells of its process. */
struct hsnap_core_facts {
	uint64_t pid;      /* 0: unknown */
	char comm[17];
	char exe[4096];    /* as the process saw it; "" unknown */
	uint64_t taken_at; /* ns since the epoch: when the file was last written */
	/* Why something is missing: "the core is cut short: 12 of 40 MiB are there"; and other things
	 * to tell.  "" from the first free one on. */
	char partial[HSNAP_CORE_NOTES][200], notes[HSNAP_CORE_NOTES][200];
};

/**
 * @return HSNAP_OK, HSNAP_REFUSED (not a core, of another machine, without memory, its executable
 *         is not the one named: message and hint say), HSNAP_IO, HSNAP_FORMAT, HSNAP_NO_MEMORY
 * Cost: one pass over the core's data, and its size in memory or scratch.
 */
HSNAP_CHECKED enum hsnap_code hsnap_core_open(const struct hsnap_core_options *options, struct hsnap_target **ret,
					      struct hsnap_core_facts *facts, struct hsnap_error *err);
/* The same of an open file, which becomes the target's, also on failure. */
HSNAP_CHECKED enum hsnap_code hsnap_core_open_fd(int take_fd, const struct hsnap_core_options *options,
						 struct hsnap_target **ret, struct hsnap_core_facts *facts,
						 struct hsnap_error *err);

#endif
