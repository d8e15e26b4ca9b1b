/* SPDX-License-Identifier: MIT */
/*
 * bytes.h - reading numbers out of bytes that nobody vouches for.
 *
 * A cursor over [at, end).  Every read checks what is left first; the first
 * read that does not fit sets `bad`, returns 0, and all later reads do too, so
 * a run of reads needs one check at its end.  Little endian.
 */
#ifndef HSNAP_SNAPSHOT_BASE_BYTES_H
#define HSNAP_SNAPSHOT_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hsnap_bytes {
	const uint8_t *at, *end;
	bool bad;
};

static inline struct hsnap_bytes hsnap_bytes(const void *start, size_t len)
{
	const uint8_t *at = start;
	return (struct hsnap_bytes){ .at = at, .end = len ? at + len : at }; /* of NULL nothing may be computed */
}

static inline size_t hsnap_bytes_left(const struct hsnap_bytes *b)
{
	return (size_t)(b->end - b->at);
}

/* The next len bytes, borrowed; NULL (and bad) if there are fewer. */
static inline const void *hsnap_bytes_get(struct hsnap_bytes *b, size_t len)
{
	if (b->bad || len > hsnap_bytes_left(b)) {
		b->bad = true;
		return NULL;
	}
	const void *got = b->at;
	b->at += len;
	return got;
}

#define HSNAP_BYTES_NUMBER(bits) \
	static inline uint##bits##_t hsnap_bytes_u##bits(struct hsnap_bytes *b) \
	{ \
		uint##bits##_t value = 0; \
		const void *got = hsnap_bytes_get(b, sizeof(value)); \
		if (got) \
			memcpy(&value, got, sizeof(value)); \
		return value; \
	}
HSNAP_BYTES_NUMBER(8)
HSNAP_BYTES_NUMBER(16)
HSNAP_BYTES_NUMBER(32)
HSNAP_BYTES_NUMBER(64)
#undef HSNAP_BYTES_NUMBER

/* Unsigned LEB128 of at most 64 bits; an overlong or oversized one is bad. */
static inline uint64_t hsnap_bytes_varint(struct hsnap_bytes *b)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (b->bad || b->at == b->end)
			break;
		uint8_t byte = *b->at++;
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	b->bad = true;
	return 0;
}

/* Zigzag: 0, -1, 1, -2 … as 0, 1, 2, 3 …, so that small differences are short either way. */
static inline uint64_t hsnap_zigzag(int64_t value)
{
	return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t hsnap_unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* Write a varint at out (room for 10 bytes); returns the byte after it. */
static inline uint8_t *hsnap_put_varint(uint8_t *out, uint64_t value)
{
	while (value >= 0x80) {
		*out++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*out++ = (uint8_t)value;
	return out;
}

#endif
