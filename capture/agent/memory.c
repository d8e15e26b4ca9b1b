/* SPDX-License-Identifier: MIT */
/* memory.c - pages of the agent's own, by system calls that leave errno alone. */
#include "capture/agent/agent.h"

#include <sys/mman.h>
#include <sys/syscall.h>

long hsnap_agent_syscall(long number, long a, long b, long c, long d, long e, long f)
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

/* Every own mapping gets an entry; a freed one stays as an empty range. */
static bool list(uintptr_t start, size_t size)
{
	uint64_t at = __atomic_fetch_add(&hsnap_agent_directory.num_own, 1, __ATOMIC_RELAXED);
	if (at >= HSNAP_NUM_OWN) {
		__atomic_fetch_sub(&hsnap_agent_directory.num_own, 1, __ATOMIC_RELAXED);
		return false;
	}
	hsnap_agent_directory.own[at].start = start;
	__atomic_store_n(&hsnap_agent_directory.own[at].end, start + size, __ATOMIC_RELEASE);
	return true;
}

static void *map(size_t size)
{
	long at = hsnap_agent_syscall(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE, HSNAP_AGENT_MAP_FLAGS, -1, 0);
	if (at < 0 && at > -4096)
		return NULL;
	if (!list((uintptr_t)at, size)) {
		hsnap_agent_syscall(SYS_munmap, at, (long)size, 0, 0, 0, 0);
		return NULL;
	}
	return (void *)at;
}

/* ---- for programs that may map nothing any more ---- */

/* Address space only, until it is used: the tables of 100,000 stacks, and of large blocks. */
#define RESERVE_MOST ((size_t)32 << 20)
#define RESERVE_LEAST ((size_t)1 << 20)
static uintptr_t reserve_start, reserve_end, reserve_next;
static bool is_confined;

static void make_reserve(void)
{
	for (size_t size = RESERVE_MOST; !reserve_start && size >= RESERVE_LEAST; size /= 2) {
		reserve_start = reserve_next = (uintptr_t)map(size);
		reserve_end = reserve_start ? reserve_start + size : 0;
	}
}

bool hsnap_agent_confine(bool confined)
{
	bool before = is_confined;
	if (confined && !before)
		make_reserve();
	__atomic_store_n(&is_confined, confined, __ATOMIC_RELEASE);
	return before;
}

static void *from_reserve(size_t size)
{
	uintptr_t at = __atomic_load_n(&reserve_next, __ATOMIC_RELAXED);
	size = (size + 4095) & ~(size_t)4095;
	do {
		if (size > reserve_end - at)
			return NULL;
	} while (!__atomic_compare_exchange_n(&reserve_next, &at, at + size, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return (void *)at;
}

void *hsnap_agent_pages(size_t size)
{
	return UNLIKELY(__atomic_load_n(&is_confined, __ATOMIC_ACQUIRE)) ? from_reserve(size) : map(size);
}

void hsnap_agent_pages_free(void *pages, size_t size)
{
	/* What two threads made at once and one had no use for.  It stays where it may not be unmapped. */
	if (UNLIKELY(__atomic_load_n(&is_confined, __ATOMIC_ACQUIRE)) ||
	    (uintptr_t)pages - reserve_start < reserve_end - reserve_start)
		return;
	for (size_t i = 0; i < HSNAP_NUM_OWN; i++)
		if (hsnap_agent_directory.own[i].start == (uintptr_t)pages)
			hsnap_agent_directory.own[i].end = (uintptr_t)pages;
	hsnap_agent_syscall(SYS_munmap, (long)pages, (long)size, 0, 0, 0, 0);
}
