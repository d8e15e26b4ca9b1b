/* SPDX-License-Identifier: MIT */
/* test_lists.c - lists of pieces that threads fill and empty, and what is numbered and comes and goes. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/agent/items.h"
#include "capture/agent/pools.h"

struct hsnap_wire_directory hsnap_agent_directory;

#define THREADS 4u
#define EACH 20000u

static uint64_t shared_list;

static size_t length(const uint64_t *list, uint64_t *ret_sum)
{
	const struct hsnap_wire_directory *dir = &hsnap_agent_directory;
	size_t num = 0;
	*ret_sum = 0;
	for (uint64_t next = *list; next;) {
		cr_assert(next <= dir->num_pieces);
		const struct hsnap_wire_piece *piece =
			hsnap_agent_item_at((uint64_t *)dir->piece_segments, sizeof(*piece), NULL, next - 1);
		for (uint64_t i = 0; i < HSNAP_PIECE_ENTRIES && i < piece->num; i++) {
			num += piece->entries[i][0] != 0;
			*ret_sum += piece->entries[i][0];
		}
		next = piece->older;
	}
	return num;
}

static bool put(uint64_t *list, uint64_t value)
{
	uint64_t *entry = hsnap_agent_list_add(list);
	if (!entry)
		return false;
	cr_assert(!entry[0] && !entry[1], "an entry of somebody else's");
	entry[1] = ~value;
	__atomic_store_n(&entry[0], value, __ATOMIC_RELEASE);
	return true;
}

static void *fill(void *first)
{
	uint64_t own = 0, sum;
	for (unsigned i = 1; i <= EACH; i++) {
		cr_assert(put(&shared_list, (uintptr_t)first + i));
		cr_assert(put(&own, i));
		if (i % 100 == 0) {
			cr_expect_eq(length(&own, &sum), 100);
			hsnap_agent_list_clear(&own);
		}
	}
	return NULL;
}

Test(lists, threads)
{
	uint64_t sum, want = 0;
	for (unsigned round = 0; round < 3; round++) {
		pthread_t threads[THREADS];
		for (unsigned t = 0; t < THREADS; t++)
			pthread_create(&threads[t], NULL, fill, (void *)(uintptr_t)(t * EACH));
		for (unsigned t = 0; t < THREADS; t++)
			pthread_join(threads[t], NULL);
		want = (uint64_t)THREADS * EACH * (THREADS * EACH + 1) / 2;
		cr_expect_eq(length(&shared_list, &sum), THREADS * EACH);
		cr_expect_eq(sum, want);
		hsnap_agent_list_clear(&shared_list);
		cr_expect_eq(length(&shared_list, &sum), 0);
	}
	/* What was cleared is used again: full lists of all at once, and some pieces for each thread's own. */
	cr_expect_leq(hsnap_agent_directory.num_pieces, THREADS * (EACH / HSNAP_PIECE_ENTRIES + 1) + THREADS * 16);
}

Test(lists, find)
{
	uint64_t list = 0;
	cr_expect_null(hsnap_agent_list_find(&list, 1, 0));
	for (uint64_t i = 1; i <= 100; i++)
		put(&list, i % 7 << 8 | i);
	cr_expect_eq(hsnap_agent_list_find(&list, 3 << 8 | 94, 0)[1], ~(uint64_t)(3 << 8 | 94));
	cr_expect_eq(*hsnap_agent_list_find(&list, 0, ~(uint64_t)0), 2 << 8 | 100, "the latest");
	cr_expect_eq(*hsnap_agent_list_find(&list, 5 << 8, 0xff), 5 << 8 | 96);
	cr_expect_null(hsnap_agent_list_find(&list, 101, 0xff00));
	hsnap_agent_list_clear(&list);
}

static struct item {
	uint64_t owner, link, rest[6];
} *taken[THREADS * 64];

static uint64_t segments[HSNAP_SLOT_SEGMENTS], num_items;
static struct hsnap_agent_items items = { .segments = segments, .num = &num_items, .size = sizeof(struct item) };

static void *come_and_go(void *number)
{
	unsigned t = (unsigned)(uintptr_t)number;
	for (unsigned i = 0; i < EACH; i++) {
		struct item **place = &taken[t * 64 + i * 7 % 64];
		uint64_t n;
		if (*place) {
			cr_assert_eq((*place)->owner, t + 1, "it was handed out twice");
			(*place)->owner = 0;
			hsnap_agent_items_put(&items, (*place)->rest[0]);
			*place = NULL;
			continue;
		}
		*place = hsnap_agent_items_take(&items, &n);
		cr_assert(*place && !(*place)->owner && hsnap_agent_items_at(&items, n) == *place);
		(*place)->owner = t + 1;
		(*place)->rest[0] = n;
	}
	return NULL;
}

Test(lists, numbers)
{
	pthread_t threads[THREADS];
	for (unsigned t = 0; t < THREADS; t++)
		pthread_create(&threads[t], NULL, come_and_go, (void *)(uintptr_t)t);
	for (unsigned t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	cr_expect_leq(num_items, THREADS * 64);
	cr_expect_null(hsnap_agent_items_at(&items, num_items));
	cr_expect_null(hsnap_agent_items_at(&items, UINT64_MAX));
}
