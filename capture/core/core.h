/* SPDX-License-Identifier: MIT */
/*
 * core.h - a target made of a core file.
 *
 * Cores of the kernel (also without file-backed pages, coredump_filter) and of gcore.  Pages that
 * are the files' are read from the files, found by build id.  All bytes are hostile.
 */
#ifndef HSNAP_CAPTURE_CORE_CORE_H
#define HSNAP_CAPTURE_CORE_CORE_H

#include "capture/target/target.h"
#include "snapshot/base/error.h"

/* What a core tells of its process. */
struct hsnap_core_facts {
	uint64_t pid;
	char comm[16];
	char exe[4096];    /* as the process saw it; "" unknown */
	uint64_t taken_at; /* ns since the epoch: when the file was last written */
	char partial[160]; /* "the core is cut short: 12 of 40 MiB are there"; "" = complete */
};

/**
 * @param exe  the executable, where it is elsewhere than the core says; NULL: as it says
 * @return HSNAP_OK, HSNAP_REFUSED (not a core, of another machine: the message says), HSNAP_IO,
 *         HSNAP_FORMAT, HSNAP_NO_MEMORY
 */
HSNAP_CHECKED enum hsnap_code hsnap_core_open(const char *path, const char *exe, struct hsnap_target **ret,
					      struct hsnap_core_facts *facts, struct hsnap_error *err);

#endif
