/* SPDX-License-Identifier: MIT */
/*
 * writer.c - a snapshot to its file.
 *
 * Records are coded here one after the other; columns are cut into pieces that
 * are coded and compressed on all cores, a batch at a time, and written in
 * order: memory is bounded by the batch, whatever the size of the heap.
 */
#include "snapshot/format/writer.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "snapshot/base/cleanup.h"
#include "snapshot/base/parallel.h"
#include "snapshot/format/check.h"
#include "snapshot/format/codec.h"
#include "snapshot/format/columns.h"
#include "snapshot/format/output.h"
#include "snapshot/format/scratch.h"

#define BATCH 32

/* A run of nodes or edges, and its columns once they are coded. */
struct piece {
	uint64_t first;
	uint32_t num;
	unsigned section, num_columns; /* of the first column */
	struct hsnap_buffer stored[HSNAP_NODE_COLUMNS];
	struct hsnap_chunk chunks[HSNAP_NODE_COLUMNS];
	const char *wrong; /* with the graph */
	bool no_memory;
};

struct writer {
	const struct hsnap_snapshot *snapshot;
	struct hsnap_output *out;
	struct hsnap_chunks chunks;
	struct hsnap_scratch_pool pool;
	struct hsnap_string_map map;
	struct piece pieces[BATCH];
	struct hsnap_error *err;
};

static enum hsnap_code no_memory(struct writer *writer)
{
	return hsnap_fail(writer->err, HSNAP_NO_MEMORY, 0, "out of memory while writing '%s'", writer->out->path);
}

static enum hsnap_code refuse(struct writer *writer, const char *wrong)
{
	return hsnap_fail(writer->err, HSNAP_UNSUPPORTED, 0, "cannot write '%s': %s", writer->out->path, wrong);
}

static enum hsnap_code put_chunk(struct writer *writer, const struct hsnap_buffer *stored, struct hsnap_chunk chunk)
{
	if (!hsnap_vec_push(&writer->chunks, chunk))
		return no_memory(writer);
	return hsnap_output_write(writer->out, stored->bytes, stored->num, writer->err);
}

/* Compress one buffer and write it. */
static enum hsnap_code put_raw(struct writer *writer, unsigned section, uint64_t items, const struct hsnap_buffer *raw)
{
	struct hsnap_scratch *scratch = hsnap_scratch_take(&writer->pool);
	if (!scratch)
		return no_memory(writer);
	struct hsnap_chunk chunk = { .section = (uint8_t)section, .items = items };
	enum hsnap_code code = hsnap_chunk_pack(&scratch->zip, raw, &scratch->stored[0], &chunk)
				       ? put_chunk(writer, &scratch->stored[0], chunk) : no_memory(writer);
	hsnap_scratch_give(&writer->pool, scratch);
	return code;
}

/* ---- strings: those of the table first, then those of the rest; what nobody names is left out ---- */

static int compare_from(const void *a, const void *b)
{
	const struct hsnap_string_place *left = a, *right = b;
	return left->from < right->from ? -1 : left->from > right->from;
}

/* Mark every string that the sections [from, to] name. */
static void gather(struct writer *writer, unsigned from, unsigned to, struct hsnap_string_set *set)
{
	/* The codec does not change what it writes. */
	struct hsnap_snapshot *snapshot = (struct hsnap_snapshot *)writer->snapshot;
	struct hsnap_codec codec = { .writing = true, .gather = set };
	if (from == HSNAP_SECTION_FACTS) {
		struct hsnap_facts facts = snapshot->facts;
		struct hsnap_counts counts = { 0 };
		hsnap_facts_code(&codec, &facts, &counts);
	}
	for (unsigned section = from; section <= to; section++)
		for (size_t i = 0, num = hsnap_records_num(snapshot, section); i < num; i++)
			hsnap_record_code(&codec, snapshot, section, i);
}

