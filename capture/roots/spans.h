/* SPDX-License-Identifier: MIT */
/* spans.h - sets of addresses as sorted, disjoint spans. */
#ifndef HSNAP_CAPTURE_ROOTS_SPANS_H
#define HSNAP_CAPTURE_ROOTS_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot/base/vec.h"

struct hsnap_span {
	uint64_t start, end;
};

struct hsnap_spans hsnap_vec_body(struct hsnap_span);

/* In any order, also overlapping, until they are sorted; empty ones are left out.  false: out of memory. */
bool hsnap_spans_add(struct hsnap_spans *spans, uint64_t start, uint64_t end);
/* Sort and merge. */
void hsnap_spans_sort(struct hsnap_spans *spans);
/* The first part of [*start, end) that no (sorted) span covers; false: none.  Sets both ends. */
bool hsnap_spans_gap(const struct hsnap_spans *spans, uint64_t *start, uint64_t end, uint64_t *ret_end);

#endif
