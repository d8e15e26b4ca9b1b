/* SPDX-License-Identifier: MIT */
/* test_damage.c - whatever is not a whole snapshot is refused, and says why; test_broken.c has what is not written. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "snapshot/base/cleanup.h"
#include "snapshot/format/layout.h"
#include "snapshot/format/writer.h"
#include "tests/support/compare.h"
#include "tests/support/folder.h"
#include "tests/support/random_graph.h"
#include "tests/support/repack.h"

#define ALL HSNAP_LOAD_ALL

static struct file small_file(void)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = random_snapshot(&(struct random_shape){
		.seed = 3, .num_types = 8, .num_stacks = 3, .num_roots = 4, .num_blocks = 40, .num_edges = 60, .crowd = 50,
		.style = RANDOM_WILD });
	return file_of_snapshot(s);
}

/* More than a chunk of each column, and long offsets too. */
static struct file large_file(void)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = random_snapshot(&(struct random_shape){
		.seed = 4, .num_types = 5000, .num_stacks = 500, .num_roots = 100, .num_blocks = 70000, .num_edges = 140000,
		.crowd = 5000, .style = RANDOM_WILD });
	return file_of_snapshot(s);
}

/* The code; on success the snapshot is checked to be usable and freed. */
static enum hsnap_code read_code(const void *bytes, size_t size, struct hsnap_error *err)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *read = NULL;
	*err = (struct hsnap_error){ 0 };
	enum hsnap_code code = hsnap_snapshot_read_bytes(bytes, size, ALL, &read, err);
	cr_assert_eq(code != HSNAP_OK, read == NULL, "a snapshot came with an error, or none without");
	return code;
}

Test(damage, every_flip_of_a_small_file_is_seen, .init = folder_make, .fini = folder_remove)
{
	struct file file = small_file();
	struct hsnap_error err;
	cr_assert_eq(read_code(file.bytes, file.size, &err), HSNAP_OK, "%s", err.message);
	for (size_t at = 0; at < file.size; at++) {
		const uint8_t masks[] = { (uint8_t)(1u << at % 8), 0xff };
		for (size_t m = 0; m < sizeof(masks); m++) {
			file.bytes[at] ^= masks[m];
			enum hsnap_code code = read_code(file.bytes, file.size, &err);
			cr_expect(code == HSNAP_FORMAT || code == HSNAP_UNSUPPORTED, "byte %zu of %zu, mask %x: code %d", at,
				  file.size, masks[m], code);
			cr_expect(err.message[0], "byte %zu: no message", at);
			file.bytes[at] ^= masks[m];
		}
	}
	free(file.bytes);
}

Test(damage, a_flip_in_any_chunk_names_its_section, .init = folder_make, .fini = folder_remove)
{
	struct file file = large_file();
	struct repack repack;
	repack_open(&repack, file.bytes, file.size);
	bool seen[HSNAP_NUM_SECTIONS] = { 0 };
	uint64_t offset = HSNAP_FORMAT_HEADER;
	for (size_t i = 0; i < repack.chunks.num; i++) {
		const struct hsnap_chunk *chunk = &repack.chunks.items[i];
		struct hsnap_error err;
		char want[64];
		snprintf(want, sizeof(want), "its %s at byte %llu: its checksum", hsnap_section_name(chunk->section),
			 (unsigned long long)offset);
		seen[chunk->section] |= chunk->stored;
		if (chunk->stored) {
			file.bytes[offset + chunk->stored / 2] ^= 4;
			cr_expect_eq(read_code(file.bytes, file.size, &err), HSNAP_FORMAT);
			cr_expect(strstr(err.message, want), "'%s' in '%s'", want, err.message);
			cr_expect_eq(err.where, offset);
			file.bytes[offset + chunk->stored / 2] ^= 4;
		}
		offset += chunk->stored;
	}
	for (unsigned section = HSNAP_SECTION_FACTS; section < HSNAP_NUM_SECTIONS; section++)
		cr_expect(seen[section], "the file has no %s to damage", hsnap_section_name(section));
	repack_close(&repack);
	free(file.bytes);
}

