/* SPDX-License-Identifier: MIT */
/*
 * soft.h - learning which pages a running process wrote to by the soft-dirty bits of its page tables.
 *
 * For kernels before 6.7: nothing is injected.  All bits are cleared at once, without telling which
 * were set: so there is one round only.  There is one set of bits for everybody; who else counts on
 * them (CRIU between two dumps, a garbage collector of the process itself) would miss pages.
 *
 * Source: Documentation/admin-guide/mm/soft-dirty.rst.
 */
#ifndef HSNAP_CAPTURE_FREEZE_SOFT_H
#define HSNAP_CAPTURE_FREEZE_SOFT_H

#include "capture/freeze/freeze.h"
#include "capture/freeze/plan.h"
#include "snapshot/base/error.h"

/* Does this kernel keep the bits, and is nobody seen that uses those of the process?  Where some are clear
 * already it was an earlier take, or somebody who counts on them: only who asks for this way by name has them.
 * HSNAP_OK or HSNAP_UNSUPPORTED.  Cost: a look at the page map, 14 ms a GiB. */
HSNAP_CHECKED enum hsnap_code hsnap_soft_obstacle(const struct hsnap_freeze_options *options, struct hsnap_error *err);

/* Clear them where nothing stands against it; from now on plan->soft_dirty. */
HSNAP_CHECKED enum hsnap_code hsnap_soft_begin(const struct hsnap_freeze_options *options, struct hsnap_plan *plan,
					       struct hsnap_error *err);

#endif
