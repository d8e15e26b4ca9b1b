/* SPDX-License-Identifier: MIT */
/* frozen.h - a stopped child of a test, copied into a made-up target. */
#ifndef HSNAP_TESTS_CAPTURE_AGENT_FROZEN_H
#define HSNAP_TESTS_CAPTURE_AGENT_FROZEN_H

#include <stdio.h>
#include <sys/types.h>

#include "capture/target/target.h"

/* A program that was started, has written all it has to say, and has stopped itself. */
struct victim {
	pid_t pid;
	FILE *said; /* what it wrote to stdout */
};

/* Start argv with the agent preloaded (agent NULL: without) and wait until it stops.  Aborts the test
 * if it ends instead.  extra: another "NAME=value" for its environment, PLAIN: it runs without the rights of root, or NULL. */
#define PLAIN "HSNAP_TEST_PLAIN=yes"
struct victim victim_start(const char *agent, const char *const *argv, const char *extra);
void victim_end(struct victim *victim);

/* Memory, mappings and modules of a stopped process; release with hsnap_target_close(). */
struct hsnap_target *victim_freeze(pid_t pid);

#endif
