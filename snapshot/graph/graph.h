/* SPDX-License-Identifier: MIT */
/*
 * graph.h - one heap as flat arrays: what every source is turned into.
 *
 * Node ids are dense: 0 is the super-root, 1 .. num_roots are the roots (root r
 * is node 1 + r), the rest are blocks in order of address.  The super-root has
 * no stored edges: it leads to every root.  Sizes are bytes.  What a source
 * does not know is absent: 0, "" or HSNAP_NO_TYPE, as each field says.
 */
#ifndef HSNAP_SNAPSHOT_GRAPH_GRAPH_H
#define HSNAP_SNAPSHOT_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot/base/error.h"
#include "snapshot/base/strings.h"
#include "snapshot/base/vec.h"

typedef uint32_t hsnap_node_id;
typedef uint32_t hsnap_type_id;

#define HSNAP_NO_NODE UINT32_MAX
#define HSNAP_NO_TYPE 0  /* types.items[0]: "unknown", matches nothing by name */
#define HSNAP_NO_SITE 0  /* stacks.items[0] is empty */
#define HSNAP_NO_MODULE 0 /* modules.items[0] has no path */
#define HSNAP_MAX_NODES 0x7fffffffu

/* How sure the name of a block is; a greater value is surer. */
enum hsnap_confidence {
	HSNAP_UNKNOWN,  /* not even a label: of its size alone */
	HSNAP_LABEL,    /* a truthful description, not a type: "48 bytes in Session.extra" */
	HSNAP_INFERRED, /* what its kin agree on */
	HSNAP_PROVED,   /* a typed pointer from a typed place, and the size fits */
	HSNAP_EXACT,    /* the allocation site, a vtable, the agent or a runtime says so */
	HSNAP_NUM_CONFIDENCES,
};

enum hsnap_state {
	HSNAP_LIVE,        /* reached from a root */
	HSNAP_POSSIBLE,    /* reached only from memory that no allocator explains (roots of kind mapping) */
	HSNAP_UNREACHABLE, /* in use, and nothing that is reached points to it */
	HSNAP_NUM_STATES,
};

/* In order of preference where several keep a block at equal distance. */
enum hsnap_root_kind {
	HSNAP_ROOT_GLOBAL,       /* a variable with external linkage */
	HSNAP_ROOT_STATIC,       /* one with internal linkage, or inside a function; also unnamed module data */
	HSNAP_ROOT_THREAD_LOCAL,
	HSNAP_ROOT_HANDLE,       /* a runtime's handle; what the program itself names (heapsnap.h) */
	HSNAP_ROOT_STACK,
	HSNAP_ROOT_REGISTER,
	HSNAP_ROOT_KERNEL,       /* epoll user data, timer values */
	HSNAP_ROOT_FINALIZER,
	HSNAP_ROOT_OTHER,
	HSNAP_ROOT_MAPPING,      /* a writable mapping that no allocator explains; always weak */
	HSNAP_NUM_ROOT_KINDS,
};

/* "global", "thread-local" … as in the JSON; "other" for a value out of range. */
const char *hsnap_root_kind_name(enum hsnap_root_kind kind);
const char *hsnap_confidence_name(enum hsnap_confidence confidence);
const char *hsnap_state_name(enum hsnap_state state);

enum hsnap_type_kind {
	HSNAP_TYPE_UNKNOWN,
	HSNAP_TYPE_STRUCT, /* struct or class, or a managed class */
	HSNAP_TYPE_UNION,
	HSNAP_TYPE_ARRAY,   /* element; as a block's type it is a run of them: "T[]" */
	HSNAP_TYPE_POINTER, /* element is what it points to */
	HSNAP_TYPE_SCALAR,  /* also enum and function */
	HSNAP_TYPE_LABEL,   /* no type: the name is a description */
	HSNAP_NUM_TYPE_KINDS,
};

struct hsnap_type {
	hsnap_string name;      /* what is printed: short, no struct/class/union/enum in front */
	hsnap_string full_name; /* with default template arguments, namespaces as the compiler gives them */
	hsnap_string holder;    /* arrays of bytes, scalars and void *, and labels: "in DictNode.key",
	                           "from parse_line"; else "".  Types that differ in it are different rows */
	hsnap_string unit;      /* path of the declaring source file as in the debug info, or "" */
	uint32_t line;          /* line of the declaration, 0 = unknown */
	uint32_t module;        /* index into modules */
	uint8_t kind;           /* enum hsnap_type_kind */
	uint64_t size;          /* sizeof; 0 for T[] and labels */
	hsnap_type_id element;  /* ARRAY, POINTER; a LABEL that says "pool of": of what; else HSNAP_NO_TYPE */
	uint32_t first_member, num_members; /* into members, in order of offset */
};

struct hsnap_member {
	hsnap_string name;   /* "" for an anonymous struct or union, and for a base class */
	uint64_t offset;     /* bytes into the type */
	hsnap_type_id type;  /* its own type; a fixed array is an ARRAY type with its size set */
};

