/* SPDX-License-Identifier: MIT */
/*
 * claims.h - what the recognisers of this folder share: the memory in question, and who claims what.
 */
#ifndef HSNAP_CAPTURE_ALLOC_FOREIGN_CLAIMS_H
#define HSNAP_CAPTURE_ALLOC_FOREIGN_CLAIMS_H

#include "capture/alloc/foreign/foreign.h"
#include "capture/target/threads.h"
#include "snapshot/base/vec.h"

#define HSNAP_FOREIGN_PAGE ((uint64_t)4096)

struct foreign_span {
	uint64_t start, end;
};
struct foreign_spans hsnap_vec_body(struct foreign_span);

struct foreign {
	const struct hsnap_target *target;
	struct foreign_spans spans;  /* memory that nobody explains and that was written to; in order, disjoint */
	struct foreign_spans claims; /* of the recogniser that is at work, in any order */
	struct foreign_spans data;   /* of modules: see foreign_claim_data() */
	const char *program;
	struct hsnap_thread_places pointers; /* of all threads, in order */
	uint64_t tries;              /* what the recogniser may still look at: all memory is hostile */
	bool no_memory;
};

/* The recogniser knows that this is its allocator's.  Beyond the spans it counts nothing. */
void foreign_claim(struct foreign *foreign, uint64_t start, uint64_t end);
/* This data of a module is the allocator's list of blocks: it holds none of them. */
void foreign_claim_data(struct foreign *foreign, uint64_t start, uint64_t end);
/* The first module whose file's name begins so, or NULL. */
const struct hsnap_target_module *foreign_module(const struct foreign *foreign, const char *name);

/* central.c: the lists of tcmalloc, in the data of its module that begins at `start`. */
void foreign_look_central(struct foreign *foreign, uint64_t start, const uint64_t *words, size_t num);

/* One recogniser each: claims what is its own. */
void foreign_look_jemalloc(struct foreign *foreign);
void foreign_look_tcmalloc(struct foreign *foreign);
void foreign_look_mimalloc(struct foreign *foreign);
void foreign_look_musl(struct foreign *foreign);
void foreign_look_pymalloc(struct foreign *foreign);
void foreign_look_go(struct foreign *foreign);
void foreign_look_jvm(struct foreign *foreign);
void foreign_look_dotnet(struct foreign *foreign);
void foreign_look_names(struct foreign *foreign, const char *prefix);

#endif
