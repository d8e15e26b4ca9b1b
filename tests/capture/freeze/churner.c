/* SPDX-License-Identifier: MIT */
/*
 * churner.c - churner MIB WORKS...: a process whose memory changes without pause.
 *
 *	write     random words of its MIB; their sum never changes
 *	map       maps, moves, discards, protects and unmaps stretches, also over each other
 *	heap      malloc and free by way of brk, up and down
 *	fork      children that write and end
 *	share     a stretch that a child writes to as well
 *	watch     has a userfaultfd of its own on a stretch
 *	huge      its MIB are asked to be huge pages
 *	sparse    64 GiB, of which 256 pages are there
 *
 * Prints READY when set up; at the end of stdin "wrong N rounds N", and exits.
 */
#include <fcntl.h>
#include <malloc.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u

static atomic_int stop;
static atomic_ulong wrong, rounds;
static uint64_t *words;
static size_t num_words;

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
	return *state;
}

static void *map(size_t size, int flags)
{
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
	if (pages == MAP_FAILED)
		abort();
	return pages;
}

static void *write_on(void *unused)
{
	uint64_t state = 88172645463325252u, sum = 0;
	for (size_t i = 0; i < num_words; i++)
		sum += words[i] = i * 0x9e3779b97f4a7c15u;
	while (!stop) {
		for (int i = 0; i < 2000; i++) {
			uint64_t take = next(&state);
			words[next(&state) % num_words] -= take;
			words[next(&state) % num_words] += take;
		}
		rounds++;
		nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
	}
	for (size_t i = 0; i < num_words; i++)
		sum -= words[i];
	wrong += sum != 0;
	return unused;
}

#define STRETCHES 16
#define STRETCH (64 * PAGE)

/* What was written must be there, until it is discarded: then there are zeros. */
static void *map_on(void *unused)
{
	uint64_t state = 0x2545f4914f6cdd1du;
	struct {
		uint8_t *pages;
		uint8_t tag; /* of every page; 0: discarded */
	} stretches[STRETCHES] = { 0 };
	while (!stop) {
		uint64_t random = next(&state);
		size_t i = random % STRETCHES;
		uint8_t *pages = stretches[i].pages;
		for (size_t at = 0; pages && at < STRETCH; at += PAGE)
			wrong += pages[at] != stretches[i].tag;
		switch (pages ? random / STRETCHES % 6 : 0) {
		case 0:
			if (pages)
				munmap(pages, STRETCH);
			stretches[i].pages = pages = map(STRETCH, MAP_PRIVATE);
			__attribute__((fallthrough));
		case 1:
			stretches[i].tag = (uint8_t)(random >> 32 | 1);
			for (size_t at = 0; at < STRETCH; at += PAGE)
				pages[at] = stretches[i].tag;
			break;
		case 2:
			madvise(pages, STRETCH, MADV_DONTNEED);
			stretches[i].tag = 0;
			break;
		case 3: { /* onto another one */
			size_t other = (i + 1) % STRETCHES;
			if (!stretches[other].pages)
				break;
			if (mremap(pages, STRETCH, STRETCH, MREMAP_MAYMOVE | MREMAP_FIXED, stretches[other].pages) == MAP_FAILED)
				abort();
			stretches[other].tag = stretches[i].tag;
			stretches[i].pages = NULL;
			break;
		}
		case 4: /* another one where it was */
			if (mmap(pages, STRETCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
				abort();
			memset(pages, 7, STRETCH);
			stretches[i].tag = 7;
			break;
		default:
			mprotect(pages, STRETCH, PROT_READ);
			mprotect(pages, STRETCH / 2, PROT_READ | PROT_WRITE);
			mprotect(pages, STRETCH, PROT_READ | PROT_WRITE);
		}
		rounds++;
	}
	return unused;
}

static void *heap_on(void *unused)
{
	enum { NUM = 400 };
	static uint8_t *blocks[NUM];
	uint64_t state = 0x9e3779b97f4a7c15u;
	mallopt(M_MMAP_THRESHOLD, 64 << 20);
	mallopt(M_TRIM_THRESHOLD, 4096);
	while (!stop) {
		size_t i = next(&state) % NUM, size = 16 + next(&state) % 60000;
		wrong += blocks[i] && blocks[i][0] != (uint8_t)i;
		free(blocks[i]);
		blocks[i] = next(&state) % 3 ? malloc(size) : NULL;
		if (blocks[i])
			memset(blocks[i], (int)(uint8_t)i, size);
		rounds++;
		if (!(rounds % 64))
			nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
	return unused;
}

static void *fork_on(void *unused)
{
	while (!stop) {
		pid_t child = fork();
		if (!child) {
			for (size_t i = 0; i < num_words; i += 4096)
				words[i] = 0;
			_exit(7);
		}
		int status = 0;
		wrong += waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7;
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
	return unused;
}

static void *share_on(void *unused)
{
	uint64_t state = 4711;
	volatile uint64_t *shared = map(256 * PAGE, MAP_SHARED);
	memset((void *)(uintptr_t)shared, 1, 256 * PAGE);
	pid_t child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			shared[next(&state) % (256 * PAGE / 8)] += next(&state);
	}
	while (!stop)
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return unused;
}

static void *watch_on(void *unused)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1);
	struct uffdio_api api = { .api = UFFD_API };
	uint8_t *pages = map(16 * PAGE, MAP_PRIVATE);
	struct uffdio_register range = { .range = { (uintptr_t)pages, 16 * PAGE }, .mode = UFFDIO_REGISTER_MODE_MISSING };
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		abort();
	while (!stop)
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	return unused;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void *(*work)(void *);
	} works[] = {
		{ "write", write_on }, { "map", map_on }, { "heap", heap_on }, { "fork", fork_on },
		{ "share", share_on }, { "watch", watch_on },
	};
	pthread_t threads[8];
	int num = 0;
	if (argc < 2)
		return 2;
	size_t bytes = strtoul(argv[1], NULL, 10) << 20;
	num_words = bytes / 8;
	words = map(bytes + PAGE, MAP_PRIVATE);
	for (int i = 2; i < argc && num < 8; i++) {
		if (!strcmp(argv[i], "huge"))
			madvise(words, bytes, MADV_HUGEPAGE);
		if (!strcmp(argv[i], "sparse")) {
			uint8_t *sparse = map((size_t)64 << 30, MAP_PRIVATE | MAP_NORESERVE);
			for (size_t k = 0; k < 256; k++)
				sparse[k << 28] = 1;
		}
		for (size_t w = 0; w < sizeof(works) / sizeof(*works); w++)
			if (!strcmp(argv[i], works[w].name) && pthread_create(&threads[num++], NULL, works[w].work, NULL))
				abort();
	}
	usleep(50000);
	puts("READY");
	fflush(stdout);
	char byte;
	while (read(0, &byte, 1) > 0)
		;
	stop = 1;
	for (int i = 0; i < num; i++)
		pthread_join(threads[i], NULL);
	printf("wrong %lu rounds %lu\n", wrong, rounds);
	return wrong != 0;
}