/* A row that show prints: all blocks of one type and one state. */
struct hsnap_row {
	hsnap_type_id type;
	uint8_t state;      /* enum hsnap_state */
	uint64_t count;     /* blocks */
	uint64_t bytes;     /* on the snapshot's basis */
	uint64_t usable;    /* usable bytes */
	uint64_t items;     /* ARRAY types: elements in all of them; blocks of pools: objects seen in them; else 0 */
	uint64_t no_record; /* blocks that the agent has no record of */
	uint64_t bytes_by_confidence[HSNAP_NUM_CONFIDENCES];
	uint64_t sample;    /* address of the first of the blocks; 0 = unknown */
};

/* Objects of one type in the blocks of one row. */
struct hsnap_item_row {
	hsnap_type_id pool;   /* type of that row */
	hsnap_type_id type;   /* of the objects */
	uint8_t state;        /* of that row */
	uint8_t confidence;   /* enum hsnap_confidence, of the objects' names */
	uint64_t count, bytes; /* a part of the row's bytes */
	uint64_t sample;      /* address of the first of the objects */
};

struct hsnap_root {
	uint8_t kind;          /* enum hsnap_root_kind */
	bool weak;             /* everything it holds is held by weak evidence */
	hsnap_string name;     /* variable, "fs:0x10", "epoll 5", …; "" for unnamed module data */
	hsnap_string source;   /* "cache.c:31", or "" */
	hsnap_string function; /* stack roots: the frame's function; function statics: theirs */
	hsnap_string thread;   /* "main", "worker (tid 4713)"; "" where none */
	uint32_t module;       /* index into modules */
};

struct hsnap_frame {
	hsnap_string function; /* "" where unknown */
	hsnap_string source;   /* "receipt.c:22", or "" */
	uint32_t module;
	uint64_t offset;       /* of the PC (a return address less one), from the module's load address */
};

struct hsnap_stack {
	uint32_t first_frame, num_frames; /* into frames, innermost first, inlined functions expanded */
	uint32_t decider;   /* 1 + the one of its frames that says what its blocks are; 0: none does */
	hsnap_string taker; /* the variable that gets the result of the call there; "": a member, an element, or
	                       the function is a template and its argument tells */
};

struct hsnap_module {
	hsnap_string path;     /* as the target sees it */
	hsnap_string build_id; /* hex, or "" */
	uint64_t base;         /* load address */
	bool main;             /* the executable itself */
	bool has_types;        /* debug info with types was found and read */
};

/* A block whose size or slack does not fit its column. */
struct hsnap_big {
	hsnap_node_id node;
	uint64_t size, slack;
};

/*
 * A block in which objects of one type lie at places of one distance: a pool's, a slab's.  Objects that nobody
 * is seen to point to are none of these.
 */
struct hsnap_pool {
	hsnap_node_id node;     /* the block */
	hsnap_type_id type;     /* of the objects */
	uint8_t evidence;       /* enum hsnap_evidence */
	uint8_t header;         /* bytes before the place where the offsets of the block's edges begin */
	uint64_t first, stride; /* bytes from there to the first place, and from place to place */
	uint64_t size;          /* bytes of an object, at most stride */
	uint32_t first_item, num_items; /* into items */
};

#define HSNAP_SIZE_BIG UINT32_MAX /* in size: look in big */
#define HSNAP_EDGE_WEAK 0x80000000u /* in edge_to */
#define HSNAP_OFFSET_BEYOND UINT32_MAX /* in edge_offset: the place lies at or beyond 4 GiB - 1 */

/* Node flags. */
#define HSNAP_FLAG_CONFIDENCE 0x07u /* enum hsnap_confidence */
#define HSNAP_FLAG_STATE 0x18u      /* enum hsnap_state << 3 */
#define HSNAP_FLAG_NO_RECORD 0x20u  /* in use, but the agent has no (valid) record of it */
#define HSNAP_FLAG_OVERRUN 0x40u    /* its record was damaged: written past its end */
#define HSNAP_FLAG_STATE_SHIFT 3

struct hsnap_graph {
	uint32_t num_roots, num_blocks;
	uint32_t num_nodes;  /* 1 + num_roots + num_blocks */
	uint64_t num_edges;  /* < 2^32 - 1 */

	/* Columns, num_nodes entries each; NULL where not loaded.  Node 0 is all zero. */
	uint64_t *address;   /* a root: of its variable, or 0 */
	uint32_t *size;      /* shallow size on the snapshot's basis, or HSNAP_SIZE_BIG */
	uint8_t *slack;      /* usable size less size; of a big block see big */
	hsnap_type_id *type; /* a root: the variable's type */
	uint32_t *site;      /* index into stacks; HSNAP_NO_SITE: unknown */
	uint16_t *epoch;     /* seconds from facts.epoch_start to the allocation; 0xffff = that or later; 0 = unknown */
	uint8_t *flags;      /* HSNAP_FLAG_… */
	uint16_t *grounds;   /* index into the snapshot's grounds; NULL also where there are none */
	struct hsnap_vec(struct hsnap_big) big; /* in order of node */

