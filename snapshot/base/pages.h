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

#endif
