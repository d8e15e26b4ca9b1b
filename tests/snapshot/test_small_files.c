/* SPDX-License-Identifier: MIT */
/*
 * test_small_files.c - what a file may ask for is bounded by what it has: 4 KiB cannot make a reader take gigabytes.
 *
 * Each section in turn is all that fits into 4 KiB, as deflate says it shortest, and claims as much as it can.  It is read
 * in a process of its own, whose memory is measured; that it is refused is as good as that it is read.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "snapshot/format/codec.h"
#include "snapshot/format/layout.h"
#include "snapshot/format/writer.h"
#include "tests/support/graph_text.h"
#include "tests/support/repack.h"

#define FILE_SIZE 4096u
#define MOST (UINT64_C(256) << 20) /* of memory beyond what we have, bytes */
#define CHUNK (1u << 20)
#define CLAIMED UINT32_MAX

static const uint8_t zeros[CHUNK];

struct made {
	struct hsnap_buffer body, index;
	struct hsnap_chunks chunks;
};

/* The same zeros are asked for thousands of times. */
static uLongf deflated(const void *raw, uint32_t size, const uint8_t **ret)
{
	static struct { const void *raw; uint32_t size; uLongf len; uint8_t bytes[CHUNK + 4096]; } kept[4];
	static unsigned next;
	unsigned k = 0;
	while (k < 4 && (kept[k].raw != raw || kept[k].size != size || raw != zeros))
		k++;
	if (k == 4) {
		k = next++ % 4;
		kept[k].raw = raw;
		kept[k].size = size;
		kept[k].len = sizeof(kept[k].bytes);
		cr_assert_eq(compress2(kept[k].bytes, &kept[k].len, raw, size, 9), Z_OK);
	}
	*ret = kept[k].bytes;
	return kept[k].len;
}

static void add_chunk(struct made *made, unsigned section, uint64_t items, const void *raw, uint32_t size)
{
	const uint8_t *stored;
	uLongf len = deflated(raw, size, &stored);
	struct hsnap_chunk chunk = { .section = (uint8_t)section, .items = items, .raw = size };
	bool shorter = len < size;
	chunk.stored = shorter ? (uint32_t)len : size;
	chunk.crc = chunk.stored ? (uint32_t)crc32(0, shorter ? stored : raw, chunk.stored) : 0;
	hsnap_buffer_put(&made->body, shorter ? stored : raw, chunk.stored);
	cr_assert(hsnap_vec_push(&made->chunks, chunk));
}

static size_t size_of(struct made *made)
{
	made->index.num = 0;
	hsnap_index_write(&made->chunks, &made->index);
	return HSNAP_FORMAT_HEADER + made->body.num + made->index.num + HSNAP_FORMAT_TAIL;
}

/* Items that so many zeros may be, of a section. */
static uint64_t items_in(unsigned section, uint32_t size)
{
	unsigned min = hsnap_record_min(section);
	return min ? size / min : size;
}

/* Chunks of all columns, for 65,536 nodes or 131,072 edges in a few bytes each. */
static void add_columns(struct made *made, bool edges)
{
	for (unsigned section = HSNAP_SECTION_KINDS; !edges && section < HSNAP_SECTION_SLOTS; section++) {
		bool none = section == HSNAP_SECTION_SIZES || section == HSNAP_SECTION_EPOCHS;
		add_chunk(made, section, HSNAP_CHUNK_NODES, zeros, none ? 0 : HSNAP_CHUNK_NODES);
	}
	for (unsigned section = HSNAP_SECTION_STEPS; edges && section < HSNAP_NUM_SECTIONS; section++)
		add_chunk(made, section, HSNAP_CHUNK_EDGES, zeros, section == HSNAP_SECTION_STEPS ? HSNAP_CHUNK_EDGES / 2 : 0);
}

/* The facts of a whole snapshot, with other counts. */
static void add_facts(struct made *made, const struct hsnap_counts *counts)
{
	struct hsnap_facts facts = { 0 };
	struct hsnap_buffer out = { 0 };
	struct hsnap_string_map none = { 0 };
	struct hsnap_codec codec = { .writing = true, .out = &out, .map = &none };
	hsnap_facts_code(&codec, &facts, (struct hsnap_counts *)counts);
	add_chunk(made, HSNAP_SECTION_FACTS, 1, out.bytes, (uint32_t)out.num);
	hsnap_buffer_deinit(&out);
}

/* As many chunks of the section as fit, and what the rest of the file must have. */
static struct hsnap_buffer make_file(unsigned section)
{
	struct hsnap_counts counts = { 0 };
	for (unsigned num = 64;; num--) {
		struct made made = { 0 };
		uint64_t items = 0;
		for (unsigned i = 0; i < num; i++) {
			if (section >= HSNAP_FIRST_COLUMN) {
				add_columns(&made, section >= HSNAP_SECTION_SLOTS);
				items += section >= HSNAP_SECTION_SLOTS ? HSNAP_CHUNK_EDGES : HSNAP_CHUNK_NODES;
			} else {
				add_chunk(&made, section, items_in(section, CHUNK), zeros, CHUNK);
				items += items_in(section, CHUNK);
			}
		}
		if (section == HSNAP_SECTION_SLOTS)
			add_chunk(&made, HSNAP_SECTION_SLOTS, items, zeros, 0);
		counts.roots = section == HSNAP_SECTION_ROOTS ? items : 0;
		counts.reasons = section == HSNAP_SECTION_NOTES ? items : 0;
		counts.blocks = section >= HSNAP_FIRST_COLUMN && section < HSNAP_SECTION_SLOTS ? items : 0;
		counts.edges = section >= HSNAP_SECTION_SLOTS ? items : 0;
		if (section != HSNAP_SECTION_FACTS)
			add_facts(&made, &counts);
		for (unsigned other = HSNAP_SECTION_TABLE_STRINGS; other < HSNAP_FIRST_COLUMN; other++)
			if (other != section && (other == HSNAP_SECTION_TABLE_STRINGS || other == HSNAP_SECTION_STRINGS))
				add_chunk(&made, other, 1, zeros, 1);
			else if (other != section && hsnap_record_min(other) && other != HSNAP_SECTION_ROOTS)
				add_chunk(&made, other, 1, zeros, hsnap_record_min(other));
		bool fits = size_of(&made) <= FILE_SIZE;
		struct hsnap_buffer file = { 0 };
		if (fits)
			file = file_with_index(&made.body, &made.index, HSNAP_FORMAT_VERSION);
		hsnap_buffer_deinit(&made.body);
		hsnap_buffer_deinit(&made.index);
		hsnap_vec_deinit(&made.chunks);
		if (fits)
			return file;
	}
}

