/* SPDX-License-Identifier: MIT */
/* scratch.c - the list of workers' sets that are not lent. */
#include "snapshot/format/scratch.h"

#include <stdlib.h>

struct hsnap_scratch *hsnap_scratch_take(struct hsnap_scratch_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	struct hsnap_scratch *scratch = pool->unused;
	if (scratch)
		pool->unused = scratch->next;
	pthread_mutex_unlock(&pool->lock);
	return scratch ? scratch : calloc(1, sizeof(*scratch));
}

void hsnap_scratch_give(struct hsnap_scratch_pool *pool, struct hsnap_scratch *scratch)
{
	pthread_mutex_lock(&pool->lock);
	scratch->next = pool->unused;
	pool->unused = scratch;
	pthread_mutex_unlock(&pool->lock);
}

struct hsnap_node_scratch *hsnap_scratch_nodes(struct hsnap_scratch *scratch)
{
	if (!scratch->nodes)
		scratch->nodes = malloc(sizeof(*scratch->nodes));
	return scratch->nodes;
}

void hsnap_scratch_pool_deinit(struct hsnap_scratch_pool *pool)
{
	while (pool->unused) {
		struct hsnap_scratch *scratch = pool->unused;
		pool->unused = scratch->next;
		hsnap_zip_deinit(&scratch->zip);
		for (int c = 0; c < HSNAP_NODE_COLUMNS; c++) {
			hsnap_buffer_deinit(&scratch->raw[c]);
			hsnap_buffer_deinit(&scratch->stored[c]);
		}
		free(scratch->nodes);
		free(scratch);
	}
	pthread_mutex_destroy(&pool->lock);
}
