/* SPDX-License-Identifier: MIT */
/* read.c - the heap of glibc's malloc from outside. */
#include "capture/alloc/alloc.h"

enum hsnap_code hsnap_glibc_heap_read(const struct hsnap_target *target, struct hsnap_heap *ret,
				      struct hsnap_error *err)
{
	(void)target;
	*ret = (struct hsnap_heap){ 0 };
	return hsnap_fail(err, HSNAP_NOT_FOUND, 0, "not built yet");
}
