/* SPDX-License-Identifier: MIT */
/*
 * push.h - types on their way along declared pointers: what push.c shares with pointers.c, waiting.c, parts.c,
 * ruled.c and rounds.c, and nobody else.
 *
 * Blocks are numbers as everywhere in capture/naming, types those of work->symbols.  What cannot be kept makes
 * push->failed true, and the walk ends early.
 */
#ifndef HSNAP_CAPTURE_NAMING_PUSH_H
#define HSNAP_CAPTURE_NAMING_PUSH_H

#include "capture/naming/claims.h"
#include "capture/naming/inferred.h"
#include "capture/naming/looks.h"
#include "capture/naming/walk.h"

/* What a block has been seen with; of the first ones most blocks have one at most. */
enum { HSNAP_SEEN_SURE_POINTER, HSNAP_SEEN_RUN, HSNAP_NUM_FIRST, HSNAP_SEEN_POINTER = HSNAP_NUM_FIRST };

/* A block that a pointer to pointers, or to structs around one pointer, leads to. */
struct waiting {
	uint32_t block;
	hsnap_dtype_id pointer; /* type of its elements */
	bool sure;              /* who leads there is */
	uint64_t at;            /* where that stands, or 0 */
};

/* A block that has 16 bytes more than an object of the type that a pointer to it says. */
struct odd {
	uint32_t block;
	hsnap_dtype_id type;
	bool sure; /* who leads there is */
};

/* One a type: pointers to it that led to blocks of its size, and to others. */
struct fits {
	uint32_t good, bad;
};

/* A block that an opaque handle leads to, and what it is. */
struct handle {
	uint32_t block;
	hsnap_dtype_id type;
};

struct push {
	struct hsnap_work *work;
	struct hsnap_walk walk;
	struct hsnap_window counts; /* of new[]: the walk's own window stays where it is */
	struct hsnap_looks looks;   /* of the elements of arrays */
	uint32_t hint;
	bool sure; /* the place that is walked is known and not only inferred */
	bool in_frame;        /* it is a variable of a function's, and soon gone */
	hsnap_dtype_id place; /* or it is an object, or a run of them; 0: a variable */
	bool keeps;           /* the pointer that is seen is such that an array's owner has; see pools.h */
	struct hsnap_vec(uint32_t) queue, doubtful;
	struct hsnap_vec(struct waiting) waiting;
	size_t waited, doubted;    /* of them: sure ones and doubtful ones that had their turn */
	struct hsnap_vec(struct handle) handles;
	size_t handled, walked;    /* of handles, and of work->parts */
	struct hsnap_vec(uint32_t) again; /* parts that were walked, and are sure only since */
	size_t declared;           /* of work->declared: those that are parts */
	bool *inside;              /* one a type: objects of it lie within blocks, so no block is one */
	struct hsnap_vec(struct odd) odd;
	size_t taken;             /* of odd: those that had their turn */
	struct fits *fits;        /* one a type */
	struct hsnap_inners inners;
	/* Which element a block has waited with, which run it was checked for: the first of each in a
	 * column, since most blocks have one at most; more of them in the map, {block, what; type}. */
	hsnap_dtype_id *first[HSNAP_NUM_FIRST];
	struct hsnap_keymap more;
	bool failed; /* out of memory */
};

static inline bool hsnap_push_is_sure(const struct push *push, uint32_t b)
{
	return hsnap_claim_is_sure(&push->work->claims[b]);
}

/* What a place that is walked says, by how well it is known itself. */
static inline enum hsnap_evidence hsnap_push_evidence(const struct push *push, enum hsnap_evidence evidence)
{
	return push->sure ? evidence : HSNAP_EVIDENCE_FOLLOWED;
}

/* push.c */
/* What it leads to is to be seen, or seen again. */
void hsnap_push_enqueue(struct push *push, uint32_t b);
/* As hsnap_claim_block(); what comes of it is put on the work list. */
void hsnap_push_claim(struct push *push, uint32_t b, hsnap_dtype_id type, enum hsnap_form form,
		      enum hsnap_evidence evidence);
/* Has it been asked before, for this block and type?  From now on it has.  what: HSNAP_SEEN_… */
bool hsnap_push_seen_before(struct push *push, uint32_t b, int what, hsnap_dtype_id type);
void hsnap_push_walk_block(struct push *push, uint32_t b);
/* Walk all that is on the work list, and what comes onto it. */
void hsnap_push_drain(struct push *push);
/* All that the queues and what they lead to have to say; opaque handles when all else is said. */
void hsnap_push_settle(struct push *push);

/* pointers.c */
/* The visitor of the walk. */
void hsnap_push_visit(void *context, const struct hsnap_found *found);
/* A pointer to one object or a run of them, which stands at an address or none; an array type stands for its elements. */
void hsnap_push_pointer(struct push *push, uint32_t b, hsnap_dtype_id type, uint64_t at, enum hsnap_evidence evidence);
/* Is it where the block's object begins?  A declared pointer to the very block shows that this one has no header. */
bool hsnap_push_is_start(struct hsnap_work *work, uint32_t b, uint64_t value);
/* Remember a pointer to what is a member of the object of a block without a name: see hsnap_find_outer(). */
void hsnap_push_note_inner(struct push *push, uint32_t b, const struct hsnap_found *found);

/* waiting.c */
void hsnap_push_wait(struct push *push, uint32_t b, hsnap_dtype_id pointer, uint64_t at);
void hsnap_push_take_waiting(struct push *push);
void hsnap_push_note_odd(struct push *push, uint32_t b, hsnap_dtype_id type);
void hsnap_push_take_odd(struct push *push);

/* parts.c */
/* Remember an object at an address within a block; what cannot be one is not. */
void hsnap_push_note_part(struct push *push, uint32_t b, hsnap_dtype_id type, uint64_t address);
/* Objects in blocks that have no name by now: their pointers are declared as well. */
void hsnap_push_walk_parts(struct push *push);
/* The snapshot is partial where there were more of them than are kept. */
HSNAP_CHECKED enum hsnap_code hsnap_push_say_what_was_cut(const struct push *push, struct hsnap_error *err);

/* ruled.c: what a rule of the user's leads to. */
void hsnap_push_user(struct push *push, uint32_t b, const struct hsnap_found *found);

/* rounds.c: each settles what it has found. */
HSNAP_CHECKED enum hsnap_code hsnap_push_take_owned(struct push *push, struct hsnap_error *err);
/* What the user says of any block, where nothing sure is said of it. */
void hsnap_push_take_any(struct push *push);
HSNAP_CHECKED enum hsnap_code hsnap_push_infer(struct push *push, struct hsnap_error *err);
HSNAP_CHECKED enum hsnap_code hsnap_push_take_landings(struct push *push, struct hsnap_error *err);
HSNAP_CHECKED enum hsnap_code hsnap_push_take_arrays(struct push *push, struct hsnap_error *err);

#endif
