/* SPDX-License-Identifier: MIT */
/* corners.c CASE [N] - processes and threads that come and go, signals, other people's libc: then what is true, and stop. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/agent/heapsnap.h"
#include "capture/wire.h"
#include "truth.h"

extern char **environ;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const struct hsnap_wire_directory *directory(void)
{
	const struct hsnap_wire_directory *dir = dlsym(RTLD_DEFAULT, HSNAP_WIRE_SYMBOL);
	CHECK(dir);
	return dir;
}

/* ---- threads ---- */

/* Threads of one wave are there all at once. */
static pthread_barrier_t here;

static void *short_life(void *argument)
{
	void *block = malloc(100 + (uintptr_t)argument);
	pthread_barrier_wait(&here);
	pthread_mutex_lock(&lock);
	keep(block, 100 + (uintptr_t)argument);
	drop(get(500));
	if ((uintptr_t)argument % 4)
		drop(block);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void wave(unsigned num)
{
	static pthread_t made[4096];
	pthread_attr_t attr;
	CHECK(num <= 4096 && !pthread_attr_init(&attr) && !pthread_attr_setstacksize(&attr, 65536));
	pthread_barrier_init(&here, NULL, num);
	for (uintptr_t i = 0; i < num; i++)
		CHECK(!pthread_create(&made[i], &attr, short_life, (void *)i));
	for (unsigned i = 0; i < num; i++)
		pthread_join(made[i], NULL);
	pthread_barrier_destroy(&here);
	pthread_attr_destroy(&attr);
}

/* As many slots as there were threads at one time, and one for the main one. */
static void thousands_of_threads(void)
{
	for (int i = 0; i < 100; i++)
		wave(40);
	CHECK(directory()->num_slots <= 41);
}

/* Each has an arena of its own (MALLOC_ARENA_MAX says that it may); all of them end. */
static void dead_arenas(void)
{
	const char *waves = getenv("HSNAP_TEST_WAVES");
	for (int i = 0; i < (waves ? atoi(waves) : 2); i++)
		wave(2000);
	CHECK(directory()->num_slots <= 2001);
}

/* ---- processes ---- */

static void wait_for(pid_t child)
{
	int status = 1;
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void some_work(void)
{
	static void *blocks[300];
	for (int i = 0; i < 3000; i++) {
		unsigned at = rnd(300);
		if (blocks[at])
			drop(blocks[at]);
		blocks[at] = rnd(2) ? get(1 + rnd(3000)) : NULL;
	}
	drop(get(300 << 10));
	get(300 << 10);
}

/* Threads that never rest, at what is nobody's but theirs. */
static void *restless(void *argument)
{
	unsigned seed = (unsigned)(uintptr_t)argument;
	void *mine[64] = { 0 };
	for (;;) {
		seed = seed * 1664525u + 1013904223u;
		unsigned at = (seed >> 8) % 64;
		if (seed & 0x100000)
			mine[at] = realloc(mine[at], 1 + (seed >> 9) % 2000);
		else {
			free(mine[at]);
			mine[at] = malloc(1 + (seed >> 9) % 2000);
		}
	}
	return NULL;
}

/* The parent waits for what goes on in its place, and stops with it. */
static void stop_after_child(void)
{
	int status;
	pid_t child;
	do
		child = waitpid(-1, &status, WUNTRACED);
	while (child > 0 && WIFEXITED(status) && !WEXITSTATUS(status));
	raise(SIGSTOP);
	_exit(child > 0 && WIFSTOPPED(status) ? 0 : 1);
}

/* While the others are anywhere, in malloc above all: children go on alone. */
static void forked_amid_work(void)
{
	pthread_t thread;
	for (uintptr_t i = 0; i < 4; i++)
		CHECK(!pthread_create(&thread, NULL, restless, (void *)(i + 1)));
	some_work();
	for (int i = 0; i < 100; i++) {
		pid_t child = fork();
		CHECK(child >= 0);
		if (!child) {
			alarm(30); /* a lock that nobody holds any more would stop it for good */
			some_work();
			_exit(0);
		}
		wait_for(child);
	}
	if (fork())
		stop_after_child();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	some_work();
}

static void replaced(void)
{
	if (!getenv("HSNAP_TEST_AGAIN")) {
		pthread_t thread;
		CHECK(!pthread_create(&thread, NULL, restless, (void *)1));
		some_work();
		setenv("HSNAP_TEST_AGAIN", "yes", 1);
		execl("/proc/self/exe", "corners", "replaced", NULL);
		CHECK(!"exec");
	}
	some_work();
}

static void programs_started(void)
{
	char *const argv[] = { "sh", "-c", "exit 0", NULL };
	pid_t child;
	for (volatile int i = 0; i < 8; i++) {
		some_work();
		child = vfork();
		if (!child) {
			execve("/bin/sh", argv, environ);
			_exit(1);
		}
		wait_for(child);
		CHECK(!posix_spawn(&child, "/bin/sh", NULL, NULL, argv, environ));
		wait_for(child);
	}
	CHECK(system("exit 3") == 3 << 8);
	/* A child that fails to start one, and ends by itself. */
	child = vfork();
	if (!child) {
		execve("/none/at/all", argv, environ);
		_exit(0);
	}
	wait_for(child);
}

static void daemonised(void)
{
	CHECK(!prctl(PR_SET_CHILD_SUBREAPER, 1));
	some_work();
	if (fork())
		stop_after_child();
	some_work();
	CHECK(setsid() > 0);
	pid_t between = getpid();
	if (fork()) {
		usleep(20000); /* the daemon comes first, where it does not wait */
		_exit(0);
	}
	/* The signal that follows a parent's end is not to follow that one's. */
	while (getppid() == between)
		usleep(1000);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int fd = 0; fd < 100; fd++)
		if (fd != STDOUT_FILENO) /* by which the test is told */
			close(fd);
	CHECK(!chdir("/"));
	some_work();
}

/* ---- signals ---- */

static _Alignas(16) char signal_stack[16384];
static void *of_signals[64];
static volatile unsigned signals;
static unsigned long agent_start, agent_end; /* of its program text */

/* What heapsnap.h has, on memory that is nobody's block: nothing of it stays. */
static void annotate(char *memory, void *block)
{
	heapsnap_pool pool = heapsnap_pool_create("pool"), arena = heapsnap_arena_create("arena");
	heapsnap_tag(block, "struct tagged");
	heapsnap_pool_slab(pool, memory, 256);
	for (size_t i = 0; i < 4; i++) {
		heapsnap_pool_alloc(pool, memory + 64 * i, 32);
		heapsnap_pool_alloc_as(arena, memory + 64 * i + 32, 16, "struct object");
	}
	heapsnap_tag(memory, "struct other");
	heapsnap_pool_free(pool, memory + 64);
	heapsnap_pool_free(arena, memory + 64 + 32);
	heapsnap_pool_slab_gone(pool, memory);
	heapsnap_root(memory, 256, "root");
	heapsnap_root_gone(memory);
	heapsnap_pool_reset(arena);
	heapsnap_pool_destroy(arena);
	heapsnap_pool_destroy(pool);
}

static void at_signal(int number)
{
	static char memory[256];
	int saved = errno;
	unsigned at = signals++ % 64;
	(void)number;
	if (of_signals[at])
		drop(of_signals[at]);
	of_signals[at] = get(20 + at * 24);
	of_signals[at] = resize(of_signals[at], 30 + at * 31);
	if (at % 8 == 0)
		annotate(memory, of_signals[at]);
	errno = saved;
}

/* In a loop that calls nothing, in a wait, in the midst of a system call. */
static void signals_anywhere(void)
{
	stack_t stack = { .ss_sp = signal_stack, .ss_size = sizeof(signal_stack) };
	struct sigaction action = { .sa_handler = at_signal, .sa_flags = SA_ONSTACK };
	CHECK(!sigaltstack(&stack, NULL) && !sigaction(SIGALRM, &action, NULL));
	for (volatile int i = 0; i < 200; i++)
		raise(SIGALRM);
	ualarm(300, 300);
	while (signals < 500)
		for (volatile int i = 0; i < 1000; i++)
			;
	while (signals < 700)
		pause();
	ualarm(0, 0);
	CHECK(signals >= 700);
	some_work();
}

static void find_agent(void)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	CHECK(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, " r-xp ") && strstr(line, HSNAP_WIRE_NAME))
			CHECK(sscanf(line, "%lx-%lx", &agent_start, &agent_end) == 2);
	fclose(maps);
	CHECK(agent_start);
}

