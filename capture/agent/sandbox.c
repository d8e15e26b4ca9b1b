/* SPDX-License-Identifier: MIT */
/*
 * sandbox.c - programs that shut themselves in, by seccomp, after they have begun.
 *
 * A system call of the agent's that a filter kills would kill the program, and nobody can ask the kernel
 * without a system call what is permitted.  So the installation of a filter is watched, where it is done by libc's
 * prctl or syscall (as libseccomp does), and the filter is asked beforehand what it says of our calls: classic
 * BPF, Documentation/networking/filter.rst, with what kernel/seccomp.c permits of it (Linux 6.1).  Where it does
 * not plainly permit mapping memory, the agent lives on what it has mapped before.
 */
#include "capture/agent/agent.h"

#include <linux/audit.h>
#include <linux/bpf_common.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

bool hsnap_agent_sandboxed;

/* ---- what a filter says ---- */

struct machine {
	uint32_t a, x, memory[BPF_MEMWORDS];
	const struct seccomp_data *data;
};

static uint32_t calculate(uint32_t operation, uint32_t a, uint32_t b)
{
	switch (operation) {
	case BPF_ADD: return a + b;
	case BPF_SUB: return a - b;
	case BPF_MUL: return a * b;
	case BPF_DIV: return b ? a / b : 0;
	case BPF_OR: return a | b;
	case BPF_AND: return a & b;
	case BPF_XOR: return a ^ b;
	case BPF_LSH: return b < 32 ? a << b : 0;
	case BPF_RSH: return b < 32 ? a >> b : 0;
	default: return -a; /* BPF_NEG */
	}
}

static bool is_true(uint32_t test, uint32_t a, uint32_t b)
{
	return test == BPF_JEQ ? a == b : test == BPF_JGT ? a > b : test == BPF_JGE ? a >= b : (a & b) != 0;
}

/* Loads, stores and moves; false: not one that seccomp has. */
static bool transfer(struct machine *m, const struct sock_filter *step)
{
	uint32_t *to = BPF_CLASS(step->code) == BPF_LDX ? &m->x : &m->a;
	switch (step->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		if (step->k > sizeof(*m->data) - 4 || step->k & 3)
			return false;
		memcpy(to, (const char *)m->data + step->k, 4);
		return true;
	case BPF_LD | BPF_W | BPF_LEN:
	case BPF_LDX | BPF_W | BPF_LEN: *to = sizeof(*m->data); return true;
	case BPF_LD | BPF_IMM:
	case BPF_LDX | BPF_IMM: *to = step->k; return true;
	case BPF_LD | BPF_MEM:
	case BPF_LDX | BPF_MEM: *to = m->memory[step->k % BPF_MEMWORDS]; return true;
	case BPF_ST: m->memory[step->k % BPF_MEMWORDS] = m->a; return true;
	case BPF_STX: m->memory[step->k % BPF_MEMWORDS] = m->x; return true;
	case BPF_MISC | BPF_TAX: m->x = m->a; return true;
	case BPF_MISC | BPF_TXA: m->a = m->x; return true;
	default: return false;
	}
}

