/* SPDX-License-Identifier: MIT */
/* plan.c - from maps and the page map to ranges. */
#include "capture/freeze/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/freeze/apart.h"
#include "capture/freeze/refuse.h"
#include "capture/proc/scan.h"
#include "capture/target/target.h"
#include "snapshot/base/cleanup.h"
#include "snapshot/base/pages.h"

#define PAGE ((uint64_t)4096)
#define MAX_REGIONS 512
#define MAX_LISTED ((uint64_t)4 << 40) /* eight bytes a page are read of what has no PAGEMAP_SCAN */

enum wanted { NOTHING, WRITTEN, PRESENT, WHOLE };

static bool starts_with(const struct hsnap_maps_line *line, const char *prefix)
{
	size_t len = strlen(prefix);
	return line->path_len >= len && !memcmp(line->path, prefix, len);
}

/* Memory of devices is not memory: reading it can do things. */
static bool is_device(const struct hsnap_maps_line *line)
{
	return (starts_with(line, "/dev/") && !starts_with(line, "/dev/zero") && !starts_with(line, "/dev/shm/") &&
		!starts_with(line, "/dev/hugepages")) ||
	       starts_with(line, "anon_inode:") || starts_with(line, "socket:");
}

static enum wanted what_of(const struct hsnap_plan *plan, const struct hsnap_maps_line *line)
{
	if (hsnap_maps_is(line, "[vdso]"))
		return WHOLE;
	if (!(line->prot & HSNAP_PROT_READ) || starts_with(line, "[vvar") || hsnap_maps_is(line, "[vsyscall]") ||
	    is_device(line))
		return NOTHING;
	if (line->prot & HSNAP_PROT_SHARED)
		return line->prot & HSNAP_PROT_WRITE ? PRESENT : NOTHING;
	if (line->inode && plan->files && hsnap_files_is_lost(plan->files, line->device, line->inode))
		return WHOLE;
	/* What was patched in code is of no use to anybody here; to look for it costs 70 ns a page. */
	if (line->inode && line->prot & HSNAP_PROT_EXEC && !(line->prot & HSNAP_PROT_WRITE))
		return NOTHING;
	return WRITTEN;
}

bool hsnap_plan_can_watch(const struct hsnap_plan *plan, const struct hsnap_maps_line *line)
{
	/* Huge pages that are a file's are protected whole or not at all. */
	return what_of(plan, line) == WRITTEN && !starts_with(line, "/anon_hugepage") && !starts_with(line, "/dev/hugepages");
}

static void add_range(struct hsnap_plan *plan, uint64_t start, uint64_t end)
{
	plan->bytes += end - start;
	struct hsnap_range *last = plan->num && plan->num <= plan->max ? &plan->ranges[plan->num - 1] : NULL;
	if (last && last->end == start) {
		last->end = end;
		return;
	}
	if (plan->num < plan->max)
		plan->ranges[plan->num] = (struct hsnap_range){ start, end };
	plan->num++;
}

static void visit(const struct hsnap_plan *plan, uint64_t start, uint64_t end, enum hsnap_plan_pages pages)
{
	if (plan->visit && start < end)
		plan->visit(plan->context, start, end, pages);
}

/* What a userfaultfd tells of pages that the process wrote itself.  Of shared ones it does not tell
 * what others wrote. */
static enum hsnap_plan_pages watched(uint64_t categories, enum wanted wanted)
{
	if (wanted == PRESENT || !(categories & HSNAP_PAGE_WATCHED))
		return HSNAP_PAGES_UNWATCHED;
	return categories & HSNAP_PAGE_WRITTEN ? HSNAP_PAGES_WRITTEN : HSNAP_PAGES_CLEAN;
}

/*
 * One step of PAGEMAP_SCAN; false: it does not work here.  That a page is the file's costs a look at
 * the page itself, sixty times what the rest costs: it is asked of mapped files alone.
 */
