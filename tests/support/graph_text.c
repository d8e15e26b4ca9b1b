/* SPDX-License-Identifier: MIT */
/* graph_text.c - the parser of graph_text.h. */
#include "tests/support/graph_text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/base/cleanup.h"

/* The names of the last snapshot built, by node. */
static struct hsnap_vec(char *) node_names;

static void __attribute__((noreturn, format(printf, 1, 2))) mistake(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fputs("graph_text: ", stderr);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}

static void need(bool done)
{
	if (!done)
		mistake("out of memory");
}

/* Call use() for a copy of each word. */
static void each_word(struct hsnap_snapshot *snapshot, const char *text,
		      void (*use)(struct hsnap_snapshot *snapshot, char *word))
{
	hsnap_auto(hsnap_freep) char *copy = strdup(text ? text : "");
	char *state = NULL;
	for (char *word = strtok_r(copy, " \t\n", &state); word; word = strtok_r(NULL, " \t\n", &state))
		use(snapshot, word);
}

/* Cut "x<mark>y" in two and answer y; NULL where the mark is missing. */
static char *cut(char *word, char mark)
{
	char *at = strrchr(word, mark);
	if (at)
		*at++ = '\0';
	return at;
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);
	if (end == text || *end)
		mistake("'%s' is no number", text);
	return value;
}

static hsnap_string add(struct hsnap_snapshot *snapshot, const char *text)
{
	return text ? hsnap_strings_add(&snapshot->strings, text) : 0;
}

static hsnap_string add_spaced(struct hsnap_snapshot *snapshot, char *text)
{
	for (char *c = text; c && *c; c++)
		if (*c == '_')
			*c = ' ';
	return add(snapshot, text);
}

/* ---- types ---- */

static hsnap_type_id find_type(const struct hsnap_snapshot *snapshot, hsnap_string name, hsnap_string holder)
{
	for (hsnap_type_id id = 1; id < snapshot->types.num; id++)
		if (snapshot->types.items[id].name == name && snapshot->types.items[id].holder == holder)
			return id;
	return HSNAP_NO_TYPE;
}

static uint32_t first_module(const struct hsnap_snapshot *snapshot)
{
	return snapshot->modules.num > 1 ? 1 : 0;
}

static hsnap_type_id new_type(struct hsnap_snapshot *snapshot, struct hsnap_type type)
{
	type.full_name = type.name;
	type.module = first_module(snapshot);
	need(hsnap_vec_push(&snapshot->types, type));
	return (hsnap_type_id)snapshot->types.num - 1;
}

static uint64_t scalar_size(const char *name)
{
	static const struct { const char *name; uint64_t size; } scalars[] = {
		{ "char", 1 }, { "int", 4 }, { "long", 8 }, { "void", 0 },
	};
	for (size_t i = 0; i < sizeof(scalars) / sizeof(*scalars); i++)
		if (!strcmp(scalars[i].name, name))
			return scalars[i].size;
	return UINT64_MAX;
}

/* The type that "T", "T*", "T[]" or "T[3]" names, made if it is not there. */
static hsnap_type_id type_named(struct hsnap_snapshot *snapshot, const char *name, hsnap_string holder)
{
	hsnap_string interned = add(snapshot, name);
	hsnap_type_id found = find_type(snapshot, interned, holder);
	if (found)
		return found;
	struct hsnap_type type = { .name = interned, .holder = holder };
	size_t len = strlen(name);
	hsnap_auto(hsnap_freep) char *base = strdup(name);
	char *bracket = len && name[len - 1] == ']' ? strrchr(base, '[') : NULL;
	if (bracket) {
		*bracket++ = '\0';
		type.kind = HSNAP_TYPE_ARRAY;
		type.element = type_named(snapshot, base, 0);
		if (*bracket != ']') {
			*strchr(bracket, ']') = '\0';
			type.size = number(bracket) * snapshot->types.items[type.element].size;
		}
	} else if (len && name[len - 1] == '*') {
		base[len - 1] = '\0';
		type.kind = HSNAP_TYPE_POINTER;
		type.size = 8;
		type.element = type_named(snapshot, base, 0);
	} else if (scalar_size(name) != UINT64_MAX) {
		type.kind = HSNAP_TYPE_SCALAR;
		type.size = scalar_size(name);
	} else {
		type.kind = HSNAP_TYPE_STRUCT; /* perhaps defined later in the text */
	}
	return new_type(snapshot, type);
}

