/* SPDX-License-Identifier: MIT */
/* soft.c - whose bits they are, and clearing them. */
#include "capture/freeze/soft.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/freeze/step.h"
#include "capture/proc/scan.h"
#include "snapshot/base/cleanup.h"

/* A page that was just written to has the bit where the kernel keeps it at all. */
static bool are_kept(const struct hsnap_proc *proc)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	hsnap_auto(hsnap_closefdp) int pagemap = hsnap_proc_open(proc, O_RDONLY, "proc/self/pagemap");
	volatile char *bytes = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (bytes == MAP_FAILED)
		return false;
	*bytes = 1;
	uint64_t entry = 0;
	ssize_t n = pread(pagemap, &entry, sizeof(entry), (off_t)((uintptr_t)bytes / page * sizeof(entry)));
	munmap((void *)(uintptr_t)bytes, page);
	return n == sizeof(entry) && entry & HSNAP_ENTRY_SOFT_DIRTY;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);
	return len >= end_len && !strcmp(text + len - end_len, end);
}

/* The collector of Boehm, Demers and Weiser has both files of itself open while it runs. */
static bool uses_own(const struct hsnap_proc *proc, pid_t pid)
{
	struct hsnap_proc_ids ids = { 0 };
	bool found = false;
	if (!hsnap_proc_list(proc, &ids, "proc/%d/fd", pid))
		return false;
	for (size_t i = 0; i < ids.num && !found; i++) {
		char path[256];
		found = hsnap_proc_link(proc, path, sizeof(path), "proc/%d/fd/%d", pid, ids.items[i]) &&
			(ends_with(path, "/clear_refs") || ends_with(path, "/pagemap"));
	}
	hsnap_vec_deinit(&ids);
	return found;
}

static void note_clean(void *context, uint64_t start, uint64_t end, enum hsnap_plan_pages pages)
{
	uint64_t *clean = context;
	if (pages == HSNAP_PAGES_CLEAN)
		*clean += end - start;
}

/* Of a process whose bits were never cleared, all are set. */
static bool were_cleared(const struct hsnap_freeze_options *options)
{
	struct hsnap_plan plan;
	uint64_t clean = 0;
	if (hsnap_plan_open(&plan, options->proc, options->pid, NULL))
		return false;
	plan.soft_dirty = true;
	if (hsnap_plan_grow(&plan)) {
		plan.visit = note_clean;
		plan.context = &clean;
		(void)hsnap_plan_list(&plan);
	}
	hsnap_plan_close(&plan);
	return clean > 0;
}

enum hsnap_code hsnap_soft_obstacle(const struct hsnap_freeze_options *options, struct hsnap_error *err)
{
	if (!are_kept(options->proc))
		return hsnap_fail(err, HSNAP_UNSUPPORTED, 0,
				  "this kernel cannot tell which pages are written to: Linux 6.7 can, or CONFIG_MEM_SOFT_DIRTY");
	if (uses_own(options->proc, options->pid))
		return hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "it uses its soft-dirty bits itself");
	if (options->mode != HSNAP_FREEZE_PRECOPY && were_cleared(options)) {
		hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "its soft-dirty bits were cleared before: by CRIU, or by an earlier take");
		return hsnap_hint(err, HSNAP_UNSUPPORTED, "--freeze=precopy clears them again");
	}
	return HSNAP_OK;
}

enum hsnap_code hsnap_soft_begin(const struct hsnap_freeze_options *options, struct hsnap_plan *plan,
				 struct hsnap_error *err)
{
	enum hsnap_code code = hsnap_soft_obstacle(options, err);
	if (code)
		return code;
	if (!hsnap_plan_grow(plan))
		return hsnap_fail(err, HSNAP_REFUSED, 0, "exited while it was being captured");
	plan->soft_dirty = true;
	if (!hsnap_proc_write(options->proc, "4", "proc/%d/clear_refs", options->pid))
		return hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "cannot clear its soft-dirty bits: %s", strerror(errno));
	hsnap_step("soft-cleared");
	return HSNAP_OK;
}
