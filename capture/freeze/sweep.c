/* SPDX-License-Identifier: MIT */
/* sweep.c - chunks that are taken by whoever comes first, and what was found in them. */
#include "capture/freeze/sweep.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "capture/freeze/apart.h"

#define CHUNK ((uint64_t)64 << 20)
#define MAX_SHARED ((uint64_t)64 << 30) /* a larger mapping is mostly a reservation: passed over at once */
#define MAX_REGIONS 256
#define MAX_WAIT_NS 200000 /* about twice what a chunk takes */

enum { FREE, TAKEN, DONE, FAILED };

struct chunk {
	uint64_t start, end, walk_end;
	atomic_int state;
	int num;
	struct hsnap_page_region regions[MAX_REGIONS];
};

struct hsnap_sweep {
	struct hsnap_team *team;
	int pagemap;
	struct hsnap_scan_arg model;
	struct chunk *chunks;
	size_t num, max;
	size_t asked; /* chunk that was asked for last */
	atomic_size_t next;
};

static void scan_chunk(const struct hsnap_sweep *sweep, struct chunk *chunk)
{
	struct hsnap_scan_arg arg = sweep->model;
	arg.size = sizeof(arg);
	arg.start = chunk->start;
	arg.end = chunk->end;
	arg.vec = (uint64_t)(uintptr_t)chunk->regions;
	arg.vec_len = MAX_REGIONS;
	chunk->num = ioctl(sweep->pagemap, HSNAP_SCAN_IOCTL, &arg);
	chunk->walk_end = arg.walk_end;
	chunk->state = chunk->num < 0 || arg.walk_end <= chunk->start ? FAILED : DONE;
}

/* false: there was nothing left to be taken. */
static bool take_chunk(struct hsnap_sweep *sweep)
{
	size_t i = atomic_fetch_add(&sweep->next, 1);
	if (i >= sweep->num)
		return false;
	sweep->chunks[i].state = TAKEN;
	scan_chunk(sweep, &sweep->chunks[i]);
	return true;
}

static void take_chunks(void *context)
{
	while (take_chunk(context))
		;
}

struct hsnap_sweep *hsnap_sweep_create(int pagemap, size_t chunks)
{
	struct hsnap_team *team = chunks > 1 ? hsnap_team_create() : NULL;
	struct hsnap_sweep *sweep = team ? calloc(1, sizeof(*sweep)) : NULL;
	struct chunk *room = sweep ? malloc(chunks * sizeof(*room)) : NULL;
	if (!room) {
		free(sweep);
		hsnap_team_destroy(team);
		return NULL;
	}
	memset(room, 0, chunks * sizeof(*room)); /* faulted in before the stop */
	*sweep = (struct hsnap_sweep){ .team = team, .pagemap = pagemap, .chunks = room, .max = chunks };
	return sweep;
}

void hsnap_sweep_destroy(struct hsnap_sweep *sweep)
{
	if (!sweep)
		return;
	hsnap_team_destroy(sweep->team);
	free(sweep->chunks);
	free(sweep);
}

size_t hsnap_sweep_chunks(uint64_t start, uint64_t end)
{
	uint64_t size = end - start;
	return size < CHUNK || size > MAX_SHARED ? 0 : (size_t)((size + CHUNK - 1) / CHUNK);
}

void hsnap_sweep_clear(struct hsnap_sweep *sweep)
{
	/* Somebody who is still at what was given up keeps his chunk: nothing is shared out then. */
	sweep->max = hsnap_team_close(sweep->team) ? sweep->max : 0;
	sweep->num = sweep->asked = 0;
}

void hsnap_sweep_add(struct hsnap_sweep *sweep, uint64_t start, uint64_t end)
{
	for (size_t left = hsnap_sweep_chunks(start, end); left && sweep->num < sweep->max; left--) {
		struct chunk *chunk = &sweep->chunks[sweep->num++];
		chunk->start = start;
		chunk->end = start = left > 1 ? start + CHUNK : end;
		chunk->state = FREE;
	}
}

void hsnap_sweep_begin(struct hsnap_sweep *sweep, const struct hsnap_scan_arg *model)
{
	sweep->model = *model;
	sweep->next = 0;
	if (sweep->num > 1)
		hsnap_team_open(sweep->team, take_chunks, sweep);
}

/* Until it is done, or nobody knows when it will be, help with those that follow. */
static bool await_chunk(struct hsnap_sweep *sweep, const struct chunk *chunk)
{
	while (chunk->state <= TAKEN && take_chunk(sweep))
		;
	uint64_t began = hsnap_now(CLOCK_MONOTONIC);
	while (chunk->state <= TAKEN && hsnap_now(CLOCK_MONOTONIC) - began < MAX_WAIT_NS)
		;
	return chunk->state == DONE;
}

int hsnap_sweep_found(struct hsnap_sweep *sweep, uint64_t start, const struct hsnap_page_region **ret, uint64_t *end)
{
	while (sweep->asked < sweep->num && sweep->chunks[sweep->asked].start < start)
		sweep->asked++;
	struct chunk *chunk = sweep->asked < sweep->num ? &sweep->chunks[sweep->asked] : NULL;
	if (!chunk || chunk->start >= *end)
		return -1;
	if (chunk->start == start && await_chunk(sweep, chunk)) {
		*ret = chunk->regions;
		*end = chunk->walk_end;
		return chunk->num;
	}
	*end = chunk->start == start ? chunk->end : chunk->start;
	return -1;
}