/* Append what is gathered and not yet in the map, with its place; the map stays sorted. */
static enum hsnap_code place_strings(struct writer *writer, const struct hsnap_string_set *set, uint64_t *position,
				     struct hsnap_buffer *text)
{
	struct hsnap_string_map *map = &writer->map;
	size_t known = map->num, at = 0;
	for (size_t word = 0; word < (set->num + 63) / 64; word++) {
		for (uint64_t bits = set->bits[word]; bits; bits &= bits - 1) {
			hsnap_string from = (hsnap_string)(word * 64 + (size_t)__builtin_ctzll(bits));
			while (at < known && map->items[at].from < from)
				at++;
			if (at < known && map->items[at].from == from)
				continue;
			size_t len = strlen(hsnap_text(writer->snapshot, from)) + 1;
			hsnap_buffer_put(text, hsnap_text(writer->snapshot, from), len);
			if (!hsnap_vec_push(map, (struct hsnap_string_place){ .from = from, .to = (hsnap_string)*position }))
				return no_memory(writer);
			*position += len;
			if (*position > UINT32_MAX - 1)
				return refuse(writer, "there are more than 4 GiB of names");
		}
	}
	if (map->num)
		qsort(map->items, map->num, sizeof(*map->items), compare_from);
	return text->full ? no_memory(writer) : HSNAP_OK;
}

static enum hsnap_code put_text(struct writer *writer, unsigned section, const struct hsnap_buffer *text)
{
	enum hsnap_code code = HSNAP_OK;
	for (size_t at = 0; !code && at < text->num; at += HSNAP_CHUNK_TEXT) {
		size_t left = text->num - at;
		struct hsnap_buffer part = { .bytes = text->bytes + at,
					     .num = left < HSNAP_CHUNK_TEXT ? left : HSNAP_CHUNK_TEXT };
		code = put_raw(writer, section, part.num, &part);
	}
	return code;
}

/* *position: where the next string will stand; 0 at first. */
static enum hsnap_code put_strings(struct writer *writer, unsigned section, unsigned from, unsigned to,
				   uint64_t *position)
{
	hsnap_auto(hsnap_buffer_deinit) struct hsnap_buffer text = { 0 };
	struct hsnap_string_set set = { .num = writer->snapshot->strings.num };
	hsnap_auto(hsnap_freep) uint64_t *bits = set.bits = calloc(set.num / 64 + 1, sizeof(*bits));
	if (!bits)
		return no_memory(writer);
	if (!*position) {
		hsnap_buffer_put(&text, "", 1);
		*position = 1;
	}
	gather(writer, from, to, &set);
	enum hsnap_code code = place_strings(writer, &set, position, &text);
	return code ? code : put_text(writer, section, &text);
}

/* ---- records ---- */

static enum hsnap_code put_facts(struct writer *writer)
{
	const struct hsnap_snapshot *snapshot = writer->snapshot;
	hsnap_auto(hsnap_buffer_deinit) struct hsnap_buffer raw = { 0 };
	struct hsnap_codec codec = { .writing = true, .out = &raw, .map = &writer->map };
	struct hsnap_facts facts = snapshot->facts;
	struct hsnap_counts counts = {
		.roots = snapshot->graph.num_roots, .blocks = snapshot->graph.num_blocks,
		.edges = snapshot->graph.num_edges, .reasons = snapshot->partial_reasons.num,
	};
	hsnap_facts_code(&codec, &facts, &counts);
	return put_raw(writer, HSNAP_SECTION_FACTS, 1, &raw);
}

static enum hsnap_code put_records(struct writer *writer, unsigned section)
{
	struct hsnap_snapshot *snapshot = (struct hsnap_snapshot *)writer->snapshot;
	hsnap_auto(hsnap_buffer_deinit) struct hsnap_buffer raw = { 0 };
	size_t i = 0, num = hsnap_records_num(snapshot, section);
	while (i < num) {
		struct hsnap_codec codec = { .writing = true, .out = &raw, .map = &writer->map };
		size_t first = i;
		raw.num = 0;
		while (i < num && raw.num < HSNAP_CHUNK_TEXT)
			hsnap_record_code(&codec, snapshot, section, i++);
		enum hsnap_code code = put_raw(writer, section, i - first, &raw);
		if (code)
			return code;
	}
	return HSNAP_OK;
}

static enum hsnap_code put_table(struct writer *writer)
{
	uint64_t position = 0;
	enum hsnap_code code = put_strings(writer, HSNAP_SECTION_TABLE_STRINGS, HSNAP_SECTION_FACTS,
					   HSNAP_LAST_OF_TABLE, &position);
	if (!code)
		code = put_facts(writer);
	for (unsigned section = HSNAP_SECTION_NOTES; !code && section <= HSNAP_LAST_OF_TABLE; section++)
		code = put_records(writer, section);
	if (!code)
		code = put_strings(writer, HSNAP_SECTION_STRINGS, HSNAP_SECTION_MEMBERS, HSNAP_LAST_OF_MEMBERS, &position);
	for (unsigned section = HSNAP_SECTION_MEMBERS; !code && section <= HSNAP_LAST_OF_MEMBERS; section++)
		code = put_records(writer, section);
	return code;
}

