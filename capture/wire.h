/* SPDX-License-Identifier: MIT */
/*
 * wire.h - what the agent keeps in its process, and whoever reads it finds.
 *
 * The agent writes these structures in its own memory, the reader (capture/alloc/agent)
 * takes them out of a frozen copy.  No pointers: addresses are uint64_t, so the layout is
 * the same on both sides.  A change of layout raises HSNAP_WIRE_VERSION.
 *
 * On glibc every block that is not a mapping of its own ends in a trailer of eight bytes,
 * the last of its usable bytes.  Blocks that are a mapping of their own (and the rare one
 * whose slack does not fit) stand in the table of large blocks instead, exact and without a
 * page touched.  The program sees eight usable bytes less and the same addresses.
 */
#ifndef HSNAP_CAPTURE_WIRE_H
#define HSNAP_CAPTURE_WIRE_H

#include <stdint.h>

#define HSNAP_WIRE_VERSION 2u
#define HSNAP_WIRE_MAGIC 0x31746e6567617368ull /* "hsagent1" */
#define HSNAP_WIRE_SYMBOL "hsnap_agent_directory"
#define HSNAP_WIRE_SONAME "libheapsnap-agent.so"
#define HSNAP_WIRE_NAME "libheapsnap-agent" /* how its file's name begins, whatever its folder */

/* How `run` tells the agent what was asked for: environment variables. */
#define HSNAP_WIRE_ENV_STACKS "HEAPSNAP_STACKS"     /* auto, fp, unwind, caller */
#define HSNAP_WIRE_ENV_CHILDREN "HEAPSNAP_CHILDREN" /* yes, no */

/* ---- the trailer ---------------------------------------------------------------------
 *
 * check 20 | state 2 | slack 6 | epoch 12 | site 24, low bits first.  The check comes first
 * in memory: a string written one byte too far damages eight bits of it and nothing else, so
 * the record can still be read (12 bits of the check hold) and the block is called overrun.
 */
#define HSNAP_TRAILER_SIZE 8u
#define HSNAP_TRAILER_CHECK_MASK 0xfffffull
#define HSNAP_TRAILER_HIT_BYTE 0xffull /* the part of the check that one byte too many damages */
#define HSNAP_TRAILER_STATE_SHIFT 20
#define HSNAP_TRAILER_SLACK_SHIFT 22
#define HSNAP_TRAILER_EPOCH_SHIFT 28
#define HSNAP_TRAILER_SITE_SHIFT 40

enum hsnap_wire_state {
	HSNAP_WIRE_NONE = 0,
	HSNAP_WIRE_LIVE = 1,
	HSNAP_WIRE_FREED = 2,
	HSNAP_WIRE_TAGGED = 3, /* live, and the program has named its type: see heapsnap.h */
};

#define HSNAP_TRAILER_STATE(word) ((unsigned)((word) >> HSNAP_TRAILER_STATE_SHIFT) & 3u)
/* usable size less eight less requested size; HSNAP_SLACK_LARGE: look in the large table. */
#define HSNAP_TRAILER_SLACK(word) ((unsigned)((word) >> HSNAP_TRAILER_SLACK_SHIFT) & 63u)
#define HSNAP_TRAILER_EPOCH(word) ((unsigned)((word) >> HSNAP_TRAILER_EPOCH_SHIFT) & 0xfffu)
#define HSNAP_TRAILER_SITE(word) ((uint32_t)((word) >> HSNAP_TRAILER_SITE_SHIFT))
#define HSNAP_SLACK_LARGE 63u
#define HSNAP_MAX_SITE 0xffffffu

/*
 * The check of a trailer: `rest` is the word with its check bits zero, `place` the address of
 * the trailer itself.  Keyed by place and not by block: the tail that realloc cuts off ends
 * where the old block ended, so the freed mark that was left there is the tail's own.
 */
#define HSNAP_TRAILER_CHECK(key, place, rest) \
	(((uint64_t)(rest) * 0x9e3779b97f4a7c15ull + (uint64_t)(place) * 0xc2b2ae3d27d4eb4full + (key)) >> 44)
