/* SPDX-License-Identifier: MIT */
/* reader.h - the parts of the reader of an agent's heap. */
#ifndef HSNAP_CAPTURE_ALLOC_AGENT_READER_H
#define HSNAP_CAPTURE_ALLOC_AGENT_READER_H

#include "capture/alloc/alloc.h"
#include "capture/alloc/window.h"
#include "capture/wire.h"

/* A block that stands in the agent's table. */
struct large {
	uint64_t address, requested;
	uint32_t site;
	uint16_t epoch;
	bool mapped;         /* a mapping of its own; else only its slack is large */
	uint64_t start, end; /* of its chunk, where mapped */
};

enum span_kind {
	SPAN_BRK,   /* the brk area: chunks from its start to its end */
	SPAN_HEAP,  /* the chunks of a heap of another arena, to its end */
	SPAN_PIECE, /* somewhere in here are pieces of the main arena */
	SPAN_LARGE,
};

/* Where chunks are looked for. */
struct span {
	uint64_t start, end;
	enum span_kind kind;
	const struct large *large;
	uint64_t arena; /* SPAN_HEAP: address of its state; 0: the main one */
};

/* A chunk in use by its neighbour's tag whose last word tells nothing: see settle() in walk.c. */
struct unknown {
	uint64_t address, usable;
	uint64_t first, second; /* its first two words */
	uint32_t arena;
	uint64_t end_word, place; /* of its last word */
	bool hit;                 /* that may be a record whose first byte was written over */
};

struct reader {
	const struct hsnap_target *target;
	struct hsnap_wire_directory dir;
	uint64_t dir_address;
	struct hsnap_heap *heap; /* blocks carry sites in `stack` until the end */
	struct hsnap_vec(struct large) large; /* in order of address */
	struct hsnap_vec(struct span) spans;  /* in order of address, disjoint */
	struct hsnap_vec(struct unknown) unknown;
	const uint64_t *piece_bits; /* NULL: no pieces */
	uint64_t *piece_copy;       /* NULL: they are looked at where they lie */
	struct hsnap_window window; /* where the last look was */
	/* Candidates for the mark that glibc puts in the second word of each chunk in a tcache. */
	uint64_t cache_mark, cache_votes;
	/* Blocks with a record that look free to glibc, and freed ones that do not: signs of what passed the agent by. */
	uint64_t doubtful_live, doubtful_freed;
	uint64_t past; /* blocks that were found out to have been freed, or made, behind the agent's back */
	uint64_t lost; /* blocks whose own head was written over */
	uint64_t recorded, recorded_bytes; /* live blocks with a record that is whole, or nearly; requested */
	uint32_t main_arena; /* index into heap->arenas */
	uint64_t steps;      /* left to try where chunks begin: a hostile heap leads on and on from everywhere */
	uint64_t registry_gone; /* blocks of the registry where there is no such memory */
	uint64_t registry_twice; /* … where there is another one */
	bool rooms_used; /* what is behind the blocks of another allocator, to the end of its class of sizes, may be in use */
	uint64_t large_gone; /* large blocks on record where there is no such memory */
};

/* Find and check the directory. */
HSNAP_CHECKED enum hsnap_code hsnap_reader_find(struct reader *reader, struct hsnap_error *err);
/* Fill large and spans. */
HSNAP_CHECKED enum hsnap_code hsnap_reader_spans(struct reader *reader, struct hsnap_error *err);
/* Fill heap->arenas, which a main one is always in; false: out of memory. */
HSNAP_CHECKED bool hsnap_reader_arenas(struct reader *reader);
/* Index of a span's arena. */
uint32_t hsnap_reader_arena_of(const struct reader *reader, const struct span *span);
/* Walk all spans into heap->blocks and heap->regions. */
HSNAP_CHECKED enum hsnap_code hsnap_reader_walk(struct reader *reader, struct hsnap_error *err);
/* Of a process on another allocator than glibc's: the registry into heap->blocks, and that allocator's
 * memory into heap->regions. */
HSNAP_CHECKED enum hsnap_code hsnap_reader_registry(struct reader *reader, struct hsnap_error *err);
/* Put what is the agent's own in the regions, and these in order; false: out of memory. */
HSNAP_CHECKED bool hsnap_reader_own(struct reader *reader);
/* Blocks and free chunks in order of address. */
void hsnap_reader_sort(struct hsnap_heap *heap);
/* Ask glibc's own bookkeeping about what passed the agent by, where there are more signs of that than `in_flight` threads
 * leave: see past.c. */
HSNAP_CHECKED enum hsnap_code hsnap_reader_past(struct reader *reader, uint64_t in_flight, struct hsnap_error *err);
/* Put the objects of pools in the place of the blocks that they lie in, and fill what heap says of pools and of named
 * roots.  After the walk, before the sites. */
HSNAP_CHECKED enum hsnap_code hsnap_reader_pools(struct reader *reader, struct hsnap_error *err);
/* Turn the sites of the blocks into stacks. */
HSNAP_CHECKED enum hsnap_code hsnap_reader_sites(struct reader *reader, struct hsnap_error *err);

/* An entry of the registry, or of a list of an arena's objects. */
struct entry {
	uint64_t address, requested;
	uint32_t site;
	uint16_t epoch; /* as the agent has it */
	uint8_t state;  /* enum hsnap_wire_entry: the live one is the first of an address */
};
struct entries hsnap_vec_body(struct entry);

/* entries.c: all of a kind in the registry (enum hsnap_wire_kind), in order of address. */
HSNAP_CHECKED enum hsnap_code hsnap_reader_entries(const struct reader *reader, unsigned kind, struct entries *ret,
						   struct hsnap_error *err);
struct entry hsnap_reader_entry(uint64_t word, uint64_t second);

/* asked.c: may the program know how large its blocks are? */
bool hsnap_reader_may_use_room(const struct reader *reader);

/* units.c: the words of a unit of the pool of stacks; false: there is none. */
bool hsnap_reader_unit(const struct reader *reader, uint32_t unit, uint64_t *words, size_t num);
/* The text of a unit, and its head; *ret is 0 where it is no text.  false: out of memory. */
HSNAP_CHECKED bool hsnap_reader_text(const struct reader *reader, uint32_t unit, hsnap_string *ret, uint64_t *ret_head);

/* The word at an address, through the window; false: not there. */
static inline bool hsnap_reader_word(struct reader *reader, uint64_t address, uint64_t *ret)
{
	return hsnap_window_word(&reader->window, address, ret);
}
/* As a block has it. */
static inline uint16_t hsnap_reader_epoch(unsigned epoch)
{
	uint32_t seconds = HSNAP_EPOCH_SECONDS(epoch);
	return epoch == HSNAP_EPOCH_MAX || seconds > UINT16_MAX ? UINT16_MAX : (uint16_t)seconds;
}

const struct large *hsnap_reader_large(const struct reader *reader, uint64_t address);

#endif
