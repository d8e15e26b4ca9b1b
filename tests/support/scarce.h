/* SPDX-License-Identifier: MIT */
/* scarce.h - memory that runs out: in a program linked with scarce_dep all calls of malloc() and
 * its kin can fail, but those within shared libraries. */
#ifndef HSNAP_TESTS_SUPPORT_SCARCE_H
#define HSNAP_TESTS_SUPPORT_SCARCE_H

#include <stddef.h>

#define PLENTY ((size_t)-1) /* nothing fails: so it begins */

/* From now on so many allocations are granted; the others fail. */
void scarce_grant(size_t num);

#endif
