/* SPDX-License-Identifier: MIT */
/*
 * bookstore.c DIR - write the snapshots behind the golden cases: DIR/a.snap and DIR/b.snap.
 *
 * They hold the C bookstore with round figures: 120,000 books, and 16,604 (a) or
 * 35,123 (b) checkouts, each of which keeps a quote and a handler for good.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/snapshot.h"

/* Everything that differs between the two snapshots. */
struct truth {
	const char *file;
	uint64_t taken_at;
	uint32_t checkouts, chains, receipts, slots;
	uint64_t items, key_bytes;
	uint64_t overhead, free, rss; /* bytes */
	bool walked; /* taken without the agent: only usable sizes are known */
};

static const struct truth truths[] = {
	{ "a.snap", 1796001860000000000u, 16604, 14001, 166, 32768, 41417, 1731011, 10097013, 12662540, 106741760 },
	{ "b.snap", 1796001887000000000u, 35123, 27204, 351, 65536, 87720, 3661666, 12892077, 12653629, 124170240 },
	{ "walked1.snap", 1796001860000000000u, 16604, 14001, 166, 32768, 41417, 1731011, 8140508, 12662540, 106741760, true },
	{ "walked2.snap", 1796001887000000000u, 35123, 27204, 351, 65536, 87720, 3661666, 10417971, 12653629, 124170240, true },
};

enum { BOOKS = 120000, BOOK_SLOTS = 131072 };

enum type {
	T_UNKNOWN, T_CHAR, T_CHAR_P, T_VOID_P, T_LONG,
	T_BOOK, T_BOOK_P, T_BOOK_PP, T_BOOKS, T_CATALOGUE,
	T_NODE, T_NODE_P, T_NODE_PP, T_NODES, T_CACHE,
	T_ENTRY, T_ENTRY_P, T_QUOTE, T_QUOTE_P, T_LINE, T_LINE_P, T_LINES,
	T_HANDLER, T_HANDLER_P, T_HANDLER_PP, T_HANDLERS, T_HUB, T_PAGE,
	T_RECEIPT, T_POOL,
	T_TITLE, T_BLURB, T_KEY, T_TEXT, T_SPARE,
	T_LABELS, /* six of them */
	NUM_TYPES = T_LABELS + 6,
};

enum root { R_CATALOGUE, R_CACHE, R_HUB, R_POOL, R_LIBC, NUM_ROOTS };

struct edge {
	uint32_t to, offset;
};

static struct hsnap_snapshot *snapshot;
static struct hsnap_vec(struct edge) edges;
static hsnap_node_id next_node;
static uint64_t next_address;
static bool walked; /* sizes are usable ones */

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bookstore: %s\n", what);
	exit(1);
}

static hsnap_string text(const char *words)
{
	return hsnap_strings_add(&snapshot->strings, words);
}

static void declare(enum type id, const char *name, enum hsnap_type_kind kind, uint64_t size, enum type element)
{
	snapshot->types.items[id] = (struct hsnap_type){
		.name = text(name), .full_name = text(name), .kind = kind, .size = size, .element = element, .module = 1,
	};
}

static void place(enum type id, const char *unit, uint32_t line)
{
	snapshot->types.items[id].unit = text(unit);
	snapshot->types.items[id].line = line;
}

static void member(enum type id, const char *name, uint64_t offset, enum type type)
{
	struct hsnap_type *owner = &snapshot->types.items[id];
	if (!owner->num_members)
		owner->first_member = (uint32_t)snapshot->members.num;
	owner->num_members++;
	must(hsnap_vec_push(&snapshot->members, (struct hsnap_member){ text(name), offset, type }), "no memory");
}

static void held_chars(enum type id, const char *holder)
{
	declare(id, "char[]", HSNAP_TYPE_ARRAY, 0, T_CHAR);
	snapshot->types.items[id].holder = text(holder);
}

