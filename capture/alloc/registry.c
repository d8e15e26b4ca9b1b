/* SPDX-License-Identifier: MIT */
/* registry.c - the allocators that can be read, in the order in which they are tried. */
#include "capture/alloc/alloc.h"

typedef enum hsnap_code read_fn(const struct hsnap_target *target, struct hsnap_heap *ret,
				struct hsnap_error *err);

static const struct {
	enum hsnap_heap_from from;
	read_fn *read;
} readers[] = {
	{ HSNAP_HEAP_AGENT, hsnap_agent_heap_read },
	{ HSNAP_HEAP_GLIBC, hsnap_glibc_heap_read },
};

enum hsnap_code hsnap_heap_read(const struct hsnap_target *target, enum hsnap_heap_from from,
				struct hsnap_heap *ret, struct hsnap_error *err)
{
	enum hsnap_code code = HSNAP_NOT_FOUND;
	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers) && code == HSNAP_NOT_FOUND; i++)
		if (from == HSNAP_HEAP_AUTO || from == readers[i].from)
			code = readers[i].read(target, ret, err);
	return code;
}
