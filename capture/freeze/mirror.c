/* SPDX-License-Identifier: MIT */
/* mirror.c - pieces to be read, and the places they have. */
#include "capture/freeze/mirror.h"

#include <errno.h>
#include <stdlib.h>

#include "snapshot/base/pages.h"

#define PAGE ((uint64_t)4096)

void hsnap_mirror_begin(struct hsnap_mirror *mirror)
{
	mirror->at = 0;
	mirror->next = 0;
	mirror->in_order = mirror->copy->num_extents;
	mirror->used = mirror->copy->used;
	mirror->outgrown = mirror->gone = false;
	mirror->missing_is = HSNAP_MISSING_READ;
	mirror->num_missing = 0;
	mirror->read = mirror->lost = 0;
	mirror->num = 0;
	mirror->waiting = 0;
}

static bool is_unreadable(const struct hsnap_mirror *mirror, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < mirror->num_unreadable; i++)
		if (mirror->unreadable[i] >= start && mirror->unreadable[i] < end)
			return true;
	return false;
}

/* These were read into their place. */
static void forgive(struct hsnap_mirror *mirror, uint64_t start, uint64_t end)
{
	size_t kept = 0;
	for (size_t i = 0; i < mirror->num_unreadable; i++)
		if (mirror->unreadable[i] < start || mirror->unreadable[i] >= end)
			mirror->unreadable[kept++] = mirror->unreadable[i];
	mirror->num_unreadable = kept;
}

/* Bytes at `at` of the buffer are those of the process from `start` on. */
static void note_new(struct hsnap_mirror *mirror, uint64_t start, uint64_t len, uint64_t at)
{
	struct hsnap_copy *copy = mirror->copy;
	struct hsnap_extent *last = copy->num_extents > mirror->in_order ? &copy->extents[copy->num_extents - 1] : NULL;
	if (last && last->end == start && last->at + (last->end - last->start) == at) {
		last->end += len;
		return;
	}
	if (copy->num_extents == copy->max_extents) {
		mirror->outgrown = true;
		return;
	}
	copy->extents[copy->num_extents++] = (struct hsnap_extent){ .start = start, .end = start + len, .at = at };
}

static bool is_new(const struct hsnap_mirror *mirror, const struct iovec *to)
{
	return (uint8_t *)to->iov_base >= mirror->copy->buffer + mirror->copy->used;
}

static void note_read(struct hsnap_mirror *mirror, const struct iovec *from, const struct iovec *to, size_t len)
{
	uint64_t start = (uint64_t)(uintptr_t)from->iov_base;
	mirror->read += len;
	if (!len)
		return;
	if (is_new(mirror, to))
		note_new(mirror, start, len, (uint64_t)((uint8_t *)to->iov_base - mirror->copy->buffer));
	else if (mirror->num_unreadable)
		forgive(mirror, start, start + len);
}

/* A page that cannot be read.  Of a new one nothing is noted: it is not in the copy. */
static void note_unreadable(struct hsnap_mirror *mirror, const struct iovec *from, const struct iovec *to)
{
	uint64_t page = (uint64_t)(uintptr_t)from->iov_base & ~(PAGE - 1);
	mirror->lost += PAGE;
	if (is_new(mirror, to) || is_unreadable(mirror, page, page + PAGE))
		return;
	if (mirror->num_unreadable == HSNAP_MIRROR_UNREADABLE)
		mirror->outgrown = true;
	else
		mirror->unreadable[mirror->num_unreadable++] = page;
}

static void skip(struct iovec *piece, size_t len)
{
	piece->iov_base = (uint8_t *)piece->iov_base + len;
	piece->iov_len -= len;
}

