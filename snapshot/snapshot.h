/* SPDX-License-Identifier: MIT */
/*
 * snapshot.h - a heap at one moment: facts, types, graph; and its file.
 *
 * This is the public face of snapshot/.  It knows no process and no terminal.
 */
#ifndef HSNAP_SNAPSHOT_SNAPSHOT_H
#define HSNAP_SNAPSHOT_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot/account.h"
#include "snapshot/base/error.h"
#include "snapshot/base/strings.h"
#include "snapshot/base/vec.h"
#include "snapshot/graph/evidence.h"
#include "snapshot/graph/graph.h"

enum hsnap_basis { HSNAP_BASIS_REQUESTED, HSNAP_BASIS_USABLE };

/* What is known of the process and of the capture.  Counts and bytes; 0 or "" = unknown. */
struct hsnap_facts {
	uint64_t pid;
	uint64_t start_time;    /* of the process, clock ticks since boot (/proc/PID/stat field 22) */
	uint64_t taken_at;      /* ns since the epoch, when the target was released */
	uint64_t pause_ns;      /* first interrupt to last release */
	uint64_t elapsed_ns;    /* whole take */
	uint64_t epoch_start;   /* ns since the epoch to which node epochs count */
	hsnap_string comm;      /* name of the command, never arguments */
	hsnap_string exe;       /* path of the executable as the target sees it */
	hsnap_string source;    /* "agent", "glibc", "core", "dotnet", "gcdump" */
	hsnap_string freeze;    /* "copy", "precopy", "clone", "" */
	uint8_t basis;          /* enum hsnap_basis */
	uint32_t num_threads;
	uint32_t searched_modules, searched_tls; /* roots were looked for in these many */
	uint64_t rss, swap;     /* bytes */
	uint64_t heap_bytes;    /* of all blocks, on the basis */
	uint64_t heap_usable;
	uint64_t heap_count;
	uint64_t no_record;     /* blocks in use without a record of the agent */
	uint64_t overruns;      /* blocks written past their end */
	uint64_t allocated_bytes, allocated_count; /* since start, as the agent counts */
	uint64_t freed_bytes, freed_count;
	uint64_t bytes_by_confidence[HSNAP_NUM_CONFIDENCES];
};

struct hsnap_snapshot {
	struct hsnap_facts facts;
	struct hsnap_strings strings;
	struct hsnap_vec(hsnap_string) partial_reasons; /* not empty: a partial capture; one clause each */
	struct hsnap_vec(hsnap_string) notes;  /* other things to tell: "no types for libfoo.so: no debug info" */
	struct hsnap_vec(struct hsnap_module) modules; /* [0] empty */
	struct hsnap_vec(struct hsnap_type) types;     /* [0] unknown */
	struct hsnap_vec(struct hsnap_member) members;
	struct hsnap_vec(struct hsnap_row) rows;       /* greatest bytes first */
	struct hsnap_vec(struct hsnap_item_row) item_rows; /* objects in pools that rows count as parts of blocks */
	struct hsnap_account account;
	struct hsnap_vec(struct hsnap_account_arena) account_arenas; /* in order of address */
	struct hsnap_vec(struct hsnap_account_part) account_parts;   /* by kind, greatest first in each; pages of files that cannot be told apart come last */
	struct hsnap_vec(struct hsnap_stack) stacks;   /* [0] empty */
	struct hsnap_vec(struct hsnap_frame) frames;
	struct hsnap_vec(struct hsnap_grounds) grounds; /* [0] nothing is known; may be empty */
	struct hsnap_vec(struct hsnap_other) others;
	struct hsnap_graph graph;
};

/* An empty snapshot with entry 0 of each table; NULL: out of memory. */
struct hsnap_snapshot *hsnap_snapshot_create(void);
void hsnap_snapshot_destroy(struct hsnap_snapshot *snapshot);
void hsnap_snapshot_destroyp(struct hsnap_snapshot **snapshot);

static inline const char *hsnap_text(const struct hsnap_snapshot *snapshot, hsnap_string s)
{
	return hsnap_str(&snapshot->strings, s);
}

/**
 * Decide the state of every block (graph.flags) by reachability from the roots, over strong
 * and weak edges alike; what only roots of kind mapping reach is POSSIBLE.  O(nodes + edges).
 * Where no edges are loaded nothing is known and nothing is changed.
 */
HSNAP_CHECKED enum hsnap_code hsnap_snapshot_mark(struct hsnap_snapshot *snapshot,
						  struct hsnap_error *err);

/**
 * Fill rows, item_rows and the heap_… and bytes_by_confidence facts from the graph's columns and pools: bytes of
 * objects in pools are as sure as their names, if the block is less so.
 * Replaces earlier rows.  O(nodes), and O(types) scratch memory.
 */
HSNAP_CHECKED enum hsnap_code hsnap_snapshot_summarize(struct hsnap_snapshot *snapshot,
						       struct hsnap_error *err);

/**
 * Count objects in pools as objects of their own: their item_rows become rows, and what is left of their blocks is
 * the blocks' row.  All bytes stay; counts are of blocks and objects then.  The graph is left alone: do not write it.
 * O(item rows · rows).
 */
HSNAP_CHECKED enum hsnap_code hsnap_snapshot_expand_rows(struct hsnap_snapshot *snapshot, struct hsnap_error *err);

