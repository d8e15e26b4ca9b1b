/* SPDX-License-Identifier: MIT */
/* team.c - threads that wait, and chunks that are taken by whoever comes first. */
#include "capture/freeze/team.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "capture/freeze/apart.h"

#define CHUNK ((uint64_t)64 << 20)
#define MAX_SHARED ((uint64_t)64 << 30) /* a larger mapping is mostly a reservation: passed over at once */
#define MAX_REGIONS 256
#define MAX_HELPERS 3
#define MAX_WAIT_NS 200000 /* about twice what a chunk takes */

enum { FREE, TAKEN, DONE, FAILED };

struct chunk {
	uint64_t start, end, walk_end;
	atomic_int state;
	int num;
	struct hsnap_page_region regions[MAX_REGIONS];
};

struct hsnap_team {
	int pagemap;
	struct hsnap_scan_arg model;
	struct chunk *chunks;
	atomic_size_t num;
	size_t max;
	size_t asked;          /* chunk that was asked for last */
	atomic_size_t next;
	atomic_int busy;       /* helpers that may be at a chunk */
	atomic_bool over;
	sem_t work;
	pthread_t helpers[MAX_HELPERS];
	int num_helpers;
};

static void take_chunks(struct hsnap_team *team)
{
	for (size_t i; (i = atomic_fetch_add(&team->next, 1)) < team->num;) {
		struct chunk *chunk = &team->chunks[i];
		struct hsnap_scan_arg arg = team->model;
		chunk->state = TAKEN;
		arg.size = sizeof(arg);
		arg.start = chunk->start;
		arg.end = chunk->end;
		arg.vec = (uint64_t)(uintptr_t)chunk->regions;
		arg.vec_len = MAX_REGIONS;
		chunk->num = ioctl(team->pagemap, HSNAP_SCAN_IOCTL, &arg);
		chunk->walk_end = arg.walk_end;
		chunk->state = chunk->num < 0 || arg.walk_end <= chunk->start ? FAILED : DONE;
	}
}

static void *help(void *argument)
{
	struct hsnap_team *team = argument;
	hsnap_apart_hurry();
	for (;;) {
		while (sem_wait(&team->work))
			;
		if (team->over)
			return NULL;
		atomic_fetch_add(&team->busy, 1);
		take_chunks(team);
		atomic_fetch_sub(&team->busy, 1);
	}
}

static int count_processors(void)
{
	cpu_set_t set;
	return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

struct hsnap_team *hsnap_team_create(int pagemap, size_t chunks)
{
	int helpers = count_processors() - 1;
	struct hsnap_team *team = helpers > 0 && chunks > 1 ? calloc(1, sizeof(*team)) : NULL;
	if (!team)
		return NULL;
	team->chunks = malloc(chunks * sizeof(*team->chunks));
	if (!team->chunks || sem_init(&team->work, 0, 0)) {
		free(team->chunks);
		free(team);
		return NULL;
	}
	memset(team->chunks, 0, chunks * sizeof(*team->chunks));
	team->pagemap = pagemap;
	team->max = chunks;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (team->num_helpers < helpers && team->num_helpers < MAX_HELPERS &&
	       !pthread_create(&team->helpers[team->num_helpers], NULL, help, team))
		team->num_helpers++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return team;
}

void hsnap_team_destroy(struct hsnap_team *team)
{
	if (!team)
		return;
	team->over = true;
	for (int i = 0; i < team->num_helpers; i++)
		sem_post(&team->work);
	for (int i = 0; i < team->num_helpers; i++)
		pthread_join(team->helpers[i], NULL);
	sem_destroy(&team->work);
	free(team->chunks);
	free(team);
}

size_t hsnap_team_chunks(uint64_t start, uint64_t end)
{
	uint64_t size = end - start;
	return size < CHUNK || size > MAX_SHARED ? 0 : (size_t)((size + CHUNK - 1) / CHUNK);
}

void hsnap_team_clear(struct hsnap_team *team)
{
	team->next = SIZE_MAX / 2; /* nothing to be taken while chunks are laid out */
	team->num = team->asked = 0;
}

void hsnap_team_add(struct hsnap_team *team, uint64_t start, uint64_t end)
{
	if (team->busy) /* somebody is still at what was given up: his chunk must stay as it is */
		return;
	for (size_t left = hsnap_team_chunks(start, end); left && team->num < team->max; left--) {
		struct chunk *chunk = &team->chunks[team->num++];
		chunk->start = start;
		chunk->end = start = left > 1 ? start + CHUNK : end;
		chunk->state = FREE;
	}
}

void hsnap_team_scan(struct hsnap_team *team, const struct hsnap_scan_arg *model)
{
	if (!team->num)
		return;
	team->model = *model;
	team->next = 0;
	for (int i = 0; i < team->num_helpers; i++)
		sem_post(&team->work);
	take_chunks(team);
}

int hsnap_team_found(struct hsnap_team *team, uint64_t start, const struct hsnap_page_region **ret, uint64_t *end)
{
	while (team->asked < team->num && team->chunks[team->asked].start < start)
		team->asked++;
	struct chunk *chunk = team->asked < team->num ? &team->chunks[team->asked] : NULL;
	if (!chunk || chunk->start >= *end)
		return -1;
	uint64_t began = hsnap_now(CLOCK_MONOTONIC);
	while (chunk->start == start && chunk->state == TAKEN && hsnap_now(CLOCK_MONOTONIC) - began < MAX_WAIT_NS)
		;
	if (chunk->start == start && chunk->state == DONE) {
		*ret = chunk->regions;
		*end = chunk->walk_end;
		return chunk->num;
	}
	*end = chunk->start == start ? chunk->end : chunk->start;
	return -1;
}
