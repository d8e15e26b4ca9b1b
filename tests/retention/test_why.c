/* SPDX-License-Identifier: MIT */
/* test_why.c - paths merged by shape: folding, counts, roots that are alike, random graphs. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "retention/retention.h"
#include "tests/support/graph_text.h"
#include "tests/support/random_graph.h"

#define ROWS(table) (sizeof(table) / sizeof(*(table)))

#define LIST "Cart=16{items:Node*@0,tree:Tree*@8} Node=24{next:Node*@0,value:Item*@8,other:Node*@16} Item=8 "
#define TREE "Tree=24{left:Tree*@0,right:Tree*@8,value:Item*@16} "
#define KIDS "Dir=16{entries:Dir**@0,name:char*@8} Top=8{root:Dir*@0} "
#define TYPES LIST TREE KIDS

/*
 * Paths as "COUNT ROOT via>Type:COUNT …" in their order, "|" between; folded hops as
 * "via×MIN-MAX>Type:COUNT", weak ones with "~" for ">"; "!N" for what is unreachable.
 */
static const struct {
	const char *name, *roots, *blocks, *edges, *type, *want;
} rows[] = {
	{ "a member", "global:g=Cart", "a:Node", "g>a", "Node", "1 g .items>Node:1" },
	{ "a pointer as such", "global:p=Node*", "a:Node", "p>a", "Node", "1 p *>Node:1" },
	{ "an array of pointers", "global:g=Dir", "r*3:Dir e:Dir*[]/24", "g>e e.0>r0 e.8>r1 e.16>r2", "Dir",
	  "3 g .entries>Dir*[]:1 [*]>Dir:3" },
	{ "a list folds", "global:g=Cart", "n*4:Node", "g>n0 n0>n1 n1>n2 n2>n3", "Node",
	  "4 g .items>Node:1 .next×0-3>Node:4" },
	{ "what hangs on a list", "global:g=Cart", "n*3:Node i*3:Item", "g>n0 n0>n1 n1>n2 n0.8>i0 n1.8>i1 n2.8>i2", "Item",
	  "3 g .items>Node:1 .next×0-2>Node:3 .value>Item:3" },
	{ "only at the end of a list", "global:g=Cart", "n*3:Node i:Item", "g>n0 n0>n1 n1>n2 n2.8>i", "Item",
	  "1 g .items>Node:1 .next×2-2>Node:3 .value>Item:1" },
	{ "two members in turn", "global:g=Cart", "t*4:Tree", "g.8>t0 t0.0>t1 t0.8>t2 t1.8>t3", "Tree",
	  "4 g .tree>Tree:1 .left|.right×0-2>Tree:4" },
	{ "over an array between", "global:top=Top", "d*4:Dir e*2:Dir*[]/16", "top>d0 d0>e0 e0.0>d1 e0.8>d2 d2>e1 e1.0>d3", "Dir",
	  "4 top .root>Dir:1 .entries[*]×0-2>Dir:4" },
	{ "the array between itself", "global:top=Top", "d*2:Dir e*2:Dir*[]/16", "top>d0 d0>e0 e0.0>d1 d1>e1", "Dir*[]",
	  "2 top .root>Dir:1 .entries[*]×0-1>Dir:2 .entries>Dir*[]:2" },
	{ "two ways in", "global:g=Cart global:p=Item*", "n:Node i*2:Item", "g>n n.8>i0 p>i1", "Item",
	  "1 p *>Item:1|1 g .items>Node:1 .value>Item:1" },
	{ "each block on its shortest way only", "global:g=Cart global:p=Item*", "n:Node i:Item", "g>n n.8>i p>i", "Item",
	  "1 p *>Item:1" },
	{ "a weak hop", "global:g=Cart", "n:Node i:Item", "g>n n.8~i", "Item", "1 g .items>Node:1 .value~Item:1" },
	{ "weak and strong hops do not fold into one", "global:g=Cart", "n*3:Node", "g>n0 n0>n1 n1~n2", "Node",
	  "2 g .items>Node:1 .next×0-1>Node:2|1 g .items>Node:1 .next×1-1>Node:2 .next×1-1~Node:1" },
	{ "weak hops fold among themselves", "global:g=Cart", "n*4:Node", "g>n0 n0~n1 n1.16~n2 n2~n3", "Node",
	  "3 g .items>Node:1 .next|.other×1-3~Node:3|1 g .items>Node:1" },
	{ "a block of the root's own type", "global:h=Node", "a:Node", "h>a", "Node", "1 h .next>Node:1" },
	{ "unreachable ones", "global:g=Cart", "n*2:Node m:Node", "g>n0 n0>n1", "Node", "2 g .items>Node:1 .next×0-1>Node:2!1" },
	{ "none at all", "global:g=Cart", "n:Node", "g>n", "Item", "" },
	{ "what has no type has no places", "global:g", "i*3:Item", "g.8~i0 g.16~i1 g.24~i2", "Item", "3 g +*~Item:3" },
};

