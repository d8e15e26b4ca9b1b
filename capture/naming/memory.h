/* SPDX-License-Identifier: MIT */
/*
 * memory.h - the words of a stretch of target memory, with as few look-ups as can be.
 *
 * A window remembers the last stretch that lay in one piece in our copy; what
 * lies in none is read page by page, and what cannot be had is skipped.
 */
#ifndef HSNAP_CAPTURE_NAMING_MEMORY_H
#define HSNAP_CAPTURE_NAMING_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "capture/target/target.h"

#define HSNAP_WINDOW_PAGE 4096u

struct hsnap_window {
	const struct hsnap_target *target;
	uint64_t start, end;   /* the window */
	const uint8_t *window; /* its bytes, or NULL */
	uint8_t page[HSNAP_WINDOW_PAGE];
};

static inline uint64_t hsnap_load64(const uint8_t *at)
{
	uint64_t word;
	memcpy(&word, at, sizeof(word));
	return word;
}

void hsnap_window_init(struct hsnap_window *reader, const struct hsnap_target *target);

/* Make [start, end) the window if it lies in one piece in our copy. */
bool hsnap_window_open(struct hsnap_window *reader, uint64_t start, uint64_t end);

/**
 * The bytes from `at` on: as many of [at, end) as there are in one piece.
 *
 * @param[out] ret_len  > 0; where NULL is returned, that many bytes cannot be had
 * @return borrowed until the next call
 */
const uint8_t *hsnap_window_piece(struct hsnap_window *reader, uint64_t at, uint64_t end, size_t *ret_len);

/* One word; false where it cannot be had. */
bool hsnap_window_word(struct hsnap_window *reader, uint64_t at, uint64_t *ret);

#endif
