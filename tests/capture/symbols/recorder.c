/* SPDX-License-Identifier: MIT */
/* recorder.c - allocators that print where they were called from: offsets into the program. */
#include "tests/capture/symbols/recorder.h"

#include <stdio.h>

extern const char __executable_start[];

/* Without stdio's own allocations in between. */
void record(const void *caller)
{
	static char buffer[1 << 16];
	static int ready;
	if (!ready)
		setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	ready = 1;
	printf("%lx\n", (unsigned long)((const char *)caller - __executable_start));
}

#undef malloc
#undef calloc
#undef realloc
#undef strdup

void *record_malloc(size_t size)
{
	record(__builtin_return_address(0));
	return malloc(size);
}

void *record_calloc(size_t num, size_t size)
{
	record(__builtin_return_address(0));
	return calloc(num, size);
}

void *record_realloc(void *old, size_t size)
{
	record(__builtin_return_address(0));
	return realloc(old, size);
}
