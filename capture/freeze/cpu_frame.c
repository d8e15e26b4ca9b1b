/* SPDX-License-Identifier: MIT */
/*
 * cpu_frame.c - the frame of a signal, as the kernel lays it on a stack and rt_sigreturn(2) reads it.
 *
 * Layouts: Linux arch/x86/include/uapi/asm/sigcontext.h and ucontext.h, arch/x86/kernel/signal_64.c
 * and fpu/signal.c, of 5.4 to 6.18.
 */
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "capture/freeze/cpu.h"

#define TRAP_FLAG 0x100u
#define RED_ZONE 128u
#define ALIGNMENT 64u
#define XSAVE_FEATURES 464 /* in the legacy area: the features in use, later the words of the frame */
#define XSAVE_HEADER 512
#define XSAVE_LEGACY 576   /* with the header */
#define TILES ((uint64_t)3 << 17) /* AMX: kept only for who asked for it, 8 KiB */
#define MAGIC_1 0x46505853u
#define MAGIC_2 0x46505845u
#define USER_CODE 0x33
#define USER_DATA 0x2b
#define INTERRUPTS 0x202 /* of the flags: those that are always set */
#define FLAGS_ALL 7      /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
#define NOT_A_STACK 0x40 /* flags that sigaltstack(2) refuses: the thread keeps the one it has */

struct frame {
	uint64_t return_address;
	uint64_t flags, link;
	struct {
		uint64_t start;
		uint32_t flags, padding;
		uint64_t size;
	} alternate;
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags;
	uint16_t cs, gs, fs, ss;
	uint64_t error, trap, old_mask, cr2, xsave, reserved[8];
	uint64_t mask;
};

/* In the extended area. */
struct xsave_words {
	uint32_t magic, size_with_magic;
	uint64_t features;
	uint32_t size, padding[7];
};

void hsnap_cpu_find_gate(struct hsnap_cpu_gate *gate, const uint8_t *code, size_t size, uint64_t start)
{
	static const uint8_t call[HSNAP_CPU_CALL_SIZE] = { 0x0f, 0x05, 0xc3 }; /* syscall; ret */
	static const uint8_t leave[HSNAP_CPU_LEAVE_SIZE] = { 0x48, 0xc7, 0xc0, SYS_rt_sigreturn, 0, 0, 0, 0x0f, 0x05 }; /* mov, syscall */
	const uint8_t *at = gate->call ? NULL : memmem(code, size, call, sizeof(call));
	if (at)
		gate->call = start + (uint64_t)(at - code);
	at = gate->leave ? NULL : memmem(code, size, leave, sizeof(leave));
	if (at)
		gate->leave = start + (uint64_t)(at - code);
}

static size_t aligned(size_t size)
{
	return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

/* Bytes of the standard format up to the end of the last of these features. */
static size_t xsave_size(uint64_t features)
{
	size_t size = XSAVE_LEGACY;
	for (unsigned i = 2; i < 63; i++) {
		unsigned length, offset, c, d;
		if (features >> i & 1 && __get_cpuid_count(0xd, i, &length, &offset, &c, &d) &&
		    (size_t)offset + length > size)
			size = (size_t)offset + length;
	}
	return size;
}

/* The vector registers with the words that tell the kernel so; `to` has room for `room` bytes. */
static int put_xsave(pid_t tid, uint8_t *to, size_t room, size_t *ret_size)
{
	uint8_t area[16384] = { 0 };
	struct iovec io = { area, sizeof(area) };
	uint64_t features, used;
	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_X86_XSTATE, &io))
		return errno;
	memcpy(&features, area + XSAVE_FEATURES, sizeof(features));
	memcpy(&used, area + XSAVE_HEADER, sizeof(used));
	features &= ~TILES;
	size_t size = xsave_size(features);
	if (io.iov_len < XSAVE_LEGACY || size > io.iov_len || size + sizeof(uint32_t) > room || used & ~features)
		return ENOTSUP;
	struct xsave_words words = {
		.magic = MAGIC_1, .size_with_magic = (uint32_t)(size + sizeof(uint32_t)), .features = features,
		.size = (uint32_t)size,
	};
	memcpy(area + XSAVE_FEATURES, &words, sizeof(words));
	memcpy(to, area, size);
	memcpy(to + size, &(uint32_t){ MAGIC_2 }, sizeof(uint32_t));
	*ret_size = size + sizeof(uint32_t);
	return 0;
}

