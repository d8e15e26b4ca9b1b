/* SPDX-License-Identifier: MIT */
/*
 * layout.h - numbers of the file format that its writer and its reader share.
 *
 * FORMAT.md says what they mean.  Private to snapshot/format.
 */
#ifndef HSNAP_SNAPSHOT_FORMAT_LAYOUT_H
#define HSNAP_SNAPSHOT_FORMAT_LAYOUT_H

#include <stdint.h>

#define HSNAP_FORMAT_VERSION 4u
#define HSNAP_FORMAT_MAGIC "\x89HSNAP\r\n"      /* the odd bytes tell a copy in text mode apart */
#define HSNAP_FORMAT_TAIL_MAGIC "HSNAPEND"
#define HSNAP_FORMAT_HEADER 16u /* bytes: magic, version, flags */
#define HSNAP_FORMAT_TAIL 32u   /* bytes: length of the index, of the file, checksum, 0, magic */

enum hsnap_section {
	HSNAP_SECTION_FACTS = 1,
	HSNAP_SECTION_TABLE_STRINGS, /* the strings of sections up to ITEM_ROWS */
	HSNAP_SECTION_NOTES,
	HSNAP_SECTION_MODULES,
	HSNAP_SECTION_TYPES,
	HSNAP_SECTION_ROWS,
	HSNAP_SECTION_ACCOUNT, /* one record, or none */
	HSNAP_SECTION_ARENAS,
	HSNAP_SECTION_PARTS,
	HSNAP_SECTION_ITEM_ROWS, /* objects in pools, by row */
	HSNAP_SECTION_STRINGS, /* those of the next nine */
	HSNAP_SECTION_MEMBERS,
	HSNAP_SECTION_STACKS,
	HSNAP_SECTION_FRAMES,
	HSNAP_SECTION_ROOTS,
	HSNAP_SECTION_GROUNDS, /* what names rest on */
	HSNAP_SECTION_OTHERS,  /* claims that did not win */
	HSNAP_SECTION_POOLS,   /* blocks with objects in them */
	HSNAP_SECTION_ITEMS,   /* places of those */
	HSNAP_SECTION_EDGE_ITEMS, /* to which of them edges lead */
	HSNAP_SECTION_KINDS, /* columns of nodes */
	HSNAP_SECTION_SIZES,
	HSNAP_SECTION_ADDRESSES,
	HSNAP_SECTION_EPOCHS,
	HSNAP_SECTION_SLOTS,   /* degree and offsets of each node's edges */
	HSNAP_SECTION_STEPS,   /* columns of edges: how each target is coded */
	HSNAP_SECTION_TARGETS, /* what the code needs */
	HSNAP_SECTION_OFFSETS, /* of edges of nodes with many */
	HSNAP_NUM_SECTIONS,
};

#define HSNAP_LAST_OF_TABLE HSNAP_SECTION_ITEM_ROWS
#define HSNAP_LAST_OF_MEMBERS HSNAP_SECTION_EDGE_ITEMS
#define HSNAP_FIRST_COLUMN HSNAP_SECTION_KINDS

#define HSNAP_CHUNK_NODES 65536u
#define HSNAP_CHUNK_EDGES 131072u
#define HSNAP_CHUNK_TEXT 1048576u      /* bytes of strings in a chunk, and about as many of records */
#define HSNAP_CHUNK_MAX (16u << 20)    /* raw bytes of any chunk */
#define HSNAP_DEFLATE_RATIO 1032u      /* deflate cannot say more than this many bytes in one */
#define HSNAP_FEW_EDGES 32u            /* nodes with more have their offsets in OFFSETS */
#define HSNAP_MAX_SLOTS 126u           /* patterns remembered for a kind, so that a rank is one byte */
#define HSNAP_MAX_NESTING 4096u        /* types within types */

/* Name of a section for messages: "types", "addresses". */
const char *hsnap_section_name(unsigned section);

#endif
