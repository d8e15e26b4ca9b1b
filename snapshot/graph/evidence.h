/* SPDX-License-Identifier: MIT */
/*
 * evidence.h - who says what a block is.
 *
 * A number of this list stands beside each block in a snapshot (FORMAT.md), so that
 * its name can be explained; how claims are found and weighed is capture/naming's.
 */
#ifndef HSNAP_SNAPSHOT_GRAPH_EVIDENCE_H
#define HSNAP_SNAPSHOT_GRAPH_EVIDENCE_H

#include "snapshot/graph/graph.h"

/* From weakest to strongest: a greater one is believed before a lesser one. */
enum hsnap_evidence {
	HSNAP_EVIDENCE_NONE,
	HSNAP_EVIDENCE_TOLD,      /* a pointer to bytes at its call site: a description */
	HSNAP_EVIDENCE_KEPT,      /* the same, and none of the call site's blocks holds a pointer */
	HSNAP_EVIDENCE_GUESS,     /* a run of what has no pointers: nothing but the size bears it */
	HSNAP_EVIDENCE_RUN,       /* as POINTER, but of several objects, all of which look like it */
	HSNAP_EVIDENCE_CONSENSUS, /* what nearly all blocks of its call site are */
	HSNAP_EVIDENCE_LANDING,   /* what one owner's void pointers lead to, all blocks together */
	HSNAP_EVIDENCE_INTRUSIVE, /* a list's node stands at the same offset in all of them: container_of */
	HSNAP_EVIDENCE_ALIAS,     /* an opaque handle that the program's code turns into this type */
	HSNAP_EVIDENCE_FOLLOWED,  /* as POINTER or CONTAINER, but from a place whose own name is inferred */
	HSNAP_EVIDENCE_POINTER,   /* a typed pointer from a typed place, and the size fits */
	HSNAP_EVIDENCE_CONTAINER, /* a library container's node or body */
	HSNAP_EVIDENCE_SITE,      /* the variable at the call site, and its size is the one asked for */
	HSNAP_EVIDENCE_CONTROL,   /* an in-place control block of shared_ptr, with its object */
	HSNAP_EVIDENCE_VTABLE,    /* its own vtable pointer, and the size fits */
	HSNAP_EVIDENCE_TAG,       /* the program's tag (heapsnap.h), or a run-time type tag */
	HSNAP_EVIDENCE_USER,      /* the user's --types file */
	HSNAP_NUM_EVIDENCE,
};

/* What became of a claim that did not win. */
enum hsnap_verdict {
	HSNAP_VERDICT_LOST, /* to one with stronger evidence, or to one that came first or begins with it */
	HSNAP_VERDICT_SIZE, /* no object of the type, nor a run of them, fills the block */
	HSNAP_VERDICT_LOOK, /* its words are not what the type says they are: of runs and bytes */
	HSNAP_NUM_VERDICTS,
};

/* A claim besides the one that won. */
struct hsnap_other {
	hsnap_type_id type;
	uint8_t evidence, verdict; /* enum hsnap_evidence, enum hsnap_verdict */
};

/* What the name of a block rests on; most blocks share theirs with many. */
struct hsnap_grounds {
	uint8_t evidence;      /* enum hsnap_evidence */
	uint8_t conflicts;     /* other claims of equal evidence that contradict it; 255 = that or more */
	bool more;             /* there were others than are kept */
	uint32_t first_other, num_others; /* into others */
	hsnap_string rule;     /* of the user's file, "lua5.4:12", where it says so; "" */
};

#define HSNAP_MAX_GROUNDS 65536u /* so many different ones are kept: graph.grounds has 16 bits */

/* How sure a name is that rests on nothing else, and is not contested. */
enum hsnap_confidence hsnap_evidence_confidence(enum hsnap_evidence evidence);

/* One word, as in JSON: "pointer", "vtable" …; "none" for a value out of range. */
const char *hsnap_evidence_name(enum hsnap_evidence evidence);

/* What people read: "a declared pointer leads to it". */
const char *hsnap_evidence_words(enum hsnap_evidence evidence);

#endif
