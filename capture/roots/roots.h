/* SPDX-License-Identifier: MIT */
/*
 * roots.h - every place outside the heap from which a program can reach a block.
 *
 * A place that is forgotten here is a leak that is none.  What is known to be
 * the program's is strong: module data, thread-locals, thread control blocks,
 * live stacks, registers, what the kernel hands back.  Other writable memory is
 * weak: what only such a word holds is "possible".  Never a root: memory of the
 * allocator and the agent, stack below a stack pointer, stacks of ended threads.
 */
#ifndef HSNAP_CAPTURE_ROOTS_ROOTS_H
#define HSNAP_CAPTURE_ROOTS_ROOTS_H

#include "capture/alloc/heap.h"
#include "capture/naming/evidence.h"
#include "capture/proc/kernel.h"
#include "capture/target/target.h"
#include "snapshot/base/error.h"

/**
 * Find all roots.
 *
 * @param target  modules are told where their thread-locals are (tls_offset, tls_id)
 * @param kernel  may be NULL
 * @param heap    its regions are no roots; a stack inside one of its blocks ends with it
 * @param[out] ret  release with hsnap_roots_deinit(), also after a failure
 * @return HSNAP_OK, HSNAP_NO_MEMORY
 *
 * Cost: O((mappings + threads · modules with thread-locals + copied runs) · log of these); see roots.partial
 */
HSNAP_CHECKED enum hsnap_code hsnap_roots_find(struct hsnap_target *target, const struct hsnap_kernel *kernel,
					       const struct hsnap_heap *heap, struct hsnap_roots *ret,
					       struct hsnap_error *err);

#endif
