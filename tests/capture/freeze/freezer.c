/* SPDX-License-Identifier: MIT */
/*
 * freezer.c - freezer PID [ROOT]: freeze a process once, say how it went, exit as `take` would.
 *
 * A program of its own, so that a test can kill it at any moment, or run it as another user.
 */
#include <stdio.h>
#include <stdlib.h>

#include "capture/freeze/freeze.h"

int main(int argc, char **argv)
{
	struct hsnap_proc proc;
	struct hsnap_frozen frozen;
	struct hsnap_error err = { 0 };
	if (argc < 2 || hsnap_proc_init(&proc, argc > 2 ? argv[2] : "/", &err))
		return 2;
	if (hsnap_freeze_copy(&proc, atoi(argv[1]), NULL, &frozen, &err)) {
		printf("%s\nhint: %s\n", err.message, err.hint);
		return 3;
	}
	printf("copied %lu lost %lu threads %zu attempts %u pause_ns %lu\n", frozen.copied, frozen.lost,
	       frozen.target->threads.num, frozen.attempts, frozen.pause_ns);
	hsnap_frozen_deinit(&frozen);
	hsnap_proc_deinit(&proc);
	return 0;
}
