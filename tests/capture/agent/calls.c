/* SPDX-License-Identifier: MIT */
/*
 * calls.c CASE - every call by which memory is had and given back, as any allocator answers it: then what is true, and stop.
 *
 * Built on its own, linked with each allocator that is not glibc's, and, with -DPAST, as a program that calls
 * what these have beside.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

enum { THREADS = 8, ROUNDS = 30, MOST_ALIGNED = 128 }; /* mimalloc 2.0.9 gets it wrong beyond */

static int is_filled(const unsigned char *block, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (block[i] != 0xa5)
			return 0;
	return 1;
}

static int is_zero(const unsigned char *block, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (block[i])
			return 0;
	return 1;
}

/* ---- one call each ---- */

static void aligned_ones(size_t size)
{
	for (size_t alignment = 16; alignment <= 1024; alignment *= 8) {
		void *block = NULL;
		size_t whole = (size + alignment - 1) & ~(alignment - 1); /* aligned_alloc wants a multiple */
		block = keep(aligned_alloc(alignment, whole), whole);
		CHECK((uintptr_t)block % alignment == 0 || alignment > MOST_ALIGNED);
		CHECK((uintptr_t)keep(memalign(alignment, size), size) % alignment == 0);
		CHECK(!posix_memalign(&block, alignment, size) && (uintptr_t)block % alignment == 0);
		keep(block, size);
		CHECK(!posix_memalign(&block, alignment, size));
		drop(keep(block, size));
	}
	size_t page = (size_t)getpagesize();
	CHECK((uintptr_t)keep(valloc(size), size) % page == 0);
	CHECK((uintptr_t)keep(pvalloc(size), (size + page - 1) & ~(page - 1)) % page == 0);
}

static void resized_ones(size_t size)
{
	unsigned char *block = resize(NULL, size);
	for (size_t other = size * 2 + 1; other < size * 40; other *= 2) {
		note(block, 0, 'd');
		block = realloc(block, other);
		CHECK(block && is_filled(block, size));
		keep(block, other);
	}
	note(block, 0, 'd');
	block = realloc(block, size / 2 + 1);
	CHECK(block && is_filled(block, size / 2 + 1));
	keep(block, size / 2 + 1);
	note(block, 0, 'd');
	block = reallocarray(block, size, 3);
	CHECK(block && is_filled(block, size / 2 + 1));
	keep(block, size * 3);
	void *gone = get(size);
	note(gone, 0, 'd');
	free(realloc(gone, 0)); /* NULL, or a block of nothing */
}

/* All that may be used is used, and what is beside it stands. */
static void usable(size_t size)
{
	unsigned char *block = get(size), *neighbour = get(size);
	size_t room = malloc_usable_size(block);
	CHECK(room >= size);
	memset(block, 0x5a, room);
	CHECK(is_filled(neighbour, size) && malloc_usable_size(block) == room);
	memset(block, 0xa5, size);
	if (size % 2)
		drop(block);
}

/* What cannot be had leaves everything as it was. */
static void refused(void)
{
	volatile size_t most = PTRDIFF_MAX, half = SIZE_MAX / 2;
	unsigned char *block = get(1234);
	void *other = NULL;
	CHECK(!malloc(most) && !calloc(half, 3) && !realloc(block, most) && !reallocarray(block, half, 3));
	CHECK(errno == ENOMEM && is_filled(block, 1234));
	CHECK(posix_memalign(&other, 3, 100) == EINVAL && posix_memalign(&other, 64, most) == ENOMEM);
	free(NULL);
	CHECK(!malloc_usable_size(NULL));
}

/* By calls that the C library lacks, or has no more: here they are the agent's. */
static void given_back_otherwise(size_t size)
{
	void (*sized)(void *, size_t), (*aligned)(void *, size_t, size_t), (*old)(void *);
	*(void **)&sized = dlsym(RTLD_DEFAULT, "free_sized");
	*(void **)&aligned = dlsym(RTLD_DEFAULT, "free_aligned_sized");
	*(void **)&old = dlsym(RTLD_DEFAULT, "cfree");
	CHECK(sized && aligned && old);
	size_t lines = (size + 63) & ~(size_t)63;
	void *block = get(size), *whole = keep(aligned_alloc(64, lines), lines);
	note(block, 0, 'd');
	sized(block, size);
	note(whole, 0, 'd');
	aligned(whole, 64, lines);
	block = get(size);
	note(block, 0, 'd');
	old(block);
	sized(NULL, 0);
	aligned(NULL, 64, 0);
	old(NULL);
}

