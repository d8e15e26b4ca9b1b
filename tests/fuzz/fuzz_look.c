/* SPDX-License-Identifier: MIT */
/*
 * fuzz_look.c - a program of anybody's making, at which `run` looks before it starts it.
 *
 * Input: the file: of ELF, a script, or neither.  Holds: the look ends with one of its answers, and says why, and what to do about
 * each refusal.  Names that a script leads to are looked for in no folder.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/capture.h"
#include "tests/fuzz/fuzz.h"

static void require(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char path[64];
	struct hsnap_error err = { 0 };
	int fd = memfd_create("program", MFD_CLOEXEC);
	require(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && !setenv("PATH", "/none", 1));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	enum hsnap_code code = hsnap_agent_check(path, &err);
	require(code == HSNAP_OK || code == HSNAP_NOT_FOUND || code == HSNAP_IO || code == HSNAP_REFUSED);
	require(!code == !err.message[0]);
	require(code != HSNAP_REFUSED || err.hint[0]);
	close(fd);
	return 0;
}
