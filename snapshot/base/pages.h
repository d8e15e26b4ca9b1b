/* SPDX-License-Identifier: MIT */
/*
 * pages.h - arrays of many megabytes, from the kernel directly.
 *
 * Zeroed, and backed by huge pages where the kernel gives them: a column of ten
 * million entries is faulted in a hundred steps and not in twenty thousand.
 */
#ifndef HSNAP_SNAPSHOT_BASE_PAGES_H
#define HSNAP_SNAPSHOT_BASE_PAGES_H

#include <stddef.h>

/* NULL: out of memory, or num * size overflows.  num 0 gives a valid pointer. */
void *hsnap_pages_alloc(size_t num, size_t size);
/* The same num and size as were asked for; NULL is fine. */
void hsnap_pages_free(void *pages, size_t num, size_t size);

/**
 * Let an allocation of malloc's be backed likewise, as far as it is not yet.  Only advice.
 *
 * All pages that it touches are meant, its first one too: a mapping of which a part is advised cannot be
 * made longer in its place.
 */
void hsnap_pages_advise(void *allocation, size_t size);
/* From here on it is worth it. */
#define HSNAP_PAGES_MANY ((size_t)4 << 20)

#endif
