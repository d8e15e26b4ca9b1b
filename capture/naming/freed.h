/* SPDX-License-Identifier: MIT */
/* freed.h - pools that know their free objects by a list.  Private to capture/naming. */
#ifndef HSNAP_CAPTURE_NAMING_FREED_H
#define HSNAP_CAPTURE_NAMING_FREED_H

#include "capture/naming/work.h"

/**
 * Find pools by their lists of free objects, and declare them (pools.h): what is not on the list is in use.
 *
 * A void member that leads to one type only, by the program's code, is the head of such a list if the words at the start
 * of what it leads to lead on, eight times at least, up to a null, while that type has no pointer there: so what is
 * on the list is no object now.  Its pages are the blocks of one size that the member's owner keeps in
 * pointers to bytes or void, in itself and in structs that it leads to, each list of them to its end; they must be all
 * that the list runs through.  Where one owner has several lists it is not told which pages are whose.
 *
 * Nothing but zeros is no object either: it has never been handed out.
 *
 * Cost: nothing without such members; else a walk over all typed places, and the pages' memory once.
 */
HSNAP_CHECKED enum hsnap_code hsnap_find_freed(struct hsnap_work *work, struct hsnap_error *err);

#endif
