/* SPDX-License-Identifier: MIT */
/* account.c - the allocator's memory and the kernel's numbers. */
#include "capture/account/account.h"

#include <string.h>

#include "capture/account/parts.h"

static enum hsnap_code no_memory(struct hsnap_error *err)
{
	return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the memory account");
}

/* Kilobytes of a line of status, as bytes. */
static uint64_t told(const char *text, const char *key)
{
	uint64_t kib;
	if (!hsnap_proc_field(text, key, 10, &kib) || kib > HSNAP_ACCOUNT_MAX / 1024)
		return HSNAP_NOT_KNOWN;
	return kib * 1024;
}

static uint64_t in_bounds(uint64_t number)
{
	return number > HSNAP_ACCOUNT_MAX ? HSNAP_NOT_KNOWN : number;
}

static void add_told(const struct hsnap_kernel_memory *memory, const struct hsnap_cgroup *cgroup,
		     struct hsnap_snapshot *snapshot)
{
	struct hsnap_account *account = &snapshot->account;
	const char *text = memory ? memory->text : "";
	account->rss = told(text, "VmRSS");
	account->rss_anon = told(text, "RssAnon");
	account->rss_file = told(text, "RssFile");
	account->rss_shmem = told(text, "RssShmem");
	account->swap = told(text, "VmSwap");
	account->huge = told(text, "HugetlbPages");
	account->cgroup_limit = in_bounds(cgroup->limit);
	account->cgroup_use = in_bounds(cgroup->use);
	account->cgroup_swap = in_bounds(cgroup->swap);
	if (account->rss != HSNAP_NOT_KNOWN)
		snapshot->facts.rss = account->rss;
	if (account->swap != HSNAP_NOT_KNOWN)
		snapshot->facts.swap = account->swap;
}

static void add_blocks(const struct hsnap_heap *heap, const struct hsnap_account_look *look, bool requested,
		       struct hsnap_account *account)
{
	size_t hint = 0, hint_swapped = 0;
	for (size_t i = 0; i < heap->blocks.num; i++) {
		const struct hsnap_block *block = &heap->blocks.items[i];
		uint64_t start = block->address;
		uint64_t size = requested && block->requested < block->usable ? block->requested : block->usable;
		if (hsnap_pages_covers(&look->resident, start, start + block->usable, hint)) {
			account->live_resident_usable += block->usable;
			account->live_resident += size;
			continue;
		}
		account->live_resident_usable += hsnap_pages_in(&look->resident, start, start + block->usable, &hint);
		account->live_resident += hsnap_pages_in(&look->resident, start, start + size, &hint);
		account->live_swapped += hsnap_pages_in(&look->swapped, start, start + block->usable, &hint_swapped);
	}
}

/* Where the page map is not to be read, the pages of all files are one sum, as the kernel tells it. */
static bool add_files(const struct hsnap_account_look *look, struct hsnap_snapshot *snapshot)
{
	uint64_t bytes = snapshot->account.rss_file;
	struct hsnap_account_part part = { .kind = HSNAP_PART_FILE, .count = 1, .size = bytes, .resident = bytes };
	if (look->files_known || bytes == HSNAP_NOT_KNOWN || !bytes)
		return true;
	return hsnap_vec_push(&snapshot->account_parts, part);
}

static bool add_arenas(const struct hsnap_heap *heap, struct hsnap_snapshot *snapshot)
{
	for (size_t i = 0; i < heap->arenas.num; i++) {
		const struct hsnap_arena *arena = &heap->arenas.items[i];
		struct hsnap_account_arena kept = {
			.address = arena->address, .locked = arena->locked, .system = arena->system, .walked = arena->walked,
			.kind = !i ? HSNAP_ARENA_MAPPED : arena->main ? HSNAP_ARENA_MAIN : HSNAP_ARENA_THREADS,
		};
		if (kept.system > HSNAP_ACCOUNT_MAX) /* its word is the target's */
			kept.system = 0;
		if (!hsnap_vec_push(&snapshot->account_arenas, kept))
			return false;
	}
	return true;
}

static void add_free(const struct hsnap_heap *heap, const struct hsnap_account_look *look, struct hsnap_snapshot *snapshot)
{
	struct hsnap_account *account = &snapshot->account;
	size_t hint = 0;
	for (size_t i = 0; i < heap->free.num; i++) {
		const struct hsnap_free *chunk = &heap->free.items[i];
		uint64_t size = chunk->end - chunk->start;
		uint64_t resident = hsnap_pages_in(&look->resident, chunk->start, chunk->end, &hint);
		account->free += size;
		account->free_resident += resident;
		account->free_count++;
		if (size > account->biggest_free)
			account->biggest_free = size;
		if (chunk->arena >= snapshot->account_arenas.num)
			continue;
		struct hsnap_account_arena *arena = &snapshot->account_arenas.items[chunk->arena];
		arena->free += size;
		arena->free_resident += resident;
		if (chunk->kind == HSNAP_FREE_CACHED)
			arena->cached += size;
		if (chunk->kind == HSNAP_FREE_TOP)
			arena->top += size;
		if (size > arena->biggest_free)
			arena->biggest_free = size;
	}
}

/* The agent lists an arena once it has handed a chunk of it: one with nothing in it is none. */
static void drop_empty_arenas(struct hsnap_snapshot *snapshot)
{
	size_t kept = 0;
	for (size_t i = 0; i < snapshot->account_arenas.num; i++) {
		const struct hsnap_account_arena *arena = &snapshot->account_arenas.items[i];
		if (arena->system || arena->walked || arena->free)
			snapshot->account_arenas.items[kept++] = *arena;
	}
	snapshot->account_arenas.num = kept;
}

/* What a core holds is what it says it holds: whatever that is, it can be written and read. */
static void limit(struct hsnap_account *account)
{
	uint64_t *const numbers[] = { &account->heap_resident, &account->live_resident, &account->live_resident_usable,
				      &account->live_swapped, &account->free, &account->free_resident,
				      &account->biggest_free };
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (*numbers[i] > HSNAP_ACCOUNT_MAX)
			*numbers[i] = HSNAP_ACCOUNT_MAX;
}

enum hsnap_code hsnap_account_fill(const struct hsnap_target *target, const struct hsnap_heap *heap,
				   const struct hsnap_kernel *kernel, const struct hsnap_account_look *look,
				   struct hsnap_snapshot *snapshot, struct hsnap_error *err)
{
	struct hsnap_account *account = &snapshot->account;
	*account = (struct hsnap_account){ .known = true };
	snapshot->account_arenas.num = snapshot->account_parts.num = 0;
	add_told(kernel->memory, &look->cgroup, snapshot);
	add_blocks(heap, look, snapshot->facts.basis == HSNAP_BASIS_REQUESTED, account);
	if (!hsnap_account_parts(target, heap, look, snapshot) || !add_files(look, snapshot) || !add_arenas(heap, snapshot))
		return no_memory(err);
	add_free(heap, look, snapshot);
	drop_empty_arenas(snapshot);
	limit(account);
	return HSNAP_OK;
}
