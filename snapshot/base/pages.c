/* SPDX-License-Identifier: MIT */
/* pages.c - mmap with huge-page advice. */
#include "snapshot/base/pages.h"

#include <stdbool.h>
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
	if (length >= (size_t)4 << 20)
		(void)madvise(pages, length, MADV_HUGEPAGE); /* only advice: ENOSYS and the like do not matter */
	return pages;
}

void hsnap_pages_free(void *pages, size_t num, size_t size)
{
	size_t length;
	if (pages && mapped_length(num, size, &length))
		munmap(pages, length);
}
