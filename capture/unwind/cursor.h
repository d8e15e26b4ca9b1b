/* SPDX-License-Identifier: MIT */
/* cursor.h - reading numbers out of a process's memory, in small steps and with an end. */
#ifndef HSNAP_CAPTURE_UNWIND_CURSOR_H
#define HSNAP_CAPTURE_UNWIND_CURSOR_H

#include "capture/unwind/unwind.h"

/* Once something could not be read, `bad` stays set and all reads yield 0. */
struct cursor {
	const struct hsnap_unwind_memory *memory;
	uint64_t at, end;
	bool bad;
	uint64_t have_from; /* bytes[0] is at this address */
	uint32_t have;
	uint8_t bytes[64];
};

/* Not zeroed as a whole: it lives on stacks of programs that count nanoseconds. */
static inline void cursor_start(struct cursor *c, const struct hsnap_unwind_memory *memory, uint64_t at, uint64_t end)
{
	c->memory = memory;
	c->at = at;
	c->end = end;
	c->bad = at > end;
	c->have_from = 0;
	c->have = 0;
}

/* An unsigned number of 1, 2, 4 or 8 bytes. */
uint64_t cursor_number(struct cursor *c, unsigned size);
uint64_t cursor_uleb(struct cursor *c);
int64_t cursor_sleb(struct cursor *c);
void cursor_skip(struct cursor *c, uint64_t len);

static inline uint8_t cursor_byte(struct cursor *c)
{
	return (uint8_t)cursor_number(c, 1);
}

static inline int64_t cursor_signed(struct cursor *c, unsigned size)
{
	uint64_t value = cursor_number(c, size);
	unsigned shift = 64 - 8 * size;
	return (int64_t)(value << shift) >> shift;
}

/* A pointer as DW_EH_PE_… describes it; `data` is what datarel is relative to. */
uint64_t cursor_encoded(struct cursor *c, uint8_t encoding, uint64_t data);

#define PE_OMIT 0xff

#endif
