/* SPDX-License-Identifier: MIT */
/*
 * fuzz_foreign.c - memory of anybody's making, in which an allocator may be seen.
 *
 * Input: a module's data (the first half) and anonymous memory (the rest, repeated), at addresses
 * that a short number in the bytes can name.  Holds: it ends; what is claimed is in question, what
 * is in question is there; the sentence is text; what is no place for roots is in question, too, or the module's.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/alloc/foreign/foreign.h"
#include "tests/fuzz/fuzz.h"

#define DATA 0x500000u
#define POOL 0x600000u
#define FAR 0xc000000000u
#define POOL_SIZE ((size_t)320 << 10)

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_region(const struct hsnap_region *region, uint64_t data_size)
{
	require(region->start < region->end);
	require((region->start >= POOL && region->end <= POOL + POOL_SIZE) || (region->start >= FAR && region->end <= FAR + 4096) ||
		(region->start >= DATA && region->end <= DATA + data_size));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static uint8_t pool[POOL_SIZE];
	size_t half = size / 2 / 8 * 8;
	if (size < 64 || size > 65536)
		return 0;
	for (size_t at = 0; at < POOL_SIZE; at++)
		pool[at] = bytes[half + at % (size - half)];
	struct hsnap_target *target = hsnap_image_create();
	struct hsnap_heap heap = { 0 };
	struct hsnap_foreign foreign;
	struct hsnap_thread thread = { .thread_pointer = POOL + 64 };
	require(target && hsnap_image_add(target, DATA, bytes, half, HSNAP_PROT_READ | HSNAP_PROT_WRITE, "/usr/lib/libmimalloc.so.2"));
	require(hsnap_image_add(target, POOL, pool, POOL_SIZE, HSNAP_PROT_READ | HSNAP_PROT_WRITE, ""));
	require(hsnap_image_add(target, FAR, pool, 4096, HSNAP_PROT_READ | HSNAP_PROT_WRITE, ""));
	struct hsnap_target_module module = {
		.start = DATA, .end = DATA + half, .dynamic = DATA, .path = target->mappings.items[0].path,
	};
	require(hsnap_image_add_module(target, &module) && hsnap_vec_push(&target->threads, thread));
	if (!hsnap_foreign_look(target, &heap, "prog", &foreign, NULL)) {
		require(foreign.claimed <= foreign.unexplained && foreign.unexplained <= foreign.anonymous);
		require(foreign.anonymous == POOL_SIZE + 4096);
		require(memchr(foreign.sentence, '\0', sizeof(foreign.sentence)) && foreign.sentence[0]);
	}
	if (!hsnap_foreign_regions(target, &heap, NULL))
		for (size_t i = 0; i < heap.regions.num; i++)
			check_region(&heap.regions.items[i], half);
	hsnap_heap_deinit(&heap);
	hsnap_target_close(target);
	return 0;
}
