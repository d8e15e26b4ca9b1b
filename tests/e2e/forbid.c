/* SPDX-License-Identifier: MIT */
/* forbid.c - forbid ptrace|process_vm_readv COMMAND…: run it where a seccomp filter answers that call with EPERM. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/capture/support/forbid.h"

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	forbid(strcmp(argv[1], "ptrace") ? SYS_process_vm_readv : SYS_ptrace, EPERM);
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
