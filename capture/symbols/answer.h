/* SPDX-License-Identifier: MIT */
/*
 * answer.h - one module's symbols on their way from the confined child to its parent.
 *
 * A run of varints, in the order of struct hsnap_symbols; strings are offsets
 * into the text that comes first.  The reading side believes nothing.
 */
#ifndef HSNAP_CAPTURE_SYMBOLS_ANSWER_H
#define HSNAP_CAPTURE_SYMBOLS_ANSWER_H

#include "capture/symbols/symbols.h"

struct hsnap_answer_bytes hsnap_vec_body(uint8_t);

/* The symbols of one module (modules[0]) as bytes; false: out of memory. */
bool hsnap_answer_write(const struct hsnap_symbols *symbols, struct hsnap_answer_bytes *ret);

/**
 * Check an answer and add it to what there is of other modules.
 *
 * @param first_pc  index into `into`'s pcs of the first that was asked of the module
 * @param num_pcs   how many were
 * @return HSNAP_OK; HSNAP_FORMAT or HSNAP_NO_MEMORY with `into` as it was
 */
HSNAP_CHECKED enum hsnap_code hsnap_answer_merge(const void *bytes, size_t size, const struct hsnap_target *target,
						 uint32_t module, size_t first_pc, size_t num_pcs,
						 struct hsnap_symbols *into, struct hsnap_error *err);

#endif
