/* SPDX-License-Identifier: MIT */
/*
 * load.c - the chunks that were asked for, decoded on all cores.
 *
 * Three rounds: all records and strings; all columns of nodes, which also say
 * how many edges each node has; then the edges, which need the nodes' types.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/base/cleanup.h"
#include "snapshot/base/parallel.h"
#include "snapshot/format/check.h"
#include "snapshot/format/reader.h"

/* ---- failures, from any thread ---- */

static void fail_at(struct hsnap_reader *reader, uint64_t offset, const struct hsnap_error *err)
{
	pthread_mutex_lock(&reader->pool.lock);
	if (!reader->code || offset < reader->failed_at) {
		reader->code = err->code;
		reader->failed_at = offset;
		if (reader->err)
			*reader->err = *err;
	}
	pthread_mutex_unlock(&reader->pool.lock);
}

void hsnap_reader_damaged(struct hsnap_reader *reader, const struct hsnap_chunk *chunk, const char *why)
{
	struct hsnap_error err;
	hsnap_fail(&err, HSNAP_FORMAT, chunk->offset, "the snapshot is damaged: its %s at byte %llu: %s",
		   hsnap_section_name(chunk->section), (unsigned long long)chunk->offset, why);
	fail_at(reader, chunk->offset, &err);
}

void hsnap_reader_no_memory(struct hsnap_reader *reader)
{
	struct hsnap_error err;
	hsnap_fail(&err, HSNAP_NO_MEMORY, 0, "out of memory");
	fail_at(reader, 0, &err);
}

static void unreadable(struct hsnap_reader *reader, const struct hsnap_chunk *chunk)
{
	struct hsnap_error err;
	if (errno == ENOMEM)
		hsnap_reader_no_memory(reader);
	else if (!errno)
		hsnap_reader_damaged(reader, chunk, "the file was cut short while it was read");
	else {
		hsnap_fail(&err, HSNAP_IO, chunk->offset, "%s", strerror(errno));
		fail_at(reader, chunk->offset, &err);
	}
}

/* Read, check and decompress chunk `i` into the scratch buffers of a column. */
static bool fetch(struct hsnap_reader *reader, struct hsnap_scratch *scratch, uint32_t i, unsigned column,
		  struct hsnap_bytes *ret)
{
	const struct hsnap_chunk *chunk = &reader->chunks.items[i];
	const uint8_t *stored =
		hsnap_source_get(&reader->source, chunk->offset, chunk->stored, &scratch->stored[column]);
	if (!stored) {
		unreadable(reader, chunk);
		return false;
	}
	switch (hsnap_chunk_unpack(&scratch->zip, chunk, stored, &scratch->raw[column], ret)) {
	case HSNAP_UNPACKED:
		return true;
	case HSNAP_UNPACK_CHECKSUM:
		hsnap_reader_damaged(reader, chunk, "its checksum does not match");
		return false;
	case HSNAP_UNPACK_BROKEN:
		hsnap_reader_damaged(reader, chunk, "it cannot be decompressed");
		return false;
	case HSNAP_UNPACK_NO_MEMORY:
		hsnap_reader_no_memory(reader);
		return false;
	}
	return false;
}

/* ---- records and strings ---- */

struct table_job {
	struct hsnap_reader *reader;
	struct hsnap_vec(struct { uint32_t chunk; uint64_t first; }) pieces;
};

static bool is_text(unsigned section)
{
	return section == HSNAP_SECTION_TABLE_STRINGS || section == HSNAP_SECTION_STRINGS;
}

static bool in_table(unsigned section)
{
	return section <= HSNAP_LAST_OF_TABLE;
}

static void decode_records(struct hsnap_reader *reader, const struct hsnap_chunk *chunk, uint64_t first,
			   struct hsnap_bytes bytes)
{
	struct hsnap_codec codec = { .in = bytes, .num_strings = reader->extents[HSNAP_SECTION_TABLE_STRINGS].items };
	if (!in_table(chunk->section))
		codec.num_strings += reader->extents[HSNAP_SECTION_STRINGS].items;
	for (uint64_t i = 0; i < chunk->items && !codec.in.bad; i++)
		hsnap_record_code(&codec, reader->snapshot, chunk->section, first + i);
	if (codec.in.bad || hsnap_bytes_left(&codec.in))
		hsnap_reader_damaged(reader, chunk, "a value in it is out of range");
}