/**
 * Add up the account on a basis: see struct hsnap_account_sums.  false: there is none.
 *
 * No input makes this overflow: what cannot be held is cut to the greatest that can.
 */
bool hsnap_account_sum(const struct hsnap_snapshot *snapshot, enum hsnap_basis basis,
		       struct hsnap_account_sums *ret);

/**
 * The member path from a type to the byte `offset` in it: ".buckets", ".entry.next",
 * "[*].ctx" in a run of elements (also one at a struct's end), "[3]" in an array of fixed
 * length.  Bases and anonymous members add nothing; of overlapping members a pointer is
 * preferred.  An offset inside a member's middle, or one that no member covers, ends in "+N",
 * counted from the last place named.  Into `text`, always terminated, cut if too long.
 * @return true if a declared pointer (or reference) stands exactly there.
 */
bool hsnap_member_path(const struct hsnap_snapshot *snapshot, hsnap_type_id type, uint64_t offset,
		       char *text, size_t text_size);

/* Does a declared pointer stand exactly there?  *ret is its own type, as "Book *"; HSNAP_NO_TYPE where the
 * arms of a union have several. */
bool hsnap_member_pointer(const struct hsnap_snapshot *snapshot, hsnap_type_id type, uint64_t offset,
			  hsnap_type_id *ret);

/* Identity by which `diff` matches: module (where not the executable), unit, holder and name; stable
 * from one snapshot of a build to the next.  For the caller to free; NULL: out of memory. */
char *hsnap_type_identity(const struct hsnap_snapshot *snapshot, hsnap_type_id type);

/*
 * Labels of one place have a row a size ("48 bytes in Session.extra"), or all one row ("bytes in …") where there
 * are more sizes than HSNAP_LABEL_MAX_SIZES; of what has no place those up to HSNAP_LABEL_SMALL bytes always have a
 * row a size.  So a place may be in rows in the one snapshot and one row in the next.
 */
#define HSNAP_LABEL_MAX_SIZES 16
#define HSNAP_LABEL_SMALL 1024u
#define HSNAP_LABEL_ANY_SIZE "bytes"
/* Is it the row of all sizes? */
bool hsnap_label_any_size(const struct hsnap_snapshot *snapshot, hsnap_type_id type);
/* Of a label of one size the identity that its place's row of all sizes has, for the caller to free; NULL for all
 * else.  false: out of memory. */
HSNAP_CHECKED bool hsnap_label_any_identity(const struct hsnap_snapshot *snapshot, hsnap_type_id type, char **ret);

/* What hsnap_snapshot_read() is to load; facts, strings, modules, types and rows always are. */
enum hsnap_load {
	HSNAP_LOAD_TABLE = 0,
	HSNAP_LOAD_MEMBERS = 1, /* members of types, stacks, frames, roots, the tables of grounds, pools with their objects */
	HSNAP_LOAD_NODES = 2,   /* node columns; implies MEMBERS */
	HSNAP_LOAD_EDGES = 4,   /* edges; implies NODES */
	HSNAP_LOAD_GROUNDS = 8, /* the column of grounds; implies NODES */
	HSNAP_LOAD_ALL = 15,
};

/**
 * Write the snapshot's file: beside the name, fsynced, renamed; mode 0600; no link followed.
 *
 * @param path   "-": stdout, which must not be a terminal
 * @param force  replace an existing regular file; else HSNAP_IO with EEXIST
 * @param[out] ret_size  bytes written; may be NULL
 * @return HSNAP_OK, HSNAP_NO_MEMORY, HSNAP_IO, or HSNAP_UNSUPPORTED where the snapshot breaks
 *         what readers rely on (an index out of range, blocks out of order …).  On failure no
 *         file is left under any name, and one that was to be replaced is as it was.
 */
HSNAP_CHECKED enum hsnap_code hsnap_snapshot_write(const struct hsnap_snapshot *snapshot,
						   const char *path, bool force,
						   uint64_t *ret_size, struct hsnap_error *err);

/* Writing ends with HSNAP_INTERRUPTED, and leaves nothing, once *flag is set; NULL: it does not.  One flag a process. */
void hsnap_snapshot_interrupt_by(const volatile int *flag);

/* Could hsnap_snapshot_write() write there, as far as can be told beforehand?  Leaves nothing. */
HSNAP_CHECKED enum hsnap_code hsnap_snapshot_may_write(const char *path, bool force, struct hsnap_error *err);

/**
 * Read a snapshot's file.  Nothing in it is trusted: every count, offset, index and string is
 * checked before this returns, so users of the result need not.
 *
 * @param path  "-": stdin
 * @param what  HSNAP_LOAD_… or'ed; what is not asked for is NULL or empty
 * @return HSNAP_OK, HSNAP_NO_MEMORY, HSNAP_IO, HSNAP_FORMAT (damaged, cut short, not a
 *         snapshot: err->where is the offset), HSNAP_UNSUPPORTED (newer or older)
 */
HSNAP_CHECKED enum hsnap_code hsnap_snapshot_read(const char *path, unsigned what,
						  struct hsnap_snapshot **ret,
						  struct hsnap_error *err);
/* The same from memory: for fuzzing and stdin. */
HSNAP_CHECKED enum hsnap_code hsnap_snapshot_read_bytes(const void *bytes, size_t size, unsigned what,
							struct hsnap_snapshot **ret,
							struct hsnap_error *err);

#endif
