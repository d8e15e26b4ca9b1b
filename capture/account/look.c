/* SPDX-License-Identifier: MIT */
/* look.c - which pages of a process were resident when it was held still. */
#include <string.h>

#include "capture/account/account.h"
#include "snapshot/base/cleanup.h"

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

/* Pages of hugetlbfs are no part of a resident size.  Where it is mounted elsewhere, or is behind SysV
 * shared memory, what is counted too much makes the unexplained negative. */
static bool is_huge(const char *path)
{
	return !strncmp(path, "/anon_hugepage", 14) || !strncmp(path, "/dev/hugepages", 14);
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

static bool add_vdso(struct hsnap_account_look *look, const struct hsnap_kernel_memory *memory)
{
	for (uint64_t bits = memory->vdso_present; bits; bits &= bits - 1) {
		uint64_t start = memory->vdso_start + PAGE * (unsigned)__builtin_ctzll(bits);
		if (!hsnap_pages_add(&look->resident, start, start + PAGE))
			return false;
	}
	return true;
}

/* By which way the pages of a mapping are found. */
enum way { NONE, COPIED, VDSO, LISTED };

static enum way way_of(const struct hsnap_target *target, const struct hsnap_kernel *kernel,
		       const struct hsnap_mapping *mapping)
{
	const char *path = path_of(target, mapping);
	if (mapping->inode && is_huge(path))
		return NONE;
	if (!kernel->memory || is_copied(target, mapping))
		return COPIED;
	if (!strncmp(path, "[vvar", 5) || !strcmp(path, "[vsyscall]"))
		return NONE;
	return mapping->start == kernel->memory->vdso_start ? VDSO : LISTED;
}

/* Pages that the page map lists by now, while the process runs again. */
static enum hsnap_pages_found list_pages(const struct hsnap_target *target, const struct hsnap_kernel *kernel,
					 struct hsnap_page_ranges *to)
{
	for (size_t i = 0; i < target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &target->mappings.items[i];
		if (way_of(target, kernel, mapping) != LISTED)
			continue;
		enum hsnap_pages_found found = hsnap_pagemap_present(kernel->memory->pagemap, mapping->start, mapping->end, to);
		if (found != HSNAP_PAGES_LISTED)
			return found;
	}
	return HSNAP_PAGES_LISTED;
}

static bool is_same(const struct hsnap_mapping *mapping, const struct hsnap_maps_line *line)
{
	return mapping->inode == line->inode && mapping->device == line->device && mapping->prot == line->prot;
}

/* Addresses where what was mapped at the stop still is: an arena that has grown since into what was
 * reserved for it has pages there which it had not. */
static bool find_unchanged(const struct hsnap_proc *proc, const struct hsnap_target *target, struct hsnap_pages *to)
{
	hsnap_auto(hsnap_freep) char *maps = proc ? hsnap_proc_read(proc, "proc/%d/maps", (pid_t)target->pid) : NULL;
	if (!maps || !*maps)
		return hsnap_pages_add(to, 0, UINT64_MAX);
	size_t i = 0;
	const char *at = maps;
	for (struct hsnap_maps_line line; hsnap_maps_next(&at, &line);) {
		while (i < target->mappings.num && target->mappings.items[i].end <= line.start)
			i++;
		for (size_t k = i; k < target->mappings.num && target->mappings.items[k].start < line.end; k++) {
			const struct hsnap_mapping *mapping = &target->mappings.items[k];
			uint64_t start = mapping->start > line.start ? mapping->start : line.start;
			uint64_t end = mapping->end < line.end ? mapping->end : line.end;
			if (is_same(mapping, &line) && !hsnap_pages_add(to, start, end))
				return false;
		}
	}
	return true;
}

/* What of the ranges lies in [from, to) and was there at the stop. */
static bool add_listed(struct hsnap_account_look *look, const struct hsnap_page_ranges *ranges, size_t *next,
		       const struct hsnap_pages *unchanged, uint64_t from, uint64_t to)
{
	while (*next < ranges->num && ranges->items[*next].end <= from)
		++*next;
	size_t run = 0;
	for (size_t i = *next; i < ranges->num && ranges->items[i].start < to; i++) {
		uint64_t start = ranges->items[i].start > from ? ranges->items[i].start : from;
		uint64_t end = ranges->items[i].end < to ? ranges->items[i].end : to;
		for (run = hsnap_pages_find(unchanged, start); run < unchanged->runs.num; run++) {
			const struct hsnap_pages_run *same = &unchanged->runs.items[run];
			if (same->start >= end)
				break;
			if (!hsnap_pages_add(&look->resident, same->start > start ? same->start : start,
					     same->end < end ? same->end : end))
				return false;
		}
	}
	return true;
}

static bool add_all(struct hsnap_account_look *look, const struct hsnap_target *target, const struct hsnap_kernel *kernel,
		    const struct hsnap_page_ranges *ranges, const struct hsnap_pages *unchanged)
{
	size_t next = 0;
	bool room = true;
	for (size_t i = 0; room && i < target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &target->mappings.items[i];
		enum way way = way_of(target, kernel, mapping);
		if (way == LISTED && look->files_known)
			room = add_listed(look, ranges, &next, unchanged, mapping->start, mapping->end);
		else if (way == VDSO)
			room = add_vdso(look, kernel->memory);
		else if (way != NONE) /* of files that which was written to; the rest is in one sum */
			room = add_copied(look, target, mapping->start, mapping->end);
	}
	return room;
}

static bool look_at_mappings(struct hsnap_account_look *look, const struct hsnap_proc *proc,
			     const struct hsnap_target *target, const struct hsnap_kernel *kernel)
{
	struct hsnap_page_ranges ranges = { 0 };
	struct hsnap_pages unchanged = { 0 };
	enum hsnap_pages_found found = list_pages(target, kernel, &ranges);
	look->files_known = found == HSNAP_PAGES_LISTED;
	bool room = found != HSNAP_PAGES_NO_MEMORY && find_unchanged(proc, target, &unchanged) &&
		    add_all(look, target, kernel, &ranges, &unchanged);
	hsnap_vec_deinit(&ranges);
	hsnap_pages_deinit(&unchanged);
	return room;
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
		.cgroup = { HSNAP_NOT_KNOWN, HSNAP_NOT_KNOWN, HSNAP_NOT_KNOWN },
	};
	if (proc)
		ret->cgroup = hsnap_proc_cgroup(proc, (pid_t)target->pid);
	if (!look_at_mappings(ret, proc, target, kernel))
		return no_memory(err);
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
