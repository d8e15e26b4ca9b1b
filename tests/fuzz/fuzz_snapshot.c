/* SPDX-License-Identifier: MIT */
/*
 * fuzz_snapshot.c - any bytes as a snapshot's file.
 *
 * Property: what is read can be written, and is the same when read again.  The
 * checksums are put right first (libFuzzer would never hit them), so that what
 * is tried is everything behind them.  What is asked of it then, as it stands and after its states were
 * found anew, comes to an end and adds up: paths, leaks, a comparison.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "diff/diff.h"
#include "retention/retention.h"
#include "snapshot/base/cleanup.h"
#include "snapshot/explain.h"
#include "snapshot/format/layout.h"
#include "snapshot/format/writer.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/compare.h"

#define ALL HSNAP_LOAD_ALL

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_snapshot: %s\n", what);
	abort();
}

static uint64_t number(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;
	memcpy(&value, at, bytes);
	return value;
}

/* A varint of the index; NULL past its end. */
static uint8_t *skip_varint(uint8_t *at, const uint8_t *end, uint64_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; at && at < end; shift += 7) {
		if (shift < 64)
			*ret |= (uint64_t)(*at & 0x7f) << shift;
		if (*at++ < 0x80)
			return at;
	}
	return NULL;
}

/* Make each checksum of the index, and the index's own, match. */
static void mend(uint8_t *bytes, size_t size)
{
	if (size < HSNAP_FORMAT_HEADER + HSNAP_FORMAT_TAIL)
		return;
	uint8_t *tail = bytes + size - HSNAP_FORMAT_TAIL;
	uint64_t len = number(tail, 8), left = size - HSNAP_FORMAT_HEADER - HSNAP_FORMAT_TAIL, num, value, stored;
	if (len > left)
		return;
	uint64_t body = left - len, used = 0;
	uint8_t *index = tail - len, *at = skip_varint(index, tail, &num);
	while (at && num--) {
		for (int field = 0; field < 3; field++)
			at = skip_varint(at, tail, &value);
		at = skip_varint(at, tail, &stored);
		if (!at || tail - at < 4 || stored > body - used)
			break;
		uint32_t crc = (uint32_t)crc32(0, bytes + HSNAP_FORMAT_HEADER + used, (uInt)stored);
		memcpy(at, &crc, 4);
		at += 4;
		used += stored;
	}
	memcpy(tail + 8, &(uint64_t){ size }, 8);
	uint32_t crc = (uint32_t)crc32(0, bytes, HSNAP_FORMAT_HEADER);
	crc = (uint32_t)crc32(crc, index, (uInt)(len + 16));
	memcpy(tail + 16, &crc, 4);
}

/* Objects in pools as nodes and as rows: edges lead to what is there, and no byte is lost. */
static void expand(struct hsnap_snapshot *snapshot)
{
	struct hsnap_graph *graph = &snapshot->graph;
	struct hsnap_error err = { 0 };
	uint64_t edges = graph->num_edges, items = graph->first_edge ? graph->items.num : 0, before = 0, after = 0;
	for (size_t i = 0; i < snapshot->rows.num; i++)
		before += snapshot->rows.items[i].bytes;
	check(!hsnap_snapshot_expand_rows(snapshot, &err), err.message);
	for (size_t i = 0; i < snapshot->rows.num; i++)
		after += snapshot->rows.items[i].bytes;
	check(before == after, "bytes of rows");
	check(!hsnap_graph_expand(graph, &err), err.message);
	check(graph->num_edges == edges + 2 * items, "number of edges");
	for (uint64_t e = 0; e < graph->num_edges; e++)
		check((graph->edge_to[e] & ~HSNAP_EDGE_WEAK) - 1 < graph->num_nodes - 1, "an edge leads nowhere");
	for (hsnap_node_id node = graph->num_nodes - graph->num_items; node < graph->num_nodes; node++)
		check(hsnap_pool_block(graph, node) < node, "an object without a block");
}

/* Whose blocks are the types that `wanted` names, or that one. */
static void why(const struct hsnap_snapshot *snapshot, const struct hsnap_paths *paths, const bool *wanted, hsnap_node_id node)
{
	struct hsnap_why_what what = { .types = wanted, .node = node, .by_count = node & 1, .most_paths = node & 2 ? 3 : SIZE_MAX };
	struct hsnap_error err = { 0 };
	struct hsnap_why answer;
	check(!hsnap_why_init(snapshot, paths, &what, &answer, &err), err.message);
	uint64_t count = answer.unreachable_count;
	for (size_t i = 0; i < answer.paths.num; i++)
		count += answer.paths.items[i].count;
	check(count == answer.count, "blocks of paths");
	hsnap_why_deinit(&answer);
}

