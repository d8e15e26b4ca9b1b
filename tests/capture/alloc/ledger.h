/* SPDX-License-Identifier: MIT */
/*
 * ledger.h - what a program knows of its own heap, where its judge finds it: at one fixed address.
 *
 * In a mapping of its own, so that keeping it changes nothing in the heap.  A line is written after the block was
 * handed out and taken back before it is freed: in any frozen copy, what stands in it is live.
 */
#ifndef HSNAP_TESTS_CAPTURE_ALLOC_LEDGER_H
#define HSNAP_TESTS_CAPTURE_ALLOC_LEDGER_H

#include <stdint.h>

#define LEDGER_ADDRESS 0x200000000000ull
#define LEDGER_MAGIC 0x317265676465ull
#define LEDGER_LINES 600000u

struct ledger_line {
	uint64_t address; /* 0: none */
	uint64_t usable;  /* by malloc_usable_size; under the agent that is less its trailer */
};

struct ledger {
	uint64_t magic;
	uint64_t lines;    /* used so far */
	uint64_t threads;  /* that take and drop blocks without a pause */
	uint64_t has_info; /* mallinfo() was asked after the last change */
	uint64_t in_use, free, in_fastbins, mapped, num_mapped, system; /* as mallinfo() says, all arenas */
	uint64_t loader_end; /* what is not on the ledger and stands before this, and not far before line[0], is the loader's */
	struct ledger_line line[LEDGER_LINES]; /* [0]: the first block that main() took, never freed */
};

#endif
