/* SPDX-License-Identifier: MIT */
/*
 * precopy.c - copy while the target runs, over and over what it wrote meanwhile; stop for the rest.
 *
 * What was written is told by a userfaultfd (watch.h), or before Linux 6.7 by soft-dirty bits
 * (soft.h).  In the stop all pages are listed again: what
 * is there decides, not what was there: pages that are gone leave the copy, and what is not
 * watched (new mappings, moved ones, shared memory) is read whole.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "capture/freeze/apart.h"
#include "capture/freeze/freeze.h"
#include "capture/freeze/mirror.h"
#include "capture/freeze/soft.h"
#include "capture/freeze/step.h"
#include "capture/freeze/watch.h"
#include "capture/freeze/way.h"
#include "snapshot/base/cleanup.h"

#define STEP ((uint64_t)4 << 20) /* protected at a time: the target waits for no longer than that takes */
#define NEAR ((uint64_t)256 << 10) /* to look at so much takes as long as another call */
#define MAX_ROUNDS 12
#define MAX_AGAIN 3
#define PAGE ((uint64_t)4096)
#define PAGE_NS 1000        /* to read a page in the stop */
#define THREAD_NS 12000     /* to stop and release a thread */
#define STOP_NS 150000      /* what a stop takes in any case */
#define GOOD_NS 350000      /* no further round for a pause that short */
#define BAD_NS 20000000     /* longer than this is only worth it where a plain copy takes longer */

enum pass { LOOK, ROUND, LAST };

struct precopy {
	struct hsnap_way way;
	struct hsnap_watch watch;
	struct hsnap_mirror mirror;
	struct hsnap_sweep *sweep;
	enum pass pass;
	unsigned rounds;    /* made so far: but for the first, only what changed is looked for */
	uint64_t done;      /* in a round: protected and read up to here */
	uint64_t left;      /* bytes that a stop would have to read */
	uint64_t copy_ns, list_ns; /* what the first round took, and a look at all pages takes, of processor time */
	const struct hsnap_stop *stop;
	enum hsnap_stop_end end;
	int error;          /* of the page map */
};

/* Protect what is new or was written to, then read it: a write after that shows in the next round. */
static void catch_up(struct precopy *precopy, uint64_t start, uint64_t end)
{
	struct hsnap_page_region regions[512];
	if (start < precopy->done)
		start = precopy->done;
	while (start < end && !precopy->error) {
		uint64_t until = (start + STEP) & ~(STEP - 1), near = (end + NEAR - 1) & ~(NEAR - 1), came = start;
		if (near < until)
			until = near;
		int n = hsnap_watch_protect(&precopy->watch, start, until, regions, sizeof(regions) / sizeof(*regions),
					    &came);
		if (n < 0 || came <= start) {
			precopy->error = n < 0 ? errno : EIO;
			return;
		}
		for (int i = 0; i < n; i++)
			hsnap_mirror_want(&precopy->mirror, regions[i].start, regions[i].end, false);
		start = precopy->done = came;
	}
	hsnap_step("round");
}

static void visit_in_round(struct precopy *precopy, uint64_t start, uint64_t end, enum hsnap_plan_pages pages)
{
	if (precopy->way.stop.interrupted && *precopy->way.stop.interrupted)
		return;
	if (pages == HSNAP_PAGES_WRITTEN)
		catch_up(precopy, start, end);
	else if (pages == HSNAP_PAGES_CLEAN)
		hsnap_mirror_want(&precopy->mirror, start, end, true);
}

static void visit_in_stop(struct precopy *precopy, uint64_t start, uint64_t end, enum hsnap_plan_pages pages)
{
	if (precopy->end)
		return;
	hsnap_mirror_want(&precopy->mirror, start, end, pages == HSNAP_PAGES_CLEAN);
	if (precopy->mirror.gone)
		precopy->end = HSNAP_STOP_GONE;
	else if (precopy->mirror.outgrown)
		precopy->end = HSNAP_STOP_AGAIN;
	else if (hsnap_stop_is_over(precopy->stop))
		precopy->end = HSNAP_STOP_LONG;
	else if (hsnap_stop_is_interrupted(precopy->stop))
		precopy->end = HSNAP_STOP_INTERRUPTED;
}

static void visit(void *context, uint64_t start, uint64_t end, enum hsnap_plan_pages pages)
{
	struct precopy *precopy = context;
	if (precopy->pass == ROUND)
		visit_in_round(precopy, start, end, pages);
	else if (precopy->pass == LAST)
		visit_in_stop(precopy, start, end, pages);
	else
		precopy->left += hsnap_mirror_count(&precopy->mirror, start, end, pages == HSNAP_PAGES_CLEAN);
}

/*
 * What is said to be unchanged should have been copied before.  What was not may be of a kind of
 * mapping that the kernel tells nothing about: only what is seen to be there is read.
 */
static void look_again(struct precopy *precopy)
{
	struct hsnap_mirror *mirror = &precopy->mirror;
	hsnap_mirror_again(mirror);
	for (size_t i = 0; i < mirror->num_missing && !precopy->end; i++)
		if (!hsnap_plan_scan(&precopy->way.plan, mirror->missing[i].start, mirror->missing[i].end))
			precopy->end = HSNAP_STOP_AGAIN;
}

