/* SPDX-License-Identifier: MIT */
/*
 * freezer.c - freezer PID [ROOT [MODE]]: freeze a process once, say how it went, exit as `take` would.
 *
 * A program of its own, so that a test can kill it at any moment, or run it as another user.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "capture/freeze/freeze.h"

/* Is the executable's code, as the copy gives it, what the process runs? */
static bool is_text_good(const struct hsnap_target *target, pid_t pid)
{
	static uint8_t ours[1 << 16], theirs[1 << 16];
	for (size_t i = 0; i < target->mappings.num; i++) {
		const struct hsnap_mapping *mapping = &target->mappings.items[i];
		if (mapping->module != 1 || !(mapping->prot & HSNAP_PROT_EXEC))
			continue;
		size_t size = mapping->end - mapping->start < sizeof(ours) ? mapping->end - mapping->start : sizeof(ours);
		struct iovec local = { theirs, size }, remote = { (void *)(uintptr_t)mapping->start, size };
		return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size &&
		       !hsnap_target_read(target, mapping->start, ours, size, NULL) && !memcmp(ours, theirs, size);
	}
	return false;
}

static enum hsnap_code freeze(struct hsnap_freeze_options *options, const char *mode, struct hsnap_frozen *ret,
			      struct hsnap_error *err)
{
	options->mode = !strcmp(mode, "precopy") ? HSNAP_FREEZE_PRECOPY : HSNAP_FREEZE_COPY;
	return !strcmp(mode, "precopy") ? hsnap_freeze_precopy(options, ret, err)
	       : !strcmp(mode, "clone") ? hsnap_freeze_clone(options, ret, err)
					: hsnap_freeze_copy(options, ret, err);
}

int main(int argc, char **argv)
{
	struct hsnap_proc proc;
	struct hsnap_frozen frozen;
	struct hsnap_error err = { 0 };
	if (argc < 2 || hsnap_proc_init(&proc, argc > 2 ? argv[2] : "/", &err))
		return 2;
	struct hsnap_freeze_options options = { .proc = &proc, .pid = atoi(argv[1]), .scratch = -1 };
	if (freeze(&options, argc > 3 ? argv[3] : "copy", &frozen, &err)) {
		printf("%s\nhint: %s\n", err.message, err.hint);
		return 3;
	}
	printf("copied %lu lost %lu threads %zu modules %zu attempts %u pause_ns %lu text %s\n", frozen.copied, frozen.lost,
	       frozen.target->threads.num, frozen.target->modules.num - 1, frozen.attempts, frozen.pause_ns,
	       is_text_good(frozen.target, atoi(argv[1])) ? "good" : "bad");
	hsnap_frozen_deinit(&frozen);
	hsnap_proc_deinit(&proc);
	return 0;
}