static bool scan_step(const struct hsnap_plan *plan, struct hsnap_scan_arg *arg, struct hsnap_page_region *regions,
		      size_t max, int *ret_num)
{
	arg->size = sizeof(*arg);
	arg->vec = (uint64_t)(uintptr_t)regions;
	arg->vec_len = max;
	arg->return_mask = HSNAP_PAGE_PRESENT | HSNAP_PAGE_SWAPPED | HSNAP_PAGE_ZERO;
	if (plan->visit)
		arg->return_mask |= HSNAP_PAGE_WATCHED | HSNAP_PAGE_WRITTEN;
	*ret_num = ioctl(plan->pagemap, HSNAP_SCAN_IOCTL, arg);
	return *ret_num >= 0;
}

/* Too late for a list: nobody uses what there is of it. */
static bool is_over(const struct hsnap_plan *plan)
{
	return plan->ends_at && hsnap_now(CLOCK_MONOTONIC) >= plan->ends_at;
}

/* By PAGEMAP_SCAN, which passes over what is absent in big steps; false: it does not work here. */
static bool scan_pages(struct hsnap_plan *plan, const struct hsnap_maps_line *line, enum wanted wanted)
{
	struct hsnap_page_region regions[MAX_REGIONS];
	uint64_t never = wanted == PRESENT ? 0 : HSNAP_PAGE_ZERO, begin = line->start;
	if (never && line->inode)
		never |= HSNAP_PAGE_FILE;
	for (uint64_t at = line->start; at < line->end && !is_over(plan);) {
		struct hsnap_scan_arg arg = {
			.start = at, .end = line->end, .category_inverted = never, .category_mask = never,
			.category_anyof_mask = HSNAP_PAGE_PRESENT | HSNAP_PAGE_SWAPPED,
		};
		int n;
		if (!scan_step(plan, &arg, regions, MAX_REGIONS, &n))
			return false;
		for (int i = 0; i < n; i++) {
			if (wanted == WHOLE) /* what lies between is the file's, and stays as it is */
				visit(plan, begin, regions[i].start, HSNAP_PAGES_CLEAN);
			else
				add_range(plan, regions[i].start, regions[i].end);
			visit(plan, regions[i].start, regions[i].end, watched(regions[i].categories, wanted));
			begin = regions[i].end;
		}
		if (arg.walk_end <= at)
			break;
		at = arg.walk_end;
	}
	if (wanted == WHOLE)
		visit(plan, begin, line->end, HSNAP_PAGES_CLEAN);
	return true;
}

static void tell(struct hsnap_plan *plan, uint64_t start, uint64_t end, enum hsnap_plan_pages pages)
{
	if (start >= end)
		return;
	add_range(plan, start, end);
	visit(plan, start, end, pages);
}

/* What changed from `at` on, as others found it or by looking; -1: it does not work. */
static int find_changes(struct hsnap_plan *plan, uint64_t at, uint64_t end, struct hsnap_page_region *room,
			const struct hsnap_page_region **ret, uint64_t *ret_walk_end)
{
	*ret_walk_end = end;
	int n = plan->sweep ? hsnap_sweep_found(plan->sweep, at, ret, ret_walk_end) : -1;
	if (n >= 0)
		return n;
	struct hsnap_scan_arg arg = hsnap_sweep_changes;
	arg.start = at;
	arg.end = *ret_walk_end;
	*ret = room;
	if (!scan_step(plan, &arg, room, MAX_REGIONS, &n) || arg.walk_end <= at)
		return -1;
	*ret_walk_end = arg.walk_end;
	return n;
}

/*
 * The same of a mapping without a file, in a quarter of the time: what is told are the pages that were
 * written to and those that are absent; what lies between is as it was.
 */
static bool scan_changes(struct hsnap_plan *plan, const struct hsnap_maps_line *line)
{
	struct hsnap_page_region room[MAX_REGIONS];
	const struct hsnap_page_region *regions;
	uint64_t walk_end;
	for (uint64_t at = line->start; at < line->end; at = walk_end) {
		int n = find_changes(plan, at, line->end, room, &regions, &walk_end);
		if (n < 0)
			return false;
		for (int i = 0; i < n; i++) {
			const struct hsnap_page_region *region = &regions[i];
			tell(plan, at, region->start, HSNAP_PAGES_CLEAN);
			if (region->categories & (HSNAP_PAGE_PRESENT | HSNAP_PAGE_SWAPPED) &&
			    !(region->categories & HSNAP_PAGE_ZERO))
				tell(plan, region->start, region->end, watched(region->categories, WRITTEN));
			at = region->end;
		}
		tell(plan, at, walk_end, HSNAP_PAGES_CLEAN);
	}
	return true;
}

