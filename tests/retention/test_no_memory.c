/* SPDX-License-Identifier: MIT */
/* test_no_memory.c - paths and leaks when memory runs out, at each allocation in turn. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "retention/retention.h"
#include "tests/support/random_graph.h"
#include "tests/support/scarce.h"

#define FEWEST_FAILURES 200 /* fewer: the tables of shapes did not have to grow */

static struct hsnap_snapshot *make_snapshot(void)
{
	return random_snapshot(&(struct random_shape){ .seed = 7, .style = RANDOM_HEAP, .num_roots = 8, .num_blocks = 500,
						       .num_types = 20, .num_stacks = 10, .num_edges = 900 });
}

Test(no_memory, why_fails_and_then_answers)
{
	struct hsnap_snapshot *s = make_snapshot();
	bool *types = malloc(s->types.num);
	struct hsnap_paths paths;
	struct hsnap_error err;
	cr_assert(types && !hsnap_paths_init(&s->graph, &paths, NULL));
	memset(types, true, s->types.num);
	struct hsnap_why_what what = { .types = types, .most_paths = 10 };
	struct hsnap_why why;
	enum hsnap_code code = HSNAP_NO_MEMORY;
	size_t grants = 0;
	for (; code; grants++) {
		scarce_grant(grants);
		code = hsnap_why_init(s, &paths, &what, &why, &err);
		scarce_grant(PLENTY);
		cr_assert(!code || code == HSNAP_NO_MEMORY, "after %zu allocations: %s", grants, err.message);
	}
	cr_expect_gt(grants, FEWEST_FAILURES, "only %zu allocations", grants);
	cr_expect_eq(why.count, s->graph.num_blocks);
	hsnap_why_deinit(&why);
	hsnap_paths_deinit(&paths);
	free(types);
	hsnap_snapshot_destroy(s);
}

Test(no_memory, leaks_fail_and_then_are_told)
{
	struct hsnap_snapshot *s = make_snapshot();
	for (hsnap_node_id node = hsnap_first_block(&s->graph); node < s->graph.num_nodes; node++)
		s->graph.flags[node] = HSNAP_UNREACHABLE << HSNAP_FLAG_STATE_SHIFT;
	struct hsnap_leaks leaks;
	struct hsnap_error err;
	enum hsnap_code code = HSNAP_NO_MEMORY;
	size_t grants = 0;
	for (; code; grants++) {
		scarce_grant(grants);
		code = hsnap_leaks_init(s, HSNAP_UNREACHABLE, false, &leaks, &err);
		scarce_grant(PLENTY);
		cr_assert(!code || code == HSNAP_NO_MEMORY, "after %zu allocations: %s", grants, err.message);
	}
	cr_expect_gt(grants, FEWEST_FAILURES, "only %zu allocations", grants);
	cr_expect_eq(leaks.count, s->graph.num_blocks);
	hsnap_leaks_deinit(&leaks);
	hsnap_snapshot_destroy(s);
}
