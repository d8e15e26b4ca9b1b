/* SPDX-License-Identifier: MIT */
/* copy.c - the way of freezing that every kernel allows: stop, copy in bulk, go. */
#include <errno.h>
#include <sys/uio.h>

#include "capture/freeze/freeze.h"
#include "capture/freeze/step.h"
#include "capture/freeze/way.h"

#define PIECE ((size_t)512 << 10) /* stays in the second-level cache: 5 GB/s against 4 at 16 MiB */
#define MAX_PIECES 256            /* ranges in one call */
#define PAGE ((size_t)4096)

/* Up to one piece of ranges from `at` on; returns its bytes. */
static size_t gather(const struct hsnap_plan *plan, size_t *range, uint64_t *at, struct iovec *pieces, int *num)
{
	size_t bytes = 0;
	for (*num = 0; *num < MAX_PIECES && *range < plan->num && bytes < PIECE;) {
		uint64_t left = plan->ranges[*range].end - *at;
		size_t take = left < PIECE - bytes ? (size_t)left : PIECE - bytes;
		pieces[(*num)++] = (struct iovec){ (void *)(uintptr_t)*at, take };
		bytes += take;
		*at += take;
		if (*at == plan->ranges[*range].end && ++*range < plan->num)
			*at = plan->ranges[*range].start;
	}
	return bytes;
}

/* Where the next piece goes, as soon as the disk is that far. */
static enum hsnap_stop_end await_room(struct hsnap_way *way, struct iovec to[2], int *num)
{
	while (!(*num = hsnap_copy_room(&way->copy, to))) {
		if (!hsnap_copy_wait(&way->copy)) {
			way->stop.sys_errno = errno;
			return HSNAP_STOP_DISK;
		}
		if (hsnap_stop_is_over(&way->stop))
			return HSNAP_STOP_LONG;
		if (hsnap_stop_is_interrupted(&way->stop))
			return HSNAP_STOP_INTERRUPTED;
	}
	return HSNAP_STOP_DONE;
}

/* What was read of the pieces is noted; a page that could not be read is passed over. */
static enum hsnap_stop_end read_pieces(struct hsnap_way *way, struct iovec *pieces, int num)
{
	struct hsnap_copy *copy = &way->copy;
	while (num) {
		struct iovec to[2];
		int num_to;
		enum hsnap_stop_end end = await_room(way, to, &num_to);
		if (end)
			return end;
		ssize_t n = hsnap_memory_read(&way->memory, to, (size_t)num_to, pieces, (size_t)num);
		if (n < 0 && errno != EFAULT && errno != ENOMEM)
			return HSNAP_STOP_GONE;
		size_t got = n < 0 ? 0 : (size_t)n;
		for (; num && got >= pieces->iov_len; num--, pieces++) {
			got -= pieces->iov_len;
			if (!hsnap_copy_add(copy, (uint64_t)(uintptr_t)pieces->iov_base, pieces->iov_len))
				return HSNAP_STOP_AGAIN;
		}
		if (!num)
			break;
		if (got && !hsnap_copy_add(copy, (uint64_t)(uintptr_t)pieces->iov_base, got))
			return HSNAP_STOP_AGAIN;
		size_t skip = got + (PAGE - got % PAGE);
		way->lost += PAGE - got % PAGE;
		pieces->iov_base = (uint8_t *)pieces->iov_base + skip;
		pieces->iov_len -= skip;
		if (!pieces->iov_len)
			num--, pieces++;
	}
	return HSNAP_STOP_DONE;
}

static enum hsnap_stop_end copy_ranges(struct hsnap_way *way, const struct hsnap_stop *stop)
{
	const struct hsnap_plan *plan = &way->plan;
	struct iovec pieces[MAX_PIECES];
	size_t range = 0;
	uint64_t at = plan->num ? plan->ranges[0].start : 0;
	while (range < plan->num) {
		int num;
		if (hsnap_stop_is_over(stop))
			return HSNAP_STOP_LONG;
		gather(plan, &range, &at, pieces, &num);
		enum hsnap_stop_end end = read_pieces(way, pieces, num);
		if (end)
			return end;
		if (hsnap_stop_is_interrupted(stop))
			return HSNAP_STOP_INTERRUPTED;
		hsnap_step("copying");
	}
	return HSNAP_STOP_DONE;
}

/* All that is done while the target stands still. */
static enum hsnap_stop_end copy_in_stop(void *context, const struct hsnap_stop *stop)
{
	struct hsnap_way *way = context;
	hsnap_copy_rewind(&way->copy);
	way->lost = 0;
	enum hsnap_stop_end listed = hsnap_way_list(way);
	if (listed)
		return listed;
	if (way->plan.bytes > way->copy.size || way->plan.num > way->copy.max_extents)
		return HSNAP_STOP_AGAIN;
	hsnap_kernel_read(&way->ret->kernel);
	return copy_ranges(way, stop);
}

enum hsnap_code hsnap_freeze_copy(const struct hsnap_freeze_options *options, struct hsnap_frozen *ret,
				  struct hsnap_error *err)
{
	struct hsnap_way way;
	enum hsnap_code code = hsnap_way_begin(&way, options, ret, err);
	way.stop.work = copy_in_stop;
	way.stop.context = &way;
	way.at_once = true;
	if (!code)
		code = hsnap_way_room(&way, 0, err);
	if (!code)
		code = hsnap_way_stop(&way, err);
	if (!code)
		code = hsnap_way_finish(&way, "copy", err);
	return hsnap_way_end(&way, code);
}
