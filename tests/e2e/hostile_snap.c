/* SPDX-License-Identifier: MIT */
/*
 * hostile_snap.c - a snapshot that is whole, and made to take long or to look like something else.
 *
 *	hostile-snap KIND NUM FILE
 *
 * KIND: chain, NUM blocks one behind the other from a root; lost, the same without a root; self, each leads to itself;
 * ring, all in one circle; all, each to each other; names, NUM types with names that no terminal is to see; numbers, the
 * greatest there are; nested, NUM types within each other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/snapshot.h"

#define LONG_NAME 300000u

static void need(bool done)
{
	if (done)
		return;
	fputs("hostile-snap: out of memory, or the snapshot cannot be written\n", stderr);
	exit(1);
}

static hsnap_type_id add_type(struct hsnap_snapshot *s, const char *name, uint8_t kind, uint64_t size)
{
	hsnap_string string = hsnap_strings_add(&s->strings, name);
	struct hsnap_type type = { .name = string, .full_name = string, .kind = kind, .size = size };
	need(string != HSNAP_NO_STRING && hsnap_vec_push(&s->types, type));
	return (hsnap_type_id)s->types.num - 1;
}

static void add_member(struct hsnap_snapshot *s, const char *name, hsnap_type_id type)
{
	struct hsnap_type *of = &s->types.items[s->types.num - 1];
	of->first_member = of->num_members ? of->first_member : (uint32_t)s->members.num;
	of->num_members++;
	need(hsnap_vec_push(&s->members, (struct hsnap_member){ .name = hsnap_strings_add(&s->strings, name), .type = type }));
}

/* Blocks of 32 bytes; roots lead to the first. */
static void add_blocks(struct hsnap_snapshot *s, uint32_t roots, uint32_t num, uint64_t edges)
{
	struct hsnap_graph *graph = &s->graph;
	for (uint32_t i = 0; i < roots; i++)
		need(hsnap_vec_push(&graph->roots, (struct hsnap_root){ .name = hsnap_strings_add(&s->strings, "first") }));
	need(!hsnap_graph_alloc_nodes(graph, roots, num, NULL) && !hsnap_graph_alloc_edges(graph, roots + edges, NULL));
	for (uint32_t i = 0; i < num; i++) {
		graph->address[1 + roots + i] = 0x10000 + 48 * (uint64_t)i;
		graph->type[1 + roots + i] = 1 + i % (uint32_t)(s->types.num - 1);
		graph->flags[1 + roots + i] = HSNAP_EXACT;
		need(hsnap_node_set_size(graph, 1 + roots + i, 32, 40));
	}
}

/* So many edges a block, the first to where `to` says, the others to those behind it. */
static void connect(struct hsnap_snapshot *s, uint32_t each, uint32_t (*to)(uint32_t block, uint32_t num))
{
	struct hsnap_graph *graph = &s->graph;
	uint32_t edge = 0, first = hsnap_first_block(graph), num = graph->num_blocks;
	for (hsnap_node_id node = 1; node < graph->num_nodes; node++) {
		graph->first_edge[node] = edge;
		uint32_t target = node < first ? 0 : to(node - first, num);
		for (uint32_t i = 0; i < (node < first ? 1 : each); i++) {
			if (target >= num)
				continue;
			graph->edge_to[edge] = first + (target + i) % num;
			graph->edge_offset[edge++] = 8 * (i % 4);
		}
		if (each > 4 && node >= first) /* all at one place */
			memset(graph->edge_offset + graph->first_edge[node], 0, each * sizeof(*graph->edge_offset));
	}
	graph->first_edge[graph->num_nodes] = edge;
}

static uint32_t next(uint32_t block, uint32_t num)
{
	(void)num;
	return block + 1;
}

static uint32_t itself(uint32_t block, uint32_t num)
{
	(void)num;
	return block;
}

static uint32_t round_about(uint32_t block, uint32_t num)
{
	return (block + 1) % num;
}

