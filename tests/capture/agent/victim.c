/* SPDX-License-Identifier: MIT */
/* victim.c CASE - do what a case says with the heap, print what is true, and stop. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "truth.h"

/* ---- cases ---- */

static void sizes(void)
{
	for (size_t size = 0; size < 1500; size++)
		get(size);
	for (size_t size = 1; size < (size_t)6 << 20; size = size * 3 / 2 + 1)
		get(size);
	for (size_t i = 0; i < 200; i++)
		keep(calloc(i, 7), i * 7);
}

static void churn(void)
{
	static void *blocks[20000];
	for (int i = 0; i < 80000; i++) {
		unsigned at = rnd(20000);
		if (blocks[at]) {
			drop(blocks[at]);
			blocks[at] = NULL;
		} else {
			blocks[at] = get(1 + rnd(1500));
		}
	}
	for (int i = 0; i < 20000; i += 3)
		if (blocks[i])
			drop(blocks[i]);
}

static void realloc_moves(void)
{
	static void *blocks[1000];
	for (int i = 0; i < 1000; i++) {
		blocks[i] = get(24 + rnd(200));
		get(16); /* a neighbour that keeps it from growing in place */
	}
	for (int i = 0; i < 1000; i++)
		blocks[i] = resize(blocks[i], 400 + rnd(900));
}

static void realloc_in_place(void)
{
	for (int i = 0; i < 300; i++) {
		void *block = get(3000);
		void *same = resize(block, 3000 - rnd(2900)); /* cuts a tail off, of each cached size too */
		CHECK(same == block);
	}
	for (int i = 0; i < 300; i++) {
		void *block = get(2000), *next = get(5000);
		get(16);
		drop(next);
		resize(block, 2000 + rnd(5000));
	}
}

static void realloc_mapped(void)
{
	void *block = get(200 << 10);
	void *grown = resize(block, 4 << 20);
	get(300 << 10);
	resize(grown, 9 << 20);
	resize(get(1 << 20), 100);          /* back into the heap */
	resize(get(100), 5 << 20);          /* out of it */
	resize(get(3 << 20), 2 << 20);    /* shrinks where it is */
	drop(get(7 << 20));
	CHECK(realloc(get(900), (size_t)1 << 60) == NULL && errno == ENOMEM);
	CHECK(realloc(get(1 << 20), (size_t)1 << 60) == NULL);
	volatile size_t huge = (size_t)1 << 33;
	CHECK(reallocarray(get(77), huge, huge) == NULL && errno == ENOMEM);
	CHECK(calloc(huge, huge) == NULL && malloc(huge << 30) == NULL && malloc(huge * huge - 4) == NULL);
	void *gone = get(123);
	note(gone, 0, 'd');
	CHECK(realloc(gone, 0) == NULL);
	resize(NULL, 55);
}

static void memaligned(void)
{
	for (int i = 0; i < 2000; i++) {
		size_t size = rnd(600);
		void *block = memalign((size_t)16 << rnd(9), size);
		keep(block, size);
		if (rnd(3) == 0)
			drop(block);
		if (rnd(5) == 0)
			drop(get(rnd(1000)));
	}
	void *block = NULL;
	CHECK(posix_memalign(&block, 24, 8) == EINVAL && !block);
	CHECK(posix_memalign(&block, 4096, (size_t)1 << 62) == ENOMEM);
	CHECK(posix_memalign(&block, 8192, 100) == 0 && (uintptr_t)block % 8192 == 0);
	keep(block, 100);
	keep(aligned_alloc(64, 640), 640);
	keep(valloc(10), 10);
	keep(pvalloc(10), 4096);
	keep(memalign(1 << 20, 3 << 20), 3 << 20);
}

static void usable_to_the_last_byte(void)
{
	for (size_t size = 0; size < 3000; size += 7) {
		void *block = get(size);
		size_t usable = malloc_usable_size(block);
		CHECK(usable >= size);
		memset(block, 0x5a, usable);
	}
	void *mapped = get(1 << 20);
	memset(mapped, 0x5a, malloc_usable_size(mapped));
	CHECK(malloc_usable_size(NULL) == 0);
}

/* Change so many bytes past the end; whether that reaches the record depends on the size. */
static void write_past(unsigned char *block, size_t size, size_t by)
{
	for (size_t i = 0; i < by; i++)
		block[size + i] = by == 1 ? (unsigned char)~block[size] : 0x42;
}

static void overrun(size_t by, size_t size)
{
	for (int i = 0; i < 100; i++) {
		unsigned char *block = get(size);
		write_past(block, size, by);
		note(block, size, 'o');
	}
}

static void overrun_1_at_16k(void)
{
	overrun(1, 160);
}

static void overrun_1_at_16k_8(void)
{
	overrun(1, 168);
}

static void overrun_8_at_16k(void)
{
	overrun(8, 160);
}

static void overrun_8_at_16k_8(void)
{
	overrun(8, 168);
}

