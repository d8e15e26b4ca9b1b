/* SPDX-License-Identifier: MIT */
/*
 * capture.h - from a live process or a core to a snapshot.  The public face of capture/.
 */
#ifndef HSNAP_CAPTURE_CAPTURE_H
#define HSNAP_CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/alloc/alloc.h"
#include "capture/freeze/forecast.h"
#include "capture/freeze/mode.h"
#include "snapshot/base/error.h"
#include "snapshot/snapshot.h"

struct hsnap_rules;

/**
 * Read the files of --types (docs/naming.md): a name without a slash is one that comes with heapsnap.
 *
 * @return HSNAP_OK; HSNAP_FORMAT ("FILE:LINE: why"), HSNAP_NOT_FOUND, HSNAP_IO, HSNAP_NO_MEMORY
 */
HSNAP_CHECKED enum hsnap_code hsnap_types_load(const char *const *names, size_t num, struct hsnap_rules **ret,
					       struct hsnap_error *err);
void hsnap_types_destroy(struct hsnap_rules *rules);

struct hsnap_take_options {
	pid_t pid;
	const char *core; /* a core file in place of a process, or NULL; then pid and all of freezing are unused */
	const char *exe;  /* with a core: the executable, where it is elsewhere than the core says; may be NULL */
	enum hsnap_heap_from from;
	enum hsnap_freeze_mode freeze;
	uint64_t max_pause_ns; /* a stop that outlives it is released and given up; 0: without end */
	bool suspend_seccomp;  /* its filter may be lifted for the moment of an injected call */
	bool without_sites;    /* call sites are asked nothing: for a judge of names, whose own witness they are */
	const struct hsnap_rules *rules; /* what the user says of types, or NULL */
	const char *scratch;   /* a folder: pages go to an unlinked file in it; NULL: to memory */
	/* Called between phases of the work, never while the target is held; may be NULL. */
	void (*progress)(void *context, const char *phase, uint64_t done, uint64_t all);
	void *progress_context;
	const volatile int *interrupted; /* set by the caller's signal handler; may be NULL */
};

/**
 * Take a snapshot of a live process, prepared or not, or of a core file.
 *
 * The target is held still as options->freeze says (docs/pause.md), and is let go whatever happens
 * to this process.  Nothing of its live memory is written.
 *
 * @return HSNAP_OK (facts say whether it is partial), HSNAP_REFUSED with a hint where there is a
 *         cure (gone, not permitted, not supported, too little memory), HSNAP_INTERRUPTED,
 *         HSNAP_NO_MEMORY, HSNAP_IO
 */
HSNAP_CHECKED enum hsnap_code hsnap_capture_take(const struct hsnap_take_options *options,
						 struct hsnap_snapshot **ret,
						 struct hsnap_error *err);

/**
 * What a take would cost and what stands against it, by each way of holding it still: options as for
 * hsnap_capture_take().  The process is neither stopped nor traced.
 *
 * @return HSNAP_OK, also where hsnap_forecast_refuse() then says that it would not be taken;
 *         HSNAP_REFUSED (gone, or nothing to be captured), HSNAP_NO_MEMORY
 */
HSNAP_CHECKED enum hsnap_code hsnap_capture_forecast(const struct hsnap_take_options *options,
						     struct hsnap_forecast *ret, struct hsnap_error *err);

/* Where `run` finds the agent: HEAPSNAP_AGENT, beside the program, the build tree, the prefix. */
HSNAP_CHECKED enum hsnap_code hsnap_agent_path(char *path, size_t size, struct hsnap_error *err);

/**
 * Prepare this process's environment for executing a program with the agent.  What was to be
 * preloaded anyway comes behind it.
 * @param stacks    auto, fp, unwind, caller; NULL: as it is
 * @param children  yes, no; NULL: as it is
 */
HSNAP_CHECKED enum hsnap_code hsnap_agent_environment(const char *path, const char *stacks,
						      const char *children, struct hsnap_error *err);

/**
 * What `run` looks at before it starts a program: could the agent live in it?
 * @return HSNAP_OK, HSNAP_NOT_FOUND (no such command), HSNAP_IO (not executable),
 *         HSNAP_REFUSED (static, setuid, foreign libc or class, ASan …: message and hint say)
 */
HSNAP_CHECKED enum hsnap_code hsnap_agent_check(const char *command, struct hsnap_error *err);

#endif
