/* SPDX-License-Identifier: MIT */
/* test_format.c - what is written is read again, and whatever is not a whole snapshot is refused. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "snapshot/base/cleanup.h"
#include "tests/support/compare.h"
#include "tests/support/graph_text.h"
#include "tests/support/random_graph.h"

#define ALL (HSNAP_LOAD_MEMBERS | HSNAP_LOAD_NODES | HSNAP_LOAD_EDGES)

/* A folder of its own for each test, removed with what is in it. */
static char folder[64];

static void make_folder(void)
{
	strcpy(folder, "/tmp/hsnap-format-XXXXXX");
	cr_assert(mkdtemp(folder));
}

static void remove_folder(void)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	cr_assert_eq(system(command), 0);
}

static const char *in_folder(const char *name)
{
	static char path[4][192];
	static int turn;
	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
	return path[turn];
}

struct file {
	uint8_t *bytes;
	size_t size;
};

static struct file file_of(const char *path)
{
	struct file file = { 0 };
	FILE *in = fopen(path, "rb");
	cr_assert(in);
	fseek(in, 0, SEEK_END);
	file.size = (size_t)ftell(in);
	rewind(in);
	file.bytes = malloc(file.size + 1);
	cr_assert_eq(fread(file.bytes, 1, file.size, in), file.size);
	fclose(in);
	return file;
}

static struct file written(const struct hsnap_snapshot *s)
{
	struct hsnap_error err;
	uint64_t size;
	const char *path = in_folder("written.snap");
	cr_assert_eq(hsnap_snapshot_write(s, path, true, &size, &err), HSNAP_OK, "%s", err.message);
	struct file file = file_of(path);
	cr_assert_eq(file.size, size);
	return file;
}

/* ---- what is written is read again ---- */

static const struct {
	const char *name;
	struct random_shape shape;
} shapes[] = {
	{ "nothing in it", { .num_types = 1, .num_stacks = 1 } },
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
	struct file file = written(s);
	for (size_t w = 0; w < sizeof(whats) / sizeof(*whats); w++) {
		hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *read = NULL, *again = NULL;
		struct hsnap_error err;
		char text[256];
		cr_assert_eq(hsnap_snapshot_read(in_folder("written.snap"), whats[w], &read, &err), HSNAP_OK, "%s: %s",
			     name, err.message);
		cr_expect(snapshots_equal(s, read, whats[w], text, sizeof(text)), "%s, what %u: %s", name, whats[w], text);
		cr_assert_eq(hsnap_snapshot_read_bytes(file.bytes, file.size, whats[w], &again, &err), HSNAP_OK);
		cr_expect(snapshots_equal(s, again, whats[w], text, sizeof(text)), "%s, from memory: %s", name, text);
	}
	free(file.bytes);
}

ParameterizedTest(size_t *row, format, round_trip, .init = make_folder, .fini = remove_folder)
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
