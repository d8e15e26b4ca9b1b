/* SPDX-License-Identifier: MIT */
/*
 * asked.c - may the program have learned how large its blocks are, and so use more of them than it asked for?
 *
 * The agent sees who calls malloc_usable_size, and who was bound at the start to what its allocator has beside that.  It
 * does not see a library that came later, nor who looked such a function up by dlsym.  But the name is in the module
 * then, in its table of symbols or among its constants: where it stands, the program is taken to use what is behind its
 * blocks.  At worst a stale word there hides a leak then; the other way round what the word holds would be called one.
 *
 * Not seen: names that are made up at run time or come from a file, and tcmalloc's MallocExtension::instance() by its
 * virtual functions.
 */
#include <string.h>

#include "capture/alloc/agent/reader.h"
#include "capture/target/elf_image.h"

#define PART ((size_t)16 << 10)
#define MAX_NAME ((size_t)64)
#define MOST ((uint64_t)1 << 30) /* of the modules' memory that is looked at, bytes; where there is more, it may stand in that */

/* What is on both sides of these is compared where they are found: most ends of names are of one of them. */
static const char *const ends[] = { "_size", "allocx", "AllocatedSize", "AllocatedSizeEPKv", "AllocatedSizeEm" };
static const char *const names[] = { HSNAP_TELLING_ROOM, "malloc_usable_size" };

#define NUM(array) (sizeof(array) / sizeof(*(array)))

struct search {
	const struct hsnap_target *target;
	const struct hsnap_target_module *allocator;
	bool has[NUM(names)]; /* the allocator does */
	uint64_t looked_at;
	uint64_t imports, imports_end; /* the names of symbols of the module that is looked at */
};

/* `at` is in the part, and its end is. */
static bool is_telling(const struct search *search, const char *part, const char *end, uint64_t address)
{
	const char *start = end;
	while (start > part && start[-1] && (size_t)(end - start) <= MAX_NAME)
		start--;
	for (size_t i = 0; i < NUM(names); i++) {
		/* Who is bound to that one, is so to the agent's. */
		bool imported = i == NUM(names) - 1 && address >= search->imports && address < search->imports_end;
		if (search->has[i] && !imported && !strcmp(start, names[i]))
			return true;
	}
	return false;
}

static bool stands_in(const struct search *search, const char *part, size_t size, uint64_t address)
{
	for (size_t i = 0; i < NUM(ends); i++) {
		const char *at = part, *found;
		size_t len = strlen(ends[i]) + 1; /* and the NUL */
		while ((found = memmem(at, size - (size_t)(at - part), ends[i], len))) {
			at = found + len;
			if (is_telling(search, part, at - 1, address + (uint64_t)(found - part)))
				return true;
		}
	}
	return false;
}

static bool look_at(struct search *search, const struct hsnap_mapping *mapping)
{
	char part[MAX_NAME + PART + 1];
	for (uint64_t at = mapping->start; at < mapping->end; at += PART) {
		uint64_t from = at - mapping->start < MAX_NAME ? mapping->start : at - MAX_NAME;
		size_t size = (size_t)((mapping->end - at < PART ? mapping->end : at + PART) - from);
		search->looked_at += PART;
		if (search->looked_at > MOST)
			return true;
		if (!hsnap_target_read(search->target, from, part, size, NULL) && stands_in(search, part, size, from))
			return true;
	}
	return false;
}

bool hsnap_reader_may_use_room(const struct reader *reader)
{
	const struct hsnap_target *target = reader->target;
	struct search search = { .target = target, .allocator = hsnap_target_module(target, reader->dir.other_malloc) };
	const struct hsnap_target_module *agent = hsnap_target_module(target, reader->dir_address), *before = NULL;
	uint64_t address;
	bool any = false;
	if (reader->dir.rooms_asked)
		return true;
	for (size_t i = 0; search.allocator && i < NUM(names); i++)
		any |= search.has[i] = hsnap_module_symbol(target, search.allocator, names[i], &address);
	for (size_t i = 0; any && i < target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &target->mappings.items[i];
		const struct hsnap_target_module *module = &target->modules.items[mapping->module];
		if (!mapping->module || module == search.allocator || module == agent || mapping->prot & HSNAP_PROT_WRITE)
			continue;
		if (module != before)
			hsnap_module_names(target, module, &search.imports, &search.imports_end);
		before = module;
		if (look_at(&search, mapping))
			return true;
	}
	return false;
}