static void load_table_piece(void *context, size_t i)
{
	struct table_job *job = context;
	struct hsnap_reader *reader = job->reader;
	const struct hsnap_chunk *chunk = &reader->chunks.items[job->pieces.items[i].chunk];
	uint64_t first = job->pieces.items[i].first;
	struct hsnap_scratch *scratch = hsnap_scratch_take(&reader->pool);
	if (!scratch) {
		hsnap_reader_no_memory(reader);
		return;
	}
	struct hsnap_bytes bytes;
	if (fetch(reader, scratch, job->pieces.items[i].chunk, 0, &bytes)) {
		if (is_text(chunk->section))
			memcpy(reader->snapshot->strings.bytes + first, bytes.at, chunk->raw);
		else
			decode_records(reader, chunk, first, bytes);
	}
	hsnap_scratch_give(&reader->pool, scratch);
}

static bool add_pieces(struct table_job *job, unsigned section, uint64_t first)
{
	const struct hsnap_extent *extent = &job->reader->extents[section];
	for (size_t i = 0; i < extent->chunks.num; i++) {
		__typeof__(*job->pieces.items) piece = { .chunk = extent->chunks.items[i], .first = first };
		if (!hsnap_vec_push(&job->pieces, piece))
			return false;
		first += job->reader->chunks.items[piece.chunk].items;
	}
	return true;
}

static bool alloc_strings(struct hsnap_reader *reader, uint64_t num)
{
	struct hsnap_strings *strings = &reader->snapshot->strings;
	hsnap_strings_deinit(strings);
	strings->bytes = malloc(num);
	strings->num = strings->capacity = strings->bytes ? num : 0;
	return strings->bytes;
}

static enum hsnap_code damaged(struct hsnap_reader *reader, const char *why)
{
	return hsnap_fail(reader->err, HSNAP_FORMAT, 0, "the snapshot is damaged: %s", why);
}

static bool terminated(const struct hsnap_reader *reader)
{
	const struct hsnap_strings *strings = &reader->snapshot->strings;
	size_t table = reader->extents[HSNAP_SECTION_TABLE_STRINGS].items;
	return !strings->bytes[0] && !strings->bytes[table - 1] && !strings->bytes[strings->num - 1];
}

/* Whose objects follow whose. */
static void number_items(struct hsnap_graph *graph)
{
	uint32_t first = 0;
	for (size_t i = 0; i < graph->pools.num; i++) {
		graph->pools.items[i].first_item = first;
		first += graph->pools.items[i].num_items; /* the check tells where this goes wrong */
	}
}

/* Members are not there: no type may point to them. */
static void forget_members(struct hsnap_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->types.num; i++)
		snapshot->types.items[i].first_member = snapshot->types.items[i].num_members = 0;
}

static enum hsnap_code load_table(struct hsnap_reader *reader)
{
	bool members = reader->what & HSNAP_LOAD_MEMBERS, no_memory = false;
	uint64_t table = reader->extents[HSNAP_SECTION_TABLE_STRINGS].items;
	uint64_t rest = members ? reader->extents[HSNAP_SECTION_STRINGS].items : 0;
	if (!table || table >= UINT32_MAX || rest >= UINT32_MAX - table)
		return damaged(reader, "its strings are none or too many");
	struct table_job job = { .reader = reader };
	bool done = alloc_strings(reader, table + rest);
	unsigned last = members ? HSNAP_LAST_OF_MEMBERS : HSNAP_LAST_OF_TABLE;
	for (unsigned section = HSNAP_SECTION_TABLE_STRINGS; done && section <= last; section++) {
		done = is_text(section) || hsnap_records_alloc(reader->snapshot, section, reader->extents[section].items,
							       reader->counts.reasons);
		done = done && add_pieces(&job, section, section == HSNAP_SECTION_STRINGS ? table : 0);
	}
	if (done)
		hsnap_parallel(job.pieces.num, load_table_piece, &job);
	else
		hsnap_reader_no_memory(reader);
	hsnap_vec_deinit(&job.pieces);
	if (reader->code)
		return reader->code;
	if (!terminated(reader))
		return damaged(reader, "its strings do not end");
	if (!members)
		forget_members(reader->snapshot);
	number_items(&reader->snapshot->graph);
	if (!(reader->what & HSNAP_LOAD_EDGES))
		hsnap_vec_deinit(&reader->snapshot->graph.edge_items);
	const char *wrong = hsnap_check_table(reader->snapshot, members, &no_memory);
	if (no_memory)
		hsnap_reader_no_memory(reader);
	return no_memory ? reader->code : wrong ? damaged(reader, wrong) : HSNAP_OK;
}

