/* SPDX-License-Identifier: MIT */
/* compare.c - every field of two snapshots. */
#include "tests/support/compare.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct comparison {
	const struct hsnap_snapshot *a, *b;
	char *text;
	size_t text_size;
	bool differ;
};

static void __attribute__((format(printf, 2, 3))) differ(struct comparison *c, const char *format, ...)
{
	if (c->differ)
		return;
	c->differ = true;
	va_list args;
	va_start(args, format);
	vsnprintf(c->text, c->text_size, format, args);
	va_end(args);
}

static void number(struct comparison *c, const char *what, size_t i, uint64_t a, uint64_t b)
{
	if (a != b)
		differ(c, "%s %zu: %llu, %llu", what, i, (unsigned long long)a, (unsigned long long)b);
}

static void string(struct comparison *c, const char *what, size_t i, hsnap_string a, hsnap_string b)
{
	if (strcmp(hsnap_text(c->a, a), hsnap_text(c->b, b)))
		differ(c, "%s %zu: '%s', '%s'", what, i, hsnap_text(c->a, a), hsnap_text(c->b, b));
}

#define NUMBER(field) number(c, #field, i, a->field, b->field)
#define STRING(field) string(c, #field, i, a->field, b->field)
/* For each pair of items; stops at a difference in number. */
#define EACH(type, vec) \
	number(c, "number of " #vec, 0, c->a->vec.num, c->b->vec.num); \
	for (size_t i = 0; i < c->a->vec.num && !c->differ; i++) \
		for (const type *a = &c->a->vec.items[i], *b = &c->b->vec.items[i], *once = a; once; once = NULL)

static void compare_facts(struct comparison *c)
{
	const struct hsnap_facts *a = &c->a->facts, *b = &c->b->facts;
	size_t i = 0;
	NUMBER(pid), NUMBER(start_time), NUMBER(taken_at), NUMBER(pause_ns), NUMBER(elapsed_ns), NUMBER(epoch_start);
	STRING(comm), STRING(exe), STRING(source), STRING(freeze);
	NUMBER(basis), NUMBER(num_threads), NUMBER(searched_modules), NUMBER(searched_tls), NUMBER(rss), NUMBER(swap);
	NUMBER(heap_bytes), NUMBER(heap_usable), NUMBER(heap_count), NUMBER(no_record), NUMBER(overruns);
	NUMBER(allocated_bytes), NUMBER(allocated_count), NUMBER(freed_bytes), NUMBER(freed_count);
	for (i = 0; i < HSNAP_NUM_CONFIDENCES; i++)
		NUMBER(bytes_by_confidence[i]);
}

static void compare_account(struct comparison *c)
{
	const struct hsnap_account *a = &c->a->account, *b = &c->b->account;
	size_t i = 0;
	NUMBER(known);
	if (a->known) {
		NUMBER(rss), NUMBER(rss_anon), NUMBER(rss_file), NUMBER(rss_shmem), NUMBER(swap), NUMBER(huge);
		NUMBER(cgroup_limit), NUMBER(cgroup_use), NUMBER(cgroup_swap), NUMBER(heap_resident), NUMBER(live_resident);
		NUMBER(live_resident_usable), NUMBER(live_swapped), NUMBER(free), NUMBER(free_resident), NUMBER(free_count);
		NUMBER(biggest_free);
	}
}

static void compare_parts(struct comparison *c)
{
	EACH(struct hsnap_account_arena, account_arenas) {
		NUMBER(address), NUMBER(kind), NUMBER(locked), NUMBER(system), NUMBER(walked), NUMBER(free);
		NUMBER(free_resident), NUMBER(cached), NUMBER(top), NUMBER(biggest_free);
	}
	EACH(struct hsnap_account_part, account_parts) {
		NUMBER(kind), STRING(name), NUMBER(count), NUMBER(size), NUMBER(resident);
	}
}

static void compare_table(struct comparison *c, bool members)
{
	EACH(hsnap_string, partial_reasons)
		string(c, "reason", i, *a, *b);
	EACH(hsnap_string, notes)
		string(c, "note", i, *a, *b);
	EACH(struct hsnap_module, modules) {
		STRING(path), STRING(build_id), NUMBER(base), NUMBER(main), NUMBER(has_types);
	}
	EACH(struct hsnap_type, types) {
		STRING(name), STRING(full_name), STRING(holder), STRING(unit), NUMBER(line), NUMBER(module), NUMBER(kind);
		NUMBER(size), NUMBER(element);
		number(c, "members of type", i, members ? a->num_members : 0, b->num_members);
		if (a->num_members)
			number(c, "first member of type", i, members ? a->first_member : 0, b->first_member);
	}
	EACH(struct hsnap_row, rows) {
		NUMBER(type), NUMBER(state), NUMBER(count), NUMBER(bytes), NUMBER(usable), NUMBER(items), NUMBER(no_record);
		for (int k = 0; k < HSNAP_NUM_CONFIDENCES; k++)
			NUMBER(bytes_by_confidence[k]);
		NUMBER(sample);
	}
	EACH(struct hsnap_item_row, item_rows) {
		NUMBER(pool), NUMBER(type), NUMBER(state), NUMBER(confidence), NUMBER(count), NUMBER(bytes), NUMBER(sample);
	}
}

static void compare_members(struct comparison *c)
{
	EACH(struct hsnap_member, members) {
		STRING(name), NUMBER(offset), NUMBER(type);
	}
	EACH(struct hsnap_stack, stacks) {
		NUMBER(num_frames);
		if (a->num_frames)
			NUMBER(first_frame);
		NUMBER(decider), STRING(taker);
	}
	EACH(struct hsnap_frame, frames) {
		STRING(function), STRING(source), NUMBER(module), NUMBER(offset);
	}
	EACH(struct hsnap_pool, graph.pools) {
		NUMBER(node), NUMBER(type), NUMBER(evidence), NUMBER(header), NUMBER(first), NUMBER(stride), NUMBER(size);
		NUMBER(first_item), NUMBER(num_items);
	}
	EACH(uint32_t, graph.items)
		number(c, "place of object", i, *a, *b);
	EACH(struct hsnap_grounds, grounds) {
		NUMBER(evidence), NUMBER(conflicts), NUMBER(more), NUMBER(num_others), STRING(rule);
		if (a->num_others)
			NUMBER(first_other);
	}
	EACH(struct hsnap_other, others) {
		NUMBER(type), NUMBER(evidence), NUMBER(verdict);
	}
	EACH(struct hsnap_root, graph.roots) {
		NUMBER(kind), NUMBER(weak), STRING(name), STRING(source), STRING(function), STRING(thread), NUMBER(module);
	}
}

static void compare_nodes(struct comparison *c)
{
	const struct hsnap_graph *a = &c->a->graph, *b = &c->b->graph;
	size_t i = 0;
	NUMBER(num_roots), NUMBER(num_blocks);
	uint32_t nodes = 1 + a->num_roots + a->num_blocks;
	for (i = 1; i < nodes && !c->differ; i++) {
		hsnap_node_id node = (hsnap_node_id)i;
		NUMBER(address[i]), NUMBER(type[i]), NUMBER(site[i]), NUMBER(epoch[i]), NUMBER(flags[i]);
		number(c, "size of node", i, hsnap_node_size(a, node), hsnap_node_size(b, node));
		number(c, "usable size of node", i, hsnap_node_usable(a, node), hsnap_node_usable(b, node));
	}
	NUMBER(big.num);
}

/* What is not there is all 0. */
static void compare_grounds(struct comparison *c)
{
	const struct hsnap_graph *a = &c->a->graph, *b = &c->b->graph;
	for (size_t i = 1; i < 1 + (size_t)a->num_roots + a->num_blocks; i++)
		number(c, "grounds of node", i, a->grounds ? a->grounds[i] : 0, b->grounds ? b->grounds[i] : 0);
}

static void compare_edges(struct comparison *c)
{
	const struct hsnap_graph *a = &c->a->graph, *b = &c->b->graph;
	size_t i = 0;
	NUMBER(num_edges);
	if (c->differ)
		return;
	for (i = 0; i <= 1 + (size_t)a->num_roots + a->num_blocks && a->first_edge; i++)
		NUMBER(first_edge[i]);
	for (i = 0; i < a->num_edges && !c->differ; i++)
		NUMBER(edge_to[i]), NUMBER(edge_offset[i]);
}

static void compare_edge_items(struct comparison *c)
{
	EACH(uint32_t, graph.edge_items)
		number(c, "object of edge", i, *a, *b);
}

bool snapshots_equal(const struct hsnap_snapshot *a, const struct hsnap_snapshot *b, unsigned what, char *text,
		     size_t text_size)
{
	struct comparison c = { .a = a, .b = b, .text = text, .text_size = text_size };
	if (what & (HSNAP_LOAD_EDGES | HSNAP_LOAD_GROUNDS))
		what |= HSNAP_LOAD_NODES;
	if (what & HSNAP_LOAD_NODES)
		what |= HSNAP_LOAD_MEMBERS;
	text[0] = '\0';
	compare_facts(&c);
	compare_account(&c);
	compare_parts(&c);
	compare_table(&c, what & HSNAP_LOAD_MEMBERS);
	if (what & HSNAP_LOAD_MEMBERS && !c.differ)
		compare_members(&c);
	if (what & HSNAP_LOAD_NODES && !c.differ)
		compare_nodes(&c);
	if (what & HSNAP_LOAD_GROUNDS && !c.differ)
		compare_grounds(&c);
	if (what & HSNAP_LOAD_EDGES && !c.differ)
		compare_edges(&c);
	if (what & HSNAP_LOAD_EDGES && !c.differ)
		compare_edge_items(&c);
	return !c.differ;
}
