/* SPDX-License-Identifier: MIT */
/*
 * foreign.h - whose the memory is that no walk explains.
 *
 * Recognised by what the memory itself shows (page maps, headers, reserved ranges), never by the
 * name of a library alone: a program with jemalloc may have pools of its own beside it, and a wrong
 * attribution is worse than none.  What nothing proves is "of no allocator that is known".
 */
#ifndef HSNAP_CAPTURE_ALLOC_FOREIGN_FOREIGN_H
#define HSNAP_CAPTURE_ALLOC_FOREIGN_FOREIGN_H

#include "capture/alloc/heap.h"
#include "capture/target/target.h"

struct hsnap_foreign {
	uint64_t anonymous;   /* bytes of anonymous memory that were written to, modules' data apart */
	uint64_t unexplained; /* of these: no walked heap's, no stack's */
	uint64_t claimed;     /* of these: of the allocators that were recognised */
	/* Too much to be passed over: the picture of the heap lacks a good part of what is there. */
	bool noteworthy;
	char sentence[200];   /* "612 MiB of 800 MiB are jemalloc's, which this version cannot walk"; "" if there is none */
	char mend[160];       /* what helps: "start it with PYTHONMALLOC=malloc in its environment"; "": nothing does */
};

/**
 * Look at all anonymous memory that is not in `heap->regions`.
 *
 * @param heap  what was walked; zeroed where nothing could be
 * @param program  path of the executable, for a command that helps; "" unknown
 * @return HSNAP_OK, HSNAP_NO_MEMORY
 * Cost: a few reads a page of unexplained memory.
 */
HSNAP_CHECKED enum hsnap_code hsnap_foreign_look(const struct hsnap_target *target, const struct hsnap_heap *heap,
						 const char *program, struct hsnap_foreign *ret, struct hsnap_error *err);

/**
 * Add to `heap->regions` what jemalloc, tcmalloc and mimalloc have for blocks, where one of them is in the target, and
 * of their variables the lists of blocks: for a heap whose blocks are known by other means.
 *
 * @return HSNAP_OK, HSNAP_NO_MEMORY
 */
HSNAP_CHECKED enum hsnap_code hsnap_foreign_regions(const struct hsnap_target *target, struct hsnap_heap *heap,
						    struct hsnap_error *err);

/**
 * The module that an address lies in, where that is one of these three and nothing else: by its name, and by a
 * function that it alone has.  A program's own library may have such an allocator inside: its variables are the program's.
 *
 * @return index into target->modules; 0: it is not
 */
uint32_t hsnap_foreign_allocator(const struct hsnap_target *target, uint64_t address);

#endif
