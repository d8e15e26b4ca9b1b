/* SPDX-License-Identifier: MIT */
/* arrays.c - arrays of pointers that are not full. */
#include "capture/naming/claims.h"

#define NUM_BESIDE 8

/* The numbers next to a pointer, two or one in each word; 0 where there is none. */
static void read_beside(const struct hsnap_work *work, uint64_t at, uint64_t numbers[NUM_BESIDE])
{
	static const int8_t words[] = { -16, -8, 8, 16 };
	for (unsigned i = 0; i < NUM_BESIDE / 2; i++) {
		uint64_t word;
		if (!hsnap_target_word(work->target, at + (uint64_t)(int64_t)words[i], &word))
			word = 0;
		numbers[2 * i] = word & UINT32_MAX;
		numbers[2 * i + 1] = word >> 32;
	}
}

/*
 * What an allocator enlarges holds anything behind the elements that are there.  So beside the pointer must stand how
 * many there is room for, which is what the block has, and how many there are.
 */
uint64_t hsnap_count_used(const struct hsnap_work *work, uint32_t b, uint64_t at)
{
	uint64_t room = hsnap_object_room(work, b), numbers[NUM_BESIDE], most = 0;
	uint64_t rest = hsnap_most_rest(work, b);
	if (at < 16)
		return 0;
	read_beside(work, at, numbers);
	for (unsigned c = 0; c < NUM_BESIDE; c++) {
		bool capacity = numbers[c] && numbers[c] <= room / 8 && room - numbers[c] * 8 < rest;
		for (unsigned n = 0; n < NUM_BESIDE && capacity; n++)
			if (n != c && numbers[n] <= numbers[c] && numbers[n] > most)
				most = numbers[n];
	}
	return most;
}
