/* SPDX-License-Identifier: MIT */
/*
 * notes.c - threads, mapped files and names: what stands beside the memory in a core.
 *
 * Layouts: Linux 6.1 fs/binfmt_elf.c (fill_note_info, fill_files_note), include/uapi/linux/elfcore.h;
 * gdb 13 gcore writes the same.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>

#include "capture/core/image.h"
#include "capture/target/user_regs.h"
#include "snapshot/base/bytes.h"
#include "snapshot/base/cleanup.h"

#define MAX_NAME 64u
#define MAX_VALUE ((uint64_t)64 << 20) /* of one note: the list of files may be long */
/* Twice what the kernel lets run by itself (kernel.pid_max, and vm.max_map_count by two mappings a stack). */
#define MAX_THREADS 65536u

struct reading {
	struct hsnap_core_image *core;
	struct hsnap_core_facts *facts;
	bool has_files;
	uint64_t threads; /* that the core tells of */
};

static bool add_thread(struct reading *reading, const uint8_t *value, size_t size)
{
	struct hsnap_target *target = reading->core->target;
	struct elf_prstatus status;
	struct user_regs_struct user;
	struct hsnap_thread thread = { 0 };
	if (size < sizeof(status) || ++reading->threads > MAX_THREADS)
		return true;
	memcpy(&status, value, sizeof(status));
	_Static_assert(sizeof(user) == sizeof(status.pr_reg), "the kernel's and ptrace's registers are the same");
	memcpy(&user, &status.pr_reg, sizeof(user));
	thread.tid = (uint32_t)status.pr_pid;
	hsnap_user_regs_to_regs(&user, &thread.regs, &thread.thread_pointer);
	return hsnap_vec_push(&target->threads, thread);
}

static void read_process(struct reading *reading, const uint8_t *value, size_t size)
{
	struct elf_prpsinfo info;
	if (size < sizeof(info))
		return;
	memcpy(&info, value, sizeof(info));
	reading->facts->pid = info.pr_pid > 0 ? (uint64_t)info.pr_pid : 0;
	memcpy(reading->facts->comm, info.pr_fname, sizeof(info.pr_fname));
	reading->facts->comm[sizeof(info.pr_fname)] = '\0';
}

static void read_auxv(struct reading *reading, const uint8_t *value, size_t size)
{
	struct hsnap_bytes bytes = hsnap_bytes(value, size);
	while (hsnap_bytes_left(&bytes) >= 16) {
		uint64_t type = hsnap_bytes_u64(&bytes), number = hsnap_bytes_u64(&bytes);
		if (type == AT_PHDR)
			reading->core->headers_address = number;
		else if (type == AT_SYSINFO_EHDR)
			reading->core->vdso = number;
	}
}

struct named_range {
	struct hsnap_core_range range;
	hsnap_string path;
	bool deleted;
};
struct named_ranges hsnap_vec_body(struct named_range);

static int by_path(const void *a, const void *b)
{
	const struct named_range *x = a, *y = b;
	if (x->path != y->path)
		return x->path < y->path ? -1 : 1;
	return x->range.start < y->range.start ? -1 : x->range.start > y->range.start;
}

