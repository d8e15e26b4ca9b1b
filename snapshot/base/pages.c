/* SPDX-License-Identifier: MIT */
/* pages.c - mmap with huge-page advice. */
#include "snapshot/base/pages.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "snapshot/base/budget.h"

static bool mapped_length(size_t num, size_t size, size_t *ret)
{
	size_t length;
	if (__builtin_mul_overflow(num, size, &length) || __builtin_add_overflow(length, 4095, &length))
		return false;
	length &= ~(size_t)4095;
	*ret = length ? length : 4096;
	return true;
}

void *hsnap_pages_alloc(size_t num, size_t size)
{
	size_t length;
	if (!mapped_length(num, size, &length) || !hsnap_budget_allows(length))
		return NULL;
	void *pages = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return NULL;
	if (length >= HSNAP_PAGES_MANY)
		hsnap_pages_advise(pages, length);
	return pages;
}

void hsnap_pages_advise(void *allocation, size_t size)
{
	uintptr_t at = (uintptr_t)allocation, start = at & ~(uintptr_t)4095, end = (at + size + 4095) & ~(uintptr_t)4095;
	(void)madvise((void *)start, end - start, MADV_HUGEPAGE); /* ENOSYS and the like do not matter */
}

void hsnap_pages_free(void *pages, size_t num, size_t size)
{
	size_t length;
	if (pages && mapped_length(num, size, &length))
		munmap(pages, length);
}
