/* SPDX-License-Identifier: MIT */
/* pools.h - what heapsnap.h says of pools and roots, and texts and sites that say so: annotate.c, texts.c, pools.c, arenas.c. */
#ifndef HSNAP_CAPTURE_AGENT_POOLS_H
#define HSNAP_CAPTURE_AGENT_POOLS_H

#include "capture/agent/agent.h"
#include "capture/agent/heapsnap.h"

/* A handle is a generation above, and 1 + a number below. */

/* texts.c: the unit of a text in the pool of stacks; 0: no room. */
uint32_t hsnap_agent_text(const char *text, unsigned how);
/* The unit of a site with a tag; 0: no room. */
uint32_t hsnap_agent_tagged(uint32_t site, uint32_t text);

static inline void hsnap_agent_count(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* The process has annotations, whatever its allocator. */
bool hsnap_agent_annotates(void);

/* pools.c, for struct heapsnap_calls */
heapsnap_pool hsnap_agent_pool_create(const char *name, int arena);
void hsnap_agent_pool_destroy(heapsnap_pool handle);
void hsnap_agent_pool_reset(heapsnap_pool handle);
void hsnap_agent_pool_slab(heapsnap_pool handle, void *memory, size_t size);
void hsnap_agent_pool_slab_gone(heapsnap_pool handle, void *memory);
void *hsnap_agent_pool_alloc(heapsnap_pool handle, void *object, size_t size, const char *type, enum heapsnap_text how);
void hsnap_agent_pool_free(heapsnap_pool handle, void *object);
bool hsnap_agent_tag_object(uintptr_t object, uint32_t text); /* false: no pool has one there */
void hsnap_agent_root(void *memory, size_t size, const char *name);
void hsnap_agent_root_gone(void *memory);

/* pieces.c: lists of pairs of words, of which the first is never 0; `list` is 1 + the number of its latest piece, or 0. */
/* An entry of one's own, empty; NULL: no memory. */
uint64_t *hsnap_agent_list_add(uint64_t *list);
/* The latest entry whose first word is so but for `ignored` bits; NULL: none. */
uint64_t *hsnap_agent_list_find(const uint64_t *list, uint64_t first, uint64_t ignored);
void hsnap_agent_list_clear(uint64_t *list);

#endif
