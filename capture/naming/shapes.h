/* SPDX-License-Identifier: MIT */
/*
 * shapes.h - containers as they stand in memory: checked before they are believed, then walked.
 *
 * A container that is torn, destroyed or not yet built leads nowhere.  Checks cost a bounded number of
 * words, whatever the container says of itself.  Private to capture/naming.
 */
#ifndef HSNAP_CAPTURE_NAMING_SHAPES_H
#define HSNAP_CAPTURE_NAMING_SHAPES_H

#include "capture/naming/walk.h"

/* What stands in the storage of a container that holds its element itself, or not. */
enum hsnap_content {
	HSNAP_CONTENT_UNKNOWN,
	HSNAP_CONTENT_NOTHING, /* what the words hold is left over */
	HSNAP_CONTENT_OBJECT,  /* an object of the type */
	HSNAP_CONTENT_POINTER, /* a pointer to one */
};

/**
 * Ask a container that has a storage at an address.
 *
 * @param[out] ret_type  of OBJECT and POINTER; both stand at the first field
 */
enum hsnap_content hsnap_shape_content(const struct hsnap_work *work, const struct hsnap_container *container, uint64_t at,
				       hsnap_dtype_id *ret_type);
/* Has the container such a storage?  Then its bytes are those of [*ret_offset, + *ret_size) in it. */
bool hsnap_shape_storage(const struct hsnap_symbols *symbols, const struct hsnap_container *container,
			 uint64_t *ret_offset, uint64_t *ret_size);

/* Which words of a container are pointers at all times: calls `see` with the offset of each in it. */
void hsnap_shape_words(const struct hsnap_container *container, void (*see)(void *context, uint64_t offset), void *context);

/* Visit what a container at an address leads to, but for the object in its storage. */
void hsnap_shape_walk(struct hsnap_walk *walk, const struct hsnap_container *container, uint64_t at, uint64_t offset);

#endif
