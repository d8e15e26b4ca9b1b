/* SPDX-License-Identifier: MIT */
/*
 * central.c - the central caches of gperftools' tcmalloc: an array in its .bss, an element a class of sizes.
 *
 * gperftools 2.7 to 2.15 src/central_freelist.h: a lock, the class's number, two heads of lists of spans (48 bytes each:
 * start, length, next, prev …) and then up to 64 pairs of ends of lists of free blocks, of which those past the used
 * ones stay as they were: words that lead to what has long been handed out again, and hold nothing.
 */
#include "capture/alloc/foreign/claims.h"

#define CLASS 1u    /* words into an element */
#define FIRST_LIST 2u
#define SECOND_LIST 8u
#define NEXT 2u     /* words into a head */
#define PREV 3u
#define HEADER_WORDS 14u
#define MIN_STRIDE 32u /* words */
#define MAX_STRIDE 512u
#define MIN_CLASSES 16u
#define MAX_CLASSES 256u

struct data {
	const struct hsnap_target *target;
	uint64_t start;
	const uint64_t *words;
	size_t num;
};

/* Does what follows the head lead back to it? */
static bool is_list(const struct data *data, size_t head)
{
	uint64_t next = data->words[head + NEXT], back;
	return next && next % 8 == 0 && hsnap_target_word(data->target, next + PREV * 8, &back) && back == data->start + head * 8;
}

static bool is_element(const struct data *data, size_t at, uint64_t class)
{
	return at < data->num && data->num - at >= HEADER_WORDS && data->words[at + CLASS] == class &&
	       is_list(data, at + FIRST_LIST) && is_list(data, at + SECOND_LIST);
}

/* How many elements stand at this distance from each other? */
static size_t count(const struct data *data, size_t first, size_t stride)
{
	size_t num = 0;
	while (num < MAX_CLASSES && is_element(data, first + num * stride, num))
		num++;
	return num;
}

void foreign_look_central(struct foreign *foreign, uint64_t start, const uint64_t *words, size_t num)
{
	struct data data = { foreign->target, start, words, num };
	for (size_t at = 0; at + HEADER_WORDS <= num && foreign->tries; at++) {
		if (!is_element(&data, at, 0))
			continue;
		for (size_t stride = MIN_STRIDE; stride <= MAX_STRIDE && foreign->tries; stride++) {
			size_t classes = count(&data, at, stride);
			foreign->tries -= classes < foreign->tries ? classes : foreign->tries; /* the first is always one */
			if (classes < MIN_CLASSES)
				continue;
			size_t end = at + classes * stride < num ? at + classes * stride : num;
			foreign_claim_data(foreign, start + at * 8, start + end * 8);
			return;
		}
	}
}
