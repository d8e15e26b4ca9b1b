/* SPDX-License-Identifier: MIT */
/* threads.c - threads in order of where they are at work. */
#include "capture/target/threads.h"

#include "snapshot/base/search.h"

static int by_place(const void *a, const void *b)
{
	const struct hsnap_thread_place *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static bool list(const struct hsnap_target *target, bool stack, struct hsnap_thread_places *ret)
{
	struct hsnap_thread_places places = { 0 };
	if (!hsnap_vec_reserve(&places, target->threads.num + 1))
		return false;
	for (uint32_t i = 0; i < target->threads.num; i++) {
		const struct hsnap_thread *thread = &target->threads.items[i];
		uint64_t at = stack ? thread->regs.value[HSNAP_REG_SP] : thread->thread_pointer;
		places.items[places.num++] = (struct hsnap_thread_place){ at, i };
	}
	qsort(places.items, places.num, sizeof(*places.items), by_place);
	*ret = places;
	return true;
}

bool hsnap_threads_by_stack(const struct hsnap_target *target, struct hsnap_thread_places *ret)
{
	return list(target, true, ret);
}

bool hsnap_threads_by_pointer(const struct hsnap_target *target, struct hsnap_thread_places *ret)
{
	return list(target, false, ret);
}

size_t hsnap_threads_from(const struct hsnap_thread_places *places, uint64_t address)
{
	return hsnap_first(places->num, i, places->items[i].at >= address);
}
