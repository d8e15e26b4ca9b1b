/* SPDX-License-Identifier: MIT */
/* shares.c FILE - a hundred blocks that a shared mapping of FILE alone holds, and ten that nobody does. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u

static void __attribute__((noinline)) fill(void **shared)
{
	for (unsigned i = 0; i < 100; i++)
		shared[i] = memset(malloc(200), 1, 200);
	for (unsigned i = 0; i < 10; i++)
		memset(malloc(400), 2, 400);
}

static void __attribute__((noinline)) wipe(void)
{
	char stale[4096];
	explicit_bzero(stale, sizeof(stale));
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	if (fd < 0 || ftruncate(fd, PAGE))
		return 1;
	void **shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		return 1;
	fill(shared);
	wipe();
	puts("ready");
	fflush(stdout);
	(void)getchar();
	return 0;
}
