/* SPDX-License-Identifier: MIT */
/*
 * stacks_victim.c - allocate at the end of known call chains, and stop deep inside one.
 *
 * Lines: "block ADDRESS SIZE PC…": the true stack of an allocation by backtrace(3), the first PC being in
 * the function that allocates (not at the same place); "stop PC…": the stack at which it stopped.
 */
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOT_INLINED __attribute__((noinline))
#define STAY() __asm__ volatile("" ::: "memory") /* after a call: keeps it from becoming a jump */

static int out;

static void say(const char *what, void *block, size_t size, void **pcs, int num)
{
	char line[1200];
	int n = snprintf(line, sizeof(line), "%s %lx %zu", what, (unsigned long)block, size);
	for (int i = 0; i < num; i++)
		n += snprintf(line + n, sizeof(line) - (size_t)n, " %lx", (unsigned long)pcs[i]);
	line[n++] = '\n';
	if (write(out, line, (size_t)n) != n)
		_exit(9);
}

static NOT_INLINED void allocate(size_t size)
{
	void *pcs[48];
	char *volatile block = malloc(size);
	memset(block, 1, size);
	say("block", block, size, pcs, backtrace(pcs, 48));
}

static NOT_INLINED void deep(int depth, size_t size)
{
	if (depth)
		deep(depth - 1, size);
	else
		allocate(size);
	STAY();
}

/* A frame of varying size: the CFA is found through the frame pointer whatever the build. */
static NOT_INLINED void variable_frame(size_t len)
{
	char *room = __builtin_alloca(len);
	memset(room, 2, len);
	STAY();
	deep(2, 77);
	STAY();
}

/* A realigned stack: the CFA is the word that the frame pointer leads to. */
static NOT_INLINED void realigned(size_t len)
{
	_Alignas(64) char room[128];
	char *more = __builtin_alloca(len);
	memset(room, 3, sizeof(room));
	memset(more, 3, len);
	__asm__ volatile("" ::"r"(room), "r"(more) : "memory");
	deep(2, 99);
	STAY();
}

static NOT_INLINED void large_frame(void)
{
	volatile char room[40000];
	room[0] = room[sizeof(room) - 1] = 1;
	deep(1, 123);
	STAY();
}

/* Through a function of libc's, which keeps no frame pointer and uses rbp for its own ends. */
static int compare(const void *a, const void *b)
{
	static int once;
	if (!once++)
		deep(1, 44);
	return *(const int *)a - *(const int *)b;
}

static NOT_INLINED void through_libc(void)
{
	int numbers[8] = { 5, 3, 8, 1, 7, 2, 6, 4 };
	qsort(numbers, 8, sizeof(int), compare);
	STAY();
}

static void on_signal(int number)
{
	(void)number;
	deep(2, 55);
	STAY();
}

static NOT_INLINED void through_signal(void)
{
	raise(SIGUSR1);
	STAY();
}

/* On a stack of its own, where only the caller is known to be safe to look at. */
static void on_other_stack(int number)
{
	(void)number;
	deep(2, 66);
	STAY();
}

/* Chains that share their outer frames, to various depths: what of the last walk is taken over must be
 * right.  Three kinds of frame. */
static void wander(unsigned path, unsigned depth, size_t size);

static NOT_INLINED void left(unsigned path, unsigned depth, size_t size)
{
	wander(path, depth, size);
	STAY();
}

static NOT_INLINED void right(unsigned path, unsigned depth, size_t size)
{
	char room[200];
	__asm__ volatile("" ::"r"(room) : "memory");
	wander(path, depth, size);
	STAY();
}

static NOT_INLINED void middle(unsigned path, unsigned depth, size_t size)
{
	char *room = __builtin_alloca(16 + path % 64);
	room[0] = 1;
	__asm__ volatile("" ::"r"(room) : "memory");
	wander(path, depth, size);
	STAY();
}

static NOT_INLINED void wander(unsigned path, unsigned depth, size_t size)
{
	if (!depth)
		allocate(size);
	else if (path % 3 == 0)
		left(path / 3, depth - 1, size);
	else if (path % 3 == 1)
		right(path / 3, depth - 1, size);
	else
		middle(path / 3, depth - 1, size);
	STAY();
}

static void wander_about(void)
{
	unsigned state = 7, path = 0, depth = 3;
	for (unsigned i = 0; i < 300; i++) {
		state = state * 1664525u + 1013904223u;
		if (i % 3 == 0) /* else the very same again, or one that differs at its end */
			path = state >> 8, depth = (state >> 4) % 10;
		wander(i % 3 == 2 ? path + 1 : path, depth, 200 + i);
	}
}

static void *in_thread(void *argument)
{
	(void)argument;
	deep(3, 88);
	realigned(100);
	return NULL;
}

/* Both change r12 and rbx, and so must save their caller's. */
static NOT_INLINED void inner(int depth)
{
	register unsigned long r12 __asm__("r12") = 0x1212121200000000ul + (unsigned)depth;
	register unsigned long rbx __asm__("rbx") = 0x0b0b0b0b00000000ul + (unsigned)depth;
	__asm__ volatile("" : "+r"(r12), "+r"(rbx));
	if (depth) {
		inner(depth - 1);
	} else {
		void *pcs[48];
		say("stop", NULL, 0, pcs, backtrace(pcs, 48));
		raise(SIGSTOP);
	}
	__asm__ volatile("" ::"r"(r12), "r"(rbx));
}

static void stop_here(int number)
{
	(void)number;
	inner(3);
	STAY();
}

int main(void)
{
	static char other[65536];
	stack_t stack = { .ss_sp = other, .ss_size = sizeof(other) };
	struct sigaction action = { .sa_handler = on_other_stack, .sa_flags = SA_ONSTACK };
	pthread_t thread;
	char name[64];
	void *pcs[4];
	backtrace(pcs, 4); /* loads what it needs now */
	out = memfd_create("truth", 0);
	allocate(10);
	deep(1, 11);
	deep(8, 18);
	deep(30, 40);
	variable_frame(1000);
	realigned(50);
	large_frame();
	wander_about();
	through_libc();
	signal(SIGUSR1, on_signal);
	through_signal();
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR2, &action, NULL);
	raise(SIGUSR2);
	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
	int n = snprintf(name, sizeof(name), "/proc/%d/fd/%d\n", (int)getpid(), out);
	if (write(STDOUT_FILENO, name, (size_t)n) != n)
		return 9;
	signal(SIGUSR1, stop_here);
	raise(SIGUSR1);
	return 0;
}
