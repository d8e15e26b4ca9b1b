/* SPDX-License-Identifier: MIT */
/* modules.c - data of modules, and the memory that the loader keeps for itself. */
#include "capture/roots/finder.h"
#include "snapshot/base/cleanup.h"

#define PAGE_MASK (~(uint64_t)4095)
#define MAX_LINK_MAPS 4096u

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

/* What nobody has explained yet of a mapping is the loader's. */
static void add_unknown(struct hsnap_root_finder *finder, const struct hsnap_mapping *mapping)
{
	struct hsnap_root_place place = { .kind = HSNAP_ROOT_OTHER, .name = "dynamic loader" };
	struct hsnap_spans gaps = { 0 };
	uint64_t gap_end;
	hsnap_spans_sort(&finder->known);
	for (uint64_t at = mapping->start; hsnap_spans_gap(&finder->known, &at, mapping->end, &gap_end); at = gap_end)
		if (!hsnap_spans_add(&gaps, at, gap_end))
			finder->no_memory = true;
	for (size_t i = 0; i < gaps.num; i++)
		hsnap_roots_add_outside(finder, gaps.items[i].start, gaps.items[i].end, &place);
	hsnap_vec_deinit(&gaps);
}

/*
 * The loader's own small allocator takes anonymous pages: its list of modules is there, and with it
 * everything that belongs to a library loaded at the start.
 */
void hsnap_roots_of_loader(struct hsnap_root_finder *finder)
{
	hsnap_auto(hsnap_freep) uint64_t *maps = malloc(MAX_LINK_MAPS * sizeof(*maps));
	uint32_t num = maps ? hsnap_glibc_link_maps(finder->target, maps, MAX_LINK_MAPS) : 0;
	uint64_t last = 0;
	/* The main thread's storage comes from there too, and with it the table of its thread-locals. */
	const struct hsnap_mapping *main = finder->target->threads.num
		? hsnap_target_mapping(finder->target, finder->target->threads.items[0].thread_pointer) : NULL;
	if (main && !main->path && !main->inode && main->prot & HSNAP_PROT_WRITE)
		add_unknown(finder, main);
	for (uint32_t i = 0; i < num; i++) {
		const struct hsnap_mapping *mapping = hsnap_target_mapping(finder->target, maps[i]);
		uint64_t at = maps[i], gap_end;
		if (!mapping || mapping->start == last || mapping->module || mapping->inode ||
		    !(mapping->prot & HSNAP_PROT_WRITE) ||
		    !hsnap_spans_gap(&finder->regions, &at, maps[i] + 1, &gap_end))
			continue;
		last = mapping->start;
		add_unknown(finder, mapping);
	}
}