	/* Edges of node n are [first_edge[n], first_edge[n + 1]), in order of offset. */
	uint32_t *first_edge;  /* num_nodes + 1 entries */
	uint32_t *edge_to;     /* node from 1 on, | HSNAP_EDGE_WEAK */
	uint32_t *edge_offset; /* bytes into the source where the pointer stands, or HSNAP_OFFSET_BEYOND */

	struct hsnap_vec(struct hsnap_root) roots; /* num_roots */

	struct hsnap_vec(struct hsnap_pool) pools; /* in order of node, each once; their items in that order too */
	struct hsnap_vec(uint32_t) items;          /* the place of each object, rising in each pool */
	struct hsnap_vec(uint32_t) edge_items;     /* one for each edge to the block of a pool, in order of edges: 1 + the
	                                              number in its pool of the object that it leads to; 0: none */
	uint32_t num_items; /* after hsnap_graph_expand(): of the blocks the last are objects of pools */
};

/* Allocate the node columns (zeroed) for a graph with these many nodes; edges follow with
 * hsnap_graph_alloc_edges().  HSNAP_NO_MEMORY, or HSNAP_UNSUPPORTED above HSNAP_MAX_NODES. */
HSNAP_CHECKED enum hsnap_code hsnap_graph_alloc_nodes(struct hsnap_graph *graph, uint32_t num_roots,
						      uint32_t num_blocks, struct hsnap_error *err);
/* Of the columns grounds alone is apart: only who explains a name needs it. */
HSNAP_CHECKED enum hsnap_code hsnap_graph_alloc_grounds(struct hsnap_graph *graph, struct hsnap_error *err);
HSNAP_CHECKED enum hsnap_code hsnap_graph_alloc_edges(struct hsnap_graph *graph, uint64_t num_edges,
						      struct hsnap_error *err);
void hsnap_graph_deinit(struct hsnap_graph *graph);

static inline hsnap_node_id hsnap_first_block(const struct hsnap_graph *graph)
{
	return 1 + graph->num_roots;
}

static inline bool hsnap_is_root(const struct hsnap_graph *graph, hsnap_node_id node)
{
	return node >= 1 && node <= graph->num_roots;
}

/* Sizes through these, never from the columns alone.  O(1); O(log big) for a big block. */
uint64_t hsnap_node_big_size(const struct hsnap_graph *graph, hsnap_node_id node);
uint64_t hsnap_node_usable(const struct hsnap_graph *graph, hsnap_node_id node);
static inline uint64_t hsnap_node_size(const struct hsnap_graph *graph, hsnap_node_id node)
{
	uint32_t size = graph->size[node];
	return size != HSNAP_SIZE_BIG ? size : hsnap_node_big_size(graph, node);
}

/* Set both columns; false: they say that it is a big one, which is yet to be set. */
HSNAP_CHECKED bool hsnap_node_set_small(struct hsnap_graph *graph, hsnap_node_id node, uint64_t size, uint64_t usable);
/* The same of any size; big ones must be set in order of node.  false: out of memory. */
HSNAP_CHECKED bool hsnap_node_set_size(struct hsnap_graph *graph, hsnap_node_id node, uint64_t size,
				       uint64_t usable);

static inline enum hsnap_confidence hsnap_node_confidence(const struct hsnap_graph *graph,
							  hsnap_node_id node)
{
	return (enum hsnap_confidence)(graph->flags[node] & HSNAP_FLAG_CONFIDENCE);
}

static inline enum hsnap_state hsnap_node_state(const struct hsnap_graph *graph, hsnap_node_id node)
{
	return (enum hsnap_state)((graph->flags[node] & HSNAP_FLAG_STATE) >> HSNAP_FLAG_STATE_SHIFT);
}

/* Block that contains `address` (one past its end does not count), or HSNAP_NO_NODE.  O(log n).  In an expanded
 * graph the object there, if there is one. */
hsnap_node_id hsnap_graph_find(const struct hsnap_graph *graph, uint64_t address);

/* The pool that a block is, or NULL.  O(log pools). */
const struct hsnap_pool *hsnap_pool_of(const struct hsnap_graph *graph, hsnap_node_id node);
/* The number in its pool of the object that covers an offset as edges have them; UINT32_MAX: none does.  O(log items). */
uint32_t hsnap_pool_find(const struct hsnap_graph *graph, const struct hsnap_pool *pool, uint64_t offset);

/* The block that a node of an expanded graph lies in: of an object its pool's, else the node itself.  O(log pools). */
hsnap_node_id hsnap_pool_block(const struct hsnap_graph *graph, hsnap_node_id node);

/**
 * Make the objects of pools nodes of their own, behind the blocks, in order of pools: edges from and to them become
 * theirs.  A block keeps what lies between them, and has a weak edge to each; each has a weak one to its block,
 * which it holds.  Sizes of blocks stay.  Nothing is done where there are no pools, or no edges are loaded.
 *
 * Such a graph is for looking for paths: it cannot be written, nor summed up.
 * Cost: a copy of the graph.
 */
HSNAP_CHECKED enum hsnap_code hsnap_graph_expand(struct hsnap_graph *graph, struct hsnap_error *err);

#endif
