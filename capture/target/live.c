/* SPDX-License-Identifier: MIT */
/* live.c - reading from the private copy, and what was not copied from the files. */
#include "capture/target/live.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "capture/proc/proc.h"
#include "snapshot/base/cleanup.h"

#define PAGE ((uint64_t)4096)

struct live {
	struct hsnap_copy copy;
	struct hsnap_files files;
	struct hsnap_target *target;
	uint64_t forgotten;   /* what lies below has been given back */
	pthread_mutex_t lock; /* of files: those that hold no code are opened on first use */
};

static int file_of(struct live *live, const struct hsnap_mapping *mapping)
{
	pthread_mutex_lock(&live->lock);
	int fd = hsnap_files_find(&live->files, mapping->device, mapping->inode);
	if (fd < 0 && !mapping->deleted && !hsnap_files_is_lost(&live->files, mapping->device, mapping->inode)) {
		struct hsnap_file file = { .device = mapping->device, .inode = mapping->inode };
		file.fd = hsnap_files_open_inode(&live->files, hsnap_str(&live->target->strings, mapping->path),
						 mapping->device, mapping->inode);
		if (hsnap_vec_push(&live->files.files, file))
			fd = file.fd;
		else
			hsnap_closefdp(&file.fd);
	}
	pthread_mutex_unlock(&live->lock);
	return fd;
}

/* From the mapped file; the last page goes on with zeros after the file's end. */
static size_t read_from_file(struct live *live, const struct hsnap_mapping *mapping, uint64_t address, void *to,
			     size_t len)
{
	int fd = file_of(live, mapping);
	uint64_t offset = mapping->offset + (address - mapping->start);
	ssize_t n = fd < 0 || offset > INT64_MAX ? -1 : pread(fd, to, len, (off_t)offset);
	if (n < 0)
		return 0;
	size_t got = (size_t)n;
	if (got == len)
		return got;
	uint64_t rest = (PAGE - (offset + got) % PAGE) % PAGE;
	if (rest > len - got)
		rest = len - got;
	memset((uint8_t *)to + got, 0, rest);
	return got + rest;
}

/* What was not copied: of an anonymous mapping it is a page that was never written to. */
static size_t read_gap(struct live *live, uint64_t address, void *to, size_t len)
{
	const struct hsnap_mapping *mapping = hsnap_target_mapping(live->target, address);
	if (!mapping || !(mapping->prot & HSNAP_PROT_READ))
		return 0;
	if (len > mapping->end - address)
		len = (size_t)(mapping->end - address);
	if (mapping->inode)
		return read_from_file(live, mapping, address, to, len);
	if (!strncmp(hsnap_str(&live->target->strings, mapping->path), "[v", 2))
		return 0; /* [vvar], [vsyscall] */
	memset(to, 0, len);
	return len;
}

static size_t read_live(void *self, uint64_t address, void *to, size_t len)
{
	struct live *live = self;
	size_t done = 0;
	if (address < live->forgotten)
		return 0;
	while (done < len) {
		uint64_t at = address + done;
		if (at < address)
			break;
		size_t n = len - done;
		const struct hsnap_extent *extent = hsnap_copy_find(&live->copy, at);
		if (extent && extent->start <= at) {
			if (n > extent->end - at)
				n = (size_t)(extent->end - at);
			memcpy((uint8_t *)to + done, live->copy.buffer + extent->at + (at - extent->start), n);
		} else {
			if (extent && n > extent->start - at)
				n = (size_t)(extent->start - at);
			n = read_gap(live, at, (uint8_t *)to + done, n);
		}
		if (!n)
			break;
		done += n;
	}
	return done;
}

static const void *view_live(void *self, uint64_t address, size_t len)
{
	const struct live *live = self;
	const struct hsnap_extent *extent = hsnap_copy_find(&live->copy, address);
	if (!extent || extent->start > address || len > extent->end - address || address < live->forgotten)
		return NULL;
	return live->copy.buffer + extent->at + (address - extent->start);
}

