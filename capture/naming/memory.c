/* SPDX-License-Identifier: MIT */
/* memory.c - a window on the copy of the target's memory. */
#include "capture/naming/memory.h"

void hsnap_window_init(struct hsnap_window *reader, const struct hsnap_target *target)
{
	reader->target = target;
	reader->start = reader->end = 0;
	reader->window = NULL;
}

bool hsnap_window_open(struct hsnap_window *reader, uint64_t start, uint64_t end)
{
	const uint8_t *bytes = start < end ? hsnap_target_view(reader->target, start, end - start) : NULL;
	if (!bytes)
		return false;
	reader->start = start;
	reader->end = end;
	reader->window = bytes;
	return true;
}

const uint8_t *hsnap_window_piece(struct hsnap_window *reader, uint64_t at, uint64_t end, size_t *ret_len)
{
	if (at < reader->start || end > reader->end) {
		uint64_t page_end = (at | (HSNAP_WINDOW_PAGE - 1)) + 1;
		if (page_end > end || !page_end)
			page_end = end;
		if (!hsnap_window_open(reader, at, end) && !hsnap_window_open(reader, at, page_end)) {
			size_t want = (size_t)(page_end - at);
			size_t got = reader->target->ops->read(reader->target->self, at, reader->page, want);
			*ret_len = got && got < want ? got : want;
			return got ? reader->page : NULL;
		}
	}
	*ret_len = (size_t)((end < reader->end ? end : reader->end) - at);
	return reader->window + (at - reader->start);
}

bool hsnap_window_word(struct hsnap_window *reader, uint64_t at, uint64_t *ret)
{
	if (at >= reader->start && at < reader->end && reader->end - at >= sizeof(*ret)) {
		*ret = hsnap_load64(reader->window + (at - reader->start));
		return true;
	}
	return hsnap_target_word(reader->target, at, ret);
}
