/* SPDX-License-Identifier: MIT */
/* account_json.c - the memory account as an object. */
#include "cli/account.h"

static void emit_known(struct hsnap_emit *emit, const char *key, uint64_t number)
{
	if (number == HSNAP_NOT_KNOWN)
		hsnap_emit_null(emit, key);
	else
		hsnap_emit_u64(emit, key, number);
}

static void emit_address(struct hsnap_emit *emit, const char *key, uint64_t address)
{
	char text[24];
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
	hsnap_emit_string_or_null(emit, key, address ? text : "");
}

static void emit_cgroup(struct hsnap_emit *emit, const struct hsnap_account *account)
{
	if (account->cgroup_use == HSNAP_NOT_KNOWN && account->cgroup_limit == HSNAP_NOT_KNOWN) {
		hsnap_emit_null(emit, "cgroup");
		return;
	}
	hsnap_emit_begin_object(emit, "cgroup");
	emit_known(emit, "limit", account->cgroup_limit);
	emit_known(emit, "use", account->cgroup_use);
	emit_known(emit, "swap", account->cgroup_swap);
	hsnap_emit_end_object(emit);
}

static void emit_arenas(struct hsnap_emit *emit, const struct hsnap_snapshot *snapshot)
{
	hsnap_emit_begin_array(emit, "arenas");
	for (size_t i = 0; i < snapshot->account_arenas.num; i++) {
		const struct hsnap_account_arena *arena = &snapshot->account_arenas.items[i];
		hsnap_emit_begin_object(emit, NULL);
		hsnap_emit_string(emit, "kind", hsnap_arena_kind_name(arena->kind));
		emit_address(emit, "address", arena->address);
		emit_known(emit, "system", arena->system ? arena->system : HSNAP_NOT_KNOWN);
		hsnap_emit_u64(emit, "walked", arena->walked);
		hsnap_emit_u64(emit, "free", arena->free);
		hsnap_emit_u64(emit, "free_resident", arena->free_resident);
		hsnap_emit_u64(emit, "cached", arena->cached);
		hsnap_emit_u64(emit, "top", arena->top);
		hsnap_emit_u64(emit, "biggest_free", arena->biggest_free);
		hsnap_emit_bool(emit, "locked", arena->locked);
		hsnap_emit_end_object(emit);
	}
	hsnap_emit_end_array(emit);
}

static void emit_parts(struct hsnap_emit *emit, const struct hsnap_snapshot *snapshot)
{
	hsnap_emit_begin_array(emit, "parts");
	for (size_t i = 0; i < snapshot->account_parts.num; i++) {
		const struct hsnap_account_part *part = &snapshot->account_parts.items[i];
		hsnap_emit_begin_object(emit, NULL);
		hsnap_emit_string(emit, "kind", hsnap_part_kind_name(part->kind));
		hsnap_emit_string_or_null(emit, "name", hsnap_text(snapshot, part->name));
		hsnap_emit_u64(emit, "mappings", part->count);
		hsnap_emit_u64(emit, "size", part->size);
		hsnap_emit_u64(emit, "resident", part->resident);
		hsnap_emit_end_object(emit);
	}
	hsnap_emit_end_array(emit);
}

static void emit_sums(struct hsnap_emit *emit, const struct hsnap_snapshot *snapshot,
		      const struct hsnap_account_sums *sums)
{
	const struct hsnap_account *account = &snapshot->account;
	hsnap_emit_i64(emit, "live", sums->live);
	hsnap_emit_i64(emit, "live_not_resident", sums->live_absent);
	hsnap_emit_u64(emit, "live_swapped", account->live_swapped);
	hsnap_emit_i64(emit, "overhead", sums->overhead);
	hsnap_emit_i64(emit, "free", sums->free);
	hsnap_emit_u64(emit, "free_not_resident",
		       account->free > account->free_resident ? account->free - account->free_resident : 0);
	hsnap_emit_u64(emit, "free_chunks", account->free_count);
	hsnap_emit_u64(emit, "biggest_free", account->biggest_free);
	hsnap_emit_i64(emit, "agent", sums->parts[HSNAP_PART_AGENT]);
	hsnap_emit_i64(emit, "stacks", sums->parts[HSNAP_PART_STACK]);
	hsnap_emit_i64(emit, "code_and_data", sums->parts[HSNAP_PART_MODULE]);
	hsnap_emit_i64(emit, "other", sums->other);
	if (sums->rss_known)
		hsnap_emit_i64(emit, "unexplained", sums->unexplained);
	else
		hsnap_emit_null(emit, "unexplained");
}

void hsnap_emit_account(struct hsnap_emit *emit, const struct hsnap_snapshot *snapshot)
{
	const struct hsnap_account *account = &snapshot->account;
	struct hsnap_account_sums sums;
	if (!hsnap_account_sum(snapshot, snapshot->facts.basis, &sums)) {
		hsnap_emit_null(emit, "account");
		return;
	}
	hsnap_emit_begin_object(emit, "account");
	emit_known(emit, "rss", account->rss);
	emit_sums(emit, snapshot, &sums);
	emit_known(emit, "rss_anon", account->rss_anon);
	emit_known(emit, "rss_file", account->rss_file);
	emit_known(emit, "rss_shmem", account->rss_shmem);
	emit_known(emit, "swap", account->swap);
	emit_known(emit, "huge_pages", account->huge);
	emit_cgroup(emit, account);
	emit_arenas(emit, snapshot);
	emit_parts(emit, snapshot);
	hsnap_emit_end_object(emit);
}
