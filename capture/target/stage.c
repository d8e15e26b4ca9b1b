/* SPDX-License-Identifier: MIT */
/* stage.c - a ring of chunks and the thread that empties it. */
#include "capture/target/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "snapshot/base/pages.h"

#define CHUNK ((size_t)4 << 20)
#define MIN_CHUNKS 4u
#define PAGE ((size_t)4096)
#define WAIT_NS 5000000

struct slot {
	uint64_t offset; /* in the file */
	size_t len;
};

struct hsnap_stage {
	int fd;     /* borrowed */
	int direct; /* the same past the page cache, or -1 */
	uint8_t *chunks;
	struct slot *slots;
	unsigned num;
	/* Of the one who fills. */
	size_t fill;     /* bytes in the chunk that is next to be handed over */
	uint64_t offset; /* of that chunk in the file */
	/* Under the lock.  Chunk n is in slot n % num. */
	pthread_mutex_t lock;
	pthread_cond_t given, done;
	uint64_t submitted, written;
	int sys_errno;
	bool ends;
	bool started;
	pthread_t writer;
};

static uint8_t *chunk_of(const struct hsnap_stage *stage, uint64_t number)
{
	return stage->chunks + number % stage->num * CHUNK;
}

/* false with errno. */
static bool write_chunk(struct hsnap_stage *stage, const uint8_t *bytes, struct slot slot)
{
	while (slot.len) {
		ssize_t n = pwrite(stage->direct >= 0 ? stage->direct : stage->fd, bytes, slot.len, (off_t)slot.offset);
		if (n < 0 && errno == EINVAL && stage->direct >= 0) {
			/* Its blocks are larger than ours, or it only seemed to do without the cache. */
			close(stage->direct);
			stage->direct = -1;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n ? errno : EIO;
			return false;
		}
		if (stage->direct < 0) {
			/* Keep the cache small, since it is charged to us. */
			(void)sync_file_range(stage->fd, (off_t)slot.offset, n,
					      SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
			(void)posix_fadvise(stage->fd, (off_t)slot.offset, n, POSIX_FADV_DONTNEED);
		}
		bytes += n;
		slot.offset += (uint64_t)n;
		slot.len -= (size_t)n;
	}
	return true;
}

static void *write_chunks(void *argument)
{
	struct hsnap_stage *stage = argument;
	pthread_mutex_lock(&stage->lock);
	for (;;) {
		while (stage->written == stage->submitted && !stage->ends)
			pthread_cond_wait(&stage->given, &stage->lock);
		if (stage->written == stage->submitted)
			break;
		uint64_t number = stage->written;
		struct slot slot = stage->slots[number % stage->num];
		bool failed = stage->sys_errno;
		pthread_mutex_unlock(&stage->lock);
		int sys_errno = failed || write_chunk(stage, chunk_of(stage, number), slot) ? 0 : errno;
		pthread_mutex_lock(&stage->lock);
		if (sys_errno)
			stage->sys_errno = sys_errno;
		stage->written++;
		pthread_cond_broadcast(&stage->done);
	}
	pthread_mutex_unlock(&stage->lock);
	return NULL;
}

/* Signals are for the other threads: they have handlers to run and calls to give up. */
static bool start_writer(struct hsnap_stage *stage)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int error = pthread_create(&stage->writer, NULL, write_chunks, stage);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	stage->started = !error;
	errno = error;
	return !error;
}

struct hsnap_stage *hsnap_stage_create(int fd, size_t memory)
{
	struct hsnap_stage *stage = calloc(1, sizeof(*stage));
	if (!stage)
		return NULL;
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	pthread_condattr_t clock;
	stage->fd = fd;
	stage->direct = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	stage->num = memory / CHUNK < MIN_CHUNKS ? MIN_CHUNKS : memory / CHUNK > 4096 ? 4096 : (unsigned)(memory / CHUNK);
	pthread_mutex_init(&stage->lock, NULL);
	pthread_cond_init(&stage->given, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&stage->done, &clock);
	pthread_condattr_destroy(&clock);
	stage->slots = calloc(stage->num, sizeof(*stage->slots));
	stage->chunks = hsnap_pages_alloc(stage->num, CHUNK);
	if (!stage->slots || !stage->chunks || !start_writer(stage)) {
		hsnap_stage_destroy(stage);
		errno = ENOMEM;
		return NULL;
	}
	for (size_t i = 0; i < stage->num * CHUNK; i += PAGE)
		((volatile uint8_t *)stage->chunks)[i] = 0;
	return stage;
}

void hsnap_stage_destroy(struct hsnap_stage *stage)
{
	if (!stage)
		return;
	if (stage->started) {
		pthread_mutex_lock(&stage->lock);
		stage->ends = true;
		pthread_cond_signal(&stage->given);
		pthread_mutex_unlock(&stage->lock);
		pthread_join(stage->writer, NULL);
	}
	if (stage->direct >= 0)
		close(stage->direct);
	hsnap_pages_free(stage->chunks, stage->num, CHUNK);
	free(stage->slots);
	pthread_cond_destroy(&stage->given);
	pthread_cond_destroy(&stage->done);
	pthread_mutex_destroy(&stage->lock);
	free(stage);
}

int hsnap_stage_room(struct hsnap_stage *stage, struct iovec to[2])
{
	pthread_mutex_lock(&stage->lock);
	bool room = stage->submitted - stage->written + 2 <= stage->num && !stage->sys_errno;
	uint64_t number = stage->submitted;
	pthread_mutex_unlock(&stage->lock);
	if (!room)
		return 0;
	to[0] = (struct iovec){ chunk_of(stage, number) + stage->fill, CHUNK - stage->fill };
	to[1] = (struct iovec){ chunk_of(stage, number + 1), CHUNK };
	return 2;
}

static void submit(struct hsnap_stage *stage, size_t len)
{
	pthread_mutex_lock(&stage->lock);
	stage->slots[stage->submitted % stage->num] = (struct slot){ stage->offset, len };
	stage->submitted++;
	pthread_cond_signal(&stage->given);
	pthread_mutex_unlock(&stage->lock);
	stage->offset += len;
}

void hsnap_stage_advance(struct hsnap_stage *stage, size_t len)
{
	for (stage->fill += len; stage->fill >= CHUNK; stage->fill -= CHUNK)
		submit(stage, CHUNK);
}

void hsnap_stage_rewind(struct hsnap_stage *stage)
{
	/* Chunks are written in order: what is still on its way is written over later. */
	stage->fill = 0;
	stage->offset = 0;
}

bool hsnap_stage_wait(struct hsnap_stage *stage)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += WAIT_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&stage->lock);
	if (stage->submitted - stage->written + 2 > stage->num && !stage->sys_errno)
		pthread_cond_timedwait(&stage->done, &stage->lock, &until);
	int sys_errno = stage->sys_errno;
	pthread_mutex_unlock(&stage->lock);
	errno = sys_errno;
	return !sys_errno;
}

bool hsnap_stage_finish(struct hsnap_stage *stage)
{
	/* Past the cache whole pages are written; the file has room for them. */
	size_t len = (stage->fill + PAGE - 1) & ~(PAGE - 1);
	if (len) {
		memset(chunk_of(stage, stage->submitted) + stage->fill, 0, len - stage->fill);
		submit(stage, len);
	}
	stage->fill = 0;
	pthread_mutex_lock(&stage->lock);
	while (stage->written < stage->submitted)
		pthread_cond_wait(&stage->done, &stage->lock);
	int sys_errno = stage->sys_errno;
	pthread_mutex_unlock(&stage->lock);
	errno = sys_errno;
	return !sys_errno;
}
