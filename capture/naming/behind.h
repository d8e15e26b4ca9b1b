/* SPDX-License-Identifier: MIT */
/* behind.h - what blocks that nobody declares a pointer to hang from.  Private to capture/naming. */
#ifndef HSNAP_CAPTURE_NAMING_BEHIND_H
#define HSNAP_CAPTURE_NAMING_BEHIND_H

#include "capture/naming/convert.h"
#include "capture/naming/work.h"

/**
 * Say of each block without type and place where it hangs, by the edges of the graph.
 *
 * Next to a typed place it is "in Expr.y", be the word there a union's arm; beyond other blocks without
 * a type "behind DictNode.value", whatever leads there in the fewest steps.  Named places come before
 * module data, and stacks, registers and mappings last.  What nothing leads to stays without.
 *
 * @param where  one a block: its place, "" where it has none yet; only those are filled
 * Cost: a look at each edge where a block has none, 4 bytes a block meanwhile.
 */
HSNAP_CHECKED enum hsnap_code hsnap_find_behind(struct hsnap_work *work, struct hsnap_convert *convert,
						hsnap_string *where, struct hsnap_error *err);

#endif
