/* SPDX-License-Identifier: MIT */
/* modules.c - data of modules, and the memory that the loader keeps for itself. */
#include "capture/roots/finder.h"
#include "snapshot/base/cleanup.h"

#define PAGE_MASK (~(uint64_t)4095)
#define MAX_LINK_MAPS 4096u
#define LOADER_TAIL ((uint64_t)3 * 4096) /* of the pages after the last thing known */

/*
 * Everything of a module that was written to: data and .bss, and also what is read-only again by
 * now (relro).  Of a mapping that cannot be written to only the pages of the copy are looked at.
 */
void hsnap_roots_of_modules(struct hsnap_root_finder *finder)
{
	const struct hsnap_target *target = finder->target;
	uint32_t searched = 0;
	for (size_t i = 0; i < target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &target->mappings.items[i];
		if (!mapping->module || mapping->module >= target->modules.num || mapping->prot & HSNAP_PROT_EXEC ||
		    !(mapping->prot & HSNAP_PROT_READ))
			continue;
		const struct hsnap_target_module *module = &target->modules.items[mapping->module];
		if (module->vdso)
			continue;
		/* The heap may continue .bss in one mapping; what is past the module is not its data. */
		uint64_t end = (module->end + ~PAGE_MASK) & PAGE_MASK;
		if (end > mapping->end)
			end = mapping->end;
		struct hsnap_root_place place = { .kind = HSNAP_ROOT_STATIC, .module = mapping->module };
		hsnap_roots_add_outside(finder, mapping->start, end, &place);
	}
	for (uint32_t i = 1; i < target->modules.num; i++)
		searched += !target->modules.items[i].vdso;
	finder->roots->searched_modules = searched;
}

/* Pages from the first to the last known thing of the loader's in one mapping. */
struct loader_pages {
	const struct hsnap_mapping *mapping;
	uint64_t first, last;
};

struct loader hsnap_vec_body(struct loader_pages);

static void note_address(struct hsnap_root_finder *finder, struct loader *loader, uint64_t address)
{
	const struct hsnap_mapping *mapping = hsnap_target_mapping(finder->target, address);
	uint64_t at = address, gap_end;
	if (!mapping || mapping->module || mapping->inode || !(mapping->prot & HSNAP_PROT_WRITE) ||
	    !hsnap_spans_gap(&finder->regions, &at, address + 1, &gap_end))
		return;
	for (size_t i = 0; i < loader->num; i++) {
		struct loader_pages *pages = &loader->items[i];
		if (pages->mapping != mapping)
			continue;
		if (address < pages->first)
			pages->first = address;
		if (address > pages->last)
			pages->last = address;
		return;
	}
	if (!hsnap_vec_push(loader, (struct loader_pages){ mapping, address, address }))
		finder->no_memory = true;
}

/* What nobody has explained yet of these pages; what is known is in order. */
static void list_gaps(struct hsnap_root_finder *finder, const struct loader_pages *pages, struct hsnap_spans *gaps)
{
	uint64_t end = (pages->last & PAGE_MASK) + LOADER_TAIL, gap_end;
	if (end > pages->mapping->end)
		end = pages->mapping->end;
	for (uint64_t at = pages->first & PAGE_MASK; hsnap_spans_gap(&finder->known, &at, end, &gap_end); at = gap_end)
		if (!hsnap_spans_add(gaps, at, gap_end))
			finder->no_memory = true;
}

/*
 * The loader's own small allocator takes a few anonymous pages: its list of modules is there, the
 * main thread's storage and table of thread-locals, and what belongs to libraries loaded at the
 * start.  The program's own mappings can follow without a gap, before them as a rule: so the pages
 * are taken from the first thing known to a little after the last.
 */
void hsnap_roots_of_loader(struct hsnap_root_finder *finder)
{
	const struct hsnap_target *target = finder->target;
	hsnap_auto(hsnap_freep) uint64_t *maps = malloc(MAX_LINK_MAPS * sizeof(*maps));
	uint32_t num = maps ? hsnap_glibc_link_maps(target, maps, MAX_LINK_MAPS) : 0;
	struct hsnap_root_place place = { .kind = HSNAP_ROOT_OTHER, .name = "dynamic loader" };
	struct loader loader = { 0 };
	struct hsnap_spans gaps = { 0 };
	for (uint32_t i = 0; i < num; i++)
		note_address(finder, &loader, maps[i]);
	uint64_t pointer = target->threads.num ? target->threads.items[0].thread_pointer : 0, table;
	if (pointer && num) {
		note_address(finder, &loader, pointer - finder->glibc.static_tls);
		note_address(finder, &loader, pointer);
		if (hsnap_target_word(target, pointer + 8, &table))
			note_address(finder, &loader, table);
	}
	hsnap_spans_sort(&finder->known);
	for (size_t i = 0; i < loader.num; i++)
		list_gaps(finder, &loader.items[i], &gaps);
	for (size_t i = 0; i < gaps.num; i++)
		hsnap_roots_add_outside(finder, gaps.items[i].start, gaps.items[i].end, &place);
	hsnap_vec_deinit(&gaps);
	hsnap_vec_deinit(&loader);
}
