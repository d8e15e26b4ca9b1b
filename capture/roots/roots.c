/* SPDX-License-Identifier: MIT */
/* roots.c - putting all kinds of roots together; what is left is kind mapping. */
#include "capture/roots/roots.h"

#include <string.h>

#include "capture/roots/finder.h"
#include "snapshot/base/cleanup.h"

#define SMALL_GAP ((uint64_t)65536) /* runs of copied pages this near make one area */

void hsnap_roots_deinit(struct hsnap_roots *roots)
{
	hsnap_strings_deinit(&roots->strings);
	hsnap_vec_deinit(&roots->areas);
	hsnap_vec_deinit(&roots->values);
	hsnap_vec_deinit(&roots->frames);
	*roots = (struct hsnap_roots){ 0 };
}

static void push_area(struct hsnap_root_finder *finder, uint64_t start, uint64_t end,
		      const struct hsnap_root_place *place)
{
	struct hsnap_root_area area = {
		.kind = place->kind, .weak = place->kind == HSNAP_ROOT_MAPPING, .address = start,
		.size = end - start, .module = place->module, .thread = place->thread,
		.name = hsnap_strings_add(&finder->roots->strings, place->name ? place->name : ""),
	};
	if (area.name == HSNAP_NO_STRING || !hsnap_vec_push(&finder->roots->areas, area))
		finder->no_memory = true;
}

/* Memory that was never written to holds no pointer: an area spans copied runs alone. */
static void push_runs(struct hsnap_root_finder *finder, uint64_t start, uint64_t end,
		      const struct hsnap_root_place *place)
{
	uint64_t run_start, run_end, area_start = 0, area_end = 0;
	for (uint64_t at = start; at < end && hsnap_target_next_run(finder->target, at, &run_start, &run_end);
	     at = run_end) {
		if (run_start >= end)
			break;
		if (run_end > end)
			run_end = end;
		if (area_end && run_start - area_end > SMALL_GAP) {
			push_area(finder, area_start, area_end, place);
			area_end = 0;
		}
		if (!area_end)
			area_start = run_start;
		area_end = run_end;
	}
	if (area_end)
		push_area(finder, area_start, area_end, place);
}

void hsnap_roots_exclude(struct hsnap_root_finder *finder, uint64_t start, uint64_t end)
{
	if (!hsnap_spans_add(&finder->known, start, end))
		finder->no_memory = true;
}

void hsnap_roots_add(struct hsnap_root_finder *finder, uint64_t start, uint64_t end,
		     const struct hsnap_root_place *place)
{
	push_runs(finder, start, end, place);
	hsnap_roots_exclude(finder, start, end);
}

void hsnap_roots_add_outside(struct hsnap_root_finder *finder, uint64_t start, uint64_t end,
			     const struct hsnap_root_place *place)
{
	uint64_t gap_end;
	for (uint64_t at = start; hsnap_spans_gap(&finder->regions, &at, end, &gap_end); at = gap_end)
		push_runs(finder, at, gap_end, place);
	hsnap_roots_exclude(finder, start, end);
}

static void name_mapping(const struct hsnap_target *target, const struct hsnap_mapping *mapping, char *name,
			 size_t size)
{
	const char *path = hsnap_str(&target->strings, mapping->path);
	const char *slash = strrchr(path, '/');
	uint64_t bytes = mapping->end - mapping->start;
	int len = bytes >= (uint64_t)1 << 20 ? snprintf(name, size, "mapping of %lu MiB", bytes >> 20)
					     : snprintf(name, size, "mapping of %lu KiB", bytes >> 10);
	if (path[0] && len > 0 && (size_t)len < size)
		snprintf(name + len, size - (size_t)len, " (%.60s)", slash ? slash + 1 : path);
}

/* Own pools, fibre and signal stacks, shared memory: whatever nobody has explained so far. */
static void add_mappings(struct hsnap_root_finder *finder)
{
	struct hsnap_spans *known = &finder->known;
	for (size_t i = 0; i < finder->regions.num; i++)
		hsnap_roots_exclude(finder, finder->regions.items[i].start, finder->regions.items[i].end);
	hsnap_spans_sort(known);
	for (size_t i = 0; i < finder->target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &finder->target->mappings.items[i];
		if (!(mapping->prot & HSNAP_PROT_READ) || !(mapping->prot & HSNAP_PROT_WRITE))
			continue;
		char name[128];
		name_mapping(finder->target, mapping, name, sizeof(name));
		struct hsnap_root_place place = { .kind = HSNAP_ROOT_MAPPING, .name = name };
		uint64_t gap_end;
		for (uint64_t at = mapping->start; hsnap_spans_gap(known, &at, mapping->end, &gap_end); at = gap_end)
			push_runs(finder, at, gap_end, &place);
	}
}