/* Seen by both, the one that works and the one that steps through it. */
static volatile struct meeting {
	enum { NOBODY, STEPPING, OVER } phase;
	pid_t thread;
} *meeting;

/* At each instruction of the agent's comes a signal; its handler ends in a trap. */
static void step(void)
{
	enum { MOST = 1 << 18 };
	static unsigned visits[MOST]; /* an instruction is not interrupted each time */
	int status, number = 0;
	struct user_regs_struct regs;
	pid_t thread;
	while (!(thread = meeting->thread))
		;
	CHECK(!ptrace(PTRACE_SEIZE, thread, NULL, NULL) && !ptrace(PTRACE_INTERRUPT, thread, NULL, NULL));
	CHECK(waitpid(thread, &status, __WALL) == thread);
	meeting->phase = STEPPING;
	while (meeting->phase != OVER) {
		CHECK(!ptrace(PTRACE_SINGLESTEP, thread, NULL, (void *)(intptr_t)number));
		CHECK(waitpid(thread, &status, __WALL) == thread && WIFSTOPPED(status));
		CHECK(!ptrace(PTRACE_GETREGS, thread, NULL, &regs));
		number = 0;
		if (WSTOPSIG(status) != SIGTRAP) {
			number = WSTOPSIG(status);
		} else if (regs.rip - agent_start < agent_end - agent_start && visits[(regs.rip - agent_start) % MOST]++ < 3) {
			CHECK(!ptrace(PTRACE_CONT, thread, NULL, (void *)(intptr_t)SIGUSR1));
			CHECK(waitpid(thread, &status, __WALL) == thread && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
		}
	}
	CHECK(!ptrace(PTRACE_DETACH, thread, NULL, NULL));
}

static void at_signal_then_trap(int number)
{
	at_signal(number);
	__asm__ volatile("int3");
}

/* Everything that has a way of its own, some of it for the first time. */
static void calls_to_interrupt(void)
{
	static char memory[256];
	void *volatile block;
	for (size_t i = 0; i < 3; i++) {
		block = malloc(40 + i);
		note(block, 40 + i, 'l');
		block = malloc(60);
		free(block);
		block = calloc(2, 50);
		block = realloc(block, 300 + i * 100);
		note(block, 300 + i * 100, 'l');
		if (i < 2)
			annotate(memory, block);
		block = memalign(64, 100);
		note(block, 100, 'l');
		block = malloc(200 << 10);
		block = realloc(block, 300 << 10);
		free(block);
		block = malloc(150 << 10);
		note(block, 150 << 10, 'l');
	}
}

/* From its first call on. */
static void *interrupted(void *unused)
{
	stack_t stack = { .ss_sp = signal_stack, .ss_size = sizeof(signal_stack) };
	CHECK(!sigaltstack(&stack, NULL));
	meeting->thread = gettid();
	while (meeting->phase != STEPPING)
		;
	calls_to_interrupt();
	meeting->phase = OVER;
	return unused;
}

static void signal_at_each_instruction(void)
{
	pthread_t thread;
	struct sigaction action = { .sa_handler = at_signal_then_trap, .sa_flags = SA_ONSTACK };
	meeting = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(meeting != MAP_FAILED && !sigaction(SIGUSR1, &action, NULL));
	find_agent();
	pid_t child = fork();
	CHECK(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		step();
		_exit(0);
	}
	CHECK(!pthread_create(&thread, NULL, interrupted, NULL));
	pthread_join(thread, NULL);
	wait_for(child);
	CHECK(signals > 1000);
}

/* ---- a library that is bound to libc's malloc, whoever is in front of that ---- */

static void fill(unsigned char *block, size_t size)
{
	for (size_t i = 0; i < size; i++)
		block[i] = (unsigned char)(i * 7 + size);
}

static int is_filled(const unsigned char *block, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (block[i] != (unsigned char)(i * 7 + size))
			return 0;
	return 1;
}

/* What a chunk gives the agent's user; what is asked of the agent, as it has to count. */
static struct heapsnap_counters want;

static size_t room_of(void *block)
{
	const size_t *words = block;
	__asm__("" : "+r"(words)); /* the compiler knows of nothing before a block */
	return (words[-1] & ~(size_t)7) - 16;
}

static void *asked(void *block, size_t size)
{
	want.allocations++;
	want.allocated_bytes += size;
	want.live_bytes += room_of(block);
	return block;
}

static void *to_give(void *block)
{
	want.frees++;
	want.live_bytes -= room_of(block);
	return block;
}

static void deepbound(void)
{
	enum { NUM = 400 };
	static void *theirs[NUM], *ours[NUM];
	static size_t sizes[NUM], filled[NUM];
	struct heapsnap_counters before, after;
	void *plugin = dlopen(getenv("HSNAP_TEST_PLUGIN"), RTLD_NOW | RTLD_DEEPBIND);
	CHECK(plugin);
	void *(*make)(size_t) = (void *(*)(size_t))dlsym(plugin, "plugin_make");
	void (*give_back)(void *) = (void (*)(void *))dlsym(plugin, "plugin_free");
	void *(*change)(void *, size_t) = (void *(*)(void *, size_t))dlsym(plugin, "plugin_resize");
	CHECK(make && give_back && change);
	CHECK(heapsnap_process_counters(&before));
	for (int i = 0; i < NUM; i++) { /* what is left of them, others will be handed */
		size_t size = 24 + 16 * rnd(70);
		ours[i] = asked(malloc(size), size);
	}
	for (int i = 0; i < NUM; i++)
		free(to_give(ours[i]));
	for (int i = 0; i < NUM; i++) {
		sizes[i] = 24 + 16 * rnd(70); /* to the last byte of the chunk */
		theirs[i] = make(sizes[i]);
		sizes[i] = (((size_t *)theirs[i])[-1] & ~(size_t)7) - 8;
		filled[i] = i % 8 < 4 ? sizes[i] : sizes[i] / 2;
		fill(theirs[i], filled[i]);
		note(theirs[i], sizes[i], 'b');
		fill(ours[i] = asked(get(sizes[i]), sizes[i]), sizes[i]);
	}
	CHECK(malloc_usable_size(theirs[0]) == sizes[0]);
	for (int i = 0; i < NUM; i++) {
		size_t size = sizes[i] + 200;
		switch (i % 5) {
		case 0:
			drop(to_give(theirs[i]));
			note(ours[i], 0, 'd');
			give_back(ours[i]);
			break;
		case 1:
			note(theirs[i], 0, 'd');
			theirs[i] = asked(realloc(to_give(theirs[i]), size), size);
			CHECK(is_filled(theirs[i], filled[i]));
			keep(theirs[i], size);
			break;
		case 2:
			note(ours[i], 0, 'd');
			ours[i] = change(ours[i], size);
			CHECK(is_filled(ours[i], sizes[i]));
			size = (((size_t *)ours[i])[-1] & ~(size_t)7) - 8;
			note(ours[i], size, 'b');
			break;
		case 3: /* more of theirs than of ours: the sums are not right by chance */
			drop(to_give(theirs[i]));
			break;
		default:
			CHECK(is_filled(theirs[i], filled[i]) && is_filled(ours[i], sizes[i]));
		}
	}
	CHECK(heapsnap_process_counters(&after));
	CHECK(after.allocations - before.allocations == want.allocations && after.frees - before.frees == want.frees &&
	      after.allocated_bytes - before.allocated_bytes == want.allocated_bytes);
	CHECK(after.live_bytes - before.live_bytes == want.live_bytes);
}

/* So many MiB, small blocks and mappings of their own, and each page of them. */
static size_t most = 1024;

static void eats_all(void)
{
	for (size_t all = 0; all < most << 20;) {
		size_t size = all % 7 ? 1 + rnd(60000) : 300 << 10;
		get(size);
		all += size;
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "eats_all", eats_all },
	{ "thousands_of_threads", thousands_of_threads },
	{ "dead_arenas", dead_arenas },
	{ "forked_amid_work", forked_amid_work },
	{ "replaced", replaced },
	{ "programs_started", programs_started },
	{ "daemonised", daemonised },
	{ "signals_anywhere", signals_anywhere },
	{ "signal_at_each_instruction", signal_at_each_instruction },
	{ "deepbound", deepbound },
};

int main(int argc, char **argv)
{
	if (argc > 2)
		most = strtoul(argv[2], NULL, 10);
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(cases[i].name, argv[1]))
			cases[i].run();
	if (!num_truth)
		return 2;
	tell_and_stop();
	return 0;
}
