/* SPDX-License-Identifier: MIT */
/* ranges.c CASE [N] - every size and every alignment, and memory that runs out: then what is true, and stop. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "truth.h"

/* ---- sizes ---- */

static void fill(unsigned char *block, size_t size)
{
	for (size_t i = 0; i < size; i++)
		block[i] = (unsigned char)(i * 7 + (i >> 8));
}

static int is_filled(const unsigned char *block, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (block[i] != (unsigned char)(i * 7 + (i >> 8)))
			return 0;
	return 1;
}

/* All that may be used is used; then it moves, or goes. */
static void usable(size_t size)
{
	unsigned char *block = get(size);
	size_t room = malloc_usable_size(block);
	CHECK(room >= size && room < size + 4096 + 64);
	fill(block, room);
	get(1); /* a neighbour that notices */
	CHECK(malloc_usable_size(block) == room && is_filled(block, room));
	if (size % 3 == 0) {
		drop(block);
	} else if (size % 3 == 1) {
		size_t other = size / 2 + rnd(5000);
		note(block, 0, 'd');
		block = realloc(block, other);
		CHECK(block && is_filled(block, other < size ? other : size));
		keep(block, other);
	}
}

static void usable_of_every_size(void)
{
	for (size_t size = 0; size <= 5000; size++)
		usable(size);
	for (size_t size = 5001; size < (size_t)40 << 20; size += size / 3)
		usable(size);
}

/* One by one from 0 to three pages, each alignment; a few stay, and keep heads and tails apart. */
static void every_alignment_and_size(void)
{
	unsigned long n = 0;
	volatile size_t huge = SIZE_MAX, odd = 48; /* the compiler must not know */
	for (size_t alignment = 8; alignment <= (size_t)1 << 20; alignment *= 2) {
		size_t step = alignment > 4096 ? 61 : 1;
		for (size_t size = 0; size <= 3 * 4096; size += step) {
			void *block = NULL;
			switch (++n % 3) {
			case 0:
				CHECK(!posix_memalign(&block, alignment, size));
				break;
			case 1:
				block = aligned_alloc(alignment, size);
				break;
			default:
				block = memalign(alignment, size);
			}
			CHECK(block && (uintptr_t)block % alignment == 0 && malloc_usable_size(block) >= size);
			memset(block, 0x5a, malloc_usable_size(block));
			if (n % 101 == 0)
				keep(block, size);
			else if (n % 37 == 0)
				resize(block, size + rnd(2000));
			else
				free(block);
		}
	}
	free(NULL);
	CHECK(!memalign(huge / 2 + 1, 8) && !memalign(64, huge - 99) && !aligned_alloc(64, huge - 7));
	keep(memalign(odd, 100), 100); /* made 64 */
}

/* Changes its size, and keeps what is in it. */
static void *moved(unsigned char *block, size_t from, size_t to)
{
	fill(block, from);
	note(block, 0, 'd');
	block = realloc(block, to);
	CHECK(block && malloc_usable_size(block) >= to && is_filled(block, from < to ? from : to));
	note(block, to, 'l');
	return block;
}

/* Mappings of their own, which mremap moves, grows and cuts; some begin within their first page (memalign). */
static void mapped_of_every_size(void)
{
	const size_t least = 160 << 10;
	for (size_t alignment = 16; alignment <= (size_t)1 << 20; alignment *= 4) {
		void *block = memalign(alignment, least);
		CHECK(block);
		size_t size = least;
		for (size_t i = 0; i < 20; i++) { /* within a page, and over its end */
			size_t next = size + 1 + rnd(700);
			block = moved(block, size, next);
			size = next;
		}
		for (size_t i = 0; i < 8; i++) {
			size_t next = i % 2 ? size - (size_t)rnd(40000) : size * 2 - rnd(4096);
			block = moved(block, size, next > least ? next : least);
			size = next > least ? next : least;
		}
		for (size_t next = size / 2; next > 5000; next /= 2) { /* below what is mapped by itself */
			block = moved(block, size, next);
			size = next;
		}
		get(200 << 10);
	}
}

/* ---- no memory ---- */

