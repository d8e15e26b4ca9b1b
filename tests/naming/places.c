/* SPDX-License-Identifier: MIT */
/*
 * places.c - blocks told apart by their first word (a vtable's address) or by where they were allocated; another
 * program, gdb, says what that means.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/base/hash.h"
#include "tests/naming/witness.h"

struct key {
	uint64_t place, size; /* size: 0 with words */
};

struct place {
	struct key key;
	uint64_t num;
	char *type;
	UT_hash_handle hh;
};

static struct place *places;

/* NULL: out of memory. */
static struct place *place_at(struct key key)
{
	struct place *place;
	HASH_FIND(hh, places, &key, sizeof(key), place);
	if (place)
		return place;
	place = calloc(1, sizeof(*place));
	if (!place)
		return NULL;
	place->key = key;
	HASH_ADD(hh, places, key, sizeof(key), place);
	return place;
}

bool witness_words(const struct hsnap_snapshot *snapshot)
{
	const struct hsnap_graph *graph = &snapshot->graph;
	uint64_t low = UINT64_MAX, high = 0; /* between the first module and the last, and no stack or heap */
	for (size_t i = 1; i < snapshot->modules.num; i++) {
		uint64_t base = snapshot->modules.items[i].base;
		low = base && base < low ? base : low;
		high = base > high ? base : high;
	}
	for (hsnap_node_id n = hsnap_first_block(graph); n < graph->num_nodes; n++) {
		uint64_t word = memory_word(graph->address[n]);
		if (word < low || word > high + (1 << 28) || word % 8 || hsnap_graph_find(graph, word) != HSNAP_NO_NODE)
			continue;
		struct place *place = place_at((struct key){ word, 0 });
		if (!place)
			return false;
		place->num++;
	}
	for (struct place *place = places; place; place = place->hh.next)
		printf("%" PRIx64 " %" PRIu64 "\n", place->key.place, place->num);
	return true;
}

/* Lines "PLACE TYPE", or with sizes "PLACE SIZE TYPE". */
static bool read_types(const char *path, bool sizes)
{
	FILE *file = fopen(path, "re");
	char line[8192];
	while (file && fgets(line, sizeof(line), file)) {
		char *rest;
		struct key key = { strtoull(line, &rest, 16), 0 };
		if (sizes)
			key.size = strtoull(rest, &rest, 10);
		rest += strspn(rest, " ");
		rest[strcspn(rest, "\n")] = '\0';
		struct place *place = place_at(key);
		if (!place || !(place->type = strdup(rest)))
			return false;
	}
	if (!file || fclose(file)) {
		perror(path);
		return false;
	}
	return true;
}

static bool tell(const struct hsnap_snapshot *snapshot, hsnap_node_id n, struct key key)
{
	struct place *place = place_at(key);
	if (place && place->type)
		printf("%" PRIx64 " %" PRIu64 " %s\n", snapshot->graph.address[n], key.size, place->type);
	return place;
}

bool witness_classes(const struct hsnap_snapshot *snapshot, const char *classes)
{
	const struct hsnap_graph *graph = &snapshot->graph;
	if (!read_types(classes, false))
		return false;
	for (hsnap_node_id n = hsnap_first_block(graph); n < graph->num_nodes; n++)
		if (!tell(snapshot, n, (struct key){ memory_word(graph->address[n]), 0 }))
			return false;
	return true;
}

static void print_site(const struct hsnap_snapshot *snapshot, const struct place *place)
{
	const struct hsnap_stack *stack = &snapshot->stacks.items[place->key.place];
	printf("%" PRIx64 " %" PRIu64, place->key.place, place->key.size);
	uint64_t before = 0;
	for (uint32_t i = 0; i < stack->num_frames; i++) {
		const struct hsnap_frame *frame = &snapshot->frames.items[stack->first_frame + i];
		uint64_t pc = snapshot->modules.items[frame->module].base + frame->offset + 1;
		if (frame->module != HSNAP_NO_MODULE && pc != before) /* inlined functions stand at one place */
			printf(" %" PRIx64, pc);
		before = pc;
	}
	putchar('\n');
}

bool witness_sites(const struct hsnap_snapshot *snapshot)
{
	const struct hsnap_graph *graph = &snapshot->graph;
	for (hsnap_node_id n = hsnap_first_block(graph); n < graph->num_nodes; n++)
		if (graph->site[n] && !(graph->flags[n] & HSNAP_FLAG_NO_RECORD) &&
		    !place_at((struct key){ graph->site[n], hsnap_node_size(graph, n) }))
			return false;
	for (const struct place *place = places; place; place = place->hh.next)
		print_site(snapshot, place);
	return true;
}

bool witness_placed(const struct hsnap_snapshot *snapshot, const char *types)
{
	const struct hsnap_graph *graph = &snapshot->graph;
	if (!read_types(types, true))
		return false;
	for (hsnap_node_id n = hsnap_first_block(graph); n < graph->num_nodes; n++)
		if (graph->site[n] && !(graph->flags[n] & HSNAP_FLAG_NO_RECORD) &&
		    !tell(snapshot, n, (struct key){ graph->site[n], hsnap_node_size(graph, n) }))
			return false;
	return true;
}
