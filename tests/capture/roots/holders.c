/* SPDX-License-Identifier: MIT */
/*
 * holders.c - holders MODE [LIBRARY]: a block of 64 bytes that one place alone holds.
 *
 * Prints BLOCK and its address, and waits for the end of stdin.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_SIZE 65536

/* volatile: nobody reads them but who looks from outside. */
extern void *volatile global_holder;
void *volatile global_holder;
static void *volatile static_holder;
static void *volatile initialised_holder = (void *)1;
static __thread void *volatile thread_holder;
static __thread struct { char other[40]; void *volatile last; } thread_struct = { .other = "initialised" };
static ucontext_t main_context, fibre_context;

/* Nothing of the address is left where it was only passed through. */
static void wipe_stack(void)
{
	volatile char below[16384];
	memset((void *)below, 0, sizeof(below));
}

static void *make_block(void)
{
	void *block = malloc(64);
	memset(block, 7, 64);
	dprintf(1, "BLOCK %lx\n", (unsigned long)(uintptr_t)block);
	return block;
}

static void wait_for_end(void)
{
	char bytes[16];
	wipe_stack();
	while (read(0, bytes, sizeof(bytes)) > 0)
		;
}

static void hold_in_key(void)
{
	pthread_key_t key;
	for (int i = 0; i < 5; i++)
		pthread_key_create(&key, NULL);
	pthread_setspecific(key, make_block());
}

static void hold_in_epoll(void)
{
	int fds[2];
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = make_block() };
	if (pipe(fds))
		abort();
	epoll_ctl(epoll_create1(0), EPOLL_CTL_ADD, fds[0], &event);
	memset(&event, 0, sizeof(event));
}

static void hold_in_timer(void)
{
	timer_t timer;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	event.sigev_value.sival_ptr = make_block();
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	memset(&event, 0, sizeof(event));
}

static void hold_in_mapping(int flags, size_t offset)
{
	char *pool = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
	void *block = make_block();
	memcpy(pool + offset, &block, sizeof(block));
}

static void run_fibre(void)
{
	void *volatile held = make_block();
	swapcontext(&fibre_context, &main_context);
	(void)held;
}

static void hold_in_fibre(void)
{
	getcontext(&fibre_context);
	fibre_context.uc_stack.ss_sp = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fibre_context.uc_stack.ss_size = STACK_SIZE;
	fibre_context.uc_link = &main_context;
	makecontext(&fibre_context, run_fibre, 0);
	swapcontext(&main_context, &fibre_context);
}

static void wait_in_handler(int signal)
{
	(void)signal;
	wait_for_end();
	_exit(0);
}

/* The handler runs on a stack of its own; what it interrupted is as live as ever. */
static void hold_below_handler(void)
{
	void *volatile held = make_block();
	stack_t stack = { .ss_size = STACK_SIZE };
	stack.ss_sp = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction action = { .sa_handler = wait_in_handler, .sa_flags = SA_ONSTACK };
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	(void)held;
}

/* read(2) by hand, with the block in a register that nothing saves. */
static void hold_in_register(void)
{
	char byte;
	long result = 0;
	__asm__ volatile("mov %[block], %%r12\n"
			 "xor %[block], %[block]\n"
			 "syscall\n"
			 : "+a"(result)
			 : [block] "b"(make_block()), "D"(0L), "S"(&byte), "d"(1L)
			 : "r12", "rcx", "r11", "memory");
	exit(0);
}

static void *hold_on_stack(void *unused)
{
	void *volatile held = make_block();
	wait_for_end();
	(void)held;
	return unused;
}

static void *hold_in_thread(void *unused)
{
	thread_holder = make_block();
	wait_for_end();
	return unused;
}

static void *hold_in_struct(void *unused)
{
	thread_struct.last = make_block();
	wait_for_end();
	return unused;
}

static void *hold_and_end(void *unused)
{
	void *volatile held = make_block();
	(void)held;
	return unused;
}

__attribute__((noinline)) static void hold_and_return(void)
{
	void *volatile held[64];
	held[10] = make_block();
	(void)held[10];
}

/* Well below what may be the red zone of whoever is called next. */
__attribute__((noinline)) static void hold_deep_and_return(void)
{
	char gap[4096];
	__asm__ volatile("" : : "r"(gap) : "memory");
	hold_and_return();
	__asm__ volatile("" : : "r"(gap) : "memory");
}

static void in_thread(void *(*work)(void *))
{
	pthread_t thread;
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
}

static void hold_in_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void **(*place)(void) = library ? (void **(*)(void))dlsym(library, "library_holder") : NULL;
	if (!place)
		abort();
	*place() = make_block();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	if (!strcmp(mode, "global"))
		global_holder = make_block();
	else if (!strcmp(mode, "static"))
		static_holder = make_block();
	else if (!strcmp(mode, "initialised"))
		initialised_holder = make_block();
	else if (!strcmp(mode, "thread-local"))
		thread_holder = make_block();
	else if (!strcmp(mode, "thread-local of a thread"))
		in_thread(hold_in_thread);
	else if (!strcmp(mode, "thread-local struct"))
		in_thread(hold_in_struct);
	else if (!strcmp(mode, "thread-local of a library"))
		hold_in_library(argv[2]);
	else if (!strcmp(mode, "key"))
		hold_in_key();
	else if (!strcmp(mode, "epoll"))
		hold_in_epoll();
	else if (!strcmp(mode, "timer"))
		hold_in_timer();
	else if (!strcmp(mode, "pool"))
		hold_in_mapping(MAP_PRIVATE, 8192);
	else if (!strcmp(mode, "shared"))
		hold_in_mapping(MAP_SHARED, 4096);
	else if (!strcmp(mode, "fibre"))
		hold_in_fibre();
	else if (!strcmp(mode, "handler"))
		hold_below_handler();
	else if (!strcmp(mode, "register"))
		hold_in_register();
	else if (!strcmp(mode, "stack"))
		hold_on_stack(NULL);
	else if (!strcmp(mode, "stack of a thread"))
		in_thread(hold_on_stack);
	else if (!strcmp(mode, "stack of an ended thread"))
		in_thread(hold_and_end);
	else if (!strcmp(mode, "dead stack"))
		hold_deep_and_return();
	/* The dead stack is not to be wiped: it is what must not be looked at. */
	char byte;
	if (!strcmp(mode, "dead stack"))
		while (read(0, &byte, 1) > 0)
			;
	wait_for_end();
	return 0;
}
