/* SPDX-License-Identifier: MIT */
/* modules.c - which mappings are an ELF file that runs, and where its parts lie. */
#include <string.h>

#include "capture/target/elf_image.h"
#include "capture/target/live.h"

#define PAGE_MASK (~(uint64_t)4095)
#define MAX_MODULES 16384
#define MOST_NESTED 8 /* modules that a mapping lies within, on average */

struct image {
	const struct hsnap_target *target;
	uint64_t base;
};

static size_t read_image(void *context, uint64_t offset, void *to, size_t len)
{
	const struct image *image = context;
	return image->target->ops->read(image->target->self, image->base + offset, to, len);
}

/*
 * A file can be mapped just to be read (by a debugger, or by us): then its segments are not where
 * its headers want them.  Text that a program has moved to huge pages is anonymous, and fine.
 */
static bool is_loaded(const struct hsnap_target *target, const struct hsnap_mapping *first,
		      const struct hsnap_elf *elf, uint64_t bias)
{
	for (size_t i = 0; i < elf->num_segments; i++) {
		const Elf64_Phdr *load = &elf->segments[i];
		if (load->p_type != PT_LOAD || !load->p_filesz)
			continue;
		uint64_t address = (load->p_vaddr & PAGE_MASK) + bias;
		const struct hsnap_mapping *mapping = hsnap_target_mapping(target, address);
		if (!mapping || (load->p_flags & PF_X && !(mapping->prot & HSNAP_PROT_EXEC)))
			return false;
		if (mapping->inode && (mapping->inode != first->inode || mapping->device != first->device ||
				       mapping->offset + (address - mapping->start) != (load->p_offset & PAGE_MASK)))
			return false;
	}
	return true;
}

/* The address of a segment if it lies inside the module, else 0. */
static uint64_t place_of(const struct hsnap_target_module *module, const struct hsnap_elf *elf, uint32_t type,
			 uint64_t *size)
{
	const Elf64_Phdr *segment = hsnap_elf_segment(elf, type);
	if (!segment)
		return 0;
	uint64_t address = segment->p_vaddr + module->bias;
	if (address < module->start || address >= module->end || segment->p_memsz > module->end - address)
		return 0;
	*size = segment->p_memsz;
	return address;
}

/*
 * The executable's thread-locals stand nearest to the thread pointer, at an offset that the psABI
 * fixes.  Source: glibc 2.36 elf/dl-tls.c, _dl_determine_tlsoffset.
 */
static uint64_t first_tls_offset(const Elf64_Phdr *tls)
{
	uint64_t align = tls->p_align && !(tls->p_align & (tls->p_align - 1)) ? tls->p_align : 1;
	uint64_t first = -(tls->p_vaddr & (align - 1)) & (align - 1);
	if (tls->p_memsz < first)
		return 0;
	return ((tls->p_memsz - first + align - 1) & ~(align - 1)) + first;
}

static bool describe(const struct hsnap_target *target, const struct hsnap_mapping *first,
		     struct hsnap_target_module *ret)
{
	struct image image = { .target = target, .base = first->start };
	struct hsnap_elf elf;
	if (!hsnap_elf_read(read_image, &image, &elf) || (elf.type != ET_EXEC && elf.type != ET_DYN))
		return false;
	uint64_t bias = first->start - elf.first, end;
	if ((elf.type == ET_EXEC && bias) || __builtin_add_overflow(elf.end, bias, &end) || end <= first->start ||
	    !is_loaded(target, first, &elf, bias))
		return false;
	*ret = (struct hsnap_target_module){ .path = first->path, .bias = bias, .start = first->start, .end = end };
	ret->vdso = !strcmp(hsnap_str(&target->strings, first->path), "[vdso]");
	if (hsnap_elf_build_id(read_image, &image, true, &elf)) {
		memcpy(ret->build_id, elf.build_id, sizeof(ret->build_id));
		ret->build_id_size = elf.build_id_size;
	}
	uint64_t size;
	ret->dynamic = place_of(ret, &elf, PT_DYNAMIC, &size);
	ret->eh_frame_hdr = place_of(ret, &elf, PT_GNU_EH_FRAME, &ret->eh_frame_hdr_size);
	const Elf64_Phdr *tls = hsnap_elf_segment(&elf, PT_TLS);
	if (tls && tls->p_memsz < (uint64_t)1 << 30) {
		ret->tls_size = tls->p_memsz;
		ret->tls_offset = first_tls_offset(tls); /* kept for the executable alone */
	}
	return true;
}

static bool is_candidate(const struct hsnap_target *target, const struct hsnap_mapping *mapping)
{
	const char *path = hsnap_str(&target->strings, mapping->path);
	return mapping->prot & HSNAP_PROT_READ && !mapping->offset && !mapping->module &&
	       (mapping->inode ? path[0] == '/' : !strcmp(path, "[vdso]"));
}

/* Mappings of the module's own file, from its first one on, and the anonymous ones that continue it (.bss).  One that
 * says it goes on over many others is cut where `*left` is used up. */
static void mark_mappings(struct hsnap_target *target, uint32_t index, size_t first, uint64_t *left)
{
	struct hsnap_target_module *module = &target->modules.items[index];
	uint64_t inode = target->mappings.items[first].inode;
	for (size_t i = first; i < target->mappings.num && target->mappings.items[i].start < module->end; i++) {
		struct hsnap_mapping *mapping = &target->mappings.items[i];
		if (i > first && !(*left)--) {
			*left = 0;
			module->end = mapping->start;
			return;
		}
		if (!mapping->inode || mapping->inode == inode)
			mapping->module = index;
	}
}

static void make_main(struct hsnap_target *target, size_t index)
{
	struct hsnap_target_module main = target->modules.items[index];
	main.main = true;
	memmove(&target->modules.items[2], &target->modules.items[1], (index - 1) * sizeof(main));
	target->modules.items[1] = main;
	for (size_t i = 0; i < target->mappings.num; i++) {
		uint32_t *module = &target->mappings.items[i].module;
		if (*module == index)
			*module = 1;
		else if (*module && *module < index)
			*module += 1;
	}
}

enum hsnap_code hsnap_modules_find(struct hsnap_target *target, uint64_t headers_address, struct hsnap_error *err)
{
	size_t main = 0;
	uint64_t left = MOST_NESTED * (uint64_t)target->mappings.num;
	if (!hsnap_vec_push(&target->modules, (struct hsnap_target_module){ 0 }))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the modules");
	for (size_t i = 0; i < target->mappings.num && target->modules.num < MAX_MODULES; i++) {
		const struct hsnap_mapping first = target->mappings.items[i];
		struct hsnap_target_module module;
		if (!is_candidate(target, &first) || !describe(target, &first, &module))
			continue;
		if (!hsnap_vec_push(&target->modules, module))
			return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the modules");
		mark_mappings(target, (uint32_t)target->modules.num - 1, i, &left);
		if (!main && headers_address >= module.start && headers_address < module.end)
			main = target->modules.num - 1;
	}
	if (!main && target->modules.num > 1 && !target->modules.items[1].vdso)
		main = 1;
	if (main)
		make_main(target, main);
	for (size_t i = 1; i < target->modules.num; i++)
		if (!target->modules.items[i].main)
			target->modules.items[i].tls_offset = 0;
	if (main && target->modules.items[1].tls_size)
		target->modules.items[1].tls_id = 1; /* glibc counts the executable's first, where it has any */
	return HSNAP_OK;
}