#define HSNAP_TRAILER_REST(site, epoch, slack, state) \
	((uint64_t)(site) << HSNAP_TRAILER_SITE_SHIFT | (uint64_t)(epoch) << HSNAP_TRAILER_EPOCH_SHIFT | \
	 (uint64_t)(slack) << HSNAP_TRAILER_SLACK_SHIFT | (uint64_t)(state) << HSNAP_TRAILER_STATE_SHIFT)
#define HSNAP_TRAILER_VALID(key, place, word) \
	(((word) & HSNAP_TRAILER_CHECK_MASK) == \
	 HSNAP_TRAILER_CHECK(key, place, (word) & ~HSNAP_TRAILER_CHECK_MASK))

/*
 * An epoch is 12 bits: seconds since the agent began, plus one (0 = unknown), as a number with
 * 9 bits of mantissa and 3 of exponent: exact below 512, then in steps of 1, 2 … 64 s, to
 * 65,472 s; the greatest value is "that or later".
 */
#define HSNAP_EPOCH_SECONDS(e) \
	((e) < 512u ? (uint32_t)(e) : (uint32_t)(512u + ((e) & 511u)) << (((e) >> 9) - 1u))
#define HSNAP_EPOCH_MAX 0xfffu

/* ---- stacks --------------------------------------------------------------------------
 *
 * A site is the number of a unit of eight words in the pool of stacks.  The first word is the
 * head, program counters (return addresses, innermost first) follow, over as many units as
 * they need; a record never crosses a segment.  Unit 0 is not used: site 0 is "unknown".
 */
#define HSNAP_WIRE_MAX_DEPTH 16u
#define HSNAP_STACK_UNIT_WORDS 8u
#define HSNAP_STACK_SEGMENT_UNITS 0x10000u /* 4 MiB */
#define HSNAP_STACK_SEGMENTS 256u          /* so 2^24 units in all */
/* head: number of program counters 8 | how many of them were found by call-frame
 * information, the first return address included 8 | unloads seen when it was made 16 | 0 */
#define HSNAP_STACK_NUM(head) ((unsigned)((head) & 0xff))
#define HSNAP_STACK_SURE(head) ((unsigned)((head) >> 8 & 0xff))
#define HSNAP_STACK_UNLOADS(head) ((unsigned)((head) >> 16 & 0xffff))
/* Other records stand between them.  A site may be that of a block which the program has tagged (heapsnap.h). */
#define HSNAP_UNIT_TEXT 0xffu   /* head: this 8 | bytes 16 | how it is written (enum hsnap_wire_text) 7 | cut 1; they follow */
#define HSNAP_UNIT_TAGGED 0xfeu /* head: this 8 | unit of the tag's text 24 | site of the stack, or 0: 24 */
#define HSNAP_UNIT_OBJECT 0xfdu /* head: this 8 | number of the pool 24 | site of a block, or 0: 24 */
#define HSNAP_UNIT_KIND(head) ((unsigned)((head) & 0xff))
#define HSNAP_TEXT_BYTES(head) ((unsigned)((head) >> 8 & 0xffff))
#define HSNAP_TEXT_HOW(head) ((unsigned)((head) >> 24 & 0x7f))
#define HSNAP_TEXT_IS_CUT(head) ((unsigned)((head) >> 31 & 1))
#define HSNAP_TAGGED_TEXT(head) ((uint32_t)((head) >> 8) & HSNAP_MAX_SITE)
#define HSNAP_TAGGED_SITE(head) ((uint32_t)((head) >> 32) & HSNAP_MAX_SITE)
#define HSNAP_OBJECT_POOL(head) ((uint32_t)((head) >> 8) & HSNAP_MAX_SITE)
#define HSNAP_OBJECT_SITE(head) ((uint32_t)((head) >> 32) & HSNAP_MAX_SITE)
#define HSNAP_MAX_TEXT 1023u    /* bytes */

enum hsnap_wire_text {
	HSNAP_TEXT_PLAIN,   /* as in the source */
	HSNAP_TEXT_MANGLED, /* as std::type_info::name() has it */
	HSNAP_TEXT_PRETTY,  /* "… [with T = name]" */
	HSNAP_NUM_TEXTS,
};

enum hsnap_wire_stacks {
	HSNAP_STACKS_AUTO, /* not yet decided */
	HSNAP_STACKS_CALLER,
	HSNAP_STACKS_FP,
	HSNAP_STACKS_UNWIND,
};

