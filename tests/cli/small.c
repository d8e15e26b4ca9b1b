/* SPDX-License-Identifier: MIT */
/* small.c DIR - write the small snapshots of the golden cases, one story each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/graph_text.h"

#define SECONDS 1000000000ull
#define NOON 1796040000ull /* 2026-11-30 12:00:00 UTC */

static const char *folder;

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "small: %s\n", what);
	exit(1);
}

static hsnap_string text(struct hsnap_snapshot *s, const char *words)
{
	return hsnap_strings_add(&s->strings, words);
}

static struct hsnap_snapshot *make(const struct graph_text *graph, const char *comm, uint64_t pid, uint64_t second)
{
	struct hsnap_snapshot *s = snapshot_from_text(graph);
	s->facts.pid = pid;
	s->facts.start_time = 100 * pid;
	s->facts.taken_at = (NOON + second) * SECONDS;
	s->facts.comm = text(s, comm);
	s->facts.source = text(s, "agent");
	s->facts.num_threads = 1;
	s->facts.searched_modules = 2;
	s->facts.searched_tls = 1;
	return s;
}

static void save(struct hsnap_snapshot *s, const char *name)
{
	char path[4096];
	struct hsnap_error err;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (hsnap_snapshot_write(s, path, true, NULL, &err)) {
		fprintf(stderr, "small: %s\n", err.message);
		exit(1);
	}
	hsnap_snapshot_destroy(s);
}

#define TYPES "Cart=16{items:Node*@0,tree:Tree*@8} Node=24{next:Node*@0,value:Item*@8,other:Node*@16} Item=8 " \
	      "Tree=24{left:Tree*@0,right:Tree*@8,value:Item*@16} Page=32{text:char*@0}"

/* Three of one process: Item grows and then shrinks, Node only shrinks, Page only grows. */
static void write_steps(void)
{
	static const struct graph_text graphs[] = {
		{ .types = TYPES, .roots = "global:g=Cart", .blocks = "n*9:Node i*2:Item", .edges = "g>n0 g>i0" },
		{ .types = TYPES, .roots = "global:g=Cart", .blocks = "n*5:Node i*12:Item p*3:Page", .edges = "g>n0 g>i0 g>p0" },
		{ .types = TYPES, .roots = "global:g=Cart", .blocks = "n*5:Node i*6:Item p*4:Page", .edges = "g>n0 g>i0 g>p0" },
	};
	static const char *const names[] = { "step1.snap", "step2.snap", "step3.snap" };
	for (size_t i = 0; i < 3; i++)
		save(make(&graphs[i], "walker", 31, 60 * i), names[i]);
}

static void write_usable(void)
{
	struct hsnap_snapshot *s = make(&(struct graph_text){ .types = TYPES, .roots = "global:g=Cart",
		.blocks = "n*9:Node/40 i*2:Item/24", .edges = "g>n0 g>i0" }, "walker", 31, 60);
	s->facts.basis = HSNAP_BASIS_USABLE;
	save(s, "usable.snap");
}

static void write_partial(void)
{
	struct hsnap_snapshot *s = make(&(struct graph_text){ .types = TYPES, .roots = "global:g=Cart",
		.blocks = "n*2:Node/24", .edges = "g>n0 n0>n1" }, "walker", 32, 0);
	must(hsnap_vec_push(&s->partial_reasons, text(s, "128 KiB of the heap could not be read")), "no memory");
	must(hsnap_vec_push(&s->notes, text(s, "no types for libfoo.so.1: no debug info")), "no memory");
	save(s, "partial.snap");
}

/* Names that would do things to a terminal, to a table, or to a parser. */
static void write_hostile(void)
{
	struct hsnap_snapshot *s = make(&(struct graph_text){ .types = TYPES "Evil=8 Raw=8 Quote=8 Wide=8", .roots = "global:g=Cart",
		.blocks = "e:Evil r:Raw q:Quote w:Wide", .edges = "g>e g>r g>q g>w" }, "x\033[2Jy", 33, 0);
	s->types.items[type_from_text(s, "Evil")].name = text(s, "Evil\033[31m\nrm -rf");
	s->types.items[type_from_text(s, "Raw")].name = text(s, "Raw\xff\xc3(");
	s->types.items[type_from_text(s, "Quote")].name = text(s, "Quote<\"a,b\">");
	s->types.items[type_from_text(s, "Wide")].name = text(s, "Gr\xc3\xb6\xc3\x9f" "e");
	save(s, "hostile.snap");
}

