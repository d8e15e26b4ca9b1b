/* SPDX-License-Identifier: MIT */
/*
 * caches.c - leaks amid what an allocator remembers of blocks that have passed through its caches.
 *
 * Threads allocate and free sizes of all kinds, some end and some stay; of what their caches held, 100 blocks of each
 * size are then leaked and 100 kept, in turn by a global, a thread-local, a pthread key, another block and a list.  More of them
 * come and go afterwards.  Three more are held by nothing but a variable of the allocator's, which it has for what programs
 * hand it.  Prints "COUNT BYTES live|leaked NAME" and END, ends with its input.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NUM_THREADS 6u
#define NUM_BLOCKS 3000u
#define NUM_PLANTED 100u

static const size_t sizes[] = { 24, 72, 136, 520, 1544, 5000, 20000 };
#define NUM_SIZES (sizeof(sizes) / sizeof(*sizes))

struct kept {
	struct kept *next;
	void *held;
};

/* Not static: what nobody reads would not be written. */
void *held_by_global[NUM_SIZES][NUM_PLANTED];
__thread void *held_by_thread[NUM_SIZES][NUM_PLANTED];
struct kept *list;
static void **box;
static pthread_key_t key;
static pthread_barrier_t barrier;

static void *filled(size_t size)
{
	void *block = malloc(size);
	if (!block)
		abort();
	return memset(block, 0x5a, size);
}

/* Blocks come and go, in another order than they came in; `before` frees what another thread made. */
static void churn(unsigned seed, void **before)
{
	static __thread void *blocks[NUM_BLOCKS];
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < NUM_BLOCKS; i++)
			blocks[i] = filled(sizes[(i * 7 + seed + round) % (NUM_SIZES - round)]);
		for (unsigned i = 0; i < NUM_BLOCKS; i++) {
			free(blocks[i * 1009 % NUM_BLOCKS]);
			blocks[i * 1009 % NUM_BLOCKS] = NULL;
		}
	}
	for (unsigned i = 0; before && i < NUM_BLOCKS; i++) {
		free(before[i]);
		before[i] = NULL;
	}
}

static void *handed_over[NUM_THREADS][NUM_BLOCKS];

static void *work(void *argument)
{
	unsigned number = (unsigned)(size_t)argument;
	churn(number, handed_over[number]);
	if (number % 2)
		return NULL;
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
}

static __attribute__((noinline)) void leak(size_t size)
{
	*(volatile unsigned char *)filled(size) = 1;
}

static __attribute__((noinline)) void *keep(size_t size)
{
	return filled(size);
}

static void plant(size_t which, unsigned i)
{
	size_t size = sizes[which];
	leak(size);
	void *block = keep(size);
	switch (i % 5) {
	case 0:
		held_by_global[which][i] = block;
		break;
	case 1:
		held_by_thread[which][i] = block;
		break;
	case 2:
		box[which * NUM_PLANTED + i] = block;
		break;
	case 3:
		*(void **)block = pthread_getspecific(key);
		pthread_setspecific(key, block);
		break;
	default:
		list = memcpy(filled(sizeof(*list)), &(struct kept){ list, block }, sizeof(*list));
	}
}

static void nothing(void)
{
}

/* What mimalloc hands on to a function of the program's, and gperftools' interface, which the program may replace. */
static void hand_to_allocator(void)
{
	void (*deferred)(void (*)(void), void *) = (void (*)(void (*)(void), void *))dlsym(RTLD_DEFAULT, "mi_register_deferred_free");
	void (*error)(void (*)(void), void *) = (void (*)(void (*)(void), void *))dlsym(RTLD_DEFAULT, "mi_register_error");
	void (*extend)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "_ZN15MallocExtension8RegisterEPS_");
	void *(*extension)(void) = (void *(*)(void))dlsym(RTLD_DEFAULT, "_ZN15MallocExtension8instanceEv");
	if (deferred)
		deferred(nothing, keep(777));
	if (error)
		error(nothing, keep(888));
	if (extend && extension)
		extend(memcpy(keep(999), extension(), sizeof(void *)));
}

int main(void)
{
	pthread_t threads[NUM_THREADS];
	setvbuf(stdout, NULL, _IONBF, 0);
	pthread_key_create(&key, NULL);
	pthread_barrier_init(&barrier, NULL, NUM_THREADS / 2 + 1);
	box = calloc(NUM_SIZES * NUM_PLANTED, sizeof(*box));
	for (size_t t = 0; t < NUM_THREADS; t++)
		for (unsigned i = 0; i < NUM_BLOCKS; i++)
			handed_over[t][i] = filled(sizes[i % 4]);
	for (size_t t = 0; t < NUM_THREADS; t++)
		pthread_create(&threads[t], NULL, work, (void *)t);
	for (size_t t = 1; t < NUM_THREADS; t += 2)
		pthread_join(threads[t], NULL);
	pthread_barrier_wait(&barrier);
	hand_to_allocator();
	churn(0, NULL);
	for (unsigned i = 0; i < NUM_PLANTED; i++)
		for (size_t which = 0; which < NUM_SIZES; which++)
			plant(which, i);
	churn(1, NULL);
	for (size_t which = 0; which < NUM_SIZES; which++)
		printf("%u %zu leaked by size\n", NUM_PLANTED, NUM_PLANTED * sizes[which]);
	puts("END");
	getchar();
	_exit(0); /* the others are asleep for good */
}