Test(damage, every_cut_of_a_small_file_is_seen, .init = folder_make, .fini = folder_remove)
{
	struct file file = small_file();
	struct hsnap_error err;
	for (size_t size = 0; size < file.size; size++) {
		/* A copy of just this size: reading past it is seen by the sanitizer. */
		uint8_t *copy = malloc(size ? size : 1);
		memcpy(copy, file.bytes, size);
		cr_expect_eq(read_code(copy, size, &err), HSNAP_FORMAT, "cut to %zu", size);
		cr_expect(strstr(err.message, size ? "cut short" : "empty"), "cut to %zu: %s", size, err.message);
		free(copy);
	}
	file.bytes = realloc(file.bytes, file.size + 1);
	file.bytes[file.size] = 0;
	cr_expect_eq(read_code(file.bytes, file.size + 1, &err), HSNAP_FORMAT, "a byte too many");
	free(file.bytes);
}

/* The same through a file: here the reader asks for pieces. */
Test(damage, a_cut_file_on_disk_names_itself, .init = folder_make, .fini = folder_remove)
{
	struct file file = small_file();
	struct hsnap_error err;
	struct hsnap_snapshot *read = NULL;
	file_write(in_folder("cut.snap"), file.bytes, file.size / 2);
	cr_assert_eq(hsnap_snapshot_read(in_folder("cut.snap"), ALL, &read, &err), HSNAP_FORMAT);
	cr_expect(strstr(err.message, "cut.snap': the snapshot is cut short"), "%s", err.message);
	cr_assert_eq(hsnap_snapshot_read(in_folder("absent.snap"), ALL, &read, &err), HSNAP_IO);
	cr_expect(strstr(err.message, "absent.snap': No such file"), "%s", err.message);
	cr_assert_eq(hsnap_snapshot_read(folder_path(), ALL, &read, &err), HSNAP_IO);
	cr_expect(strstr(err.message, "Is a directory"), "%s", err.message);
	free(file.bytes);
}

static const struct {
	const char *bytes;
	size_t size;
	enum hsnap_code code;
	const char *message;
} foreign[] = {
	{ "", 0, HSNAP_FORMAT, "empty" },
	{ "\x7f" "ELF\2\1\1\0\0\0\0\0\0\0\0\0", 16, HSNAP_FORMAT, "not a heapsnap snapshot" },
	{ "#!/bin/sh\necho hello, what is this\n", 35, HSNAP_FORMAT, "not a heapsnap snapshot" },
	{ "x", 1, HSNAP_FORMAT, "not a heapsnap snapshot" },
	{ "\x89HSNAP\n", 7, HSNAP_FORMAT, "not a heapsnap snapshot" }, /* after a copy in text mode */
	{ "\x89HSN", 4, HSNAP_FORMAT, "cut short" },
	{ "\x89HSNAP\r\n\5\0\0\0\0\0\0\0", 16, HSNAP_UNSUPPORTED, "format 5, made by a newer heapsnap; this one reads format 4" },
	{ "\x89HSNAP\r\n\1\0\0\0\0\0\0\0", 16, HSNAP_UNSUPPORTED, "format 1, made by an older heapsnap; this one reads format 4" },
	{ "\x89HSNAP\r\n\0\0\0\0\0\0\0\0", 16, HSNAP_UNSUPPORTED, "format 0, made by an older heapsnap; this one reads format 4" },
	{ "\x89HSNAP\r\n\4\0\0\0\1\0\0\0", 16, HSNAP_FORMAT, "unknown flags" },
	{ "\x89HSNAP\r\n\4\0\0\0\0\0\0\0", 16, HSNAP_FORMAT, "cut short" },
};

Test(damage, what_is_no_snapshot_says_so)
{
	for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++) {
		struct hsnap_error err;
		enum hsnap_code code = read_code(foreign[i].bytes, foreign[i].size, &err);
		cr_expect_eq(code, foreign[i].code, "%s: code %d", foreign[i].message, code);
		cr_expect(strstr(err.message, foreign[i].message), "want '%s', got '%s'", foreign[i].message, err.message);
	}
}

/* ---- an index that lies, with its checksum right ---- */