static bool shows_changes(const struct hsnap_plan *plan, const struct hsnap_maps_line *line)
{
	return plan->changes && !line->inode && what_of(plan, line) == WRITTEN;
}

/* Have all processors look at what is big. */
static void share_out(struct hsnap_plan *plan)
{
	const char *at = plan->text;
	hsnap_sweep_clear(plan->sweep);
	for (struct hsnap_maps_line line; hsnap_maps_next(&at, &line);)
		if (shows_changes(plan, &line))
			hsnap_sweep_add(plan->sweep, line.start, line.end);
	hsnap_sweep_begin(plan->sweep);
}

size_t hsnap_plan_chunks(const struct hsnap_plan *plan)
{
	const char *at = plan->text;
	size_t chunks = 0;
	for (struct hsnap_maps_line line; at && hsnap_maps_next(&at, &line);)
		chunks += line.inode ? 0 : hsnap_sweep_chunks(line.start, line.end);
	return chunks;
}

/*
 * As it was when the bits were cleared?  The zero page of a place whose own page was discarded looks
 * the same, but it is nobody's alone.
 */
static bool is_soft_clean(uint64_t entry)
{
	return !(entry & HSNAP_ENTRY_SOFT_DIRTY) &&
	       (!(entry & HSNAP_ENTRY_PRESENT) || entry & HSNAP_ENTRY_EXCLUSIVE);
}

/* By reading an entry for each page. */
static bool list_pages(struct hsnap_plan *plan, uint64_t start, uint64_t end, enum wanted wanted)
{
	uint64_t entries[4096];
	if (end - start > MAX_LISTED) {
		plan->skipped += end - start;
		return true;
	}
	while (start < end && !is_over(plan)) {
		uint64_t want = (end - start) / PAGE;
		if (want > sizeof(entries) / sizeof(*entries))
			want = sizeof(entries) / sizeof(*entries);
		ssize_t n = pread(plan->pagemap, entries, want * sizeof(*entries),
				  (off_t)(start / PAGE * sizeof(*entries)));
		if (n <= 0)
			return false;
		size_t num = (size_t)n / sizeof(*entries);
		for (size_t i = 0; i < num; i++, start += PAGE) {
			if (!(entries[i] & HSNAP_ENTRY_THERE) || (wanted == WRITTEN && entries[i] & HSNAP_ENTRY_FILE))
				continue;
			bool clean = plan->soft_dirty && wanted == WRITTEN && is_soft_clean(entries[i]);
			add_range(plan, start, start + PAGE);
			visit(plan, start, start + PAGE, clean ? HSNAP_PAGES_CLEAN : HSNAP_PAGES_UNWATCHED);
		}
	}
	return true;
}

static void list_mapping(struct hsnap_plan *plan, const struct hsnap_maps_line *line)
{
	enum wanted wanted = what_of(plan, line);
	if (wanted == NOTHING)
		return;
	if (wanted == WHOLE) {
		add_range(plan, line->start, line->end);
		if (plan->visit && !(plan->scan && scan_pages(plan, line, wanted)))
			visit(plan, line->start, line->end, HSNAP_PAGES_UNWATCHED);
		return;
	}
	if (plan->scan && (shows_changes(plan, line) ? scan_changes(plan, line) : scan_pages(plan, line, wanted)))
		return;
	plan->scan = false;
	if (plan->pagemap >= 0 && list_pages(plan, line->start, line->end, wanted))
		return;
	/* Nothing tells which pages are there: take all that may have been written. */
	if (line->prot & HSNAP_PROT_WRITE || (line->inode && !(line->prot & HSNAP_PROT_EXEC))) {
		add_range(plan, line->start, line->end);
		visit(plan, line->start, line->end, HSNAP_PAGES_UNWATCHED);
	}
}

