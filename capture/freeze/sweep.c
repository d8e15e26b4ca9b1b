/* SPDX-License-Identifier: MIT */
/* sweep.c - chunks that are taken by whoever comes first, and what was found in them. */
#include "capture/freeze/sweep.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "capture/freeze/apart.h"

#define CHUNK ((uint64_t)64 << 20)
#define MAX_SHARED ((uint64_t)64 << 30) /* a larger mapping is mostly a reservation: passed over at once */
#define MAX_REGIONS 256
#define MAX_WAIT_NS 200000 /* about twice what a chunk takes */
#define PAGE ((uint64_t)4096)
#define TABLE ((uint64_t)2 << 20) /* what a page table covers */
#define MAX_ASKED 512       /* pages of a chunk that are asked for one by one */
#define MAX_RUN 8           /* pages of one run */

const struct hsnap_scan_arg hsnap_sweep_changes = {
	.category_inverted = HSNAP_PAGE_PRESENT, .category_anyof_mask = HSNAP_PAGE_PRESENT | HSNAP_PAGE_WRITTEN,
	.return_mask = HSNAP_PAGE_PRESENT | HSNAP_PAGE_SWAPPED | HSNAP_PAGE_ZERO | HSNAP_PAGE_WATCHED | HSNAP_PAGE_WRITTEN,
};

enum { FREE, TAKEN, DONE, FAILED };

struct chunk {
	uint64_t start, end, walk_end;
	atomic_int state;
	int num;
	struct hsnap_page_region regions[MAX_REGIONS];
	/* Of the short way. */
	struct hsnap_page_region written[MAX_REGIONS];
	const void *asked[MAX_ASKED];
	int there[MAX_ASKED]; /* the memory node of each, or < 0 */
};

struct hsnap_sweep {
	struct hsnap_team *team;
	pid_t pid;
	int pagemap;
	bool quick; /* the short way may be gone */
	struct chunk *chunks;
	size_t num, max;
	size_t asked; /* chunk that was asked for last */
	atomic_size_t next;
};

/* The long way.  Returns how many regions there are, at most `max`; -1: it does not work. */
static int scan(const struct hsnap_sweep *sweep, uint64_t start, uint64_t end, struct hsnap_page_region *regions, int max,
		uint64_t *ret_walk_end)
{
	struct hsnap_scan_arg arg = hsnap_sweep_changes;
	arg.size = sizeof(arg);
	arg.start = start;
	arg.end = end;
	arg.vec = (uint64_t)(uintptr_t)regions;
	arg.vec_len = (uint64_t)max;
	int n = ioctl(sweep->pagemap, HSNAP_SCAN_IOCTL, &arg);
	*ret_walk_end = arg.walk_end;
	return n < 0 || arg.walk_end <= start ? -1 : n;
}

/*
 * The short way, in less than two thirds of the time.  Asked for nothing but pages that are not protected, the kernel
 * looks at one bit of an entry of a page table (fs/proc/task_mmu.c, pagemap_scan_pmd_entry).  What it then tells of a
 * table are exactly the pages that were written to, are new, or are absent; what it is silent about is as it was.  But it
 * is silent also where there is no table (any more), and does not say which of its pages are absent.  So of each table a
 * page that it was silent about is asked for by move_pages(2), which moves nothing: is it there, then the table is. And
 * so is each page that it told of: is it there, it is read.  All tables with another answer (absent, in swap, under
 * migration, the zero page) are gone through the long way.
 *
 * Before Linux 6.10 that bit was looked at in entries of swap, too, where it is another.
 */
static int find_written(const struct hsnap_sweep *sweep, struct chunk *chunk, uint64_t *ret_walk_end)
{
	struct hsnap_scan_arg arg = {
		.size = sizeof(arg), .start = chunk->start, .end = chunk->end,
		.vec = (uint64_t)(uintptr_t)chunk->written, .vec_len = MAX_REGIONS,
		.category_mask = HSNAP_PAGE_WRITTEN, .return_mask = HSNAP_PAGE_WRITTEN,
	};
	int n = ioctl(sweep->pagemap, HSNAP_SCAN_IOCTL, &arg);
	*ret_walk_end = arg.walk_end;
	return n < 0 || arg.walk_end <= chunk->start ? -1 : n;
}