/* What stands for a type in a block's word: also "label:…". */
static hsnap_type_id type_or_label(struct hsnap_snapshot *snapshot, char *word, hsnap_string holder)
{
	if (strncmp(word, "label:", 6))
		return type_named(snapshot, word, holder);
	add_spaced(snapshot, word + 6);
	hsnap_type_id id = type_named(snapshot, word + 6, holder);
	snapshot->types.items[id].kind = HSNAP_TYPE_LABEL;
	return id;
}

static void add_members(struct hsnap_snapshot *snapshot, hsnap_type_id id, char *list)
{
	struct hsnap_vec(struct hsnap_member) members = { 0 };
	char *state = NULL;
	for (char *word = strtok_r(list, ",", &state); word; word = strtok_r(NULL, ",", &state)) {
		char *offset = cut(word, '@'), *type = strchr(word, ':');
		if (!offset || !type)
			mistake("member '%s' is not NAME:TYPE@OFFSET", word);
		*type++ = '\0';
		need(hsnap_vec_push(&members, (struct hsnap_member){
			.name = add(snapshot, word), .offset = number(offset), .type = type_named(snapshot, type, 0) }));
	}
	snapshot->types.items[id].first_member = (uint32_t)snapshot->members.num;
	snapshot->types.items[id].num_members = (uint32_t)members.num;
	for (size_t i = 0; i < members.num; i++)
		need(hsnap_vec_push(&snapshot->members, members.items[i]));
	hsnap_vec_deinit(&members);
}

static void add_type(struct hsnap_snapshot *snapshot, char *word)
{
	char *brace = strchr(word, '{'), *tail = brace ? strrchr(word, '}') : word;
	if (!tail)
		mistake("type '%s' has no }", word);
	char *holder = cut(tail, '^'), *unit = cut(tail, '%');
	if (brace) {
		*brace++ = '\0';
		*tail = '\0';
	}
	char *size = cut(word, '=');
	bool is_union = !strncmp(word, "union:", 6) && word[6] != ':';
	hsnap_type_id id = type_or_label(snapshot, is_union ? word + 6 : word, add_spaced(snapshot, holder));
	if (is_union)
		snapshot->types.items[id].kind = HSNAP_TYPE_UNION;
	snapshot->types.items[id].unit = add(snapshot, unit);
	if (size)
		snapshot->types.items[id].size = number(size);
	if (brace)
		add_members(snapshot, id, brace);
}

hsnap_type_id type_from_text(const struct hsnap_snapshot *snapshot, const char *name)
{
	for (hsnap_type_id id = 1; id < snapshot->types.num; id++)
		if (!strcmp(hsnap_text(snapshot, snapshot->types.items[id].name), name))
			return id;
	mistake("no type '%s'", name);
}

/* ---- modules, stacks ---- */

static void add_module(struct hsnap_snapshot *snapshot, char *word)
{
	char *build_id = cut(word, '=');
	size_t index = snapshot->modules.num;
	need(hsnap_vec_push(&snapshot->modules, (struct hsnap_module){
		.path = add(snapshot, word), .build_id = add(snapshot, build_id),
		.base = 0x400000 * index, .main = index == 1, .has_types = true }));
}

static void add_stack(struct hsnap_snapshot *snapshot, char *word)
{
	struct hsnap_stack stack = { .first_frame = (uint32_t)snapshot->frames.num };
	char *state = NULL;
	for (char *frame = strtok_r(word, "<", &state); frame; frame = strtok_r(NULL, "<", &state)) {
		char *source = cut(frame, '(');
		if (source)
			cut(source, ')');
		uint64_t offset = 0x1000 + 16 * snapshot->frames.num;
		need(hsnap_vec_push(&snapshot->frames, (struct hsnap_frame){
			.function = add(snapshot, frame), .source = add(snapshot, source),
			.module = first_module(snapshot), .offset = offset }));
		stack.num_frames++;
	}
	need(hsnap_vec_push(&snapshot->stacks, stack));
}

/* ---- nodes: first they are gathered, then the columns are made ---- */

struct block {
	hsnap_type_id type;
	uint64_t address, size, slack;
	uint32_t site;
	uint8_t flags;
	char *name;
};

static struct hsnap_vec(struct block) blocks;
static uint64_t next_address;

static void set_name(hsnap_node_id node, const char *name)
{
	while (node_names.num <= node)
		need(hsnap_vec_push(&node_names, NULL));
	node_names.items[node] = strdup(name);
}

static int compare_blocks(const void *a, const void *b)
{
	const struct block *left = a, *right = b;
	return left->address < right->address ? -1 : left->address > right->address;
}

