/* SPDX-License-Identifier: MIT */
/* parts.c - stacks, modules, files, shared memory, and private memory that nobody explains. */
#include "capture/account/parts.h"

#include <string.h>

#include "capture/target/threads.h"
#include "snapshot/base/cleanup.h"

#define PAGE ((uint64_t)4096)
#define MAX_NAMED 64                       /* parts of a kind that are listed by name */
#define MAX_STACK ((uint64_t)256 << 20)    /* a greater mapping is memory that a program hands out stacks from */

struct parts {
	const struct hsnap_target *target;
	const struct hsnap_heap *heap;
	const struct hsnap_account_look *look;
	struct hsnap_snapshot *snapshot;
	struct hsnap_thread_places threads; /* by stack pointer */
	size_t region, own; /* the first ones that may reach into the mapping being looked at */
	size_t hint;
	uint64_t sum_size, sum_resident;
};

/* A part as it is gathered: its name belongs to the target. */
struct part {
	uint8_t kind;
	const char *name;
	uint64_t count, size, resident;
};
struct found_parts hsnap_vec_body(struct part);

/* Resident bytes of [start, end) that lie in the ranges, which are in order and disjoint. */
static uint64_t resident_in(struct parts *parts, const struct hsnap_region *ranges, size_t num, size_t *first,
			    uint64_t start, uint64_t end, uint64_t *ret_size)
{
	uint64_t resident = 0;
	*ret_size = 0;
	while (*first < num && ranges[*first].end <= start)
		++*first;
	for (size_t i = *first; i < num && ranges[i].start < end; i++) {
		uint64_t from = ranges[i].start > start ? ranges[i].start : start;
		uint64_t to = ranges[i].end < end ? ranges[i].end : end;
		if (from >= to)
			continue;
		*ret_size += to - from;
		resident += hsnap_pages_in(&parts->look->resident, from, to, NULL);
	}
	return resident;
}

/* The first of the threads whose stack pointer leads into the mapping, or NULL. */
static const struct hsnap_thread *thread_on(const struct parts *parts, const struct hsnap_mapping *mapping)
{
	const struct hsnap_thread_places *places = &parts->threads;
	uint32_t first = UINT32_MAX;
	for (size_t i = hsnap_threads_from(places, mapping->start); i < places->num && places->items[i].at < mapping->end; i++)
		first = places->items[i].thread < first ? places->items[i].thread : first;
	return first == UINT32_MAX ? NULL : &parts->target->threads.items[first];
}

static bool is_stack(const char *path)
{
	return !strncmp(path, "[stack", 6);
}

/* What a mapping is, but for the allocator's share of it. */
static struct part describe(const struct parts *parts, const struct hsnap_mapping *mapping)
{
	const struct hsnap_target *target = parts->target;
	const char *path = hsnap_str(&target->strings, mapping->path);
	struct part part = { .kind = HSNAP_PART_ANONYMOUS, .name = path, .count = 1 };
	const struct hsnap_thread *thread = NULL;
	if (mapping->module) {
		part.kind = HSNAP_PART_MODULE;
		part.name = hsnap_str(&target->strings, target->modules.items[mapping->module].path);
	} else if (mapping->prot & HSNAP_PROT_SHARED && mapping->prot & HSNAP_PROT_WRITE) {
		part.kind = HSNAP_PART_SHARED;
	} else if (mapping->inode) {
		part.kind = HSNAP_PART_FILE;
	} else if (is_stack(path) || (mapping->end - mapping->start <= MAX_STACK && mapping->prot & HSNAP_PROT_WRITE &&
				      (thread = thread_on(parts, mapping)))) {
		part.kind = HSNAP_PART_STACK;
		part.name = thread && thread->name[0] ? thread->name : path;
	}
	return part;
}

/* The bytes of a mapping that are the module's: .bss may go on as the heap without a gap. */
static uint64_t end_of(const struct parts *parts, const struct hsnap_mapping *mapping)
{
	if (!mapping->module || mapping->inode)
		return mapping->end;
	uint64_t end = (parts->target->modules.items[mapping->module].end + PAGE - 1) & ~(PAGE - 1);
	return end > mapping->start && end < mapping->end ? end : mapping->end;
}

