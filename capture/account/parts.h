/* SPDX-License-Identifier: MIT */
/* parts.h - the memory that is not the allocator's, by mapping.  Private to capture/account. */
#ifndef HSNAP_CAPTURE_ACCOUNT_PARTS_H
#define HSNAP_CAPTURE_ACCOUNT_PARTS_H

#include "capture/account/account.h"

/* Fill snapshot->account_parts, and heap_resident with what is left of private mappings for the
 * allocator.  false: out of memory. */
bool hsnap_account_parts(const struct hsnap_target *target, const struct hsnap_heap *heap,
			 const struct hsnap_account_look *look, struct hsnap_snapshot *snapshot);

#endif
