/* SPDX-License-Identifier: MIT */
/* test_partset.c - objects within blocks: each once, as many as there is memory for. */
#include <criterion/criterion.h>

#include "capture/naming/partset.h"
#include "snapshot/base/budget.h"
#include "tests/support/scarce.h"

#define NUM 5000u

/* Two types at each address, in no order. */
static struct hsnap_part part_of(uint32_t i, bool sure)
{
	uint32_t place = (uint32_t)((uint64_t)i * 2654435761u % NUM);
	return (struct hsnap_part){ .address = 0x10000000 + place / 2 * 16, .type = 1 + place % 2, .block = place / 64, .sure = sure };
}

Test(partset, each_object_is_there_once_though_memory_runs_out)
{
	struct hsnap_parts parts = { 0 };
	for (uint32_t i = 0; i < NUM; i++) {
		bool done = false;
		for (size_t grants = 0; !done; grants++) {
			cr_assert_eq(parts.num, i, "object %u is there before it was put in", i);
			scarce_grant(grants);
			done = hsnap_parts_add(&parts, part_of(i, false), NULL);
			scarce_grant(PLENTY);
			cr_assert(done || grants < 4, "object %u failed with %zu allocations", i, grants);
		}
	}
	for (uint32_t i = 0; i < NUM; i++) {
		size_t surer = 0;
		cr_assert(hsnap_parts_add(&parts, part_of(i, i % 3 == 0), &surer));
		cr_assert_eq(surer, i % 3 ? SIZE_MAX : i, "object %u", i);
		cr_assert(hsnap_parts_add(&parts, part_of(i, i % 3 == 0), &surer) && surer == SIZE_MAX, "object %u, twice", i);
	}
	cr_assert_eq(parts.num, NUM, "%zu objects of %u", parts.num, NUM);
	for (uint32_t i = 0; i < NUM; i++) {
		struct hsnap_part want = part_of(i, i % 3 == 0), *got = &parts.items[i];
		cr_assert(got->address == want.address && got->type == want.type && got->block == want.block && got->sure == want.sure,
			  "object %u is another one", i);
	}
	cr_expect_eq(parts.missed, 0);
	hsnap_parts_close(&parts);
	cr_expect(!parts.slots && parts.num == NUM, "the table goes, and the objects stay");
	hsnap_parts_deinit(&parts);
}

/* Whenever the table or the row grows, what there was goes only when the new one is filled. */
Test(partset, so_many_bytes_each)
{
	struct hsnap_parts parts = { 0 };
	for (uint32_t i = 0; i < 3000000; i++) {
		size_t slots = parts.num_slots;
		cr_assert(hsnap_parts_add(&parts, (struct hsnap_part){ .address = 0x10000000 + (uint64_t)i * 24, .type = 1 }, NULL));
		size_t bytes = parts.num * sizeof(*parts.items) + parts.num_slots * sizeof(*parts.slots);
		bytes += slots == parts.num_slots ? 0 : slots * sizeof(*parts.slots);
		if (i >= 1024)
			cr_assert(bytes <= parts.num * HSNAP_PART_BYTES, "%zu bytes of %zu objects", bytes, parts.num);
	}
	cr_expect(parts.num == 3000000 && !parts.missed, "%zu kept, %zu missed", parts.num, (size_t)parts.missed);
	hsnap_parts_deinit(&parts);
}

Test(partset, more_are_kept_only_while_there_is_memory)
{
	struct hsnap_parts parts = { .most = 100 };
	hsnap_budget_set_left(4 * 50 * HSNAP_PART_BYTES);
	for (uint32_t i = 0; i < 150; i++)
		cr_assert(hsnap_parts_add(&parts, part_of(i, false), NULL));
	cr_expect_eq(parts.num, 150, "%zu kept, of which 50 are a quarter of what is left", parts.num);
	for (uint32_t i = 0; i < 200; i++)
		cr_assert(hsnap_parts_add(&parts, part_of(i, true), NULL));
	cr_expect(parts.num == 150 && parts.missed == 50, "%zu kept, %zu missed", parts.num, (size_t)parts.missed);
	cr_expect(parts.items[149].sure, "what is there is known again");
	hsnap_budget_set_left(SIZE_MAX);
	for (uint32_t i = 0; i < NUM; i++)
		cr_assert(hsnap_parts_add(&parts, part_of(i, false), NULL));
	cr_expect(parts.num == NUM && parts.missed == 50, "%zu kept, %zu missed", parts.num, (size_t)parts.missed);
	hsnap_parts_deinit(&parts);
}

Test(partset, what_is_counted_on_beforehand)
{
	cr_expect_eq(hsnap_parts_need(0), 0);
	cr_expect_eq(hsnap_parts_need(6400), 100 * HSNAP_PART_BYTES);
	cr_expect_eq(hsnap_parts_need(UINT64_MAX), (uint64_t)HSNAP_PARTS_COUNTED * HSNAP_PART_BYTES);
}
