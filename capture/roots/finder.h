/* SPDX-License-Identifier: MIT */
/* finder.h - what the files that look for roots share. */
#ifndef HSNAP_CAPTURE_ROOTS_FINDER_H
#define HSNAP_CAPTURE_ROOTS_FINDER_H

#include "capture/roots/glibc.h"
#include "capture/roots/roots.h"
#include "capture/roots/spans.h"
#include "capture/target/threads.h"

struct hsnap_root_place {
	enum hsnap_root_kind kind;
	uint32_t module, thread; /* as in struct hsnap_root_area */
	const char *name;
};

/* Memory that a thread lays claim to. */
struct hsnap_root_claim {
	uint64_t start, end;
	struct hsnap_root_place place;
	uint32_t order; /* in which it came */
};

struct hsnap_root_claims hsnap_vec_body(struct hsnap_root_claim);

struct hsnap_root_finder {
	struct hsnap_target *target;
	const struct hsnap_heap *heap;
	struct hsnap_roots *roots;
	struct hsnap_glibc glibc;
	struct hsnap_spans regions; /* of the allocator and the agent, sorted */
	struct hsnap_spans known;   /* what is a root by its own right, or known to be dead */
	struct hsnap_thread_places pointers; /* of all threads, in order */
	struct hsnap_root_claims claims;     /* of threads, until all of them were heard */
	bool no_memory;
};

/* Add what was copied of [start, end); it is known from then on. */
void hsnap_roots_add(struct hsnap_root_finder *finder, uint64_t start, uint64_t end,
		     const struct hsnap_root_place *place);
/* The same, of memory that several threads may claim, once hsnap_roots_settle() is called.  `place->name` is borrowed. */
void hsnap_roots_claim(struct hsnap_root_finder *finder, uint64_t start, uint64_t end,
		       const struct hsnap_root_place *place);
/* Where claims overlap, the one that begins last has it: each byte becomes part of one area. */
void hsnap_roots_settle(struct hsnap_root_finder *finder);
/* The same less the regions of allocator and agent. */
void hsnap_roots_add_outside(struct hsnap_root_finder *finder, uint64_t start, uint64_t end,
			     const struct hsnap_root_place *place);
/* Known, and no root. */
void hsnap_roots_exclude(struct hsnap_root_finder *finder, uint64_t start, uint64_t end);

void hsnap_roots_of_program(struct hsnap_root_finder *finder);
void hsnap_roots_of_pools(struct hsnap_root_finder *finder);
void hsnap_roots_of_modules(struct hsnap_root_finder *finder);
void hsnap_roots_of_loader(struct hsnap_root_finder *finder);
void hsnap_roots_of_threads(struct hsnap_root_finder *finder);

#endif