/* ---- columns ---- */

static const char *encode_nodes(const struct writer *writer, struct hsnap_scratch *scratch, struct piece *piece)
{
	const struct hsnap_snapshot *snapshot = writer->snapshot;
	const char *wrong = hsnap_check_nodes(snapshot, (hsnap_node_id)piece->first, piece->num);
	if (!wrong && snapshot->graph.first_edge)
		wrong = hsnap_check_edges(snapshot, (hsnap_node_id)piece->first, piece->num);
	struct hsnap_node_scratch *nodes = hsnap_scratch_nodes(scratch);
	piece->no_memory = !nodes;
	if (!wrong && nodes)
		hsnap_nodes_encode(&snapshot->graph, nodes, (hsnap_node_id)piece->first, piece->num, scratch->raw);
	return wrong;
}

static uint64_t items_of(const struct writer *writer, const struct piece *piece, unsigned section)
{
	const uint32_t *first_edge = writer->snapshot->graph.first_edge;
	if (section == HSNAP_SECTION_SLOTS)
		return first_edge[piece->first + piece->num] - first_edge[piece->first];
	return piece->num;
}

static void encode_piece(void *context, size_t i)
{
	struct writer *writer = context;
	struct piece *piece = &writer->pieces[i];
	struct hsnap_scratch *scratch = hsnap_scratch_take(&writer->pool);
	piece->wrong = NULL;
	piece->no_memory = !scratch;
	if (!scratch)
		return;
	if (piece->section == HSNAP_SECTION_KINDS)
		piece->wrong = encode_nodes(writer, scratch, piece);
	else
		hsnap_edges_encode(&writer->snapshot->graph, &scratch->guesses, piece->first, piece->num, scratch->raw);
	for (unsigned c = 0; c < piece->num_columns && !piece->wrong && !piece->no_memory; c++) {
		unsigned section = piece->section + c;
		piece->chunks[c] = (struct hsnap_chunk){ .section = (uint8_t)section,
							 .items = items_of(writer, piece, section) };
		piece->no_memory = !hsnap_chunk_pack(&scratch->zip, &scratch->raw[c], &piece->stored[c], &piece->chunks[c]);
	}
	hsnap_scratch_give(&writer->pool, scratch);
}

static enum hsnap_code put_piece(struct writer *writer, const struct piece *piece)
{
	if (piece->wrong)
		return refuse(writer, piece->wrong);
	if (piece->no_memory)
		return no_memory(writer);
	for (unsigned c = 0; c < piece->num_columns; c++) {
		enum hsnap_code code = put_chunk(writer, &piece->stored[c], piece->chunks[c]);
		if (code)
			return code;
	}
	return HSNAP_OK;
}

/* Items [first, end) in pieces of `each`. */
static enum hsnap_code put_columns(struct writer *writer, unsigned section, unsigned num_columns, uint64_t first,
				   uint64_t end, uint32_t each)
{
	while (first < end) {
		size_t num = 0;
		for (; num < BATCH && first < end; num++) {
			struct piece *piece = &writer->pieces[num];
			piece->section = section;
			piece->num_columns = num_columns;
			piece->first = first;
			piece->num = (uint32_t)(end - first < each ? end - first : each);
			first += piece->num;
		}
		hsnap_parallel(num, encode_piece, writer);
		for (size_t i = 0; i < num; i++) {
			enum hsnap_code code = put_piece(writer, &writer->pieces[i]);
			if (code)
				return code;
		}
	}
	return HSNAP_OK;
}

static enum hsnap_code put_graph(struct writer *writer)
{
	const struct hsnap_graph *graph = &writer->snapshot->graph;
	uint64_t nodes = (uint64_t)graph->num_roots + graph->num_blocks;
	unsigned columns = graph->first_edge ? HSNAP_NODE_COLUMNS : HSNAP_NODE_COLUMNS - 1;
	enum hsnap_code code = put_columns(writer, HSNAP_SECTION_KINDS, columns, 1, 1 + nodes, HSNAP_CHUNK_NODES);
	if (!code)
		code = put_columns(writer, HSNAP_SECTION_STEPS, HSNAP_EDGE_COLUMNS, 0, graph->num_edges, HSNAP_CHUNK_EDGES);
	return code;
}