static bool next_run(void *self, uint64_t address, uint64_t *start, uint64_t *end)
{
	const struct live *live = self;
	const struct hsnap_extent *extent = hsnap_copy_find(&live->copy, address);
	if (!extent)
		return false;
	*start = extent->start > address ? extent->start : address;
	*end = extent->end;
	return true;
}

static int open_module(void *self, const struct hsnap_target_module *module)
{
	struct live *live = self;
	const struct hsnap_mapping *mapping = hsnap_target_mapping(live->target, module->start);
	int fd = mapping && mapping->inode ? file_of(live, mapping) : -1;
	return fd < 0 ? -1 : hsnap_files_reopen(fd);
}

static int open_path(void *self, const char *path)
{
	const struct live *live = self;
	return hsnap_files_open_path(&live->files, path);
}

static void forget(void *self, uint64_t address)
{
	struct live *live = self;
	if (address <= live->forgotten)
		return;
	hsnap_copy_forget(&live->copy, live->forgotten, address);
	live->forgotten = address;
}

static bool relieve(void *self)
{
	const struct live *live = self;
	return hsnap_copy_relieve(&live->copy);
}

static void close_live(void *self)
{
	struct live *live = self;
	hsnap_copy_deinit(&live->copy);
	hsnap_files_deinit(&live->files);
	pthread_mutex_destroy(&live->lock);
	free(live);
}

static const struct hsnap_target_ops live_ops = {
	.read = read_live,
	.view = view_live,
	.next_run = next_run,
	.open_module = open_module,
	.open_path = open_path,
	.forget = forget,
	.relieve = relieve,
	.close = close_live,
};

enum hsnap_code hsnap_mappings_parse(struct hsnap_target *target, const char *maps, struct hsnap_error *err)
{
	for (struct hsnap_maps_line line; hsnap_maps_next(&maps, &line);) {
		struct hsnap_mapping mapping = {
			.start = line.start, .end = line.end, .offset = line.offset, .device = line.device,
			.inode = line.inode, .prot = line.prot, .deleted = line.deleted,
			.path = hsnap_strings_add_len(&target->strings, line.path, line.path_len),
		};
		/* The kernel keeps this order; the look-ups rely on it. */
		if (target->mappings.num && target->mappings.items[target->mappings.num - 1].end > line.start)
			return hsnap_fail(err, HSNAP_FORMAT, 0, "mappings overlap at 0x%lx", line.start);
		if (mapping.path == HSNAP_NO_STRING || !hsnap_vec_push(&target->mappings, mapping))
			return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for the mappings");
	}
	return HSNAP_OK;
}

enum hsnap_code hsnap_live_create(pid_t pid, const char *maps, uint64_t headers_address,
				  struct hsnap_copy *take_copy, struct hsnap_files *take_files,
				  struct hsnap_target **ret, struct hsnap_error *err)
{
	hsnap_auto(hsnap_target_closep) struct hsnap_target *target = calloc(1, sizeof(*target));
	struct live *live = calloc(1, sizeof(*live));
	if (!target || !live) {
		free(live);
		hsnap_copy_deinit(take_copy);
		hsnap_files_deinit(take_files);
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	}
	*live = (struct live){ .copy = *take_copy, .files = *take_files, .target = target };
	pthread_mutex_init(&live->lock, NULL);
	*take_copy = (struct hsnap_copy){ .scratch = -1 };
	*take_files = (struct hsnap_files){ .root = -1 };
	target->ops = &live_ops;
	target->self = live;
	target->pid = (uint64_t)pid;
	enum hsnap_code code = hsnap_mappings_parse(target, maps, err);
	if (!code)
		code = hsnap_modules_find(target, headers_address, err);
	if (code)
		return code;
	*ret = hsnap_take(target);
	return HSNAP_OK;
}
