/* SPDX-License-Identifier: MIT */
/*
 * witness.h - what the memory of a stopped process is, seen by the test itself.
 *
 * Read page by page from maps, pagemap and the process, with nothing of heapsnap's.
 */
#ifndef HSNAP_TESTS_CAPTURE_FREEZE_WITNESS_H
#define HSNAP_TESTS_CAPTURE_FREEZE_WITNESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/target/target.h"

struct witness {
	pid_t pid;
	struct witness_page {
		uint64_t address;
		uint8_t bytes[4096];
	} *pages;
	size_t num, max;
};

/* Pages for which there is room, at most. */
void witness_create(struct witness *witness, pid_t pid, size_t max);
/* For hsnap_freeze_options.witness. */
void witness_look(void *witness);
/* How many of its pages the target gives otherwise; *first is the first of them. */
size_t witness_compare(const struct witness *witness, const struct hsnap_target *target, uint64_t *first);
void witness_destroy(struct witness *witness);

#endif