static uint64_t table_end(uint64_t at, uint64_t end)
{
	uint64_t next = (at | (TABLE - 1)) + 1;
	return next < end ? next : end;
}

/* What is to be asked for of one table, and what it told of that; see find_written(). */
struct table {
	uint64_t start, end;
	size_t asked, num_asked;
	bool doubtful; /* whatever the answers are */
};

/* The pages of the table at `start`.  `region` is the first that may reach into it, and moved on. */
static struct table lay_table(struct chunk *chunk, int num, int *region, uint64_t start, uint64_t end, size_t asked)
{
	struct table table = { .start = start, .end = table_end(start, end), .asked = asked };
	uint64_t silent = start;
	while (*region < num && chunk->written[*region].end <= start)
		++*region;
	for (int i = *region; i < num && chunk->written[i].start < table.end && !table.doubtful; i++) {
		const struct hsnap_page_region *run = &chunk->written[i];
		if (run->start <= silent)
			silent = run->end;
		table.doubtful = run->end - run->start > MAX_RUN * PAGE || asked + MAX_RUN >= MAX_ASKED;
		uint64_t from = run->start > start ? run->start : start, to = run->end < table.end ? run->end : table.end;
		for (; from < to && !table.doubtful; from += PAGE)
			chunk->asked[asked++] = (const void *)(uintptr_t)from;
	}
	if (silent >= table.end || asked == MAX_ASKED)
		table.doubtful = true;
	else if (!table.doubtful)
		chunk->asked[asked++] = (const void *)(uintptr_t)silent;
	table.num_asked = table.doubtful ? 0 : asked - table.asked;
	return table;
}

static bool is_sure(const struct chunk *chunk, const struct table *table)
{
	bool sure = !table->doubtful;
	for (size_t i = 0; i < table->num_asked && sure; i++)
		sure = chunk->there[table->asked + i] >= 0;
	return sure;
}

/* What is known of the table goes to the regions; false: there is no room for it. */
static bool tell_table(const struct hsnap_sweep *sweep, struct chunk *chunk, int num, int region, const struct table *table)
{
	if (!is_sure(chunk, table)) {
		uint64_t came;
		int n = scan(sweep, table->start, table->end, chunk->regions + chunk->num, MAX_REGIONS - chunk->num, &came);
		if (n < 0 || came < table->end)
			return false;
		chunk->num += n;
		return true;
	}
	int before = chunk->num;
	for (int i = region; i < num && chunk->written[i].start < table->end; i++) {
		const struct hsnap_page_region *run = &chunk->written[i];
		if (chunk->num == MAX_REGIONS) {
			chunk->num = before;
			return false;
		}
		chunk->regions[chunk->num++] = (struct hsnap_page_region){
			.start = run->start > table->start ? run->start : table->start,
			.end = run->end < table->end ? run->end : table->end,
			.categories = HSNAP_PAGE_PRESENT | HSNAP_PAGE_WATCHED | HSNAP_PAGE_WRITTEN,
		};
	}
	return true;
}

/* false: another way has to be gone. */
static bool scan_quickly(const struct hsnap_sweep *sweep, struct chunk *chunk)
{
	struct table tables[CHUNK / TABLE + 1];
	int num_tables = 0, region = 0;
	size_t asked = 0;
	uint64_t end;
	int num = find_written(sweep, chunk, &end);
	if (num < 0)
		return false;
	for (uint64_t at = chunk->start; at < end; at = tables[num_tables++].end) {
		tables[num_tables] = lay_table(chunk, num, &region, at, end, asked);
		asked += tables[num_tables].num_asked;
	}
	if (asked && syscall(SYS_move_pages, sweep->pid, asked, chunk->asked, NULL, chunk->there, 0))
		return false;
	chunk->num = region = 0;
	chunk->walk_end = chunk->start;
	for (int i = 0; i < num_tables; chunk->walk_end = tables[i++].end) {
		while (region < num && chunk->written[region].end <= tables[i].start)
			region++;
		if (!tell_table(sweep, chunk, num, region, &tables[i]))
			break;
	}
	return chunk->walk_end > chunk->start;
}