static void declare_scalars_and_texts(void)
{
	declare(T_CHAR, "char", HSNAP_TYPE_SCALAR, 1, 0);
	declare(T_LONG, "long", HSNAP_TYPE_SCALAR, 8, 0);
	declare(T_CHAR_P, "char *", HSNAP_TYPE_POINTER, 8, T_CHAR);
	declare(T_VOID_P, "void *", HSNAP_TYPE_POINTER, 8, 0);
	held_chars(T_TITLE, "in Book.title");
	held_chars(T_BLURB, "in Book.blurb");
	held_chars(T_KEY, "in DictNode.key");
	held_chars(T_TEXT, "in Receipt.text");
	held_chars(T_SPARE, "in BufferPool.spare");
}

static void declare_catalogue(void)
{
	declare(T_BOOK, "Book", HSNAP_TYPE_STRUCT, 144, 0);
	place(T_BOOK, "/src/catalogue.h", 8);
	member(T_BOOK, "title", 0, T_CHAR_P);
	member(T_BOOK, "blurb", 8, T_CHAR_P);
	declare(T_BOOK_P, "Book *", HSNAP_TYPE_POINTER, 8, T_BOOK);
	declare(T_BOOK_PP, "Book **", HSNAP_TYPE_POINTER, 8, T_BOOK_P);
	declare(T_BOOKS, "Book *[]", HSNAP_TYPE_ARRAY, 0, T_BOOK_P);
	declare(T_CATALOGUE, "Catalogue", HSNAP_TYPE_STRUCT, 16, 0);
	member(T_CATALOGUE, "books", 0, T_BOOK_PP);
	member(T_CATALOGUE, "num_books", 8, T_LONG);
	declare(T_POOL, "BufferPool", HSNAP_TYPE_STRUCT, 16, 0);
	member(T_POOL, "spare", 0, T_CHAR_P);
}

static void declare_cache(void)
{
	declare(T_NODE, "DictNode", HSNAP_TYPE_STRUCT, 32, 0);
	declare(T_NODE_P, "DictNode *", HSNAP_TYPE_POINTER, 8, T_NODE);
	place(T_NODE, "/src/dict.h", 5);
	member(T_NODE, "next", 0, T_NODE_P);
	member(T_NODE, "key", 8, T_CHAR_P);
	member(T_NODE, "value", 16, T_ENTRY_P);
	declare(T_NODE_PP, "DictNode **", HSNAP_TYPE_POINTER, 8, T_NODE_P);
	declare(T_NODES, "DictNode *[]", HSNAP_TYPE_ARRAY, 0, T_NODE_P);
	declare(T_CACHE, "QuoteCache", HSNAP_TYPE_STRUCT, 24, 0);
	member(T_CACHE, "buckets", 0, T_NODE_PP);
	declare(T_ENTRY, "CacheEntry", HSNAP_TYPE_STRUCT, 104, 0);
	place(T_ENTRY, "/src/cache.h", 14);
	member(T_ENTRY, "quote", 16, T_QUOTE_P);
	declare(T_ENTRY_P, "CacheEntry *", HSNAP_TYPE_POINTER, 8, T_ENTRY);
	declare(T_QUOTE, "Quote", HSNAP_TYPE_STRUCT, 88, 0);
	place(T_QUOTE, "/src/quote.h", 11);
	member(T_QUOTE, "lines", 24, T_LINE_P);
	declare(T_QUOTE_P, "Quote *", HSNAP_TYPE_POINTER, 8, T_QUOTE);
	declare(T_LINE, "PricedLine", HSNAP_TYPE_STRUCT, 80, 0);
	place(T_LINE, "/src/quote.h", 4);
	declare(T_LINE_P, "PricedLine *", HSNAP_TYPE_POINTER, 8, T_LINE);
	declare(T_LINES, "PricedLine[]", HSNAP_TYPE_ARRAY, 0, T_LINE);
}

