/* SPDX-License-Identifier: MIT */
/* private.c - memory that an allocator may have got from the system. */
#include <string.h>

#include "capture/alloc/glibc/walk.h"

static bool is_anonymous(const struct hsnap_target *target, const struct hsnap_mapping *mapping)
{
	const char *path = hsnap_str(&target->strings, mapping->path);
	if (!strncmp(path, "/anon_hugepage", 14)) /* MAP_HUGETLB: a file of the kernel's own */
		return true;
	return !mapping->inode && (!*path || !strcmp(path, "[heap]") || !strncmp(path, "[anon:", 6));
}

/* The kernel makes one mapping of a module's .bss and what was mapped right behind it. */
static uint64_t module_end(const struct hsnap_target *target, const struct hsnap_mapping *mapping)
{
	if (!mapping->module || mapping->module >= target->modules.num)
		return mapping->start;
	return (target->modules.items[mapping->module].end + PAGE - 1) & ~(PAGE - 1);
}

uint64_t hsnap_glibc_private_from(const struct hsnap_target *target, const struct hsnap_mapping *mapping)
{
	if (!(mapping->prot & HSNAP_PROT_WRITE) || mapping->prot & HSNAP_PROT_SHARED || !is_anonymous(target, mapping))
		return mapping->end;
	uint64_t from = module_end(target, mapping);
	return from < mapping->start ? mapping->start : from < mapping->end ? from : mapping->end;
}

bool hsnap_glibc_is_private(const struct hsnap_target *target, uint64_t start, uint64_t end)
{
	while (start < end) {
		const struct hsnap_mapping *mapping = hsnap_target_mapping(target, start);
		if (!mapping || hsnap_glibc_private_from(target, mapping) > start)
			return false;
		start = mapping->end;
	}
	return true;
}

uint64_t hsnap_glibc_mapped_end(const struct hsnap_target *target, uint64_t start, uint64_t limit)
{
	const struct hsnap_mapping *mapping = hsnap_target_mapping(target, start);
	const struct hsnap_mapping *end = target->mappings.items + target->mappings.num;
	uint64_t reached = start;
	for (; mapping && mapping < end && reached < limit && mapping->start <= reached && mapping->prot & HSNAP_PROT_READ; mapping++)
		reached = mapping->end;
	return reached < limit ? reached : limit;
}
