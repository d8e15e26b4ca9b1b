/* SPDX-License-Identifier: MIT */
/*
 * python.c - what CPython's objects say of themselves.
 *
 * CPython 3.11: an object begins with its reference count and its type (Include/object.h), whose flags say what stands
 * in front of it (Include/internal/pycore_object.h): two words of the collector's (Py_TPFLAGS_HAVE_GC), and before those
 * two for its attributes (Py_TPFLAGS_MANAGED_DICT).  It is one if its block begins exactly there, its size fits, its
 * type is one, and the collector has it in its list or in none (Modules/gcmodule.c): a list's array of objects has words
 * beyond its last from whoever had the memory before.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/base/hash.h"
#include "tests/naming/witness.h"

/* PyTypeObject (Include/cpython/object.h) */
enum {
	OB_TYPE = 8, TP_NAME = 24, TP_BASICSIZE = 32, TP_FLAGS = 168,
	HAVE_GC = 1 << 14, MANAGED_DICT = 1 << 4, TYPE_SUBCLASS = 1u << 31,
};

struct known {
	uint64_t address; /* of a type; then of what it is to be called */
	uint64_t front, basic;
	char *type;       /* NULL: no type, or one that python.names does not know */
	UT_hash_handle hh;
};

struct name {
	char *python, *type;
};

static struct hsnap_vec(struct name) names;
static struct known *types;

static bool read_names(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[1024], python[512], type[512];
	while (file && fgets(line, sizeof(line), file))
		if (line[0] != '#' && sscanf(line, "%511s %511[^\n]", python, type) == 2 &&
		    !hsnap_vec_push(&names, (struct name){ strdup(python), strdup(type) }))
			return false;
	if (!file || fclose(file)) {
		perror(path);
		return false;
	}
	return true;
}

/* Its metatype is `type`, whose type is itself, or one that has that for a metatype. */
static bool is_type(uint64_t address)
{
	uint64_t meta = memory_word(address + OB_TYPE), above = meta && meta % 8 == 0 ? memory_word(meta + OB_TYPE) : 0;
	char name[8];
	if (!above || above % 8 || memory_word(above + OB_TYPE) != above || !(memory_u32(meta + TP_FLAGS) & TYPE_SUBCLASS))
		return false;
	memory_text(memory_word(above + TP_NAME), name, sizeof(name));
	return !strcmp(name, "type") && memory_word(address + TP_BASICSIZE) < 1 << 20;
}

static const struct known *known_type(uint64_t address)
{
	struct known *known;
	HASH_FIND(hh, types, &address, sizeof(address), known);
	if (known)
		return known;
	known = calloc(1, sizeof(*known));
	if (!known)
		return NULL;
	known->address = address;
	if (is_type(address)) {
		char name[512];
		memory_text(memory_word(address + TP_NAME), name, sizeof(name));
		for (size_t i = 0; i < names.num && !known->type; i++)
			if (!strcmp(names.items[i].python, name))
				known->type = names.items[i].type;
		uint32_t flags = memory_u32(address + TP_FLAGS);
		known->front = (flags & HAVE_GC ? 16 : 0) + (flags & MANAGED_DICT ? 16 : 0);
		known->basic = memory_word(address + TP_BASICSIZE);
	}
	HASH_ADD(hh, types, address, sizeof(address), known);
	return known;
}

/* The next one in the collector's list has it before itself; what is in none has no next. */
static bool is_collected(uint64_t object)
{
	uint64_t head = object - 16, next = memory_word(head) & ~(uint64_t)3;
	return !next || (memory_word(next + 8) & ~(uint64_t)3) == head;
}

static bool tell(uint64_t block, uint64_t size, uint64_t front)
{
	uint64_t object = block + front, count = memory_word(object);
	if (size < front + 16 || !count || count >> 40)
		return false;
	uint64_t type = memory_word(object + OB_TYPE);
	const struct known *known = type % 8 ? NULL : known_type(type);
	if (!known || !known->type || known->front != front || known->basic + front > size)
		return false;
	if (front && !is_collected(object))
		return false;
	printf("%" PRIx64 " %" PRIu64 " %s\n", object, known->basic, known->type);
	return true;
}

bool witness_python(const struct hsnap_snapshot *snapshot, const char *path)
{
	const struct hsnap_graph *graph = &snapshot->graph;
	if (!read_names(path))
		return false;
	for (hsnap_node_id n = hsnap_first_block(graph); n < graph->num_nodes; n++)
		for (uint64_t front = 0; front <= 32 && !tell(graph->address[n], hsnap_node_size(graph, n), front); front += 16)
			;
	return true;
}