static void steps_to_text(const struct hsnap_snapshot *s, const struct hsnap_why *why, const struct hsnap_path *path, char *text)
{
	for (uint32_t i = 0; i < path->num_steps; i++) {
		const struct hsnap_step *step = &why->steps.items[path->first_step + i];
		sprintf(text + strlen(text), " %s", hsnap_str(&why->strings, step->via));
		if (step->folded)
			sprintf(text + strlen(text), "×%u-%u", step->min, step->max);
		sprintf(text + strlen(text), "%s%s:%llu", step->weak ? "~" : ">",
			hsnap_text(s, s->types.items[step->type].name), (unsigned long long)step->count);
	}
}

static void why_to_text(const struct hsnap_snapshot *s, const struct hsnap_why *why, char *text)
{
	*text = '\0';
	for (size_t i = 0; i < why->paths.num; i++) {
		const struct hsnap_path *path = &why->paths.items[i];
		sprintf(text + strlen(text), "%s%llu %s", i ? "|" : "", (unsigned long long)path->count,
			hsnap_text(s, s->graph.roots.items[path->root].name));
		steps_to_text(s, why, path, text);
	}
	if (why->unreachable_count)
		sprintf(text + strlen(text), "!%llu", (unsigned long long)why->unreachable_count);
}

static struct hsnap_why ask(const struct hsnap_snapshot *s, const struct hsnap_why_what *what)
{
	struct hsnap_paths paths;
	struct hsnap_why why;
	cr_assert_eq(hsnap_paths_init(&s->graph, &paths, NULL), HSNAP_OK);
	cr_assert_eq(hsnap_why_init(s, &paths, what, &why, NULL), HSNAP_OK);
	hsnap_paths_deinit(&paths);
	return why;
}

static struct hsnap_why ask_for_type(const struct hsnap_snapshot *s, hsnap_type_id type)
{
	bool *wanted = calloc(s->types.num, sizeof(*wanted));
	wanted[type] = true;
	struct hsnap_why why = ask(s, &(struct hsnap_why_what){ .types = wanted, .most_paths = SIZE_MAX });
	free(wanted);
	return why;
}

ParameterizedTestParameters(why, paths_are_merged)
{
	static size_t indices[ROWS(rows)];
	for (size_t i = 0; i < ROWS(rows); i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, ROWS(rows));
}

ParameterizedTest(size_t *row, why, paths_are_merged)
{
	struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){
		.types = TYPES, .roots = rows[*row].roots, .blocks = rows[*row].blocks, .edges = rows[*row].edges });
	struct hsnap_why why = ask_for_type(s, type_from_text(s, rows[*row].type));
	char got[1024];
	why_to_text(s, &why, got);
	cr_expect_str_eq(got, rows[*row].want, "%s:\nwant %s\ngot  %s", rows[*row].name, rows[*row].want, got);
	hsnap_why_deinit(&why);
	hsnap_snapshot_destroy(s);
}

/* Frames of a recursion hold the same variable many times: one path, and the roots are counted.
 * Another thread's are another path. */
Test(why, roots_that_are_alike_are_one)
{
	struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){
		.types = TYPES, .roots = "stack:v=Item*/f%main stack:w=Item*/f%main stack:x=Item*/f%worker",
		.blocks = "i*3:Item", .edges = "v>i0 w>i1 x>i2" });
	s->graph.roots.items[1].name = s->graph.roots.items[2].name = s->graph.roots.items[0].name;
	struct hsnap_why why = ask_for_type(s, type_from_text(s, "Item"));
	cr_assert_eq(why.paths.num, 2);
	cr_expect_eq(why.paths.items[0].num_roots, 2);
	cr_expect_eq(why.paths.items[0].count, 2);
	cr_expect_eq(why.paths.items[1].count, 1);
	hsnap_why_deinit(&why);
	hsnap_snapshot_destroy(s);
}

Test(why, one_block_keeps_its_index)
{
	struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){
		.types = TYPES, .roots = "global:g=Dir", .blocks = "r*3:Dir e:Dir*[]/24",
		.edges = "g>e e.0>r0 e.8>r1 e.16>r2" });
	struct hsnap_why why = ask(s, &(struct hsnap_why_what){ .node = node_from_text("r2"), .most_paths = 1 });
	char got[256];
	why_to_text(s, &why, got);
	cr_expect_str_eq(got, "1 g .entries>Dir*[]:1 [2]>Dir:1", "got %s", got);
	hsnap_why_deinit(&why);
	hsnap_snapshot_destroy(s);
}

