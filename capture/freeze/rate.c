/* SPDX-License-Identifier: MIT */
/* rate.c - how fast this machine copies from one process to another. */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "capture/freeze/forecast.h"
#include "snapshot/base/pages.h"

#define SIZE ((size_t)24 << 20) /* more than most caches hold */
#define PIECE ((size_t)512 << 10)
#define TRIES 4                 /* the best counts: others use the same memory */
#define CAUTIOUS 4000000000u    /* bytes a second: what machines of ten years ago do */

/* By our own clock: in the stop we go before others, and do not wait for the processor as we may have to now. */
static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The time that it takes in ns; 0: not permitted. */
static uint64_t copy_once(uint8_t *to, uint8_t *from)
{
	uint64_t began = now();
	for (size_t at = 0; at < SIZE; at += PIECE) {
		struct iovec local = { to + at, PIECE }, remote = { from + at, PIECE };
		if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)PIECE)
			return 0;
	}
	return now() - began + 1;
}

uint64_t hsnap_copy_rate(void)
{
	uint64_t best = UINT64_MAX;
	uint8_t *to = hsnap_pages_alloc(SIZE, 1), *from = hsnap_pages_alloc(SIZE, 1);
	if (to && from) {
		memset(to, 1, SIZE);
		(void)madvise(from, SIZE, MADV_NOHUGEPAGE); /* as most of a heap's pages are */
		memset(from, 1, SIZE);
		for (int i = 0; i < TRIES && best; i++) {
			uint64_t took = copy_once(to, from);
			best = took < best ? took : best;
		}
	}
	hsnap_pages_free(to, SIZE, 1);
	hsnap_pages_free(from, SIZE, 1);
	if (!to || !from || !best)
		return CAUTIOUS;
	return (uint64_t)((double)SIZE * 1e9 / (double)best);
}
