/* SPDX-License-Identifier: MIT */
/*
 * other.h - blocks of an allocator that is not glibc's: handed on as asked for, entered in the registry.
 *
 * Their sizes and layout stay as they are.  In the other modes these functions only hand on.
 */
#ifndef HSNAP_CAPTURE_AGENT_OTHER_H
#define HSNAP_CAPTURE_AGENT_OTHER_H

#include "capture/agent/agent.h"

/* As the functions of these names; frame: of the exported function that was called. */
void *hsnap_agent_other_malloc(size_t size, const uintptr_t *frame);
void *hsnap_agent_other_calloc(size_t num, size_t size, const uintptr_t *frame);
void *hsnap_agent_other_realloc(void *block, size_t size, const uintptr_t *frame);
void *hsnap_agent_other_reallocarray(void *block, size_t num, size_t size, const uintptr_t *frame);
void *hsnap_agent_other_memalign(size_t alignment, size_t size, const uintptr_t *frame);
void *hsnap_agent_other_aligned_alloc(size_t alignment, size_t size, const uintptr_t *frame);
int hsnap_agent_other_posix_memalign(void **ret, size_t alignment, size_t size, const uintptr_t *frame);
void *hsnap_agent_other_valloc(size_t size, const uintptr_t *frame);
void *hsnap_agent_other_pvalloc(size_t size, const uintptr_t *frame);
void hsnap_agent_other_free(void *block);
size_t hsnap_agent_other_usable(void *block);

/* For operator new: NULL where it is to be handed on, or memory is short. */
void *hsnap_agent_other_new(size_t size, size_t alignment, const uintptr_t *frame);
/* Put a block that was handed out in the registry (NULL: nothing to do); returns it. */
void *hsnap_agent_enter(void *block, size_t size, const uintptr_t *frame);
/* The same of one that the allocator may have asked its own malloc for: then who called it is put right. */
void *hsnap_agent_enter_for(void *block, size_t size, const uintptr_t *frame);
/* Take out one that is about to be given back. */
void hsnap_agent_withdraw(void *block);

#endif
