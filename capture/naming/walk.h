/* SPDX-License-Identifier: MIT */
/*
 * walk.h - every declared pointer of an object, with its value.
 *
 * Private to capture/naming.  What a container declares as bytes is walked as
 * what it is; its dead capacity is not walked.
 */
#ifndef HSNAP_CAPTURE_NAMING_WALK_H
#define HSNAP_CAPTURE_NAMING_WALK_H

#include "capture/naming/types.h"
#include "capture/naming/work.h"

struct hsnap_found {
	uint64_t offset;     /* of the pointer, from the start of its object, or of its element in a run */
	uint64_t value;      /* never 0; NODE: the start of the node */
	uint64_t at;         /* where it stands; 0: in no memory, or a container's */
	uint64_t first, live; /* BODY: bytes in use lie from value + first to value + live */
	hsnap_dtype_id type; /* POINTER, NODE: what it points to; else: of the elements */
	uint8_t kind;        /* POINTER, NODE, ARRAY or BODY */
	bool in_array;       /* it stands in an array within its object */
	bool linked;         /* NODE: with a value that is alive, which only its container knows */
	/* USER: what leads there is the rule `rule` (of bounds); objects of `type` begin at value: one, in a block
	 * that has so many bytes before it, or (`run`) as many as `live` bytes are, 0: as there is room for. */
	uint32_t rule;
	uint64_t extra; /* bytes behind the one object */
	uint64_t step, from; /* a pool's objects: from each to the next, 0: it is none; and to the first */
	uint8_t header;
	bool run;
};

struct hsnap_walk {
	struct hsnap_work *work;
	struct hsnap_window reader;
	uint32_t owners; /* whose the object is: a bit for each of bounds' owners */
	bool seeing_owned; /* what is found is what `owner` leads to: for see_owned */
	uint32_t owner;
	uint64_t budget; /* containers that one object may have: hostile types hold more than they have room for */
	void (*visit)(void *context, const struct hsnap_found *found);
	/* Called for what a place leads to that is an owner (a bit); NULL: nobody asks. */
	void (*see_owned)(void *context, const struct hsnap_found *found, uint32_t owner);
	void *context;
};

void hsnap_walk_init(struct hsnap_walk *walk, struct hsnap_work *work,
		     void (*visit)(void *context, const struct hsnap_found *found), void *context);

/* The object of a type at an address; nothing at or beyond `end` is read. */
void hsnap_walk_object(struct hsnap_walk *walk, hsnap_dtype_id type, uint64_t address, uint64_t end);
/* A block as its claim says. */
void hsnap_walk_block(struct hsnap_walk *walk, uint32_t block);
/* The same, of blocks one after the other: what comes soon is fetched early. */
void hsnap_walk_next(struct hsnap_walk *walk, uint32_t block);
/* A variable. */
void hsnap_walk_segment(struct hsnap_walk *walk, const struct hsnap_segment *segment);

#endif
