/* SPDX-License-Identifier: MIT */
/* pieces.c - ranges and mappings side by side. */
#include "capture/freeze/pieces.h"

#include "capture/target/target.h"
#include "snapshot/base/search.h"

struct hsnap_pieces hsnap_pieces_of(const struct hsnap_plan *plan, const struct hsnap_unforked *unforked)
{
	return (struct hsnap_pieces){
		.plan = plan, .unforked = unforked, .maps = plan->text, .next = plan->num ? plan->ranges[0].start : 0,
	};
}

bool hsnap_pieces_next(struct hsnap_pieces *pieces, struct hsnap_piece *ret)
{
	const struct hsnap_plan *plan = pieces->plan;
	if (pieces->range >= plan->num)
		return false;
	const struct hsnap_range *range = &plan->ranges[pieces->range];
	/* Every range lies in mappings of the same text. */
	while (pieces->line.end <= pieces->next)
		if (!hsnap_maps_next(&pieces->maps, &pieces->line))
			return false;
	uint64_t end = pieces->line.end < range->end ? pieces->line.end : range->end;
	*ret = (struct hsnap_piece){
		.start = pieces->next, .end = end, .at = pieces->base + (size_t)(pieces->next - range->start),
		.forked = !(pieces->line.prot & HSNAP_PROT_SHARED) && !hsnap_unforked_has(pieces->unforked, pieces->next),
	};
	pieces->next = end;
	if (end == range->end) {
		pieces->base += (size_t)(range->end - range->start);
		if (++pieces->range < plan->num)
			pieces->next = plan->ranges[pieces->range].start;
	}
	return true;
}

void hsnap_lost_add(struct hsnap_lost *lost, uint64_t start, uint64_t end)
{
	struct hsnap_range *last = lost->num ? &lost->items[lost->num - 1] : NULL;
	if (last && (last->end == start || lost->num == lost->capacity))
		last->end = end;
	else
		lost->items[lost->num++] = (struct hsnap_range){ start, end };
}

bool hsnap_lost_next(const struct hsnap_lost *lost, uint64_t at, uint64_t *end)
{
	size_t low = hsnap_first(lost->num, i, at < lost->items[i].end);
	if (low == lost->num)
		return true;
	bool good = lost->items[low].start > at;
	uint64_t change = good ? lost->items[low].start : lost->items[low].end;
	if (change < *end)
		*end = change;
	return good;
}