static const struct {
	const char *name;
	struct hsnap_chunk chunks[3]; /* beside `stored` bytes of zeros for each */
	const char *message;
} indexes[] = {
	{ "no chunk at all", { { 0 } }, "its facts are missing" },
	{ "a section that is not known", { { .section = 99, .items = 1, .raw = 4, .stored = 4 } }, "unknown section" },
	{ "gigabytes from four bytes", { { .section = HSNAP_SECTION_KINDS, .items = 65536, .raw = 1u << 24, .stored = 4 } }, "impossible size" },
	{ "a chunk larger than any", { { .section = HSNAP_SECTION_TABLE_STRINGS, .items = 1u << 25, .raw = 1u << 25, .stored = 100000 } }, "impossible size" },
	{ "larger when compressed", { { .section = HSNAP_SECTION_TABLE_STRINGS, .items = 4, .raw = 4, .stored = 8 } }, "impossible size" },
	{ "more records than bytes", { { .section = HSNAP_SECTION_TYPES, .items = 1u << 30, .raw = 4, .stored = 4 } }, "impossible count" },
	{ "more nodes than bytes", { { .section = HSNAP_SECTION_KINDS, .items = 65536, .raw = 4, .stored = 4 } }, "impossible count" },
	{ "more nodes than a chunk has", { { .section = HSNAP_SECTION_SIZES, .items = 65537, .raw = 4, .stored = 4 } }, "impossible count" },
	{ "more edges than steps", { { .section = HSNAP_SECTION_STEPS, .items = 100, .raw = 4, .stored = 4 } }, "impossible count" },
	{ "counts that overflow", { { .section = HSNAP_SECTION_SLOTS, .items = UINT64_MAX, .raw = 4, .stored = 4 },
				    { .section = HSNAP_SECTION_SLOTS, .items = 2, .raw = 4, .stored = 4 } }, "counts too much" },
	{ "two chunks of facts", { { .section = HSNAP_SECTION_FACTS, .items = 1, .raw = 4, .stored = 4 },
				   { .section = HSNAP_SECTION_FACTS, .items = 1, .raw = 4, .stored = 4 } }, "facts are missing" },
};

Test(damage, a_lying_index_gets_no_memory)
{
	for (size_t i = 0; i < sizeof(indexes) / sizeof(*indexes); i++) {
		struct hsnap_chunks chunks = { 0 };
		struct hsnap_buffer body = { 0 }, index = { 0 };
		static const uint8_t zeros[100000];
		for (size_t c = 0; c < 3 && indexes[i].chunks[c].section; c++) {
			cr_assert(hsnap_vec_push(&chunks, indexes[i].chunks[c]));
			hsnap_buffer_put(&body, zeros, indexes[i].chunks[c].stored);
		}
		hsnap_index_write(&chunks, &index);
		struct hsnap_buffer file = file_with_index(&body, &index, HSNAP_FORMAT_VERSION);
		struct hsnap_error err;
		cr_expect_eq(read_code(file.bytes, file.num, &err), HSNAP_FORMAT, "%s", indexes[i].name);
		cr_expect(strstr(err.message, indexes[i].message), "%s: want '%s', got '%s'", indexes[i].name,
			  indexes[i].message, err.message);
		/* And with a byte that the index does not account for. */
		hsnap_buffer_put(&body, zeros, 1);
		struct hsnap_buffer longer = file_with_index(&body, &index, HSNAP_FORMAT_VERSION);
		cr_expect_eq(read_code(longer.bytes, longer.num, &err), HSNAP_FORMAT);
		hsnap_buffer_deinit(&file);
		hsnap_buffer_deinit(&longer);
		hsnap_buffer_deinit(&body);
		hsnap_buffer_deinit(&index);
		hsnap_vec_deinit(&chunks);
	}
}

/* ---- chunks that lie, with their checksums right ---- */

/* What is read must be fit to be used: it can be written, and is the same when read again. */
static void check_usable(const struct hsnap_buffer *file, size_t chunk, size_t at)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *read = NULL, *again = NULL;
	struct hsnap_error err;
	char text[256];
	if (hsnap_snapshot_read_bytes(file->bytes, file->num, ALL, &read, &err)) {
		cr_expect(err.code == HSNAP_FORMAT || err.code == HSNAP_UNSUPPORTED, "chunk %zu, byte %zu: %s", chunk, at,
			  err.message);
		return;
	}
	struct hsnap_buffer bytes = { 0 };
	cr_assert_eq(hsnap_snapshot_write_bytes(read, &bytes, &err), HSNAP_OK, "chunk %zu, byte %zu: %s", chunk, at,
		     err.message);
	cr_assert_eq(hsnap_snapshot_read_bytes(bytes.bytes, bytes.num, ALL, &again, &err), HSNAP_OK, "%s", err.message);
	hsnap_buffer_deinit(&bytes);
	cr_expect(snapshots_equal(read, again, ALL, text, sizeof(text)), "chunk %zu, byte %zu: %s", chunk, at, text);
	cr_assert_eq(hsnap_snapshot_mark(read, &err), HSNAP_OK);
	cr_assert_eq(hsnap_snapshot_summarize(read, &err), HSNAP_OK);
	for (hsnap_type_id type = 0; type < read->types.num; type++)
		hsnap_member_path(read, type, 8, text, sizeof(text));
}

