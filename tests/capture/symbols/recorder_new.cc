/* SPDX-License-Identifier: MIT */
/* recorder_new.cc - operator new that prints where it was called from. */
#include "tests/capture/symbols/recorder.h"

#include <new>

void *operator new(std::size_t size)
{
	record(__builtin_return_address(0));
	void *p = std::malloc(size);
	if (!p)
		throw std::bad_alloc();
	return p;
}

void *operator new[](std::size_t size)
{
	record(__builtin_return_address(0));
	return std::malloc(size);
}

void operator delete(void *p) noexcept { std::free(p); }
void operator delete(void *p, std::size_t) noexcept { std::free(p); }
void operator delete[](void *p) noexcept { std::free(p); }
void operator delete[](void *p, std::size_t) noexcept { std::free(p); }