static enum hsnap_code load_facts(struct hsnap_reader *reader)
{
	const struct hsnap_extent *extent = &reader->extents[HSNAP_SECTION_FACTS];
	if (extent->chunks.num != 1)
		return damaged(reader, "its facts are missing");
	uint32_t i = extent->chunks.items[0];
	struct hsnap_scratch *scratch = hsnap_scratch_take(&reader->pool);
	if (!scratch) {
		hsnap_reader_no_memory(reader);
		return reader->code;
	}
	struct hsnap_codec codec = { .num_strings = reader->extents[HSNAP_SECTION_TABLE_STRINGS].items };
	if (fetch(reader, scratch, i, 0, &codec.in)) {
		hsnap_facts_code(&codec, &reader->snapshot->facts, &reader->counts);
		if (codec.in.bad || hsnap_bytes_left(&codec.in))
			hsnap_reader_damaged(reader, &reader->chunks.items[i], "a value in it is out of range");
	}
	hsnap_scratch_give(&reader->pool, scratch);
	return reader->code;
}

/* ---- nodes ---- */

struct graph_job {
	struct hsnap_reader *reader;
	struct hsnap_nodes_job *nodes; /* one a chunk */
	size_t num;
};

static void load_nodes_piece(void *context, size_t i)
{
	struct graph_job *job = context;
	struct hsnap_reader *reader = job->reader;
	struct hsnap_scratch *scratch = hsnap_scratch_take(&reader->pool);
	struct hsnap_node_scratch *tables = scratch ? hsnap_scratch_nodes(scratch) : NULL;
	if (!tables)
		hsnap_reader_no_memory(reader);
	struct hsnap_bytes in[HSNAP_NODE_COLUMNS];
	uint32_t chunks[HSNAP_NODE_COLUMNS];
	unsigned columns = job->nodes[i].edges ? HSNAP_NODE_COLUMNS : HSNAP_NODE_COLUMNS - 1;
	bool done = tables;
	for (unsigned c = 0; done && c < columns; c++) {
		chunks[c] = reader->extents[HSNAP_SECTION_KINDS + c].chunks.items[i];
		done = fetch(reader, scratch, chunks[c], c, &in[c]);
	}
	if (done) {
		unsigned column = 0;
		const char *wrong =
			hsnap_nodes_decode(&reader->snapshot->graph, tables, &job->nodes[i], in, &column);
		if (wrong && job->nodes[i].no_memory)
			hsnap_reader_no_memory(reader);
		else if (wrong)
			hsnap_reader_damaged(reader, &reader->chunks.items[chunks[column]], wrong);
	}
	if (scratch)
		hsnap_scratch_give(&reader->pool, scratch);
}

static void plan_nodes(struct graph_job *job, bool edges)
{
	const struct hsnap_reader *reader = job->reader;
	hsnap_node_id node = 1;
	uint64_t edge = 0;
	for (size_t i = 0; i < job->num; i++) {
		struct hsnap_nodes_job *nodes = &job->nodes[i];
		nodes->first = node;
		nodes->num = (uint32_t)reader->chunks.items[reader->extents[HSNAP_SECTION_KINDS].chunks.items[i]].items;
		nodes->num_types = (uint32_t)reader->snapshot->types.num;
		nodes->num_sites = (uint32_t)reader->snapshot->stacks.num;
		nodes->num_grounds = (uint32_t)reader->snapshot->grounds.num;
		node += nodes->num;
		nodes->first_edge = edge;
		nodes->edges = edges;
		if (!edges)
			continue;
		nodes->num_edges = reader->chunks.items[reader->extents[HSNAP_SECTION_SLOTS].chunks.items[i]].items;
		edge += nodes->num_edges;
	}
}

/* What one chunk cannot see: big blocks in one list, and the order over the seams. */
static enum hsnap_code join_nodes(struct graph_job *job)
{
	struct hsnap_graph *graph = &job->reader->snapshot->graph;
	uint64_t last = 0;
	for (size_t i = 0; i < job->num; i++) {
		struct hsnap_nodes_job *nodes = &job->nodes[i];
		if (!hsnap_vec_reserve(&graph->big, nodes->big.num)) {
			hsnap_reader_no_memory(job->reader);
			return job->reader->code;
		}
		if (nodes->big.num)
			memcpy(graph->big.items + graph->big.num, nodes->big.items,
			       nodes->big.num * sizeof(*nodes->big.items));
		graph->big.num += nodes->big.num;
		hsnap_node_id first = hsnap_first_block(graph) > nodes->first ? hsnap_first_block(graph) : nodes->first;
		if (first >= nodes->first + nodes->num)
			continue;
		if (graph->address[first] < last)
			return damaged(job->reader, "its blocks are not in order of address");
		last = nodes->last_address;
	}
	return HSNAP_OK;
}