/* ---- counters ------------------------------------------------------------------------
 *
 * One slot a thread, written by that thread alone.  A slot is handed on when its thread ends
 * and its sums stay in it.  A block is counted after its trailer is written, and counted as
 * freed before the trailer says so: in any frozen copy, what is counted as live is there.
 *
 * `free` does not look at the trailer (that would be one more cache line to wait for), so what
 * it counts is the room of a block: usable bytes as glibc has them, less the trailer.  What was
 * asked for of the blocks that are gone is what was asked for in all less what the live ones have.
 */
struct hsnap_wire_counters {
	uint64_t allocated_bytes; /* requested */
	uint64_t allocated_count;
	uint64_t allocated_room, freed_room;
	uint64_t freed_count;
	uint64_t next_free;       /* the agent's own: list of slots without a thread */
	uint64_t reserved[2];
};
/* Room of a block, by the size in its chunk's head: 16 bytes are the head and the trailer, or, of
 * a mapping of its own, the head and the word before it. */
#define HSNAP_ROOM(head) (((head) & ~7ull) - 16u)
#define HSNAP_SLOT_SEGMENTS 16u
#define HSNAP_SLOT_FIRST 64u /* slots of segment 0; each next one has twice as many */

/* ---- large blocks --------------------------------------------------------------------
 *
 * Parallel arrays of `large_capacity` entries: address (0: empty, 1: being filled), requested
 * size, and site << 12 | epoch.  An address stands within HSNAP_LARGE_WINDOW entries of where
 * it hashes to, circularly; a reader need not care and takes them all.
 */
#define HSNAP_LARGE_WINDOW 32u
#define HSNAP_LARGE_BUSY 1u

/* ---- the registry --------------------------------------------------------------------
 *
 * Blocks that have no trailer: those of other allocators than glibc's, and objects of pools.
 * Entries of two words stand in segments of a page.  Segment 0 is there from the first entry
 * on; a full segment i splits: segment i + 2^n takes over what hashes to it, n counting up from
 * the length of i in bits.  Which ones there are, a bitmap says.  Segments whose number has
 * n bits lie in one mapping: segment i begins at registry_bases[n] + i * HSNAP_REGISTRY_SEGMENT.
 *
 * word 0: requested size's upper bit | epoch 12 | kind 2 | state 2 | address 47, low bits last;
 *         0: empty, 1: being filled
 * word 1: requested size's lower 40 bits | site 24
 *
 * An entry is moved by a pending copy, which counts where no live one has its address.
 */
#define HSNAP_REGISTRY_SEGMENT 4096u
#define HSNAP_REGISTRY_ENTRIES (HSNAP_REGISTRY_SEGMENT / 16u)
#define HSNAP_REGISTRY_BITS 22u /* of a segment's number, at most */
#define HSNAP_REGISTRY_WORDS (1u << (HSNAP_REGISTRY_BITS - 6))
#define HSNAP_REGISTRY_BUSY 1u
#define HSNAP_REGISTRY_MAX_SIZE (((uint64_t)1 << 41) - 1)

enum hsnap_wire_entry {
	HSNAP_ENTRY_LIVE = 0,
	HSNAP_ENTRY_PENDING = 1,
	HSNAP_ENTRY_HELD = 2, /* live, and in the hands of a realloc */
};

#define HSNAP_ENTRY_ADDRESS(word) ((word) & (((uint64_t)1 << HSNAP_ADDRESS_BITS) - 1))
#define HSNAP_ENTRY_STATE(word) ((unsigned)((word) >> HSNAP_ADDRESS_BITS) & 3u)
#define HSNAP_ENTRY_KIND(word) ((unsigned)((word) >> (HSNAP_ADDRESS_BITS + 2)) & 3u)
#define HSNAP_ENTRY_EPOCH(word) ((unsigned)((word) >> HSNAP_KEY_BITS) & 0xfffu)
#define HSNAP_ENTRY_SITE(second) ((uint32_t)(second) & HSNAP_MAX_SITE)
#define HSNAP_ENTRY_REQUESTED(word, second) ((uint64_t)(word) >> 63 << 40 | (uint64_t)(second) >> 24)