void hsnap_mirror_flush(struct hsnap_mirror *mirror)
{
	struct iovec *from = mirror->from, *to = mirror->to;
	int num = mirror->num;
	while (num && !mirror->gone) {
		ssize_t n = hsnap_memory_read(mirror->memory, to, (size_t)num, from, (size_t)num);
		if (n < 0 && errno == ESRCH)
			mirror->gone = true;
		size_t got = n < 0 ? 0 : (size_t)n;
		for (; num && got >= from->iov_len; num--, from++, to++) {
			got -= from->iov_len;
			note_read(mirror, from, to, from->iov_len);
		}
		if (!num)
			break;
		note_read(mirror, from, to, got);
		skip(from, got);
		skip(to, got);
		note_unreadable(mirror, from, to);
		size_t page = (size_t)(PAGE - (uintptr_t)from->iov_base % PAGE);
		skip(from, page < from->iov_len ? page : from->iov_len);
		skip(to, page < to->iov_len ? page : to->iov_len);
		if (!from->iov_len)
			num--, from++, to++;
	}
	mirror->copy->used = mirror->used;
	mirror->num = 0;
	mirror->waiting = 0;
}

/* Does it go on where the last piece that waits ends, here and there? */
static bool goes_on(const struct hsnap_mirror *mirror, uint64_t start, const uint8_t *to)
{
	if (!mirror->num)
		return false;
	const struct iovec *last_from = &mirror->from[mirror->num - 1], *last_to = &mirror->to[mirror->num - 1];
	return (uint64_t)(uintptr_t)last_from->iov_base + last_from->iov_len == start &&
	       (uint8_t *)last_to->iov_base + last_to->iov_len == to &&
	       is_new(mirror, last_to) == (to >= mirror->copy->buffer + mirror->copy->used);
}

static void push(struct hsnap_mirror *mirror, uint64_t start, uint64_t len, uint64_t at)
{
	uint8_t *to = mirror->copy->buffer + at;
	if (goes_on(mirror, start, to)) {
		mirror->from[mirror->num - 1].iov_len += len;
		mirror->to[mirror->num - 1].iov_len += len;
	} else {
		mirror->from[mirror->num] = (struct iovec){ (void *)(uintptr_t)start, len };
		mirror->to[mirror->num++] = (struct iovec){ to, len };
	}
	mirror->waiting += len;
	if (mirror->num == HSNAP_MIRROR_PIECES || mirror->waiting >= HSNAP_COPY_PIECE)
		hsnap_mirror_flush(mirror);
}

/* In pieces, so that a call does not read more than the cache holds. */
static void read_piece(struct hsnap_mirror *mirror, uint64_t start, uint64_t end, const struct hsnap_extent *place)
{
	while (start < end && !mirror->gone) {
		uint64_t len = end - start, at = place ? place->at + (start - place->start) : mirror->used;
		if (len > HSNAP_COPY_PIECE - mirror->waiting)
			len = HSNAP_COPY_PIECE - mirror->waiting;
		if (!place && len > mirror->copy->size - mirror->used) {
			mirror->outgrown = true;
			return;
		}
		if (!place)
			mirror->used += len;
		push(mirror, start, len, at);
		start += len;
	}
}

/*
 * The next part of [start, end) that has a place, or has none; returns its end, and the place or
 * NULL.  Extents are passed by as the pass goes on.
 */
static uint64_t next_part(struct hsnap_mirror *mirror, uint64_t start, uint64_t end,
			  const struct hsnap_extent **ret_place)
{
	const struct hsnap_extent *extents = mirror->copy->extents;
	while (mirror->next < mirror->in_order && extents[mirror->next].end <= start)
		mirror->next++;
	const struct hsnap_extent *extent = mirror->next < mirror->in_order ? &extents[mirror->next] : NULL;
	bool inside = extent && extent->start <= start;
	*ret_place = inside ? extent : NULL;
	uint64_t until = inside ? extent->end : extent ? extent->start : end;
	return until < end ? until : end;
}

