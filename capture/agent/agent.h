/* SPDX-License-Identifier: MIT */
/*
 * agent.h - the parts of libheapsnap-agent.so.
 *
 * Nothing in here may call what the agent interposes, take a lock on the common path, use
 * stdio or change errno.  It runs before constructors, in signal handlers' threads, in
 * forked children and on small stacks.
 */
#ifndef HSNAP_CAPTURE_AGENT_AGENT_H
#define HSNAP_CAPTURE_AGENT_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/wire.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define EXPORTED __attribute__((visibility("default")))
#define HSNAP_TLS __thread __attribute__((tls_model("initial-exec")))

/* What the definitions behind ours are called; hsnap_agent_next points at them. */
struct hsnap_agent_next {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*reallocarray)(void *, size_t, size_t);
	void (*free)(void *);
	void *(*memalign)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*usable)(void *);
};

enum hsnap_agent_mode {
	HSNAP_MODE_UNDECIDED, /* the first call decides */
	HSNAP_MODE_RECORD,
	HSNAP_MODE_ASIDE,
	HSNAP_MODE_OTHER,     /* another allocator's blocks: see other.h */
};

/* What every call reads and next to nothing writes: one place, apart from the directory. */
struct hsnap_agent_state {
	uint8_t mode;       /* enum hsnap_agent_mode */
	bool operators;     /* operator new and delete are ours too, not only malloc */
	bool other_operators; /* in HSNAP_MODE_OTHER: they are the allocator's own */
	uint8_t stacks;     /* enum hsnap_wire_stacks */
	uint32_t epoch;     /* of now, as a trailer has it; renewed now and then */
	uint64_t key;
	uint64_t brk_start, brk_size;
	struct hsnap_agent_table *table; /* newest table of stacks */
	uint64_t *large_address; /* NULL until the first large block */
	uint64_t *main_stack_end;
	int64_t started;    /* CLOCK_MONOTONIC seconds, less one: an epoch is never 0 */
};

extern struct hsnap_agent_state hsnap_agent __attribute__((aligned(64)));
extern struct hsnap_agent_next hsnap_agent_next;
extern EXPORTED struct hsnap_wire_directory hsnap_agent_directory;

#define HSNAP_AGENT_KEPT 5u
/* What the agent keeps of a thread. */
struct hsnap_agent_thread {
	struct hsnap_wire_counters *counters; /* NULL: none of its own */
	struct hsnap_agent_walks *walks;      /* comes and goes with them */
	bool ending;          /* … and it is to get none any more */
	bool inside;          /* another allocator: what it calls itself is its own affair */
	uint64_t entered;     /* blocks that went into the registry */
	uint8_t bounds;       /* 0: stack not looked at yet, 1: known, 2: cannot be had */
	uintptr_t stack_start, stack_end;
	uint64_t before[HSNAP_AGENT_KEPT]; /* what the slot's earlier threads had counted, its first words */
};
extern HSNAP_TLS struct hsnap_agent_thread hsnap_agent_self;

/* decide.c: look at who else defines malloc, and settle the mode; returns it. */
enum hsnap_agent_mode hsnap_agent_decide(void);
/* The definition of `name` that follows ours in the order of loading, or NULL. */
void *hsnap_agent_lookup_next(const char *name);

const char *hsnap_agent_own_path(void);

/* environment.c: a variable of the environment that the process began with, or NULL. */
const char *hsnap_agent_option(const char *name);
/* Where it was asked for: let no child inherit the agent. */
void hsnap_agent_leave_environment(const char *own_path);

/* memory.c: whole pages from the kernel, zeroed; NULL: none to be had.  Listed as our own. */
#define HSNAP_AGENT_MAP_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)
void *hsnap_agent_pages(size_t size);
void hsnap_agent_pages_free(void *pages, size_t size);
/* From now on pages come from what was mapped ahead (true: which is done here), or from the kernel again.
 * Returns how it was before. */
