/* SPDX-License-Identifier: MIT */
/* cpu.c - registers of a stopped thread, and the system calls that a stop breaks. */
#include "capture/freeze/cpu.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "capture/target/user_regs.h"

int hsnap_cpu_get(pid_t tid, hsnap_cpu *ret)
{
	struct iovec io = { .iov_base = ret, .iov_len = sizeof(*ret) };
	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &io))
		return errno;
	return io.iov_len == sizeof(*ret) && ret->cs != HSNAP_CODE_SEGMENT_32 ? 0 : ENOEXEC;
}

int hsnap_cpu_set(pid_t tid, const hsnap_cpu *cpu)
{
	struct iovec io = { .iov_base = (void *)cpu, .iov_len = sizeof(*cpu) };
	return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &io) ? errno : 0;
}

void hsnap_cpu_to_regs(const hsnap_cpu *cpu, struct hsnap_regs *ret, uint64_t *thread_pointer)
{
	hsnap_user_regs_to_regs(cpu, ret, thread_pointer);
}

/*
 * signal(7), "Interruption of system calls and library functions by stop signals": these fail with
 * EINTR after a stop even where no handler ran; those on sockets only where a time-out is set, and
 * only then do they show EINTR here.  So does io_uring_enter(2), which that page does not list.  Read in Linux at
 * commit 001b76b7e755, io_uring/io_uring.c: io_cqring_wait() gives EINTR where task_sigpending() holds and nothing
 * is completed, and the call returns it only where it has submitted nothing, else how many; made again it waits
 * anew, and a time-out that is not absolute begins again.  Nothing else is repeated, close(2) above all: its
 * descriptor is gone already, and may be somebody else's by now.
 */
static const long broken_by_stops[] = {
	SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_semop, SYS_semtimedop, SYS_rt_sigtimedwait,
	SYS_io_getevents, SYS_msgrcv, SYS_msgsnd, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_sendto,
	SYS_sendmsg, SYS_sendmmsg, SYS_accept, SYS_accept4, SYS_connect, SYS_io_uring_enter,
};

bool hsnap_cpu_broke_call(const hsnap_cpu *cpu)
{
	if ((int64_t)cpu->rax != -EINTR || (int64_t)cpu->orig_rax < 0)
		return false;
	for (size_t i = 0; i < sizeof(broken_by_stops) / sizeof(*broken_by_stops); i++)
		if ((long)cpu->orig_rax == broken_by_stops[i])
			return true;
	return false;
}

/* linux/errno.h: what a call returns inside the kernel that is to be made again. */
enum { RESTART_SYS = 512, RESTART_NO_INTR = 513, RESTART_NO_HANDLER = 514, RESTART_BLOCK = 516 };

enum hsnap_cpu_state hsnap_cpu_state(const hsnap_cpu *cpu)
{
	if ((int64_t)cpu->orig_rax < 0)
		return HSNAP_CPU_FREE;
	switch (-(int64_t)cpu->rax) {
	case RESTART_SYS:
	case RESTART_NO_INTR:
	case RESTART_NO_HANDLER:
		return HSNAP_CPU_RESTARTS;
	case RESTART_BLOCK:
		/* Without a time-out there is nothing to remember. */
		return cpu->orig_rax == SYS_poll && (int32_t)cpu->rdx < 0 ? HSNAP_CPU_RESTARTS : HSNAP_CPU_BOUND;
	default:
		return HSNAP_CPU_FREE;
	}
}

hsnap_cpu hsnap_cpu_rewound(const hsnap_cpu *cpu)
{
	hsnap_cpu again = *cpu;
	again.rax = again.orig_rax;
	again.rip -= 2; /* the length of `syscall` */
	return again;
}