Test(why, one_block_keeps_its_offset)
{
	struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){
		.types = TYPES, .roots = "global:g", .blocks = "i*3:Item", .edges = "g.8~i0 g.16~i1 g.24~i2" });
	struct hsnap_why why = ask(s, &(struct hsnap_why_what){ .node = node_from_text("i1"), .most_paths = 1 });
	char got[256];
	why_to_text(s, &why, got);
	cr_expect_str_eq(got, "1 g +16~Item:1", "got %s", got);
	cr_expect_eq(why.count, 1);
	hsnap_why_deinit(&why);
	hsnap_snapshot_destroy(s);
}

Test(why, sites_of_what_nothing_reaches)
{
	struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){
		.types = TYPES, .stacks = "make(a.c:1)<main add(b.c:2)<main", .roots = "global:g",
		.blocks = "a:Item&1 b*2:Item&2 c:Item&1 d*3:Item&1", .edges = "g>c" });
	struct hsnap_why why = ask_for_type(s, type_from_text(s, "Item"));
	cr_expect_eq(why.unreachable_count, 6);
	cr_expect_eq(why.unreachable_bytes, 48);
	cr_assert_eq(why.sites.num, 2);
	cr_expect_eq(why.sites.items[0].site, 1);
	cr_expect_eq(why.sites.items[0].count, 4);
	cr_expect_eq(why.sites.items[1].bytes, 16);
	hsnap_why_deinit(&why);
	hsnap_snapshot_destroy(s);
}

/* ---- random graphs against a reference that works on texts, block by block ---- */

#define DEEPEST 64
#define SIDES 4 /* hops after which folding looks for the type */

/* A path folded by hand: what stands at each step, and how often it repeats. */
struct folded {
	struct {
		char via[96];
		hsnap_type_id type;
		bool weak, weak_fold;
		uint32_t repeats;
	} steps[DEEPEST];
	uint32_t num; /* steps[0] is the root */
};

static void via_by_hand(const struct hsnap_snapshot *s, hsnap_node_id from, uint32_t edge, char *via, size_t size)
{
	const struct hsnap_type *type = &s->types.items[s->graph.type[from]];
	uint64_t offset = s->graph.edge_offset[edge];
	if (offset == HSNAP_OFFSET_BEYOND || type->kind == HSNAP_TYPE_UNKNOWN || type->kind == HSNAP_TYPE_LABEL) {
		snprintf(via, size, type->kind == HSNAP_TYPE_LABEL && type->element ? "[*]" : "+*");
		return;
	}
	uint64_t each = type->kind == HSNAP_TYPE_ARRAY ? s->types.items[type->element].size : 0;
	hsnap_member_path(s, s->graph.type[from], each ? offset % each : offset, via, size);
	for (char *open = via; (open = strchr(open, '[')); open++) {
		size_t digits = strspn(open + 1, "0123456789");
		if (!digits)
			continue;
		memmove(open + 2, open + 1 + digits, strlen(open + 1 + digits) + 1);
		open[1] = '*';
	}
	if (!*via)
		snprintf(via, size, "*");
}

static bool fold_by_hand(struct folded *f, hsnap_type_id type, bool weak)
{
	uint32_t last = f->num - 1;
	if (weak) {
		if (!f->steps[last].weak_fold || f->steps[last].type != type)
			return false;
		f->steps[last].repeats++;
		return true;
	}
	for (uint32_t up = 0; up < SIDES && last > up; up++) {
		if (f->steps[last - up].type == type && (!up || type != HSNAP_NO_TYPE)) {
			f->num -= up;
			f->steps[f->num - 1].repeats++;
			return true;
		}
		if (f->steps[last - up].weak)
			return false;
	}
	return false;
}

