/* SPDX-License-Identifier: MIT */
/* core.c - opening a core file, and reading the memory in it. */
#include "capture/core/core.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/core/image.h"
#include "capture/target/files.h"
#include "capture/target/live.h"
#include "snapshot/base/cleanup.h"

#define MUCH ((uint64_t)256 << 10) /* private memory that nobody touched is a stack for signals as a rule */

size_t hsnap_core_pread(const struct hsnap_core_image *core, uint64_t at, void *to, size_t len)
{
	size_t done = 0;
	while (done < len && at + done >= at && at + done <= INT64_MAX) {
		ssize_t n = pread(core->fd, (uint8_t *)to + done, len - done, (off_t)(at + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

const struct hsnap_core_segment *hsnap_core_segment_at(const struct hsnap_core_image *core, uint64_t address)
{
	size_t low = 0, high = core->segments.num;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct hsnap_core_segment *segment = &core->segments.items[middle];
		if (address < segment->start)
			high = middle;
		else if (address >= segment->end)
			low = middle + 1;
		else
			return segment;
	}
	return NULL;
}

size_t hsnap_core_read_dumped(const struct hsnap_core_image *core, uint64_t address, void *to, size_t len)
{
	size_t done = 0;
	while (done < len) {
		const struct hsnap_core_segment *segment = hsnap_core_segment_at(core, address + done);
		uint64_t at = segment ? address + done - segment->start : 0;
		if (!segment || at >= segment->there)
			break;
		size_t want = len - done < segment->there - at ? len - done : (size_t)(segment->there - at);
		size_t got = hsnap_core_pread(core, segment->at + at, (uint8_t *)to + done, want);
		done += got;
		if (got < want)
			break;
	}
	return done;
}

/* From the file; the last page goes on with zeros after the file's end. */
static size_t read_file(const struct hsnap_core_file *file, uint64_t offset, void *to, size_t len)
{
	ssize_t n = file->fd < 0 || offset > INT64_MAX ? -1 : pread(file->fd, to, len, (off_t)offset);
	if (n < 0)
		return 0;
	size_t got = (size_t)n;
	uint64_t rest = (HSNAP_CORE_PAGE - (offset + got) % HSNAP_CORE_PAGE) % HSNAP_CORE_PAGE;
	if (rest > len - got)
		rest = len - got;
	memset((uint8_t *)to + got, 0, rest);
	return got + rest;
}

/*
 * What was not dumped.  Of a file that is its page, unless the process could write to it and it is
 * nobody's module: then others could, too.  Of anonymous memory it is a page that nobody touched.
 */
static size_t read_gap(const struct hsnap_core_image *core, uint64_t address, void *to, size_t len)
{
	const struct hsnap_mapping *mapping = hsnap_target_mapping(core->target, address);
	const struct hsnap_core_segment *segment = hsnap_core_segment_at(core, address);
	if (!mapping || !(mapping->prot & HSNAP_PROT_READ) ||
	    (segment && address - segment->start < segment->dumped)) /* lost where the core is cut short */
		return 0;
	if (len > mapping->end - address)
		len = (size_t)(mapping->end - address);
	if (mapping->inode)
		return mapping->prot & HSNAP_PROT_WRITE && !mapping->module
			       ? 0
			       : read_file(&core->files.items[mapping->inode], mapping->offset + (address - mapping->start),
					   to, len);
	if (!(mapping->prot & HSNAP_PROT_WRITE))
		return 0; /* [vvar] */
	memset(to, 0, len);
	return len;
}

/* One step of a read: bytes that lie in one place. */
static size_t read_piece(const struct hsnap_core_image *core, uint64_t address, void *to, size_t len)
{
	const struct hsnap_extent *extent = hsnap_copy_find(&core->copy, address);
	if (extent && extent->start <= address) {
		if (len > extent->end - address)
			len = (size_t)(extent->end - address);
		memcpy(to, core->copy.buffer + extent->at + (address - extent->start), len);
		return len;
	}
	if (extent && len > extent->start - address)
		len = (size_t)(extent->start - address);
	size_t got = hsnap_core_read_dumped(core, address, to, len);
	return got ? got : read_gap(core, address, to, len);
}

static size_t read_core(void *self, uint64_t address, void *to, size_t len)
{
	size_t done = 0;
	while (done < len && address + done >= address) {
		size_t n = read_piece(self, address + done, (uint8_t *)to + done, len - done);
		if (!n)
			break;
		done += n;
	}
	return done;
}

static const void *view_core(void *self, uint64_t address, size_t len)
{
	const struct hsnap_core_image *core = self;
	const struct hsnap_extent *extent = hsnap_copy_find(&core->copy, address);
	if (!extent || extent->start > address || len > extent->end - address)
		return NULL;
	return core->copy.buffer + extent->at + (address - extent->start);
}

static bool next_run(void *self, uint64_t address, uint64_t *start, uint64_t *end)
{
	const struct hsnap_core_image *core = self;
	const struct hsnap_extent *extent = hsnap_copy_find(&core->copy, address);
	if (!extent)
		return false;
	*start = extent->start > address ? extent->start : address;
	*end = extent->end;
	return true;
}

static int open_module(void *self, const struct hsnap_target_module *module)
{
	const struct hsnap_core_image *core = self;
	const struct hsnap_mapping *mapping = hsnap_target_mapping(core->target, module->start);
	int fd = mapping ? core->files.items[mapping->inode].fd : -1;
	return fd < 0 ? -1 : hsnap_files_reopen(fd);
}

/* As this machine sees it: whether it is the right one, who asked finds out. */
static int open_path(void *self, const char *path)
{
	struct hsnap_files root = { .root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) };
	(void)self;
	int fd = hsnap_files_open_path(&root, path);
	hsnap_files_deinit(&root);
	return fd;
}

static void close_core(void *self)
{
	struct hsnap_core_image *core = self;
	hsnap_closefdp(&core->fd);
	for (size_t i = 0; i < core->files.num; i++)
		hsnap_closefdp(&core->files.items[i].fd);
	hsnap_vec_deinit(&core->files);
	hsnap_vec_deinit(&core->ranges);
	hsnap_vec_deinit(&core->segments);
	hsnap_copy_deinit(&core->copy);
	free(core);
}

const struct hsnap_target_ops hsnap_core_ops = {
	.read = read_core,
	.view = view_core,
	.next_run = next_run,
	.open_module = open_module,
	.open_path = open_path,
	.close = close_core,
};

static HSNAP_PRINTF(2, 0) void add_text(char texts[HSNAP_CORE_NOTES][200], const char *format, va_list args)
{
	size_t i = 0;
	while (i < HSNAP_CORE_NOTES && texts[i][0])
		i++;
	if (i < HSNAP_CORE_NOTES)
		vsnprintf(texts[i], sizeof(texts[i]), format, args);
}

void hsnap_core_tell(struct hsnap_core_facts *facts, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	add_text(facts->notes, format, args);
	va_end(args);
}

void hsnap_core_miss(struct hsnap_core_facts *facts, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	add_text(facts->partial, format, args);
	va_end(args);
}

static void tell_size(const struct hsnap_core_image *core, struct hsnap_core_facts *facts)
{
	if (core->size >= core->wanted)
		return;
	if (core->wanted >= (uint64_t)10 << 20)
		hsnap_core_miss(facts, "the core is cut short: %" PRIu64 " of %" PRIu64 " MiB are there",
				core->size >> 20, (core->wanted + (1 << 20) - 1) >> 20);
	else
		hsnap_core_miss(facts, "the core is cut short: %" PRIu64 " of %" PRIu64 " KiB are there",
				core->size >> 10, (core->wanted + 1023) >> 10);
}

/* ELF files that ran and cannot be told from other mappings: their data is not known as such. */
static void tell_modules(const struct hsnap_core_image *core, struct hsnap_core_facts *facts)
{
	size_t unknown = 0;
	if (core->size < core->wanted)
		return; /* said already, and who knows what else it lacks */
	for (size_t i = 0; i < core->ranges.num; i++) {
		const struct hsnap_core_range *range = &core->ranges.items[i];
		const struct hsnap_core_file *file = &core->files.items[range->file];
		unknown += !range->offset && file->fd < 0 && file->code && file->dumped &&
			   !hsnap_target_module(core->target, range->start);
	}
	if (unknown)
		hsnap_core_miss(facts, "the core lacks the ELF headers of %zu %s (coredump_filter bit 4)", unknown,
				unknown > 1 ? "files that are not here" : "file that is not here");
}

/* Bytes of a mapping that a live take would have copied and that were not dumped. */
static uint64_t left_out(const struct hsnap_core_image *core, const struct hsnap_mapping *mapping)
{
	uint64_t size = mapping->end - mapping->start;
	const struct hsnap_core_segment *segment = hsnap_core_segment_at(core, mapping->start);
	const char *path = hsnap_str(&core->target->strings, mapping->path);
	/* gcore has no segment for it: then it shows by its name that it is shared memory. */
	if (!segment)
		return strncmp(path, "/dev/shm/", 9) ? 0 : size;
	uint64_t dumped_end = segment->start + segment->dumped;
	if (!(segment->prot & HSNAP_PROT_WRITE) || dumped_end >= mapping->end)
		return 0;
	return dumped_end > mapping->start ? mapping->end - dumped_end : size;
}

/*
 * Of what is shared all may have been in use; of private memory, what nobody ever touched is not dumped either.
 * Where that is much, it is as likely as not what somebody kept out: then the core is not known to be whole.
 */
static void tell_left_out(const struct hsnap_core_image *core, struct hsnap_core_facts *facts)
{
	uint64_t shared = 0, private = 0;
	for (size_t i = 0; i < core->target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &core->target->mappings.items[i];
		if (!mapping->module)
			*(mapping->inode ? &shared : &private) += left_out(core, mapping);
	}
	if (shared)
		hsnap_core_miss(facts, "the core lacks %" PRIu64 " KiB of shared memory and of files that could be written to "
				"(coredump_filter bits 1 and 3): what only that holds counts as unreachable", shared >> 10);
	if (private)
		(private >= MUCH && private >= core->copy.used / 10 ? hsnap_core_miss : hsnap_core_tell)(facts, "%" PRIu64 " KiB of private memory are not in the core: never touched, or kept out "
				"of it (MADV_DONTDUMP); what only that holds counts as unreachable", private >> 10);
	if (core->gaps)
		hsnap_core_tell(facts, "a core of gcore does not tell of memory that was kept out of it (MADV_DONTDUMP): what only that "
				"holds counts as unreachable");
}

static enum hsnap_code fill(struct hsnap_core_image *core, const struct hsnap_core_options *options,
			    struct hsnap_core_facts *facts, struct hsnap_error *err)
{
	struct hsnap_core_note_list notes = { 0 };
	enum hsnap_code code = hsnap_core_read_headers(core, &notes, err);
	tell_size(core, facts);
	if (!code)
		code = hsnap_core_read_notes(core, &notes, facts, err);
	hsnap_vec_deinit(&notes);
	if (!code)
		code = hsnap_core_make_mappings(core, err);
	if (!code)
		code = hsnap_core_find_files(core, options->exe, err);
	if (!code)
		code = hsnap_modules_find(core->target, core->headers_address, err);
	if (!code)
		code = hsnap_core_copy(core, options, err);
	if (code)
		return code;
	hsnap_core_tell_files(core, facts);
	tell_modules(core, facts);
	tell_left_out(core, facts);
	hsnap_core_tell(facts, "a core lacks what the kernel keeps (epoll data, timers): what only that holds counts as unreachable");
	const char *exe = hsnap_str(&core->target->strings, core->files.items[core->exe].path);
	snprintf(facts->exe, sizeof(facts->exe), "%s", exe);
	if (!facts->comm[0] && core->exe) {
		const char *slash = strrchr(exe, '/');
		snprintf(facts->comm, 16, "%s", slash ? slash + 1 : exe);
	}
	return HSNAP_OK;
}

enum hsnap_code hsnap_core_open_fd(int take_fd, const struct hsnap_core_options *options, struct hsnap_target **ret,
				   struct hsnap_core_facts *facts, struct hsnap_error *err)
{
	struct stat st;
	*facts = (struct hsnap_core_facts){ 0 };
	hsnap_auto(hsnap_target_closep) struct hsnap_target *target = calloc(1, sizeof(*target));
	struct hsnap_core_image *core = calloc(1, sizeof(*core));
	if (!target || !core || fstat(take_fd, &st)) {
		free(core);
		close(take_fd);
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	}
	*core = (struct hsnap_core_image){ .fd = take_fd, .copy.scratch = -1, .target = target, .size = (uint64_t)st.st_size,
					   .written = st.st_mtim };
	facts->taken_at = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	target->ops = &hsnap_core_ops;
	target->self = core;
	if (!S_ISREG(st.st_mode))
		return hsnap_fail(err, HSNAP_REFUSED, 0, "it is no regular file");
	enum hsnap_code code = fill(core, options, facts, err);
	if (code)
		return code;
	*ret = hsnap_take(target);
	return HSNAP_OK;
}

enum hsnap_code hsnap_core_open(const struct hsnap_core_options *options, struct hsnap_target **ret,
				struct hsnap_core_facts *facts, struct hsnap_error *err)
{
	*facts = (struct hsnap_core_facts){ 0 };
	hsnap_auto(hsnap_closefdp) int handle = open(options->path, O_PATH | O_CLOEXEC);
	struct stat st;
	if (handle < 0 || fstat(handle, &st))
		return hsnap_fail(err, HSNAP_IO, 0, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return hsnap_fail(err, HSNAP_REFUSED, 0, "it is no regular file");
	int fd = hsnap_files_reopen(handle);
	if (fd < 0)
		return hsnap_fail(err, HSNAP_IO, 0, "%s", strerror(errno));
	return hsnap_core_open_fd(fd, options, ret, facts, err);
}
