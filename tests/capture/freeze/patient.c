/* SPDX-License-Identifier: MIT */
/*
 * patient.c - a process that notices what is done to it.
 *
 *	patient busy [MIB]    threads that wait in every way that a stop can break, a structure that is
 *	                      changed and checked all the time, a stream of numbered signals
 *	patient sleepers N    N sleeping threads
 *	patient spawner       makes threads without pause
 *	patient vfork MS      stands in vfork() for so long, then goes on as `busy`
 *	patient orphan        its main thread has ended
 *	patient sandbox       under a seccomp filter that kills on everything but a few calls
 *	patient spinner       one thread that never sleeps and checks its registers, vectors and signal stack
 *	patient filler MIB    has so much memory, and that is all
 *	patient writer MIB    writes to every page of it, over and over, as fast as it can
 *
 * Prints READY when set up; at the end of stdin what it noticed, and exits.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 30
#define NUM_CELLS 4096

static atomic_int stop;
static atomic_ulong eintr, wrong, sent, handled, loops;
static const char *eintr_where = "";
static pthread_barrier_t set_up; /* all have opened what they use */

static void note(int error, int expected, const char *where)
{
	if (error == EINTR) {
		eintr++;
		eintr_where = where;
	} else if (error != expected) {
		wrong++;
		fprintf(stderr, "%s: %s\n", where, strerror(error));
	}
}

static void *wait_epoll(void *unused)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;
	pthread_barrier_wait(&set_up);
	while (!stop) {
		int n = epoll_wait(fd, &event, 1, WAIT_MS);
		note(n < 0 ? errno : 0, 0, "epoll_wait");
	}
	return unused;
}

static void *wait_socket(void *unused)
{
	int pair[2];
	char byte;
	struct timeval limit = { .tv_usec = WAIT_MS * 1000 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) ||
	    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		abort();
	pthread_barrier_wait(&set_up);
	while (!stop) {
		ssize_t n = recv(pair[0], &byte, 1, 0);
		note(n < 0 ? errno : 0, EAGAIN, "recv");
	}
	return unused;
}

static void *wait_sleep(void *unused)
{
	while (!stop) {
		int n = nanosleep(&(struct timespec){ .tv_nsec = WAIT_MS * 1000000L }, NULL);
		note(n ? errno : 0, 0, "nanosleep");
	}
	return unused;
}

static void *wait_semaphore(void *unused)
{
	sem_t semaphore;
	sem_init(&semaphore, 0, 0);
	while (!stop) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += WAIT_MS * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000L;
		until.tv_nsec %= 1000000000L;
		int n = sem_timedwait(&semaphore, &until);
		note(n ? errno : 0, ETIMEDOUT, "sem_timedwait");
	}
	return unused;
}

static void *wait_signal(void *unused)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	while (!stop) {
		int n = sigtimedwait(&set, NULL, &(struct timespec){ .tv_nsec = WAIT_MS * 1000000L });
		note(n < 0 ? errno : 0, EAGAIN, "sigtimedwait");
	}
	return unused;
}

/* Cells whose sum never changes, and a floating-point sum that must come out the same each time. */
static void *change_and_check(void *unused)
{
	static uint64_t cells[NUM_CELLS];
	uint64_t state = 88172645463325252u, sum = 0;
	double first = 0;
	for (size_t i = 0; i < NUM_CELLS; i++)
		sum += cells[i] = i * 0x9e3779b97f4a7c15u;
	while (!stop) {
		double series = 0;
		for (int i = 1; i < 2000; i++) {
			state ^= state << 13, state ^= state >> 7, state ^= state << 17;
			uint64_t take = state >> 40;
			cells[state % NUM_CELLS] -= take;
			cells[state / NUM_CELLS % NUM_CELLS] += take;
			series += 1.0 / i / i;
		}
		uint64_t now = 0;
		for (size_t i = 0; i < NUM_CELLS; i++)
			now += cells[i];
		if (first == 0)
			first = series;
		wrong += now != sum || series != first;
		loops++;
	}
	return unused;
}

/* Numbered real-time signals queue in order: a lost or doubled one breaks the sequence. */
static void on_numbered(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	if ((unsigned long)info->si_value.sival_int != handled)
		wrong++;
	handled++;
}

static void *send_signals(void *unused)
{
	while (!stop) {
		if (!sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = (int)sent }))
			sent++;
		nanosleep(&(struct timespec){ .tv_nsec = 300000 }, NULL);
	}
	return unused;
}

