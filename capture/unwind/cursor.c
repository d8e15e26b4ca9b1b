/* SPDX-License-Identifier: MIT */
/* cursor.c - see cursor.h.  Encodings: LSB 5.0 core, 10.5 and 10.6.1. */
#include "capture/unwind/cursor.h"

#include <string.h>

static bool fill(struct cursor *c, unsigned size)
{
	uint64_t left = c->end - c->at;
	size_t want = left < sizeof(c->bytes) ? (size_t)left : sizeof(c->bytes);
	c->have_from = c->at;
	c->have = (uint32_t)c->memory->read(c->memory->self, c->at, c->bytes, want);
	return c->have >= size;
}

uint64_t cursor_number(struct cursor *c, unsigned size)
{
	if (c->bad || c->end - c->at < size) {
		c->bad = true;
		return 0;
	}
	uint64_t offset = c->at - c->have_from;
	if (offset > c->have || c->have - offset < size) {
		if (!fill(c, size)) {
			c->bad = true;
			return 0;
		}
		offset = 0;
	}
	uint64_t value = 0;
	memcpy(&value, c->bytes + offset, size);
	c->at += size;
	return value;
}

uint64_t cursor_uleb(struct cursor *c)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = cursor_byte(c);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	c->bad = true;
	return 0;
}

int64_t cursor_sleb(struct cursor *c)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = cursor_byte(c);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (byte & 0x40 && shift + 7 < 64)
			value |= ~0ull << (shift + 7);
		return (int64_t)value;
	}
	c->bad = true;
	return 0;
}

void cursor_skip(struct cursor *c, uint64_t len)
{
	if (c->bad || len > c->end - c->at)
		c->bad = true;
	else
		c->at += len;
}

uint64_t cursor_encoded(struct cursor *c, uint8_t encoding, uint64_t data)
{
	static const uint8_t sizes[16] = { [0] = 8, [2] = 2, [3] = 4, [4] = 8, [10] = 2, [11] = 4, [12] = 8 };
	uint64_t place = c->at, value;
	unsigned format = encoding & 0x0f;
	if (format == 1)
		value = cursor_uleb(c);
	else if (format == 9)
		value = (uint64_t)cursor_sleb(c);
	else if (!sizes[format])
		value = 0, c->bad = true;
	else
		value = format & 8 ? (uint64_t)cursor_signed(c, sizes[format]) : cursor_number(c, sizes[format]);
	unsigned relation = encoding & 0x70;
	if (relation == 0x10)
		value += place;
	else if (relation == 0x30)
		value += data;
	else if (relation) /* text, function, aligned: not used on this machine */
		c->bad = true;
	if (encoding & 0x80) { /* indirect: for personality routines, whose value nobody here needs */
		value = 0;
	}
	return value;
}
