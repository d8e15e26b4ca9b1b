/* SPDX-License-Identifier: MIT */
/* owned.h - which blocks belong to places that the user calls owners.  Private to capture/naming. */
#ifndef HSNAP_CAPTURE_NAMING_OWNED_H
#define HSNAP_CAPTURE_NAMING_OWNED_H

#include "capture/naming/work.h"

struct hsnap_block_list hsnap_vec_body(uint32_t);

/**
 * Mark work->user->owned, by the claims that there are.
 *
 * @param[out] ret  the blocks that belong to an owner more than before
 * Cost: a walk over all typed places.
 */
HSNAP_CHECKED enum hsnap_code hsnap_find_owned(struct hsnap_work *work, struct hsnap_block_list *ret, struct hsnap_error *err);

#endif
