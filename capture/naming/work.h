/* SPDX-License-Identifier: MIT */
/*
 * work.h - what the steps of naming share: claims, roots in the making, the order of it all.
 *
 * Private to capture/naming.
 */
#ifndef HSNAP_CAPTURE_NAMING_WORK_H
#define HSNAP_CAPTURE_NAMING_WORK_H

#include "capture/naming/classes.h"
#include "capture/naming/index.h"
#include "capture/naming/keymap.h"
#include "capture/naming/losers.h"
#include "capture/naming/memory.h"
#include "capture/naming/naming.h"
#include "capture/naming/partset.h"
#include "capture/naming/tags.h"
#include "capture/naming/types.h"
#include "capture/naming/user.h"

/* What a claim says of a block. */
enum hsnap_form {
	HSNAP_FORM_NONE,
	HSNAP_FORM_ONE,   /* one object of the type, be it with a flexible tail */
	HSNAP_FORM_RUN,   /* a run of them: T[] */
	HSNAP_FORM_BYTES, /* a run of bytes or scalars of the type, told apart by their holder */
};

struct hsnap_claim {
	hsnap_dtype_id type;
	uint32_t holder;   /* index into holders: the pointer that leads here; 0 = none */
	uint8_t form : 2;      /* enum hsnap_form */
	uint8_t evidence : 5;  /* enum hsnap_evidence */
	uint8_t live_only : 1; /* a container's body: see bodies */
	uint8_t conflicts;     /* claims of equal evidence that say otherwise; stays at 255 */
	uint16_t others;       /* which claims lost: a set of losers */
};
_Static_assert(sizeof(struct hsnap_claim) == 12, "one a block: every byte counts");

/* A container's body: what is before `first` bytes and beyond `live` ones is dead capacity. */
struct hsnap_body {
	uint32_t block;
	bool unproved; /* that they are dead is not: they may still hold something, weakly */
	uint64_t first, live;
};

/* A block that has the name of an object, and is an array of pointers: see refuted.c. */
struct hsnap_stale {
	uint32_t block;
	hsnap_dtype_id pointer; /* type of its elements; 0: not of all its words */
};

/* A block that is a pool: objects of one type at places of one distance.  See pools.h. */
struct hsnap_slab {
	uint32_t block;
	hsnap_dtype_id type;
	uint64_t first, stride; /* bytes from the start of the block's object; stride > 0 */
	uint64_t size;          /* of an object, at most stride */
	uint32_t num;           /* places */
	uint32_t num_items;     /* of them: where an object is seen */
	uint32_t first_item;    /* number of its first among the objects of all slabs */
	uint8_t evidence;       /* enum hsnap_evidence */
	uint64_t *items;        /* bit p: there is one at place p */
	uint32_t *ranks;        /* objects before place 64 n */
};

enum hsnap_holder_kind {
	HSNAP_HOLDER_NONE,
	HSNAP_HOLDER_MEMBER,   /* the member of type a at offset b */
	HSNAP_HOLDER_VARIABLE, /* the variable of segment a, at offset b */
	HSNAP_HOLDER_ELEMENT,  /* an element of the array that holder a leads to, at offset b */
};

struct hsnap_holder {
	uint32_t kind, a;
	uint64_t b;
	bool bytes;  /* the pointer there is one to bytes or scalars, not to void */
	bool inside; /* it leads past a header at the block's start */
};

/* The storage of a container within a type. */
struct hsnap_storage {
	uint64_t at;         /* where the container begins */
	uint64_t start, end; /* its storage */
	uint32_t container;  /* index into the plans' containers */
};

/* Which words of a type hold declared pointers, and which can hold none. */
struct hsnap_layout {
	uint64_t size;      /* of the type, > 0 */
	uint64_t *strong;   /* bit w: word w of the type; NULL: none */
	uint64_t *aligned;  /* likewise: of those, the ones to something that lies at multiples of 8 */
	uint64_t *possible; /* likewise: not just small numbers and what lies between them; NULL: all */
	struct hsnap_vec(uint32_t) packed; /* offsets of declared pointers that need not stand at whole words */
	struct hsnap_vec(struct hsnap_storage) regions; /* in order of start; what they hold is told object by object */
	uint64_t tail_offset;     /* flexible types: where the tail begins */
	hsnap_dtype_id tail;      /* what its elements are; 0 = no tail */
};

/* An edge of a root in the making: to a block, not to a node. */
struct hsnap_half_edge {
	uint32_t block; /* | HSNAP_EDGE_WEAK; from num_blocks on: the objects of all slabs */
	uint32_t offset;
};

/* A stretch of memory, or a value, that becomes a root if it has edges. */
struct hsnap_segment {
	uint64_t address, size; /* size 0: a value */
	uint64_t value;
	hsnap_dtype_id type;    /* of the variable there; 0 = nothing is known */
	hsnap_dtype_id whole;   /* there is only an object of it, which lies `into` bytes within this, the variable's type; 0: all */
	uint64_t into;
	uint32_t variable;      /* 1 + index into symbols->variables, whose names the root gets later; 0 = none */
	struct hsnap_root root;
	uint64_t first_edge, num_edges; /* into root_edges */
};

