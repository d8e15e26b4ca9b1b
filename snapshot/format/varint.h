/* SPDX-License-Identifier: MIT */
/*
 * varint.h - reading varints where there are tens of millions of them.
 *
 * The rules are those of base/bytes.h; here the one-byte case is inline and
 * the cursor can live in registers.  Private to snapshot/format.
 */
#ifndef HSNAP_SNAPSHOT_FORMAT_VARINT_H
#define HSNAP_SNAPSHOT_FORMAT_VARINT_H

#include "snapshot/base/bytes.h"

struct input {
	const uint8_t *at, *end;
	bool bad;
};

static inline struct input input_of(const struct hsnap_bytes *bytes)
{
	return (struct input){ .at = bytes->at, .end = bytes->end };
}

struct long_varint {
	uint64_t value;
	const uint8_t *at; /* NULL: there is none */
};

static __attribute__((noinline, unused)) struct long_varint read_long_varint(const uint8_t *at, const uint8_t *end)
{
	struct hsnap_bytes bytes = { .at = at, .end = end };
	uint64_t value = hsnap_bytes_varint(&bytes);
	return (struct long_varint){ .value = value, .at = bytes.bad ? NULL : bytes.at };
}

/* 0 once bad. */
static inline uint64_t next_varint(struct input *in)
{
	if (in->at < in->end && *in->at < 0x80)
		return *in->at++;
	struct long_varint got = read_long_varint(in->at, in->end);
	if (got.at) {
		in->at = got.at;
		return got.value;
	}
	in->bad = true;
	in->at = in->end;
	return 0;
}

static inline uint8_t next_byte(struct input *in)
{
	if (in->at < in->end)
		return *in->at++;
	in->bad = true;
	return 0;
}

#endif