static void walk_by_hand(const struct hsnap_snapshot *s, const struct hsnap_paths *paths, hsnap_node_id node, struct folded *f)
{
	hsnap_node_id parent = paths->to[node].parent;
	if (!parent) {
		*f = (struct folded){ .num = 1 };
		const struct hsnap_root *root = &s->graph.roots.items[node - 1];
		snprintf(f->steps[0].via, sizeof(f->steps[0].via), "%u %d %u %u %u %u %u", root->kind, root->weak, root->name,
			 root->source, root->function, root->thread, root->module);
		f->steps[0].type = s->graph.type[node];
		f->steps[0].weak = root->weak;
		return;
	}
	walk_by_hand(s, paths, parent, f);
	bool weak = s->graph.edge_to[paths->to[node].edge] & HSNAP_EDGE_WEAK;
	hsnap_type_id type = s->graph.type[node];
	if (fold_by_hand(f, type, weak))
		return;
	cr_assert_lt(f->num, DEEPEST, "the random graphs are to be less deep");
	bool weak_fold = weak && f->num > 1 && f->steps[f->num - 1].type == type;
	f->steps[f->num].type = type;
	f->steps[f->num].weak = weak;
	f->steps[f->num].weak_fold = weak_fold;
	f->steps[f->num].repeats = weak_fold;
	*f->steps[f->num].via = '\0';
	if (!weak_fold)
		via_by_hand(s, parent, paths->to[node].edge, f->steps[f->num].via, sizeof(f->steps[0].via));
	f->num++;
}

static bool same_prefix(const struct folded *a, const struct folded *b, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++)
		if (strcmp(a->steps[i].via, b->steps[i].via) || a->steps[i].type != b->steps[i].type ||
		    a->steps[i].weak != b->steps[i].weak || a->steps[i].weak_fold != b->steps[i].weak_fold)
			return false;
	return true;
}

/* Everything that is known of one path, as a line: both sides write it, and the lines are compared. */
static void describe_by_hand(const struct hsnap_snapshot *s, const struct hsnap_paths *paths, const struct folded *all,
			     hsnap_node_id first, hsnap_type_id type, char *line, size_t size)
{
	const struct folded *shape = &all[first];
	const struct hsnap_graph *graph = &s->graph;
	uint64_t count = 0, bytes = 0;
	uint32_t least[DEEPEST], most[DEEPEST] = { 0 };
	uint64_t entered[DEEPEST] = { 0 }, standing[DEEPEST] = { 0 };
	bool *on_way = calloc(graph->num_nodes, sizeof(*on_way));
	memset(least, 0xff, sizeof(least));
	for (hsnap_node_id node = hsnap_first_block(graph); node < graph->num_nodes; node++) {
		const struct folded *f = &all[node];
		if (graph->type[node] != type || f->num != shape->num || !same_prefix(f, shape, f->num))
			continue;
		count++;
		bytes += hsnap_node_size(graph, node);
		for (uint32_t i = 0; i < f->num; i++) {
			least[i] = f->steps[i].repeats < least[i] ? f->steps[i].repeats : least[i];
			most[i] = f->steps[i].repeats > most[i] ? f->steps[i].repeats : most[i];
		}
		for (hsnap_node_id at = node; at; at = paths->to[at].parent)
			on_way[at] = true;
	}
	for (hsnap_node_id node = 1; node < graph->num_nodes; node++) {
		uint32_t num = all[node].num;
		if (!on_way[node] || num > shape->num || !same_prefix(&all[node], shape, num))
			continue;
		standing[num - 1]++;
		entered[num - 1] += !all[node].steps[num - 1].repeats;
	}
	int len = snprintf(line, size, "%llu %llu roots %llu", (unsigned long long)count, (unsigned long long)bytes, (unsigned long long)standing[0]);
	for (uint32_t i = 1; i < shape->num; i++) {
		if (!shape->steps[i].weak_fold)
			len += snprintf(line + len, size - (size_t)len, " %s %u %d:%llu", shape->steps[i].via, shape->steps[i].type,
					shape->steps[i].weak, (unsigned long long)entered[i]);
		if (most[i])
			len += snprintf(line + len, size - (size_t)len, " x%u-%u %u:%llu", least[i], most[i], shape->steps[i].type,
					(unsigned long long)standing[i]);
	}
	free(on_way);
}

static void describe_path(const struct hsnap_why *why, const struct hsnap_path *path, char *line, size_t size)
{
	int len = snprintf(line, size, "%llu %llu roots %llu", (unsigned long long)path->count, (unsigned long long)path->bytes,
			   (unsigned long long)path->num_roots);
	for (uint32_t i = 0; i < path->num_steps; i++) {
		const struct hsnap_step *step = &why->steps.items[path->first_step + i];
		if (step->folded)
			len += snprintf(line + len, size - (size_t)len, " x%u-%u %u:%llu", step->min, step->max, step->type,
					(unsigned long long)step->count);
		else
			len += snprintf(line + len, size - (size_t)len, " %s %u %d:%llu", hsnap_str(&why->strings, step->via),
					step->type, step->weak, (unsigned long long)step->count);
	}
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(a, b);
}

#define LINE 4096
#define MOST_LINES 128

