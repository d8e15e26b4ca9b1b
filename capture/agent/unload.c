/* SPDX-License-Identifier: MIT */
/*
 * unload.c - modules that go: return addresses in them are somebody else's from then on.
 *
 * dlclose is watched, since the loader tells nobody.  What libc closes for itself is missed, which
 * is its own converters and name services.
 */
#include "capture/agent/walk.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#define MOST_MODULES 256u

struct loaded {
	uint64_t unloads; /* as the loader counts */
	uint32_t num;
	struct hsnap_wire_range modules[MOST_MODULES];
};

static int list(struct dl_phdr_info *info, size_t size, void *context)
{
	struct loaded *loaded = context;
	struct hsnap_wire_range range = { UINT64_MAX, 0 };
	(void)size;
	loaded->unloads = info->dlpi_subs;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + ph->p_vaddr;
		if (ph->p_type != PT_LOAD)
			continue;
		range.start = start < range.start ? start : range.start;
		range.end = start + ph->p_memsz > range.end ? start + ph->p_memsz : range.end;
	}
	if (loaded->num < MOST_MODULES)
		loaded->modules[loaded->num] = range;
	loaded->num++;
	return 0;
}

/* A module that comes and goes in the same place has one entry. */
static void note(struct hsnap_wire_range range)
{
	struct hsnap_wire_directory *dir = &hsnap_agent_directory;
	uint64_t number = __atomic_add_fetch(&dir->num_unloads, 1, __ATOMIC_RELAXED);
	uint64_t at = number % HSNAP_NUM_UNLOADS;
	for (uint64_t i = 0; i < HSNAP_NUM_UNLOADS; i++)
		if (dir->unloads[i].start == range.start && dir->unloads[i].end == range.end)
			at = i;
	dir->unloads[at] = (struct hsnap_wire_unload){ range.start, range.end, number };
}

static bool is_in(const struct loaded *loaded, struct hsnap_wire_range range)
{
	for (uint32_t i = 0; i < loaded->num && i < MOST_MODULES; i++)
		if (loaded->modules[i].start == range.start && loaded->modules[i].end == range.end)
			return true;
	return false;
}

static __attribute__((noinline)) void compare(const struct loaded *before)
{
	struct loaded after = { 0 };
	dl_iterate_phdr(list, &after);
	if (after.unloads == before->unloads)
		return;
	hsnap_agent_forget_rules();
	/* Too many to say which: whatever was recorded before is doubted. */
	if (before->num > MOST_MODULES || after.num > MOST_MODULES)
		note((struct hsnap_wire_range){ 0, UINT64_MAX });
	for (uint32_t i = 0; i < before->num && i < MOST_MODULES; i++)
		if (!is_in(&after, before->modules[i]))
			note(before->modules[i]);
	hsnap_agent_forget_callers(); /* now that what is found anew is known to be new */
}

EXPORTED int dlclose(void *handle)
{
	static int (*next)(void *);
	if (!next)
		next = (int (*)(void *))hsnap_agent_lookup_next("dlclose");
	if (!next) /* a libc that keeps it in a library of its own, which is not loaded */
		return -1;
	int saved = errno;
	struct loaded before = { 0 };
	dl_iterate_phdr(list, &before);
	errno = saved;
	int result = next(handle);
	saved = errno;
	compare(&before);
	errno = saved;
	return result;
}