static void declare_events(void)
{
	declare(T_HANDLER, "Handler", HSNAP_TYPE_STRUCT, 40, 0);
	place(T_HANDLER, "/src/events.h", 9);
	member(T_HANDLER, "ctx", 8, T_VOID_P);
	declare(T_HANDLER_P, "Handler *", HSNAP_TYPE_POINTER, 8, T_HANDLER);
	declare(T_HANDLER_PP, "Handler **", HSNAP_TYPE_POINTER, 8, T_HANDLER_P);
	declare(T_HANDLERS, "Handler *[]", HSNAP_TYPE_ARRAY, 0, T_HANDLER_P);
	declare(T_HUB, "EventHub", HSNAP_TYPE_STRUCT, 24, 0);
	member(T_HUB, "handlers", 0, T_HANDLER_PP);
	declare(T_PAGE, "OrderPage", HSNAP_TYPE_STRUCT, 192, 0);
	place(T_PAGE, "/src/page.h", 6);
	declare(T_RECEIPT, "Receipt", HSNAP_TYPE_STRUCT, 160, 0);
	place(T_RECEIPT, "/src/receipt.h", 7);
	member(T_RECEIPT, "text", 8, T_CHAR_P);
}

/* What the C library allocates for itself has no type here. */
static const struct {
	const char *name, *holder;
	uint32_t count, size;
} labels[6] = {
	{ "16,384 bytes", "from fopen", 1, 16384 }, { "4,096 bytes", "from setvbuf", 2, 4096 },
	{ "1,024 bytes", "from puts", 1, 1024 },    { "306 bytes", "from pthread_create", 1, 306 },
	{ "256 bytes", "from setlocale", 12, 256 }, { "232 bytes", "from tzset", 20, 232 },
};

static void declare_types(void)
{
	must(hsnap_vec_reserve(&snapshot->types, NUM_TYPES), "no memory");
	snapshot->types.num = NUM_TYPES;
	declare_scalars_and_texts();
	declare_catalogue();
	declare_cache();
	declare_events();
	for (int i = 0; i < 6; i++) {
		declare(T_LABELS + i, labels[i].name, HSNAP_TYPE_LABEL, 0, 0);
		snapshot->types.items[T_LABELS + i].holder = text(labels[i].holder);
	}
}

static void declare_receipt_stack(void)
{
	static const char *const frames[][2] = {
		{ "receipt_new", "receipt.c:22" }, { "price_basket", "checkout.c:118" }, { "main", "main.c:64" },
		{ "__libc_start_main", "" },
	};
	for (int i = 0; i < 4; i++)
		must(hsnap_vec_push(&snapshot->frames, (struct hsnap_frame){ text(frames[i][0]), text(frames[i][1]),
									      i < 3 ? 1 : 2, 0x1200u + (unsigned)i }),
		     "no memory");
	must(hsnap_vec_push(&snapshot->stacks, (struct hsnap_stack){ 0, 4 }), "no memory");
}

static void declare_roots(void)
{
	static const struct {
		enum hsnap_root_kind kind;
		const char *name, *source;
		enum type type;
		uint64_t address;
		uint32_t module;
	} roots[NUM_ROOTS] = {
		[R_CATALOGUE] = { HSNAP_ROOT_GLOBAL, "g_catalogue", "catalogue.c:12", T_CATALOGUE, 0x404100, 1 },
		[R_CACHE] = { HSNAP_ROOT_GLOBAL, "g_quotes", "cache.c:31", T_CACHE, 0x404120, 1 },
		[R_HUB] = { HSNAP_ROOT_GLOBAL, "g_events", "events.c:12", T_HUB, 0x404140, 1 },
		[R_POOL] = { HSNAP_ROOT_GLOBAL, "g_buffers", "buffers.c:18", T_POOL, 0x404160, 1 },
		[R_LIBC] = { HSNAP_ROOT_STATIC, "", "", T_UNKNOWN, 0x7f0000001000, 2 },
	};
	for (int i = 0; i < NUM_ROOTS; i++) {
		struct hsnap_root root = { .kind = (uint8_t)roots[i].kind, .name = text(roots[i].name),
					   .source = text(roots[i].source), .module = roots[i].module };
		must(hsnap_vec_push(&snapshot->graph.roots, root), "no memory");
		snapshot->graph.address[1 + i] = roots[i].address;
		snapshot->graph.type[1 + i] = roots[i].type;
	}
}

