/* SPDX-License-Identifier: MIT */
/* team.c - threads that wait, and a door. */
#include "capture/freeze/team.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "capture/freeze/apart.h"

#define MAX_HELPERS 3
#define OPEN ((unsigned)1 << 31)

struct hsnap_team {
	void (*work)(void *context);
	void *context;
	atomic_uint door; /* OPEN, and how many are inside */
	atomic_bool over;
	sem_t wanted;
	pthread_t helpers[MAX_HELPERS];
	int num_helpers;
};

/* In one step with the look whether it is open: else the work could be closed in between. */
static bool enter(struct hsnap_team *team)
{
	unsigned door = team->door;
	while (door & OPEN)
		if (atomic_compare_exchange_weak(&team->door, &door, door + 1))
			return true;
	return false;
}

static void *help(void *argument)
{
	struct hsnap_team *team = argument;
	hsnap_apart_hurry();
	while (!team->over) {
		while (sem_wait(&team->wanted))
			;
		if (!enter(team))
			continue;
		team->work(team->context);
		atomic_fetch_sub(&team->door, 1);
	}
	return NULL;
}

static int count_processors(void)
{
	cpu_set_t set;
	return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

struct hsnap_team *hsnap_team_create(void)
{
	int helpers = count_processors() - 1;
	struct hsnap_team *team = helpers > 0 ? calloc(1, sizeof(*team)) : NULL;
	if (!team)
		return NULL;
	if (sem_init(&team->wanted, 0, 0)) {
		free(team);
		return NULL;
	}
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
	(void)hsnap_team_close(team);
	for (int i = 0; i < team->num_helpers; i++)
		sem_post(&team->wanted);
	for (int i = 0; i < team->num_helpers; i++)
		pthread_join(team->helpers[i], NULL);
	sem_destroy(&team->wanted);
	free(team);
}

void hsnap_team_open(struct hsnap_team *team, void (*work)(void *context), void *context)
{
	if (!team || !hsnap_team_close(team))
		return;
	team->work = work;
	team->context = context;
	team->door = OPEN;
	for (int i = 0; i < team->num_helpers; i++)
		sem_post(&team->wanted);
}

bool hsnap_team_close(struct hsnap_team *team)
{
	return !team || !(atomic_fetch_and(&team->door, ~OPEN) & ~OPEN);
}
