/* SPDX-License-Identifier: MIT */
/*
 * tags.h - what the program itself says its blocks are, by heapsnap.h.
 *
 * A tag is a text; which type it means is found out by its spelling, as for classes (spelling.h).  What no type is called
 * is a name all the same.
 */
#ifndef HSNAP_CAPTURE_NAMING_TAGS_H
#define HSNAP_CAPTURE_NAMING_TAGS_H

#include "capture/alloc/heap.h"
#include "capture/symbols/symbols.h"
#include "snapshot/base/error.h"
#include "snapshot/base/vec.h"

struct hsnap_work;

/* What one of the heap's tags may mean. */
struct hsnap_meaning {
	uint32_t first, num; /* into types */
	bool run;            /* it says itself that it is an array */
	uint32_t vetoed;     /* blocks that are too small for it */
};

/* Zeroed storage is valid. */
struct hsnap_tags {
	struct hsnap_vec(struct hsnap_meaning) meanings; /* one a tag of the heap; none: it has no tags */
	struct hsnap_vec(hsnap_dtype_id) types;
};

void hsnap_tags_deinit(struct hsnap_tags *tags);

/* Words that debug info is to be asked for, since tags may be typedefs: appended to *words, their texts to *texts.
 * false: out of memory. */
struct hsnap_tag_words hsnap_vec_body(const char *);
bool hsnap_tags_words(const struct hsnap_heap *heap, struct hsnap_strings *texts, struct hsnap_tag_words *words);

/**
 * Find out what the heap's tags mean.  Names that no type has are added to the types of symbols, as INCOMPLETE ones, and
 * pointers that debug info has not: before anybody makes tables of them.
 *
 * Cost: nothing without tags; else the spelling of all types; where names must be demangled, a fork.
 */
HSNAP_CHECKED enum hsnap_code hsnap_find_tags(struct hsnap_work *work, struct hsnap_symbols *symbols, struct hsnap_error *err);

/* The header's own functions, inlined into those that call them, are nobody's call sites. */
void hsnap_hide_annotations(struct hsnap_symbols *symbols);

/* Claim the blocks that have tags; those of a type of which they have not the size are not, and are counted. */
HSNAP_CHECKED enum hsnap_code hsnap_claim_tags(struct hsnap_work *work, struct hsnap_error *err);

#endif
