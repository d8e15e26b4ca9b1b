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
static void use_pools(void)
{
	static struct session sessions[4];
	heapsnap_pool pool = heapsnap_pool_create("sessions"), arena = heapsnap_arena_create("arena");
	void *object = heapsnap_pool_alloc(pool, sessions, sizeof(sessions[0]));
	heapsnap_pool_slab(pool, sessions, sizeof(sessions));
	object = heapsnap_pool_alloc_as(pool, object, sizeof(sessions[0]), "struct session");
	object = HEAPSNAP_POOL_ALLOC(pool, object, struct session);
#ifdef __cplusplus
	object = heapsnap::pool_alloc<session>(arena, object, 2);
#endif
	heapsnap_pool_free(pool, object);
	heapsnap_pool_slab_gone(pool, sessions);
	heapsnap_pool_reset(arena);
	heapsnap_pool_destroy(arena);
	heapsnap_pool_destroy(pool);
	heapsnap_root(sessions, sizeof(sessions), "sessions");
	heapsnap_root_gone(sessions);
	if (object != sessions)
		puts("the object has moved");
}

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
	use_pools();
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