static enum hsnap_code load_nodes(struct hsnap_reader *reader)
{
	struct hsnap_graph *graph = &reader->snapshot->graph;
	enum hsnap_code code = hsnap_graph_alloc_nodes(graph, (uint32_t)reader->counts.roots,
						       (uint32_t)reader->counts.blocks, reader->err);
	if (!code && reader->what & HSNAP_LOAD_EDGES)
		code = hsnap_graph_alloc_edges(graph, reader->counts.edges, reader->err);
	if (!code && reader->what & HSNAP_LOAD_GROUNDS)
		code = hsnap_graph_alloc_grounds(graph, reader->err);
	if (code)
		return code;
	struct graph_job job = { .reader = reader, .num = reader->extents[HSNAP_SECTION_KINDS].chunks.num };
	job.nodes = calloc(job.num + 1, sizeof(*job.nodes));
	if (!job.nodes) {
		hsnap_reader_no_memory(reader);
		return reader->code;
	}
	plan_nodes(&job, graph->first_edge && reader->extents[HSNAP_SECTION_SLOTS].chunks.num);
	hsnap_parallel(job.num, load_nodes_piece, &job);
	code = reader->code ? reader->code : join_nodes(&job);
	for (size_t i = 0; i < job.num; i++)
		hsnap_vec_deinit(&job.nodes[i].big);
	free(job.nodes);
	if (graph->first_edge)
		graph->first_edge[graph->num_nodes] = (uint32_t)graph->num_edges;
	return code;
}

/* ---- edges ---- */

static void load_edges_piece(void *context, size_t i)
{
	struct hsnap_reader *reader = context;
	struct hsnap_scratch *scratch = hsnap_scratch_take(&reader->pool);
	if (!scratch) {
		hsnap_reader_no_memory(reader);
		return;
	}
	struct hsnap_bytes in[HSNAP_EDGE_COLUMNS];
	uint32_t chunks[HSNAP_EDGE_COLUMNS];
	bool done = true;
	for (unsigned c = 0; done && c < HSNAP_EDGE_COLUMNS; c++) {
		chunks[c] = reader->extents[HSNAP_SECTION_STEPS + c].chunks.items[i];
		done = fetch(reader, scratch, chunks[c], c, &in[c]);
	}
	if (done) {
		unsigned column = 0;
		uint32_t num = (uint32_t)reader->chunks.items[chunks[0]].items;
		const char *wrong = hsnap_edges_decode(&reader->snapshot->graph, &scratch->guesses,
						       (uint64_t)i * HSNAP_CHUNK_EDGES, num, in, &column);
		if (wrong)
			hsnap_reader_damaged(reader, &reader->chunks.items[chunks[column]], wrong);
	}
	hsnap_scratch_give(&reader->pool, scratch);
}

/* A node's edges may be cut by a seam: the order must hold over it, too. */
static bool seams_in_order(const struct hsnap_graph *graph)
{
	for (uint64_t edge = HSNAP_CHUNK_EDGES; edge < graph->num_edges; edge += HSNAP_CHUNK_EDGES)
		if (graph->first_edge[hsnap_edge_source(graph, edge)] < edge &&
		    graph->edge_offset[edge] < graph->edge_offset[edge - 1])
			return false;
	return true;
}

static enum hsnap_code load_edges(struct hsnap_reader *reader)
{
	hsnap_parallel(reader->extents[HSNAP_SECTION_STEPS].chunks.num, load_edges_piece, reader);
	if (reader->code)
		return reader->code;
	return seams_in_order(&reader->snapshot->graph)
		       ? HSNAP_OK : damaged(reader, "edges are not in order of their offsets");
}

enum hsnap_code hsnap_reader_load(struct hsnap_reader *reader)
{
	enum hsnap_code code = load_facts(reader);
	if (!code)
		code = hsnap_reader_check_columns(reader);
	if (!code)
		code = load_table(reader);
	if (reader->what & HSNAP_LOAD_MEMBERS)
		reader->snapshot->graph.num_roots = (uint32_t)reader->snapshot->graph.roots.num;
	if (!code && reader->what & HSNAP_LOAD_NODES)
		code = load_nodes(reader);
	if (!code && reader->what & HSNAP_LOAD_EDGES)
		code = load_edges(reader);
	const char *wrong = !code && reader->what & HSNAP_LOAD_NODES ? hsnap_check_pools(reader->snapshot) : NULL;
	return wrong ? damaged(reader, wrong) : code;
}
