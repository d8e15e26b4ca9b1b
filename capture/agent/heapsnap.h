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

/* A pool of the program's own; 0: none, with which all calls do nothing. */
typedef uint64_t heapsnap_pool;

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
	heapsnap_pool (*pool_create)(const char *name, int arena);
	void (*pool_destroy)(heapsnap_pool pool);
	void (*pool_reset)(heapsnap_pool pool);
	void (*pool_slab)(heapsnap_pool pool, void *memory, size_t size);
	void (*pool_slab_gone)(heapsnap_pool pool, void *memory);
	void *(*pool_alloc)(heapsnap_pool pool, void *object, size_t size, const char *type, enum heapsnap_text how);
	void (*pool_free)(heapsnap_pool pool, void *object);
	void (*root)(void *memory, size_t size, const char *name);
	void (*root_gone)(void *memory);
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

/* ---- pools ---- */

/**
 * A pool hands out objects of the memory that it has: from malloc, from mmap, an array.  From then on its objects are
 * what counts as blocks, each with its size, its type and the call that it was made by; the blocks in which they lie are the
 * pool's overhead, and no blocks of the program.
 *
 * A pool's objects are freed one by one, as a rule: each is on record by its address (about 35 bytes).  An arena's go all
 * at once: 17 bytes each, and to free a single one costs a search.
 */
static inline heapsnap_pool heapsnap_pool_create(const char *name)
{
	const struct heapsnap_calls *calls = heapsnap_agent();
	return HEAPSNAP_HAS(calls, pool_create) ? calls->pool_create(name, 0) : 0;
}

static inline heapsnap_pool heapsnap_arena_create(const char *name)
{
	const struct heapsnap_calls *calls = heapsnap_agent();
	return HEAPSNAP_HAS(calls, pool_create) ? calls->pool_create(name, 1) : 0;
}

/* The pool is gone, and what is left of its objects.  Cost, and that of a reset: of a pool a look at the objects of
 * all pools, of an arena next to nothing. */
static inline void heapsnap_pool_destroy(heapsnap_pool pool)
{
	const struct heapsnap_calls *calls = heapsnap_agent();
	if (pool && HEAPSNAP_HAS(calls, pool_destroy))
		calls->pool_destroy(pool);
}

/* All of its objects are free. */
static inline void heapsnap_pool_reset(heapsnap_pool pool)
{
	const struct heapsnap_calls *calls = heapsnap_agent();
	if (pool && HEAPSNAP_HAS(calls, pool_reset))
		calls->pool_reset(pool);
}

/**
 * Here are its objects, and nothing else: what of it is in no object is free and holds nothing.  Leave a header out that
 * leads to other memory.  Need not be said: then words outside of objects may hold what they lead to.
 */
static inline void heapsnap_pool_slab(heapsnap_pool pool, void *memory, size_t size)
{
	const struct heapsnap_calls *calls = heapsnap_agent();
	if (pool && HEAPSNAP_HAS(calls, pool_slab))
		calls->pool_slab(pool, memory, size);
}

/* Call it before the memory is given back. */
static inline void heapsnap_pool_slab_gone(heapsnap_pool pool, void *memory)
{
	const struct heapsnap_calls *calls = heapsnap_agent();
	if (pool && HEAPSNAP_HAS(calls, pool_slab_gone))
		calls->pool_slab_gone(pool, memory);
}

/**
 * The pool hands out an object of a size: call it last, and return what it returns, so that the caller's variable may name
 * the object.  A second time it is another object's, or its size has changed.
 * @return the object
 */
static inline void *heapsnap_pool_alloc(heapsnap_pool pool, void *object, size_t size)
{
	const struct heapsnap_calls *calls = heapsnap_agent();
	return pool && HEAPSNAP_HAS(calls, pool_alloc) ? calls->pool_alloc(pool, object, size, NULL, HEAPSNAP_TEXT_PLAIN) : object;
}

/* The same with its type, as of heapsnap_tag(). */
static inline void *heapsnap_pool_alloc_as(heapsnap_pool pool, void *object, size_t size, const char *type)
{
	const struct heapsnap_calls *calls = heapsnap_agent();
	return pool && HEAPSNAP_HAS(calls, pool_alloc) ? calls->pool_alloc(pool, object, size, type, HEAPSNAP_TEXT_PLAIN) : object;
}

/* One object of a type. */
#ifdef __cplusplus
#define HEAPSNAP_POOL_ALLOC(pool, object, ...) (heapsnap::pool_alloc<__VA_ARGS__>((pool), (object)))
#else
#define HEAPSNAP_POOL_ALLOC(pool, object, ...) heapsnap_pool_alloc_as((pool), (object), sizeof(__VA_ARGS__), #__VA_ARGS__)
#endif

/* Call it before the object can be handed out again. */
static inline void heapsnap_pool_free(heapsnap_pool pool, void *object)
{
	const struct heapsnap_calls *calls = heapsnap_agent();
	if (pool && HEAPSNAP_HAS(calls, pool_free))
		calls->pool_free(pool, object);
}

/* ---- roots ---- */

/**
 * Memory from which the program finds its way, though no variable leads there: a table by whose number something is
 * found, what a device or another process has.  What its words lead to is held by the root of that name; and the block in
 * which it lies, if it does.  Of one address the last call counts.
 */
static inline void heapsnap_root(void *memory, size_t size, const char *name)
{
	const struct heapsnap_calls *calls = heapsnap_agent();
	if (HEAPSNAP_HAS(calls, root))
		calls->root(memory, size, name);
}

/* It is none any more: call it before the memory is given back. */
static inline void heapsnap_root_gone(void *memory)
{
	const struct heapsnap_calls *calls = heapsnap_agent();
	if (HEAPSNAP_HAS(calls, root_gone))
		calls->root_gone(memory);
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

/* The pool hands out `num` objects of a type, side by side: as heapsnap_pool_alloc(). */
template <class T> inline T *pool_alloc(heapsnap_pool pool, void *object, size_t num = 1)
{
	const struct heapsnap_calls *calls = heapsnap_agent();
	if (pool && HEAPSNAP_HAS(calls, pool_alloc)) {
#ifdef HEAPSNAP_RTTI
		object = calls->pool_alloc(pool, object, num * sizeof(T), typeid(T).name(), HEAPSNAP_TEXT_MANGLED);
#else
		object = calls->pool_alloc(pool, object, num * sizeof(T), __PRETTY_FUNCTION__, HEAPSNAP_TEXT_PRETTY);
#endif
	}
	return static_cast<T *>(object);
}

}
#endif

#endif
