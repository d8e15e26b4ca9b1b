/* SPDX-License-Identifier: MIT */
/* dummy_allocator.c - an allocator that only ever takes from one buffer: what the agent must keep
 * its hands off.  Its blocks have no glibc header, so a record written by mistake would be found
 * by the next block's contents. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

static _Alignas(16) unsigned char buffer[64 << 20];
static size_t used;

static void *take(size_t size, size_t alignment)
{
	if (size > sizeof(buffer))
		return NULL;
	size_t at = (__atomic_load_n(&used, __ATOMIC_RELAXED) + alignment - 1) & ~(alignment - 1);
	if (at + size + 16 > sizeof(buffer))
		return NULL;
	__atomic_store_n(&used, at + size + 16, __ATOMIC_RELAXED);
	memcpy(buffer + at, &size, sizeof(size));
	return buffer + at + 16;
}

EXPORTED void *malloc(size_t size)
{
	return take(size, 16);
}

EXPORTED void *calloc(size_t num, size_t size)
{
	return take(num * size, 16);
}

EXPORTED size_t malloc_usable_size(void *block)
{
	size_t size = 0;
	if (block)
		memcpy(&size, (char *)block - 16, sizeof(size));
	return size;
}

EXPORTED void *realloc(void *block, size_t size)
{
	void *moved = take(size, 16);
	size_t old = malloc_usable_size(block);
	if (moved && block)
		memcpy(moved, block, old < size ? old : size);
	return moved;
}

EXPORTED void *reallocarray(void *block, size_t num, size_t size)
{
	return realloc(block, num * size);
}

EXPORTED void free(void *block)
{
	(void)block;
}

EXPORTED void *memalign(size_t alignment, size_t size)
{
	/* The header takes 16 bytes, so only the block is aligned to 16: enough for a test. */
	return take(size, alignment > 16 ? 16 : alignment);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

EXPORTED int posix_memalign(void **ret, size_t alignment, size_t size)
{
	*ret = memalign(alignment, size);
	return *ret ? 0 : ENOMEM;
}

EXPORTED void *valloc(size_t size)
{
	return memalign(4096, size);
}

EXPORTED void *pvalloc(size_t size)
{
	return memalign(4096, size);
}