static void every_call(void)
{
	for (size_t size = 1; size <= 300000; size += size / 3 + 1) {
		drop(get(size));
		get(size);
		unsigned char *zeroed = calloc(3, size);
		CHECK(zeroed && is_zero(zeroed, 3 * size));
		keep(zeroed, 3 * size);
		aligned_ones(size);
		resized_ones(size);
		usable(size);
		given_back_otherwise(size);
	}
	keep(malloc(0), 0);
	refused();
	get(5u << 20);
	drop(resize(get(3u << 20), 9u << 20));
}

/* ---- threads, and a child ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *handed_on[1000];
static size_t num_handed_on;

/* Blocks of this thread's own are freed here, others by whoever comes next. */
static void *work(void *stays)
{
	for (unsigned i = 0; i < 400; i++) {
		free(malloc(1 + i * 7 % 3000));
		pthread_mutex_lock(&lock);
		if (num_handed_on && i % 3 == 0)
			drop(handed_on[--num_handed_on]);
		void *block = get(1 + rnd(2000));
		if (i % 5 == 0 && num_handed_on < 1000)
			handed_on[num_handed_on++] = block;
		else if (i % 5 < 3)
			drop(block);
		pthread_mutex_unlock(&lock);
	}
	return stays ? (pause(), NULL) : NULL;
}

static void come_and_go(void)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		pthread_t threads[THREADS];
		for (unsigned i = 0; i < THREADS; i++)
			CHECK(!pthread_create(&threads[i], NULL, work, NULL));
		for (unsigned i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
}

static void threads(void)
{
	come_and_go();
	get(77);
}

/* It has its parent's blocks and sums, and goes on with them by itself. */
static void child(void)
{
	come_and_go();
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid) {
		int status;
		for (int i = 0; i < 500; i++) /* nothing that the child is to see */
			free(malloc(333));
		CHECK(malloc(55555));
		waitpid(pid, &status, WUNTRACED);
		raise(SIGSTOP);
		_exit(0);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < num_truth; i += 3)
		if (truth[i].what == 'l')
			drop(truth[i].block);
	every_call();
}

/* The same as malloc_usable_size, looked up, past the agent. */
static void room_by_dlsym(void)
{
	size_t (*with_flags)(const void *, int) = (size_t (*)(const void *, int))dlsym(RTLD_DEFAULT, "sallocx");
	void *found = dlsym(RTLD_DEFAULT, "tc_malloc_size");
	size_t (*room_of)(const void *) = (size_t (*)(const void *))(found ? found : dlsym(RTLD_DEFAULT, "mi_usable_size"));
	CHECK(with_flags || room_of);
	for (size_t size = 1; size < 5000; size += 7) {
		void *block = get(size);
		size_t room = with_flags ? with_flags(block, 0) : room_of(block);
		CHECK(room >= size);
		memset(block, 0x5a, room);
	}
}

#ifdef PAST
/* ---- by the allocators' own functions ---- */

#define OWN __attribute__((weak))
OWN void *mallocx(size_t size, int flags);
OWN void sdallocx(void *block, size_t size, int flags);
OWN void *tc_malloc(size_t size);
OWN void tc_free(void *block);
OWN void *mi_malloc(size_t size);
OWN void mi_free(void *block);

/* The agent knows nothing of the former, and not that the latter is gone. */
static void past_the_agent(void)
{
	for (size_t i = 0; i < 100; i++) {
		void *past = mallocx ? mallocx(200, 0) : tc_malloc ? tc_malloc(200) : mi_malloc ? mi_malloc(200) : NULL;
		CHECK(past);
		get(64);
		note(past, 200, 'd');
	}
	void *block = malloc(7000);
	if (sdallocx)
		sdallocx(block, 7000, 0);
	else if (tc_free)
		tc_free(block);
	else
		mi_free(block);
}

#endif

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "every_call", every_call }, { "threads", threads }, { "child", child }, { "room_by_dlsym", room_by_dlsym },
#ifdef PAST
	{ "past_the_agent", past_the_agent },
#endif
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (argc < 2 || strcmp(argv[1], cases[i].name))
			continue;
		cases[i].run();
		tell_and_stop();
		return 0;
	}
	return 2;
}
