/* SPDX-License-Identifier: MIT */
/*
 * copy.c - the pages that the process wrote, out of the core into memory of our own.
 *
 * Read and not mapped: a file that somebody cuts short while it is mapped kills who touches it.
 * Holes, and stretches of zeros, stay out: they are pages that nobody ever wrote to.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "capture/core/image.h"

#define PIECE ((uint64_t)64 << 10)
#define STAGE ((size_t)16 << 20) /* of memory, where the pages go to a disk */

/*
 * Writable memory, and what was written to before it was made read-only: relro is of a module.
 * Program text and files that were only read are left where they are.
 */
static bool is_written(const struct hsnap_mapping *mapping)
{
	if (mapping->prot & HSNAP_PROT_WRITE)
		return true;
	return mapping->prot & HSNAP_PROT_READ && !(mapping->prot & HSNAP_PROT_EXEC) &&
	       (mapping->module || !mapping->inode);
}

/* The next stretch of data in [*at, end), in whole pages from `start` on; false: there is none. */
static bool next_data(const struct hsnap_core_image *core, uint64_t start, uint64_t *at, uint64_t end,
		      uint64_t *ret_end)
{
	off_t data = *at < end ? lseek(core->fd, (off_t)*at, SEEK_DATA) : (off_t)end;
	if (data < 0 && errno != ENXIO) { /* this file system does not know */
		*ret_end = end;
		return true;
	}
	if (data < 0 || (uint64_t)data >= end)
		return false;
	off_t hole = lseek(core->fd, data, SEEK_HOLE);
	*at = start + (((uint64_t)data - start) & ~(HSNAP_CORE_PAGE - 1));
	uint64_t stop = hole > data ? (uint64_t)hole : end;
	stop = start + ((stop - start + HSNAP_CORE_PAGE - 1) & ~(HSNAP_CORE_PAGE - 1));
	*ret_end = stop < end ? stop : end;
	return true;
}

/* The file behind an address, where it is known to be the one; else NULL. */
static const struct hsnap_core_file *file_behind(const struct hsnap_core_image *core, uint64_t address,
						 uint64_t *ret_offset)
{
	const struct hsnap_mapping *mapping = hsnap_target_mapping(core->target, address);
	if (!mapping || !mapping->inode || core->files.items[mapping->inode].fd < 0)
		return NULL;
	*ret_offset = mapping->offset + (address - mapping->start);
	return &core->files.items[mapping->inode];
}

/* A page of a file that nobody wrote to holds nothing of the process's. */
static bool is_file_page(const struct hsnap_core_image *core, uint64_t address, const uint8_t *bytes, size_t len)
{
	uint8_t page[HSNAP_CORE_PAGE] = { 0 };
	uint64_t offset;
	const struct hsnap_core_file *file = file_behind(core, address, &offset);
	return file && len <= sizeof(page) && offset <= INT64_MAX && pread(file->fd, page, len, (off_t)offset) > 0 &&
	       !memcmp(page, bytes, len);
}

/* What is copied at once; of a file single pages, since each may be the file's or the process's. */
static uint64_t piece_at(const struct hsnap_core_image *core, uint64_t address)
{
	uint64_t offset;
	return file_behind(core, address, &offset) ? HSNAP_CORE_PAGE : PIECE;
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
	return !*bytes && !memcmp(bytes, bytes + 1, len - 1);
}

/* Calls `work` with each stretch of data of the process's memory, in order. */
typedef bool stretch_fn(struct hsnap_core_image *core, uint64_t address, uint64_t at, uint64_t len, void *context);

static bool for_each_stretch(struct hsnap_core_image *core, stretch_fn *work, void *context)
{
	for (size_t i = 0; i < core->target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &core->target->mappings.items[i];
		const struct hsnap_core_segment *segment = hsnap_core_segment_at(core, mapping->start);
		if (!segment || !is_written(mapping))
			continue;
		uint64_t at = segment->at + (mapping->start - segment->start);
		uint64_t end = segment->at + segment->there, limit = at + (mapping->end - mapping->start);
		if (end > limit)
			end = limit;
		uint64_t start = at;
		for (uint64_t stop; next_data(core, start, &at, end, &stop); at = stop)
			if (!work(core, mapping->start + (at - start), at, stop - at, context))
				return false;
	}
	return true;
}

