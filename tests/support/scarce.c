/* SPDX-License-Identifier: MIT */
/* scarce.c - see scarce.h: the linker's --wrap sends the calls here. */
#include "tests/support/scarce.h"

#include <errno.h>
#include <stdbool.h>

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t num, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_reallocarray(void *p, size_t num, size_t size);
void *__real_malloc(size_t size);
void *__real_calloc(size_t num, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_reallocarray(void *p, size_t num, size_t size);

static size_t left = PLENTY;

void scarce_grant(size_t num)
{
	left = num;
}

static bool is_granted(void)
{
	if (left == PLENTY)
		return true;
	if (!left) {
		errno = ENOMEM;
		return false;
	}
	left--;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return is_granted() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t num, size_t size)
{
	return is_granted() ? __real_calloc(num, size) : NULL;
}

void *__wrap_realloc(void *p, size_t size)
{
	return is_granted() ? __real_realloc(p, size) : NULL;
}

void *__wrap_reallocarray(void *p, size_t num, size_t size)
{
	return is_granted() ? __real_reallocarray(p, num, size) : NULL;
}
