/* SPDX-License-Identifier: MIT */
/*
 * cpu.h - what holding a thread still must know of the processor: x86-64.
 */
#ifndef HSNAP_CAPTURE_FREEZE_CPU_H
#define HSNAP_CAPTURE_FREEZE_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "capture/target/regs.h"

typedef struct user_regs_struct hsnap_cpu;

/* 0, or an errno value; ENOEXEC for a thread that does not run in 64-bit mode. */
int hsnap_cpu_get(pid_t tid, hsnap_cpu *ret);
int hsnap_cpu_set(pid_t tid, const hsnap_cpu *cpu);

void hsnap_cpu_to_regs(const hsnap_cpu *cpu, struct hsnap_regs *ret, uint64_t *thread_pointer);

/* How a stopped thread stands. */
enum hsnap_cpu_state {
	HSNAP_CPU_FREE,     /* its registers tell all: in user mode, or done with its call */
	HSNAP_CPU_RESTARTS, /* in a call that the kernel simply makes again */
	HSNAP_CPU_BOUND,    /* in a call that goes on by what the kernel remembers of it */
};
enum hsnap_cpu_state hsnap_cpu_state(const hsnap_cpu *cpu);

/* Our stop made a system call fail with EINTR that a stop without a handler would not have. */
bool hsnap_cpu_broke_call(const hsnap_cpu *cpu);
/* The same registers, but about to make the call again. */
hsnap_cpu hsnap_cpu_rewound(const hsnap_cpu *cpu);

/* The instructions of the target that an injected call needs. */
struct hsnap_cpu_gate {
	uint64_t call;  /* makes the call that the registers describe, then returns */
	uint64_t leave; /* takes all registers from the frame of a signal on the stack */
};
enum { HSNAP_CPU_CALL_SIZE = 3, HSNAP_CPU_LEAVE_SIZE = 9 }; /* bytes of them */
/* Look for them in code that lies at `start`; what was found already is kept. */
void hsnap_cpu_find_gate(struct hsnap_cpu_gate *gate, const uint8_t *code, size_t size, uint64_t start);

/*
 * What lies below the stack of a thread while it makes calls for us: at `stack` the return address
 * `leave` and the frame of a signal by which it becomes what it was; at `exit_stack` another by
 * which whoever returns to it ends.
 */
struct hsnap_cpu_frame {
	uint8_t bytes[8192];
	size_t size;
	uint64_t start; /* where the bytes go */
	uint64_t stack, exit_stack;
};
/* 0, or an errno value; ENOTSUP where there is state that no frame of this size restores. */
int hsnap_cpu_frame(pid_t tid, const hsnap_cpu *cpu, uint64_t signal_mask, const struct hsnap_cpu_gate *gate,
		    struct hsnap_cpu_frame *ret);

/* About to make a call from such a stack. */
hsnap_cpu hsnap_cpu_calling(const hsnap_cpu *cpu, const struct hsnap_cpu_gate *gate, uint64_t stack, long number,
			    const uint64_t arguments[6]);
/* At the entry to or the exit from that very call? */
bool hsnap_cpu_is_in(const hsnap_cpu *cpu, const struct hsnap_cpu_gate *gate, long number);
int64_t hsnap_cpu_result(const hsnap_cpu *cpu);

#endif