bool hsnap_agent_confine(bool confined);
/* errno-free system calls: the result, or a negative errno. */
long hsnap_agent_syscall(long number, long a, long b, long c, long d, long e, long f);

/* sandbox.c: the program has installed a filter of system calls: none that could be done without. */
extern bool hsnap_agent_sandboxed;

/* threads.c */
uint64_t hsnap_agent_pid(void); /* of this process, without a system call where that can be; 0: unknown */
struct hsnap_wire_counters *hsnap_agent_slot(void); /* the thread's own or the shared one; never NULL */
/* Of this thread alone, or of all together; false: it has no slot. */
bool hsnap_agent_count_thread(struct hsnap_wire_counters *ret);
void hsnap_agent_count_process(struct hsnap_wire_counters *ret);
void hsnap_agent_find_bounds(struct hsnap_agent_thread *self, uintptr_t sp);
void hsnap_agent_renew_epoch(void); /* once in 64 allocations of a thread */
void hsnap_agent_threads_start(void);
void hsnap_agent_walks_start(void);

/* place.c: where chunks lie. */
extern uint64_t hsnap_agent_heap_bits[HSNAP_HEAP_WORDS];
void hsnap_agent_note_heap(uintptr_t address);
void hsnap_agent_note_main(uintptr_t address);
/* Is all of it memory where chunks have been, and mapped by now?  Of pieces, and of heaps that may go again, the kernel
 * is asked (~0.2 us); in a sandbox they are taken for nothing. */
bool hsnap_agent_is_heap(uintptr_t start, uintptr_t end);
/* false: the table is full; counted. */
bool hsnap_agent_large_add(uintptr_t address, uint64_t requested, uint64_t site, unsigned epoch);
/* A large block that found no place is counted, and no more once it is gone; false: there was none. */
void hsnap_agent_large_lost(void);
bool hsnap_agent_large_found(void);
/* Take an entry out; false: it is not there. */
bool hsnap_agent_large_take(uintptr_t address, uint64_t *ret_requested, uint64_t *ret_site);

/* Where the site and the epoch of a large block stand, site << 12 | epoch; NULL: it is none. */
uint64_t *hsnap_agent_large_site(uintptr_t address);

/* stacks.c: the site of the call whose frame is at `frame` (of one of our exported functions). */
uint32_t hsnap_agent_site(const uintptr_t *frame);
/* Another record in the pool of stacks, its head and the words behind it: the unit of one that is the same, or a new
 * one; 0: no room.  And the head of a unit, and the bytes behind it. */
uint32_t hsnap_agent_intern(uint64_t head, const uint64_t *words, uint32_t num);
uint64_t hsnap_agent_unit(uint32_t unit);
const char *hsnap_agent_unit_text(uint32_t unit);

/* Where only callers are recorded: return address to site, pc >> 12: 35 bits | site 24; the rest of the
 * address is in the place of the entry. */
#define HSNAP_CALLER_BITS 12
extern uint64_t hsnap_agent_callers[1u << HSNAP_CALLER_BITS];
void hsnap_agent_forget_callers(void); /* where a module was unloaded */

static inline uint64_t *hsnap_agent_caller(uintptr_t pc)
{
	return &hsnap_agent_callers[(pc ^ pc >> HSNAP_CALLER_BITS) & ((1u << HSNAP_CALLER_BITS) - 1)];
}

static inline uint32_t hsnap_agent_site_here(const uintptr_t *frame)
{
	if (hsnap_agent.stacks == HSNAP_STACKS_CALLER) {
		uint64_t entry = __atomic_load_n(hsnap_agent_caller(frame[1]), __ATOMIC_RELAXED);
		if (LIKELY(entry >> 24 == frame[1] >> HSNAP_CALLER_BITS))
			return (uint32_t)entry & HSNAP_MAX_SITE;
	}
	return hsnap_agent_site(frame);
}

#endif
