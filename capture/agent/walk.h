/* SPDX-License-Identifier: MIT */
/* walk.h - see walk.c. */
#ifndef HSNAP_CAPTURE_AGENT_WALK_H
#define HSNAP_CAPTURE_AGENT_WALK_H

#include "capture/agent/agent.h"

/**
 * Return addresses from the caller of one of our functions outward, by call-frame information.
 *
 * @param frame        of our function, on the calling thread's stack
 * @param end          of that stack
 * @param then_frames  stop at the first function that keeps a frame pointer: from there on the chain
 *                     of frame pointers is surely right for one step at least
 * @param most         room in pcs, at least 1
 * @param[out] ret_frame  that function's frame pointer, 0 where none was come by
 * @return how many are in pcs
 */
unsigned hsnap_agent_walk(const uintptr_t *frame, uintptr_t end, bool then_frames, uint64_t *pcs, unsigned most,
			  uintptr_t *ret_frame);

/* Does the executable keep frame pointers, on the whole? */
bool hsnap_agent_has_frames(void);

#endif