static int by_start(const void *a, const void *b)
{
	const struct hsnap_core_range *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Each file once, however many of its ranges there are. */
static bool number_files(struct hsnap_core_image *core, struct named_ranges *named)
{
	if (named->num)
		qsort(named->items, named->num, sizeof(*named->items), by_path);
	for (size_t i = 0; i < named->num; i++) {
		struct named_range *item = &named->items[i];
		struct hsnap_core_file file = { .path = item->path, .deleted = item->deleted, .fd = -1 };
		if ((!i || item[-1].path != item->path) && !hsnap_vec_push(&core->files, file))
			return false;
		item->range.file = (uint32_t)core->files.num - 1;
		if (!hsnap_vec_push(&core->ranges, item->range))
			return false;
	}
	if (core->ranges.num)
		qsort(core->ranges.items, core->ranges.num, sizeof(*core->ranges.items), by_start);
	size_t kept = 0;
	for (size_t i = 0; i < core->ranges.num; i++)
		if (!kept || core->ranges.items[kept - 1].end <= core->ranges.items[i].start)
			core->ranges.items[kept++] = core->ranges.items[i];
	core->ranges.num = kept;
	return true;
}

/* The next name; NULL where it does not end. */
static const char *next_name(struct hsnap_bytes *names, size_t *ret_len)
{
	const char *name = (const char *)names->at;
	const void *end = memchr(name, '\0', hsnap_bytes_left(names));
	if (!end)
		return NULL;
	*ret_len = (size_t)((const char *)end - name);
	return hsnap_bytes_get(names, *ret_len + 1);
}

static bool is_range(const struct hsnap_core_range *range)
{
	return range->start < range->end && !(range->start % HSNAP_CORE_PAGE) && !(range->end % HSNAP_CORE_PAGE) &&
	       range->offset <= INT64_MAX && range->end - range->start <= INT64_MAX - range->offset;
}

static bool gather_ranges(struct hsnap_core_image *core, const uint8_t *value, size_t size, struct named_ranges *ret)
{
	struct hsnap_bytes bytes = hsnap_bytes(value, size), names;
	uint64_t num = hsnap_bytes_u64(&bytes), page = hsnap_bytes_u64(&bytes);
	if (bytes.bad || num > hsnap_bytes_left(&bytes) / 24)
		return true;
	names = hsnap_bytes(bytes.at + num * 24, hsnap_bytes_left(&bytes) - num * 24);
	for (uint64_t i = 0; i < num; i++) {
		static const char deleted[] = " (deleted)";
		struct named_range item = { .range.start = hsnap_bytes_u64(&bytes), .range.end = hsnap_bytes_u64(&bytes) };
		bool fits = !__builtin_mul_overflow(hsnap_bytes_u64(&bytes), page, &item.range.offset);
		size_t len, tail = sizeof(deleted) - 1;
		const char *name = next_name(&names, &len);
		if (!name)
			break;
		item.deleted = len > tail && !memcmp(name + len - tail, deleted, tail);
		item.path = hsnap_strings_add_len(&core->target->strings, name, item.deleted ? len - tail : len);
		if (item.path == HSNAP_NO_STRING)
			return false;
		if (fits && is_range(&item.range) && !hsnap_vec_push(ret, item))
			return false;
	}
	return true;
}

static bool read_files(struct reading *reading, const uint8_t *value, size_t size)
{
	struct named_ranges named = { 0 };
	if (reading->has_files)
		return true; /* a second list would be of somebody's making */
	bool ok = gather_ranges(reading->core, value, size, &named) && number_files(reading->core, &named);
	reading->has_files = named.num > 0;
	hsnap_vec_deinit(&named);
	return ok;
}

static bool is_wanted(uint32_t type)
{
	return type == NT_PRSTATUS || type == NT_PRPSINFO || type == NT_AUXV || type == NT_FILE;
}

/* false: out of memory. */
static bool read_value(struct reading *reading, uint32_t type, uint64_t at, size_t size)
{
	hsnap_auto(hsnap_freep) uint8_t *value = malloc(size ? size : 1);
	if (!value)
		return false;
	size_t got = hsnap_core_pread(reading->core, at, value, size);
	switch (type) {
	case NT_PRSTATUS: return add_thread(reading, value, got);
	case NT_FILE: return read_files(reading, value, got);
	case NT_AUXV: read_auxv(reading, value, got); break;
	case NT_PRPSINFO: read_process(reading, value, got); break;
	default: break;
	}
	return true;
}

static uint64_t aligned(uint64_t size)
{
	return (size + 3) & ~(uint64_t)3;
}

static bool read_part(struct reading *reading, struct hsnap_core_notes part)
{
	const struct hsnap_core_image *core = reading->core;
	uint64_t end = part.at + part.size < core->size ? part.at + part.size : core->size;
	for (uint64_t at = part.at; at < end && end - at >= sizeof(Elf64_Nhdr);) {
		Elf64_Nhdr head;
		char name[MAX_NAME] = { 0 };
		if (hsnap_core_pread(core, at, &head, sizeof(head)) < sizeof(head))
			return true;
		uint64_t value = at + sizeof(head) + aligned(head.n_namesz);
		uint64_t size = value < end && end - value < head.n_descsz ? end - value : head.n_descsz;
		if (value >= end && head.n_descsz)
			return true;
		hsnap_core_pread(core, at + sizeof(head), name, head.n_namesz < MAX_NAME ? head.n_namesz : MAX_NAME - 1);
		if (!strcmp(name, "CORE") && is_wanted(head.n_type) && size <= MAX_VALUE &&
		    !read_value(reading, head.n_type, value, (size_t)size))
			return false;
		at = value + aligned(head.n_descsz);
	}
	return true;
}

/* The kernel puts the thread that failed first; ours is the first one of the process. */
static void put_main_first(struct hsnap_target *target, struct hsnap_core_facts *facts)
{
	struct hsnap_thread *threads = target->threads.items;
	if (!facts->pid && target->threads.num)
		facts->pid = threads[0].tid;
	for (size_t i = 0; i < target->threads.num; i++) {
		if (threads[i].tid != facts->pid)
			continue;
		struct hsnap_thread main = threads[i];
		memmove(threads + 1, threads, i * sizeof(main));
		memcpy(main.name, facts->comm, sizeof(main.name) - 1);
		threads[0] = main;
		break;
	}
}

enum hsnap_code hsnap_core_read_notes(struct hsnap_core_image *core, const struct hsnap_core_note_list *notes,
				      struct hsnap_core_facts *facts, struct hsnap_error *err)
{
	struct reading reading = { .core = core, .facts = facts };
	if (!hsnap_vec_push(&core->files, (struct hsnap_core_file){ .fd = -1 }))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the notes");
	for (size_t i = 0; i < notes->num; i++)
		if (!read_part(&reading, notes->items[i]))
			return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the notes");
	put_main_first(core->target, facts);
	core->target->pid = facts->pid;
	if (!reading.has_files)
		hsnap_core_miss(facts, "the core does not tell which files were mapped: its libraries are unknown");
	if (reading.threads > MAX_THREADS)
		hsnap_core_miss(facts, "%" PRIu64 " of the core's %" PRIu64 " threads are left out: more than %u are not looked at",
				reading.threads - MAX_THREADS, reading.threads, MAX_THREADS);
	if (!core->target->threads.num)
		hsnap_core_miss(facts, "the core does not tell of its threads: nothing is known to be on a stack");
	return HSNAP_OK;
}
