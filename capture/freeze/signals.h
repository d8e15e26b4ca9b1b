/* SPDX-License-Identifier: MIT */
/* signals.h - what waits for a held thread. */
#ifndef HSNAP_CAPTURE_FREEZE_SIGNALS_H
#define HSNAP_CAPTURE_FREEZE_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/proc/proc.h"

/* The signals of which the process hears nothing, though the kernel queues them while it is
 * traced: signal n is bit n - 1. */
uint64_t hsnap_signals_ignored(const struct hsnap_proc *proc, pid_t pid);

/* Is one waiting that will run a handler, stop or end the held thread once it goes on? */
bool hsnap_signals_wait(pid_t tid, uint64_t ignored);

#endif