static uint8_t confidence_named(const char *name)
{
	for (int c = 0; c < HSNAP_NUM_CONFIDENCES; c++)
		if (!strcmp(hsnap_confidence_name((enum hsnap_confidence)c), name))
			return (uint8_t)c;
	mistake("no confidence '%s'", name);
}

static void add_block(struct hsnap_snapshot *snapshot, char *word)
{
	char *site = cut(word, '&'), *confidence = cut(word, '!'), *address = cut(word, '@'), *slack = cut(word, '+'),
	     *size = cut(word, '/'), *holder = cut(word, '^'), *type = strchr(word, ':');
	if (type)
		*type++ = '\0';
	char *count = cut(word, '*');
	struct block block = { .size = 10 };
	if (type) {
		block.type = type_or_label(snapshot, type, add_spaced(snapshot, holder));
		if (snapshot->types.items[block.type].size)
			block.size = snapshot->types.items[block.type].size;
	}
	block.flags = confidence ? confidence_named(confidence) : type ? HSNAP_PROVED : HSNAP_UNKNOWN;
	block.site = site ? (uint32_t)number(site) : HSNAP_NO_SITE;
	if (size)
		block.size = number(size);
	block.slack = slack ? number(slack) : 0;
	if (address)
		next_address = number(address);
	for (uint64_t i = 0, num = count ? number(count) : 1; i < num; i++) {
		block.address = next_address;
		next_address = (block.address + block.size + block.slack + 16) & ~(uint64_t)15;
		need(asprintf(&block.name, count ? "%s%llu" : "%s", word, (unsigned long long)i) >= 0);
		need(hsnap_vec_push(&blocks, block));
	}
}

static uint8_t root_kind_named(const char *name)
{
	for (int kind = 0; kind < HSNAP_NUM_ROOT_KINDS; kind++)
		if (!strcmp(hsnap_root_kind_name((enum hsnap_root_kind)kind), name))
			return (uint8_t)kind;
	mistake("no kind of roots '%s'", name);
}

static struct hsnap_vec(hsnap_type_id) root_types;

static void add_root(struct hsnap_snapshot *snapshot, char *word)
{
	struct hsnap_root root = { .module = first_module(snapshot) };
	size_t len = strlen(word);
	if (len && word[len - 1] == '!') {
		root.weak = true;
		word[len - 1] = '\0';
	}
	char *thread = cut(word, '%'), *function = cut(word, '/'), *source = cut(word, '@'), *type = cut(word, '='),
	     *name = strchr(word, ':');
	if (!name)
		mistake("root '%s' is not KIND:NAME", word);
	*name++ = '\0';
	root.kind = root_kind_named(word);
	root.weak |= root.kind == HSNAP_ROOT_MAPPING;
	root.name = add(snapshot, name);
	root.source = add(snapshot, source);
	root.function = add(snapshot, function);
	root.thread = add(snapshot, thread);
	need(hsnap_vec_push(&root_types, type ? type_named(snapshot, type, 0) : HSNAP_NO_TYPE));
	need(hsnap_vec_push(&snapshot->graph.roots, root));
	set_name((hsnap_node_id)snapshot->graph.roots.num, name);
}

static void make_nodes(struct hsnap_snapshot *snapshot)
{
	struct hsnap_graph *graph = &snapshot->graph;
	need(!hsnap_graph_alloc_nodes(graph, (uint32_t)graph->roots.num, (uint32_t)blocks.num, NULL));
	for (uint32_t r = 0; r < graph->num_roots; r++)
		graph->type[1 + r] = root_types.items[r];
	if (blocks.num)
		qsort(blocks.items, blocks.num, sizeof(*blocks.items), compare_blocks);
	for (uint32_t i = 0; i < graph->num_blocks; i++) {
		const struct block *block = &blocks.items[i];
		hsnap_node_id node = hsnap_first_block(graph) + i;
		graph->address[node] = block->address;
		graph->type[node] = block->type;
		graph->site[node] = block->site;
		graph->flags[node] = block->flags;
		need(hsnap_node_set_size(graph, node, block->size, block->size + block->slack));
		set_name(node, block->name);
		free(block->name);
	}
}

hsnap_node_id node_from_text(const char *name)
{
	for (hsnap_node_id node = 1; node < node_names.num; node++)
		if (node_names.items[node] && !strcmp(node_names.items[node], name))
			return node;
	mistake("no block or root '%s'", name);
}

