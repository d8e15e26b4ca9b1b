/* SPDX-License-Identifier: MIT */
/*
 * budget.h - may this process still grow?
 *
 * Where our memory is somebody else's danger, its end is made to come early: whoever watches closes
 * the budget, and from then on pages and vectors do not grow.  That is running out of memory, which
 * every caller lives with, only in time.  One budget a process; it is open unless somebody watches.
 */
#ifndef HSNAP_SNAPSHOT_BASE_BUDGET_H
#define HSNAP_SNAPSHOT_BASE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Asked from any thread. */
typedef bool hsnap_budget_ask(void *context, size_t bytes);

/* `ask` decides from now on; NULL: nobody does, the budget is open.  Not while other threads allocate. */
void hsnap_budget_watch(hsnap_budget_ask *ask, void *context);
/* From any thread: not a byte more. */
void hsnap_budget_close(void);
/* From any thread: how many bytes are left, as it is known.  The more, the less often it is asked for. */
void hsnap_budget_set_left(size_t bytes);
/* SIZE_MAX: nobody watches. */
size_t hsnap_budget_left(void);

extern atomic_bool hsnap_budget_closed_;
extern atomic_size_t hsnap_budget_grown_; /* since it was last asked for */
extern atomic_size_t hsnap_budget_step_;
bool hsnap_budget_ask_(size_t bytes);

/* false: as if memory had run out. */
static inline bool hsnap_budget_allows(size_t bytes)
{
	if (atomic_load_explicit(&hsnap_budget_closed_, memory_order_relaxed))
		return false;
	size_t before = atomic_fetch_add_explicit(&hsnap_budget_grown_, bytes, memory_order_relaxed);
	size_t step = atomic_load_explicit(&hsnap_budget_step_, memory_order_relaxed);
	return (before < step && bytes < step) || hsnap_budget_ask_(bytes);
}

#endif
