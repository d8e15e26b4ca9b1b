/* SPDX-License-Identifier: MIT */
/*
 * malloc.c - the C allocation functions, handed on to glibc with eight bytes more.
 *
 * See capture/wire.h for the trailer.  Layout of a chunk: glibc 2.36 malloc/malloc.c,
 * struct malloc_chunk (unchanged since 2.0): the word before a block is the chunk's
 * size | 1 previous in use | 2 a mapping of its own | 4 not of the main arena; its usable
 * bytes reach eight bytes into the next chunk, unless it is a mapping of its own.
 */
#include "capture/agent/agent.h"

#include <errno.h>
#include <unistd.h>

#include "capture/agent/other.h"
#include "capture/agent/record.h"

EXPORTED void *malloc(size_t size)
{
	if (UNLIKELY(!hsnap_agent_records()))
		return hsnap_agent_other_malloc(size, __builtin_frame_address(0));
	void *block = __libc_malloc(hsnap_agent_grown(size));
	return hsnap_agent_record(block, size, __builtin_frame_address(0));
}

EXPORTED void *calloc(size_t num, size_t size)
{
	if (UNLIKELY(!hsnap_agent_records()))
		return hsnap_agent_other_calloc(num, size, __builtin_frame_address(0));
	size_t bytes;
	if (UNLIKELY(__builtin_mul_overflow(num, size, &bytes))) {
		errno = ENOMEM;
		return NULL;
	}
	return hsnap_agent_record(__libc_calloc(1, hsnap_agent_grown(bytes)), bytes, __builtin_frame_address(0));
}

EXPORTED void free(void *block)
{
	if (LIKELY(block != NULL))
		hsnap_agent_free(block);
}

/* C23; the size is the caller's word, the record knows better. */
EXPORTED void free_sized(void *block, size_t size)
{
	(void)size;
	free(block);
}

EXPORTED void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	free(block);
}

/* Gone from glibc for new programs; allocators have it, and what is given back by it must go off the record. */
EXPORTED void cfree(void *block)
{
	free(block);
}

/* The old place is marked freed before glibc moves the block, and gets its record back where glibc
 * fails: a block that moves leaves no record behind. */
static inline __attribute__((always_inline)) void *resize(void *block, size_t size, const uintptr_t *frame)
{
	if (!block)
		return hsnap_agent_record(__libc_malloc(hsnap_agent_grown(size)), size, frame);
	struct hsnap_agent_old old = hsnap_agent_release(block);
	if (!size) /* glibc frees it and returns NULL */
		return __libc_realloc(block, 0);
	void *moved = __libc_realloc(block, hsnap_agent_grown(size));
	if (UNLIKELY(!moved)) {
		hsnap_agent_restore(block, &old);
		return NULL;
	}
	if (UNLIKELY(old.data))
		hsnap_agent_put_data(moved, &old);
	moved = hsnap_agent_record(moved, size, frame);
	if (UNLIKELY(old.tagged))
		hsnap_agent_tag_again(moved, old.tagged);
	return moved;
}

EXPORTED void *realloc(void *block, size_t size)
{
	if (UNLIKELY(!hsnap_agent_records()))
		return hsnap_agent_other_realloc(block, size, __builtin_frame_address(0));
	return resize(block, size, __builtin_frame_address(0));
}

EXPORTED void *reallocarray(void *block, size_t num, size_t size)
{
	if (UNLIKELY(!hsnap_agent_records()))
		return hsnap_agent_other_reallocarray(block, num, size, __builtin_frame_address(0));
	size_t bytes;
	if (UNLIKELY(__builtin_mul_overflow(num, size, &bytes))) {
		errno = ENOMEM;
		return NULL;
	}
	return resize(block, bytes, __builtin_frame_address(0));
}

EXPORTED void *memalign(size_t alignment, size_t size)
{
	if (UNLIKELY(!hsnap_agent_records()))
		return hsnap_agent_other_memalign(alignment, size, __builtin_frame_address(0));
	return hsnap_agent_record(__libc_memalign(alignment, hsnap_agent_grown(size)), size,
				  __builtin_frame_address(0));
}

EXPORTED void *aligned_alloc(size_t alignment, size_t size)
{
	if (UNLIKELY(!hsnap_agent_records()))
		return hsnap_agent_other_aligned_alloc(alignment, size, __builtin_frame_address(0));
	/* What glibc makes of a bad alignment depends on its version: ask it, and keep what it says. */
	if (UNLIKELY(!alignment || alignment & (alignment - 1))) {
		void *block = hsnap_agent_next.aligned_alloc(alignment, hsnap_agent_grown(size));
		return hsnap_agent_record(block, size, __builtin_frame_address(0));
	}
	return hsnap_agent_record(__libc_memalign(alignment, hsnap_agent_grown(size)), size,
				  __builtin_frame_address(0));
}

EXPORTED int posix_memalign(void **ret, size_t alignment, size_t size)
{
	if (UNLIKELY(!hsnap_agent_records()))
		return hsnap_agent_other_posix_memalign(ret, alignment, size, __builtin_frame_address(0));
	if (alignment % sizeof(void *) || !alignment || alignment & (alignment - 1))
		return EINVAL;
	void *block = __libc_memalign(alignment, hsnap_agent_grown(size));
	if (!block)
		return ENOMEM;
	*ret = hsnap_agent_record(block, size, __builtin_frame_address(0));
	return 0;
}

EXPORTED void *valloc(size_t size)
{
	if (UNLIKELY(!hsnap_agent_records()))
		return hsnap_agent_other_valloc(size, __builtin_frame_address(0));
	return hsnap_agent_record(__libc_memalign((size_t)getpagesize(), hsnap_agent_grown(size)), size,
				  __builtin_frame_address(0));
}

EXPORTED void *pvalloc(size_t size)
{
	if (UNLIKELY(!hsnap_agent_records()))
		return hsnap_agent_other_pvalloc(size, __builtin_frame_address(0));
	size_t page = (size_t)getpagesize(), whole;
	if (__builtin_add_overflow(size, page - 1, &whole)) {
		errno = ENOMEM;
		return NULL;
	}
	whole &= ~(page - 1);
	return hsnap_agent_record(__libc_memalign(page, hsnap_agent_grown(whole)), whole, __builtin_frame_address(0));
}

EXPORTED size_t malloc_usable_size(void *block)
{
	if (UNLIKELY(!hsnap_agent_records()))
		return hsnap_agent_other_usable(block);
	return block ? hsnap_agent_usable(block) : 0;
}