static void limit(int resource, rlim_t bytes)
{
	struct rlimit limit;
	CHECK(!getrlimit(resource, &limit));
	limit.rlim_cur = bytes;
	CHECK(!setrlimit(resource, &limit));
}

/* What the kernel counts for the limit of that name. */
static rlim_t in_use(int resource)
{
	const char *field = resource == RLIMIT_AS ? "VmSize:" : "VmData:";
	char line[128];
	rlim_t kib = 0;
	FILE *status = fopen("/proc/self/status", "r");
	CHECK(status);
	while (fgets(line, sizeof(line), status))
		if (!strncmp(line, field, strlen(field)))
			kib = strtoull(line + strlen(field), NULL, 10);
	fclose(status);
	CHECK(kib);
	return kib << 10;
}

#define FAILS(call) (errno = 0, (call) == NULL && errno == ENOMEM)

static void out_of(int resource)
{
	static void *blocks[100000];
	size_t num = 0, size, large = (size_t)40 << 20;
	void *first = get(200), *mapped = get((size_t)1 << 20), *block = first;
	limit(resource, in_use(resource) + ((rlim_t)24 << 20));
	for (;;) {
		size = 1 + rnd(4000);
		errno = 0;
		block = malloc(size);
		if (!block)
			break;
		blocks[num++] = keep(block, size);
		CHECK(num < 100000);
	}
	CHECK(errno == ENOMEM && num > 1000);
	CHECK(FAILS(malloc(large)) && FAILS(calloc(large, 2)) && FAILS(memalign(64, large)) && FAILS(aligned_alloc(64, large)));
	CHECK(FAILS(valloc(large)) && FAILS(pvalloc(large)) && FAILS(realloc(NULL, large)));
	CHECK(FAILS(realloc(first, large)) && FAILS(reallocarray(mapped, large, 3)) && FAILS(realloc(mapped, large)));
	block = first;
	CHECK(posix_memalign(&block, 64, large) == ENOMEM && block == first);
	for (size_t i = 0; i < num; i += 3)
		drop(blocks[i]);
	for (size_t i = 1; i < num; i += 3)
		blocks[i] = resize(blocks[i], 16);
	for (size_t i = 0; i < 300; i++)
		get(100);
	limit(resource, RLIM_INFINITY);
	resize(mapped, large);
	resize(first, 5000);
	for (size_t i = 0; i < 300; i++)
		get(1 + rnd(5000));
}

static void out_of_address_space(void)
{
	out_of(RLIMIT_AS);
}

static void out_of_data(void)
{
	out_of(RLIMIT_DATA);
}

/* The allocator has what was freed, and the agent can have no page more. */
static void no_room_for_entries(void)
{
	enum { SPARE = 400, MOST = 20000 };
	static void *spare[SPARE], *blocks[MOST];
	size_t num = 0;
	for (size_t i = 0; i < SPARE; i++)
		memset(spare[i] = get(64 << 10), 1, 64 << 10);
	for (size_t i = 0; i < SPARE; i++)
		drop(spare[i]);
	limit(RLIMIT_AS, in_use(RLIMIT_AS));
	for (; num < MOST && (blocks[num] = malloc(24)); num++)
		keep(blocks[num], 24);
	CHECK(num > MOST / 2);
	for (size_t i = 0; i < num; i += 3)
		drop(blocks[i]);
	limit(RLIMIT_AS, RLIM_INFINITY);
	for (size_t i = 1; i < num; i += 3)
		resize(blocks[i], 100);
	for (size_t i = 0; i < 3000; i++)
		get(1 + rnd(500));
}

/* ---- no memory for the agent: its own calls of mmap fail, which no other's are like ---- */

#define FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)
#define RIGHTS (PROT_READ | PROT_WRITE)

/* Not by libc's functions, which the agent watches. */
static long bare_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static void install_filter(unsigned what)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RIGHTS, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FLAGS, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, what),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };
	CHECK(!bare_syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0));
	CHECK(!bare_syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&filter, 0, 0, 0));
}

static volatile long asked, first_to_fail, last_to_fail;