static unsigned count_descriptors(void)
{
	unsigned num = 0;
	DIR *dir = opendir("/proc/self/fd");
	while (dir && readdir(dir))
		num++;
	closedir(dir);
	return num;
}

static void ready(void)
{
	puts("READY");
	fflush(stdout);
}

static void wait_for_end(void)
{
	char bytes[64];
	for (ssize_t n; (n = read(0, bytes, sizeof(bytes))) != 0;)
		if (n < 0 && errno != EINTR)
			break;
}

static uint8_t *touch(size_t mib)
{
	size_t size = mib << 20;
	uint8_t *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(bytes, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i += 4096)
		bytes[i] = (uint8_t)(i >> 12 | 1);
	return bytes;
}

static int run_busy(size_t mib)
{
	static void *(*const works[])(void *) = {
		wait_epoll, wait_socket, wait_sleep, wait_semaphore, wait_signal, change_and_check, send_signals,
	};
	enum { NUM = sizeof(works) / sizeof(*works) };
	pthread_t threads[NUM];
	struct sigaction action = { .sa_sigaction = on_numbered, .sa_flags = SA_SIGINFO | SA_RESTART };
	sigset_t set, before;
	touch(mib);
	sigaction(SIGRTMIN, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigaddset(&set, SIGRTMIN + 1);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	pthread_barrier_init(&set_up, NULL, 3);
	for (size_t i = 0; i < NUM; i++)
		if (pthread_create(&threads[i], NULL, works[i], NULL))
			abort();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_barrier_wait(&set_up);
	unsigned descriptors = count_descriptors();
	ready();
	wait_for_end();
	stop = 1;
	for (size_t i = 0; i < NUM; i++)
		pthread_join(threads[i], NULL);
	usleep(1000); /* the last signal */
	errno = 0;
	bool childless = waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD;
	printf("eintr %lu wrong %lu lost %ld descriptors %d children %d loops %lu %s\n", eintr, wrong,
	       (long)(sent - handled), (int)(count_descriptors() - descriptors), !childless, loops, eintr_where);
	return 0;
}

/*
 * Registers of all kinds hold for a while what was put into them: general ones, flags by way of a
 * chain of additions, vectors (256 bits wide where the processor has them).
 */
static bool registers_hold(uint64_t seed)
{
	uint64_t in[4] = { seed, ~seed, seed * 3, seed ^ 0x5555555555555555u }, out[4] = { 0 }, kept[6];
#define HOLD(load, store) \
	__asm__ volatile(load \
			 "mov %[seed], %%r8\n lea 1(%%r8), %%r9\n lea 2(%%r8), %%r10\n lea 3(%%r8), %%r11\n" \
			 "lea 4(%%r8), %%r12\n lea 5(%%r8), %%r13\n mov $3000, %%ecx\n" \
			 "1: add $1, %%r13\n sub $1, %%r13\n dec %%ecx\n jnz 1b\n" store \
			 "mov %%r8, (%[kept])\n mov %%r9, 8(%[kept])\n mov %%r10, 16(%[kept])\n" \
			 "mov %%r11, 24(%[kept])\n mov %%r12, 32(%[kept])\n mov %%r13, 40(%[kept])\n" \
			 : : [seed] "r"(seed), [in] "r"(in), [out] "r"(out), [kept] "r"(kept) \
			 : "r8", "r9", "r10", "r11", "r12", "r13", "rcx", "xmm3", "xmm14", "memory", "cc")
	if (__builtin_cpu_supports("avx"))
		HOLD("vmovdqu (%[in]), %%ymm14\n", "vmovdqu %%ymm14, (%[out])\n vzeroupper\n");
	else
		HOLD("movdqu (%[in]), %%xmm14\n movdqu 16(%[in]), %%xmm3\n",
		     "movdqu %%xmm14, (%[out])\n movdqu %%xmm3, 16(%[out])\n");
#undef HOLD
	for (uint64_t i = 0; i < 6; i++)
		if (kept[i] != seed + i)
			return false;
	return !memcmp(in, out, sizeof(in));
}

static int run_spinner(void)
{
	static uint8_t room[65536];
	stack_t stack = { .ss_sp = room, .ss_size = sizeof(room) }, now;
	sigset_t mask;
	struct pollfd end = { .fd = 0, .events = POLLIN };
	sigaltstack(&stack, NULL);
	unsigned descriptors = count_descriptors();
	ready();
	do {
		for (int i = 0; i < 20000; i++)
			wrong += !registers_hold(0x0123456789abcdefu * (loops++ + 1));
		wrong += sigaltstack(NULL, &now) || now.ss_sp != room || now.ss_flags || now.ss_size != sizeof(room);
		wrong += sigprocmask(SIG_SETMASK, NULL, &mask) || !sigisemptyset(&mask);
	} while (!poll(&end, 1, 0));
	printf("eintr %lu wrong %lu lost 0 descriptors %d children 0 loops %lu\n", eintr, wrong,
	       (int)(count_descriptors() - descriptors), loops);
	return 0;
}

static void *sleep_on(void *unused)
{
	while (!stop)
		sleep(1000);
	return unused;
}

static int run_sleepers(int num)
{
	pthread_attr_t attributes;
	pthread_t thread;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	for (int i = 0; i < num; i++)
		if (pthread_create(&thread, &attributes, sleep_on, NULL))
			abort();
	usleep(50000);
	ready();
	wait_for_end();
	return 0;
}

static void *be_brief(void *unused)
{
	return unused;
}

static void *spawn(void *unused)
{
	pthread_t thread;
	while (!stop)
		if (!pthread_create(&thread, NULL, be_brief, NULL)) {
			if (loops++ % 2)
				pthread_join(thread, NULL);
			else
				pthread_detach(thread);
		}
	return unused;
}

static int run_spawner(void)
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, spawn, NULL);
	ready();
	wait_for_end();
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("loops %lu\n", loops);
	return 0;
}

