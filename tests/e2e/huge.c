/* SPDX-License-Identifier: MIT */
/*
 * huge.c FOLDER - blocks that huge pages alone hold: a hundred of 200 bytes in anonymous ones, of 400 in
 * private ones of a file in FOLDER, of 600 in shared ones, and a hundred of 800 that nobody holds.
 *
 * For each line of stdin it looks at all of its memory and writes to each page: "END" where all is as
 * it was.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE ((size_t)2 << 20)
#define NUM 100u
#define WORDS (HUGE / sizeof(void *))

enum { ANONYMOUS, PRIVATE, SHARED, NUM_PLACES };
static void **places[NUM_PLACES];
static const size_t sizes[NUM_PLACES] = { 200, 400, 600 };
static unsigned char rounds; /* what stands at the end of each page */

static void **map(const char *folder, int place)
{
	static const int flags[] = { MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, MAP_PRIVATE, MAP_SHARED };
	char path[4096];
	int fd = -1;
	if (place != ANONYMOUS) {
		snprintf(path, sizeof(path), "%s/place-%d", folder, place);
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		if (fd < 0 || ftruncate(fd, (off_t)HUGE))
			return MAP_FAILED;
	}
	return mmap(NULL, HUGE, PROT_READ | PROT_WRITE, flags[place], fd, 0);
}

static void __attribute__((noinline)) fill(void)
{
	for (int place = 0; place < NUM_PLACES; place++)
		for (unsigned i = 0; i < NUM; i++)
			places[place][i * 7] = memset(malloc(sizes[place]), place + 1, sizes[place]);
	for (unsigned i = 0; i < NUM; i++) {
		void *lost = memset(malloc(800), 9, 800);
		__asm__ volatile("" : : "r"(lost) : "memory"); /* clang leaves out what nobody holds */
	}
}

static void __attribute__((noinline)) wipe(void)
{
	char stale[8192];
	explicit_bzero(stale, sizeof(stale));
}

static int is_right(void)
{
	for (int place = 0; place < NUM_PLACES; place++) {
		if ((size_t)places[place][WORDS - 1] != rounds)
			return 0;
		for (unsigned i = 0; i < NUM; i++) {
			const char *bytes = places[place][i * 7];
			for (size_t b = 0; b < sizes[place]; b++)
				if (bytes[b] != place + 1)
					return 0;
		}
	}
	return 1;
}

int main(int argc, char **argv)
{
	for (int place = 0; place < NUM_PLACES; place++) {
		places[place] = argc == 2 ? map(argv[1], place) : MAP_FAILED;
		if (places[place] == MAP_FAILED) {
			perror("huge");
			return 1;
		}
	}
	fill();
	wipe();
	char line[16];
	do {
		puts(is_right() ? "END" : "wrong");
		fflush(stdout);
		rounds++;
		for (int place = 0; place < NUM_PLACES; place++)
			places[place][WORDS - 1] = (void *)(size_t)rounds;
	} while (fgets(line, sizeof(line), stdin));
	return 0;
}