static void note_missing(struct hsnap_mirror *mirror, uint64_t start, uint64_t end)
{
	if (mirror->missing_is == HSNAP_MISSING_IGNORED)
		return;
	if (mirror->num_missing == HSNAP_MIRROR_MISSING)
		mirror->outgrown = true;
	else
		mirror->missing[mirror->num_missing++] = (struct hsnap_range){ start, end };
}

void hsnap_mirror_again(struct hsnap_mirror *mirror)
{
	mirror->at = 0;
	mirror->next = 0;
	mirror->missing_is = HSNAP_MISSING_READ;
}

static uint64_t go_through(struct hsnap_mirror *mirror, uint64_t start, uint64_t end, bool clean, bool count)
{
	uint64_t bytes = 0;
	if (start < mirror->at)
		start = mirror->at;
	while (start < end) {
		const struct hsnap_extent *place;
		uint64_t until = next_part(mirror, start, end, &place);
		if (!place || !clean || (mirror->num_unreadable && is_unreadable(mirror, start, until))) {
			bytes += until - start;
			if (!place && clean && mirror->missing_is)
				note_missing(mirror, start, until);
			else if (!count)
				read_piece(mirror, start, until, place);
		}
		start = until;
	}
	if (end > mirror->at)
		mirror->at = end;
	return bytes;
}

void hsnap_mirror_want(struct hsnap_mirror *mirror, uint64_t start, uint64_t end, bool clean)
{
	(void)go_through(mirror, start, end, clean, false);
}

uint64_t hsnap_mirror_count(struct hsnap_mirror *mirror, uint64_t start, uint64_t end, bool clean)
{
	return go_through(mirror, start, end, clean, true);
}

void hsnap_mirror_sort(struct hsnap_mirror *mirror)
{
	struct hsnap_copy *copy = mirror->copy;
	if (copy->num_extents == mirror->in_order)
		return;
	hsnap_copy_sort(copy);
	mirror->in_order = copy->num_extents;
}

struct settled {
	struct hsnap_extent *extents;
	size_t num, max;
	uint64_t bytes;
};

/* Without the pages that could not be read. */
static void keep(const struct hsnap_mirror *mirror, struct settled *to, uint64_t start, uint64_t end, uint64_t at)
{
	while (start < end) {
		uint64_t until = end;
		for (size_t i = 0; i < mirror->num_unreadable; i++)
			if (mirror->unreadable[i] >= start && mirror->unreadable[i] < until)
				until = mirror->unreadable[i];
		if (until > start) {
			to->extents[to->num++] = (struct hsnap_extent){ .start = start, .end = until, .at = at };
			to->bytes += until - start;
		}
		at += until - start + PAGE;
		start = until + PAGE;
	}
}

bool hsnap_mirror_settle(struct hsnap_mirror *mirror, const struct hsnap_range *ranges, size_t num,
			 uint64_t *ret_bytes)
{
	struct hsnap_copy *copy = mirror->copy;
	hsnap_mirror_sort(mirror);
	/* Each end of a part is one of an extent, a range or an unreadable page. */
	struct settled to = { .max = copy->num_extents + num + mirror->num_unreadable };
	to.extents = hsnap_pages_alloc(to.max, sizeof(*to.extents));
	if (!to.extents)
		return false;
	for (size_t e = 0, r = 0; e < copy->num_extents && r < num;) {
		const struct hsnap_extent *extent = &copy->extents[e];
		uint64_t start = extent->start > ranges[r].start ? extent->start : ranges[r].start;
		uint64_t end = extent->end < ranges[r].end ? extent->end : ranges[r].end;
		if (start < end)
			keep(mirror, &to, start, end, extent->at + (start - extent->start));
		if (extent->end < ranges[r].end)
			e++;
		else
			r++;
	}
	hsnap_pages_free(copy->extents, copy->max_extents, sizeof(*copy->extents));
	copy->extents = to.extents;
	copy->num_extents = to.num;
	copy->max_extents = to.max;
	*ret_bytes = to.bytes;
	return true;
}