Test(damage, every_byte_of_every_chunk_may_lie, .init = folder_make, .fini = folder_remove, .timeout = 120)
{
	static const uint8_t masks[] = { 0x01, 0x7f, 0x80 };
	struct file file = small_file();
	struct repack repack;
	repack_open(&repack, file.bytes, file.size);
	for (size_t c = 0; c < repack.chunks.num; c++) {
		struct hsnap_buffer *raw = &repack.raws[c];
		for (size_t at = 0; at < raw->num; at++) {
			uint8_t was = raw->bytes[at];
			raw->bytes[at] ^= masks[at % 3];
			struct hsnap_buffer lying = repack_file(&repack);
			check_usable(&lying, c, at);
			hsnap_buffer_deinit(&lying);
			raw->bytes[at] = was;
		}
		if (!raw->num)
			continue;
		raw->num--;
		struct hsnap_buffer lying = repack_file(&repack);
		check_usable(&lying, c, raw->num);
		hsnap_buffer_deinit(&lying);
		raw->num++;
	}
	repack_close(&repack);
	free(file.bytes);
}

/* ---- what single chunks cannot see ---- */

static uint32_t find_chunk(const struct repack *repack, unsigned section, unsigned which)
{
	for (uint32_t i = 0; i < repack->chunks.num; i++)
		if (repack->chunks.items[i].section == section && !which--)
			return i;
	cr_assert_fail("no such chunk of %s", hsnap_section_name(section));
	return 0;
}

static void expect_repacked(const struct repack *repack, enum hsnap_code code, const char *message)
{
	struct hsnap_buffer file = repack_file(repack);
	struct hsnap_error err;
	cr_expect_eq(read_code(file.bytes, file.num, &err), code, "%s: %s", message, err.message);
	cr_expect(strstr(err.message, message), "want '%s', got '%s'", message, err.message);
	hsnap_buffer_deinit(&file);
}

Test(damage, the_order_holds_over_the_seams, .init = folder_make, .fini = folder_remove)
{
	struct file file = large_file();
	struct repack repack;
	repack_open(&repack, file.bytes, file.size);
	/* The first block of the second chunk at address 16 instead of behind the first chunk's. */
	struct hsnap_buffer *addresses = &repack.raws[find_chunk(&repack, HSNAP_SECTION_ADDRESSES, 1)], was = *addresses;
	struct hsnap_bytes in = hsnap_bytes(was.bytes, was.num);
	hsnap_bytes_varint(&in);
	struct hsnap_buffer changed = { 0 };
	hsnap_buffer_varint(&changed, 2);
	hsnap_buffer_put(&changed, in.at, hsnap_bytes_left(&in));
	*addresses = changed;
	expect_repacked(&repack, HSNAP_FORMAT, "blocks are not in order of address");
	*addresses = was;
	hsnap_buffer_deinit(&changed);
	repack_close(&repack);
	free(file.bytes);
}

Test(damage, the_order_of_edges_holds_over_the_seams, .init = folder_make, .fini = folder_remove)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = random_snapshot(&(struct random_shape){
		.seed = 1, .num_types = 2, .num_stacks = 1, .num_blocks = 3, .crowd = 3 * HSNAP_CHUNK_EDGES });
	struct file file = file_of_snapshot(s);
	struct repack repack;
	repack_open(&repack, file.bytes, file.size);
	/* The first place of the second chunk: its offset as such. */
	struct hsnap_buffer *offsets = &repack.raws[find_chunk(&repack, HSNAP_SECTION_OFFSETS, 1)], was = *offsets;
	struct hsnap_bytes in = hsnap_bytes(was.bytes, was.num);
	cr_assert_gt(hsnap_bytes_varint(&in), 8);
	struct hsnap_buffer changed = { 0 };
	hsnap_buffer_varint(&changed, 4);
	hsnap_buffer_put(&changed, in.at, hsnap_bytes_left(&in));
	*offsets = changed;
	expect_repacked(&repack, HSNAP_FORMAT, "edges are not in order of their offsets");
	*offsets = was;
	hsnap_buffer_deinit(&changed);
	repack_close(&repack);
	free(file.bytes);
}

