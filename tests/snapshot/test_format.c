/* SPDX-License-Identifier: MIT */
/* test_format.c - what is written is read again. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>

#include "snapshot/base/cleanup.h"
#include "tests/support/compare.h"
#include "tests/support/folder.h"
#include "tests/support/graph_text.h"
#include "tests/support/random_graph.h"

#define ALL HSNAP_LOAD_ALL

/* ---- what is written is read again ---- */

static const struct {
	const char *name;
	struct random_shape shape;
} shapes[] = {
	{ "nothing in it", { .num_types = 1, .num_stacks = 1, .no_account = true } },
	{ "no columns of edges", { .num_types = 5, .num_stacks = 3, .num_blocks = 500, .no_edges = true } },
	{ "roots alone", { .num_types = 5, .num_stacks = 3, .num_roots = 300, .style = RANDOM_WILD } },
	{ "one block", { .num_types = 2, .num_stacks = 2, .num_blocks = 1, .num_edges = 1 } },
	{ "a heap", { .num_types = 40, .num_stacks = 9, .num_roots = 100, .num_blocks = 5000, .num_edges = 9000 } },
	{ "a heap of two chunks", { .num_types = 40, .num_stacks = 9, .num_roots = 50, .num_blocks = 70000, .num_edges = 150000 } },
	{ "a chunk full to the last", { .num_types = 9, .num_stacks = 2, .num_roots = 36, .num_blocks = 65500, .num_edges = 4 } },
	{ "one more than a chunk", { .num_types = 9, .num_stacks = 2, .num_roots = 36, .num_blocks = 65501, .num_edges = 4 } },
	{ "wild values", { .num_types = 300, .num_stacks = 200, .num_roots = 100, .num_blocks = 6000, .num_edges = 12000, .style = RANDOM_WILD } },
	{ "a block with edges for three chunks", { .num_types = 9, .num_stacks = 2, .num_blocks = 100, .num_edges = 100, .crowd = 300000 } },
	{ "and with wild offsets", { .num_types = 9, .num_stacks = 2, .num_blocks = 100, .num_edges = 100, .crowd = 140000, .style = RANDOM_WILD } },
	{ "more types than blocks", { .num_types = 30000, .num_stacks = 20000, .num_blocks = 10, .num_edges = 10, .style = RANDOM_WILD } },
	{ "every kind in one chunk", { .num_types = 60000, .num_stacks = 60000, .num_blocks = 66000, .num_edges = 66000, .style = RANDOM_WILD } },
};

ParameterizedTestParameters(format, round_trip)
{
	static size_t index[sizeof(shapes) / sizeof(*shapes)];
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		index[i] = i;
	return cr_make_param_array(size_t, index, sizeof(shapes) / sizeof(*shapes));
}

static void check_round_trip(const char *name, const struct hsnap_snapshot *s)
{
	static const unsigned whats[] = { HSNAP_LOAD_TABLE, HSNAP_LOAD_MEMBERS, HSNAP_LOAD_NODES, ALL };
	struct hsnap_error err;
	uint64_t size = 0;
	cr_assert_eq(hsnap_snapshot_write(s, in_folder("written.snap"), true, &size, &err), HSNAP_OK, "%s: %s", name,
		     err.message);
	struct file file = file_read(in_folder("written.snap"));
	cr_expect_eq(file.size, size, "%s: the size that was told", name);
	for (size_t w = 0; w < sizeof(whats) / sizeof(*whats); w++) {
		hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *read = NULL, *again = NULL;
		char text[256];
		cr_assert_eq(hsnap_snapshot_read(in_folder("written.snap"), whats[w], &read, &err), HSNAP_OK, "%s: %s",
			     name, err.message);
		cr_expect(snapshots_equal(s, read, whats[w], text, sizeof(text)), "%s, what %u: %s", name, whats[w], text);
		cr_assert_eq(hsnap_snapshot_read_bytes(file.bytes, file.size, whats[w], &again, &err), HSNAP_OK);
		cr_expect(snapshots_equal(s, again, whats[w], text, sizeof(text)), "%s, from memory: %s", name, text);
	}
	free(file.bytes);
}

ParameterizedTest(size_t *row, format, round_trip, .init = folder_make, .fini = folder_remove)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct random_shape shape = shapes[*row].shape;
		shape.seed = seed;
		hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = random_snapshot(&shape);
		check_round_trip(shapes[*row].name, s);
		if (shape.num_blocks > 60000)
			break;
	}
}

