/* SPDX-License-Identifier: MIT */
/*
 * find.c - the agent's directory, by its exported symbol.
 *
 * Read out of the target's memory and not from the file: it may be deleted or
 * replaced.  Every count and offset of the dynamic symbol table is the target's
 * word and is bounded here.
 */
#include <elf.h>
#include <string.h>

#include "capture/alloc/agent/reader.h"

#define MAX_DYNAMIC 256u  /* entries looked at */
#define MAX_CHAIN 65536u  /* symbols looked at */

struct symbols {
	uint64_t table, strings, gnu_hash, hash;
};

static bool read_symbols(const struct hsnap_target *target, const struct hsnap_target_module *module,
			 struct symbols *ret)
{
	struct symbols s = { 0 };
	for (unsigned i = 0; i < MAX_DYNAMIC; i++) {
		Elf64_Dyn entry;
		if (hsnap_target_read(target, module->dynamic + i * sizeof(entry), &entry, sizeof(entry), NULL))
			return false;
		if (entry.d_tag == DT_NULL)
			break;
		/* The loader relocates these in place; a vdso's are left as they were linked. */
		uint64_t at = entry.d_un.d_ptr;
		if (at < module->start)
			at += module->bias;
		if (entry.d_tag == DT_SYMTAB)
			s.table = at;
		else if (entry.d_tag == DT_STRTAB)
			s.strings = at;
		else if (entry.d_tag == DT_GNU_HASH)
			s.gnu_hash = at;
		else if (entry.d_tag == DT_HASH)
			s.hash = at;
	}
	*ret = s;
	return s.table && s.strings && (s.gnu_hash || s.hash);
}

/* Is symbol `index` a definition of `name`?  Its address, or 0. */
static uint64_t definition(const struct hsnap_target *target, const struct hsnap_target_module *module,
			   const struct symbols *s, uint64_t index, const char *name)
{
	Elf64_Sym symbol;
	char text[64];
	if (hsnap_target_read(target, s->table + index * sizeof(symbol), &symbol, sizeof(symbol), NULL) ||
	    symbol.st_shndx == SHN_UNDEF || !symbol.st_value ||
	    !hsnap_target_text(target, s->strings + symbol.st_name, text, sizeof(text)) || strcmp(text, name))
		return 0;
	return module->bias + symbol.st_value;
}

static bool read_u32(const struct hsnap_target *target, uint64_t address, uint32_t *ret)
{
	return !hsnap_target_read(target, address, ret, sizeof(*ret), NULL);
}

/* Layout: glibc 2.36 elf/dl-lookup.c, do_lookup_x. */
static uint64_t find_gnu(const struct hsnap_target *target, const struct hsnap_target_module *module,
			 const struct symbols *s, const char *name)
{
	uint32_t head[4], hash = 5381, index, entry;
	for (const char *c = name; *c; c++)
		hash = hash * 33 + (uint8_t)*c;
	if (hsnap_target_read(target, s->gnu_hash, head, sizeof(head), NULL) || !head[0])
		return 0;
	uint64_t buckets = s->gnu_hash + sizeof(head) + 8ull * head[2];
	uint64_t chains = buckets + 4ull * head[0];
	if (!read_u32(target, buckets + 4ull * (hash % head[0]), &index) || index < head[1])
		return 0;
	for (unsigned i = 0; i < MAX_CHAIN; i++, index++) {
		if (!read_u32(target, chains + 4ull * (index - head[1]), &entry))
			return 0;
		uint64_t found = (entry | 1) == (hash | 1) ? definition(target, module, s, index, name) : 0;
		if (found || entry & 1)
			return found;
	}
	return 0;
}

static uint64_t find_plain(const struct hsnap_target *target, const struct hsnap_target_module *module,
			   const struct symbols *s, const char *name)
{
	uint32_t num;
	uint64_t found = 0;
	if (!read_u32(target, s->hash + 4, &num))
		return 0;
	for (uint32_t i = 1; i < num && i < MAX_CHAIN && !found; i++)
		found = definition(target, module, s, i, name);
	return found;
}

static uint64_t find_symbol(const struct hsnap_target *target, const char *name)
{
	for (size_t i = 1; i < target->modules.num; i++) {
		const struct hsnap_target_module *module = &target->modules.items[i];
		struct symbols s;
		if (!module->dynamic || module->vdso || !read_symbols(target, module, &s))
			continue;
		uint64_t at = s.gnu_hash ? find_gnu(target, module, &s, name) : find_plain(target, module, &s, name);
		if (at)
			return at;
	}
	return 0;
}

enum hsnap_code hsnap_reader_find(struct reader *reader, struct hsnap_error *err)
{
	struct hsnap_wire_directory *dir = &reader->dir;
	uint64_t at = find_symbol(reader->target, HSNAP_WIRE_SYMBOL);
	if (!at)
		return hsnap_fail(err, HSNAP_NOT_FOUND, 0, "the agent is not loaded");
	enum hsnap_code code = hsnap_target_read(reader->target, at, dir, sizeof(*dir), err);
	if (code)
		return hsnap_context(err, code, "cannot read the agent's directory");
	if (dir->magic != HSNAP_WIRE_MAGIC)
		return hsnap_fail(err, HSNAP_FORMAT, at, "the agent's directory is damaged");
	if (dir->version != HSNAP_WIRE_VERSION || dir->size != sizeof(*dir))
		return hsnap_fail(err, HSNAP_UNSUPPORTED, at, "the agent is of another version (layout %u, this program reads %u)",
				  dir->version, HSNAP_WIRE_VERSION);
	dir->aside[sizeof(dir->aside) - 1] = '\0';
	if (dir->allocator == HSNAP_ALLOCATOR_ASIDE)
		return hsnap_fail(err, HSNAP_REFUSED, 0, "the agent stood aside: %s", dir->aside);
	if (dir->allocator != HSNAP_ALLOCATOR_GLIBC && dir->allocator != HSNAP_ALLOCATOR_UNDECIDED)
		return hsnap_fail(err, HSNAP_FORMAT, at, "the agent's directory is damaged");
	return HSNAP_OK;
}
