/* SPDX-License-Identifier: MIT */
/* compare.h - are two snapshots the same, whatever their strings' offsets? */
#ifndef HSNAP_TESTS_SUPPORT_COMPARE_H
#define HSNAP_TESTS_SUPPORT_COMPARE_H

#include <stddef.h>

#include "snapshot/snapshot.h"

/* true: the same in all that `what` (HSNAP_LOAD_…) covers.  Else the first difference in `text`. */
bool snapshots_equal(const struct hsnap_snapshot *a, const struct hsnap_snapshot *b, unsigned what, char *text,
		     size_t text_size);

#endif