/* Two types of one name, in other files and in another module; and long names. */
static void write_twins(void)
{
	struct hsnap_snapshot *s = make(&(struct graph_text){
		.modules = "/usr/bin/app /usr/lib/libfoo.so.1",
		.types = "entry=16%src/routes.c entry2=24%src/table.c entry3=32%lib/foo.c shop::Order=40%src/order.h "
			 "shop::Map<shop::Order,std::less<shop::Order>>=56%src/map.h",
		.roots = "global:g", .blocks = "a*3:entry b*2:entry2 c:entry3 o*4:shop::Order m:shop::Map<shop::Order,std::less<shop::Order>>",
		.edges = "g~a0 g~b0 g~c g~o0 g~m" }, "app", 34, 0);
	hsnap_type_id second = type_from_text(s, "entry2"), third = type_from_text(s, "entry3");
	s->types.items[second].name = s->types.items[second].full_name = text(s, "entry");
	s->types.items[third].name = s->types.items[third].full_name = text(s, "entry");
	s->types.items[third].module = 2;
	s->types.items[type_from_text(s, "entry")].line = 12;
	save(s, "twins.snap");
}

/* Every kind of root, a tree, weak hops, more paths than a screen shows. */
static void write_paths(void)
{
	struct hsnap_snapshot *s = make(&(struct graph_text){
		.types = TYPES, .stacks = "make(a.c:1)<main(m.c:9) std::allocate(n.h:1)<add(b.c:2)<main(m.c:9)",
		.roots = "global:cart=Cart@cart.c:3 static:seen=Item*@cart.c:8/lookup stack:found=Item*/lookup%worker register:rbx%main "
			 "thread-local:last=Item*@cart.c:4 kernel:epoll_5 mapping:pool!",
		.blocks = "t*7:Tree i*12:Item p*3:Page&1 x:char[]/40 y:char[]/50 lone*2:Item&2 n*4:Node&2 kept:Item",
		.edges = "cart.8>t0 t0.0>t1 t0.8>t2 t1.0>t3 t1.8>t4 t2.0>t5 t2.8>t6 t3.16>i0 t4.16>i1 t5.16>i2 t6.16>i3 "
			 "seen>i4 found>i5 rbx>i6 last>i7 epoll_5>i8 t0.16~i9 cart.0~i10 p0>x p1>y p2>x n0>n1 n1>n2 n2>n0 n3>n0 n1.8>i11 pool~kept" },
		"paths", 35, 0);
	s->graph.roots.items[node_from_text("pool") - 1].name = text(s, "mapping of 8 MiB");
	save(s, "paths.snap");
}

static void write_clean(void)
{
	save(make(&(struct graph_text){ .types = TYPES, .roots = "global:g=Cart", .blocks = "n*2:Node", .edges = "g>n0 n0>n1" }, "clean", 36, 0),
	     "clean.snap");
	save(make(&(struct graph_text){ .roots = "global:g" }, "empty", 37, 0), "empty.snap");
}

/* Names with all that C++ has for them. */
static void write_spaces(void)
{
	static const char *const names[][2] = {
		{ "Job", "shop::(anonymous namespace)::Job" }, { "Box", "shop::Box<std::string>::node" }, { "Deep", "a::b::c::Deep" },
	};
	struct hsnap_snapshot *s = make(&(struct graph_text){ .types = "Job=8 Box=16 Deep=24", .roots = "global:g",
		.blocks = "j*2:Job b:Box d:Deep", .edges = "g>j0 g>j1 g>b g>d" }, "app", 38, 0);
	for (size_t i = 0; i < 3; i++) {
		hsnap_type_id id = type_from_text(s, names[i][0]);
		s->types.items[id].name = s->types.items[id].full_name = text(s, names[i][1]);
	}
	save(s, "spaces.snap");
}