struct need {
	uint64_t bytes, stretches;
};

static bool count(struct hsnap_core_image *core, uint64_t address, uint64_t at, uint64_t len, void *context)
{
	struct need *need = context;
	(void)at;
	need->bytes += len;
	need->stretches += 1 + len / piece_at(core, address);
	return true;
}

/* Of the next bytes: where they go, and how many at once.  false with errno: the scratch file failed. */
static bool wait_for_room(struct hsnap_copy *to, struct iovec *ret)
{
	struct iovec room[2];
	int num;
	while (!(num = hsnap_copy_room(to, room)))
		if (!hsnap_copy_wait(to))
			return false;
	*ret = room[0];
	return true;
}

static bool copy(struct hsnap_core_image *core, uint64_t address, uint64_t at, uint64_t len, void *context)
{
	struct hsnap_copy *to = &core->copy;
	uint64_t piece = piece_at(core, address);
	(void)context;
	for (uint64_t done = 0; done < len;) {
		size_t want = (size_t)(len - done < piece ? len - done : piece);
		struct iovec room;
		errno = EAGAIN;
		if (want > to->size - to->used || !wait_for_room(to, &room))
			return false; /* there is more than there was a moment ago */
		if (want > room.iov_len)
			want = room.iov_len;
		size_t got = hsnap_core_pread(core, at + done, room.iov_base, want);
		if (!got)
			break; /* cut while it is read */
		errno = EAGAIN;
		if (!is_zero(room.iov_base, got) && !is_file_page(core, address + done, room.iov_base, got) &&
		    !hsnap_copy_add(to, address + done, got))
			return false;
		done += got;
	}
	return true;
}

static enum hsnap_code fill(struct hsnap_core_image *core, const struct need *need, int scratch, struct hsnap_error *err)
{
	bool done = hsnap_copy_init(&core->copy, need->bytes, need->stretches + 1, scratch) &&
		    hsnap_copy_stage(&core->copy, STAGE);
	if (!done && (scratch < 0 || errno == ENOMEM))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory for a copy of %" PRIu64 " MiB", need->bytes >> 20);
	if (!done)
		return hsnap_fail(err, HSNAP_REFUSED, 0, "cannot make a scratch file of %" PRIu64 " MiB: %s", need->bytes >> 20,
				  strerror(errno));
	if (for_each_stretch(core, copy, NULL) && hsnap_copy_finish(&core->copy))
		return HSNAP_OK;
	return errno == EAGAIN ? hsnap_fail(err, HSNAP_IO, 0, "it changes while it is read")
			       : hsnap_fail(err, HSNAP_IO, 0, "cannot write the scratch file: %s", strerror(errno));
}

enum hsnap_code hsnap_core_copy(struct hsnap_core_image *core, const struct hsnap_core_options *options,
				struct hsnap_error *err)
{
	struct need need = { 0 };
	for_each_stretch(core, count, &need);
	if (!need.bytes && core->size < core->wanted)
		return hsnap_fail(err, HSNAP_REFUSED, 0,
				  "it is cut short: %" PRIu64 " of %" PRIu64 " KiB are there, no memory of the process among them",
				  core->size >> 10, (core->wanted + 1023) >> 10);
	if (!need.bytes) {
		hsnap_fail(err, HSNAP_REFUSED, 0, "there is no memory of the process in it");
		return hsnap_hint(err, HSNAP_REFUSED, "before the next one: echo 0x33 > /proc/PID/coredump_filter; ulimit -c unlimited");
	}
	enum hsnap_code code = options->has_room ? options->has_room(options->context, need.bytes, err) : HSNAP_OK;
	return code ? code : fill(core, &need, options->scratch, err);
}