/* Go through all pages once; false: there was not enough room to list them. */
static bool make_pass(struct precopy *precopy, enum pass pass)
{
	struct hsnap_plan *plan = &precopy->way.plan;
	precopy->pass = pass;
	precopy->done = precopy->left = 0;
	hsnap_mirror_begin(&precopy->mirror);
	plan->visit = visit;
	plan->changes = (pass != ROUND || precopy->rounds > 0) && !plan->soft_dirty;
	plan->sweep = pass == LAST && plan->changes ? precopy->sweep : NULL;
	if (plan->changes)
		precopy->mirror.missing_is = pass == LAST ? HSNAP_MISSING_NOTED : HSNAP_MISSING_IGNORED;
	bool listed = hsnap_plan_list(plan);
	if (pass == LAST && precopy->mirror.num_missing)
		look_again(precopy);
	plan->visit = NULL;
	plan->sweep = NULL;
	hsnap_mirror_flush(&precopy->mirror);
	precopy->rounds += pass == ROUND;
	return listed;
}

/* All that is done while the target stands still. */
static enum hsnap_stop_end last_round(void *context, const struct hsnap_stop *stop)
{
	struct precopy *precopy = context;
	precopy->stop = stop;
	precopy->end = HSNAP_STOP_DONE;
	hsnap_kernel_read(&precopy->way.ret->kernel);
	precopy->way.plan.ends_at = stop->ends_at;
	if (!make_pass(precopy, LAST) && !precopy->end)
		precopy->end = hsnap_way_unlisted(&precopy->way);
	precopy->way.plan.ends_at = 0;
	if (!precopy->end && precopy->mirror.outgrown)
		precopy->end = HSNAP_STOP_AGAIN;
	if (!precopy->end && precopy->mirror.gone)
		precopy->end = HSNAP_STOP_GONE;
	precopy->way.lost = precopy->mirror.lost;
	const struct hsnap_freeze_options *options = precopy->way.options;
	if (options->witness)
		options->witness(options->witness_context);
	hsnap_step("last-round");
	return precopy->end;
}

/* How long the next stop would be. */
static uint64_t predict(struct precopy *precopy)
{
	struct hsnap_proc_status status;
	uint64_t threads = 1;
	hsnap_mirror_sort(&precopy->mirror);
	/* By our own clock: in the stop we do not wait for the processor, as we may have to now. */
	uint64_t began = hsnap_now(CLOCK_THREAD_CPUTIME_ID);
	(void)make_pass(precopy, LOOK);
	precopy->list_ns = hsnap_now(CLOCK_THREAD_CPUTIME_ID) - began;
	if (hsnap_proc_status(precopy->way.options->proc, precopy->way.options->pid, &status))
		threads = status.threads;
	return STOP_NS + precopy->list_ns + precopy->left / PAGE * PAGE_NS + threads * THREAD_NS;
}

/* The longest stop that is better than what the other ways would do. */
static uint64_t longest(const struct precopy *precopy)
{
	uint64_t most = precopy->copy_ns > BAD_NS ? precopy->copy_ns : BAD_NS;
	uint64_t max_pause_ns = precopy->way.options->max_pause_ns;
	return max_pause_ns && max_pause_ns < most ? max_pause_ns : most;
}

static enum hsnap_code check(const struct precopy *precopy, struct hsnap_error *err)
{
	if (precopy->way.stop.interrupted && *precopy->way.stop.interrupted)
		return hsnap_fail(err, HSNAP_INTERRUPTED, 0, "interrupted");
	if (precopy->mirror.gone || !precopy->way.plan.num)
		return hsnap_fail(err, HSNAP_REFUSED, 0, "exited while it was being captured");
	if (precopy->error)
		return hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "cannot watch what it writes: %s", strerror(precopy->error));
	return HSNAP_OK;
}

static enum hsnap_code give_up(const struct precopy *precopy, uint64_t pause_ns, struct hsnap_error *err)
{
	hsnap_fail(err, HSNAP_UNSUPPORTED, 0,
		   "precopy did not converge: %" PRIu64 " pages are written while it copies, a stop of %" PRIu64 " ms",
		   precopy->left / PAGE, pause_ns / 1000000);
	return hsnap_hint(err, HSNAP_UNSUPPORTED, "take it when it writes less, or --freeze=copy");
}

/* Round by round, until a stop would be short or gets no shorter, or there is no room for more. */
static enum hsnap_code converge(struct precopy *precopy, struct hsnap_error *err)
{
	uint64_t before = UINT64_MAX, pause_ns = 0;
	for (int round = 0; round < MAX_ROUNDS; round++) {
		uint64_t began = hsnap_now(CLOCK_THREAD_CPUTIME_ID);
		(void)make_pass(precopy, ROUND);
		if (precopy->rounds == 1)
			precopy->copy_ns = hsnap_now(CLOCK_THREAD_CPUTIME_ID) - began;
		enum hsnap_code code = check(precopy, err);
		if (code)
			return code;
		if (precopy->mirror.outgrown)
			return HSNAP_OK;
		pause_ns = predict(precopy);
		if (pause_ns <= GOOD_NS + precopy->list_ns || precopy->left > before / 4 * 3 || precopy->way.plan.soft_dirty)
			break;
		before = precopy->left;
	}
	return pause_ns <= longest(precopy) ? HSNAP_OK : give_up(precopy, pause_ns, err);
}