/* ---- header, index, tail ---- */

static void put_number(uint8_t *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> i * 8);
}

static void make_header(uint8_t header[HSNAP_FORMAT_HEADER])
{
	memset(header, 0, HSNAP_FORMAT_HEADER);
	memcpy(header, HSNAP_FORMAT_MAGIC, 8);
	put_number(header + 8, HSNAP_FORMAT_VERSION, 4);
}

static enum hsnap_code put_index(struct writer *writer, const uint8_t header[HSNAP_FORMAT_HEADER])
{
	hsnap_auto(hsnap_buffer_deinit) struct hsnap_buffer index = { 0 };
	hsnap_index_write(&writer->chunks, &index);
	if (index.full || index.num > UINT32_MAX)
		return no_memory(writer);
	uint8_t tail[HSNAP_FORMAT_TAIL] = { 0 };
	put_number(tail, index.num, 8);
	put_number(tail + 8, writer->out->written + index.num + HSNAP_FORMAT_TAIL, 8);
	uint32_t crc = (uint32_t)crc32(0, header, HSNAP_FORMAT_HEADER);
	crc = (uint32_t)crc32(crc, index.bytes, (uInt)index.num);
	crc = (uint32_t)crc32(crc, tail, 16);
	put_number(tail + 16, crc, 4);
	memcpy(tail + 24, HSNAP_FORMAT_TAIL_MAGIC, 8);
	hsnap_buffer_put(&index, tail, sizeof(tail));
	if (index.full)
		return no_memory(writer);
	return hsnap_output_write(writer->out, index.bytes, index.num, writer->err);
}

static enum hsnap_code write_all(struct writer *writer)
{
	bool memory;
	const char *wrong = hsnap_check_table(writer->snapshot, true, &memory);
	if (memory)
		return no_memory(writer);
	wrong = wrong ? wrong : hsnap_check_graph(writer->snapshot);
	if (wrong)
		return refuse(writer, wrong);
	uint8_t header[HSNAP_FORMAT_HEADER];
	make_header(header);
	enum hsnap_code code = hsnap_output_write(writer->out, header, sizeof(header), writer->err);
	if (!code)
		code = put_table(writer);
	if (!code)
		code = put_graph(writer);
	/* Its edges are right by now. */
	wrong = code ? NULL : hsnap_check_pools(writer->snapshot);
	if (wrong)
		code = refuse(writer, wrong);
	if (!code)
		code = put_index(writer, header);
	return code ? code : hsnap_output_commit(writer->out, writer->err);
}

static void deinit(struct writer *writer)
{
	for (size_t i = 0; i < BATCH; i++)
		for (int c = 0; c < HSNAP_NODE_COLUMNS; c++)
			hsnap_buffer_deinit(&writer->pieces[i].stored[c]);
	hsnap_scratch_pool_deinit(&writer->pool);
	hsnap_vec_deinit(&writer->chunks);
	hsnap_vec_deinit(&writer->map);
}

static enum hsnap_code write_to(const struct hsnap_snapshot *snapshot, struct hsnap_output *out,
				struct hsnap_error *err)
{
	struct writer writer = { .snapshot = snapshot, .out = out, .pool.lock = PTHREAD_MUTEX_INITIALIZER, .err = err };
	enum hsnap_code code = write_all(&writer);
	deinit(&writer);
	return code;
}

enum hsnap_code hsnap_snapshot_write(const struct hsnap_snapshot *snapshot, const char *path, bool force,
				     uint64_t *ret_size, struct hsnap_error *err)
{
	hsnap_auto(hsnap_output_close) struct hsnap_output out;
	enum hsnap_code code = hsnap_output_open(&out, path, force, err);
	if (!code)
		code = write_to(snapshot, &out, err);
	if (!code && ret_size)
		*ret_size = out.written;
	return code;
}

enum hsnap_code hsnap_snapshot_may_write(const char *path, bool force, struct hsnap_error *err)
{
	hsnap_auto(hsnap_output_close) struct hsnap_output out;
	return hsnap_output_open(&out, path, force, err);
}

enum hsnap_code hsnap_snapshot_write_bytes(const struct hsnap_snapshot *snapshot, struct hsnap_buffer *bytes,
					   struct hsnap_error *err)
{
	struct hsnap_output out = { .path = "memory", .folder = -1, .fd = -1, .memory = bytes };
	return write_to(snapshot, &out, err);
}
