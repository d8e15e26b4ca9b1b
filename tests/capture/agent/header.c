/* SPDX-License-Identifier: MIT */
/* header.c - uses all of heapsnap.h, in C and C++: prints "agent" where that counts, else "plain".  LIBRARY, PROGRAM: its two halves. */
#include <heapsnap.h>

#include <stdio.h>
#include <stdlib.h>

struct session {
	int number;
};

#ifdef __cplusplus
extern "C" {
#endif
__attribute__((visibility("default"))) int note(void);
#ifdef __cplusplus
}
#endif

#ifndef PROGRAM
int note(void)
{
	struct heapsnap_counters before, after;
	void *block;
	int known = heapsnap_thread_counters(&before);
	block = heapsnap_tag(malloc(sizeof(struct session)), "struct session");
	block = HEAPSNAP_TAG(block, struct session);
#ifdef __cplusplus
	block = heapsnap::tag(heapsnap::tag_as<session>(block));
#endif
	heapsnap_thread_counters(&after);
	if (known != (after.allocations - before.allocations == 1))
		puts("the counters are wrong");
	free(block);
	known &= heapsnap_process_counters(&after);
	if (!known && (after.allocations || after.allocated_bytes || after.frees || after.live || after.live_bytes))
		puts("what is not known is not 0");
	return known;
}
#endif

#ifndef LIBRARY
int main(void)
{
	puts(note() ? "agent" : "plain");
	return 0;
}
#endif
