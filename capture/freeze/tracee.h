/* SPDX-License-Identifier: MIT */
/* tracee.h - one thread that is seized: met at its stop, let go again. */
#ifndef HSNAP_CAPTURE_FREEZE_TRACEE_H
#define HSNAP_CAPTURE_FREEZE_TRACEE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/freeze/cpu.h"

enum hsnap_tracee_state { HSNAP_TRACEE_RUNS, HSNAP_TRACEE_STOPPED, HSNAP_TRACEE_RELEASED, HSNAP_TRACEE_GONE };

struct hsnap_tracee {
	pid_t tid;
	uint8_t state;  /* enum hsnap_tracee_state */
	bool asked;     /* interrupted by us */
	bool plain;     /* stands at our interrupt: it met no signal and is in no stop of its own */
	bool rewound;   /* about to make its system call again */
	pid_t born;     /* it had just made this thread or process, which is traced from birth; 0: none */
	int signal;     /* met at the stop: handed back at the release; 0: none */
	hsnap_cpu cpu;  /* as found */
};

/* Has it stopped, or ended?  Then take note of that; a call that only the stop made fail is made
 * again.  0, or an errno value: EAGAIN not yet, ENOEXEC it runs 32-bit code.
 * `ignored`: see hsnap_signals_ignored(). */
int hsnap_tracee_meet(struct hsnap_tracee *tracee, uint64_t ignored);

/* The registers with which it goes on. */
hsnap_cpu hsnap_tracee_goes_on(const struct hsnap_tracee *tracee);

/* Let a stopped one go. */
void hsnap_tracee_release(struct hsnap_tracee *tracee, uint64_t ignored);

/* Until one that was born of a tracee stands at its first stop, or has ended, at most so long; false
 * with errno: it does not. */
bool hsnap_tracee_await_born(pid_t born, uint64_t ns);
/* Let one go that was born of a tracee, and is nobody's that is held.  It stops by itself, at once. */
void hsnap_tracee_release_born(pid_t born);

#endif