static void add_part(struct hsnap_snapshot *s, enum hsnap_part_kind kind, const char *name, uint64_t resident)
{
	struct hsnap_account_part part = { .kind = (uint8_t)kind, .name = text(s, name), .count = 2, .size = 2 * resident,
					   .resident = resident };
	must(hsnap_vec_push(&s->account_parts, part), "no memory");
}

static void add_arena(struct hsnap_snapshot *s, enum hsnap_arena_kind kind, uint64_t address, uint64_t system, uint64_t free)
{
	struct hsnap_account_arena arena = { .address = address, .kind = (uint8_t)kind, .system = system, .walked = system,
					     .free = free, .free_resident = free / 2, .cached = free / 8, .biggest_free = free / 4,
					     .locked = address == 0x7f0008000030 };
	must(hsnap_vec_push(&s->account_arenas, arena), "no memory");
}

/* Every line that a memory account can have; `later`: and how they grow. */
static void write_memory(bool later, const char *name)
{
	struct hsnap_snapshot *s = make(&(struct graph_text){ .types = TYPES, .roots = "global:g=Cart",
		.blocks = "n*2:Node/1000000+24", .edges = "g>n0 n0>n1" }, "walker", 39, later ? 90 : 0);
	s->account = (struct hsnap_account){
		.known = true, .rss = later ? 9501184 : 7000064, .rss_anon = 6000640, .rss_file = 900096, .rss_shmem = 99328,
		.swap = 1048576, .huge = later ? 4194304 : 0, .cgroup_limit = later ? HSNAP_NOT_KNOWN : 16777216,
		.cgroup_use = 8388608, .cgroup_swap = 1048576, .heap_resident = later ? 6000000 : 3500000,
		.live_resident = later ? 1900000 : 1200000, .live_resident_usable = later ? 1900048 : 1200012,
		.live_swapped = later ? 0 : 500000, .free = later ? 5000000 : 2500000, .free_resident = later ? 3900000 : 2000000,
		.free_count = 7, .biggest_free = later ? 4500000 : 1000000,
	};
	add_part(s, HSNAP_PART_STACK, "walker", 32768);
	add_part(s, HSNAP_PART_MODULE, "/lib/x86_64-linux-gnu/libc.so.6", 1500000);
	add_part(s, HSNAP_PART_FILE, "/var/lib/walker/map\033[2J", 700000);
	add_part(s, HSNAP_PART_SHARED, "/dev/shm/walker", 600000);
	add_part(s, HSNAP_PART_ANONYMOUS, "", 500000);
	add_part(s, HSNAP_PART_AGENT, "", 204800);
	add_arena(s, HSNAP_ARENA_MAPPED, 0, 1048576, 0);
	add_arena(s, HSNAP_ARENA_MAIN, 0x7f00000aac60, 900000, 400000);
	add_arena(s, HSNAP_ARENA_THREADS, 0x7f0004000030, 8192, 4000);
	add_arena(s, HSNAP_ARENA_THREADS, 0x7f0008000030, 1300000, 1200000);
	save(s, name);
}

/* Of a core nothing is known but the heap. */
static void write_core(void)
{
	struct hsnap_snapshot *s = make(&(struct graph_text){ .types = TYPES, .roots = "global:g=Cart",
		.blocks = "n*2:Node/1000000+24", .edges = "g>n0 n0>n1" }, "walker", 39, 120);
	s->facts.source = text(s, "core");
	s->facts.basis = HSNAP_BASIS_USABLE;
	s->account = (struct hsnap_account){
		.known = true, .rss = HSNAP_NOT_KNOWN, .rss_anon = HSNAP_NOT_KNOWN, .rss_file = HSNAP_NOT_KNOWN,
		.rss_shmem = HSNAP_NOT_KNOWN, .swap = HSNAP_NOT_KNOWN, .huge = HSNAP_NOT_KNOWN, .cgroup_limit = HSNAP_NOT_KNOWN,
		.cgroup_use = HSNAP_NOT_KNOWN, .cgroup_swap = HSNAP_NOT_KNOWN, .heap_resident = 3500000,
		.live_resident = 1900000, .live_resident_usable = 1900048, .free = 1600000, .free_resident = 1500000,
		.free_count = 7, .biggest_free = 1000000,
	};
	save(s, "core.snap");
}

