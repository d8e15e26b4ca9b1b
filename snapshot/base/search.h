/* SPDX-License-Identifier: MIT */
/*
 * search.h - the place in something that is in order.
 *
 *	size_t after = hsnap_first(blocks.num, i, blocks.items[i].address > address);
 *	const struct block *holder = after ? &blocks.items[after - 1] : NULL;
 */
#ifndef HSNAP_SNAPSHOT_BASE_SEARCH_H
#define HSNAP_SNAPSHOT_BASE_SEARCH_H

#include <stddef.h>

/* The first index `i` below `count` of which the condition holds, which then holds of all that come
 * after it too; `count`: of none.  Asks O(log count) times. */
#define hsnap_first(count, i, ...) \
	({ \
		size_t first_ = 0, end_ = (count); \
		while (first_ < end_) { \
			const size_t i = first_ + (end_ - first_) / 2; \
			if (__VA_ARGS__) \
				end_ = i; \
			else \
				first_ = i + 1; \
		} \
		first_; \
	})

#endif
