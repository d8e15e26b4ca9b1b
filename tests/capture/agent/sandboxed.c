/* SPDX-License-Identifier: MIT */
/*
 * sandboxed.c HOW WHAT DO [wait] - shut itself in as HOW says, let WHAT through and do DO with the rest; then
 * allocate by some thousand call stacks, and say what came of it.
 *
 * HOW: prctl, syscall, strict (no filter: read, write, exit).  DO: kill, trap, errno.
 * WHAT: least (read, write, exit), brk, files (and mmap of files), malloc (all that glibc's malloc calls), threads
 * (and what a thread needs).
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/wire.h"

#define SIDE 12u /* 2^12 stacks */
#define BLOCKS (1u << SIDE)

static void *blocks[BLOCKS * 4];

enum { LEAST, BRK, FILES, MALLOC, THREADS };

/* Only these, in steps, each with the ones before it. */
static const struct {
	unsigned step;
	uint32_t number;
} calls[] = {
	{ LEAST, SYS_read }, { LEAST, SYS_write }, { LEAST, SYS_exit }, { LEAST, SYS_exit_group },
	{ BRK, SYS_brk },
	{ FILES, SYS_munmap },
	{ MALLOC, SYS_mmap }, { MALLOC, SYS_mremap }, { MALLOC, SYS_madvise }, { MALLOC, SYS_mprotect }, { MALLOC, SYS_futex },
	{ THREADS, SYS_clone }, { THREADS, SYS_clone3 }, { THREADS, SYS_set_robust_list }, { THREADS, SYS_rseq },
	{ THREADS, SYS_rt_sigprocmask }, { THREADS, SYS_rt_sigaction },
	/* A new arena asks how many processors there are */
	{ THREADS, SYS_sched_getaffinity },
};
#define NUM(array) (sizeof(array) / sizeof(*(array)))

static int shut_in(const char *how, unsigned step, uint32_t otherwise)
{
	struct sock_filter code[2 * NUM(calls) + 16];
	unsigned short n = 0;
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < NUM(calls); i++) {
		if (calls[i].step > step)
			continue;
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	/* Not of memory: what has no descriptor.  In a roundabout way, with all kinds of steps. */
	if (step == FILES) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 8);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4]));
		code[n++] = (struct sock_filter)BPF_STMT(BPF_ST, 3);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_IMM, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_MISC | BPF_TAX, 0);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_MEM, 3);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0);
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0xffffffff, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
	struct sock_fprog program = { n, code };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	if (!strcmp(how, "strict"))
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	if (!strcmp(how, "prctl"))
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	/* As libseccomp does: is the call there at all?  This one fails. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL) != -1 || errno != EFAULT)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

/* Another stack for each path through these two. */
static __attribute__((noinline)) void *left(unsigned path, unsigned depth, size_t size);
static __attribute__((noinline)) void *right(unsigned path, unsigned depth, size_t size);

static void *further(unsigned path, unsigned depth, size_t size)
{
	if (!depth)
		return malloc(size);
	return path & 1 ? right(path >> 1, depth - 1, size) : left(path >> 1, depth - 1, size);
}

static void *left(unsigned path, unsigned depth, size_t size)
{
	void *block = further(path, depth, size);
	__asm__ volatile("" ::: "memory");
	return block;
}

static void *right(unsigned path, unsigned depth, size_t size)
{
	void *block = further(path, depth, size);
	__asm__ volatile("nop" ::: "memory");
	return block;
}

/* Blocks that are kept come from what is free already: a program like this has seen to it. */
static unsigned allocate(size_t size)
{
	unsigned got = 0;
	for (unsigned i = 0; i < BLOCKS; i++) {
		void *block = further(i, SIDE, size + i % 7 * 8);
		/* In place, with more room left over than a record in the block can say */
		void *shrunk = block ? realloc(block, size / 2) : NULL;
		got += shrunk != NULL;
		blocks[i] = shrunk;
		free(i & 1 ? shrunk : NULL);
		if (i & 1)
			blocks[i] = NULL;
	}
	return got;
}

/* Of these stacks, if an agent is here: has it all of them? */
static const char *recorded(void)
{
	const struct hsnap_wire_directory *agent = dlsym(RTLD_DEFAULT, HSNAP_WIRE_SYMBOL);
	bool few = agent && agent->stacks != HSNAP_STACKS_CALLER && agent->stack_units < BLOCKS;
	return !agent || (!few && !agent->stacks_lost) ? "" : ", and the agent has lost stacks";
}

static void *in_thread(void *unused)
{
	(void)unused;
	return (void *)(uintptr_t)allocate(32);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	static const char *const steps[] = { "least", "brk", "files", "malloc", "threads" };
	unsigned step = 0;
	while (strcmp(argv[2], steps[step]))
		if (++step == NUM(steps))
			return 2;
	uint32_t otherwise = !strcmp(argv[3], "kill") ? SECCOMP_RET_KILL_PROCESS
			   : !strcmp(argv[3], "trap") ? SECCOMP_RET_TRAP : SECCOMP_RET_ERRNO | EPERM;
	/* What a program that may ask for nothing more has asked for before: a heap that is not given back. */
	for (unsigned i = 0; i < NUM(blocks); i++)
		blocks[i] = malloc(step ? 8 : 96);
	void *pin = malloc(8);
	for (unsigned i = 0; i < NUM(blocks); i++)
		free(blocks[i]);
	if (shut_in(argv[1], step, otherwise)) {
		perror("seccomp");
		return 3;
	}
	unsigned got = allocate(64);
	if (step >= BRK)
		got += allocate(160);
	if (step >= MALLOC)
		got += realloc(malloc(1 << 20), 1 << 21) != NULL;
	pthread_t thread;
	void *of_thread = NULL;
	if (step >= THREADS && !pthread_create(&thread, NULL, in_thread, NULL) && !pthread_join(thread, &of_thread))
		got += (unsigned)(uintptr_t)of_thread;
	char text[128];
	int len = snprintf(text, sizeof(text), "%u blocks%s%s\n", got, pin ? "" : "!", recorded());
	if (write(1, text, (size_t)len) != len)
		return 4;
	if (argc > 4 && read(0, text, 1) < 0)
		return 5;
	syscall(SYS_exit, 0); /* in strict mode there is no other */
	return 6;
}