/* What the name of a block rests on; the last `num` claims lost. */
static void add_grounds(struct hsnap_snapshot *s, const char *block, enum hsnap_evidence evidence, uint8_t conflicts, uint32_t num)
{
	struct hsnap_grounds grounds = { .evidence = (uint8_t)evidence, .conflicts = conflicts, .more = num == 2,
					 .first_other = (uint32_t)s->others.num - num, .num_others = num };
	must(hsnap_vec_push(&s->grounds, grounds), "no memory");
	s->graph.grounds[node_from_text(block)] = (uint16_t)(s->grounds.num - 1);
}

static void add_other(struct hsnap_snapshot *s, const char *type, enum hsnap_evidence evidence, enum hsnap_verdict verdict)
{
	struct hsnap_other other = { .type = type_from_text(s, type), .evidence = (uint8_t)evidence, .verdict = (uint8_t)verdict };
	must(hsnap_vec_push(&s->others, other), "no memory");
}

/* Names of every kind, with and without contradiction. */
static void write_explain(void)
{
	struct hsnap_snapshot *s = make(&(struct graph_text){
		.types = "Person=16{name:char*@0,id:long@8}%shop.h Customer=40{:Person@0,orders:Order**@16,notes:void*@24}%shop.h "
			 "Order=32{customer:Customer*@0,lines:Line*@8,payer:Person*@16,old:Node*@24}%shop.h Line=24{count:long@0} Node=40 "
			 "label:48_bytes^in_Customer.notes",
		.stacks = "order_new(shop.c:12)<serve(main.c:30)<main(main.c:61)",
		.roots = "global:g_orders=Order**@shop.c:3 stack:order=Order*/serve%main",
		.blocks = "all:Order*[]/80!proved one:Order!exact&1 two:Order!exact&1 who:Customer!inferred "
			  "lines:Line[]/72!inferred notes:48_bytes/48+8!label",
		.edges = "g_orders.0>all all.0>one all.8>two order.0>one one.0>who one.8>lines one.16>who one.24>who two.0>who "
			 "who.16>all who.24>notes" }, "shop", 40, 0);
	must(!hsnap_graph_alloc_grounds(&s->graph, NULL) && hsnap_vec_push(&s->grounds, (struct hsnap_grounds){ 0 }), "no memory");
	s->stacks.items[1].decider = 1;
	s->stacks.items[1].taker = hsnap_strings_add(&s->strings, "order");
	add_grounds(s, "all", HSNAP_EVIDENCE_POINTER, 0, 0);
	add_grounds(s, "one", HSNAP_EVIDENCE_SITE, 0, 0);
	add_other(s, "Node", HSNAP_EVIDENCE_POINTER, HSNAP_VERDICT_LOST);
	add_other(s, "Person", HSNAP_EVIDENCE_POINTER, HSNAP_VERDICT_SIZE);
	add_grounds(s, "who", HSNAP_EVIDENCE_POINTER, 1, 2);
	add_other(s, "Node", HSNAP_EVIDENCE_GUESS, HSNAP_VERDICT_LOST);
	add_grounds(s, "lines", HSNAP_EVIDENCE_RUN, 0, 1);
	s->grounds.items[s->grounds.num - 1].rule = hsnap_strings_add(&s->strings, "./shop.types:7");
	add_grounds(s, "notes", HSNAP_EVIDENCE_NONE, 0, 0);
	save(s, "explain.snap");
}

int main(int argc, char **argv)
{
	must(argc == 2, "usage: small DIR");
	folder = argv[1];
	write_steps();
	write_usable();
	write_partial();
	write_hostile();
	write_twins();
	write_paths();
	write_clean();
	write_spaces();
	write_explain();
	write_memory(false, "memory1.snap");
	write_memory(true, "memory2.snap");
	write_core();
	return 0;
}