/* The type that `into` and names of members count from. */
static inline hsnap_dtype_id hsnap_segment_whole(const struct hsnap_segment *segment)
{
	return segment->whole ? segment->whole : segment->type;
}

struct hsnap_work {
	const struct hsnap_target *target;
	const struct hsnap_heap *heap;
	const struct hsnap_roots *roots;
	const struct hsnap_symbols *symbols; /* may be NULL */
	struct hsnap_snapshot *snapshot;
	const struct hsnap_naming_watch *watch; /* may be NULL */
	struct hsnap_block_index index;
	uint32_t num_blocks;
	uint8_t *headers;                                    /* one a block: bytes in front of its object; NULL: nowhere any */
	struct hsnap_claim *claims;                          /* one a block */
	struct hsnap_vec(struct hsnap_body) bodies;          /* of the claims that are live_only */
	uint32_t *body_of;                                   /* one a block: 1 + index into bodies, or 0 */
	struct hsnap_losers losers;                          /* of claims */
	struct hsnap_keymap larger;                          /* {type, room} → 1 + whether hsnap_may_be_larger() */
	struct hsnap_keymap heads;                           /* addresses of rings' heads that are starts of blocks */
	uint64_t *linked;                                    /* a bit a block: a node whose value is alive, says its container */
	uint64_t *as_bytes;                                  /* a bit a block: a place that lasts has a pointer to it that says nothing */
	uint64_t *as_text;                                   /* likewise: one to bytes, who is sure */
	uint64_t *undecided;                                 /* likewise: an object or bytes, and nothing tells */
	uint64_t *as_run;                                    /* likewise: one to objects of which there are several, and to the first */
	struct hsnap_parts parts;                            /* typed places in blocks without a name, or beyond what their name says */
	struct hsnap_vec(struct hsnap_stale) stale;          /* what doubt.c is to rename */
	struct hsnap_vec(struct hsnap_slab) declared;        /* pools by hand */
	struct hsnap_keymap declared_blocks;                 /* {block, 0}: it is one of them */
	struct hsnap_vec(struct hsnap_slab) slabs;           /* all pools, in order of block */
	uint64_t *is_slab;                                   /* bit b: block b is one; NULL: none is */
	uint32_t num_items;                                  /* objects in all slabs */
	struct hsnap_plans plans;                            /* of the types of symbols */
	struct hsnap_user *user;                             /* what the user says; NULL: nothing */
	hsnap_dtype_id *aliases;                             /* one a type: what an opaque one is, or 0; NULL without symbols */
	struct hsnap_vec(struct hsnap_holder) holders;       /* [0] none */
	struct hsnap_vec(struct hsnap_segment) segments;     /* in the order in which they become roots */
	struct hsnap_vec(struct hsnap_half_edge) root_edges; /* of segments, one after the other */
	struct hsnap_layout *layouts;                        /* one a type of symbols; NULL without */
	struct hsnap_classes classes;                        /* of the vtable pointers in the heap */
	struct hsnap_tags tags;                              /* what the program says itself */
};

/**
 * classes.c: find the vtable pointers in the heap and their classes.  Those that no debug info defines are added to
 * the types of symbols, as INCOMPLETE ones with their name alone: before anybody makes tables of them.
 *
 * Cost: the first words of all blocks (headers must be known); of each pointer once its vtable; where names must be demangled, a fork.
 */
HSNAP_CHECKED enum hsnap_code hsnap_find_classes(struct hsnap_work *work, struct hsnap_symbols *symbols,
						 struct hsnap_error *err);

/* roots.c: fill segments: variables, the rest of the areas, frames, values. */
HSNAP_CHECKED enum hsnap_code hsnap_find_segments(struct hsnap_work *work, struct hsnap_error *err);
/* Give the segments that are left their variables' names: most variables hold nothing. */
HSNAP_CHECKED enum hsnap_code hsnap_name_segments(struct hsnap_work *work, struct hsnap_error *err);

/* The bytes that the program may use as it understands them. */
static inline uint64_t hsnap_block_size(const struct hsnap_block *block)
{
	return block->requested < block->usable ? block->requested : block->usable;
}

/* What a malloc of the program's own keeps in front of the block's object. */
static inline uint64_t hsnap_header(const struct hsnap_work *work, uint32_t b)
{
	return work->headers ? work->headers[b] : 0;
}

/* Where the object of a block begins, and the bytes from there on. */
static inline uint64_t hsnap_object_start(const struct hsnap_work *work, uint32_t b)
{
	return work->heap->blocks.items[b].address + hsnap_header(work, b);
}

