/* SPDX-License-Identifier: MIT */
/* rate.c - how fast this machine copies from one process to another. */
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "capture/freeze/forecast.h"
#include "capture/freeze/team.h"
#include "capture/target/copy.h"
#include "snapshot/base/pages.h"

#define SIZE ((size_t)24 << 20) /* more than most caches hold */
#define POLL_NS 20000
#define TRIES 4                 /* the best counts: others use the same memory */
#define CAUTIOUS 4000000000u    /* bytes a second: what machines of ten years ago do */

/* By our own clock: in the stop we go before others, and do not wait for the processor as we may have to now. */
static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct measuring {
	uint8_t *to, *from;
	atomic_size_t next;
	atomic_ullong rate;
};

/* Each by its own clock, but at the same time: they share the memory. */
static void copy_pieces(void *context)
{
	struct measuring *measuring = context;
	uint64_t began = now(), bytes = 0;
	for (size_t at; (at = atomic_fetch_add(&measuring->next, HSNAP_COPY_PIECE)) < SIZE; bytes += HSNAP_COPY_PIECE) {
		struct iovec local = { measuring->to + at, HSNAP_COPY_PIECE }, remote = { measuring->from + at, HSNAP_COPY_PIECE };
		if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)HSNAP_COPY_PIECE)
			return; /* not permitted */
	}
	if (bytes)
		atomic_fetch_add(&measuring->rate, (uint64_t)((double)bytes * 1e9 / (double)(now() - began + 1)));
}

static uint64_t copy_once(struct hsnap_team *team, uint8_t *to, uint8_t *from)
{
	struct measuring measuring = { .to = to, .from = from };
	hsnap_team_open(team, copy_pieces, &measuring);
	copy_pieces(&measuring);
	while (!hsnap_team_close(team))
		nanosleep(&(struct timespec){ .tv_nsec = POLL_NS }, NULL);
	return measuring.rate;
}

uint64_t hsnap_copy_rate(struct hsnap_team *team)
{
	uint64_t best = 0;
	uint8_t *to = hsnap_pages_alloc(SIZE, 1), *from = hsnap_pages_alloc(SIZE, 1);
	if (to && from) {
		memset(to, 1, SIZE);
		(void)madvise(from, SIZE, MADV_NOHUGEPAGE); /* as most of a heap's pages are */
		memset(from, 1, SIZE);
		for (int i = 0; i < TRIES; i++) {
			uint64_t rate = copy_once(team, to, from);
			best = rate > best ? rate : best;
		}
	}
	hsnap_pages_free(to, SIZE, 1);
	hsnap_pages_free(from, SIZE, 1);
	return best ? best : CAUTIOUS;
}
