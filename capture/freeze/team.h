/* SPDX-License-Identifier: MIT */
/*
 * team.h - other processors help with what is done in a stop.
 *
 * Helpers wait, from before the stop on, for a work: a function that takes piece after piece of something
 * until nothing is left of it.  Each of them calls it, as soon as it gets a processor, and so does the
 * caller; who comes when it is closed does not begin.  Nothing is allocated in a stop, and nobody is waited
 * for but by the caller, who knows for how long.
 */
#ifndef HSNAP_CAPTURE_FREEZE_TEAM_H
#define HSNAP_CAPTURE_FREEZE_TEAM_H

#include <stdbool.h>

struct hsnap_team;

/* NULL: there is one processor only, or no memory, and it goes on without: each function takes that. */
struct hsnap_team *hsnap_team_create(void);
/* Waits for those who are still at work. */
void hsnap_team_destroy(struct hsnap_team *team);

/* Have them begin; where one of them is still at what was closed, nobody helps. */
void hsnap_team_open(struct hsnap_team *team, void (*work)(void *context), void *context);
/* Nobody begins any more; returns at once.  true: nobody is at work either, and nobody will touch the context
 * again.  May be called over and over, to wait for that. */
bool hsnap_team_close(struct hsnap_team *team);

#endif
