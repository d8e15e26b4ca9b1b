/* SPDX-License-Identifier: MIT */
/* look.c - which pages of a process were resident when it was held still. */
#include <string.h>

#include "capture/account/account.h"

#define PAGE ((uint64_t)4096)

static enum hsnap_code no_memory(struct hsnap_error *err)
{
	return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the memory account");
}

static const char *path_of(const struct hsnap_target *target, const struct hsnap_mapping *mapping)
{
	return hsnap_str(&target->strings, mapping->path);
}

/* The copy holds all of it that was there: private memory of no file, and shared memory that can be
 * written.  Of files' own pages, and of what cannot be read, it holds nothing or too much. */
static bool is_copied(const struct hsnap_target *target, const struct hsnap_mapping *mapping)
{
	const char *path = path_of(target, mapping);
	if (!(mapping->prot & HSNAP_PROT_READ) || !strncmp(path, "[v", 2))
		return false;
	if (!mapping->inode)
		return true;
	bool device = path[0] != '/' || (!strncmp(path, "/dev/", 5) && strncmp(path, "/dev/shm/", 9) &&
					 strcmp(path, "/dev/zero"));
	return mapping->prot & HSNAP_PROT_SHARED && mapping->prot & HSNAP_PROT_WRITE && !device;
}

/* Pages of hugetlbfs are no part of a resident size. */
static bool is_huge(const char *path)
{
	return !strncmp(path, "/anon_hugepage", 14) || !strncmp(path, "/dev/hugepages/", 15);
}

static bool add_copied(struct hsnap_account_look *look, const struct hsnap_target *target, uint64_t from, uint64_t to)
{
	uint64_t start, end;
	while (from < to && hsnap_target_next_run(target, from, &start, &end) && start < to) {
		end = end < to ? end : to;
		if (end <= from || !hsnap_pages_add(&look->resident, start, end))
			return end <= from;
		from = end;
	}
	return true;
}

static enum hsnap_code add_by_pagemap(struct hsnap_account_look *look, int pagemap, uint64_t from, uint64_t to,
				      struct hsnap_error *err)
{
	struct hsnap_page_ranges ranges = { 0 };
	enum hsnap_pages_found found = hsnap_pagemap_present(pagemap, from, to, &ranges);
	bool room = found != HSNAP_PAGES_NO_MEMORY;
	for (size_t i = 0; room && i < ranges.num; i++)
		room = hsnap_pages_add(&look->resident, ranges.items[i].start, ranges.items[i].end);
	hsnap_vec_deinit(&ranges);
	if (found == HSNAP_PAGES_UNKNOWN)
		look->files_known = false;
	return room ? HSNAP_OK : no_memory(err);
}

static bool add_vdso(struct hsnap_account_look *look, const struct hsnap_kernel_memory *memory)
{
	for (uint64_t bits = memory->vdso_present; bits; bits &= bits - 1) {
		uint64_t start = memory->vdso_start + PAGE * (unsigned)__builtin_ctzll(bits);
		if (!hsnap_pages_add(&look->resident, start, start + PAGE))
			return false;
	}
	return true;
}

static enum hsnap_code look_at(struct hsnap_account_look *look, const struct hsnap_target *target,
			       const struct hsnap_kernel *kernel, const struct hsnap_mapping *mapping,
			       struct hsnap_error *err)
{
	if (!kernel->memory || is_copied(target, mapping))
		return add_copied(look, target, mapping->start, mapping->end) ? HSNAP_OK : no_memory(err);
	const char *path = path_of(target, mapping);
	if (is_huge(path) || !strncmp(path, "[vvar", 5) || !strcmp(path, "[vsyscall]"))
		return HSNAP_OK;
	if (mapping->start == kernel->memory->vdso_start)
		return add_vdso(look, kernel->memory) ? HSNAP_OK : no_memory(err);
	return add_by_pagemap(look, kernel->memory->pagemap, mapping->start, mapping->end, err);
}

/* What the copy holds of swapped pages was fetched by the copying itself: take it out. */
static bool take_out(struct hsnap_pages *pages, const struct hsnap_pages *gone)
{
	struct hsnap_pages kept = { 0 };
	size_t g = 0;
	bool room = true;
	for (size_t i = 0; room && i < pages->runs.num; i++) {
		uint64_t at = pages->runs.items[i].start, end = pages->runs.items[i].end;
		while (g < gone->runs.num && gone->runs.items[g].end <= at)
			g++;
		for (size_t k = g; room && k < gone->runs.num && gone->runs.items[k].start < end; k++) {
			if (gone->runs.items[k].start > at)
				room = hsnap_pages_add(&kept, at, gone->runs.items[k].start);
			at = gone->runs.items[k].end;
		}
		room = room && hsnap_pages_add(&kept, at, end);
	}
	hsnap_pages_deinit(pages);
	*pages = kept;
	return room;
}

enum hsnap_code hsnap_account_look(const struct hsnap_proc *proc, const struct hsnap_target *target,
				   const struct hsnap_kernel *kernel, struct hsnap_account_look *ret,
				   struct hsnap_error *err)
{
	const struct hsnap_kernel_memory *memory = kernel->memory;
	*ret = (struct hsnap_account_look){
		.files_known = true, .cgroup = { HSNAP_NOT_KNOWN, HSNAP_NOT_KNOWN, HSNAP_NOT_KNOWN },
	};
	if (proc)
		ret->cgroup = hsnap_proc_cgroup(proc, (pid_t)target->pid);
	for (size_t i = 0; i < target->mappings.num; i++) {
		enum hsnap_code code = look_at(ret, target, kernel, &target->mappings.items[i], err);
		if (code)
			return code;
	}
	for (size_t i = 0; memory && i < memory->num_swapped; i++)
		if (!hsnap_pages_add(&ret->swapped, memory->swapped[i].start, memory->swapped[i].end))
			return no_memory(err);
	if (ret->swapped.runs.num && !take_out(&ret->resident, &ret->swapped))
		return no_memory(err);
	return HSNAP_OK;
}

void hsnap_account_look_deinit(struct hsnap_account_look *look)
{
	hsnap_pages_deinit(&look->resident);
	hsnap_pages_deinit(&look->swapped);
}