/* exec ends a vfork: so the child sleeps itself before it ends. */
static void *stand_long(void *argument)
{
	struct timespec time = { .tv_nsec = atol(argument) % 1000 * 1000000L, .tv_sec = atol(argument) / 1000 };
	pid_t child = vfork();
	if (!child) {
		syscall(SYS_nanosleep, &time, NULL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	return NULL;
}

static int run_vfork(char *milliseconds)
{
	pthread_t thread;
	ready();
	pthread_create(&thread, NULL, stand_long, milliseconds);
	pthread_join(thread, NULL);
	return run_busy(0);
}

static void *read_on(void *unused)
{
	ready();
	wait_for_end();
	exit(0);
	return unused;
}

static int run_orphan(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, read_on, NULL);
	pthread_exit(NULL);
}

static int run_sandbox(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(*filter), .filter = filter };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		abort();
	char bytes[64];
	if (write(1, "READY\n", 6) != 6)
		_exit(1);
	while (read(0, bytes, sizeof(bytes)) > 0)
		;
	_exit(write(1, "fine\n", 5) == 5 ? 0 : 1);
}

static int run_writer(size_t mib)
{
	struct pollfd end = { .fd = 0, .events = POLLIN };
	volatile uint8_t *bytes = touch(mib);
	ready();
	for (; !poll(&end, 1, 0); loops++)
		for (size_t i = 0; i < mib << 20; i += 4096) {
			wrong += bytes[i] != (uint8_t)((i >> 12 | 1) + loops);
			bytes[i]++;
		}
	printf("wrong %lu loops %lu\n", wrong, loops);
	return 0;
}

/* One thread, asleep to a moment that is fixed: whoever makes its call again does not make it longer. */
static int run_until(long milliseconds)
{
	struct timespec until, woke;
	ready();
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += milliseconds / 1000;
	until.tv_nsec += milliseconds % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000L)
		until.tv_sec++, until.tv_nsec -= 1000000000L;
	int error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	clock_gettime(CLOCK_MONOTONIC, &woke);
	bool early = woke.tv_sec < until.tv_sec || (woke.tv_sec == until.tv_sec && woke.tv_nsec < until.tv_nsec);
	printf("error %d early %d\n", error, early);
	return error || early;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	char *value = argc > 2 ? argv[2] : (char *)"0";
	if (!strcmp(mode, "busy"))
		return run_busy((size_t)atol(value));
	if (!strcmp(mode, "sleepers"))
		return run_sleepers(atoi(value));
	if (!strcmp(mode, "until"))
		return run_until(atol(value));
	if (!strcmp(mode, "spawner"))
		return run_spawner();
	if (!strcmp(mode, "vfork"))
		return run_vfork(value);
	if (!strcmp(mode, "orphan"))
		return run_orphan();
	if (!strcmp(mode, "sandbox"))
		return run_sandbox();
	if (!strcmp(mode, "spinner"))
		return run_spinner();
	if (!strcmp(mode, "writer"))
		return run_writer((size_t)atol(value));
	if (strcmp(mode, "filler"))
		return 2;
	touch((size_t)atol(value));
	ready();
	wait_for_end();
	return 0;
}
