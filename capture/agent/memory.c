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

void *hsnap_agent_pages(size_t size)
{
	long at = hsnap_agent_syscall(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at < 0 && at > -4096)
		return NULL;
	if (!list((uintptr_t)at, size)) {
		hsnap_agent_syscall(SYS_munmap, at, (long)size, 0, 0, 0, 0);
		return NULL;
	}
	return (void *)at;
}

void hsnap_agent_pages_free(void *pages, size_t size)
{
	for (size_t i = 0; i < HSNAP_NUM_OWN; i++)
		if (hsnap_agent_directory.own[i].start == (uintptr_t)pages)
			hsnap_agent_directory.own[i].end = (uintptr_t)pages;
	hsnap_agent_syscall(SYS_munmap, (long)pages, (long)size, 0, 0, 0, 0);
}