static inline uint64_t hsnap_object_room(const struct hsnap_work *work, uint32_t b)
{
	uint64_t size = hsnap_block_size(&work->heap->blocks.items[b]), header = hsnap_header(work, b);
	return size > header ? size - header : 0;
}

/* Has the block's object room for so many bytes from an address on?  No for what lies before it. */
static inline bool hsnap_has_room(const struct hsnap_work *work, uint32_t b, uint64_t address, uint64_t size)
{
	uint64_t start = hsnap_object_start(work, b), room = hsnap_object_room(work, b);
	return address >= start && size <= room && address - start <= room - size;
}

/* The block whose object begins at the address, or HSNAP_NO_BLOCK.  *hint as in hsnap_block_index_find(). */
static inline uint32_t hsnap_block_at(const struct hsnap_work *work, uint64_t address, uint32_t *hint)
{
	uint32_t b = hsnap_block_index_find(&work->index, address, hint);
	return b != HSNAP_NO_BLOCK && hsnap_object_start(work, b) == address ? b : HSNAP_NO_BLOCK;
}

/* Where the bytes of the object end that are in use; all that the program asked for, but for a container's body. */
static inline uint64_t hsnap_live_bytes(const struct hsnap_work *work, uint32_t b)
{
	return work->claims[b].live_only ? work->bodies.items[work->body_of[b] - 1].live : hsnap_object_room(work, b);
}

/* Where they begin in the block. */
static inline uint64_t hsnap_live_first(const struct hsnap_work *work, uint32_t b)
{
	return work->claims[b].live_only ? work->bodies.items[work->body_of[b] - 1].first : 0;
}

/* Is it a ring's head, and no node of it? */
static inline bool hsnap_is_head(const struct hsnap_work *work, uint64_t address)
{
	return work->heads.table && hsnap_keymap_get(&work->heads, (struct hsnap_key){ address, 0 });
}

/* Does a container lead to the block as to a node whose value is alive? */
static inline bool hsnap_is_linked(const struct hsnap_work *work, uint64_t address)
{
	uint32_t hint = 0, b = hsnap_block_at(work, address, &hint);
	return b != HSNAP_NO_BLOCK && work->linked[b / 64] >> (b % 64) & 1;
}

/* layouts.c: bitmaps of the types that claims and segments have. */
HSNAP_CHECKED enum hsnap_code hsnap_make_layouts(struct hsnap_work *work, struct hsnap_error *err);

/* scan.c */
/* Give the reader the longest stretch from block `first` on, before `last`, that lies in one piece. */
void hsnap_open_window(const struct hsnap_work *work, struct hsnap_window *reader, uint32_t first, uint32_t last);
/* Blocks are read one after the other, and block `b` is next: open the window for as many as can be, and fetch one that
 * comes soon.  Half of the time of a walk is waiting for its blocks' first lines. */
void hsnap_fetch_ahead(const struct hsnap_work *work, struct hsnap_window *reader, uint32_t b);
/* Fill root_edges and drop the segments that have none. */
HSNAP_CHECKED enum hsnap_code hsnap_scan_roots(struct hsnap_work *work, struct hsnap_error *err);
/* Make the nodes of the graph and its edges.  The copy of the target's memory is given back meanwhile:
 * nothing can be read from it any more. */
HSNAP_CHECKED enum hsnap_code hsnap_scan_blocks(struct hsnap_work *work, struct hsnap_error *err);

/* nodes.c: roots first, then blocks; types come later. */
HSNAP_CHECKED enum hsnap_code hsnap_make_nodes(struct hsnap_work *work, struct hsnap_error *err);

/* labels.c: types of all blocks, labels where they have none. */
HSNAP_CHECKED enum hsnap_code hsnap_assign_types(struct hsnap_work *work, struct hsnap_error *err);

const char *hsnap_last_part(const char *path);

/* stacks.c: modules, stacks and frames of the snapshot; same indices as in target and heap. */
HSNAP_CHECKED enum hsnap_code hsnap_copy_modules(struct hsnap_work *work, struct hsnap_error *err);
HSNAP_CHECKED enum hsnap_code hsnap_copy_stacks(struct hsnap_work *work, struct hsnap_error *err);
/* The frame that a label names: the innermost that is no wrapper and no library's own; NULL: none. */
const struct hsnap_frame *hsnap_label_frame(const struct hsnap_work *work, uint32_t stack);

/* Is the size that was asked for known? */
static inline bool hsnap_is_requested(const struct hsnap_work *work, const struct hsnap_block *block)
{
	return work->heap->requested_known && !(block->flags & HSNAP_BLOCK_NO_RECORD);
}

/* A part of the work begins. */
static inline void hsnap_naming_begin(const struct hsnap_work *work, const char *part)
{
	if (work->watch)
		work->watch->begin(work->watch->context, part);
}

static inline enum hsnap_code hsnap_no_memory(struct hsnap_error *err)
{
	return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory while naming the blocks");
}

#endif
