/* SPDX-License-Identifier: MIT */
/* failing.c - see failing.h. */
#include "tests/support/failing.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

void fail_call_if(int call, int error, unsigned argument, uint32_t mask, uint32_t least, uint32_t most)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * argument),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, least, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, most, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(*filter), .filter = filter };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("seccomp");
		abort();
	}
}

void fail_call(int call, int error)
{
	fail_call_if(call, error, 0, 0, 0, 0);
}

void fail_nameless_files(void)
{
	fail_call_if(SYS_openat, EOPNOTSUPP, 2, O_TMPFILE & ~O_DIRECTORY, 1, UINT32_MAX);
}
