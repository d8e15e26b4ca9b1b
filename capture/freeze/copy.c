/* SPDX-License-Identifier: MIT */
/* copy.c - the way of freezing that every kernel allows: stop, copy in bulk, go. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>
#include <time.h>

#include "capture/freeze/freeze.h"
#include "capture/freeze/step.h"
#include "capture/freeze/team.h"
#include "capture/freeze/way.h"

#define PAGE ((size_t)4096)
#define POLL_NS 20000

struct copying {
	struct hsnap_way *way;
	const struct hsnap_stop *stop;
	struct hsnap_team *team; /* NULL: one processor, or a stage, which is filled in order */
	pthread_mutex_t lock;    /* of what comes next */
	size_t range, to;        /* to: its place in the buffer */
	uint64_t at;
	atomic_size_t num_extents;
	atomic_ullong lost;
	atomic_int end;          /* enum hsnap_stop_end */
};

/* What one processor reads at a time: ranges, and where they lie in the buffer one after the other. */
struct share {
	struct iovec parts[HSNAP_WAY_PARTS], *next;
	int num;
	size_t to, bytes;
};

/* Up to one piece of ranges. */
static void gather(struct copying *copying, struct share *share)
{
	const struct hsnap_plan *plan = &copying->way->plan;
	share->next = share->parts;
	share->num = 0;
	share->bytes = 0;
	share->to = copying->to;
	while (share->num < HSNAP_WAY_PARTS && copying->range < plan->num && share->bytes < HSNAP_COPY_PIECE) {
		const struct hsnap_range *range = &plan->ranges[copying->range];
		uint64_t left = range->end - copying->at;
		size_t room = HSNAP_COPY_PIECE - share->bytes, take = left < room ? (size_t)left : room;
		share->parts[share->num++] = (struct iovec){ (void *)(uintptr_t)copying->at, take };
		share->bytes += take;
		copying->at += take;
		if (copying->at == range->end && ++copying->range < plan->num)
			copying->at = range[1].start;
	}
	copying->to += share->bytes;
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

static enum hsnap_stop_end find_room(struct copying *copying, const struct share *share, struct iovec to[2], int *num)
{
	struct hsnap_copy *copy = &copying->way->copy;
	if (copy->stage)
		return await_room(copying->way, to, num);
	to[0] = (struct iovec){ copy->buffer + share->to, share->bytes };
	*num = 1;
	return HSNAP_STOP_DONE;
}

static void pass_over(struct share *share, size_t len)
{
	share->next->iov_base = (uint8_t *)share->next->iov_base + len;
	share->next->iov_len -= len;
	share->to += len;
	share->bytes -= len;
	if (!share->next->iov_len)
		share->num--, share->next++;
}

/* So many bytes of the next part were read; false: there is no room to take note of it. */
static bool note_read(struct copying *copying, struct share *share, size_t len)
{
	struct hsnap_copy *copy = &copying->way->copy;
	uint64_t start = (uint64_t)(uintptr_t)share->next->iov_base, at = share->to;
	if (!len)
		return true;
	pass_over(share, len);
	if (copy->stage)
		return hsnap_copy_add(copy, start, len);
	size_t n = atomic_fetch_add(&copying->num_extents, 1);
	if (n >= copy->max_extents)
		return false;
	copy->extents[n] = (struct hsnap_extent){ .start = start, .end = start + len, .at = at };
	return true;
}

/* A page that could not be read is passed over: its place in the buffer stays empty, but for a stage. */
static enum hsnap_stop_end read_share(struct copying *copying, struct share *share)
{
	while (share->num) {
		struct iovec to[2];
		int num_to;
		enum hsnap_stop_end end = find_room(copying, share, to, &num_to);
		if (end)
			return end;
		ssize_t n = hsnap_memory_read(&copying->way->memory, to, (size_t)num_to, share->next, (size_t)share->num);
		if (n < 0 && errno != EFAULT && errno != ENOMEM)
			return HSNAP_STOP_GONE;
		size_t got = n < 0 ? 0 : (size_t)n;
		while (share->num && got >= share->next->iov_len) {
			size_t len = share->next->iov_len;
			got -= len;
			if (!note_read(copying, share, len))
				return HSNAP_STOP_AGAIN;
		}
		if (!share->num)
			break;
		if (!note_read(copying, share, got))
			return HSNAP_STOP_AGAIN;
		atomic_fetch_add(&copying->lost, PAGE - got % PAGE);
		pass_over(share, PAGE - got % PAGE);
	}
	return HSNAP_STOP_DONE;
}

/* Until nothing is left, or somebody met with something that ends it for all. */
static void copy_shares(void *context)
{
	struct copying *copying = context;
	while (!copying->end) {
		struct share share;
		pthread_mutex_lock(&copying->lock);
		gather(copying, &share);
		pthread_mutex_unlock(&copying->lock);
		if (!share.num)
			return;
		int none = HSNAP_STOP_DONE;
		int end = hsnap_stop_is_over(copying->stop) ? HSNAP_STOP_LONG : (int)read_share(copying, &share);
		if (!end && hsnap_stop_is_interrupted(copying->stop))
			end = HSNAP_STOP_INTERRUPTED;
		if (end)
			(void)atomic_compare_exchange_strong(&copying->end, &none, end);
		else
			hsnap_step("copying");
	}
}

/* Nobody may write to the buffer any more: what a helper is at belongs to the copy, and is short. */
static enum hsnap_stop_end await_helpers(const struct copying *copying)
{
	while (!hsnap_team_close(copying->team)) {
		if (hsnap_stop_is_over(copying->stop))
			return HSNAP_STOP_LONG;
		if (hsnap_stop_is_interrupted(copying->stop))
			return HSNAP_STOP_INTERRUPTED;
		nanosleep(&(struct timespec){ .tv_nsec = POLL_NS }, NULL);
	}
	return (enum hsnap_stop_end)copying->end;
}

static enum hsnap_stop_end copy_ranges(struct copying *copying)
{
	struct hsnap_copy *copy = &copying->way->copy;
	const struct hsnap_plan *plan = &copying->way->plan;
	copying->range = copying->to = 0;
	copying->at = plan->num ? plan->ranges[0].start : 0;
	copying->num_extents = 0;
	copying->lost = 0;
	copying->end = HSNAP_STOP_DONE;
	hsnap_team_open(copying->team, copy_shares, copying);
	copy_shares(copying);
	enum hsnap_stop_end end = await_helpers(copying);
	copying->way->lost = copying->lost;
	if (!end && !copy->stage) {
		copy->num_extents = copying->num_extents;
		copy->used = copying->to;
	}
	return end;
}

/* All that is done while the target stands still. */
static enum hsnap_stop_end copy_in_stop(void *context, const struct hsnap_stop *stop)
{
	struct copying *copying = context;
	struct hsnap_way *way = copying->way;
	copying->stop = stop;
	hsnap_copy_rewind(&way->copy);
	way->lost = 0;
	enum hsnap_stop_end listed = hsnap_way_list(way);
	if (listed)
		return listed;
	if (way->plan.bytes > way->copy.size || way->plan.num > way->copy.max_extents)
		return HSNAP_STOP_AGAIN;
	hsnap_kernel_read(&way->ret->kernel);
	return copy_ranges(copying);
}

enum hsnap_code hsnap_freeze_copy(const struct hsnap_freeze_options *options, struct hsnap_frozen *ret,
				  struct hsnap_error *err)
{
	struct hsnap_way way;
	struct copying copying = { .way = &way, .lock = PTHREAD_MUTEX_INITIALIZER };
	enum hsnap_code code = hsnap_way_begin(&way, options, ret, err);
	way.stop.work = copy_in_stop;
	way.stop.context = &copying;
	way.at_once = true;
	if (!code)
		code = hsnap_way_room(&way, 0, err);
	if (!code && !way.copy.stage)
		copying.team = hsnap_team_create();
	if (!code)
		code = hsnap_way_stop(&way, err);
	hsnap_team_destroy(copying.team);
	hsnap_copy_sort(&way.copy);
	if (!code)
		code = hsnap_way_finish(&way, "copy", err);
	return hsnap_way_end(&way, code);
}