/* KiB of memory, at the peak. */
static uint64_t peak(void)
{
	char line[256];
	unsigned long kib = 0;
	FILE *in = fopen("/proc/self/status", "r");
	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "VmHWM: %lu", &kib) == 1)
			break;
	if (in)
		fclose(in);
	return kib;
}

static int read_bounded(const struct hsnap_buffer *file)
{
	struct hsnap_snapshot *snapshot = NULL;
	struct hsnap_error err;
	uint64_t before = peak();
	enum hsnap_code code = hsnap_snapshot_read_bytes(file->bytes, file->num, HSNAP_LOAD_ALL, &snapshot, &err);
	if (!code)
		code = hsnap_snapshot_mark(snapshot, &err);
	hsnap_snapshot_destroy(snapshot);
	return (peak() - before) * 1024 > MOST;
}

ParameterizedTestParameters(small_files, ask_for_little)
{
	static unsigned sections[HSNAP_NUM_SECTIONS - HSNAP_SECTION_FACTS];
	for (unsigned i = 0; i < HSNAP_NUM_SECTIONS - HSNAP_SECTION_FACTS; i++)
		sections[i] = HSNAP_SECTION_FACTS + i;
	return cr_make_param_array(unsigned, sections, HSNAP_NUM_SECTIONS - HSNAP_SECTION_FACTS);
}

ParameterizedTest(unsigned *section, small_files, ask_for_little)
{
	struct hsnap_buffer file = make_file(*section);
	int status;
	cr_assert(file.num > 1024 && file.num <= FILE_SIZE, "%s: %zu bytes", hsnap_section_name(*section), file.num);
	pid_t child = fork();
	if (!child)
		_exit(read_bounded(&file));
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_expect(WIFEXITED(status) && !WEXITSTATUS(status), "%s: status %#x", hsnap_section_name(*section), (unsigned)status);
	hsnap_buffer_deinit(&file);
}

/* A count that nothing stands behind is refused before anything is made for it. */
ParameterizedTestParameters(small_files, claims_are_refused)
{
	static unsigned sections[HSNAP_NUM_SECTIONS - HSNAP_SECTION_FACTS];
	for (unsigned i = 0; i < HSNAP_NUM_SECTIONS - HSNAP_SECTION_FACTS; i++)
		sections[i] = HSNAP_SECTION_FACTS + i;
	return cr_make_param_array(unsigned, sections, HSNAP_NUM_SECTIONS - HSNAP_SECTION_FACTS);
}

ParameterizedTest(unsigned *section, small_files, claims_are_refused)
{
	struct hsnap_snapshot *whole = snapshot_from_text(&(struct graph_text){
		.types = "A=16{next:A*@0}", .roots = "global:r", .blocks = "a:A&1 b:A", .edges = "r>a a>b", .stacks = "f(a.c:1)", .account = true });
	struct hsnap_buffer bytes = { 0 }, body = { 0 }, index = { 0 };
	struct hsnap_snapshot *snapshot = NULL;
	struct hsnap_error err;
	struct repack repack;
	bool claimed = false;
	cr_assert_eq(hsnap_snapshot_write_bytes(whole, &bytes, &err), HSNAP_OK);
	repack_open(&repack, bytes.bytes, bytes.num);
	for (size_t i = 0; i < repack.chunks.num; i++) {
		struct hsnap_chunk *chunk = &repack.chunks.items[i];
		if (chunk->section == *section) {
			chunk->items = CLAIMED;
			claimed = true;
		}
		chunk->raw = chunk->stored = (uint32_t)repack.raws[i].num;
		chunk->crc = chunk->raw ? (uint32_t)crc32(0, repack.raws[i].bytes, chunk->raw) : 0;
		hsnap_buffer_put(&body, repack.raws[i].bytes, chunk->raw);
	}
	hsnap_index_write(&repack.chunks, &index);
	struct hsnap_buffer file = file_with_index(&body, &index, HSNAP_FORMAT_VERSION);
	enum hsnap_code code = hsnap_snapshot_read_bytes(file.bytes, file.num, HSNAP_LOAD_ALL, &snapshot, &err);
	cr_expect_eq(code, claimed ? HSNAP_FORMAT : HSNAP_OK, "%s: %d", hsnap_section_name(*section), code);
	hsnap_snapshot_destroy(snapshot);
	repack_close(&repack);
	hsnap_buffer_deinit(&file);
	hsnap_buffer_deinit(&bytes);
	hsnap_buffer_deinit(&body);
	hsnap_buffer_deinit(&index);
	hsnap_snapshot_destroy(whole);
}
