/* SPDX-License-Identifier: MIT */
/*
 * heapsnap.h - what only a program knows of its memory, told to heapsnap's agent.
 *
 * Header-only: nothing is linked.  Without the agent in the process (heapsnap run -- PROGRAM, or LD_PRELOAD) each call is a
 * load and a branch, in static executables, too.  C99 and later, C++11 and later, gcc and clang.  On other machines than
 * Linux on x86-64, and with HEAPSNAP_OFF defined, the calls do nothing at all.
 *
 * All may be called by any thread at any time, in signal handlers and forked children too.  Addresses that are no block's
 * or object's (NULL, freed, foreign, in the middle of one) do no harm: such a call is counted, and a snapshot says so.
 * Texts are copied, control characters will be shown escaped, and what is longer than 1,023 bytes is cut.
 *
 * docs/annotations.md has an example of each.
 */
#ifndef HEAPSNAP_H
#define HEAPSNAP_H

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus) && !defined(HEAPSNAP_NO_RTTI)
#if defined(__GXX_RTTI) || defined(__cpp_rtti)
#include <typeinfo>
#define HEAPSNAP_RTTI 1
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Since the process, or the thread, began. */
struct heapsnap_counters {
	uint64_t allocations;     /* malloc, new and their like; a realloc is one, and one that was freed */
	uint64_t allocated_bytes; /* that were asked for */
	uint64_t frees;
	uint64_t live;            /* blocks that were not freed; of a thread: that it allocated less those it freed, or 0 */
	uint64_t live_bytes;      /* room of these: what was asked for, rounded up as the allocator does */
};

/* ---- between this header and the agent; not to be used ---- */

enum heapsnap_text {
	HEAPSNAP_TEXT_PLAIN,   /* as it is written in the source */
	HEAPSNAP_TEXT_MANGLED, /* as std::type_info::name() has it */
	HEAPSNAP_TEXT_PRETTY   /* "… [with T = name]" */
};

/* Grows at its end only. */
struct heapsnap_calls {
	size_t size; /* of it, in this agent */
	void (*tag)(void *block, const char *type, enum heapsnap_text how);
	int (*counters)(struct heapsnap_counters *ret, int of_process);
};

/* The agent's, or NULL.  By way of the global offset table, whatever code is made and how ever it is linked: a weak symbol
 * of the compiler's is found in no executable that is made to lie at a fixed place, and is hidden where all are. */
static inline const struct heapsnap_calls *heapsnap_agent(void)
{
#if defined(__x86_64__) && defined(__linux__) && defined(__LP64__) && !defined(HEAPSNAP_OFF)
	const struct heapsnap_calls *calls;
	__asm__(".weak heapsnap_calls\n\tmovq heapsnap_calls@GOTPCREL(%%rip), %0" : "=r"(calls));
	return calls;
#else
	return NULL;
#endif
}

#define HEAPSNAP_HAS(calls, call) \
	((calls) && (calls)->size >= offsetof(struct heapsnap_calls, call) + sizeof((calls)->call))

/* ---- types ---- */

/**
 * The block is of this type, as it is called in the source: "struct session", "ns::Session", "char *".  What has
 * n times its size is an array of it, what is larger has something behind it.  A name that no type of the program has
 * will do, and is all that is said of the block then.  realloc keeps it, the last one counts.
 * @return the block
 */
static inline void *heapsnap_tag(void *block, const char *type)
{
	const struct heapsnap_calls *calls = heapsnap_agent();
	if (HEAPSNAP_HAS(calls, tag))
		calls->tag(block, type, HEAPSNAP_TEXT_PLAIN);
	return block;
}

/* The same with the type itself, which must be one: HEAPSNAP_TAG(malloc(sizeof(struct session)), struct session). */
#ifdef __cplusplus
#define HEAPSNAP_TAG(block, ...) (heapsnap::tag_as<__VA_ARGS__>(block))
#else
#define HEAPSNAP_TAG(block, ...) ((void)sizeof(__VA_ARGS__), heapsnap_tag((block), #__VA_ARGS__))
#endif

/* ---- counters ---- */

/**
 * What this thread, or the whole process, has allocated so far.  A difference of two is what was done in between: of
 * a loop of n rounds, its n-th part is "B/op" and "allocs/op".
 * @return 1; 0: it is not known (no agent, a thread without counters of its own), and all are 0
 * Cost: a few loads for a thread, as many for each thread there ever was at once for the process.
 */
static inline int heapsnap_thread_counters(struct heapsnap_counters *ret)
{
	const struct heapsnap_calls *calls = heapsnap_agent();
	const struct heapsnap_counters none = { 0, 0, 0, 0, 0 };
	*ret = none;
	return HEAPSNAP_HAS(calls, counters) ? calls->counters(ret, 0) : 0;
}

static inline int heapsnap_process_counters(struct heapsnap_counters *ret)
{
	const struct heapsnap_calls *calls = heapsnap_agent();
	const struct heapsnap_counters none = { 0, 0, 0, 0, 0 };
	*ret = none;
	return HEAPSNAP_HAS(calls, counters) ? calls->counters(ret, 1) : 0;
}

#ifdef __cplusplus
}

namespace heapsnap
{

/* The block is one T, or an array of them. */
template <class T> inline T *tag_as(void *block)
{
	const struct heapsnap_calls *calls = heapsnap_agent();
	if (HEAPSNAP_HAS(calls, tag)) {
#ifdef HEAPSNAP_RTTI
		calls->tag(block, typeid(T).name(), HEAPSNAP_TEXT_MANGLED);
#else
		calls->tag(block, __PRETTY_FUNCTION__, HEAPSNAP_TEXT_PRETTY);
#endif
	}
	return static_cast<T *>(block);
}

/* The same of what a pointer leads to. */
template <class T> inline T *tag(T *block)
{
	return tag_as<T>(block);
}

}
#endif

#endif
