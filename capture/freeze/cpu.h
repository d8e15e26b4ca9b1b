/* SPDX-License-Identifier: MIT */
/*
 * cpu.h - what holding a thread still must know of the processor: x86-64.
 */
#ifndef HSNAP_CAPTURE_FREEZE_CPU_H
#define HSNAP_CAPTURE_FREEZE_CPU_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "capture/target/regs.h"

typedef struct user_regs_struct hsnap_cpu;

/* 0, or an errno value; ENOEXEC for a thread that does not run in 64-bit mode. */
int hsnap_cpu_get(pid_t tid, hsnap_cpu *ret);
int hsnap_cpu_set(pid_t tid, const hsnap_cpu *cpu);

void hsnap_cpu_to_regs(const hsnap_cpu *cpu, struct hsnap_regs *ret, uint64_t *thread_pointer);

/* Our stop made a system call fail with EINTR that a stop without a handler would not have. */
bool hsnap_cpu_broke_call(const hsnap_cpu *cpu);
/* The same registers, but about to make the call again. */
hsnap_cpu hsnap_cpu_rewound(const hsnap_cpu *cpu);

#endif