/* Of one address there may be an entry of each kind: what the program says of its memory (heapsnap.h) stands in the
 * same table. */
enum hsnap_wire_kind {
	HSNAP_KIND_BLOCK,
	HSNAP_KIND_OBJECT, /* of a pool; site: a unit HSNAP_UNIT_OBJECT */
	HSNAP_KIND_ROOT,   /* a range of addresses; site: a unit HSNAP_UNIT_TEXT, its name */
};

/* What an entry is found by. */
#define HSNAP_KEY_BITS (HSNAP_ADDRESS_BITS + 4)
#define HSNAP_KEY(kind, address) ((uint64_t)(kind) << (HSNAP_ADDRESS_BITS + 2) | (address))
#define HSNAP_ENTRY_KEY(word) ((word) & ((((uint64_t)1 << HSNAP_KEY_BITS) - 1) & ~((uint64_t)3 << HSNAP_ADDRESS_BITS)))

/* ---- pools that the program names (heapsnap.h) ----------------------------------------
 *
 * One a pool, in segments as the counters are.  Objects of a pool stand in the registry, those of an arena, which go all at
 * once, in pieces of a list: entries as in the registry, but the site is that of a block.  Where a pool's objects
 * are is told by pieces, too: address and size.
 */
enum hsnap_wire_pool_kind {
	HSNAP_POOL_NONE,
	HSNAP_POOL_OBJECTS,
	HSNAP_POOL_ARENA,
};

struct hsnap_wire_pool {
	uint64_t state;     /* generation 32 | unit of its name 24 | enum hsnap_wire_pool_kind 8 */
	uint64_t next_free; /* the agent's own, as of all that it numbers */
	uint64_t objects;   /* of an arena, the latest piece: 1 + its number; 0: none */
	uint64_t slabs;     /* likewise */
	uint64_t holes;     /* empty entries among the slabs */
	uint64_t reserved[3];
};
#define HSNAP_POOL_KIND(state) ((unsigned)(state) & 0xff)
#define HSNAP_POOL_NAME(state) ((uint32_t)((state) >> 8) & HSNAP_MAX_SITE)

#define HSNAP_PIECE_ENTRIES 15u
struct hsnap_wire_piece {
	uint64_t older; /* 1 + its number, 0: this is the first */
	uint64_t num;   /* entries that are, or are being, filled; may be more than there are */
	uint64_t entries[HSNAP_PIECE_ENTRIES][2]; /* first word 0: empty */
};
#define HSNAP_PIECE_HOLE 1u /* or this: it may be filled again */

/* ---- what else -------------------------------------------------------------------- */

/* Address space is 2^47 bytes.  A bit for each 64 MiB that is (or was) a heap of an arena
 * other than the main one; a bit for each 1 MiB in which main-arena chunks were seen outside
 * the brk area. */
#define HSNAP_ADDRESS_BITS 47
#define HSNAP_HEAP_SHIFT 26
#define HSNAP_PIECE_SHIFT 20
#define HSNAP_HEAP_WORDS (1u << (HSNAP_ADDRESS_BITS - HSNAP_HEAP_SHIFT - 6))
#define HSNAP_PIECE_WORDS (1u << (HSNAP_ADDRESS_BITS - HSNAP_PIECE_SHIFT - 6))

/* A module that was unloaded: program counters in it, of stacks made before, mean nothing now. */
struct hsnap_wire_unload {
	uint64_t start, end;
	uint64_t number; /* the count of unloads with this one */
};
#define HSNAP_NUM_UNLOADS 64u /* the latest; entry number % HSNAP_NUM_UNLOADS */

struct hsnap_wire_range {
	uint64_t start, end;
};
#define HSNAP_NUM_OWN 352u

enum hsnap_wire_allocator {
	HSNAP_ALLOCATOR_UNDECIDED, /* nothing was allocated yet */
	HSNAP_ALLOCATOR_GLIBC,
	HSNAP_ALLOCATOR_ASIDE,     /* the agent only hands on: `aside` says why */
	HSNAP_ALLOCATOR_OTHER,     /* handed on to the one that `aside` names, and entered in the registry */
};