Test(damage, counts_past_all_bounds_are_too_large, .init = folder_make, .fini = folder_remove)
{
	static const struct {
		uint64_t roots, blocks, edges;
		enum hsnap_code code;
		const char *message;
	} counts[] = {
		{ 4, UINT32_MAX, 0, HSNAP_UNSUPPORTED, "too large" },
		{ UINT64_MAX, UINT64_MAX, 0, HSNAP_UNSUPPORTED, "too large" },
		{ 4, 40, UINT32_MAX, HSNAP_UNSUPPORTED, "too large" },
		{ 4, 41, 110, HSNAP_FORMAT, "does not fit its counts" },
		{ 4, 40, 7, HSNAP_FORMAT, "does not fit its counts" },
	};
	struct file file = small_file();
	struct repack repack;
	repack_open(&repack, file.bytes, file.size);
	struct hsnap_buffer *facts = &repack.raws[find_chunk(&repack, HSNAP_SECTION_FACTS, 0)], was = *facts;
	struct hsnap_bytes in = hsnap_bytes(was.bytes, was.num);
	for (int field = 0; field < 30; field++)
		hsnap_bytes_varint(&in);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		struct hsnap_buffer changed = { 0 };
		hsnap_buffer_put(&changed, was.bytes, (size_t)(in.at - was.bytes));
		hsnap_buffer_varint(&changed, counts[i].roots);
		hsnap_buffer_varint(&changed, counts[i].blocks);
		hsnap_buffer_varint(&changed, counts[i].edges);
		hsnap_buffer_varint(&changed, 0);
		*facts = changed;
		expect_repacked(&repack, counts[i].code, counts[i].message);
		hsnap_buffer_deinit(&changed);
	}
	*facts = was;
	repack_close(&repack);
	free(file.bytes);
}

/* The right checksum over bytes that are no zlib stream, or one of another length. */
Test(damage, a_stream_that_does_not_inflate_is_damage, .init = folder_make, .fini = folder_remove)
{
	struct file file = large_file();
	struct repack repack;
	repack_open(&repack, file.bytes, file.size);
	uint64_t at = HSNAP_FORMAT_HEADER;
	size_t i = 0;
	for (; repack.chunks.items[i].stored == repack.chunks.items[i].raw; i++)
		at += repack.chunks.items[i].stored;
	struct hsnap_chunk *chunk = &repack.chunks.items[i];
	uint64_t index_length;
	memcpy(&index_length, file.bytes + file.size - HSNAP_FORMAT_TAIL, 8);
	for (int round = 0; round < 2; round++) {
		struct hsnap_buffer body = { 0 }, index = { 0 };
		hsnap_buffer_put(&body, file.bytes + HSNAP_FORMAT_HEADER,
				 file.size - HSNAP_FORMAT_HEADER - HSNAP_FORMAT_TAIL - index_length);
		uint8_t *stored = body.bytes + (at - HSNAP_FORMAT_HEADER);
		if (round)
			stored[chunk->stored / 2] ^= 0x55;
		else
			chunk->raw++;
		if (chunk->section == HSNAP_SECTION_TABLE_STRINGS)
			chunk->items = chunk->raw;
		chunk->crc = (uint32_t)crc32(0, stored, chunk->stored);
		hsnap_index_write(&repack.chunks, &index);
		struct hsnap_buffer lying = file_with_index(&body, &index, HSNAP_FORMAT_VERSION);
		struct hsnap_error err;
		cr_expect_eq(read_code(lying.bytes, lying.num, &err), HSNAP_FORMAT);
		cr_expect(strstr(err.message, "it cannot be decompressed"), "%s", err.message);
		hsnap_buffer_deinit(&lying);
		hsnap_buffer_deinit(&body);
		hsnap_buffer_deinit(&index);
		chunk->raw -= !round;
		if (chunk->section == HSNAP_SECTION_TABLE_STRINGS)
			chunk->items = chunk->raw;
	}
	repack_close(&repack);
	free(file.bytes);
}
