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

bool hsnap_glibc_extents(struct walk *walk)
{
	const struct hsnap_target *target = walk->target;
	size_t num = target->mappings.num;
	walk->extents = malloc((num + 1) * sizeof(*walk->extents));
	if (!walk->extents)
		return false;
	for (size_t i = num; i-- > 0;) {
		const struct hsnap_mapping *mapping = &target->mappings.items[i], *next = mapping + 1;
		const struct extent *on = &walk->extents[i + 1];
		bool follows = i + 1 < num && next->start == mapping->end;
		walk->extents[i] = (struct extent){ .private = mapping->end };
		if (mapping->prot & HSNAP_PROT_READ)
			walk->extents[i].readable = follows && on->readable ? on->readable : mapping->end;
		if (follows && hsnap_glibc_private_from(target, next) == next->start)
			walk->extents[i].private = on->private;
	}
	return true;
}

bool hsnap_glibc_is_private(const struct walk *walk, uint64_t start, uint64_t end)
{
	const struct hsnap_mapping *mapping = hsnap_target_mapping(walk->target, start);
	return mapping && hsnap_glibc_private_from(walk->target, mapping) <= start &&
	       end <= walk->extents[mapping - walk->target->mappings.items].private;
}

uint64_t hsnap_glibc_mapped_end(const struct walk *walk, uint64_t start, uint64_t limit)
{
	const struct hsnap_mapping *mapping = hsnap_target_mapping(walk->target, start);
	uint64_t reached = mapping ? walk->extents[mapping - walk->target->mappings.items].readable : 0;
	reached = reached > start ? reached : start;
	return reached < limit ? reached : limit;
}