static void point_to(hsnap_node_id to, uint32_t offset)
{
	must(hsnap_vec_push(&edges, (struct edge){ to, offset }), "no memory");
}

/* The next block, in order of address; its edges follow. */
static void block(enum type type, uint64_t size, enum hsnap_confidence confidence)
{
	struct hsnap_graph *graph = &snapshot->graph;
	hsnap_node_id node = next_node++;
	must(node < graph->num_nodes, "more blocks than were counted");
	graph->address[node] = next_address;
	graph->type[node] = type;
	graph->flags[node] = (uint8_t)confidence;
	uint64_t usable = (size + 8 + 15) / 16 * 16 - 8;
	must(hsnap_node_set_size(graph, node, walked ? usable : size, usable), "no memory");
	next_address += usable + 8;
	graph->first_edge[node] = (uint32_t)edges.num;
}

/* `total` in `num` nearly equal parts: part i. */
static uint64_t part(uint64_t total, uint32_t num, uint32_t i)
{
	return total / num + (i < total % num);
}

/* Ids of the first block of each kind: the blocks lie in this order. */
struct layout {
	hsnap_node_id spare, books_array, books, titles, blurbs, nodes_array, nodes, keys, entries, quotes, lines,
		handlers_array, handlers, pages, receipts, texts, labels, end;
};

static struct layout lay_out(const struct truth *t)
{
	struct layout l;
	l.spare = 1 + NUM_ROOTS;
	l.books_array = l.spare + 1;
	l.books = l.books_array + 1;
	l.titles = l.books + BOOKS;
	l.blurbs = l.titles + BOOKS;
	l.nodes_array = l.blurbs + BOOKS;
	l.nodes = l.nodes_array + 1;
	l.keys = l.nodes + t->checkouts;
	l.entries = l.keys + t->checkouts;
	l.quotes = l.entries + t->checkouts;
	l.lines = l.quotes + t->checkouts;
	l.handlers_array = l.lines + t->checkouts;
	l.handlers = l.handlers_array + 1;
	l.pages = l.handlers + t->checkouts;
	l.receipts = l.pages + t->checkouts;
	l.texts = l.receipts + t->receipts;
	l.labels = l.texts + t->receipts;
	l.end = l.labels + 37;
	return l;
}

static void point_from_roots(const struct layout *l)
{
	const hsnap_node_id first[] = { l->books_array, l->nodes_array, l->handlers_array, l->spare };
	for (uint32_t r = 0; r < NUM_ROOTS; r++) {
		snapshot->graph.first_edge[1 + r] = (uint32_t)edges.num;
		if (r < R_LIBC)
			point_to(first[r], 0);
	}
	for (uint32_t i = 0; i < 37; i++)
		point_to((l->labels + i) | HSNAP_EDGE_WEAK, 64 + 8 * i);
}

static void make_catalogue(const struct layout *l)
{
	block(T_SPARE, 26214400, HSNAP_PROVED);
	block(T_BOOKS, 8 * BOOK_SLOTS, HSNAP_EXACT);
	for (uint32_t i = 0; i < BOOKS; i++)
		point_to(l->books + i, 8 * i);
	for (uint32_t i = 0; i < BOOKS; i++) {
		block(T_BOOK, 144, HSNAP_EXACT);
		point_to(l->titles + i, 0);
		point_to(l->blurbs + i, 8);
	}
	for (uint32_t i = 0; i < BOOKS; i++)
		block(T_TITLE, part(13975640, BOOKS, i), HSNAP_PROVED);
	for (uint32_t i = 0; i < BOOKS; i++)
		block(T_BLURB, part(8532098, BOOKS, i), HSNAP_PROVED);
}

/* Chain 0 has six nodes, the first of the others two, the rest one: node i's next, or 0. */
static uint32_t next_in_chain(const struct truth *t, uint32_t i)
{
	uint32_t extra = t->checkouts - t->chains;
	if (i == 0)
		return t->chains;
	if (i < t->chains)
		return i + 4 < extra ? t->chains + 4 + i : 0;
	return i < t->chains + 4 ? i + 1 : 0;
}

