/* SPDX-License-Identifier: MIT */
/* core.c - opening a core file. */
#include "capture/core/core.h"

enum hsnap_code hsnap_core_open(const char *path, const char *exe, struct hsnap_target **ret,
				struct hsnap_core_facts *facts, struct hsnap_error *err)
{
	(void)exe;
	(void)ret;
	*facts = (struct hsnap_core_facts){ 0 };
	return hsnap_fail(err, HSNAP_REFUSED, 0, "cannot read '%s': not built yet", path);
}
