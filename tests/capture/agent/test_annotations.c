/* SPDX-License-Identifier: MIT */
/* test_annotations.c - pools, arenas and tags of a program against what it knows of them itself, whatever comes in between. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "annotator.h"
#include "capture/alloc/alloc.h"
#include "frozen.h"

static const char *const cases[] = { "threads", "arenas", "destroyed", "signals", "forked", "nonsense", "starved", "names" };

ParameterizedTestParameters(annotations, objects)
{
	static size_t indices[sizeof(cases) / sizeof(*cases)];
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, sizeof(cases) / sizeof(*cases));
}

struct truth {
	int pid;
	unsigned long at, num, count, lost, astray;
};

static const char *tag_of(const struct hsnap_heap *heap, size_t block, bool *ret_cut)
{
	uint32_t tag = heap->tag_of ? heap->tag_of[block] : 0;
	*ret_cut = heap->tags.items[tag].cut;
	return tag ? hsnap_str(&heap->texts, heap->tags.items[tag].text) : "";
}

static void check_tag(const struct hsnap_heap *heap, size_t block, uint32_t type)
{
	static const char *const names[ANNOTATOR_TYPES] = ANNOTATOR_NAMES;
	bool cut;
	const char *tag = tag_of(heap, block, &cut);
	if (type < ANNOTATOR_LONG) {
		cr_expect_str_eq(tag, names[type]);
		return;
	}
	char letter[2] = { (char)('a' + (type - ANNOTATOR_LONG) % 26), '\0' };
	cr_expect_eq(strspn(tag, letter), strlen(tag));
	cr_expect_eq(cut, type >= ANNOTATOR_LONG + 26);
	cr_expect(!cut || strlen(tag) == 1023);
}

static void check_objects(const struct hsnap_target *target, const struct hsnap_heap *heap, const struct truth *truth)
{
	unsigned long found = 0, marked = 0;
	for (unsigned long i = 0; i < truth->num; i++) {
		struct place place;
		cr_assert_eq(hsnap_target_read(target, truth->at + i * sizeof(place), &place, sizeof(place), NULL), HSNAP_OK);
		if (!place.address)
			continue;
		size_t block = hsnap_heap_find(heap, place.address);
		cr_assert_neq(block, SIZE_MAX, "%" PRIx64 " is on no record", place.address);
		cr_expect_eq(heap->blocks.items[block].address, place.address);
		cr_expect_eq(heap->blocks.items[block].requested, place.size, "%" PRIu64 " bytes, not %u",
			     heap->blocks.items[block].requested, place.size);
		cr_expect(heap->blocks.items[block].flags & HSNAP_BLOCK_OBJECT && heap->pool_of && heap->pool_of[block]);
		cr_expect(heap->blocks.items[block].stack, "its stack is not known");
		check_tag(heap, block, place.type);
		found++;
	}
	for (size_t i = 0; i < heap->blocks.num; i++)
		marked += (heap->blocks.items[i].flags & HSNAP_BLOCK_OBJECT) != 0;
	cr_expect_eq(found, truth->count);
	cr_expect_eq(marked, truth->count, "%lu objects too many", marked - truth->count);
	cr_expect_eq(heap->num_objects, truth->count);
}

static void check(const char *name)
{
	const char *argv[] = { getenv("HSNAP_TEST_ANNOTATOR"), name, NULL };
	struct victim victim = victim_start(getenv("HSNAP_TEST_AGENT"), argv, NULL);
	struct truth truth;
	struct hsnap_heap heap;
	struct hsnap_error err;
	cr_assert_eq(fscanf(victim.said, "truth %d %lu %lu %lu %lu %lu", &truth.pid, &truth.at, &truth.num, &truth.count, &truth.lost,
			    &truth.astray), 6);
	struct hsnap_target *target = victim_freeze(truth.pid);
	cr_assert_eq(hsnap_agent_heap_read(target, &heap, &err), HSNAP_OK, "%s: %s", name, err.message);
	check_objects(target, &heap, &truth);
	cr_expect(truth.lost == ANNOTATOR_ANY || heap.notes_lost == truth.lost, "%s: %" PRIu64 " found no place", name, heap.notes_lost);
	cr_expect(truth.astray == ANNOTATOR_ANY || heap.notes_astray == truth.astray, "%s: %" PRIu64 " went astray", name,
		  heap.notes_astray);
	cr_expect(truth.lost == ANNOTATOR_ANY || !heap.partial[0], "%s: %s", name, heap.partial);
	hsnap_heap_deinit(&heap);
	hsnap_target_close(target);
	if (truth.pid != victim.pid)
		kill(truth.pid, SIGKILL);
	victim_end(&victim);
}

ParameterizedTest(size_t *index, annotations, objects)
{
	check(cases[*index]);
}