/* The call has not been made: make it, or let it have failed. */
static void at_mmap(int number, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	long count = __atomic_add_fetch(&asked, 1, __ATOMIC_RELAXED);
	(void)number;
	(void)info;
	if (count >= first_to_fail && count <= last_to_fail)
		r[REG_RAX] = -ENOMEM;
	else
		r[REG_RAX] = bare_syscall(SYS_mmap, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10] & ~MAP_NORESERVE, r[REG_R8],
					  r[REG_R9]);
}

/* A stack of its own for each number of so many bits. */
static __attribute__((noinline)) void *fan(unsigned number, unsigned bits)
{
	void *block;
	if (!bits)
		return malloc(24);
	if (number & 1) {
		block = fan(number >> 1, bits - 1);
		__asm__ volatile("nop" : "+r"(block));
	} else {
		block = fan(number >> 1, bits - 1);
		__asm__ volatile("nop; nop" : "+r"(block));
	}
	return block;
}

static pthread_barrier_t together;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *with_others(void *argument)
{
	void *block = malloc(50 + (uintptr_t)argument);
	pthread_barrier_wait(&together);
	pthread_mutex_lock(&lock);
	keep(block, 50 + (uintptr_t)argument);
	drop(get(400));
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void many_threads(unsigned num)
{
	static pthread_t made[400];
	pthread_barrier_init(&together, NULL, num);
	for (uintptr_t i = 0; i < num; i++)
		CHECK(!pthread_create(&made[i], NULL, with_others, (void *)i));
	for (unsigned i = 0; i < num; i++)
		pthread_join(made[i], NULL);
	pthread_barrier_destroy(&together);
}

/* Whatever needs a table, a list or a pool to grow; what could not be noted is freed again. */
static void much_of_all(void)
{
	void *large[20];
	for (size_t i = 0; i < 20; i++)
		memset(large[i] = malloc((i + 1) << 18), 1, 100);
	large[0] = realloc(large[0], (size_t)9 << 20);
	CHECK(!realloc(large[1], (size_t)1 << 60));
	for (unsigned i = 0; i < 40000; i++) {
		void *block = fan(i, 16);
		if (i % 64)
			free(block);
		else
			keep(block, 24);
	}
	many_threads(100);
	many_threads(300);
	for (size_t i = 0; i < 20; i++)
		free(large[i]);
	for (size_t i = 0; i < 20; i++)
		drop(get(1 + rnd(4000)));
}

/* From a certain call on, so many fail. */
static void fail(long first, long num)
{
	struct sigaction action = { .sa_sigaction = at_mmap, .sa_flags = SA_SIGINFO | SA_NODEFER };
	CHECK(!sigaction(SIGSYS, &action, NULL));
	first_to_fail = first;
	last_to_fail = first + num - 1;
	install_filter(SECCOMP_RET_TRAP);
	much_of_all();
	if (num > 1)
		last_to_fail = 0; /* from now on there is memory again */
	CHECK(asked >= first);
	much_of_all();
	get((size_t)2 << 20);
}

static void own_memory_fails_once(void)
{
	fail(strtol(getenv("HSNAP_TEST_WHICH"), NULL, 10), 1);
}

static void own_memory_fails_long(void)
{
	fail(1, 1l << 60);
}

/* Not one page from the first instruction on. */
static void own_memory_never(void)
{
	if (!getenv("HSNAP_TEST_AGAIN")) {
		install_filter(SECCOMP_RET_ERRNO | ENOMEM);
		setenv("HSNAP_TEST_AGAIN", "yes", 1);
		execl("/proc/self/exe", "ranges", "own_memory_never", NULL);
		CHECK(!"exec");
	}
	much_of_all();
	much_of_all();
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "usable_of_every_size", usable_of_every_size },
	{ "every_alignment_and_size", every_alignment_and_size },
	{ "mapped_of_every_size", mapped_of_every_size },
	{ "out_of_address_space", out_of_address_space },
	{ "out_of_data", out_of_data },
	{ "no_room_for_entries", no_room_for_entries },
	{ "own_memory_fails_once", own_memory_fails_once },
	{ "own_memory_fails_long", own_memory_fails_long },
	{ "own_memory_never", own_memory_never },
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
