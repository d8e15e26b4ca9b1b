/* SPDX-License-Identifier: MIT */
/* forbid.c - forbid CALL COMMAND…: run it where a seccomp filter answers that call with EPERM, as old container runtimes do. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/capture/support/forbid.h"

static const struct {
	const char *name;
	long call;
} calls[] = {
	{ "ptrace", SYS_ptrace }, { "process_vm_readv", SYS_process_vm_readv }, { "openat2", SYS_openat2 },
	{ "close_range", SYS_close_range }, { "clone3", SYS_clone3 },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(calls) / sizeof(*calls); i++)
		if (!strcmp(argv[1], calls[i].name)) {
			forbid(calls[i].call, EPERM);
			execvp(argv[2], argv + 2);
			perror(argv[2]);
			return 127;
		}
	return 2;
}