/* Made once and kept: a change of the format that forgets its number is seen here. */
Test(format, a_file_of_this_format_stays_readable)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *read = NULL;
	struct hsnap_error err;
	cr_assert_eq(hsnap_snapshot_read(HSNAP_TEST_CORPUS "/cart", ALL, &read, &err), HSNAP_OK, "%s", err.message);
	/* The text of tests/fuzz/seed_snapshot.c. */
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){
		.types = "Cart=32{items:Item**@0,next:Cart*@8,name:char*@16}%cart.c Item=16", .roots = "static:carts@cart.c:7",
		.stacks = "make_cart(cart.c:12)<main(main.c:3)",
		.blocks = "a:Cart&1 b:Item*[]/48 c:char[]^in_Cart.name/11+13 d:Item!exact", .edges = "carts>a a>b a.16>c b~d",
		.account = true });
	char text[256];
	cr_expect(snapshots_equal(s, read, ALL, text, sizeof(text)), "%s", text);
}

Test(format, comparing_sees_what_differs)
{
	const struct random_shape shape = { .seed = 5, .num_types = 9, .num_stacks = 3, .num_roots = 3, .num_blocks = 50,
					    .num_edges = 90 };
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *a = random_snapshot(&shape);
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *b = random_snapshot(&shape);
	char text[256];
	cr_assert(snapshots_equal(a, b, ALL, text, sizeof(text)), "%s", text);
	b->graph.edge_to[7] ^= HSNAP_EDGE_WEAK;
	cr_expect_not(snapshots_equal(a, b, ALL, text, sizeof(text)));
	cr_expect(snapshots_equal(a, b, HSNAP_LOAD_NODES, text, sizeof(text)), "%s", text);
	b->graph.epoch[7] ^= 1;
	cr_expect_not(snapshots_equal(a, b, HSNAP_LOAD_NODES, text, sizeof(text)));
	b->facts.taken_at++;
	cr_expect_not(snapshots_equal(a, b, HSNAP_LOAD_TABLE, text, sizeof(text)));
}

Test(format, what_is_not_loaded_is_not_there, .init = folder_make, .fini = folder_remove)
{
	const struct random_shape shape = { .seed = 6, .num_types = 9, .num_stacks = 3, .num_roots = 3, .num_blocks = 50,
					    .num_edges = 90 };
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = random_snapshot(&shape), *read = NULL;
	struct file file = file_of_snapshot(s);
	cr_assert_eq(hsnap_snapshot_read_bytes(file.bytes, file.size, HSNAP_LOAD_TABLE, &read, NULL), HSNAP_OK);
	cr_expect(!read->members.num && !read->stacks.num && !read->frames.num && !read->graph.roots.num);
	cr_expect(!read->graph.num_nodes && !read->graph.num_roots && !read->graph.address && !read->graph.first_edge);
	/* A member path asks for nothing that is not there. */
	char path[64];
	for (hsnap_type_id type = 0; type < read->types.num; type++)
		hsnap_member_path(read, type, 8, path, sizeof(path));
	/* Strings can be added to a snapshot that was read. */
	hsnap_string added = hsnap_strings_add(&read->strings, "a new string");
	cr_expect_str_eq(hsnap_text(read, added), "a new string");
	/* And what is not whole cannot be written as if it were. */
	hsnap_snapshot_destroy(hsnap_take(read));
	cr_assert_eq(hsnap_snapshot_read_bytes(file.bytes, file.size, HSNAP_LOAD_MEMBERS, &read, NULL), HSNAP_OK);
	cr_expect_eq(hsnap_snapshot_write(read, in_folder("half.snap"), false, NULL, NULL), HSNAP_UNSUPPORTED);
	cr_expect_eq(folder_count(), 0);
	free(file.bytes);
}

/* Names, rows and paths of a small graph survive, as somebody who reads them sees it. */
Test(format, a_snapshot_reads_as_it_was_made, .init = folder_make, .fini = folder_remove)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = snapshot_from_text(&(struct graph_text){
		.types = "Cart=32{items:Item**@0,next:Cart*@8,name:char*@16}%cart.c", .roots = "static:carts@cart.c:7%main",
		.blocks = "a:Cart b:Item*[]/48 c:char[]^in_Cart.name/11+13", .edges = "carts>a a>b a.16>c" });
	struct file file = file_of_snapshot(s);
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *read = NULL;
	cr_assert_eq(hsnap_snapshot_read_bytes(file.bytes, file.size, ALL, &read, NULL), HSNAP_OK);
	const struct hsnap_graph *graph = &read->graph;
	cr_expect_str_eq(hsnap_text(read, read->types.items[graph->type[2]].name), "Cart");
	cr_expect_str_eq(hsnap_text(read, read->types.items[graph->type[4]].holder), "in Cart.name");
	cr_expect_str_eq(hsnap_text(read, graph->roots.items[0].source), "cart.c:7");
	cr_expect_eq(hsnap_node_usable(graph, 4), 24);
	char path[64];
	uint32_t second = graph->first_edge[2] + 1;
	cr_expect(hsnap_member_path(read, graph->type[2], graph->edge_offset[second], path, sizeof(path)));
	cr_expect_str_eq(path, ".name");
	cr_expect_eq(graph->edge_to[second], 4);
	cr_expect_eq(read->rows.num, 3);
	free(file.bytes);
}
