/* SPDX-License-Identifier: MIT */
/* test_account.c - the account added up: always true, whatever the numbers are. */
#include <criterion/criterion.h>

#include "snapshot/base/cleanup.h"
#include "snapshot/snapshot.h"
#include "tests/support/random_graph.h"

static int64_t sum_of(const struct hsnap_account_sums *sums)
{
	int64_t sum = sums->live - sums->live_absent + sums->overhead + sums->free + sums->unexplained;
	for (size_t i = 0; i < HSNAP_NUM_PART_KINDS; i++)
		sum += sums->parts[i];
	return sum;
}

/* Numbers of any file that is read: each line is what is left, so they add up to the RSS. */
Test(account, adds_up_whatever_the_numbers_are)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = random_snapshot(&(struct random_shape){
			.seed = seed, .num_types = 3, .num_stacks = 2, .num_blocks = 9, .num_edges = 4 });
		struct hsnap_account_sums sums;
		for (int basis = HSNAP_BASIS_REQUESTED; basis <= HSNAP_BASIS_USABLE; basis++) {
			cr_assert(hsnap_account_sum(s, basis, &sums));
			cr_expect_eq(sums.rss_known, s->account.rss != HSNAP_NOT_KNOWN);
			if (sums.rss_known)
				cr_expect_eq(sum_of(&sums), sums.rss, "seed %lu", seed);
			cr_expect_eq(sums.other, sums.parts[HSNAP_PART_FILE] + sums.parts[HSNAP_PART_SHARED] +
							 sums.parts[HSNAP_PART_ANONYMOUS]);
		}
	}
}

Test(account, a_basis_moves_bytes_between_live_and_overhead)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = hsnap_snapshot_create();
	s->facts.heap_bytes = 900;
	s->facts.heap_usable = 1000;
	s->account = (struct hsnap_account){ .known = true, .rss = 5000, .heap_resident = 1300, .live_resident = 800,
					     .live_resident_usable = 890, .free = 300, .free_resident = 200 };
	struct hsnap_account_sums requested, usable;
	cr_assert(hsnap_account_sum(s, HSNAP_BASIS_REQUESTED, &requested) && hsnap_account_sum(s, HSNAP_BASIS_USABLE, &usable));
	cr_expect(requested.live == 900 && requested.live_absent == 100 && requested.overhead == 300 && requested.free == 200);
	cr_expect(usable.live == 1000 && usable.live_absent == 110 && usable.overhead == 210 && usable.free == 200);
	cr_expect(requested.unexplained == 3700 && usable.unexplained == 3700);
	s->facts.basis = HSNAP_BASIS_USABLE; /* then bytes are usable bytes */
	s->facts.heap_bytes = 1000;
	s->account.live_resident = 890;
	cr_assert(hsnap_account_sum(s, HSNAP_BASIS_USABLE, &usable));
	cr_expect(usable.live == 1000 && usable.live_absent == 110 && usable.overhead == 210);
}

/* What no file can say, but a caller could: nothing overflows (the sanitizer watches). */
Test(account, numbers_past_all_bounds)
{
	hsnap_auto(hsnap_snapshot_destroyp) struct hsnap_snapshot *s = hsnap_snapshot_create();
	struct hsnap_account_sums least, most;
	cr_expect_not(hsnap_account_sum(s, HSNAP_BASIS_REQUESTED, &least), "there is none");
	cr_expect_not(least.rss_known);
	s->account = (struct hsnap_account){ .known = true, .free_resident = UINT64_MAX, .live_resident = UINT64_MAX - 1 };
	for (int i = 0; i < 9; i++)
		cr_assert(hsnap_vec_push(&s->account_parts, (struct hsnap_account_part){ .kind = (uint8_t)i, .resident = UINT64_MAX }));
	cr_assert(hsnap_account_sum(s, HSNAP_BASIS_REQUESTED, &least));
	cr_expect_eq(least.overhead, -INT64_MAX);
	cr_expect_eq(least.live_absent, -INT64_MAX);
	cr_expect_eq(least.other, INT64_MAX);
	s->facts.heap_bytes = s->account.heap_resident = UINT64_MAX;
	s->account.rss = UINT64_MAX - 1;
	s->account.live_resident = s->account.free_resident = 0;
	cr_assert(hsnap_account_sum(s, HSNAP_BASIS_REQUESTED, &most));
	struct hsnap_account_sums growth = hsnap_account_growth(&most, &least);
	cr_expect_eq(growth.overhead, INT64_MAX);
	cr_expect_eq(growth.live_absent, INT64_MAX);
	growth = hsnap_account_growth(&least, &most);
	cr_expect_eq(growth.overhead, -INT64_MAX);
	cr_expect(growth.rss_known);
}
