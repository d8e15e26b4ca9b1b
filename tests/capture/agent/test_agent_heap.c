/* SPDX-License-Identifier: MIT */
/* test_agent_heap.c - the agent and its reader against what a program knows of its own heap. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <string.h>

#include "capture/alloc/alloc.h"
#include "frozen.h"

static const struct {
	const char *name;
	unsigned threads; /* each has a tcache: at most so many blocks without a record */
	unsigned damaged; /* blocks whose record the case damages */
	unsigned lost;    /* … so much that it cannot be read any more */
} rows[] = {
	{ "sizes", 1, 0, 0 },
	{ "churn", 1, 0, 0 },
	{ "realloc_moves", 1, 0, 0 },
	{ "realloc_in_place", 1, 0, 0 },
	{ "realloc_mapped", 1, 0, 0 },
	{ "memaligned", 1, 0, 0 },
	{ "usable_to_the_last_byte", 1, 0, 0 },
	{ "overrun_1_at_16k", 1, 100, 0 },
	{ "overrun_1_at_16k_8", 1, 0, 0 }, /* eight bytes of slack lie in between */
	{ "overrun_8_at_16k", 1, 100, 100 },
	{ "overrun_8_at_16k_8", 1, 0, 0 },
	{ "overrun_then_freed", 1, 100, 50 },
	{ "cached", 1, 0, 0 },
	{ "threads", 9, 0, 0 },
	{ "brk_blocked", 1, 0, 0 },
	{ "foreign_brk", 1, 0, 0 },
	{ "forked", 1, 0, 0 },
	{ "sparse", 1, 0, 0 },
};

ParameterizedTestParameters(agent_heap, walk)
{
	static size_t indices[sizeof(rows) / sizeof(*rows)];
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, sizeof(rows) / sizeof(*rows));
}

/* Blocks in order, disjoint, in regions; sums as the agent counted them. */
static void check_order(const struct hsnap_heap *heap, const char *name)
{
	size_t region = 0;
	for (size_t i = 0; i < heap->blocks.num; i++) {
		const struct hsnap_block *b = &heap->blocks.items[i];
		cr_assert(!i || heap->blocks.items[i - 1].address + heap->blocks.items[i - 1].usable <= b->address,
			  "%s: block %zu overlaps the one before", name, i);
		cr_assert(b->requested <= b->usable, "%s: block %zu: %" PRIu64 " of %" PRIu64, name, i, b->requested, b->usable);
		while (region < heap->regions.num && heap->regions.items[region].end <= b->address)
			region++;
		cr_assert(region < heap->regions.num && heap->regions.items[region].start <= b->address &&
				  b->address + b->usable <= heap->regions.items[region].end + 8,
			  "%s: block %zu lies in no region", name, i);
	}
}

ParameterizedTest(size_t *row, agent_heap, walk)
{
	const char *name = rows[*row].name;
	const char *argv[] = { getenv("HSNAP_TEST_VICTIM"), name, NULL };
	struct victim victim = victim_start(getenv("HSNAP_TEST_AGENT"), argv, NULL);
	struct hsnap_target *target = victim_freeze(&victim);
	struct hsnap_heap heap;
	struct hsnap_error err;
	cr_assert_eq(hsnap_agent_heap_read(target, &heap, &err), HSNAP_OK, "%s: %s", name, err.message);
	check_order(&heap, name);

	char path[64], what[8];
	size_t lines, live = 0, over = 0, lost = 0;
	uint64_t address, size;
	cr_assert_eq(fscanf(victim.said, "%63s %zu", path, &lines), 2);
	FILE *truth = fopen(path, "r");
	cr_assert(truth);
	rewind(truth);
	for (size_t i = 0; i < lines; i++) {
		cr_assert_eq(fscanf(truth, "%7s %" SCNx64 " %" SCNu64, what, &address, &size), 3);
		size_t found = hsnap_heap_find(&heap, address);
		const struct hsnap_block *b = found != SIZE_MAX && heap.blocks.items[found].address == address ?
						      &heap.blocks.items[found] : NULL;
		if (!strcmp(what, "dead")) {
			cr_expect(!b, "%s: freed block %" PRIx64 " is called live", name, address);
			continue;
		}
		cr_assert(b, "%s: block %" PRIx64 " of %" PRIu64 " bytes is missing", name, address, size);
		if (b->flags & HSNAP_BLOCK_NO_RECORD) {
			cr_expect(*what == 'o', "%s: block %" PRIx64 " has no record", name, address);
			cr_expect_eq(b->requested, b->usable, "%s: size", name);
			lost++;
			continue;
		}
		cr_expect_eq(b->requested, size, "%s: block %" PRIx64 ": %" PRIu64 " bytes, want %" PRIu64, name, address,
			     b->requested, size);
		cr_expect(b->epoch >= 1 && b->epoch < 600, "%s: epoch %u", name, b->epoch);
		cr_expect(b->stack && b->stack < heap.stacks.num, "%s: no stack", name);
		bool flagged = b->flags & HSNAP_BLOCK_OVERRUN;
		cr_expect_eq(flagged, *what == 'o' && rows[*row].damaged, "%s: overrun flag", name);
		over += *what == 'o';
		live += *what == 'l';
	}
	fclose(truth);
	cr_assert(live + over + lost, "%s: nothing was compared", name);
	cr_expect_eq(lost, rows[*row].lost, "%s: %zu records lost", name, lost);

	/* agent totals = walk */
	uint64_t count = 0, bytes = 0;
	for (size_t i = 0; i < heap.blocks.num; i++) {
		if (heap.blocks.items[i].flags & HSNAP_BLOCK_NO_RECORD)
			continue;
		count++;
		bytes += heap.blocks.items[i].requested;
	}
	cr_expect_eq(heap.allocated_count - heap.freed_count, count + lost, "%s: agent counts %" PRIu64 " live, walk %" PRIu64,
		     name, heap.allocated_count - heap.freed_count, count + lost);
	bytes += 160 * lost; /* the size that these cases ask for */
	cr_expect_eq(heap.allocated_bytes - heap.freed_bytes, bytes, "%s: agent counts %" PRIu64 " bytes, walk %" PRIu64,
		     name, heap.allocated_bytes - heap.freed_bytes, bytes);
	cr_expect_eq(heap.overruns, rows[*row].damaged, "%s: %" PRIu64 " overruns", name, heap.overruns);
	cr_expect(heap.no_record <= rows[*row].threads + lost, "%s: %" PRIu64 " blocks without a record", name, heap.no_record);
	cr_expect_eq(heap.walked_bytes, heap.expected_bytes, "%s: walked", name);
	cr_expect_str_empty(heap.partial, "%s: %s", name, heap.partial);
	hsnap_heap_deinit(&heap);
	hsnap_target_close(target);
	victim_end(&victim);
}

Test(agent_heap, no_agent_is_an_answer)
{
	const char *argv[] = { getenv("HSNAP_TEST_VICTIM"), "sparse", NULL };
	struct victim victim = victim_start(NULL, argv, NULL);
	struct hsnap_target *target = victim_freeze(&victim);
	struct hsnap_heap heap;
	struct hsnap_error err;
	cr_expect_eq(hsnap_heap_read(target, &heap, &err), HSNAP_NOT_FOUND);
	cr_expect_str_eq(err.message, "the agent is not loaded");
	hsnap_target_close(target);
	victim_end(&victim);
}
