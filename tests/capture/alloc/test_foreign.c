/* SPDX-License-Identifier: MIT */
/* test_foreign.c - what is in question, what is claimed, and what is said of it. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "capture/alloc/foreign/foreign.h"

#define MIB ((uint64_t)1 << 20)
#define RW (HSNAP_PROT_READ | HSNAP_PROT_WRITE)
#define DATA 0x500000000000u
#define POOL 0x10000000u

static struct hsnap_target *target;
static struct hsnap_heap heap;
static struct hsnap_foreign foreign;

static void setup(void)
{
	target = hsnap_image_create();
	cr_assert(target);
}

static void teardown(void)
{
	hsnap_target_close(target);
	hsnap_heap_deinit(&heap);
}

static void add(uint64_t start, uint64_t size, unsigned prot, const char *path)
{
	cr_assert(hsnap_image_add(target, start, NULL, size, prot, path));
}

static void look(void)
{
	struct hsnap_error err;
	cr_assert_eq(hsnap_foreign_look(target, &heap, "/usr/bin/prog", &foreign, &err), HSNAP_OK);
}

TestSuite(foreign, .init = setup, .fini = teardown);

Test(foreign, what_nobody_knows)
{
	add(POOL, 10 * MIB, RW, "");
	look();
	cr_expect_str_eq(foreign.sentence, "10.0 MiB of 10.0 MiB are of no allocator that is known");
	cr_expect_str_eq(foreign.mend, "");
	cr_expect(!foreign.noteworthy && !foreign.claimed);
}

Test(foreign, what_was_walked_and_stacks_are_explained)
{
	struct hsnap_region regions[] = { { POOL, POOL + 3 * MIB }, { POOL + 4 * MIB, POOL + 10 * MIB } };
	for (size_t i = 0; i < 2; i++)
		cr_assert(hsnap_vec_push(&heap.regions, regions[i]));
	add(POOL, 10 * MIB, RW, "");
	add(0x20000000u, MIB, RW, "[stack]");
	add(0x30000000u, 4096, 0, "");
	add(0x30001000u, MIB, RW, "");
	struct hsnap_thread thread = { .thread_pointer = 0x30001000u + MIB - 4096, .regs.value[HSNAP_REG_SP] = 0x30001000u + MIB / 2 };
	cr_assert(hsnap_vec_push(&target->threads, thread));
	look();
	cr_expect_eq(foreign.anonymous, 12 * MIB);
	cr_expect_eq(foreign.unexplained, MIB);
	cr_expect_str_eq(foreign.sentence, "1.0 MiB of 12.0 MiB are of no allocator that is known");
}

Test(foreign, a_page_or_two_are_not_worth_a_word)
{
	add(POOL, 200 << 10, RW, "");
	look();
	cr_expect_eq(foreign.unexplained, 200 << 10);
	cr_expect_str_eq(foreign.sentence, "");
}

Test(foreign, files_and_what_cannot_be_read_are_not_in_question)
{
	add(POOL, MIB, RW, "/dev/shm/pool");
	target->mappings.items[0].inode = 7;
	add(0x20000000u, MIB, 0, "");
	look();
	cr_expect_eq(foreign.anonymous, 0);
}

Test(foreign, by_the_name_of_a_mapping)
{
	add(POOL, 3 * MIB, RW, "[anon:scudo:primary]");
	add(0x20000000u, MIB, RW, "");
	look();
	cr_expect_str_eq(foreign.sentence, "3.0 MiB of 4.0 MiB are Scudo's, which this version cannot walk");
	cr_expect(foreign.noteworthy);
}

Test(foreign, a_tenth_is_noteworthy_and_less_is_not)
{
	add(POOL, MIB, RW, "[anon:v8]");
	add(0x20000000u, 9 * MIB, RW, "");
	look();
	cr_expect(foreign.noteworthy);
	cr_expect_str_eq(foreign.sentence, "1.0 MiB of 10.0 MiB are V8's, which this version cannot walk; "
					   "9.0 MiB are of no allocator that is known");
	add(0x30000000u, MIB, RW, "");
	look();
	cr_expect(!foreign.noteworthy);
}

Test(foreign, two_allocators)
{
	add(POOL, 2 * MIB, RW, "[anon:v8]");
	add(0x20000000u, 5 * MIB, RW, "[anon:partition_alloc]");
	look();
	cr_expect_str_eq(foreign.sentence, "5.0 MiB of 7.0 MiB are PartitionAlloc's and 2.0 MiB are V8's, "
					   "which this version cannot walk");
}

/* A library of that name alone proves nothing. */
static void add_library(const char *path, size_t size)
{
	struct hsnap_target_module module = { .start = DATA, .end = DATA + size, .path = hsnap_strings_add(&target->strings, path) };
	add(DATA, size, RW, path);
	cr_assert(hsnap_image_add_module(target, &module));
}

Test(foreign, a_name_is_no_proof)
{
	add_library("/usr/lib/libjemalloc.so.2", MIB);
	add(POOL, MIB, RW, "");
	look();
	cr_expect_str_eq(foreign.sentence, "1.0 MiB of 1.0 MiB are of no allocator that is known (libjemalloc.so.2 is loaded)");
}

/* ---- a map of pages, as jemalloc and tcmalloc keep it ---- */

static void poke(uint64_t address, uint64_t word)
{
	uint8_t *at = (uint8_t *)(uintptr_t)hsnap_target_view(target, address, 8);
	cr_assert(at, "0x%lx", address);
	memcpy(at, &word, 8);
}

