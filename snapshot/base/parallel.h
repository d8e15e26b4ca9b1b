/* SPDX-License-Identifier: MIT */
/* parallel.h - the same work on many pieces, on all cores. */
#ifndef HSNAP_SNAPSHOT_BASE_PARALLEL_H
#define HSNAP_SNAPSHOT_BASE_PARALLEL_H

#include <stddef.h>

/**
 * Call work(context, i) for each i in [0, count), on up to one thread a usable
 * core, this one included.  Pieces are handed out in order; returns when all
 * are done.  Where no thread can be made the work is done here.
 */
void hsnap_parallel(size_t count, void (*work)(void *context, size_t i), void *context);

#endif
