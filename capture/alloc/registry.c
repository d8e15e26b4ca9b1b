/* SPDX-License-Identifier: MIT */
/* registry.c - the allocators that can be read, in the order in which they are tried. */
#include "capture/alloc/alloc.h"

typedef enum hsnap_code read_fn(const struct hsnap_target *target, struct hsnap_heap *ret,
				struct hsnap_error *err);

static read_fn *const readers[] = {
	hsnap_agent_heap_read,
};

enum hsnap_code hsnap_heap_read(const struct hsnap_target *target, struct hsnap_heap *ret,
				struct hsnap_error *err)
{
	enum hsnap_code code = HSNAP_NOT_FOUND;
	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers) && code == HSNAP_NOT_FOUND; i++)
		code = readers[i](target, ret, err);
	return code;
}
