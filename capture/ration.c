/* SPDX-License-Identifier: MIT */
/* ration.c - the thread that looks, and what it does. */
#include "capture/ration.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "capture/freeze/refuse.h"
#include "capture/target/target.h"
#include "snapshot/base/budget.h"
#include "snapshot/base/cleanup.h"

#define MS 1000000u
#define MAX_SLEEP (20 * MS)
#define MIN_SLEEP (1 * MS)
#define GROWTH_PER_MS ((uint64_t)2 << 20) /* two threads that fill fresh pages, and the target beside them */
#define MIN_MARGIN ((uint64_t)4 << 20)
#define MAX_MARGIN ((uint64_t)64 << 20)
#define MARGIN_SHARE 64                   /* of the limit */
#define RELIEF_EVERY (100 * (uint64_t)MS) /* what is dropped is read again */
#define MIN_RELIEF ((uint64_t)16 << 20)   /* above the margin */

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Where there is less than that to begin with, whether it will do is the prediction's to say. */
static uint64_t margin_of(const struct hsnap_headroom *room)
{
	uint64_t share = room->limit / MARGIN_SHARE, half = room->left / 2;
	share = share < MIN_MARGIN ? MIN_MARGIN : share > MAX_MARGIN ? MAX_MARGIN : share;
	return share < half ? share : half;
}

static uint64_t own_use(const struct hsnap_proc *proc)
{
	uint64_t kib = 0;
	hsnap_auto(hsnap_freep) char *text = hsnap_proc_read(proc, "proc/self/status");
	if (text)
		hsnap_proc_field(text, "RssAnon", 10, &kib);
	return kib * 1024;
}

static void give_up(struct hsnap_ration *ration, const struct hsnap_headroom *room)
{
	pthread_mutex_lock(&ration->lock);
	if (!ration->given_up) {
		ration->given_up = true;
		ration->room = *room;
		ration->used = own_use(ration->proc);
	}
	pthread_mutex_unlock(&ration->lock);
	ration->halt = 1;
	hsnap_budget_close();
}

/* Pages of a scratch file that are in memory but need not be. */
static bool relieve(struct hsnap_ration *ration)
{
	pthread_mutex_lock(&ration->lock);
	const struct hsnap_target *target = now() - ration->relieved_at >= RELIEF_EVERY ? ration->target : NULL;
	if (target)
		ration->relieved_at = now();
	bool done = target && hsnap_target_relieve(target);
	pthread_mutex_unlock(&ration->lock);
	return done;
}

/* Are there so many bytes beside the margin? */
static bool has_room(struct hsnap_ration *ration, uint64_t bytes, struct hsnap_headroom *ret)
{
	*ret = hsnap_proc_headroom(ration->proc);
	if (ret->left < ration->margin + bytes + MIN_RELIEF && relieve(ration))
		*ret = hsnap_proc_headroom(ration->proc);
	uint64_t above = ret->left > ration->margin ? ret->left - ration->margin : 0;
	hsnap_budget_set_left(above < SIZE_MAX ? (size_t)above : SIZE_MAX);
	return ret->limit == UINT64_MAX || ret->left >= ration->margin + bytes;
}

static bool ask(void *context, size_t bytes)
{
	struct hsnap_ration *ration = context;
	struct hsnap_headroom room;
	bool allowed = has_room(ration, bytes, &room);
	if (!allowed)
		give_up(ration, &room);
	return allowed;
}

static uint64_t sleep_ns(const struct hsnap_ration *ration, const struct hsnap_headroom *room)
{
	uint64_t above = room->left > ration->margin ? room->left - ration->margin : 0;
	uint64_t ns = above / GROWTH_PER_MS * MS;
	return ns < MIN_SLEEP ? MIN_SLEEP : ns > MAX_SLEEP ? MAX_SLEEP : ns;
}

/* false: it ends. */
static bool wait_for(struct hsnap_ration *ration, uint64_t ns)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)ns;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&ration->lock);
	if (!ration->ending)
		pthread_cond_timedwait(&ration->ends, &ration->lock, &until);
	bool goes_on = !ration->ending;
	pthread_mutex_unlock(&ration->lock);
	return goes_on;
}

static void *watch(void *context)
{
	struct hsnap_ration *ration = context;
	struct hsnap_headroom room;
	do {
		if (ration->interrupted && *ration->interrupted)
			ration->halt = 1;
		if (!has_room(ration, 0, &room)) {
			give_up(ration, &room);
			break;
		}
	} while (wait_for(ration, sleep_ns(ration, &room)));
	return NULL;
}

void hsnap_ration_begin(struct hsnap_ration *ration, const struct hsnap_proc *proc, const volatile int *interrupted)
{
	pthread_condattr_t clock;
	struct hsnap_headroom room = hsnap_proc_headroom(proc);
	*ration = (struct hsnap_ration){ .proc = proc, .interrupted = interrupted, .margin = margin_of(&room) };
	pthread_mutex_init(&ration->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&ration->ends, &clock);
	pthread_condattr_destroy(&clock);
	hsnap_budget_watch(ask, ration);
	/* Signals are for the thread that works. */
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ration->started = !pthread_create(&ration->thread, NULL, watch, ration);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void hsnap_ration_relieve(struct hsnap_ration *ration, const struct hsnap_target *target)
{
	pthread_mutex_lock(&ration->lock);
	ration->target = target;
	pthread_mutex_unlock(&ration->lock);
}

void hsnap_ration_end(struct hsnap_ration *ration)
{
	if (!ration->proc)
		return;
	if (ration->started) {
		pthread_mutex_lock(&ration->lock);
		ration->ending = true;
		pthread_cond_signal(&ration->ends);
		pthread_mutex_unlock(&ration->lock);
		pthread_join(ration->thread, NULL);
	}
	ration->started = false;
	hsnap_budget_watch(NULL, NULL);
	pthread_cond_destroy(&ration->ends);
	pthread_mutex_destroy(&ration->lock);
}

enum hsnap_code hsnap_ration_explain(const struct hsnap_ration *ration, enum hsnap_code code, bool scratch,
				    struct hsnap_error *err)
{
	if (!ration->given_up || !code)
		return code;
	hsnap_fail(err, HSNAP_REFUSED, 0, "gave up with %" PRIu64 " MiB in use, this %s has %" PRIu64 " of %" PRIu64
		   " MiB left", ration->used >> 20, ration->room.cgroup ? "cgroup" : "machine", ration->room.left >> 20,
		   ration->room.limit >> 20);
	return hsnap_refuse_hint(&ration->room, scratch, err);
}