static void ask(const struct hsnap_snapshot *snapshot)
{
	const struct hsnap_graph *graph = &snapshot->graph;
	struct hsnap_error err = { 0 };
	struct hsnap_paths paths;
	struct hsnap_leaks leaks;
	if (!graph->first_edge) /* a file without edges is asked for none of this */
		return;
	check(!hsnap_paths_init(graph, &paths, &err), err.message);
	hsnap_auto(hsnap_freep) bool *wanted = calloc(snapshot->types.num + 1, sizeof(*wanted));
	check(wanted, "out of memory");
	for (hsnap_type_id type = 0; type < snapshot->types.num; type++)
		wanted[type] = type % 2;
	why(snapshot, &paths, wanted, 0);
	for (hsnap_node_id node = hsnap_first_block(graph), last = node + 5; node < graph->num_nodes && node < last; node++)
		why(snapshot, &paths, NULL, node);
	hsnap_paths_deinit(&paths);
	static const enum hsnap_state states[] = { HSNAP_UNREACHABLE, HSNAP_POSSIBLE };
	for (size_t s = 0; s < 2; s++) {
		check(!hsnap_leaks_init(snapshot, states[s], s, &leaks, &err), err.message);
		uint64_t count = 0;
		for (size_t i = 0; i < leaks.groups.num; i++)
			count += leaks.groups.items[i].count;
		check(count == leaks.count, "blocks of leaks");
		hsnap_leaks_deinit(&leaks);
	}
}

static void compare(const struct hsnap_snapshot *earlier, const struct hsnap_snapshot *later)
{
	const struct hsnap_snapshot *both[] = { earlier, later };
	struct hsnap_error err = { 0 };
	struct hsnap_diff diff;
	int64_t companions;
	check(!hsnap_diff_init(both, 2, HSNAP_DIFF_BY_BYTES, &diff, &err), err.message);
	check(earlier != later || (!diff.bytes_delta && !diff.count_delta), "it differs from itself");
	check(hsnap_diff_companions(&diff, &companions) <= diff.rows.num, "companions");
	hsnap_diff_deinit(&diff);
}

static void read_write_read(const uint8_t *bytes, size_t size)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *first = NULL, *again = NULL;
	struct hsnap_buffer written = { 0 };
	struct hsnap_error err = { 0 };
	char text[256];
	enum hsnap_code code = hsnap_snapshot_read_bytes(bytes, size, ALL, &first, &err);
	if (code) {
		check(code == HSNAP_FORMAT || code == HSNAP_UNSUPPORTED || code == HSNAP_NO_MEMORY, err.message);
		check(err.message[0], "an error without a message");
		return;
	}
	check(!hsnap_snapshot_write_bytes(first, &written, &err), err.message);
	check(!hsnap_snapshot_read_bytes(written.bytes, written.num, ALL, &again, &err), err.message);
	check(snapshots_equal(first, again, ALL, text, sizeof(text)), text);
	hsnap_buffer_deinit(&written);
	compare(again, again);
	check(!hsnap_graph_expand(&again->graph, &err), err.message);
	ask(again);
	check(!hsnap_snapshot_mark(first, &err) && !hsnap_snapshot_summarize(first, &err), err.message);
	for (hsnap_node_id node = hsnap_first_block(&first->graph), last = node + 20; node < first->graph.num_nodes && node < last; node++) {
		struct hsnap_explanation explanation;
		check(!hsnap_explain(first, node, &explanation, &err), err.message);
		hsnap_explanation_deinit(&explanation);
	}
	for (hsnap_type_id type = 0; type < first->types.num && type < 50; type++) {
		hsnap_member_path(first, type, first->types.items[type].size / 2, text, sizeof(text));
		free(hsnap_type_identity(first, type));
	}
	expand(first);
	ask(first);
	compare(again, first);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	check(copy, "out of memory");
	memcpy(copy, bytes, size);
	read_write_read(copy, size);
	mend(copy, size);
	read_write_read(copy, size);
	free(copy);
	return 0;
}
