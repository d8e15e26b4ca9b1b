/* SPDX-License-Identifier: MIT */
/*
 * scratch.h - tables and buffers of a worker, lent for a chunk at a time.
 *
 * hsnap_parallel() does not say which thread works; so a worker takes a set
 * that nobody uses and gives it back.  There are as many sets as threads ever
 * worked at once.  Private to snapshot/format.
 */
#ifndef HSNAP_SNAPSHOT_FORMAT_SCRATCH_H
#define HSNAP_SNAPSHOT_FORMAT_SCRATCH_H

#include <pthread.h>

#include "snapshot/format/columns.h"

struct hsnap_scratch {
	struct hsnap_scratch *next;
	struct hsnap_zip zip;
	struct hsnap_buffer raw[HSNAP_NODE_COLUMNS], stored[HSNAP_NODE_COLUMNS];
	struct hsnap_node_scratch *nodes; /* NULL until hsnap_scratch_nodes() */
	struct hsnap_target_guesses guesses;
};

struct hsnap_scratch_pool {
	pthread_mutex_t lock; /* PTHREAD_MUTEX_INITIALIZER */
	struct hsnap_scratch *unused;
};

/* NULL: out of memory. */
struct hsnap_scratch *hsnap_scratch_take(struct hsnap_scratch_pool *pool);
void hsnap_scratch_give(struct hsnap_scratch_pool *pool, struct hsnap_scratch *scratch);
/* The large tables, made on first use; NULL: out of memory. */
struct hsnap_node_scratch *hsnap_scratch_nodes(struct hsnap_scratch *scratch);
void hsnap_scratch_pool_deinit(struct hsnap_scratch_pool *pool);

#endif