/* An overrun block that is freed leaves no trace; one that is moved is whole again. */
static void overrun_then_freed(void)
{
	static unsigned char *blocks[300];
	for (int i = 0; i < 300; i++) {
		blocks[i] = get(160);
		write_past(blocks[i], 160, i % 2 ? 1 : 8);
	}
	for (int i = 0; i < 300; i += 3)
		drop(blocks[i]);
	for (int i = 1; i < 300; i += 3)
		resize(blocks[i], 500);
	for (int i = 2; i < 300; i += 3)
		note(blocks[i], 160, 'o');
}

static void cached(void)
{
	static void *blocks[62][8];
	for (int round = 0; round < 3; round++) {
		for (size_t class = 0; class < 62; class++)
			for (int i = 0; i < 8; i++)
				blocks[class][i] = get(16 + 16 * class);
		for (size_t class = 0; class < 62; class++)
			for (int i = 0; i < 7; i++)
				drop(blocks[class][i]);
	}
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_done;

static void *work(void *argument)
{
	unsigned seed = (unsigned)(uintptr_t)argument * 7919u + 1;
	void *mine[200] = { 0 };
	for (int i = 0; i < 4000; i++) {
		seed = seed * 1664525u + 1013904223u;
		unsigned at = (seed >> 8) % 200;
		pthread_mutex_lock(&lock);
		if (mine[at])
			drop(mine[at]);
		mine[at] = seed & 0x1000000 ? get(1 + (seed >> 9) % 2000) : NULL;
		if (i % 1000 == 0)
			get(200 << 10);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void *work_and_stay(void *argument)
{
	work(argument);
	pthread_barrier_wait(&all_done);
	pause();
	return NULL;
}

static void threads(void)
{
	pthread_t thread;
	for (uintptr_t i = 0; i < 20; i++) { /* come and go: their counts must stay */
		CHECK(!pthread_create(&thread, NULL, work, (void *)i));
		pthread_join(thread, NULL);
	}
	pthread_barrier_init(&all_done, NULL, 9);
	for (uintptr_t i = 0; i < 8; i++)
		CHECK(!pthread_create(&thread, NULL, work_and_stay, (void *)(i + 100)));
	pthread_barrier_wait(&all_done);
}

/* The main arena goes on in pieces of its own where brk is blocked. */
static void brk_blocked(void)
{
	get(100);
	char *end = sbrk(0);
	CHECK(mmap(end, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == end);
	churn();
	for (int i = 0; i < 3000; i++)
		get(1000 + rnd(4000));
}

/* Somebody else takes from brk: a gap between two parts of the main arena. */
static void foreign_brk(void)
{
	for (int i = 0; i < 200; i++)
		get(1000);
	char *foreign = sbrk(10000);
	memset(foreign, 0x77, 10000);
	for (int i = 0; i < 2000; i++)
		get(1000);
}

static void forked(void)
{
	for (int i = 0; i < 500; i++)
		get(1 + rnd(500));
	pid_t child = fork();
	CHECK(child >= 0);
	if (child) {
		int status;
		waitpid(child, &status, 0);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		for (int i = 0; i < 100; i++)
			get(1 + rnd(500));
		return;
	}
	for (int i = 0; i < 500; i++)
		drop(get(1 + rnd(5000)));
	_exit(0);
}


/* The child of a process with threads: it inherits their blocks and counts, and frees some. */
static void forked_child(void)
{
	threads();
	pid_t child = fork();
	CHECK(child >= 0);
	if (child) {
		int status;
		waitpid(child, &status, WUNTRACED);
		raise(SIGSTOP);
		_exit(WIFSTOPPED(status) ? 0 : 1);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < num_truth; i += 2)
		if (truth[i].what == 'l')
			drop(truth[i].block);
	for (int i = 0; i < 1000; i++)
		get(1 + rnd(3000));
	work((void *)1);
	pthread_t thread;
	CHECK(!pthread_create(&thread, NULL, work, (void *)2));
	pthread_join(thread, NULL);
}

/* Threads that allocate until the very end of their lives: in destructors of their own. */
static pthread_key_t late;

static void at_the_end(void *block)
{
	pthread_mutex_lock(&lock);
	drop(block);
	get(700);
	pthread_mutex_unlock(&lock);
}

static void *short_life(void *argument)
{
	pthread_mutex_lock(&lock);
	pthread_setspecific(late, get(600 + (uintptr_t)argument));
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void thread_destructors(void)
{
	pthread_t made[16];
	CHECK(!pthread_key_create(&late, at_the_end));
	for (int round = 0; round < 20; round++) {
		for (uintptr_t i = 0; i < 16; i++)
			CHECK(!pthread_create(&made[i], NULL, short_life, (void *)i));
		for (int i = 0; i < 16; i++)
			pthread_join(made[i], NULL);
	}
}

static void *little_work(void *argument)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < 50; i++)
		drop(get(1 + i * (uintptr_t)argument));
	get(30);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* The least stack that a thread can have, and one that the program brings. */
static void small_stacks(void)
{
	static _Alignas(4096) char stack[32768];
	pthread_attr_t attr;
	pthread_t thread;
	pthread_attr_init(&attr);
	CHECK(!pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN));
	for (int i = 0; i < 20; i++) {
		CHECK(!pthread_create(&thread, &attr, little_work, (void *)7));
		pthread_join(thread, NULL);
	}
	CHECK(!pthread_attr_setstack(&attr, stack, sizeof(stack)));
	CHECK(!pthread_create(&thread, &attr, little_work, (void *)9));
	pthread_join(thread, NULL);
}

/* Coroutines: stacks that are blocks, and that come and go. */
static ucontext_t home, fibre;

static void fibre_work(void)
{
	for (size_t i = 0; i < 20; i++)
		drop(get(40 + i));
	swapcontext(&fibre, &home);
	get(333);
}

static void *run_fibres(void *argument)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 30; i++) {
		void *stack = get(40000);
		CHECK(!getcontext(&fibre));
		fibre.uc_stack.ss_sp = stack;
		fibre.uc_stack.ss_size = 40000;
		fibre.uc_link = &home;
		makecontext(&fibre, fibre_work, 0);
		CHECK(!swapcontext(&home, &fibre));
		get(50);
		CHECK(!swapcontext(&home, &fibre));
		drop(stack);
	}
	pthread_mutex_unlock(&lock);
	return argument;
}

static void fibres(void)
{
	pthread_t thread;
	/* In this order: what the last run frees is not handed to libc for a thread. */
	CHECK(!pthread_create(&thread, NULL, run_fibres, NULL));
	pthread_join(thread, NULL);
	run_fibres(NULL);
}

/* Blocks of a plug-in that is gone, with other code where it was: the block of 1,000 bytes. */
static void unloaded(void)
{
	void *plugin = dlopen(getenv("HSNAP_TEST_PLUGIN"), RTLD_NOW);
	CHECK(plugin);
	void *(*make)(size_t) = (void *(*)(size_t))dlsym(plugin, "plugin_make");
	CHECK(make);
	get(100);
	keep(make(1000), 1000);
	uintptr_t page = (uintptr_t)make & ~(uintptr_t)4095;
	CHECK(!dlclose(plugin));
	CHECK(mmap((void *)page, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
	      (void *)page);
}

/* A libc of its own for a part of the process: another main arena, which may not use brk, and of which the agent knows nothing. */
static void with_second_libc(int noted)
{
	void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
	CHECK(libc);
	void *(*other_malloc)(size_t) = (void *(*)(size_t))dlsym(libc, "malloc");
	void (*other_free)(void *) = (void (*)(void *))dlsym(libc, "free");
	CHECK(other_malloc && other_free && other_malloc != malloc);
	for (int i = 0; i < 5000; i++) {
		size_t size = 1 + rnd(3000);
		void *block = other_malloc(size);
		CHECK(block);
		memset(block, 0xa5, size);
		if (noted)
			note(block, size, 'l');
		get(1 + rnd(500));
		if (rnd(3))
			continue;
		if (noted)
			note(block, 0, 'd');
		other_free(block);
	}
}

static void second_libc(void)
{
	with_second_libc(1);
}

static void beside_second_libc(void)
{
	with_second_libc(0);
}

/* A library that came later asks the allocator, past the agent, how large blocks are, and uses all of them. */
static void room_by_a_library(void)
{
	void *plugin = dlopen(getenv("HSNAP_TEST_ROOM_PLUGIN"), RTLD_NOW);
	CHECK(plugin);
	size_t (*room_of)(void *) = (size_t (*)(void *))dlsym(plugin, "plugin_room");
	CHECK(room_of);
	for (size_t size = 1; size < 5000; size += 7) {
		void *block = get(size);
		CHECK(room_of(block) >= size);
		memset(block, 0x5a, room_of(block));
	}
}

static void sparse(void)
{
	for (int i = 0; i < 4; i++) {
		void *block = malloc((size_t)20 << 20);
		CHECK(block);
		note(block, (size_t)20 << 20, 'l');
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "sizes", sizes },
	{ "churn", churn },
	{ "realloc_moves", realloc_moves },
	{ "realloc_in_place", realloc_in_place },
	{ "realloc_mapped", realloc_mapped },
	{ "memaligned", memaligned },
	{ "usable_to_the_last_byte", usable_to_the_last_byte },
	{ "overrun_1_at_16k", overrun_1_at_16k },
	{ "overrun_1_at_16k_8", overrun_1_at_16k_8 },
	{ "overrun_8_at_16k", overrun_8_at_16k },
	{ "overrun_8_at_16k_8", overrun_8_at_16k_8 },
	{ "overrun_then_freed", overrun_then_freed },
	{ "cached", cached },
	{ "threads", threads },
	{ "brk_blocked", brk_blocked },
	{ "foreign_brk", foreign_brk },
	{ "forked", forked },
	{ "forked_child", forked_child },
	{ "thread_destructors", thread_destructors },
	{ "small_stacks", small_stacks },
	{ "fibres", fibres },
	{ "unloaded", unloaded },
	{ "second_libc", second_libc },
	{ "beside_second_libc", beside_second_libc },
	{ "room_by_a_library", room_by_a_library },
	{ "sparse", sparse },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(cases[i].name, argv[1]))
			cases[i].run();
	if (!num_truth)
		return 2;
	tell_and_stop();
	return 0;
}
