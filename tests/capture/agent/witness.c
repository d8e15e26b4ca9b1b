/* SPDX-License-Identifier: MIT */
/* witness.c - see witness.h. */
#include "witness.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#include "capture/alloc/alloc.h"

enum { MAX_SHOWN = 5 };

struct comparison {
	const char *name;
	char text[MAX_SHOWN][128];
	unsigned differ;
};

static void differs(struct comparison *c, const char *how, const struct hsnap_block *block)
{
	if (c->differ < MAX_SHOWN)
		snprintf(c->text[c->differ], sizeof(c->text[0]), "%s: block %" PRIx64 " of %" PRIu64 " bytes, flags %u", how,
			 block->address, block->usable, block->flags);
	c->differ++;
}

/* The agent looks at no chunk of the main arena before there is a block of the program's: a thread's cache may stand there,
 * which is empty. */
static bool is_empty_cache(const struct hsnap_target *target, const struct hsnap_block *block)
{
	const uint64_t *words = hsnap_target_view(target, block->address, block->usable & ~7ull);
	if (!words || (block->usable != 0x248 && block->usable != 0x288 && block->usable != 0x2f8))
		return false;
	for (size_t i = 0; i < block->usable / 8; i++)
		if (words[i])
			return false;
	return true;
}

/* The agent's trailer is its own; of a mapping, and of what has no record, it takes nothing. */
static bool is_same_size(const struct hsnap_target *target, const struct hsnap_block *agent, const struct hsnap_block *glibc)
{
	uint64_t head = 0;
	bool bare = agent->flags & HSNAP_BLOCK_NO_RECORD || (hsnap_target_word(target, agent->address - 8, &head) && head & 2);
	return glibc->usable == agent->usable + (bare ? 0 : 8);
}

void witness_agrees(const struct hsnap_target *target, const struct hsnap_heap *agent, const char *name, unsigned in_flight)
{
	struct comparison c = { .name = name };
	struct hsnap_heap glibc;
	struct hsnap_error err;
	cr_assert_eq(hsnap_glibc_heap_read(target, &glibc, &err), HSNAP_OK, "%s: %s", name, err.message);
	size_t a = 0, g = 0;
	while (a < agent->blocks.num || g < glibc.blocks.num) {
		const struct hsnap_block *ours = a < agent->blocks.num ? &agent->blocks.items[a] : NULL;
		const struct hsnap_block *theirs = g < glibc.blocks.num ? &glibc.blocks.items[g] : NULL;
		if (ours && theirs && ours->address == theirs->address) {
			if (!is_same_size(target, ours, theirs))
				differs(&c, "another size", theirs);
			a++, g++;
		} else if (ours && (!theirs || ours->address < theirs->address)) {
			differs(&c, "the agent's alone", ours);
			a++;
		} else {
			if (!(theirs->flags & HSNAP_BLOCK_ALLOCATOR) && !is_empty_cache(target, theirs))
				differs(&c, "glibc's alone", theirs);
			g++;
		}
	}
	for (unsigned i = 0; i < c.differ && i < MAX_SHOWN && c.differ > in_flight; i++)
		cr_expect_fail("%s: %s", name, c.text[i]);
	cr_expect(c.differ <= in_flight, "%s: the two walks differ in %u blocks of %zu", name, c.differ, agent->blocks.num);
	cr_expect_str_empty(glibc.partial, "%s: glibc's walk: %s", name, glibc.partial);
	hsnap_heap_deinit(&glibc);
}
