/* SPDX-License-Identifier: MIT */
/*
 * vec.h - a growing array of one type.
 *
 *	struct hsnap_vec(uint32_t) ids = { 0 };
 *	if (!hsnap_vec_push(&ids, 7)) return out of memory;
 *	hsnap_vec_deinit(&ids);
 *
 * Amortised O(1) push; items move on growth, so keep indices and not pointers.
 */
#ifndef HSNAP_SNAPSHOT_BASE_VEC_H
#define HSNAP_SNAPSHOT_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "snapshot/base/budget.h"
#include "snapshot/base/pages.h"

/* `struct hsnap_vec(T) name;` declares one; `struct tag hsnap_vec_body(T)` names the type. */
#define hsnap_vec_body(T) { T *items; size_t num, capacity; }
#define hsnap_vec(T) hsnap_vec_body(T)

/* Room for `extra` more; false: out of memory, nothing changed. */
static inline bool hsnap_vec_grow_(void **items, size_t num, size_t *capacity, size_t size,
				   size_t extra)
{
	if (extra <= *capacity - num)
		return true;
	size_t want;
	if (__builtin_add_overflow(num, extra, &want))
		return false;
	size_t next = *capacity + *capacity / 2;
	if (next < want)
		next = want;
	if (next < 16)
		next = 16;
	if (!hsnap_budget_allows((next - *capacity) * size))
		return false;
	void *grown = reallocarray(*items, next, size);
	if (!grown)
		return false;
	if (next * size >= HSNAP_PAGES_MANY)
		hsnap_pages_advise(grown, next * size);
	*items = grown;
	*capacity = next;
	return true;
}

#define hsnap_vec_reserve(v, extra) \
	hsnap_vec_grow_((void **)&(v)->items, (v)->num, &(v)->capacity, sizeof(*(v)->items), (extra))
#define hsnap_vec_push(v, ...) \
	(hsnap_vec_reserve((v), 1) ? ((v)->items[(v)->num++] = (__VA_ARGS__), true) : false)
#define hsnap_vec_deinit(v) \
	(free((v)->items), (v)->items = NULL, (v)->num = 0, (v)->capacity = 0)

#endif
