/* SPDX-License-Identifier: MIT */
/*
 * mimalloc.c - segments that begin with a header which knows its own address and its thread.
 *
 * mimalloc 1.6 to 2.1: a segment is aligned to its size and its header has a cookie, the segment's
 * address crossed with a secret of the process (_mi_ptr_cookie), and the thread that owns it, by its
 * thread pointer (_mi_prim_thread_id).  The places differ by version, so both are looked for.
 */
#include "capture/alloc/foreign/claims.h"

#define HEADER_WORDS 128u
#define MAX_SEGMENTS 64u /* looked at for a cookie */
#define MIN_COOKIES 2u /* segments that must have one in common where no thread is known by its pointer */

static const uint64_t sizes[] = { (uint64_t)32 << 20, (uint64_t)4 << 20 };

/* The first segment start at or after the address that lies in a span. */
static bool next_segment(const struct foreign *foreign, size_t *span, uint64_t *at, uint64_t size)
{
	for (; *span < foreign->spans.num; ++*span) {
		const struct foreign_span *s = &foreign->spans.items[*span];
		uint64_t from = *at > s->start ? *at : s->start;
		uint64_t start = (from + size - 1) & ~(size - 1);
		if (start >= from && start < s->end) {
			*at = start;
			return true;
		}
	}
	return false;
}

static bool is_thread(const struct foreign *foreign, uint64_t word)
{
	size_t found = hsnap_threads_from(&foreign->pointers, word);
	return word && found < foreign->pointers.num && foreign->pointers.items[found].at == word;
}

/* Where a segment's header names a living thread: the place of that word, or HEADER_WORDS. */
static unsigned thread_place(const struct foreign *foreign, const uint64_t *header)
{
	unsigned i = 0;
	while (i < HEADER_WORDS && !is_thread(foreign, header[i]))
		i++;
	return i;
}

static bool read_header(const struct foreign *foreign, uint64_t at, uint64_t *header)
{
	return !hsnap_target_read(foreign->target, at, header, HEADER_WORDS * sizeof(*header), NULL);
}

/* How many of the first segments have this cookie at this place. */
static unsigned count(const struct foreign *foreign, uint64_t size, unsigned place, uint64_t secret, unsigned enough)
{
	uint64_t header[HEADER_WORDS];
	unsigned num = 0, tried = 0;
	size_t span = 0;
	for (uint64_t at = 0; num < enough && tried++ < MAX_SEGMENTS && next_segment(foreign, &span, &at, size); at += size)
		num += read_header(foreign, at, header) && (header[place] ^ at) == secret;
	return num;
}

/* The cookie's place and secret: from a segment of a living thread. */
static bool find_cookie(const struct foreign *foreign, uint64_t size, unsigned *ret_place, uint64_t *ret_secret)
{
	uint64_t header[HEADER_WORDS], at = 0;
	size_t span = 0;
	for (unsigned tried = 0; tried < 16 && next_segment(foreign, &span, &at, size); at += size, tried++) {
		unsigned thread = read_header(foreign, at, header) ? thread_place(foreign, header) : HEADER_WORDS;
		if (thread == HEADER_WORDS)
			continue;
		for (unsigned i = 0; i < thread; i++) {
			uint64_t secret = header[i] ^ at;
			/* A secret is a random number: no small one, no address, no small difference of two. */
			if (secret >> 56 && count(foreign, size, i, secret, MIN_COOKIES) >= MIN_COOKIES) {
				*ret_place = i;
				*ret_secret = secret;
				return true;
			}
		}
	}
	return false;
}

/* A process small enough for one segment: only with mimalloc loaded by name is that taken for one. */
static void claim_single(struct foreign *foreign, uint64_t size)
{
	uint64_t header[HEADER_WORDS], at = 0;
	size_t span = 0;
	if (!foreign_module(foreign, "libmimalloc"))
		return;
	for (; next_segment(foreign, &span, &at, size); at += size) {
		unsigned thread = read_header(foreign, at, header) ? thread_place(foreign, header) : HEADER_WORDS;
		bool random = false;
		for (unsigned i = 0; i < thread && thread < HEADER_WORDS; i++)
			random |= (header[i] ^ at) >> 56 != 0;
		if (random)
			foreign_claim(foreign, at, at + size);
	}
}

void foreign_look_mimalloc(struct foreign *foreign)
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint64_t header[HEADER_WORDS], secret, at = 0;
		unsigned place;
		size_t span = 0;
		if (!find_cookie(foreign, sizes[i], &place, &secret)) {
			claim_single(foreign, sizes[i]);
			continue;
		}
		for (; next_segment(foreign, &span, &at, sizes[i]); at += sizes[i])
			if (read_header(foreign, at, header) && (header[place] ^ at) == secret)
				foreign_claim(foreign, at, at + sizes[i]);
		return;
	}
}
