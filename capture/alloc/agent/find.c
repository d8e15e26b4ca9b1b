/* SPDX-License-Identifier: MIT */
/*
 * find.c - the agent's directory, by its exported symbol.
 *
 * Read out of the target's memory and not from the file: it may be deleted or
 * replaced.  Every count and offset of the dynamic symbol table is the target's
 * word and is bounded here.
 */
#include "capture/alloc/agent/reader.h"
#include "capture/target/elf_image.h"

static uint64_t find_symbol(const struct hsnap_target *target, const char *name)
{
	uint64_t at;
	for (size_t i = 1; i < target->modules.num; i++)
		if (!target->modules.items[i].vdso && hsnap_module_symbol(target, &target->modules.items[i], name, &at))
			return at;
	return 0;
}

enum hsnap_code hsnap_reader_find(struct reader *reader, struct hsnap_error *err)
{
	struct hsnap_wire_directory *dir = &reader->dir;
	uint64_t at = find_symbol(reader->target, HSNAP_WIRE_SYMBOL);
	if (!at)
		return hsnap_fail(err, HSNAP_NOT_FOUND, 0, "the agent is not loaded");
	reader->dir_address = at;
	enum hsnap_code code = hsnap_target_read(reader->target, at, dir, sizeof(*dir), err);
	if (code)
		return hsnap_context(err, code, "cannot read the agent's directory");
	if (dir->magic != HSNAP_WIRE_MAGIC)
		return hsnap_fail(err, HSNAP_FORMAT, at, "the agent's directory is damaged");
	if (dir->version != HSNAP_WIRE_VERSION || dir->size != sizeof(*dir))
		return hsnap_fail(err, HSNAP_UNSUPPORTED, at, "the agent is of another version (layout %u, this program reads %u)",
				  dir->version, HSNAP_WIRE_VERSION);
	dir->aside[sizeof(dir->aside) - 1] = '\0';
	dir->beside[sizeof(dir->beside) - 1] = '\0';
	if (dir->allocator == HSNAP_ALLOCATOR_ASIDE)
		return hsnap_fail(err, HSNAP_REFUSED, 0, "the agent stood aside: %s", dir->aside);
	if (dir->allocator != HSNAP_ALLOCATOR_GLIBC && dir->allocator != HSNAP_ALLOCATOR_OTHER && dir->allocator != HSNAP_ALLOCATOR_UNDECIDED)
		return hsnap_fail(err, HSNAP_FORMAT, at, "the agent's directory is damaged");
	return HSNAP_OK;
}