static void make_cache(const struct truth *t, const struct layout *l)
{
	block(T_NODES, 8 * (uint64_t)t->slots, HSNAP_EXACT);
	for (uint32_t i = 0; i < t->chains; i++)
		point_to(l->nodes + i, 16 * i);
	for (uint32_t i = 0; i < t->checkouts; i++) {
		block(T_NODE, 32, HSNAP_EXACT);
		if (next_in_chain(t, i))
			point_to(l->nodes + next_in_chain(t, i), 0);
		point_to(l->keys + i, 8);
		point_to(l->entries + i, 16);
	}
	for (uint32_t i = 0; i < t->checkouts; i++)
		block(T_KEY, part(t->key_bytes, t->checkouts, i), HSNAP_PROVED);
	for (uint32_t i = 0; i < t->checkouts; i++) {
		block(T_ENTRY, 104, HSNAP_EXACT);
		point_to(l->quotes + i, 16);
	}
	for (uint32_t i = 0; i < t->checkouts; i++) {
		block(T_QUOTE, 88, HSNAP_EXACT);
		point_to(l->lines + i, 24);
	}
	for (uint32_t i = 0; i < t->checkouts; i++)
		block(T_LINES, 80 * part(t->items, t->checkouts, i), HSNAP_EXACT);
}

static void make_events_and_leaks(const struct truth *t, const struct layout *l)
{
	block(T_HANDLERS, 8 * (uint64_t)t->slots, HSNAP_EXACT);
	for (uint32_t i = 0; i < t->checkouts; i++)
		point_to(l->handlers + i, 8 * i);
	for (uint32_t i = 0; i < t->checkouts; i++) {
		block(T_HANDLER, 40, HSNAP_EXACT);
		point_to(l->pages + i, 8);
	}
	for (uint32_t i = 0; i < t->checkouts; i++)
		block(T_PAGE, 192, HSNAP_EXACT);
	for (uint32_t i = 0; i < t->receipts; i++) {
		block(T_RECEIPT, 160, HSNAP_EXACT);
		snapshot->graph.site[next_node - 1] = 1;
		point_to(l->texts + i, 8);
	}
	for (uint32_t i = 0; i < t->receipts; i++)
		block(T_TEXT, 48, HSNAP_PROVED);
	for (int kind = 0; kind < 6; kind++)
		for (uint32_t i = 0; i < labels[kind].count; i++)
			block(T_LABELS + kind, labels[kind].size, HSNAP_LABEL);
}

static void connect(void)
{
	struct hsnap_graph *graph = &snapshot->graph;
	uint32_t *first_edge = graph->first_edge;
	graph->first_edge = NULL;
	must(!hsnap_graph_alloc_edges(graph, edges.num, NULL), "no memory");
	memcpy(graph->first_edge, first_edge, sizeof(*first_edge) * graph->num_nodes);
	graph->first_edge[graph->num_nodes] = (uint32_t)edges.num;
	free(first_edge);
	for (size_t i = 0; i < edges.num; i++) {
		graph->edge_to[i] = edges.items[i].to;
		graph->edge_offset[i] = edges.items[i].offset;
	}
	edges.num = 0;
}

static void set_facts(const struct truth *t)
{
	struct hsnap_facts *facts = &snapshot->facts;
	facts->pid = 4711;
	facts->start_time = 1234567;
	facts->taken_at = t->taken_at;
	facts->pause_ns = 21000000;
	facts->elapsed_ns = 410000000;
	facts->comm = text("bookstore");
	facts->exe = text("/usr/local/bin/bookstore");
	facts->source = text(t->walked ? "glibc" : "agent");
	facts->freeze = text("copy");
	facts->basis = t->walked ? HSNAP_BASIS_USABLE : HSNAP_BASIS_REQUESTED;
	facts->num_threads = 2;
	facts->searched_modules = 5;
	facts->searched_tls = 2;
}