static void make_names(struct hsnap_snapshot *s, uint32_t num)
{
	static const char *const names[] = {
		"\033]0;owned\007", "\033[2J\033[31mred", "two\nlines", "tab\tbed", "\xff\xfe", "\xc3", "\xed\xa0\x80", "\xe2\x80\xae" "evil",
		"a\"b\\c", "=cmd()", ",,,", "\xf4\x90\x80\x80", "\xc2\x9b" "31m", " ", "%s%n%s%n", "\x7f",
		"\u202aa", "\u202bb", "\u202cc", "\u202dd", "\u202ee", "\u2066f", "\u2067g", "\u2068h", "\u2069i", "\u200fj", "\u061ck",
	};
	const size_t num_names = sizeof(names) / sizeof(*names);
	char *name = malloc(LONG_NAME + 1);
	need(name);
	memset(name, '<', LONG_NAME);
	name[LONG_NAME] = '\0';
	add_type(s, name, HSNAP_TYPE_STRUCT, 32);
	free(name);
	for (uint32_t i = 0; i < num; i++) {
		char numbered[64];
		snprintf(numbered, sizeof(numbered), "%s%u", names[i % num_names], i);
		add_type(s, numbered, HSNAP_TYPE_STRUCT, 32);
		add_member(s, numbered, 0);
	}
	hsnap_string bad = hsnap_strings_add(&s->strings, "\033[2J\033[31mred \u202edet\u2066as");
	s->facts.comm = s->facts.exe = s->facts.source = s->facts.freeze = bad;
	need(hsnap_vec_push(&s->notes, bad) && hsnap_vec_push(&s->partial_reasons, bad));
}

static void greatest_numbers(struct hsnap_snapshot *s)
{
	struct hsnap_facts *f = &s->facts;
	uint64_t *const facts[] = { &f->pid, &f->start_time, &f->taken_at, &f->pause_ns, &f->elapsed_ns, &f->epoch_start, &f->rss, &f->swap,
		&f->heap_bytes, &f->heap_usable, &f->heap_count, &f->no_record, &f->overruns, &f->allocated_bytes, &f->allocated_count,
		&f->freed_bytes, &f->freed_count };
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
		*facts[i] = UINT64_MAX;
	for (int c = 0; c < HSNAP_NUM_CONFIDENCES; c++)
		f->bytes_by_confidence[c] = UINT64_MAX;
	for (size_t i = 0; i < s->rows.num; i++) {
		struct hsnap_row *row = &s->rows.items[i];
		row->bytes = row->count = row->usable = row->items = row->no_record = row->sample = UINT64_MAX;
	}
	for (size_t i = 1; i < s->types.num; i++)
		s->types.items[i].size = UINT64_MAX;
}

static void make_nested(struct hsnap_snapshot *s, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++) {
		hsnap_type_id before = (hsnap_type_id)s->types.num - 1;
		add_type(s, i == num - 1 ? "Nested" : "Inner", HSNAP_TYPE_STRUCT, 32);
		add_member(s, "inner", before);
	}
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	const char *kind = argv[1];
	uint32_t num = (uint32_t)strtoul(argv[2], NULL, 10);
	struct hsnap_snapshot *s = hsnap_snapshot_create();
	need(s);
	if (!strcmp(kind, "names"))
		make_names(s, num);
	else if (!strcmp(kind, "nested"))
		make_nested(s, num);
	else
		add_type(s, "Node", HSNAP_TYPE_STRUCT, 32);
	if (!strcmp(kind, "all")) {
		add_blocks(s, 1, num, (uint64_t)num * num);
		connect(s, num, itself);
	} else if (!strcmp(kind, "lost")) {
		add_blocks(s, 0, num, num - 1);
		connect(s, 1, next);
	} else if (!strcmp(kind, "chain")) {
		add_blocks(s, 1, num, num - 1);
		connect(s, 1, next);
	} else if (!strcmp(kind, "self")) {
		add_blocks(s, 1, num, num);
		connect(s, 1, itself);
	} else {
		add_blocks(s, !strcmp(kind, "ring") ? 0 : 1, num, num);
		connect(s, 1, round_about);
	}
	need(!hsnap_snapshot_mark(s, NULL) && !hsnap_snapshot_summarize(s, NULL));
	if (!strcmp(kind, "numbers"))
		greatest_numbers(s);
	struct hsnap_error err = { 0 };
	if (hsnap_snapshot_write(s, argv[3], true, NULL, &err)) {
		fprintf(stderr, "hostile-snap: %s\n", err.message);
		return 1;
	}
	hsnap_snapshot_destroy(s);
	return 0;
}
