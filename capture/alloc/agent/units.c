/* SPDX-License-Identifier: MIT */
/* units.c - the agent's pool of stacks, in which texts are kept, too. */
#include <string.h>

#include "capture/alloc/agent/reader.h"

bool hsnap_reader_unit(const struct reader *reader, uint32_t unit, uint64_t *words, size_t num)
{
	if (!unit || unit > HSNAP_MAX_SITE)
		return false;
	uint64_t segment = reader->dir.stack_segments[unit / HSNAP_STACK_SEGMENT_UNITS];
	uint64_t at = segment + (uint64_t)(unit % HSNAP_STACK_SEGMENT_UNITS) * HSNAP_STACK_UNIT_WORDS * sizeof(uint64_t);
	return segment && !hsnap_target_read(reader->target, at, words, num * sizeof(*words), NULL);
}

bool hsnap_reader_text(const struct reader *reader, uint32_t unit, hsnap_string *ret, uint64_t *ret_head)
{
	uint64_t record[1 + (HSNAP_MAX_TEXT + 8) / 8];
	*ret = 0;
	if (!hsnap_reader_unit(reader, unit, record, 1) || HSNAP_UNIT_KIND(record[0]) != HSNAP_UNIT_TEXT)
		return true;
	*ret_head = record[0];
	unsigned bytes = HSNAP_TEXT_BYTES(record[0]);
	if (!bytes || bytes > HSNAP_MAX_TEXT || HSNAP_TEXT_HOW(record[0]) >= HSNAP_NUM_TEXTS ||
	    !hsnap_reader_unit(reader, unit, record, 1 + (bytes + 7) / 8) || memchr(record + 1, '\0', bytes))
		return true;
	*ret = hsnap_strings_add_len(&reader->heap->texts, (const char *)(record + 1), bytes);
	return *ret != HSNAP_NO_STRING;
}