struct kernel_value {
	uint64_t value, id;
	int number;
	uint8_t kind;
};

struct kernel_values hsnap_vec_body(struct kernel_value);

static void collect_values(struct hsnap_root_finder *finder, const struct hsnap_kernel_list *list, const char *text,
			   struct kernel_values *values)
{
	struct kernel_value value = { .number = list->number, .kind = list->kind };
	while (hsnap_kernel_next(list->kind, &text, &value.id, &value.value))
		if (hsnap_heap_find(finder->heap, value.value) != SIZE_MAX && !hsnap_vec_push(values, value))
			finder->no_memory = true;
}

static int by_value(const void *a, const void *b)
{
	const struct kernel_value *x = a, *y = b;
	return x->value < y->value ? -1 : x->value > y->value;
}

/* Once a block: an event list read before and in the stop shows most of it twice. */
static void add_kernel(struct hsnap_root_finder *finder, const struct hsnap_kernel *kernel)
{
	struct kernel_values values = { 0 };
	for (size_t i = 0; i < kernel->lists.num; i++) {
		collect_values(finder, &kernel->lists.items[i], kernel->lists.items[i].text, &values);
		collect_values(finder, &kernel->lists.items[i], kernel->lists.items[i].before, &values);
	}
	if (values.num)
		qsort(values.items, values.num, sizeof(*values.items), by_value);
	for (size_t i = 0; i < values.num; i++) {
		const struct kernel_value *value = &values.items[i];
		if (i && value[-1].value == value->value)
			continue;
		struct hsnap_root_value root = { .kind = HSNAP_ROOT_KERNEL, .value = value->value };
		root.name = value->kind == HSNAP_KERNEL_EPOLL
				    ? hsnap_strings_addf(&finder->roots->strings, "epoll %d (fd %lu)", value->number,
							 value->id)
				    : hsnap_strings_addf(&finder->roots->strings, "timer %lu", value->id);
		if (root.name == HSNAP_NO_STRING || !hsnap_vec_push(&finder->roots->values, root))
			finder->no_memory = true;
	}
	hsnap_vec_deinit(&values);
}

/* Whoever holds them: it is no leak of the program's. */
static void add_allocators(struct hsnap_root_finder *finder)
{
	for (size_t i = 0; i < finder->heap->blocks.num; i++) {
		const struct hsnap_block *block = &finder->heap->blocks.items[i];
		if (!(block->flags & HSNAP_BLOCK_INSIDE))
			continue;
		struct hsnap_root_value root = {
			.kind = HSNAP_ROOT_OTHER, .value = block->address,
			.name = hsnap_strings_add(&finder->roots->strings, "the allocator's own"),
		};
		if (root.name == HSNAP_NO_STRING || !hsnap_vec_push(&finder->roots->values, root))
			finder->no_memory = true;
	}
}

enum hsnap_code hsnap_roots_find(struct hsnap_target *target, const struct hsnap_kernel *kernel,
				 const struct hsnap_heap *heap, struct hsnap_roots *ret, struct hsnap_error *err)
{
	*ret = (struct hsnap_roots){ 0 };
	struct hsnap_root_finder finder = { .target = target, .heap = heap, .roots = ret };
	for (size_t i = 0; i < heap->regions.num; i++)
		if (!hsnap_spans_add(&finder.regions, heap->regions.items[i].start, heap->regions.items[i].end))
			finder.no_memory = true;
	hsnap_spans_sort(&finder.regions);
	hsnap_roots_of_program(&finder);
	hsnap_glibc_read(target, &finder.glibc);
	hsnap_roots_of_modules(&finder);
	hsnap_roots_of_threads(&finder);
	hsnap_roots_of_loader(&finder);
	hsnap_roots_of_pools(&finder);
	if (kernel)
		add_kernel(&finder, kernel);
	add_allocators(&finder);
	add_mappings(&finder);
	hsnap_vec_deinit(&finder.regions);
	hsnap_vec_deinit(&finder.known);
	return finder.no_memory ? hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the roots") : HSNAP_OK;
}