/* The map says that [start, start + size) is one run, described at `descriptor`. */
static void map_run(uint64_t root, uint64_t leaf, unsigned shift, uint64_t start, uint64_t size, uint64_t entry)
{
	poke(root + 8 * (start >> (shift + 18)), leaf);
	for (uint64_t at = start; at < start + size; at += (uint64_t)1 << shift)
		poke(leaf + 8 * (at >> shift & (((uint64_t)1 << 18) - 1)), entry);
}

Test(foreign, runs_of_jemalloc)
{
	const uint64_t leaf = 0x20000000u, descriptor = 0x30000080u;
	add_library("/usr/bin/prog", 3 * MIB);
	add(POOL, 8 * MIB, RW, "");
	add(leaf, 2 * MIB, RW, "");
	add(0x30000000u, MIB, RW, "");
	poke(descriptor + 8, POOL + 2 * MIB + 64);
	poke(descriptor + 16, 4 * MIB | 5);
	map_run(DATA + 0x100, leaf, 12, POOL + 2 * MIB, 4 * MIB, descriptor | (uint64_t)7 << 48 | 1);
	look();
	cr_expect_eq(foreign.claimed, 4 * MIB + MIB, "the run, and the block of its descriptor: %lu", foreign.claimed);
	cr_expect(strstr(foreign.sentence, "are jemalloc's"), "%s", foreign.sentence);
	cr_expect_str_eq(foreign.mend, "start with the agent a build of prog that has glibc's malloc");
	/* A map that contradicts itself is none. */
	poke(leaf + 8 * ((POOL + 6 * MIB - 4096) >> 12), descriptor + 128);
	look();
	cr_expect_eq(foreign.claimed, 0);
}

Test(foreign, runs_of_tcmalloc)
{
	const uint64_t leaf = 0x20000000u, descriptor = 0x30000040u;
	add_library("/usr/lib/libtcmalloc.so.4", 2 * MIB);
	add(POOL, 8 * MIB, RW, "");
	add(leaf, 2 * MIB, RW, "");
	add(0x30000000u, 8 * MIB, RW, "");
	poke(descriptor, (POOL + 2 * MIB) >> 13);
	poke(descriptor + 8, 4 * MIB >> 13);
	map_run(DATA + 0x100, leaf, 13, POOL + 2 * MIB, 4 * MIB, descriptor);
	look();
	cr_expect_eq(foreign.claimed, 4 * MIB + 8 * MIB, "the run, and the stretch of its descriptor: %lu", foreign.claimed);
	cr_expect(strstr(foreign.sentence, "are tcmalloc's"), "%s", foreign.sentence);
	cr_expect_str_eq(foreign.mend, "start it with the agent: heapsnap run -- prog");
}

/* What tcmalloc's central caches remember of blocks holds none of them; its other variables are roots. */
Test(foreign, lists_of_tcmalloc)
{
	const uint64_t leaf = 0x20000000u, descriptor = 0x30000040u, caches = DATA + MIB + MIB / 2, stride = 1216;
	struct hsnap_error err;
	add_library("/usr/lib/libtcmalloc.so.4", 2 * MIB);
	add(POOL, 8 * MIB, RW, "");
	add(leaf, 2 * MIB, RW, "");
	add(0x30000000u, 8 * MIB, RW, "");
	poke(descriptor, (POOL + 2 * MIB) >> 13);
	poke(descriptor + 8, 4 * MIB >> 13);
	map_run(DATA + 0x100, leaf, 13, POOL + 2 * MIB, 4 * MIB, descriptor);
	for (unsigned i = 0; i < 20; i++) {
		uint64_t element = caches + i * stride;
		poke(element + 8, i);
		for (uint64_t head = element + 16; head <= element + 64; head += 48) {
			poke(head + 16, head);
			poke(head + 24, head);
		}
	}
	/* A span is in one of them. */
	poke(caches + 5 * stride + 16 + 16, descriptor);
	poke(descriptor + 24, caches + 5 * stride + 16);
	cr_assert_eq(hsnap_foreign_regions(target, &heap, &err), HSNAP_OK);
	unsigned found = 0;
	for (size_t i = 0; i < heap.regions.num; i++) {
		const struct hsnap_region *region = &heap.regions.items[i];
		found += region->start == caches && region->end == caches + 20 * stride;
		cr_expect(region->end <= DATA || region->start >= caches, "%lx-%lx", region->start, region->end);
	}
	cr_expect_eq(found, 1);
	/* Of lists that lead elsewhere there is no such array. */
	heap.regions.num = 0;
	poke(descriptor + 24, caches);
	cr_assert_eq(hsnap_foreign_regions(target, &heap, &err), HSNAP_OK);
	for (size_t i = 0; i < heap.regions.num; i++)
		cr_expect(heap.regions.items[i].end <= DATA);
}

/* Memory of somebody's own may lie beside a stretch: it is left alone, and the stretch with it. */
Test(foreign, more_than_a_stretch)
{
	const uint64_t leaf = 0x20000000u, descriptor = 0x30000040u;
	add_library("/usr/lib/libtcmalloc.so.4", 2 * MIB);
	add(POOL, 8 * MIB, RW, "");
	add(leaf, 2 * MIB, RW, "");
	add(0x30000000u, 9 * MIB, RW, "");
	poke(descriptor, (POOL + 2 * MIB) >> 13);
	poke(descriptor + 8, 4 * MIB >> 13);
	map_run(DATA + 0x100, leaf, 13, POOL + 2 * MIB, 4 * MIB, descriptor);
	look();
	cr_expect_eq(foreign.claimed, 4 * MIB, "%lu", foreign.claimed);
}
