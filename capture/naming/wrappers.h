/* SPDX-License-Identifier: MIT */
/* wrappers.h - blocks whose objects begin behind a header of the program's own malloc.  Private to capture/naming. */
#ifndef HSNAP_CAPTURE_NAMING_WRAPPERS_H
#define HSNAP_CAPTURE_NAMING_WRAPPERS_H

#include "capture/naming/work.h"

/**
 * Fill work->headers where such a malloc is found.
 *
 * Cost: 8,192 blocks are looked at, and 64 bytes of address space each at the most are followed; every
 * block's first words only where there is one.
 */
HSNAP_CHECKED enum hsnap_code hsnap_find_headers(struct hsnap_work *work, struct hsnap_error *err);

#endif