static size_t lines_by_hand(const struct hsnap_snapshot *s, const struct hsnap_paths *paths, hsnap_type_id type,
			    char (*lines)[LINE])
{
	const struct hsnap_graph *graph = &s->graph;
	struct folded *all = calloc(graph->num_nodes, sizeof(*all));
	size_t num = 0;
	for (hsnap_node_id node = 1; node < graph->num_nodes; node++)
		if (paths->to[node].parent != HSNAP_NO_NODE)
			walk_by_hand(s, paths, node, &all[node]);
	for (hsnap_node_id node = hsnap_first_block(graph); node < graph->num_nodes; node++) {
		bool again = false;
		for (hsnap_node_id before = hsnap_first_block(graph); before < node && !again; before++)
			again = graph->type[before] == type && all[before].num == all[node].num &&
				same_prefix(&all[before], &all[node], all[node].num);
		if (graph->type[node] == type && all[node].num && !again)
			describe_by_hand(s, paths, all, node, type, lines[num++], LINE);
	}
	free(all);
	return num;
}

static void check_type(const struct hsnap_snapshot *s, hsnap_type_id type, uint64_t seed)
{
	static char want[MOST_LINES][LINE], got[MOST_LINES][LINE];
	struct hsnap_paths paths;
	cr_assert_eq(hsnap_paths_init(&s->graph, &paths, NULL), HSNAP_OK);
	size_t num = lines_by_hand(s, &paths, type, want);
	hsnap_paths_deinit(&paths);
	struct hsnap_why why = ask_for_type(s, type);
	uint64_t sum = why.unreachable_count, bytes = why.unreachable_bytes, sites = 0;
	cr_assert_eq(why.paths.num, num, "seed %llu, type %u: want %zu paths, got %zu", (unsigned long long)seed, type, num, why.paths.num);
	for (size_t i = 0; i < num; i++) {
		sum += why.paths.items[i].count;
		bytes += why.paths.items[i].bytes;
		describe_path(&why, &why.paths.items[i], got[i], LINE);
		if (i)
			cr_assert_geq(why.paths.items[i - 1].bytes, why.paths.items[i].bytes, "not ranked");
	}
	for (size_t i = 0; i < why.sites.num; i++)
		sites += why.sites.items[i].count;
	cr_assert_eq(sum, why.count, "seed %llu: the paths and the unreachable do not add up", (unsigned long long)seed);
	cr_assert_eq(bytes, why.bytes);
	cr_assert_eq(sites, why.unreachable_count);
	qsort(want, num, LINE, compare_lines);
	qsort(got, num, LINE, compare_lines);
	for (size_t i = 0; i < num; i++)
		cr_assert_str_eq(got[i], want[i], "seed %llu, type %u:\nwant %s\ngot  %s", (unsigned long long)seed, type, want[i], got[i]);
	hsnap_why_deinit(&why);
}

Test(why, as_a_reference_folds_and_counts_them)
{
	for (uint64_t seed = 1; seed <= 250; seed++) {
		struct random random = { seed * 91 + 5 };
		struct hsnap_snapshot *s = random_snapshot(&(struct random_shape){
			.seed = seed, .num_roots = 1 + (uint32_t)random_below(&random, 4), .num_types = 2 + (uint32_t)random_below(&random, 4),
			.num_stacks = 3, .num_blocks = 1 + (uint32_t)random_below(&random, 70),
			.num_edges = 20 + (uint32_t)random_below(&random, 150) });
		for (hsnap_type_id type = 0; type < s->types.num; type++)
			check_type(s, type, seed);
		hsnap_snapshot_destroy(s);
	}
}

/* A list of a hundred thousand has one shape, and its counts hold. */
Test(why, a_long_list)
{
	struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){ .types = TYPES, .roots = "global:g=Cart", .blocks = "n*100000:Node" });
	struct hsnap_graph *graph = &s->graph;
	hsnap_node_id first = hsnap_first_block(graph);
	cr_assert_eq(hsnap_graph_alloc_edges(graph, graph->num_blocks, NULL), HSNAP_OK);
	for (uint32_t i = 0; i < graph->num_blocks; i++) {
		graph->first_edge[1 + i] = i;
		graph->edge_to[i] = first + i;
	}
	graph->first_edge[1 + graph->num_blocks] = graph->first_edge[2 + graph->num_blocks] = graph->num_blocks;
	struct hsnap_why why = ask_for_type(s, type_from_text(s, "Node"));
	char got[256];
	why_to_text(s, &why, got);
	cr_expect_str_eq(got, "100000 g .items>Node:1 .next×0-99999>Node:100000", "got %s", got);
	hsnap_why_deinit(&why);
	hsnap_snapshot_destroy(s);
}
