/* SPDX-License-Identifier: MIT */
/* signals.c - queues, mask and dispositions. */
#include "capture/freeze/signals.h"

#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>

uint64_t hsnap_signals_ignored(const struct hsnap_proc *proc, pid_t pid)
{
	struct hsnap_proc_status status = { 0 };
	if (!hsnap_proc_status(proc, pid, &status))
		return 0;
	static const int quiet[] = { SIGCHLD, SIGCONT, SIGURG, SIGWINCH };
	uint64_t ignored = status.ignored;
	for (size_t i = 0; i < sizeof(quiet) / sizeof(*quiet); i++)
		if (!(status.caught >> (quiet[i] - 1) & 1))
			ignored |= (uint64_t)1 << (quiet[i] - 1);
	return ignored;
}

bool hsnap_signals_wait(pid_t tid, uint64_t ignored)
{
	uint64_t blocked = 0;
	if (ptrace(PTRACE_GETSIGMASK, tid, (void *)sizeof(blocked), &blocked))
		return true;
	static const uint32_t queues[] = { 0, PTRACE_PEEKSIGINFO_SHARED };
	for (size_t q = 0; q < 2; q++) {
		siginfo_t infos[16];
		struct __ptrace_peeksiginfo_args args = { .flags = queues[q], .nr = 16 };
		for (long n; (n = ptrace(PTRACE_PEEKSIGINFO, tid, &args, infos)) > 0; args.off += (uint64_t)n)
			for (long i = 0; i < n; i++) {
				unsigned bit = (unsigned)infos[i].si_signo - 1;
				if (bit < 64 && !((blocked | ignored) >> bit & 1))
					return true;
			}
	}
	return false;
}
