/* SPDX-License-Identifier: MIT */
/* target.h - unwinding the threads of a captured process. */
#ifndef HSNAP_CAPTURE_UNWIND_TARGET_H
#define HSNAP_CAPTURE_UNWIND_TARGET_H

#include "capture/target/target.h"
#include "capture/unwind/unwind.h"

/**
 * The frames of a stopped thread, innermost first, as far as call-frame information leads: through
 * signal handlers too.  The last frame has no CFA where it could not be stepped out of.
 * @param left  bytes that may still be read for it, of which a target that lies could ask for endless ones; where none
 *              are left the frames end.  NULL: no limit
 * @return how many were written, at most `max`; 0 if the thread's PC or stack pointer is not known
 */
size_t hsnap_unwind_thread(const struct hsnap_target *target, const struct hsnap_thread *thread,
			   struct hsnap_unwind_frame *frames, size_t max, uint64_t *left);

/* The small rule for a PC inside the function (a return address less one). */
struct hsnap_small_rule hsnap_unwind_target_small(const struct hsnap_target *target, uint64_t pc);

/* Does any call-frame information cover the PC?  If so, *ret is what it says. */
bool hsnap_unwind_target_row(const struct hsnap_target *target, uint64_t pc, struct hsnap_unwind_row *ret);

#endif