static void add_part(enum hsnap_part_kind kind, const char *name, uint64_t resident)
{
	struct hsnap_account_part part = { .kind = (uint8_t)kind, .name = text(name), .count = 1, .size = resident,
					   .resident = resident };
	must(hsnap_vec_push(&snapshot->account_parts, part), "no memory");
}

static void set_account(const struct truth *t)
{
	uint64_t live = snapshot->facts.heap_bytes;
	snapshot->account = (struct hsnap_account){
		.known = true, .rss = t->rss, .rss_anon = t->rss - 3264512, .rss_file = 3264512,
		.cgroup_limit = 268435456, .cgroup_use = t->rss + 12582912, .cgroup_swap = HSNAP_NOT_KNOWN,
		.heap_resident = live + t->overhead + t->free, .live_resident = live,
		.live_resident_usable = snapshot->facts.heap_usable, .free = t->free, .free_resident = t->free, .free_count = 9,
		.biggest_free = 12648448,
	};
	add_part(HSNAP_PART_STACK, "[stack]", 143360);
	add_part(HSNAP_PART_STACK, "ticker", 8192);
	add_part(HSNAP_PART_MODULE, "/lib/x86_64-linux-gnu/libc.so.6", 3227648);
	add_part(HSNAP_PART_MODULE, "/usr/local/bin/bookstore", 36864);
	add_part(HSNAP_PART_ANONYMOUS, "", 307200);
	must(hsnap_vec_push(&snapshot->account_arenas, (struct hsnap_account_arena){
		     .address = 0x7f0000001000, .kind = HSNAP_ARENA_MAIN, .system = live + t->overhead + t->free,
		     .walked = live + t->overhead + t->free, .free = t->free, .free_resident = t->free, .top = 12648448,
		     .biggest_free = 12648448 }),
	     "no memory");
}

static void make(const struct truth *t)
{
	struct layout l = lay_out(t);
	walked = t->walked;
	must((snapshot = hsnap_snapshot_create()) != NULL, "no memory");
	must(hsnap_vec_push(&snapshot->modules, (struct hsnap_module){ .path = text("/usr/local/bin/bookstore"),
								       .base = 0x400000, .main = true, .has_types = true }) &&
		     hsnap_vec_push(&snapshot->modules, (struct hsnap_module){ .path = text("/lib/x86_64-linux-gnu/libc.so.6"),
									       .base = 0x7f0000000000 }),
	     "no memory");
	declare_types();
	declare_receipt_stack();
	must(!hsnap_graph_alloc_nodes(&snapshot->graph, NUM_ROOTS, l.end - 1 - NUM_ROOTS, NULL), "no memory");
	snapshot->graph.first_edge = calloc(snapshot->graph.num_nodes, sizeof(uint32_t));
	must(snapshot->graph.first_edge != NULL, "no memory");
	declare_roots();
	next_node = 1 + NUM_ROOTS;
	next_address = 0x5555000010;
	point_from_roots(&l);
	make_catalogue(&l);
	make_cache(t, &l);
	make_events_and_leaks(t, &l);
	must(next_node == l.end, "fewer blocks than were counted");
	connect();
	set_facts(t);
	must(!hsnap_snapshot_mark(snapshot, NULL) && !hsnap_snapshot_summarize(snapshot, NULL), "no memory");
	set_account(t);
}

int main(int argc, char **argv)
{
	must(argc == 2, "usage: bookstore DIR");
	for (size_t i = 0; i < sizeof(truths) / sizeof(*truths); i++) {
		char path[4096];
		struct hsnap_error err;
		make(&truths[i]);
		snprintf(path, sizeof(path), "%s/%s", argv[1], truths[i].file);
		if (hsnap_snapshot_write(snapshot, path, true, NULL, &err)) {
			fprintf(stderr, "bookstore: %s\n", err.message);
			return 1;
		}
		hsnap_snapshot_destroy(snapshot);
	}
	hsnap_vec_deinit(&edges);
	return 0;
}