static bool add_span(struct parts *parts, struct found_parts *found, struct part part, uint64_t start, uint64_t end,
		     bool private)
{
	uint64_t heap_size = 0, own_size = 0, heap = 0, own = 0;
	if (start >= end)
		return true;
	part.size = end - start;
	part.resident = hsnap_pages_in(&parts->look->resident, start, end, &parts->hint);
	if (private) {
		heap = resident_in(parts, parts->heap->regions.items, parts->heap->regions.num, &parts->region, start, end,
				   &heap_size);
		own = resident_in(parts, parts->heap->own.items, parts->heap->own.num, &parts->own, start, end, &own_size);
	}
	/* The agent's own mappings are among the regions. */
	own = own < heap ? own : heap;
	own_size = own_size < heap_size ? own_size : heap_size;
	part.size -= heap_size;
	part.resident -= heap;
	parts->snapshot->account.heap_resident += heap - own;
	struct part agent = { .kind = HSNAP_PART_AGENT, .name = "", .count = 1, .size = own_size, .resident = own };
	return (!own_size || hsnap_vec_push(found, agent)) && (!part.size || hsnap_vec_push(found, part));
}

/* The kernel's own pages, which every process sees and nobody is charged for. */
static bool is_kernels(const char *path)
{
	return !strncmp(path, "[vvar", 5) || !strcmp(path, "[vsyscall]");
}

static bool add_mapping(struct parts *parts, struct found_parts *found, const struct hsnap_mapping *mapping)
{
	struct part part = describe(parts, mapping);
	if (is_kernels(part.name))
		return true;
	uint64_t end = end_of(parts, mapping);
	/* A pool that the program names may lie in its variables: those that a file begins, too. */
	if (!add_span(parts, found, part, mapping->start, end, !mapping->inode || !(mapping->prot & HSNAP_PROT_SHARED)))
		return false;
	struct part rest = { .kind = HSNAP_PART_ANONYMOUS, .name = "", .count = 1 };
	return add_span(parts, found, rest, end, mapping->end, true);
}

static int by_name(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	return x->kind != y->kind ? x->kind - y->kind : strcmp(x->name, y->name);
}

static int by_size(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	if (x->kind != y->kind)
		return x->kind - y->kind;
	if (x->resident != y->resident)
		return x->resident < y->resident ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void join(struct part *to, const struct part *part)
{
	to->count += part->count;
	to->size += part->size;
	to->resident += part->resident;
}

/* One a name; by kind, greatest first; what is beyond the greatest of a kind is its rest. */
static void put_in_order(struct found_parts *found)
{
	size_t kept = 0, in_kind = 0;
	if (!found->num)
		return;
	qsort(found->items, found->num, sizeof(*found->items), by_name);
	for (size_t i = 1; i < found->num; i++) {
		if (by_name(&found->items[kept], &found->items[i]))
			found->items[++kept] = found->items[i];
		else
			join(&found->items[kept], &found->items[i]);
	}
	found->num = kept + 1;
	qsort(found->items, found->num, sizeof(*found->items), by_size);
	kept = 0;
	for (size_t i = 0; i < found->num; i++) {
		struct part part = found->items[i];
		in_kind = kept && found->items[kept - 1].kind == part.kind ? in_kind + 1 : 1;
		if (in_kind == MAX_NAMED)
			part.name = "";
		if (in_kind > MAX_NAMED)
			join(&found->items[kept - 1], &part);
		else
			found->items[kept++] = part;
	}
	found->num = kept;
}

/* A core says of its mappings what it likes: in sum they stay what an account can hold. */
static void limit(uint64_t *size, uint64_t *sum)
{
	if (*size > HSNAP_ACCOUNT_MAX - *sum)
		*size = HSNAP_ACCOUNT_MAX - *sum;
	*sum += *size;
}

static bool keep(struct parts *parts, struct part *part)
{
	struct hsnap_snapshot *snapshot = parts->snapshot;
	limit(&part->size, &parts->sum_size);
	limit(&part->resident, &parts->sum_resident);
	struct hsnap_account_part kept = {
		.kind = part->kind, .name = hsnap_strings_add(&snapshot->strings, part->name), .count = part->count,
		.size = part->size, .resident = part->resident,
	};
	return kept.name != HSNAP_NO_STRING && hsnap_vec_push(&snapshot->account_parts, kept);
}

bool hsnap_account_parts(const struct hsnap_target *target, const struct hsnap_heap *heap,
			 const struct hsnap_account_look *look, struct hsnap_snapshot *snapshot)
{
	struct parts parts = { .target = target, .heap = heap, .look = look, .snapshot = snapshot };
	struct found_parts found = { 0 };
	bool room = hsnap_threads_by_stack(target, &parts.threads);
	for (size_t i = 0; room && i < target->mappings.num; i++)
		room = add_mapping(&parts, &found, &target->mappings.items[i]);
	put_in_order(&found);
	for (size_t i = 0; room && i < found.num; i++)
		room = !found.items[i].size || keep(&parts, &found.items[i]);
	hsnap_vec_deinit(&found);
	hsnap_vec_deinit(&parts.threads);
	return room;
}
