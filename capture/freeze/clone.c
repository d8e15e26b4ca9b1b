/* SPDX-License-Identifier: MIT */
/* clone.c - stop, fork, go: the child is read. */
#include "capture/freeze/freeze.h"

enum hsnap_code hsnap_freeze_clone(const struct hsnap_freeze_options *options, struct hsnap_frozen *ret,
                                   struct hsnap_error *err)
{
	(void)options;
	*ret = (struct hsnap_frozen){ 0 };
	return hsnap_fail(err, HSNAP_UNSUPPORTED, 0, "not built yet");
}
