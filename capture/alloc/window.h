/* SPDX-License-Identifier: MIT */
/*
 * window.h - reading many words of a target that lie near each other.
 *
 * The bytes around the last look stay at hand: a run of the private copy is looked at where it
 * lies, what is not in the copy is fetched piece by piece.
 */
#ifndef HSNAP_CAPTURE_ALLOC_WINDOW_H
#define HSNAP_CAPTURE_ALLOC_WINDOW_H

#include <string.h>

#include "capture/target/target.h"

/* Zeroed but for the target; release with hsnap_window_deinit(). */
struct hsnap_window {
	const struct hsnap_target *target;
	const uint8_t *bytes;
	uint64_t start, size;
	uint8_t *buffer; /* of what had to be fetched */
};

/* Move to the address, which the window does not hold whole; false: no such memory. */
bool hsnap_window_move(struct hsnap_window *window, uint64_t address);
void hsnap_window_deinit(struct hsnap_window *window);

/* One little-endian word; false where it cannot be had. */
static inline bool hsnap_window_word(struct hsnap_window *window, uint64_t address, uint64_t *ret)
{
	uint64_t at = address - window->start;
	if (at >= window->size || window->size - at < sizeof(*ret)) {
		if (!hsnap_window_move(window, address))
			return false;
		at = address - window->start;
	}
	memcpy(ret, window->bytes + at, sizeof(*ret));
	return true;
}

/* The word there will soon be asked for. */
static inline void hsnap_window_fetch_early(const struct hsnap_window *window, uint64_t address)
{
	if (address - window->start < window->size)
		__builtin_prefetch(window->bytes + (address - window->start));
}

#endif
