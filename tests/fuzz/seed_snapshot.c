/* SPDX-License-Identifier: MIT */
/*
 * seed_snapshot.c - make tests/fuzz/corpus/snapshot anew, after a change of the format.
 *
 *	seed-snapshot FOLDER
 *
 * The chunks are kept uncompressed, so that a changed byte is a changed value.
 */
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "snapshot/format/layout.h"
#include "snapshot/format/writer.h"
#include "tests/support/folder.h"
#include "tests/support/graph_text.h"
#include "tests/support/random_graph.h"
#include "tests/support/repack.h"

static void need(bool done)
{
	if (!done)
		abort();
}

static void save(const char *folder, const char *name, struct hsnap_snapshot *snapshot)
{
	struct hsnap_buffer bytes = { 0 }, body = { 0 }, index = { 0 };
	struct repack repack;
	need(!hsnap_snapshot_write_bytes(snapshot, &bytes, NULL));
	repack_open(&repack, bytes.bytes, bytes.num);
	for (size_t i = 0; i < repack.chunks.num; i++) {
		struct hsnap_chunk *chunk = &repack.chunks.items[i];
		chunk->raw = chunk->stored = (uint32_t)repack.raws[i].num;
		chunk->crc = chunk->raw ? (uint32_t)crc32(0, repack.raws[i].bytes, chunk->raw) : 0;
		hsnap_buffer_put(&body, repack.raws[i].bytes, chunk->raw);
	}
	hsnap_index_write(&repack.chunks, &index);
	struct hsnap_buffer file = file_with_index(&body, &index, HSNAP_FORMAT_VERSION);
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file_write(path, file.bytes, file.num);
	hsnap_buffer_deinit(&file);
	hsnap_buffer_deinit(&bytes);
	hsnap_buffer_deinit(&body);
	hsnap_buffer_deinit(&index);
	repack_close(&repack);
	hsnap_snapshot_destroy(snapshot);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	save(argv[1], "empty", hsnap_snapshot_create());
	save(argv[1], "cart", snapshot_from_text(&(struct graph_text){
		.types = "Cart=32{items:Item**@0,next:Cart*@8,name:char*@16}%cart.c Item=16", .roots = "static:carts@cart.c:7",
		.stacks = "make_cart(cart.c:12)<main(main.c:3)",
		.blocks = "a:Cart&1 b:Item*[]/48 c:char[]^in_Cart.name/11+13 d:Item!exact", .edges = "carts>a a>b a.16>c b~d",
		.account = true }));
	save(argv[1], "wild", random_snapshot(&(struct random_shape){ .seed = 1, .style = RANDOM_WILD, .num_types = 6,
		.num_stacks = 3, .num_roots = 3, .num_blocks = 12, .num_edges = 20 }));
	save(argv[1], "crowd", random_snapshot(&(struct random_shape){ .seed = 2, .num_types = 4, .num_stacks = 2,
		.num_roots = 1, .num_blocks = 12, .num_edges = 20, .crowd = 60 }));
	save(argv[1], "no-edges", random_snapshot(&(struct random_shape){ .seed = 3, .num_types = 4, .num_stacks = 2,
		.num_blocks = 30, .no_edges = true, .no_account = true }));
	return 0;
}
