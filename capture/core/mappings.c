/* SPDX-License-Identifier: MIT */
/*
 * mappings.c - segments and mapped files, laid side by side: what /proc/PID/maps told.
 *
 * The kernel writes a segment for each mapping, gcore none where nothing is dumped.  What only the
 * list of files knows becomes a mapping that may be read and run: which of the two is not told.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/core/image.h"
#include "snapshot/base/search.h"

#define MAX_BRK_GAP ((uint64_t)1 << 30) /* the kernel puts the heap at random behind the program */

struct making {
	struct hsnap_core_image *core;
	hsnap_string none;
	bool no_memory;
};

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The first range that ends after the address, or NULL. */
static const struct hsnap_core_range *range_after(const struct hsnap_core_image *core, uint64_t address)
{
	size_t low = hsnap_first(core->ranges.num, i, address < core->ranges.items[i].end);
	return low < core->ranges.num ? &core->ranges.items[low] : NULL;
}

static void add(struct making *making, uint64_t start, uint64_t end, uint8_t prot, const struct hsnap_core_range *range)
{
	struct hsnap_core_image *core = making->core;
	struct hsnap_mapping mapping = { .start = start, .end = end, .prot = prot, .path = making->none };
	if (range) {
		struct hsnap_core_file *file = &core->files.items[range->file];
		file->dumped |= hsnap_core_segment_at(core, start) != NULL;
		file->code |= prot & HSNAP_PROT_EXEC;
		mapping.offset = range->offset + (start - range->start);
		mapping.inode = range->file;
		mapping.path = file->path;
		mapping.deleted = file->deleted;
	}
	if (!hsnap_vec_push(&core->target->mappings, mapping))
		making->no_memory = true;
}

/* A segment, cut where a file begins or ends in it. */
static void add_segment(struct making *making, const struct hsnap_core_segment *segment)
{
	for (uint64_t at = segment->start, end; at < segment->end; at = end) {
		const struct hsnap_core_range *range = range_after(making->core, at);
		bool inside = range && range->start <= at;
		end = range ? min(inside ? range->end : range->start, segment->end) : segment->end;
		add(making, at, end, segment->prot, inside ? range : NULL);
	}
}

/* What no segment holds of a range; `next` is the first segment that may. */
static void add_rest(struct making *making, const struct hsnap_core_range *range, size_t *next)
{
	size_t before = making->core->target->mappings.num;
	const struct hsnap_core_image *core = making->core;
	uint64_t at = range->start;
	while (*next < core->segments.num && core->segments.items[*next].end <= at)
		++*next;
	for (size_t i = *next; i < core->segments.num && core->segments.items[i].start < range->end; i++) {
		if (at < core->segments.items[i].start)
			add(making, at, core->segments.items[i].start, HSNAP_PROT_READ | HSNAP_PROT_EXEC, range);
		at = core->segments.items[i].end;
	}
	if (at < range->end)
		add(making, at, range->end, HSNAP_PROT_READ | HSNAP_PROT_EXEC, range);
	making->core->gaps |= making->core->target->mappings.num > before;
}

static int by_start(const void *a, const void *b)
{
	const struct hsnap_mapping *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static bool name_mapping(struct hsnap_core_image *core, uint64_t address, const char *name)
{
	const struct hsnap_mapping *mapping = hsnap_target_mapping(core->target, address);
	if (!mapping || mapping->inode)
		return true;
	hsnap_string path = hsnap_strings_add(&core->target->strings, name);
	core->target->mappings.items[mapping - core->target->mappings.items].path = path;
	return path != HSNAP_NO_STRING;
}

/* The memory that brk() gave: the first of nobody's behind the program. */
static bool name_heap(struct hsnap_core_image *core)
{
	uint64_t end = 0;
	for (size_t i = 0; i < core->target->mappings.num; i++) {
		struct hsnap_mapping *mapping = &core->target->mappings.items[i];
		if (core->exe && mapping->inode == core->exe) {
			end = mapping->end;
			continue;
		}
		if (!end || mapping->start == end) /* .bss follows the file without a gap */
			continue;
		if (mapping->inode || mapping->path || mapping->start - end > MAX_BRK_GAP ||
		    mapping->prot != (HSNAP_PROT_READ | HSNAP_PROT_WRITE))
			break;
		mapping->path = hsnap_strings_add(&core->target->strings, "[heap]");
		return mapping->path != HSNAP_NO_STRING;
	}
	return true;
}

enum hsnap_code hsnap_core_make_mappings(struct hsnap_core_image *core, struct hsnap_error *err)
{
	struct hsnap_target *target = core->target;
	struct making making = { .core = core, .none = hsnap_strings_add(&target->strings, "") };
	size_t next = 0;
	for (size_t i = 0; i < core->segments.num; i++)
		add_segment(&making, &core->segments.items[i]);
	for (size_t i = 0; i < core->ranges.num; i++)
		add_rest(&making, &core->ranges.items[i], &next);
	if (making.none == HSNAP_NO_STRING || making.no_memory)
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the mappings");
	if (target->mappings.num)
		qsort(target->mappings.items, target->mappings.num, sizeof(*target->mappings.items), by_start);
	const struct hsnap_mapping *program = hsnap_target_mapping(target, core->headers_address);
	if (!program || !program->inode)
		program = NULL;
	for (size_t i = 0; !program && i < target->mappings.num; i++)
		program = target->mappings.items[i].inode ? &target->mappings.items[i] : NULL;
	core->exe = program ? (uint32_t)program->inode : 0;
	uint64_t sp = target->threads.num ? target->threads.items[0].regs.value[HSNAP_REG_SP] : 0;
	if (!name_mapping(core, core->vdso, "[vdso]") || !name_mapping(core, sp, "[stack]") || !name_heap(core))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the mappings");
	return HSNAP_OK;
}