/* Functions beside malloc_usable_size by which a program may learn the room of a block of another allocator. */
#define HSNAP_TELLING_ROOM \
	"nallocx", "sallocx", "xallocx", "tc_malloc_size", "tc_nallocx", "mi_usable_size", "mi_malloc_size", \
	"mi_malloc_usable_size", "mi_good_size", "mi_malloc_good_size", "je_malloc_usable_size", "malloc_size", \
	"malloc_good_size", "MallocExtension_GetAllocatedSize", "MallocExtension_GetEstimatedAllocatedSize", \
	"_ZN15MallocExtension16GetAllocatedSizeEPKv", "_ZN15MallocExtension25GetEstimatedAllocatedSizeEm"

struct hsnap_wire_directory {
	uint64_t magic;
	uint32_t version;
	uint32_t size;          /* of this structure */
	uint64_t pid;           /* of the process; a forked child has its own */
	uint64_t key;           /* random; of the trailer's check */
	uint32_t allocator;     /* enum hsnap_wire_allocator */
	uint32_t stacks;        /* enum hsnap_wire_stacks */
	uint64_t epoch_start;   /* ns since 1970 to which epochs count */
	uint64_t glibc_minor;   /* 36 for glibc 2.36 */
	char aside[128];        /* why the agent stood aside, or whose malloc it is: text, NUL-terminated */
	char beside[64];        /* a function that goes round the agent and that the program calls; "" = none */
	uint64_t other_malloc;  /* HSNAP_ALLOCATOR_OTHER: address of that one's malloc */
	uint64_t rooms_asked;   /* … the program asks how large its blocks are: it may use more than it asked for */

	uint64_t brk_start, brk_end; /* where main-arena chunks were seen in the brk area; 0: nowhere */
	uint64_t heap_bits;     /* address of HSNAP_HEAP_WORDS words */
	uint64_t piece_bits;    /* address of HSNAP_PIECE_WORDS words */

	uint64_t large_address, large_requested, large_site; /* addresses of the three arrays; 0: none yet */
	uint64_t large_capacity;
	uint64_t large_lost;    /* blocks that found no place in it */

	uint64_t registry_exists; /* address of HSNAP_REGISTRY_WORDS words, a bit a segment; 0: no registry yet */
	uint64_t registry_bases[HSNAP_REGISTRY_BITS + 1]; /* 0: no segment of so many bits */
	uint64_t registry_lost;   /* blocks that found no place in it */
	uint64_t unknown_frees;   /* of blocks that are not in it, where it has all of the program's */

	uint64_t stack_segments[HSNAP_STACK_SEGMENTS]; /* addresses, 0: not there */
	uint64_t stack_units;   /* units handed out */
	uint64_t stacks_lost;   /* allocations whose stack found no place */
	uint64_t notes_lost;    /* annotations (heapsnap.h) that found no place */
	uint64_t notes_astray;  /* … of addresses that are nobody's */

	uint64_t pool_segments[HSNAP_SLOT_SEGMENTS]; /* addresses, 0: not there */
	uint64_t num_pools;
	uint64_t piece_segments[HSNAP_SLOT_SEGMENTS];
	uint64_t num_pieces;

	struct hsnap_wire_counters shared; /* of threads that have no slot of their own; atomic */
	uint64_t slot_segments[HSNAP_SLOT_SEGMENTS]; /* addresses, 0: not there */
	uint64_t num_slots;
	/* Threads of the parent that a forked child lost in the midst of what they did, at most: the kernel copies
	 * page by page, so of each one block may be counted and not recorded, or the other way round. */
	uint64_t forked_amid;

	uint64_t num_unloads;
	struct hsnap_wire_unload unloads[HSNAP_NUM_UNLOADS];

	/* Mappings that the agent made for itself: no place to look for roots.  Its module's own
	 * segments are not listed. */
	uint64_t num_own;
	struct hsnap_wire_range own[HSNAP_NUM_OWN];
};

_Static_assert(sizeof(struct hsnap_wire_counters) == 64, "a slot is a cache line");
_Static_assert(sizeof(struct hsnap_wire_pool) == 64 && sizeof(struct hsnap_wire_piece) == 256, "nothing is split");
_Static_assert(sizeof(struct hsnap_wire_directory) % 8 == 0, "no padding at the end");

#endif