/* Into the text that is there: false if it does not fit. */
static bool read_maps(struct hsnap_plan *plan)
{
	size_t used = 0;
	for (;;) {
		if (plan->room - used < 2)
			return false;
		ssize_t n = pread(plan->maps, plan->text + used, plan->room - used - 1, (off_t)used);
		if (n < 0)
			return false;
		if (!n)
			break;
		used += (size_t)n;
	}
	plan->text[used] = '\0';
	return used > 0;
}

bool hsnap_plan_list(struct hsnap_plan *plan)
{
	plan->num = 0;
	plan->bytes = plan->shared = plan->skipped = 0;
	if (!read_maps(plan))
		return false;
	if (plan->sweep)
		share_out(plan);
	const char *at = plan->text;
	for (struct hsnap_maps_line line; hsnap_maps_next(&at, &line);) {
		uint64_t before = plan->bytes;
		if (is_over(plan))
			return false;
		list_mapping(plan, &line);
		if (line.prot & HSNAP_PROT_SHARED)
			plan->shared += plan->bytes - before;
	}
	return plan->num <= plan->max && !is_over(plan);
}

bool hsnap_plan_grow(struct hsnap_plan *plan)
{
	size_t len;
	hsnap_auto(hsnap_freep) char *text = hsnap_proc_read_fd(plan->maps, &len);
	if (!text)
		return false;
	free(plan->text);
	plan->room = len + len / 4 + 4096;
	plan->text = malloc(plan->room);
	if (!plan->text)
		return false;
	if (hsnap_plan_list(plan))
		return true;
	hsnap_pages_free(plan->ranges, plan->max, sizeof(*plan->ranges));
	plan->max = plan->num + plan->num / 4 + 1024;
	plan->ranges = hsnap_pages_alloc(plan->max, sizeof(*plan->ranges));
	if (!plan->ranges) {
		plan->max = 0;
		return false;
	}
	for (size_t i = 0; i < plan->max; i += PAGE / sizeof(*plan->ranges))
		((volatile struct hsnap_range *)plan->ranges)[i].start = 0;
	return hsnap_plan_list(plan);
}

static bool has_scan(int pagemap)
{
	struct hsnap_page_region region;
	struct hsnap_scan_arg arg = {
		.size = sizeof(arg), .vec = (uint64_t)(uintptr_t)&region, .vec_len = 1,
		.category_anyof_mask = HSNAP_PAGE_PRESENT, .return_mask = HSNAP_PAGE_PRESENT,
	};
	return ioctl(pagemap, HSNAP_SCAN_IOCTL, &arg) >= 0;
}

bool hsnap_plan_scan(struct hsnap_plan *plan, uint64_t start, uint64_t end)
{
	const struct hsnap_maps_line line = { .start = start, .end = end };
	struct hsnap_plan look = *plan; /* its ranges hold this part already */
	look.num = look.max = 0;
	look.ends_at = 0;
	return scan_pages(&look, &line, WRITTEN);
}

enum hsnap_code hsnap_plan_open(struct hsnap_plan *plan, const struct hsnap_proc *proc, pid_t pid,
				struct hsnap_error *err)
{
	*plan = (struct hsnap_plan){ .maps = -1, .pagemap = -1, .scan = true };
	plan->maps = hsnap_proc_open(proc, O_RDONLY, "proc/%d/maps", pid);
	if (plan->maps < 0)
		return hsnap_refuse_denied(proc, pid, errno, err);
	plan->pagemap = hsnap_proc_open(proc, O_RDONLY, "proc/%d/pagemap", pid);
	plan->scan = plan->pagemap >= 0 && has_scan(plan->pagemap);
	return HSNAP_OK;
}

void hsnap_plan_close(struct hsnap_plan *plan)
{
	hsnap_closefdp(&plan->maps);
	hsnap_closefdp(&plan->pagemap);
	free(plan->text);
	hsnap_pages_free(plan->ranges, plan->max, sizeof(*plan->ranges));
	*plan = (struct hsnap_plan){ .maps = -1, .pagemap = -1 };
}
