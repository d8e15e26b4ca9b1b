/* SPDX-License-Identifier: MIT */
/*
 * new.c - operator new and delete, all standard forms, so that the caller on record
 * is who wrote `new` and not the C++ library.
 *
 * Names as the Itanium C++ ABI mangles them.  Where the program has operators of its own
 * (decide.c), ours hand everything on.  Where memory is short, the next definition is called:
 * it runs the new_handler and throws.
 */
#include "capture/agent/agent.h"

#include <stdlib.h>

#include "capture/agent/other.h"
#include "capture/agent/record.h"

/* Looked up once a form: the C++ library does not go away under a program that uses it. */
static void *next_operator(const char *name, void **known)
{
	void *next = __atomic_load_n(known, __ATOMIC_RELAXED);
	if (LIKELY(next != NULL))
		return next;
	next = hsnap_agent_lookup_next(name);
	if (!next)
		abort(); /* an operator new must not return NULL, and there is nobody who can throw */
	__atomic_store_n(known, next, __ATOMIC_RELAXED);
	return next;
}

static inline __attribute__((always_inline)) void *allocate(size_t size, size_t alignment, const uintptr_t *frame)
{
	if (UNLIKELY(!hsnap_agent.operators))
		return NULL;
	if (UNLIKELY(!hsnap_agent_records()))
		return hsnap_agent_other_new(size, alignment, frame);
	if (!alignment)
		return hsnap_agent_record(__libc_malloc(hsnap_agent_grown(size)), size, frame);
	if (UNLIKELY(alignment & (alignment - 1)))
		return NULL;
	return hsnap_agent_record(__libc_memalign(alignment, hsnap_agent_grown(size)), size, frame);
}

/* Where memory is short, and where operators are another's, who may be an allocator that we record. */
static __attribute__((noinline)) void *enter(void *block, size_t size, const uintptr_t *frame)
{
	if (hsnap_agent.mode != HSNAP_MODE_OTHER || !hsnap_agent.other_operators)
		return block;
	return hsnap_agent_enter_for(block, size, frame);
}

/* Another's operator delete; what it calls itself is no second end of the block. */
static __attribute__((noinline)) bool begin_handing_on(void)
{
	bool before = hsnap_agent_self.inside;
	hsnap_agent_self.inside = before || (hsnap_agent.mode == HSNAP_MODE_OTHER && hsnap_agent.other_operators);
	return before;
}

static __attribute__((noinline)) bool is_ours_rarely(void *block)
{
	if (hsnap_agent_records() || !hsnap_agent.operators)
		return hsnap_agent.operators;
	if (hsnap_agent.mode == HSNAP_MODE_OTHER && hsnap_agent.other_operators)
		hsnap_agent_withdraw(block);
	return hsnap_agent.mode == HSNAP_MODE_OTHER && !hsnap_agent.other_operators;
}

/* Is it for us to free?  false: it is to be handed on. */
static inline bool is_ours(void *block)
{
	return LIKELY(hsnap_agent.mode == HSNAP_MODE_RECORD && hsnap_agent.operators) || is_ours_rarely(block);
}

/* PARAMETERS and ARGUMENTS are those of the form; ALIGNMENT is 0 where it has none. */
#define OPERATOR_NEW(mangled, alignment, parameters, arguments) \
	EXPORTED void *mangled parameters; \
	EXPORTED void *mangled parameters \
	{ \
		void *block = allocate(size, alignment, __builtin_frame_address(0)); \
		if (LIKELY(block != NULL)) \
			return block; \
		static void *next; \
		block = ((void *(*)parameters)next_operator(#mangled, &next))arguments; \
		return enter(block, size, __builtin_frame_address(0)); \
	}

OPERATOR_NEW(_Znwm, 0, (size_t size), (size))
OPERATOR_NEW(_Znam, 0, (size_t size), (size))
OPERATOR_NEW(_ZnwmRKSt9nothrow_t, 0, (size_t size, const void *nothrow), (size, nothrow))
OPERATOR_NEW(_ZnamRKSt9nothrow_t, 0, (size_t size, const void *nothrow), (size, nothrow))
OPERATOR_NEW(_ZnwmSt11align_val_t, align, (size_t size, size_t align), (size, align))
OPERATOR_NEW(_ZnamSt11align_val_t, align, (size_t size, size_t align), (size, align))
OPERATOR_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, align, (size_t size, size_t align, const void *nothrow),
	     (size, align, nothrow))
OPERATOR_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, align, (size_t size, size_t align, const void *nothrow),
	     (size, align, nothrow))

#define OPERATOR_DELETE(mangled, parameters, arguments) \
	EXPORTED void mangled parameters; \
	EXPORTED void mangled parameters \
	{ \
		if (UNLIKELY(!block)) \
			return; \
		if (!is_ours(block)) { \
			static void *next; \
			bool before = begin_handing_on(); \
			((void (*)parameters)next_operator(#mangled, &next))arguments; \
			hsnap_agent_self.inside = before; \
			return; \
		} \
		hsnap_agent_free(block); \
	}

OPERATOR_DELETE(_ZdlPv, (void *block), (block))
OPERATOR_DELETE(_ZdaPv, (void *block), (block))
OPERATOR_DELETE(_ZdlPvm, (void *block, size_t size), (block, size))
OPERATOR_DELETE(_ZdaPvm, (void *block, size_t size), (block, size))
OPERATOR_DELETE(_ZdlPvRKSt9nothrow_t, (void *block, const void *nothrow), (block, nothrow))
OPERATOR_DELETE(_ZdaPvRKSt9nothrow_t, (void *block, const void *nothrow), (block, nothrow))
OPERATOR_DELETE(_ZdlPvSt11align_val_t, (void *block, size_t align), (block, align))
OPERATOR_DELETE(_ZdaPvSt11align_val_t, (void *block, size_t align), (block, align))
OPERATOR_DELETE(_ZdlPvmSt11align_val_t, (void *block, size_t size, size_t align), (block, size, align))
OPERATOR_DELETE(_ZdaPvmSt11align_val_t, (void *block, size_t size, size_t align), (block, size, align))
OPERATOR_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t align, const void *nothrow),
		(block, align, nothrow))
OPERATOR_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t align, const void *nothrow),
		(block, align, nothrow))
