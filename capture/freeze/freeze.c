/* SPDX-License-Identifier: MIT */
/* freeze.c - the way that was asked for, or the best there is. */
#include "capture/freeze/freeze.h"

enum hsnap_code hsnap_freeze(const struct hsnap_freeze_options *options, struct hsnap_frozen *ret,
			     struct hsnap_error *err)
{
	switch (options->mode) {
	case HSNAP_FREEZE_PRECOPY: return hsnap_freeze_precopy(options, ret, err);
	case HSNAP_FREEZE_CLONE: return hsnap_freeze_clone(options, ret, err);
	default: return hsnap_freeze_copy(options, ret, err);
	}
}

void hsnap_frozen_deinit(struct hsnap_frozen *frozen)
{
	hsnap_target_close(frozen->target);
	hsnap_kernel_deinit(&frozen->kernel);
	*frozen = (struct hsnap_frozen){ 0 };
}
