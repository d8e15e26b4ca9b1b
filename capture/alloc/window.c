/* SPDX-License-Identifier: MIT */
/* window.c - moving the window: onto a run of the copy, else what is read into its buffer. */
#include "capture/alloc/window.h"

#include <stdlib.h>

#define PAGE ((uint64_t)4096)
#define FETCH ((uint64_t)16384)

static bool holds(const struct hsnap_window *window, uint64_t address)
{
	uint64_t at = address - window->start;
	return at < window->size && window->size - at >= sizeof(uint64_t);
}

static void view(struct hsnap_window *window, uint64_t start, uint64_t end)
{
	window->bytes = hsnap_target_view(window->target, start, (size_t)(end - start));
	window->start = start;
	window->size = window->bytes ? end - start : 0;
}

static void fetch(struct hsnap_window *window, uint64_t start, uint64_t size)
{
	window->size = 0;
	if (!window->buffer)
		window->buffer = malloc(FETCH);
	if (!window->buffer)
		return;
	window->bytes = window->buffer;
	window->start = start;
	window->size = window->target->ops->read(window->target->self, start, window->buffer, (size_t)size);
}

bool hsnap_window_move(struct hsnap_window *window, uint64_t address)
{
	const struct hsnap_mapping *mapping = hsnap_target_mapping(window->target, address);
	if (!mapping) {
		window->size = 0;
		return false;
	}
	uint64_t from = address & ~(PAGE - 1), start, end;
	from = from > mapping->start ? from : mapping->start;
	bool run = hsnap_target_next_run(window->target, from, &start, &end);
	if (run && start <= address) {
		view(window, start, end);
		if (holds(window, address))
			return true;
	}
	/* Not in the copy, or across the end of a run. */
	uint64_t size = run && start > address && start - from < FETCH ? start - from : FETCH;
	fetch(window, from, size < address - from + sizeof(uint64_t) ? FETCH : size);
	return holds(window, address);
}

void hsnap_window_deinit(struct hsnap_window *window)
{
	free(window->buffer);
	window->buffer = NULL;
	window->size = 0;
}
