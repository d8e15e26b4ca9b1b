/* SPDX-License-Identifier: MIT */
/* holders.h - the members and variables that lead to blocks without a type.  Private to capture/naming. */
#ifndef HSNAP_CAPTURE_NAMING_HOLDERS_H
#define HSNAP_CAPTURE_NAMING_HOLDERS_H

#include "capture/naming/convert.h"
#include "capture/naming/work.h"

/**
 * Find the holder of each block that is bytes or nothing, and of each run of pointers
 * or library objects (whose elements are holders in turn).
 *
 * One that leads to the block's start goes before one that leads past a header; then one that
 * says what the bytes are before one to void; then the member that holds more of what the same
 * call site made (its owner: who borrows holds fewer); then the first: exact blocks before
 * proved ones before variables, each in order of address.
 */
HSNAP_CHECKED enum hsnap_code hsnap_find_holders(struct hsnap_work *work, struct hsnap_error *err);

/* What the pointers of a typed block, and of a typed segment, are called by; their offset adds to b. */
struct hsnap_holder hsnap_place_of_block(const struct hsnap_work *work, uint32_t block);
struct hsnap_holder hsnap_place_of_segment(const struct hsnap_work *work, uint32_t segment);

/* "in DictNode.key", "in g_title", "in names of main"; "" for none. */
hsnap_string hsnap_holder_text(struct hsnap_work *work, struct hsnap_convert *convert, struct hsnap_holder holder);

#endif