/* What the kernel would do by itself on the way back to the program. */
static hsnap_cpu as_in_program(const hsnap_cpu *cpu)
{
	return hsnap_cpu_state(cpu) == HSNAP_CPU_RESTARTS ? hsnap_cpu_rewound(cpu) : *cpu;
}

static struct frame frame_of(const hsnap_cpu *cpu, uint64_t xsave, uint64_t mask, uint64_t leave)
{
	return (struct frame){
		.return_address = leave, .flags = FLAGS_ALL, .alternate.flags = NOT_A_STACK,
		.r8 = cpu->r8, .r9 = cpu->r9, .r10 = cpu->r10, .r11 = cpu->r11, .r12 = cpu->r12, .r13 = cpu->r13,
		.r14 = cpu->r14, .r15 = cpu->r15, .rdi = cpu->rdi, .rsi = cpu->rsi, .rbp = cpu->rbp, .rbx = cpu->rbx,
		.rdx = cpu->rdx, .rax = cpu->rax, .rcx = cpu->rcx, .rsp = cpu->rsp, .rip = cpu->rip,
		.eflags = cpu->eflags, .cs = (uint16_t)cpu->cs, .ss = (uint16_t)cpu->ss, .xsave = xsave, .mask = mask,
	};
}

int hsnap_cpu_frame(pid_t tid, const hsnap_cpu *cpu, uint64_t signal_mask, const struct hsnap_cpu_gate *gate,
		    struct hsnap_cpu_frame *ret)
{
	const size_t frame_size = aligned(sizeof(struct frame));
	size_t xsave;
	int error = put_xsave(tid, ret->bytes + 2 * frame_size, sizeof(ret->bytes) - 2 * frame_size, &xsave);
	if (error)
		return error;
	memset(ret->bytes, 0, 2 * frame_size);
	ret->size = 2 * frame_size + xsave;
	if (cpu->rsp < RED_ZONE + ret->size + ALIGNMENT)
		return EFAULT;
	ret->start = (cpu->rsp - RED_ZONE - ret->size) & ~(uint64_t)(ALIGNMENT - 1);
	ret->exit_stack = ret->start;
	ret->stack = ret->start + frame_size;
	hsnap_cpu ends = {
		.rip = gate->call, .rsp = ret->start, .rax = SYS_exit_group, .eflags = INTERRUPTS, .cs = USER_CODE,
		.ss = USER_DATA,
	}, goes_on = as_in_program(cpu);
	struct frame frame = frame_of(&ends, 0, UINT64_MAX, gate->leave);
	memcpy(ret->bytes, &frame, sizeof(frame));
	frame = frame_of(&goes_on, ret->stack + frame_size, signal_mask, gate->leave);
	memcpy(ret->bytes + frame_size, &frame, sizeof(frame));
	return 0;
}

hsnap_cpu hsnap_cpu_calling(const hsnap_cpu *cpu, const struct hsnap_cpu_gate *gate, uint64_t stack, long number,
			    const uint64_t arguments[6])
{
	hsnap_cpu calling = *cpu;
	calling.rip = gate->call;
	calling.rsp = stack;
	calling.eflags &= ~(uint64_t)TRAP_FLAG; /* the frame keeps it: a step on its way there would be a SIGTRAP */
	calling.rax = (uint64_t)number;
	calling.orig_rax = UINT64_MAX; /* in no call now: nothing to make again */
	calling.rdi = arguments[0];
	calling.rsi = arguments[1];
	calling.rdx = arguments[2];
	calling.r10 = arguments[3];
	calling.r8 = arguments[4];
	calling.r9 = arguments[5];
	return calling;
}

bool hsnap_cpu_is_in(const hsnap_cpu *cpu, const struct hsnap_cpu_gate *gate, long number)
{
	return (long)cpu->orig_rax == number && cpu->rip == gate->call + 2;
}

int64_t hsnap_cpu_result(const hsnap_cpu *cpu)
{
	return (int64_t)cpu->rax;
}