const char *node_to_text(hsnap_node_id node)
{
	if (node == HSNAP_NO_NODE)
		return "-";
	return node && node < node_names.num ? node_names.items[node] : "root";
}

/* ---- edges ---- */

struct edge {
	hsnap_node_id from;
	uint32_t to, offset;
};

static struct hsnap_vec(struct edge) edges;

static void add_edge(struct hsnap_snapshot *snapshot, char *word)
{
	(void)snapshot;
	bool weak = strchr(word, '~');
	char *to = cut(word, weak ? '~' : '>'), *offset = cut(word, '.');
	if (!to)
		mistake("edge '%s' is not FROM>TO or FROM~TO", word);
	struct edge edge = { .from = node_from_text(word), .to = node_from_text(to) };
	if (weak)
		edge.to |= HSNAP_EDGE_WEAK;
	if (offset)
		edge.offset = (uint32_t)number(offset);
	else
		for (size_t i = 0; i < edges.num; i++)
			edge.offset += edges.items[i].from == edge.from ? 8 : 0;
	need(hsnap_vec_push(&edges, edge));
}

static int compare_edges(const void *a, const void *b)
{
	const struct edge *left = a, *right = b;
	if (left->from != right->from)
		return left->from < right->from ? -1 : 1;
	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static void make_edges(struct hsnap_snapshot *snapshot)
{
	struct hsnap_graph *graph = &snapshot->graph;
	need(!hsnap_graph_alloc_edges(graph, edges.num, NULL));
	if (edges.num)
		qsort(edges.items, edges.num, sizeof(*edges.items), compare_edges);
	for (size_t i = 0; i < edges.num; i++) {
		graph->first_edge[edges.items[i].from + 1]++;
		graph->edge_to[i] = edges.items[i].to;
		graph->edge_offset[i] = edges.items[i].offset;
	}
	for (hsnap_node_id node = 0; node < graph->num_nodes; node++)
		graph->first_edge[node + 1] += graph->first_edge[node];
}

/* Free what was gathered, so that a second snapshot can be built. */
static void reset(void)
{
	for (size_t i = 0; i < node_names.num; i++)
		free(node_names.items[i]);
	hsnap_vec_deinit(&node_names);
	hsnap_vec_deinit(&blocks);
	hsnap_vec_deinit(&edges);
	hsnap_vec_deinit(&root_types);
	next_address = 0x10000;
}

static void add_account(struct hsnap_snapshot *snapshot)
{
	snapshot->account = (struct hsnap_account){
		.known = true, .rss = 101, .rss_anon = 102, .rss_file = 103, .rss_shmem = HSNAP_NOT_KNOWN, .swap = 105, .huge = 106,
		.cgroup_limit = 107, .cgroup_use = 108, .cgroup_swap = 109, .heap_resident = 110, .live_resident = 111,
		.live_resident_usable = 112, .live_swapped = 113, .free = 114, .free_resident = 115, .free_count = 116,
		.biggest_free = HSNAP_ACCOUNT_MAX,
	};
	need(hsnap_vec_push(&snapshot->account_arenas, (struct hsnap_account_arena){
		.address = 0x7f0000001234, .kind = HSNAP_ARENA_THREADS, .locked = true, .system = 201, .walked = 202, .free = 203,
		.free_resident = 204, .cached = 205, .top = 206, .biggest_free = 207 }));
	need(hsnap_vec_push(&snapshot->account_parts, (struct hsnap_account_part){
		.kind = HSNAP_PART_SHARED, .name = hsnap_strings_add(&snapshot->strings, "/dev/shm/ring"), .count = 301, .size = 302,
		.resident = 303 }));
}

struct hsnap_snapshot *snapshot_from_text(const struct graph_text *text)
{
	struct hsnap_snapshot *snapshot = hsnap_snapshot_create();
	need(snapshot);
	reset();
	each_word(snapshot, text->modules ? text->modules : "/usr/bin/app=c0ffee", add_module);
	each_word(snapshot, text->types, add_type);
	each_word(snapshot, text->stacks, add_stack);
	each_word(snapshot, text->roots, add_root);
	each_word(snapshot, text->blocks, add_block);
	make_nodes(snapshot);
	each_word(snapshot, text->edges, add_edge);
	make_edges(snapshot);
	if (text->account)
		add_account(snapshot);
	if (text->keep_states)
		return snapshot;
	need(!hsnap_snapshot_mark(snapshot, NULL));
	need(!hsnap_snapshot_summarize(snapshot, NULL));
	return snapshot;
}
