// SPDX-License-Identifier: MIT
// own_new.cc - a program that replaces operator new: the default operator new[] has to call it.
#include <cstdio>
#include <cstdlib>
#include <new>

static int news, deletes;

void *operator new(size_t size)
{
	news++;
	if (void *block = malloc(size))
		return block;
	throw std::bad_alloc();
}

void operator delete(void *block) noexcept
{
	deletes++;
	free(block);
}

void operator delete(void *block, size_t) noexcept
{
	deletes++;
	free(block);
}

int main()
{
	int *volatile one = new int(1);
	int *volatile many = new int[10];
	int *volatile quiet = new (std::nothrow) int(2);
	delete one;
	delete[] many;
	delete quiet;
	printf("%d news, %d deletes\n", news, deletes);
	return 0;
}
