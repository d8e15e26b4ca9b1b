/* SPDX-License-Identifier: MIT */
/* cleanup.h - ownership that the scope shows: hsnap_auto(fn) and hsnap_take(p). */
#ifndef HSNAP_SNAPSHOT_BASE_CLEANUP_H
#define HSNAP_SNAPSHOT_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Call fn(&variable) when the variable goes out of scope. */
#define hsnap_auto(fn) __attribute__((cleanup(fn)))

/* Give the pointer away and leave NULL: the caller's cleanup then does nothing. */
#define hsnap_take(p) (__extension__({ __auto_type taken_ = (p); (p) = NULL; taken_; }))

static inline void hsnap_freep(void *p)
{
	free(*(void **)p);
}

/* For descriptors: closes what is >= 0. */
static inline void hsnap_closefdp(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#endif
