/* SPDX-License-Identifier: MIT */
/*
 * world.h - a made-up process for the tests of naming: a heap, a data segment, a stack,
 * debug info by hand.
 *
 * Everything stands at fixed addresses, so that a test can say what it expects as text.
 */
#ifndef HSNAP_TESTS_CAPTURE_NAMING_WORLD_H
#define HSNAP_TESTS_CAPTURE_NAMING_WORLD_H

#include "capture/naming/naming.h"

#define WORLD_HEAP 0x10000000u
#define WORLD_DATA 0x600000u
#define WORLD_RODATA 0x500000u
#define WORLD_TEXT 0x400000u
#define WORLD_HEADERS 0x3ff000u
#define WORLD_STACK 0x7f0000000000u
#define WORLD_TLS 0x7e0000000000u
#define WORLD_SIZE 0x10000u /* bytes of each of them */

struct world {
	struct hsnap_heap heap;
	struct hsnap_roots roots;
	struct hsnap_symbols symbols;
	bool without_symbols;
	bool headers; /* the module begins at WORLD_HEADERS: its code has a segment of its own */
	const struct hsnap_rules *rules; /* NULL: none */
	struct hsnap_snapshot *snapshot; /* after world_name() */
	uint8_t heap_bytes[WORLD_SIZE], data[WORLD_SIZE], rodata[WORLD_SIZE], stack[WORLD_SIZE], tls[WORLD_SIZE];
	uint64_t next_block;
	char text[8192];
};

/* One module, "/usr/bin/app", whose data segment is the one root area; all tables have their entry 0. */
struct world *world_create(void);
void world_destroy(struct world *w);

/* The next block; as glibc rounds it.  stack 0: unknown. */
uint64_t world_block(struct world *w, uint64_t requested, uint32_t stack);
/* Bytes at an address of the world. */
void world_write(struct world *w, uint64_t address, const void *bytes, size_t size);
void world_set(struct world *w, uint64_t address, uint64_t word);

/* A stack of return addresses, innermost first; ends with 0. */
uint32_t world_stack(struct world *w, const uint64_t *pcs);

/* Debug info.  Kinds and fields as in symbols.h. */
hsnap_string world_string(struct world *w, const char *text);
hsnap_dtype_id world_type(struct world *w, const char *name, enum hsnap_dtype_kind kind, uint64_t size);
hsnap_dtype_id world_pointer(struct world *w, hsnap_dtype_id target);
hsnap_dtype_id world_array(struct world *w, hsnap_dtype_id element, uint64_t count);
struct world_member {
	const char *name;
	uint64_t offset;
	hsnap_dtype_id type;
	uint32_t flags;
};
void world_members(struct world *w, hsnap_dtype_id type, size_t num, const struct world_member *members);
void world_arguments(struct world *w, hsnap_dtype_id type, size_t num, const hsnap_dtype_id *arguments);
void world_variable(struct world *w, const char *name, uint64_t address, hsnap_dtype_id type);

/* What the code takes an opaque type for; what it finds at a member.  In rising order of the first types. */
void world_alias(struct world *w, hsnap_dtype_id opaque, hsnap_dtype_id type, uint32_t sites, uint32_t against);
void world_landing(struct world *w, hsnap_dtype_id holder, uint64_t offset, hsnap_dtype_id type);

/* A PC's answer: one function, and who gets the result.  PCs must come in rising order. */
struct hsnap_dpc *world_pc(struct world *w, uint64_t pc, const char *function);
void world_result(struct world *w, hsnap_dtype_id pointee, bool declared_void); /* of the last PC */

/* Name everything; fails the test if it does not work. */
void world_name(struct world *w);
/* The same, where it may be refused. */
enum hsnap_code world_try_name(struct world *w, struct hsnap_error *err);

/* "2 Book exact; 1 unknown" …: rows, most bytes first; unreachable and possible ones say so. */
const char *world_rows(struct world *w);
/* "g_books>1 1>2? …": edges from roots and blocks, weak ones with "?"; blocks count from 1. */
const char *world_edges(struct world *w);

/* "1 Node pointer, 1 conflict (Page pointer; Head run look); 2 - none" …: what the names of blocks rest on, and in
 * brackets the claims that did not win. */
const char *world_grounds(struct world *w);

#define STACK(w, ...) world_stack((w), (const uint64_t[]){ __VA_ARGS__, 0 })
#define MEMBERS(w, type, ...) \
	world_members((w), (type), sizeof((const struct world_member[]){ __VA_ARGS__ }) / sizeof(struct world_member), \
		      (const struct world_member[]){ __VA_ARGS__ })
#define STRUCT HSNAP_DTYPE_STRUCT

/* struct Node { struct Node *next; char *key; void *value; uint64_t hash; } and what it is made of. */
struct basics {
	hsnap_dtype_id byte, number, node, node_pointer, byte_pointer, void_pointer;
};

struct basics make_basics(struct world *w);

#endif