static void scan_chunk(const struct hsnap_sweep *sweep, struct chunk *chunk)
{
	if (!sweep->quick || !scan_quickly(sweep, chunk))
		chunk->num = scan(sweep, chunk->start, chunk->end, chunk->regions, MAX_REGIONS, &chunk->walk_end);
	chunk->state = chunk->num < 0 ? FAILED : DONE;
}

/* false: there was nothing left to be taken. */
static bool take_chunk(struct hsnap_sweep *sweep)
{
	size_t i = atomic_fetch_add(&sweep->next, 1);
	if (i >= sweep->num)
		return false;
	sweep->chunks[i].state = TAKEN;
	scan_chunk(sweep, &sweep->chunks[i]);
	return true;
}

static void take_chunks(void *context)
{
	while (take_chunk(context))
		;
}

/* Linux 6.10 or later. */
static bool is_new_kernel(void)
{
	struct utsname name;
	unsigned major = 0, minor = 0;
	return !uname(&name) && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 10));
}

struct hsnap_sweep *hsnap_sweep_create(pid_t pid, int pagemap, size_t chunks)
{
	struct hsnap_team *team = chunks > 1 ? hsnap_team_create() : NULL;
	struct hsnap_sweep *sweep = team ? calloc(1, sizeof(*sweep)) : NULL;
	struct chunk *room = sweep ? malloc(chunks * sizeof(*room)) : NULL;
	if (!room) {
		free(sweep);
		hsnap_team_destroy(team);
		return NULL;
	}
	memset(room, 0, chunks * sizeof(*room)); /* faulted in before the stop */
	*sweep = (struct hsnap_sweep){
		.team = team, .pid = pid, .pagemap = pagemap, .quick = is_new_kernel(), .chunks = room, .max = chunks,
	};
	return sweep;
}

void hsnap_sweep_destroy(struct hsnap_sweep *sweep)
{
	if (!sweep)
		return;
	hsnap_team_destroy(sweep->team);
	free(sweep->chunks);
	free(sweep);
}

size_t hsnap_sweep_chunks(uint64_t start, uint64_t end)
{
	uint64_t size = end - start;
	return size < CHUNK || size > MAX_SHARED ? 0 : (size_t)((size + CHUNK - 1) / CHUNK);
}

void hsnap_sweep_clear(struct hsnap_sweep *sweep)
{
	/* Somebody who is still at what was given up keeps his chunk: nothing is shared out then. */
	sweep->max = hsnap_team_close(sweep->team) ? sweep->max : 0;
	sweep->num = sweep->asked = 0;
}

void hsnap_sweep_add(struct hsnap_sweep *sweep, uint64_t start, uint64_t end)
{
	for (size_t left = hsnap_sweep_chunks(start, end); left && sweep->num < sweep->max; left--) {
		struct chunk *chunk = &sweep->chunks[sweep->num++];
		chunk->start = start;
		chunk->end = start = left > 1 ? start + CHUNK : end;
		chunk->state = FREE;
	}
}

void hsnap_sweep_begin(struct hsnap_sweep *sweep)
{
	sweep->next = 0;
	if (sweep->num > 1)
		hsnap_team_open(sweep->team, take_chunks, sweep);
}

/* Until it is done, or nobody knows when it will be, help with those that follow. */
static bool await_chunk(struct hsnap_sweep *sweep, const struct chunk *chunk)
{
	while (chunk->state <= TAKEN && take_chunk(sweep))
		;
	uint64_t began = hsnap_now(CLOCK_MONOTONIC);
	while (chunk->state <= TAKEN && hsnap_now(CLOCK_MONOTONIC) - began < MAX_WAIT_NS)
		;
	return chunk->state == DONE;
}

int hsnap_sweep_found(struct hsnap_sweep *sweep, uint64_t start, const struct hsnap_page_region **ret, uint64_t *end)
{
	while (sweep->asked < sweep->num && sweep->chunks[sweep->asked].start < start)
		sweep->asked++;
	struct chunk *chunk = sweep->asked < sweep->num ? &sweep->chunks[sweep->asked] : NULL;
	if (!chunk || chunk->start >= *end)
		return -1;
	if (chunk->start == start && await_chunk(sweep, chunk)) {
		*ret = chunk->regions;
		*end = chunk->walk_end;
		return chunk->num;
	}
	*end = chunk->start == start ? chunk->end : chunk->start;
	return -1;
}
