/* SPDX-License-Identifier: MIT */
/* account.c - the memory account added up. */
#include "snapshot/snapshot.h"

const char *hsnap_part_kind_name(enum hsnap_part_kind kind)
{
	static const char *const names[HSNAP_NUM_PART_KINDS] = { "stack", "module", "file", "shared", "anonymous", "agent" };
	return kind < HSNAP_NUM_PART_KINDS ? names[kind] : "other";
}

const char *hsnap_arena_kind_name(enum hsnap_arena_kind kind)
{
	static const char *const names[HSNAP_NUM_ARENA_KINDS] = { "mapped", "main", "threads" };
	return kind < HSNAP_NUM_ARENA_KINDS ? names[kind] : "other";
}

static int64_t cut(uint64_t number)
{
	return number > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)number;
}

static int64_t plus(int64_t a, int64_t b)
{
	int64_t sum;
	if (__builtin_add_overflow(a, b, &sum))
		return a < 0 ? -INT64_MAX : INT64_MAX;
	return sum;
}

static int64_t minus(int64_t a, int64_t b)
{
	int64_t difference;
	if (__builtin_sub_overflow(a, b, &difference))
		return a < 0 ? -INT64_MAX : INT64_MAX;
	return difference;
}

bool hsnap_account_sum(const struct hsnap_snapshot *snapshot, enum hsnap_basis basis, struct hsnap_account_sums *ret)
{
	const struct hsnap_account *account = &snapshot->account;
	const struct hsnap_facts *facts = &snapshot->facts;
	*ret = (struct hsnap_account_sums){ .rss_known = account->known && account->rss != HSNAP_NOT_KNOWN };
	if (!account->known)
		return false;
	bool usable = basis == HSNAP_BASIS_USABLE && facts->basis != HSNAP_BASIS_USABLE;
	int64_t resident = cut(usable ? account->live_resident_usable : account->live_resident);
	ret->live = cut(usable ? facts->heap_usable : facts->heap_bytes);
	ret->live_absent = minus(ret->live, resident);
	ret->free = cut(account->free_resident);
	ret->overhead = minus(minus(cut(account->heap_resident), resident), ret->free);
	int64_t explained = cut(account->heap_resident);
	for (size_t i = 0; i < snapshot->account_parts.num; i++) {
		const struct hsnap_account_part *part = &snapshot->account_parts.items[i];
		if (part->kind >= HSNAP_NUM_PART_KINDS)
			continue;
		ret->parts[part->kind] = plus(ret->parts[part->kind], cut(part->resident));
		explained = plus(explained, cut(part->resident));
	}
	ret->other = plus(plus(ret->parts[HSNAP_PART_FILE], ret->parts[HSNAP_PART_SHARED]), ret->parts[HSNAP_PART_ANONYMOUS]);
	if (ret->rss_known) {
		ret->rss = cut(account->rss);
		ret->unexplained = minus(ret->rss, explained);
	}
	return true;
}

struct hsnap_account_sums hsnap_account_growth(const struct hsnap_account_sums *later,
					       const struct hsnap_account_sums *earlier)
{
	struct hsnap_account_sums growth = {
		.rss_known = later->rss_known && earlier->rss_known,
		.rss = minus(later->rss, earlier->rss),
		.live = minus(later->live, earlier->live),
		.live_absent = minus(later->live_absent, earlier->live_absent),
		.overhead = minus(later->overhead, earlier->overhead),
		.free = minus(later->free, earlier->free),
		.other = minus(later->other, earlier->other),
		.unexplained = minus(later->unexplained, earlier->unexplained),
	};
	for (size_t i = 0; i < HSNAP_NUM_PART_KINDS; i++)
		growth.parts[i] = minus(later->parts[i], earlier->parts[i]);
	return growth;
}
