/* SPDX-License-Identifier: MIT */
/*
 * step.h - named places at which a test stops heapsnap and kills it.
 *
 * Only in a build with HSNAP_STEPS; there the step that HEAPSNAP_STEP names
 * says so on stderr and waits to be killed.
 */
#ifndef HSNAP_CAPTURE_FREEZE_STEP_H
#define HSNAP_CAPTURE_FREEZE_STEP_H

#ifdef HSNAP_STEPS
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline void hsnap_step(const char *name)
{
	const char *want = getenv("HEAPSNAP_STEP");
	if (!want || strcmp(want, name))
		return;
	dprintf(2, "step %s\n", name);
	for (;;)
		pause();
}

/* "CALL-WHAT": of a step that several system calls have. */
static inline void hsnap_step_of(const char *call, const char *what)
{
	char name[64];
	snprintf(name, sizeof(name), "%s-%s", call, what);
	hsnap_step(name);
}
/* A process that outlives the killed one goes on. */
static inline void hsnap_step_none(void)
{
	unsetenv("HEAPSNAP_STEP");
}
#else
static inline void hsnap_step(const char *name)
{
	(void)name;
}

static inline void hsnap_step_of(const char *call, const char *what)
{
	(void)call;
	(void)what;
}

static inline void hsnap_step_none(void)
{
}
#endif

#endif
