/* SPDX-License-Identifier: MIT */
/* spans.c - sorting, merging, and what is left between. */
#include "capture/roots/spans.h"

#include "snapshot/base/search.h"

bool hsnap_spans_add(struct hsnap_spans *spans, uint64_t start, uint64_t end)
{
	return start >= end || hsnap_vec_push(spans, (struct hsnap_span){ start, end });
}

static int by_start(const void *a, const void *b)
{
	const struct hsnap_span *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

void hsnap_spans_sort(struct hsnap_spans *spans)
{
	if (!spans->num)
		return;
	qsort(spans->items, spans->num, sizeof(*spans->items), by_start);
	size_t last = 0;
	for (size_t i = 1; i < spans->num; i++) {
		struct hsnap_span *span = &spans->items[last], next = spans->items[i];
		if (next.start > span->end)
			spans->items[++last] = next;
		else if (next.end > span->end)
			span->end = next.end;
	}
	spans->num = last + 1;
}

bool hsnap_spans_gap(const struct hsnap_spans *spans, uint64_t *start, uint64_t end, uint64_t *ret_end)
{
	size_t low = hsnap_first(spans->num, i, spans->items[i].end > *start);
	for (; low < spans->num && spans->items[low].start <= *start; low++)
		*start = spans->items[low].end;
	if (*start >= end)
		return false;
	*ret_end = low < spans->num && spans->items[low].start < end ? spans->items[low].start : end;
	return true;
}