/* Room, and a first copy in it; more room where it grows out of that. */
static enum hsnap_code start(struct precopy *precopy, unsigned again, struct hsnap_error *err)
{
	for (;; again++) {
		precopy->mirror.num_unreadable = 0;
		precopy->rounds = 0;
		enum hsnap_code code = hsnap_way_room(&precopy->way, again, err);
		if (!code)
			code = converge(precopy, err);
		if (code || !precopy->mirror.outgrown)
			return code;
		if (again == MAX_AGAIN)
			return hsnap_fail(err, HSNAP_REFUSED, 0, "it grows faster than room can be made for a copy");
	}
}

struct starting {
	struct precopy *precopy;
	struct hsnap_error *err;
	enum hsnap_code code;
};

static void *start_politely(void *argument)
{
	struct starting *starting = argument;
	hsnap_apart_give_way();
	starting->code = start(starting->precopy, 0, starting->err);
	return NULL;
}

/* In a thread that gives way to those of the target, since it has much to do while they run. */
static enum hsnap_code start_apart(struct precopy *precopy, struct hsnap_error *err)
{
	struct starting starting = { .precopy = precopy, .err = err };
	return hsnap_apart(start_politely, &starting) ? starting.code : start(precopy, 0, err);
}

/* Before another stop.  Of one that outgrew its room nothing is left. */
static enum hsnap_code renew(struct hsnap_way *way, unsigned again, struct hsnap_error *err)
{
	struct precopy *precopy = way->stop.context;
	hsnap_mirror_sort(&precopy->mirror);
	enum hsnap_code code = again ? HSNAP_OK : converge(precopy, err);
	return code || !(again || precopy->mirror.outgrown) ? code : start(precopy, again + !again, err);
}

static enum hsnap_code watch(struct precopy *precopy, struct hsnap_error *err)
{
	struct hsnap_way *way = &precopy->way;
	if (!way->plan.scan)
		return hsnap_soft_begin(way->options, &way->plan, err);
	enum hsnap_code code = hsnap_watch_open(&precopy->watch, way->options, way->plan.pagemap, err);
	way->stop.spent_ns += precopy->watch.spent_ns;
	if (precopy->watch.pause_ns > way->stop.longest_ns)
		way->stop.longest_ns = precopy->watch.pause_ns;
	if (code)
		return code;
	hsnap_auto(hsnap_freep) char *maps = hsnap_proc_read_fd(way->plan.maps, NULL);
	return maps ? hsnap_watch_mappings(&precopy->watch, &way->plan, maps, err)
		    : hsnap_fail(err, HSNAP_REFUSED, 0, "exited while it was being captured");
}

/* Twice more round, at once before the stop: what was written while it was decided upon is read now, and then
 * what was written during that, which is less. */
static void catch_last(struct precopy *precopy)
{
	for (int i = 0; i < 2 && !precopy->way.plan.soft_dirty; i++) {
		(void)make_pass(precopy, ROUND);
		hsnap_mirror_sort(&precopy->mirror);
	}
}

static enum hsnap_code capture(struct precopy *precopy, struct hsnap_error *err)
{
	struct hsnap_way *way = &precopy->way;
	uint64_t bytes;
	enum hsnap_code code = watch(precopy, err);
	if (!code)
		code = start_apart(precopy, err);
	if (!code && !way->plan.soft_dirty)
		precopy->sweep = hsnap_sweep_create(way->options->pid, way->plan.pagemap, hsnap_plan_chunks(&way->plan));
	if (!code) {
		catch_last(precopy);
		code = hsnap_way_stop(way, err);
	}
	hsnap_sweep_destroy(precopy->sweep);
	hsnap_watch_close(&precopy->watch);
	hsnap_step("watch-closed");
	if (code)
		return code;
	if (!hsnap_mirror_settle(&precopy->mirror, way->plan.ranges, way->plan.num, &bytes))
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	code = hsnap_way_finish(way, "precopy", err);
	way->ret->copied = bytes;
	return code;
}

enum hsnap_code hsnap_freeze_precopy(const struct hsnap_freeze_options *options, struct hsnap_frozen *ret,
				     struct hsnap_error *err)
{
	struct precopy precopy = { .watch = { .descriptor = -1 } };
	enum hsnap_code code = hsnap_way_begin(&precopy.way, options, ret, err);
	precopy.mirror.memory = &precopy.way.memory;
	precopy.mirror.copy = &precopy.way.copy;
	precopy.way.stop.work = last_round;
	precopy.way.stop.context = &precopy;
	precopy.way.plan.context = &precopy;
	precopy.way.renew = renew;
	if (!code)
		code = capture(&precopy, err);
	hsnap_watch_close(&precopy.watch);
	return hsnap_way_end(&precopy.way, code);
}