/* What the kernel has taken jumps forward only and ends: this does, too, with anything. */
static uint32_t verdict(const struct sock_fprog *program, const struct seccomp_data *data)
{
	struct machine m = { .data = data };
	for (size_t at = 0; at < program->len; at++) {
		const struct sock_filter *step = &program->filter[at];
		uint32_t operand = BPF_SRC(step->code) == BPF_X ? m.x : step->k;
		switch (BPF_CLASS(step->code)) {
		case BPF_RET: return BPF_RVAL(step->code) == BPF_A ? m.a : step->k;
		case BPF_ALU: m.a = calculate(BPF_OP(step->code), m.a, operand); break;
		case BPF_JMP:
			if (BPF_OP(step->code) == BPF_JA)
				at += step->k;
			else
				at += is_true(BPF_OP(step->code), m.a, operand) ? step->jt : step->jf;
			break;
		default:
			if (!transfer(&m, step))
				return SECCOMP_RET_KILL_PROCESS;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

static bool permits(const struct sock_fprog *program, int number, const uint64_t args[6])
{
	struct seccomp_data data = { .nr = number, .arch = AUDIT_ARCH_X86_64,
				     .instruction_pointer = (uintptr_t)hsnap_agent_syscall };
	memcpy(data.args, args, sizeof(data.args));
	uint32_t action = verdict(program, &data) & SECCOMP_RET_ACTION_FULL;
	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

/* Small and great, since somebody may look at sizes. */
static bool permits_mapping(const struct sock_fprog *program)
{
	for (uint64_t size = 0x1000; size <= 0x10000000; size <<= 16) {
		uint64_t map[6] = { 0, size, PROT_READ | PROT_WRITE, HSNAP_AGENT_MAP_FLAGS, (uint64_t)-1, 0 };
		uint64_t unmap[6] = { 0x7f0000000000, size };
		if (!permits(program, SYS_mmap, map) || !permits(program, SYS_munmap, unmap))
			return false;
	}
	return true;
}

/* ---- the installation ---- */

/* From the first moment on as if nothing were permitted: another thread may come in between.  The kernel reads
 * the filter before we do: a bad address is an error of its own, and no crash of ours. */
static bool begin(void)
{
	bool confined = hsnap_agent_confine(true);
	__atomic_store_n(&hsnap_agent_sandboxed, true, __ATOMIC_RELAXED);
	return confined;
}

static void end(bool was_confined, bool done, const struct sock_fprog *program)
{
	if (!was_confined && (!done || (program && permits_mapping(program))))
		hsnap_agent_confine(false);
}

/* libc's own, as soon as they are known. */
__attribute__((visibility("hidden"))) void *hsnap_agent_next_prctl, *hsnap_agent_next_syscall;

/* The ways that are not plainly handed on: called with the arguments of the functions below. */
__attribute__((visibility("hidden"))) int hsnap_agent_prctl(int option, unsigned long a, unsigned long b,
							    unsigned long c, unsigned long d)
{
	if (!hsnap_agent_next_prctl)
		hsnap_agent_next_prctl = hsnap_agent_lookup_next("prctl");
	int (*next)(int, ...) = (int (*)(int, ...))hsnap_agent_next_prctl;
	if (option != PR_SET_SECCOMP)
		return next(option, a, b, c, d);
	bool confined = begin();
	int result = next(option, a, b, c, d);
	end(confined, result >= 0, a == SECCOMP_MODE_FILTER ? (const struct sock_fprog *)b : NULL);
	return result;
}

__attribute__((visibility("hidden"))) long hsnap_agent_any_syscall(long number, long a, long b, long c, long d, long e,
								   long f)
{
	if (!hsnap_agent_next_syscall)
		hsnap_agent_next_syscall = hsnap_agent_lookup_next("syscall");
	long (*next)(long, ...) = (long (*)(long, ...))hsnap_agent_next_syscall;
	bool filter = a == SECCOMP_SET_MODE_FILTER;
	if (number != SYS_seccomp || !(filter || a == SECCOMP_SET_MODE_STRICT))
		return next(number, a, b, c, d, e, f);
	bool confined = begin();
	long result = next(number, a, b, c, d, e, f);
	end(confined, result >= 0, filter ? (const struct sock_fprog *)c : NULL);
	return result;
}

/* All else goes on with registers and stack as they came, by a jump: syscall may be a fork of some kind, whose
 * child returns first and on the same stack. */
#define HANDED_ON(name, number, next, ours) \
	__asm__(".text\n\t.globl " #name "\n\t.type " #name ", @function\n\t.p2align 4\n" #name ":\n\t" \
		"cmpl $" #number ", %edi\n\tje 1f\n\t" \
		"movq " #next "(%rip), %r11\n\ttestq %r11, %r11\n\tje 1f\n\tjmp *%r11\n" \
		"1:\tjmp " #ours "\n\t.size " #name ", . - " #name "\n")

HANDED_ON(prctl, 22, hsnap_agent_next_prctl, hsnap_agent_prctl);
HANDED_ON(syscall, 317, hsnap_agent_next_syscall, hsnap_agent_any_syscall);
_Static_assert(PR_SET_SECCOMP == 22 && SYS_seccomp == 317, "the numbers above");
